//! What `icee study predict` and `effects` print: a line for every row, or for every word of a column.

use super::study_print::{NAME, cut, write_json};
use crate::terminal::printable;
use icee_base::numbers::short;
use icee_study::{Cells, Effect, Forecast, Level, RowForecast};
use serde::{Serialize, Serializer};
use std::io::Write;

/// Words of a column of which the highest and as many of the lowest are shown, where there are more of them.
const EXTREMES: usize = 10;

/// What each column does.
pub fn effects(out: &mut impl Write, effects: &[Effect], json: bool) -> anyhow::Result<()> {
    if json {
        return write_json(out, &effects);
    }
    for Effect { column, spread, levels } in effects {
        writeln!(out, "{}: predictions differ by {}", cut(column, NAME), short(*spread))?;
        let mut levels: Vec<&Level> = levels.iter().collect();
        let between = levels.len().saturating_sub(2 * EXTREMES);
        if between > 0 {
            levels.sort_by(|a, b| b.mean.total_cmp(&a.mean));
            levels.drain(EXTREMES..EXTREMES + between);
        }
        let labels: Vec<String> = levels.iter().map(|level| cut(&level.label.replace('\n', " "), NAME)).collect();
        let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or_default();
        for (at, (label, level)) in labels.iter().zip(&levels).enumerate() {
            if between > 0 && at == EXTREMES {
                writeln!(out, "  … {between} more between")?;
            }
            writeln!(out, "  {label:<width$}  {}", short(level.mean))?;
        }
    }
    Ok(())
}

/// A row's forecast and cells, for machines.
#[derive(Serialize)]
struct WithCells<'a> {
    #[serde(flatten)]
    row: &'a RowForecast,
    cells: Cells,
}

/// Every row's forecast. Ids and cells are as they stand in the pool, unless it is a terminal that gets them. `cells` are looked
/// up row by row: a pool may be large.
pub fn forecasts(
    out: &mut impl Write,
    forecasts: &[RowForecast],
    cells: impl Fn(usize) -> Cells,
    json: bool,
    terminal: bool,
) -> anyhow::Result<()> {
    if json {
        let rows = forecasts.iter().map(|row| WithCells { row, cells: cells(row.row) });
        serde_json::Serializer::pretty(&mut *out).collect_seq(rows)?;
        writeln!(out)?;
        return Ok(());
    }
    let shown = |text: &str| if terminal { printable(text).into_owned() } else { text.to_owned() };
    let mut table = csv::Writer::from_writer(out);
    let mut header = ["id", "status", "value", "mean", "low", "high", "beats_best"].map(String::from).to_vec();
    for further in forecasts.first().iter().flat_map(|first| &first.forecast.further) {
        header.extend(["mean", "low", "high"].map(|what| format!("{}_{what}", further.name)));
        header.extend(further.holds.map(|_| format!("{}_holds", further.name)));
    }
    header.extend(cells(1).0.into_iter().map(|(name, _)| name));
    table.write_record(header.iter().map(|name| shown(name)))?;
    for row in forecasts {
        let Forecast { mean, low, high, beats_best, further } = &row.forecast;
        let status = serde_json::to_value(row.status)?;
        let mut line = vec![shown(&row.id), status.as_str().unwrap_or_default().to_owned()];
        line.push(row.value.as_ref().map_or_else(String::new, digits));
        line.extend([mean, low, high, beats_best].map(digits));
        for further in further {
            line.extend([&further.mean, &further.low, &further.high].map(digits));
            line.extend(further.holds.as_ref().map(digits));
        }
        line.extend(cells(row.row).0.iter().map(|(_, cell)| shown(cell)));
        table.write_record(line)?;
    }
    table.flush()?;
    Ok(())
}

/// A number for machines: all of its digits, and a sign that it is none of counting.
fn digits(number: &f64) -> String {
    format!("{number:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_study::Status;

    #[test]
    fn ids_are_whole_in_files_and_harmless_in_terminals() {
        let forecast = Forecast { mean: 1.0, low: 0.0, high: 2.0, beats_best: 0.5, further: vec![] };
        let row = RowForecast { id: "a\x1b[2J".into(), row: 1, status: Status::Left, value: None, forecast };
        let shown = |terminal| {
            let mut out = Vec::new();
            forecasts(&mut out, std::slice::from_ref(&row), |_| Cells::default(), false, terminal).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(shown(false).contains("\na\x1b[2J,left,"));
        assert!(shown(true).contains("\na\\u{1b}[2J,left,"));
    }

    #[test]
    fn of_many_words_the_extremes_are_shown() {
        let level = |k: usize| Level { label: format!("L{k}"), mean: (k * 7 % 294) as f64, rows: 3 };
        let effect = |count: usize| {
            let levels = (0..count).map(level).collect();
            let mut out = Vec::new();
            effects(&mut out, &[Effect { column: "ligand".into(), spread: 293.0, levels }], false).unwrap();
            String::from_utf8(out).unwrap()
        };
        let many = effect(294);
        assert_eq!(many.lines().count(), 1 + 2 * EXTREMES + 1);
        assert!(many.contains("  … 274 more between\n") && many.ends_with("  0\n"), "{many}");
        let few = effect(2 * EXTREMES);
        assert!(few.lines().count() == 1 + 2 * EXTREMES && few.lines().nth(1).unwrap().starts_with("  L0"), "{few}");
    }
}

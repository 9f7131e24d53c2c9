//! What `icee study` prints as tables: predictions, effects of columns, looks back, lists of studies.

use super::Shown;
use super::rows::{self, NAME, cut, exact};
use crate::terminal::printable;
use icee_base::numbers::short;
use icee_protocol::{
    AllCells, Column, Effect, Forecast, LEVELS, Level, Line, Predicted, Reviewed, ReviewedRow, Status,
};
use std::borrow::Cow;
use std::io::Write;

/// Words of a column of which the highest and as many of the lowest are shown, where there are more of them.
const EXTREMES: usize = 10;
/// What stands where there is no number.
const NONE: &str = "-";

/// The studies of a place.
pub fn studies(out: &mut impl Write, lines: &[Line], shown: &Shown<'_>) -> anyhow::Result<()> {
    if lines.is_empty() {
        return Ok(writeln!(out, "no studies in {}", printable(shown.place))?);
    }
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default().max("study".len());
    let head = ("study", "rows", "measured", "in progress", "left");
    writeln!(out, "{:<width$}  {:>7}  {:>8}  {:>11}  {:>7}  best", head.0, head.1, head.2, head.3, head.4)?;
    for Line { name, rows, told, running, left, best, problem } in lines {
        let name = printable(name);
        match problem {
            Some(problem) => writeln!(out, "{name:<width$}  {}", printable(problem))?,
            None => {
                let best = best.map_or_else(|| NONE.into(), short);
                writeln!(out, "{name:<width$}  {rows:>7}  {told:>8}  {running:>11}  {left:>7}  {best}")?;
            }
        }
    }
    Ok(())
}

/// What each column does.
pub fn effects(out: &mut impl Write, effects: &[Effect]) -> anyhow::Result<()> {
    for Effect { column, spread, levels } in effects {
        writeln!(out, "{}: mean predictions differ by {}", cut(column, NAME), short(*spread))?;
        let mut levels: Vec<&Level> = levels.iter().collect();
        let between = levels.len().saturating_sub(2 * EXTREMES);
        if between > 0 {
            levels.sort_by(|a, b| b.mean.total_cmp(&a.mean));
            levels.drain(EXTREMES..EXTREMES + between);
        }
        let labels: Vec<String> = levels.iter().map(|level| cut(&level.label.replace('\n', " "), NAME)).collect();
        let width = widest(&labels, 0);
        for (at, (label, level)) in labels.iter().zip(&levels).enumerate() {
            if between > 0 && at == EXTREMES {
                writeln!(out, "  … {between} more between")?;
            }
            writeln!(out, "  {label:<width$}  {}", short(level.mean))?;
        }
    }
    Ok(())
}

/// Each result beside what was predicted of it.
pub fn review(out: &mut impl Write, reviewed: &Reviewed) -> anyhow::Result<()> {
    let Reviewed { steps, checked, held } = reviewed;
    let predicted = |step: &ReviewedRow| match &step.forecast {
        Some(Forecast { mean, low, high, .. }) => {
            let [mean, low, high] = rows::rounded(*mean, *low, *high);
            format!("{mean} ({low} to {high})")
        }
        None => NONE.into(),
    };
    let ids: Vec<String> = steps.iter().map(|step| cut(&step.id, NAME)).collect();
    let predictions: Vec<String> = steps.iter().map(predicted).collect();
    let head = ("row", "predicted (95 %)");
    let (row, wide) = (widest(&ids, head.0.len()), widest(&predictions, head.1.len()));
    writeln!(out, "{:<row$}  {:<wide$}  measured", head.0, head.1)?;
    for ((id, predicted), step) in ids.iter().zip(&predictions).zip(steps) {
        let measured = match (step.value, step.status) {
            (Some(value), _) => exact(value),
            (None, Status::Impossible) => "impossible".into(),
            (None, _) => "failed".into(),
        };
        writeln!(out, "{id:<row$}  {predicted:<wide$}  {measured}")?;
    }
    if *checked == 0 {
        return Ok(writeln!(out, "no predictions to check yet")?);
    }
    let part = |(held, level): (&usize, f64)| format!("{held} of {checked} ({:.0} %)", 100.0 * level);
    let parts: Vec<String> = held.iter().zip(LEVELS).map(part).collect();
    Ok(writeln!(out, "results within their intervals: {}", parts.join(", "))?)
}

/// Every row's prediction as CSV. Ids and cells are as they stand in the sheet, unless it is a terminal that gets them.
pub fn predictions(out: &mut impl Write, predicted: &Predicted, terminal: bool) -> anyhow::Result<()> {
    let Predicted { rows, columns, .. } = predicted;
    let mut table = csv::Writer::from_writer(out);
    let mut header = ["id", "status", "value", "mean", "low", "high", "beats_best"].map(String::from).to_vec();
    for further in rows.first().iter().flat_map(|first| &first.forecast.further) {
        header.extend(["mean", "low", "high"].map(|what| format!("{}_{what}", further.name)));
        header.extend(further.holds.map(|_| format!("{}_holds", further.name)));
    }
    header.extend(columns.iter().map(|column| column.name.clone()));
    table.write_record(header.iter().map(|name| legible(name, terminal).into_owned()))?;
    for (at, row) in rows.iter().enumerate() {
        let Forecast { mean, low, high, beats_best, further } = &row.forecast;
        let status = serde_json::to_value(row.status)?;
        let mut line = vec![legible(&row.id, terminal), status.as_str().unwrap_or_default().to_owned().into()];
        line.push(row.value.as_ref().map_or_else(String::new, digits).into());
        line.extend([mean, low, high, beats_best].map(|number| digits(number).into()));
        for further in further {
            line.extend([&further.mean, &further.low, &further.high].map(|number| digits(number).into()));
            line.extend(further.holds.as_ref().map(|number| Cow::from(digits(number))));
        }
        line.extend(columns.iter().map(|column| cell(column, at, terminal)));
        table.write_record(line.iter().map(|cell| cell.as_bytes()))?;
    }
    Ok(table.flush()?)
}

/// All cells as CSV.
pub fn cells(out: &mut impl Write, all: &AllCells, terminal: bool) -> anyhow::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(all.columns.iter().map(|column| legible(&column.name, terminal).into_owned()))?;
    for at in 0..all.columns.first().map_or(0, |first| first.cells.len()) {
        table.write_record(all.columns.iter().map(|column| cell(column, at, terminal).into_owned()))?;
    }
    Ok(table.flush()?)
}

fn cell(column: &Column, row: usize, terminal: bool) -> Cow<'_, str> {
    legible(column.cells.get(row).unwrap_or_default(), terminal)
}

/// A text as it is, unless a terminal would obey it.
fn legible(text: &str, terminal: bool) -> Cow<'_, str> {
    if terminal { printable(text) } else { Cow::Borrowed(text) }
}

fn widest(texts: &[String], least: usize) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or_default().max(least)
}

/// A number for machines: all of its digits, and a sign that it is none of counting.
fn digits(number: &f64) -> String {
    format!("{number:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::RowForecast;

    fn forecast(mean: f64) -> Forecast {
        Forecast { mean, low: 0.0, high: 2.0, beats_best: 0.5, further: vec![] }
    }

    #[test]
    fn ids_and_cells_are_whole_in_files_and_harmless_in_terminals() {
        let row = |id: &str, row| RowForecast {
            id: id.into(),
            row,
            status: Status::Left,
            value: None,
            forecast: forecast(1.0),
        };
        let column = Column { name: "heat".into(), cells: ["180", "2\x1b[2J"].into_iter().collect() };
        let predicted =
            Predicted { rows: vec![row("a\x1b[2J", 7), row("b", 2)], columns: vec![column], sheet: String::new() };
        let printed = |terminal| {
            let mut out = Vec::new();
            predictions(&mut out, &predicted, terminal).unwrap();
            String::from_utf8(out).unwrap()
        };
        let file = "id,status,value,mean,low,high,beats_best,heat\n\
                    a\x1b[2J,left,,1.0,0.0,2.0,0.5,180\nb,left,,1.0,0.0,2.0,0.5,2\x1b[2J\n";
        assert_eq!(printed(false), file);
        assert_eq!(printed(true), file.replace('\x1b', "\\u{1b}"));
    }

    #[test]
    fn of_many_words_the_extremes_are_shown() {
        let level = |k: usize| Level { label: format!("L{k}"), mean: (k * 7 % 294) as f64, rows: 3 };
        let effect = |count: usize| {
            let levels = (0..count).map(level).collect();
            let mut out = Vec::new();
            effects(&mut out, &[Effect { column: "ligand".into(), spread: 293.0, levels }]).unwrap();
            String::from_utf8(out).unwrap()
        };
        let many = effect(294);
        assert_eq!(many.lines().count(), 1 + 2 * EXTREMES + 1);
        assert!(many.contains("  … 274 more between\n") && many.ends_with("  0\n"), "{many}");
        let few = effect(2 * EXTREMES);
        assert!(few.lines().count() == 1 + 2 * EXTREMES && few.lines().nth(1).unwrap().starts_with("  L0"), "{few}");
    }

    #[test]
    fn a_review_sets_results_beside_predictions() {
        let step = |id: &str, value, forecast| ReviewedRow {
            id: id.into(),
            status: if id == "17" { Status::Impossible } else { Status::Told },
            value,
            best: value,
            forecast,
        };
        // An end that is next to nothing is shown as 0.
        let some = Forecast { low: 1e-9, ..forecast(1.0) };
        let steps = vec![step("2", Some(0.1), None), step("17", None, None), step("5", Some(1.5), Some(some))];
        let mut out = Vec::new();
        review(&mut out, &Reviewed { steps, checked: 1, held: [0, 1, 1] }).unwrap();
        let lines = [
            "row  predicted (95 %)  measured",
            "2    -                 0.1",
            "17   -                 impossible",
            "5    1 (0 to 2)        1.5",
            "results within their intervals: 0 of 1 (50 %), 1 of 1 (80 %), 1 of 1 (95 %)",
        ];
        assert_eq!(String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(), lines);
    }
}

//! What `icee study` prints: results on stdout, as text or JSON; notes on stderr. Names and cells come from files of others,
//! so in text they are [`printable`] first; JSON escapes them by itself, and CSV is for machines.

use crate::terminal::{printable, say};
use icee_study::{
    Answer, BestRow, Cells, Direction, Forecast, Remaining, RowForecast, SheetChange, Status, Summary, TellSummary,
    ToldRow,
};
use serde::Serialize;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// The length at which a row's cells are cut off in text.
const LINE: usize = 100;
/// The same for a name.
const NAME: usize = 60;

/// The answer to a tell.
#[derive(Serialize)]
struct Taken<'a> {
    told: &'a TellSummary,
    best: Option<&'a BestRow>,
}

/// Prints notes for the person, apart from the results.
pub fn notes(notes: &[String]) {
    notes.iter().for_each(|note| say(format_args!("note: {note}")));
}

/// A study that has just been created.
pub fn created(out: &mut impl Write, name: &str, path: &Path, summary: &Summary, json: bool) -> anyhow::Result<()> {
    notes(&summary.notes);
    if json {
        return write_json(out, summary);
    }
    writeln!(out, "{}: {} rows, {}", path.display(), summary.rows, direction(summary))?;
    write_columns(out, summary)?;
    if !summary.told.is_empty() {
        writeln!(out, "{} told, {} left", summary.told.len(), summary.left)?;
    }
    writeln!(out, "next: icee study ask {name}")?;
    Ok(())
}

/// Suggestions, and whether to go on.
pub fn answer(out: &mut impl Write, answer: &Answer, still: Option<&str>, json: bool) -> anyhow::Result<()> {
    if json {
        notes(&answer.notes);
        return write_json(out, answer);
    }
    for suggestion in &answer.suggestions {
        let again = if suggestion.repeat { " once more" } else { "" };
        writeln!(out, "row {}{again}: {}", printable(&suggestion.id), line(&suggestion.cells))?;
        match &suggestion.forecast {
            Some(forecast) => writeln!(out, "  {}", why(forecast))?,
            None => writeln!(out, "  a first look: too few values to predict from")?,
        }
    }
    if let (Some(best), Some(remaining)) = (answer.best, &answer.remaining) {
        writeln!(out, "best so far {}; {}", exact(best), done(remaining))?;
    }
    if let Some(still) = still {
        writeln!(out, "{still}")?;
    }
    notes(&answer.notes);
    Ok(())
}

/// What was taken in.
pub fn told(
    out: &mut impl Write,
    told: &TellSummary,
    best: Option<&BestRow>,
    said: &[String],
    json: bool,
) -> anyhow::Result<()> {
    notes(said);
    if json {
        return write_json(out, &Taken { told, best });
    }
    let counts = [told.new, told.again, told.replaced, told.unchanged];
    let parts = counts.into_iter().zip(["told", "told again", "replaced", "unchanged"]).collect::<Vec<_>>();
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    write!(out, "{}", parts.collect::<Vec<_>>().join(", "))?;
    match best {
        Some(BestRow { row: ToldRow { id, value: Some(value), .. }, sure, .. }) => {
            let sure = sure.map_or_else(String::new, |sure| format!(", the best with probability {}", percent(sure)));
            writeln!(out, "; best so far {} (row {}{sure})", shown(*value, sure.is_empty()), printable(id))?;
        }
        _ => writeln!(out, "; no value yet")?,
    }
    Ok(())
}

/// What was taken in of the sheet.
pub fn updated(out: &mut impl Write, change: &SheetChange, said: &[String], json: bool) -> anyhow::Result<()> {
    notes(said);
    if json {
        return write_json(out, change);
    }
    let what = if change.changed { change.to_string() } else { "nothing has changed in the sheet".into() };
    writeln!(out, "{what}")?;
    Ok(())
}

/// Rows that were taken back.
pub fn taken_back(out: &mut impl Write, done: &str, rows: &[&str], said: &[String], json: bool) -> anyhow::Result<()> {
    notes(said);
    if json {
        return write_json(out, &serde_json::json!({ done: rows }));
    }
    writeln!(out, "{done}: {} {}", if rows.len() == 1 { "row" } else { "rows" }, printable(&rows.join(", ")))?;
    Ok(())
}

/// What was undone.
pub fn undone(out: &mut impl Write, what: &str, said: &[String], json: bool) -> anyhow::Result<()> {
    notes(said);
    if json {
        return write_json(out, &serde_json::json!({ "undone": what }));
    }
    writeln!(out, "undone: {}", printable(what))?;
    Ok(())
}

/// The best row.
pub fn best(out: &mut impl Write, best: &BestRow, json: bool) -> anyhow::Result<()> {
    if json {
        return write_json(out, best);
    }
    write_outcome(out, &best.row)?;
    if let (Some(believed), Some(sure)) = (best.believed, best.sure) {
        let (believed, sure) = (short(believed), percent(sure));
        writeln!(out, "believed to be {believed}, noise taken off; the best of the rows told with probability {sure}")?;
    }
    Ok(())
}

/// A study at a glance.
pub fn summary(out: &mut impl Write, name: &str, summary: &Summary, json: bool) -> anyhow::Result<()> {
    notes(&summary.notes);
    if json {
        return write_json(out, summary);
    }
    let (told, running) = (summary.told.len(), summary.running.len());
    writeln!(out, "{name}: {} rows of {}, {}", summary.rows, printable(&tidy(&summary.pool)), direction(summary))?;
    write_columns(out, summary)?;
    writeln!(out, "{told} told, {running} running, {} left", summary.left)?;
    for outcome in &summary.told {
        let mark = if summary.best.as_ref().is_some_and(|best| best.row.row == outcome.row) { "* " } else { "  " };
        write!(out, "{mark}")?;
        write_outcome(out, outcome)?;
    }
    if let Some(noise) = summary.noise {
        writeln!(out, "measurements of one row differ by {} (standard deviation)", short(noise))?;
    }
    if running > 0 {
        writeln!(out, "running: {}", printable(&summary.running.join(", ")))?;
    }
    Ok(())
}

/// Every row's forecast. Ids are as they stand in the pool, unless it is a terminal that gets them.
pub fn forecasts(out: &mut impl Write, forecasts: &[RowForecast], json: bool, terminal: bool) -> anyhow::Result<()> {
    if json {
        return write_json(out, &forecasts);
    }
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["id", "status", "value", "mean", "low", "high", "beats_best"])?;
    for RowForecast { id, status, value, forecast } in forecasts {
        let Forecast { mean, low, high, beats_best } = forecast;
        let id = if terminal { printable(id) } else { id.into() };
        table.serialize((id, status, value, mean, low, high, beats_best))?;
    }
    table.flush()?;
    Ok(())
}

/// A path without detours, to look at.
fn tidy(path: &str) -> String {
    let mut tidy = PathBuf::new();
    for part in Path::new(path).components() {
        match (part, tidy.components().next_back()) {
            (Component::ParentDir, Some(Component::Normal(_))) => {
                tidy.pop();
            }
            _ => tidy.push(part),
        }
    }
    tidy.display().to_string()
}

fn direction(summary: &Summary) -> &'static str {
    match summary.direction {
        Direction::Minimize => "lower is better",
        Direction::Maximize => "higher is better",
    }
}

fn write_columns(out: &mut impl Write, summary: &Summary) -> anyhow::Result<()> {
    let columns: Vec<(String, &str)> = summary.columns.iter().map(|(name, what)| (cut(name, NAME), &**what)).collect();
    let width = columns.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, what) in columns {
        writeln!(out, "  {name:<width$}  {what}")?;
    }
    writeln!(out, "picked by {}, seed {}", summary.sampler.name(), summary.seed)?;
    Ok(())
}

fn write_outcome(out: &mut impl Write, outcome: &ToldRow) -> anyhow::Result<()> {
    let value = match (outcome.value, outcome.status) {
        (Some(value), _) if outcome.values.len() > 1 => format!("{} (mean of {})", short(value), outcome.values.len()),
        (Some(value), _) => exact(value),
        (None, Status::Impossible) => "impossible".into(),
        (None, _) => "failed".into(),
    };
    writeln!(out, "{value}  row {}: {}", printable(&outcome.id), line(&outcome.cells))?;
    Ok(())
}

/// A row's cells in one line.
fn line(cells: &Cells) -> String {
    let cells: Vec<String> = cells.0.iter().map(|(name, cell)| format!("{name}={}", cell.replace('\n', " "))).collect();
    cut(&cells.join(", "), LINE)
}

/// A text for the terminal, and its beginning where it is too long.
fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text).into_owned(),
    }
}

fn why(forecast: &Forecast) -> String {
    let Forecast { mean, low, high, beats_best } = forecast;
    let [mean, low, high] = [mean, low, high].map(|value| short(*value));
    format!("predicted {mean} (95 %: {low} to {high}), beats the best so far with probability {}", percent(*beats_best))
}

fn done(remaining: &Remaining) -> String {
    format!("a better row is left with probability {}", percent(remaining.any))
}

/// All digits of a value that was told, few of a mean.
fn shown(value: f64, told: bool) -> String {
    if told { exact(value) } else { short(value) }
}

/// All digits of what was told, and no row of zeros.
fn exact(value: f64) -> String {
    let plain = value == 0.0 || (1e-9..1e15).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}

/// Four digits are enough for a prediction.
pub fn short(value: f64) -> String {
    let digits = format!("{value:.3e}");
    let rounded: f64 = digits.parse().unwrap_or(value);
    if !rounded.is_finite() {
        // Rounded up, the greatest numbers are none any more.
        return digits;
    }
    let plain = rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs());
    if plain { rounded.to_string() } else { format!("{rounded:e}") }
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        low if low < 0.1 => "less than 0.1 %".into(),
        high if high > 99.9 => "more than 99.9 %".into(),
        edge if !(10.0..=90.0).contains(&edge) => format!("{edge:.1} %"),
        middle => format!("{middle:.0} %"),
    }
}

/// Writes JSON for machines.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_study::Status;

    #[test]
    fn ids_are_whole_in_files_and_harmless_in_terminals() {
        let forecast = Forecast { mean: 1.0, low: 0.0, high: 2.0, beats_best: 0.5 };
        let row = RowForecast { id: "a\x1b[2J".into(), status: Status::Left, value: None, forecast };
        let shown = |terminal| {
            let mut out = Vec::new();
            forecasts(&mut out, std::slice::from_ref(&row), false, terminal).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(shown(false).contains("\na\x1b[2J,left,"));
        assert!(shown(true).contains("\na\\u{1b}[2J,left,"));
    }

    #[test]
    fn numbers_are_short_and_readable() {
        let shown = [0.0, 0.123_456, -1234.6, 12_345_678.0, 2.5e-7, 99_999.0, f64::MIN].map(short);
        assert_eq!(shown, ["0", "0.1235", "-1235", "1.235e7", "2.5e-7", "100000", "-1.798e308"]);
        let shown = [0.1, -1e15, 123_456_789_012.5, 1.25e308, 5e-324].map(exact);
        assert_eq!(shown, ["0.1", "-1e15", "123456789012.5", "1.25e308", "5e-324"]);
        assert_eq!(
            [0.0, 0.034, 0.5, 0.996, 0.9999].map(percent),
            ["less than 0.1 %", "3.4 %", "50 %", "99.6 %", "more than 99.9 %"]
        );
    }
}

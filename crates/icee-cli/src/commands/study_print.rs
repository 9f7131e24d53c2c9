//! What `icee study` prints: results on stdout, as text or JSON; notes on stderr.

use icee_study::{Answer, Cells, Direction, Forecast, Remaining, RowForecast, Summary, TellSummary, ToldRow};
use serde::Serialize;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// The length at which a row's cells are cut off in text.
const LINE: usize = 100;

/// The answer to a tell.
#[derive(Serialize)]
struct Taken<'a> {
    told: &'a TellSummary,
    best: Option<&'a ToldRow>,
}

/// Prints notes for the person, apart from the results.
pub fn notes(notes: &[String]) {
    notes.iter().for_each(|note| eprintln!("note: {note}"));
}

/// A study that has just been created.
pub fn created(out: &mut impl Write, name: &str, path: &Path, summary: &Summary, json: bool) -> anyhow::Result<()> {
    notes(&summary.notes);
    if json {
        return write_json(out, summary);
    }
    writeln!(out, "{}: {} rows, {}", path.display(), summary.rows, direction(summary))?;
    write_columns(out, summary)?;
    writeln!(out, "next: icee study ask {name}")?;
    Ok(())
}

/// Suggestions, and whether to go on.
pub fn answer(out: &mut impl Write, answer: &Answer, json: bool) -> anyhow::Result<()> {
    if json {
        notes(&answer.notes);
        return write_json(out, answer);
    }
    for suggestion in &answer.suggestions {
        writeln!(out, "row {}: {}", suggestion.id, line(&suggestion.cells))?;
        match &suggestion.forecast {
            Some(forecast) => writeln!(out, "  {}", why(forecast))?,
            None => writeln!(out, "  a first look: too few values to predict from")?,
        }
    }
    if let (Some(best), Some(remaining)) = (answer.best, &answer.remaining) {
        writeln!(out, "best so far {best}; {}", done(remaining))?;
    }
    notes(&answer.notes);
    Ok(())
}

/// What was taken in.
pub fn told(
    out: &mut impl Write,
    told: &TellSummary,
    best: Option<&ToldRow>,
    said: &[String],
    json: bool,
) -> anyhow::Result<()> {
    notes(said);
    if json {
        return write_json(out, &Taken { told, best });
    }
    let parts = [(told.new, "told"), (told.replaced, "replaced"), (told.unchanged, "unchanged")];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    write!(out, "{}", parts.collect::<Vec<_>>().join(", "))?;
    match best {
        Some(ToldRow { id, value: Some(value), .. }) => writeln!(out, "; best so far {value} (row {id})")?,
        _ => writeln!(out, "; no value yet")?,
    }
    Ok(())
}

/// The best row.
pub fn best(out: &mut impl Write, best: &ToldRow, json: bool) -> anyhow::Result<()> {
    if json {
        return write_json(out, best);
    }
    write_outcome(out, best)
}

/// A study at a glance.
pub fn summary(out: &mut impl Write, name: &str, summary: &Summary, json: bool) -> anyhow::Result<()> {
    notes(&summary.notes);
    if json {
        return write_json(out, summary);
    }
    let (told, running) = (summary.told.len(), summary.running.len());
    writeln!(out, "{name}: {} rows of {}, {}", summary.rows, tidy(&summary.pool), direction(summary))?;
    write_columns(out, summary)?;
    writeln!(out, "{told} told, {running} running, {} left", summary.left)?;
    for outcome in &summary.told {
        let mark = if summary.best.as_ref().is_some_and(|best| best.row == outcome.row) { "* " } else { "  " };
        write!(out, "{mark}")?;
        write_outcome(out, outcome)?;
    }
    if running > 0 {
        writeln!(out, "running: {}", summary.running.join(", "))?;
    }
    Ok(())
}

/// Every row's forecast.
pub fn forecasts(out: &mut impl Write, forecasts: &[RowForecast], json: bool) -> anyhow::Result<()> {
    if json {
        return write_json(out, &forecasts);
    }
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["id", "status", "value", "mean", "low", "high", "beats_best"])?;
    for RowForecast { id, status, value, forecast } in forecasts {
        let Forecast { mean, low, high, beats_best } = forecast;
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
    let names = summary.columns.iter().map(|(name, _)| name.chars().count()).chain([0]);
    let width = names.max().unwrap_or_default();
    for (name, what) in &summary.columns {
        writeln!(out, "  {name:<width$}  {what}")?;
    }
    writeln!(out, "picked by {}, seed {}", summary.sampler.name(), summary.seed)?;
    Ok(())
}

fn write_outcome(out: &mut impl Write, outcome: &ToldRow) -> anyhow::Result<()> {
    let value = outcome.value.map_or_else(|| "failed".into(), |value| value.to_string());
    writeln!(out, "{value}  row {}: {}", outcome.id, line(&outcome.cells))?;
    Ok(())
}

/// A row's cells in one line.
fn line(cells: &Cells) -> String {
    let cells: Vec<String> = cells.0.iter().map(|(name, cell)| format!("{name}={}", cell.replace('\n', " "))).collect();
    let text = cells.join(", ");
    match text.char_indices().nth(LINE) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
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

/// Four digits are enough for a prediction.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
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

fn write_json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_readable() {
        let shown = [0.0, 0.123_456, -1234.6, 12_345_678.0, 2.5e-7, 99_999.0].map(short);
        assert_eq!(shown, ["0", "0.1235", "-1235", "1.235e7", "2.5e-7", "100000"]);
        assert_eq!(
            [0.0, 0.034, 0.5, 0.996, 0.9999].map(percent),
            ["less than 0.1 %", "3.4 %", "50 %", "99.6 %", "more than 99.9 %"]
        );
    }
}

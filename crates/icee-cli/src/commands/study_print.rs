//! What `icee study` prints: results on stdout, as text or JSON; notes on stderr. Names and cells come from files of others,
//! so in text they are [`printable`] first; JSON escapes them by itself, and CSV is for machines.

use super::study::AskArgs;
use super::study::now;
use crate::terminal::{printable, say};
use icee_base::numbers::{percent, short};
use icee_serve::wire::Renewed;
use icee_study::{
    Answer, BestRow, Cells, Forecast, Neighbour, Remaining, SamplerKind, SheetChange, Status, Summary, TellSummary,
    ToldRow, Why,
};
use serde::Serialize;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// The length at which a row's cells are cut off in text or, where nothing may be missing, get a line each.
const LINE: usize = 100;
/// The same for a name.
pub const NAME: usize = 60;
/// The same for one cell: room for a molecule or a sentence.
const CELL: usize = 500;
/// As many columns are shown of a row.
const COLUMNS: usize = 40;
/// The part of an interval's width that is as good as nothing.
const NOTHING: f64 = 1e-4;
/// The length at which what speaks for a row is cut off.
const REASONS: usize = 300;

/// Said where there are values and no best one.
pub const NONE_GOOD: &str = "no row keeps all limits and has all outcomes yet";

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
///
/// `place` is what every further command says, too: in which folder or on which server the study is.
pub fn created(
    out: &mut impl Write,
    name: &str,
    path: &Path,
    place: &str,
    summary: &Summary,
    json: bool,
) -> anyhow::Result<()> {
    notes(&summary.notes);
    if json {
        return write_json(out, summary);
    }
    writeln!(out, "{}: {} rows, {}", path.display(), summary.rows, wishes(summary))?;
    write_columns(out, summary)?;
    if !summary.told.is_empty() {
        writeln!(out, "{} told, {} left", summary.told.len(), summary.left)?;
    }
    let next = if summary.left == 0 && summary.running.is_empty() { "best" } else { "ask" };
    writeln!(out, "next: icee study {next} {name}{place}")?;
    Ok(())
}

/// Suggestions, and whether to go on.
pub fn asked(out: &mut impl Write, answer: &Answer, args: &AskArgs) -> anyhow::Result<()> {
    if args.study.json {
        notes(&answer.notes);
        return write_json(out, answer);
    }
    for suggestion in &answer.suggestions {
        let again = if suggestion.repeat { " once more" } else { "" };
        write!(out, "row {}{again}:", printable(&suggestion.id))?;
        write_cells(out, &suggestion.cells)?;
        match &suggestion.forecast {
            Some(forecast) => {
                let chance = beats(forecast, answer.best.is_some());
                writeln!(out, "  {}, {chance}", predicted(forecast))?;
            }
            None if answer.sampler == SamplerKind::Random => writeln!(out, "  by chance")?,
            None => writeln!(out, "  a first look: too few values to predict from")?,
        }
        if !suggestion.reasons.is_empty() {
            writeln!(out, "  {}", cut(&suggestion.reasons.join("; "), REASONS))?;
        }
        if let Some(by) = &suggestion.by {
            writeln!(out, "  {} has it", printable(by))?;
        }
        if let Some(until) = suggestion.until {
            writeln!(out, "  to be told within {}", time_left(until.saturating_sub(now())))?;
        }
    }
    if let (Some(best), Some(remaining)) = (answer.best, &answer.remaining) {
        let among =
            if args.condition.is_some() && !answer.still_running { " among those that were asked for" } else { "" };
        writeln!(out, "best so far {}; {}", exact(best), done(remaining, among))?;
    }
    if let Some(best) = answer.best.filter(|_| has_limits_alone(answer)) {
        writeln!(
            out,
            "best so far {}; how likely a better row is left is not said where there are limits",
            exact(best)
        )?;
    }
    if answer.still_running {
        writeln!(out, "still running: tell what came out, or withdraw it; --more asks for other rows")?;
    }
    notes(&answer.notes);
    Ok(())
}

/// Whether there are new rows to try, and limits beside the one thing that is to be as good as possible.
fn has_limits_alone(answer: &Answer) -> bool {
    let mut forecasts = answer.suggestions.iter().filter_map(|suggestion| suggestion.forecast.as_ref());
    let limits = |forecast: &Forecast| {
        !forecast.further.is_empty() && forecast.further.iter().all(|further| further.holds.is_some())
    };
    !answer.still_running && forecasts.next().is_some_and(limits)
}

/// What was taken in.
pub fn told(
    out: &mut impl Write,
    told: &TellSummary,
    best: Result<&BestRow, &str>,
    said: &[String],
    json: bool,
) -> anyhow::Result<()> {
    notes(said);
    if json {
        return write_json(out, &Taken { told, best: best.ok() });
    }
    let counts = [told.new, told.again, told.replaced, told.unchanged];
    let parts = counts.into_iter().zip(["told", "told again", "replaced", "unchanged"]).collect::<Vec<_>>();
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    write!(out, "{}", parts.collect::<Vec<_>>().join(", "))?;
    match best {
        Ok(BestRow { row: ToldRow { id, value: Some(value), .. }, sure, .. }) => {
            let sure = sure.map_or_else(String::new, |sure| format!(", the best with probability {}", percent(sure)));
            writeln!(out, "; best so far {} (row {}{sure})", shown(*value, sure.is_empty()), printable(id))?;
        }
        Ok(_) => writeln!(out)?,
        Err(none) => writeln!(out, "; {none}")?,
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

/// Rows that have more time.
pub fn renewed(out: &mut impl Write, rows: &[String], until: u64, said: &[String], json: bool) -> anyhow::Result<()> {
    notes(said);
    if json {
        return write_json(out, &Renewed { renewed: rows.to_vec(), until });
    }
    let (what, left) = (if rows.len() == 1 { "row" } else { "rows" }, time_left(until.saturating_sub(now())));
    writeln!(out, "renewed: {what} {}, to be told within {left}", printable(&rows.join(", ")))?;
    Ok(())
}

/// A file that was written.
pub fn written(out: &mut impl Write, path: &Path, json: bool) -> anyhow::Result<()> {
    match json {
        true => write_json(out, &serde_json::json!({ "page": path.display().to_string() })),
        false => Ok(writeln!(out, "{}", printable(&path.display().to_string()))?),
    }
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

/// Why a row.
pub fn why_row(out: &mut impl Write, row: &Why, json: bool) -> anyhow::Result<()> {
    if json {
        return write_json(out, row);
    }
    let status = match (row.status, row.value) {
        (_, Some(value)) => format!(" (told: {})", exact(value)),
        (Status::Failed, _) => " (failed)".into(),
        (Status::Impossible, _) => " (impossible)".into(),
        (Status::Running, _) => " (running)".into(),
        _ => String::new(),
    };
    write!(out, "row {}{status}:", printable(&row.id))?;
    write_cells(out, &row.cells)?;
    match &row.forecast {
        // What was told beats the best so far no more.
        Some(forecast) if row.value.is_some() => writeln!(out, "  {}", predicted(forecast))?,
        Some(forecast) => writeln!(out, "  {}, {}", predicted(forecast), beats(forecast, true))?,
        None => writeln!(out, "  too few values to predict from")?,
    }
    for reason in &row.reasons {
        writeln!(out, "  {}", cut(reason, REASONS))?;
    }
    for Neighbour { id, value, differs } in &row.nearest {
        let differs = if differs.0.is_empty() { "the same cells".into() } else { line(differs) };
        writeln!(out, "  nearest: row {} has {}; there {differs}", printable(id), exact(*value))?;
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
    writeln!(out, "{name}: {} rows of {}, {}", summary.rows, printable(&tidy(&summary.pool)), wishes(summary))?;
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

/// The rows that are beaten by none.
pub fn front(out: &mut impl Write, front: &[ToldRow], json: bool) -> anyhow::Result<()> {
    if json {
        return write_json(out, &front);
    }
    match front.len() {
        0 => writeln!(out, "{NONE_GOOD}")?,
        1 => writeln!(out, "one row is beaten by none:")?,
        count => writeln!(out, "{count} rows are beaten by none:")?,
    }
    front.iter().try_for_each(|row| write_outcome(out, row))
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

/// What is wanted, outcome by outcome.
fn wishes(summary: &Summary) -> String {
    let wish = |(at, (name, wish)): (usize, &(Option<String>, String))| match name {
        Some(name) if at > 0 || summary.goals.len() > 1 => format!("{}: {wish}", cut(name, NAME)),
        _ => wish.clone(),
    };
    summary.goals.iter().enumerate().map(wish).collect::<Vec<_>>().join("; ")
}

fn write_columns(out: &mut impl Write, summary: &Summary) -> anyhow::Result<()> {
    let columns: Vec<(String, &str)> = summary.columns.iter().map(|(name, what)| (cut(name, NAME), &**what)).collect();
    let width = columns.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, what) in columns {
        writeln!(out, "  {name:<width$}  {what}")?;
    }
    if let Some(cost) = &summary.cost_column {
        writeln!(out, "improvement is weighed against {}", cut(cost, NAME))?;
    }
    if let Some((study, rows)) = &summary.earlier {
        writeln!(out, "learns from {rows} rows of the study {}, too", cut(study, NAME))?;
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
    let further = outcome.further.iter().map(|(name, value)| match value {
        Some(value) => format!(", {} {}", cut(name, NAME), short(*value)),
        None => format!(", {} not measured", cut(name, NAME)),
    });
    let further: String = if outcome.value.is_some() { further.collect() } else { String::new() };
    writeln!(out, "{value}{further}  row {}: {}", printable(&outcome.id), line(&outcome.cells))?;
    Ok(())
}

/// All of a row's cells behind what was written of it: on the same line, or a line each where that would be long.
fn write_cells(out: &mut impl Write, cells: &Cells) -> anyhow::Result<()> {
    let mut shown: Vec<String> = cells
        .0
        .iter()
        .take(COLUMNS)
        .map(|(name, cell)| format!("{}={}", cut(name, NAME), cut(&cell.replace('\n', " "), CELL)))
        .collect();
    if cells.0.len() > COLUMNS {
        shown.push(format!("… and {} more columns", cells.0.len() - COLUMNS));
    }
    let line = shown.join(", ");
    if line.chars().count() <= LINE {
        return Ok(writeln!(out, " {line}")?);
    }
    writeln!(out)?;
    shown.iter().try_for_each(|cell| Ok(writeln!(out, "    {cell}")?))
}

/// A row's cells in one line.
fn line(cells: &Cells) -> String {
    let cells: Vec<String> = cells.0.iter().map(|(name, cell)| format!("{name}={}", cell.replace('\n', " "))).collect();
    cut(&cells.join(", "), LINE)
}

/// A text for the terminal, and its beginning where it is too long.
pub fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text).into_owned(),
    }
}

/// What is expected of a row.
fn predicted(Forecast { mean, low, high, further, .. }: &Forecast) -> String {
    let interval = |mean: f64, low: f64, high: f64| {
        // What is next to nothing beside the rest is 0.
        let least = NOTHING * (high - low);
        let [mean, low, high] = [mean, low, high].map(|end| short(if end.abs() < least { 0.0 } else { end }));
        format!("{mean} (95 %: {low} to {high})")
    };
    let mut text = format!("predicted {}", interval(*mean, *low, *high));
    for further in further {
        text += &format!(", {} {}", cut(&further.name, NAME), interval(further.mean, further.low, further.high));
        text += &further.holds.map_or_else(String::new, |holds| format!(", within its limit with {}", percent(holds)));
    }
    text
}

/// How likely a row is to be better than all before it.
fn beats(Forecast { beats_best, further, .. }: &Forecast, any_best: bool) -> String {
    let limited = further.iter().any(|further| further.holds.is_some());
    let what = match further.iter().any(|further| further.holds.is_none()) {
        _ if !any_best && limited => "within all limits",
        _ if !any_best => "better than what the earlier study has found",
        true => "beaten by no row so far",
        false => "beats the best so far",
    };
    format!("{what} with probability {}", percent(*beats_best))
}

/// A time in the largest unit of which there is at least one.
fn time_left(seconds: u64) -> String {
    match [(86_400, "d"), (3600, "h"), (60, "min")].iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => format!("{} {name}", short((seconds as f64 / *unit as f64 * 10.0).round() / 10.0)),
        None => format!("{seconds} s"),
    }
}

fn done(remaining: &Remaining, among: &str) -> String {
    format!("a better row is left{among} with probability {}", percent(remaining.any))
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

/// Writes JSON for machines.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_keeps_its_digits() {
        let shown = [0.1, -1e15, 123_456_789_012.5, 1.25e308, 5e-324].map(exact);
        assert_eq!(shown, ["0.1", "-1e15", "123456789012.5", "1.25e308", "5e-324"]);
    }

    #[test]
    fn times_are_said_in_the_largest_unit() {
        assert_eq!([30, 90, 5400, 86_400 * 3].map(time_left), ["30 s", "1.5 min", "1.5 h", "3 d"]);
    }
}

//! Rows as `icee study` prints them: suggestions, results, explanations. Names and cells come from files of others, so
//! they are [`printable`] first.

use super::Shown;
use crate::terminal::printable;
use icee_base::numbers::{percent, short};
use icee_protocol::{Answer, Cells, Explained, Forecast, MeasuredRow, Neighbour, Status, Suggestion};
use std::io::Write;

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
/// The sampler that predicts nothing.
const RANDOM: &str = "random";

/// Suggested rows, and whether to go on.
pub fn answer(out: &mut impl Write, answer: &Answer, shown: &Shown<'_>) -> anyhow::Result<()> {
    let unpredicted = match answer.sampler.as_str() {
        RANDOM => "random choice",
        _ => "initial design: at least two results are needed for predictions",
    };
    for row in &answer.suggestions {
        let mark = if row.running && !answer.still_running { " (in progress)" } else { "" };
        suggestion(out, row, mark, Some(unpredicted), answer.best.is_some(), shown.now)?;
    }
    if let Some(best) = answer.best {
        let which = if shown.filtered { " that satisfies the condition" } else { "" };
        match &answer.remaining {
            Some(remaining) => {
                let left = percent(remaining.any);
                writeln!(out, "best so far {}; a better row{which} is left with probability {left}", exact(best))?;
            }
            None if has_constraints_alone(answer) => {
                writeln!(out, "best so far {}; no stopping estimate with constraints", exact(best))?;
            }
            None => (),
        }
    }
    if answer.still_running {
        let (name, options) = (shown.name, shown.options);
        writeln!(
            out,
            "in progress: record results (`icee study tell {name}{options}`), or ask for other rows (--more)"
        )?;
    }
    Ok(())
}

/// Rows in progress.
pub fn running(out: &mut impl Write, rows: &[Suggestion], shown: &Shown<'_>) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(writeln!(out, "no rows in progress")?);
    }
    rows.iter().try_for_each(|row| suggestion(out, row, "", None, true, shown.now))
}

/// One row to try: its cells, what is predicted of it, whose it is.
fn suggestion(
    out: &mut impl Write,
    row: &Suggestion,
    mark: &str,
    unpredicted: Option<&str>,
    any_best: bool,
    now: u64,
) -> anyhow::Result<()> {
    let replicate = if row.repeat { ", a replicate" } else { "" };
    write!(out, "row {}{replicate}{mark}:", printable(&row.id))?;
    write_cells(out, &row.cells)?;
    match (&row.forecast, unpredicted) {
        (Some(forecast), _) => writeln!(out, "  {}, {}", predicted(forecast), beats(forecast, any_best))?,
        (None, Some(unpredicted)) => writeln!(out, "  {unpredicted}")?,
        (None, None) => (),
    }
    if !row.reasons.is_empty() {
        writeln!(out, "  {}", cut(&row.reasons.join("; "), REASONS))?;
    }
    let by = row.by.as_ref().map_or_else(String::new, |by| format!(" by {}", printable(by)));
    match row.until {
        Some(until) => writeln!(out, "  reserved{by} for {}", time_left(until.saturating_sub(now)))?,
        None if !by.is_empty() => writeln!(out, "  reserved{by}")?,
        None => (),
    }
    Ok(())
}

/// Whether there are new rows, and constraints beside one objective.
fn has_constraints_alone(answer: &Answer) -> bool {
    let mut forecasts = answer.suggestions.iter().filter_map(|suggestion| suggestion.forecast.as_ref());
    let constraints = |forecast: &Forecast| {
        !forecast.further.is_empty() && forecast.further.iter().all(|further| further.holds.is_some())
    };
    !answer.still_running && forecasts.next().is_some_and(constraints)
}

/// Why a row.
pub fn explained(out: &mut impl Write, row: &Explained) -> anyhow::Result<()> {
    let status = match (row.status, row.value) {
        (_, Some(value)) => format!(" (measured: {})", exact(value)),
        (Status::Failed, _) => " (failed)".into(),
        (Status::Impossible, _) => " (impossible)".into(),
        (Status::Running, _) => " (in progress)".into(),
        _ => String::new(),
    };
    write!(out, "row {}{status}:", printable(&row.id))?;
    write_cells(out, &row.cells)?;
    match &row.forecast {
        // A measured row beats the best so far no more.
        Some(forecast) if row.value.is_some() => writeln!(out, "  {}", predicted(forecast))?,
        Some(forecast) => writeln!(out, "  {}, {}", predicted(forecast), beats(forecast, true))?,
        None => writeln!(out, "  no prediction: at least two results are needed")?,
    }
    for reason in &row.reasons {
        writeln!(out, "  {}", cut(reason, REASONS))?;
    }
    for Neighbour { id, value, differs } in &row.nearest {
        let differs = if differs.0.is_empty() { "the same cells".into() } else { line(differs) };
        writeln!(out, "  similar: row {}, result {}, {differs}", printable(id), exact(*value))?;
    }
    Ok(())
}

/// A result, its row and the row's cells.
pub fn measured(out: &mut impl Write, row: &MeasuredRow) -> anyhow::Result<()> {
    let value = match (row.value, row.status) {
        (Some(value), _) if row.values.len() > 1 => format!("{} (mean of {})", short(value), row.values.len()),
        (Some(value), _) => exact(value),
        (None, Status::Impossible) => "impossible".into(),
        (None, _) => "failed".into(),
    };
    let further = row.further.iter().map(|(name, value)| match value {
        Some(value) => format!(", {} {}", cut(name, NAME), short(*value)),
        None => format!(", {} not measured", cut(name, NAME)),
    });
    let further: String = if row.value.is_some() { further.collect() } else { String::new() };
    Ok(writeln!(out, "{value}{further}  row {}: {}", printable(&row.id), line(&row.cells))?)
}

/// All of a row's cells behind what was written of it: on the same line, or a line each where that would be long.
fn write_cells(out: &mut impl Write, cells: &Cells) -> anyhow::Result<()> {
    let cell = |(name, cell): &(String, String)| format!("{}={}", cut(name, NAME), cut(&cell.replace('\n', " "), CELL));
    let mut shown: Vec<String> = cells.0.iter().take(COLUMNS).map(cell).collect();
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
        let [mean, low, high] = rounded(mean, low, high);
        format!("{mean} (95 %: {low} to {high})")
    };
    let mut text = format!("predicted {}", interval(*mean, *low, *high));
    for further in further {
        text += &format!(", {} {}", cut(&further.name, NAME), interval(further.mean, further.low, further.high));
        text += &further.holds.map_or_else(String::new, |holds| format!(", constraint holds with {}", percent(holds)));
    }
    text
}

/// A mean and the ends of its interval. What is next to nothing beside the rest is 0.
pub fn rounded(mean: f64, low: f64, high: f64) -> [String; 3] {
    let least = NOTHING * (high - low);
    [mean, low, high].map(|end| short(if end.abs() < least { 0.0 } else { end }))
}

/// The probability that a row is better than all before it.
fn beats(Forecast { beats_best, further, .. }: &Forecast, any_best: bool) -> String {
    let constrained = further.iter().any(|further| further.holds.is_some());
    let what = match further.iter().any(|further| further.holds.is_none()) {
        _ if !any_best && constrained => "satisfies all constraints",
        _ if !any_best => "beats the best of the earlier study",
        true => "Pareto-optimal",
        false => "beats the best so far",
    };
    format!("{what} with probability {}", percent(*beats_best))
}

/// A time in the largest unit of which there is at least one.
pub fn time_left(seconds: u64) -> String {
    match [(86_400, "d"), (3600, "h"), (60, "min")].iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => format!("{} {name}", short((seconds as f64 / *unit as f64 * 10.0).round() / 10.0)),
        None => format!("{seconds} s"),
    }
}

/// All digits of a result, and no row of zeros.
pub fn exact(value: f64) -> String {
    let plain = value == 0.0 || (1e-9..1e15).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::Remaining;

    fn shown(filtered: bool) -> Shown<'static> {
        Shown { name: "bread", place: "studies", options: "", filtered, terminal: false, now: 1000 }
    }

    fn row(id: &str, running: bool) -> Suggestion {
        Suggestion {
            id: id.into(),
            row: 1,
            cells: Cells(vec![("heat".into(), "200".into())]),
            repeat: false,
            running,
            until: None,
            by: None,
            forecast: None,
            reasons: vec![],
        }
    }

    fn printed(print: impl Fn(&mut Vec<u8>) -> anyhow::Result<()>) -> String {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn results_keep_their_digits() {
        let shown = [0.1, -1e15, 123_456_789_012.5, 1.25e308, 5e-324].map(exact);
        assert_eq!(shown, ["0.1", "-1e15", "123456789012.5", "1.25e308", "5e-324"]);
    }

    #[test]
    fn times_are_said_in_the_largest_unit() {
        assert_eq!([30, 90, 5400, 86_400 * 3].map(time_left), ["30 s", "1.5 min", "1.5 h", "3 d"]);
    }

    #[test]
    fn repeated_rows_stand_out_among_new_ones() {
        let reserved = Suggestion { by: Some("Ada".into()), until: Some(1000 + 7200), ..row("3", true) };
        let mixed = Answer {
            suggestions: vec![reserved.clone(), row("7", false)],
            still_running: false,
            sampler: "learned".into(),
            best: Some(6.5),
            remaining: Some(Remaining { any: 0.35, single: 0.1, independent: 0.9 }),
            left: 9,
            sheet: String::new(),
        };
        let text = printed(|out| answer(out, &mixed, &shown(true)));
        let design = "  initial design: at least two results are needed for predictions\n";
        let last = "best so far 6.5; a better row that satisfies the condition is left with probability 35 %\n";
        assert_eq!(
            text,
            format!(
                "row 3 (in progress): heat=200\n{design}  reserved by Ada for 2 h\nrow 7: heat=200\n{design}{last}"
            )
        );
        let repeated = Answer { suggestions: vec![reserved], still_running: true, remaining: None, ..mixed };
        let text = printed(|out| answer(out, &repeated, &shown(false)));
        assert!(text.starts_with("row 3: ") && text.contains("--more"), "{text}");
    }
}

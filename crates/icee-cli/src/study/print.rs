//! What `icee study` prints: every reply as text, or as JSON. A verb whose reply is not printed here does not compile.

use super::rows::{self, NAME, cut, exact, time_left};
use super::{Shown, tables};
use crate::terminal::printable;
use anyhow::bail;
use icee_base::numbers::{percent, short};
use icee_protocol::{
    BestRow, BestRows, Goal, GoalsSet, Gone, Note, Range, Reader, Renewed, Reply, Summary, Told, Updated, render,
};
use serde::Serialize;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// Said where there are results and no best one.
const NONE_GOOD: &str = "no row satisfies all constraints and has all results yet";

/// A reply as text.
pub fn reply(out: &mut impl Write, reply: &Reply, shown: &Shown<'_>) -> anyhow::Result<()> {
    match reply {
        Reply::Create(summary) | Reply::Import(summary) => created(out, summary, shown),
        Reply::Survey(surveyed) => show(out, &surveyed.summary, shown),
        Reply::Show(summary) => show(out, summary, shown),
        Reply::List(list) => tables::studies(out, &list.studies, shown),
        Reply::Delete(gone) => deleted(out, gone),
        Reply::Ask(answer) => rows::answer(out, answer, shown),
        Reply::Running(rows) => rows::running(out, &rows.running, shown),
        Reply::Tell(recorded) => told(out, recorded),
        Reply::Renew(renewed) => extended(out, renewed, shown),
        Reply::Update(change) => updated(out, change),
        Reply::Withdraw(released) => changed(out, "released", &released.withdrawn),
        Reply::Forget(deleted) => changed(out, "results deleted", &deleted.forgotten),
        Reply::Undo(undone) => Ok(writeln!(out, "undone: {}", printable(&undone.undone.words))?),
        Reply::Goals(GoalsSet { goals, bounds }) => Ok(writeln!(out, "{}{}", wanted(goals), range(*bounds))?),
        Reply::Best(best_rows) => best(out, best_rows, shown),
        Reply::Predict(predicted) => tables::predictions(out, predicted, shown.terminal),
        Reply::Why(row) => rows::explained(out, row),
        Reply::Effects(columns) if columns.effects.is_empty() => bail!("Predictions need at least two results."),
        Reply::Effects(columns) => tables::effects(out, &columns.effects),
        Reply::Review(reviewed) => tables::review(out, reviewed),
        Reply::Glance(page) | Reply::Report(page) => document(out, &page.html, shown),
        Reply::Export(results) => document(out, &results.csv, shown),
        Reply::ReadCells(all) => tables::cells(out, all, shown.terminal),
        Reply::Journal(bundle) => document(out, &bundle.journal, shown),
    }
}

/// Writes JSON for machines.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    Ok(writeln!(out)?)
}

/// A study that has just been created.
fn created(out: &mut impl Write, summary: &Summary, shown: &Shown<'_>) -> anyhow::Result<()> {
    let Shown { name, place, options, .. } = shown;
    writeln!(out, "{name} in {}: {} rows, {}", printable(place), summary.rows, wanted(&summary.goals))?;
    columns(out, summary)?;
    if summary.told_in_all > 0 {
        writeln!(out, "{} measured, {} left", summary.told_in_all, summary.left)?;
    }
    let next = if summary.left == 0 && summary.running.is_empty() { "best" } else { "ask" };
    Ok(writeln!(out, "next: icee study {next} {name}{options}")?)
}

/// A study at a glance.
fn show(out: &mut impl Write, summary: &Summary, shown: &Shown<'_>) -> anyhow::Result<()> {
    let pool = summary.pool.as_ref().map_or_else(String::new, |pool| format!(" of {}", printable(&tidy(pool))));
    writeln!(out, "{}: {} rows{pool}, {}", shown.name, summary.rows, wanted(&summary.goals))?;
    columns(out, summary)?;
    let running = summary.running.len();
    writeln!(out, "{} measured, {running} in progress, {} left", summary.told_in_all, summary.left)?;
    for row in &summary.told {
        let best = summary.best.as_ref().is_some_and(|best| best.row.row == row.row);
        let good = best || summary.front.iter().any(|other| other.row == row.row);
        write!(out, "{} ", if good { "*" } else { " " })?;
        rows::measured(out, row)?;
    }
    if let Some(noise) = summary.noise {
        writeln!(out, "standard deviation of replicates: {}", short(noise))?;
    }
    if running > 0 {
        writeln!(out, "in progress: {}", printable(&summary.running.join(", ")))?;
    }
    if let Some(step) = &summary.last {
        writeln!(out, "last step: {}", printable(&step.words))?;
    }
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

/// What is wanted, result by result.
fn wanted(goals: &[Goal]) -> String {
    let one = |(at, goal): (usize, &Goal)| match &goal.name {
        Some(name) if at > 0 || goals.len() > 1 => format!("{}: {}", cut(name, NAME), goal.words),
        _ => goal.words.clone(),
    };
    goals.iter().enumerate().map(one).collect::<Vec<_>>().join("; ")
}

fn range(bounds: Option<Range>) -> String {
    bounds.map_or_else(String::new, |bounds| format!("; range of results: {bounds}"))
}

/// How the columns are used, and what picks the rows.
fn columns(out: &mut impl Write, summary: &Summary) -> anyhow::Result<()> {
    let columns: Vec<(String, &str)> = summary.columns.iter().map(|(name, what)| (cut(name, NAME), &**what)).collect();
    let width = columns.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, what) in columns {
        writeln!(out, "  {name:<width$}  {what}")?;
    }
    if let Some(bounds) = summary.bounds {
        writeln!(out, "range of results: {bounds}")?;
    }
    if let Some(cost) = &summary.cost_column {
        writeln!(out, "suggestions maximize improvement per {}", cut(cost, NAME))?;
    }
    if let Some((study, rows)) = &summary.earlier {
        writeln!(out, "uses {rows} results of the study {}, too", cut(study, NAME))?;
    }
    Ok(writeln!(out, "sampler {}, seed {}", summary.sampler, summary.seed)?)
}

/// What was recorded, and the best row now.
fn told(out: &mut impl Write, Told { told, best, has_values }: &Told) -> anyhow::Result<()> {
    let counts =
        [(told.new, "new"), (told.again, "replicate"), (told.replaced, "corrected"), (told.unchanged, "unchanged")];
    let plural = |count: usize, what: &str| if count > 1 && what == "replicate" { "s" } else { "" };
    let parts = counts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}{}", plural(count, what))).collect();
    write!(out, "recorded: {}", if parts.is_empty() { "nothing".into() } else { parts.join(", ") })?;
    match best {
        Some(BestRow { row, sure, .. }) => {
            let value = row.value.map_or_else(String::new, |value| match sure {
                Some(_) => format!(" {}", short(value)),
                None => format!(" {}", exact(value)),
            });
            let sure = sure.map_or_else(String::new, |sure| format!(", the best with probability {}", percent(sure)));
            writeln!(out, "; best so far{value} (row {}{sure})", printable(&row.id))?;
        }
        None if *has_values => writeln!(out, "; {NONE_GOOD}")?,
        None => writeln!(out, "; no result yet")?,
    }
    Ok(())
}

/// What was updated from the sheet.
fn updated(out: &mut impl Write, change: &Updated) -> anyhow::Result<()> {
    let Updated { changed, rows_before, rows, told } = *change;
    if !changed {
        return Ok(writeln!(out, "The sheet has not changed.")?);
    }
    // In the words of the note that `ask` has about it.
    let note = Note::SheetUpdated { rows_before, rows, told };
    Ok(writeln!(out, "{}", render::note(&note, &Reader::default()))?)
}

/// Rows to which something was done.
fn changed(out: &mut impl Write, done: &str, rows: &[String]) -> anyhow::Result<()> {
    Ok(writeln!(out, "{done}: {}", listed(rows))?)
}

/// Rows that are reserved for longer.
fn extended(out: &mut impl Write, Renewed { renewed, until }: &Renewed, shown: &Shown<'_>) -> anyhow::Result<()> {
    Ok(writeln!(out, "reserved for {}: {}", time_left(until.saturating_sub(shown.now)), listed(renewed))?)
}

fn listed(rows: &[String]) -> String {
    format!("{} {}", if rows.len() == 1 { "row" } else { "rows" }, printable(&rows.join(", ")))
}

/// The best row, or the Pareto front.
fn best(out: &mut impl Write, rows: &BestRows, shown: &Shown<'_>) -> anyhow::Result<()> {
    let name = shown.name;
    match rows {
        BestRows { has_values: false, .. } => {
            bail!("There is no result yet. Record one: `icee study tell {name} --row ID --value RESULT`.")
        }
        BestRows { objectives: 2.., front, .. } if !front.is_empty() => {
            let what = if front.len() == 1 { "row" } else { "rows" };
            writeln!(out, "{} Pareto-optimal {what}:", front.len())?;
            front.iter().try_for_each(|row| rows::measured(out, row))
        }
        BestRows { objectives: ..2, best: Some(best), .. } => {
            rows::measured(out, &best.row)?;
            if let (Some(believed), Some(sure)) = (best.believed, best.sure) {
                let (mean, sure) = (short(believed), percent(sure));
                writeln!(out, "estimated mean {mean}; best of the measured rows with probability {sure}")?;
            }
            Ok(())
        }
        _ => bail!("{NONE_GOOD}. To see all results: `icee study show {name}`"),
    }
}

/// A study that was deleted.
fn deleted(out: &mut impl Write, Gone { deleted, place }: &Gone) -> anyhow::Result<()> {
    let place = place.as_ref().map_or_else(String::new, |place| format!(", moved to {}", printable(place)));
    Ok(writeln!(out, "deleted: {deleted}{place}; its name is free again")?)
}

/// A text as it is, unless a terminal would obey it.
fn document(out: &mut impl Write, text: &str, shown: &Shown<'_>) -> anyhow::Result<()> {
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) if shown.terminal => writeln!(out, "{}", printable(line))?,
            _ => write!(out, "{line}")?,
        }
    }
    Ok(())
}

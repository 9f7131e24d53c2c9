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

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::Verb;
    use serde_json::{Value, json};

    fn measured(id: &str, value: f64, further: &Value) -> Value {
        let cells = json!({ "heat": "200" });
        json!({
            "id": id, "row": 3, "value": value, "values": [value], "status": "told", "cells": cells, "further": further,
        })
    }

    /// What is printed of a reply; the words of an error where there is nothing to show.
    fn printed(verb: Verb, json: &Value) -> String {
        let reply = verb.reply(&json.to_string()).unwrap().reply;
        let options = " --dir lab";
        let shown = Shown { name: "bread", place: "lab", options, filtered: false, terminal: true, now: 1000 };
        let mut out = Vec::new();
        match super::reply(&mut out, &reply, &shown) {
            Ok(()) => String::from_utf8(out).unwrap(),
            Err(error) => format!("error: {error}"),
        }
    }

    fn summary() -> Value {
        let goal = |name: &str, wanted: &str, words: &str| {
            let objective = wanted == "maximize";
            json!({ "name": name, "wanted": wanted, "number": 95.0, "is_objective": objective, "words": words })
        };
        let goals = [goal("score", "maximize", "higher is better"), goal("purity", "at-least", "at least 95")];
        json!({
            "pool": "a/../bread.csv", "rows": 4, "columns": [["heat", "number, 180 to 240"], ["flour", "2 categories"]],
            "row_column": "row", "goals": goals, "bounds": { "low": 0.0, "high": null }, "earlier": ["old", 7],
            "sampler": "learned", "seed": 0, "told": [measured("A", 6.5, &json!([["purity", 96.0]]))], "told_in_all": 1,
            "front": [], "running": ["B"], "left": 2, "lines": 3, "sheet": "",
            "last": { "deeds": [], "words": "suggestion of row B" },
        })
    }

    #[test]
    fn a_study_is_shown_as_it_was_created() {
        let columns = "  heat   number, 180 to 240\n  flour  2 categories\nrange of results: 0 or more\n\
                       uses 7 results of the study old, too\nsampler learned, seed 0\n";
        let wanted = "score: higher is better; purity: at least 95\n";
        let next = "1 measured, 2 left\nnext: icee study ask bread --dir lab\n";
        assert_eq!(printed(Verb::Create, &summary()), format!("bread in lab: 4 rows, {wanted}{columns}{next}"));
        let rest = "1 measured, 1 in progress, 2 left\n  6.5, purity 96  row A: heat=200\nin progress: B\n\
                    last step: suggestion of row B\n";
        assert_eq!(printed(Verb::Show, &summary()), format!("bread: 4 rows of bread.csv, {wanted}{columns}{rest}"));
    }

    #[test]
    fn the_best_is_a_row_or_a_front_or_an_error() {
        let mut best = measured("A", 6.5, &json!([]));
        best["believed"] = json!(6.071);
        best["sure"] = json!(0.83);
        let front = [measured("A", 6.5, &json!([["price", 3.0]])), measured("B", 5.0, &json!([["price", 1.0]]))];
        let one = json!({ "best": best, "front": [], "objectives": 1, "has_values": true, "sheet": "" });
        let several = json!({ "best": best, "front": front, "objectives": 2, "has_values": true, "sheet": "" });
        let none = |has: bool| json!({ "best": null, "front": [], "objectives": 1, "has_values": has, "sheet": "" });
        assert_eq!(
            printed(Verb::Best, &one),
            "6.5  row A: heat=200\nestimated mean 6.071; best of the measured rows with probability 83 %\n"
        );
        assert_eq!(
            printed(Verb::Best, &several),
            "2 Pareto-optimal rows:\n6.5, price 3  row A: heat=200\n5, price 1  row B: heat=200\n"
        );
        assert!(printed(Verb::Best, &none(true)).starts_with("error: no row satisfies all constraints"));
        assert!(printed(Verb::Best, &none(false)).contains("`icee study tell bread --row ID --value RESULT`"));
        assert!(printed(Verb::Effects, &json!({ "effects": [], "sheet": "" })).contains("at least two results"));
        let counts = json!({ "new": 1, "again": 2, "replaced": 0, "unchanged": 1 });
        let told = json!({ "told": counts, "best": best, "has_values": true });
        let words =
            "recorded: 1 new, 2 replicates, 1 unchanged; best so far 6.5 (row A, the best with probability 83 %)\n";
        assert_eq!(printed(Verb::Tell, &told), words);
    }

    #[test]
    fn changes_are_told_in_a_line() {
        for (verb, reply, words) in [
            (Verb::Withdraw, json!({ "withdrawn": ["A\u{1b}", "B"] }), "released: rows A\\u{1b}, B\n"),
            (Verb::Forget, json!({ "forgotten": ["A"] }), "results deleted: row A\n"),
            (Verb::Renew, json!({ "renewed": ["A"], "until": 8200 }), "reserved for 2 h: row A\n"),
            (Verb::Delete, json!({ "deleted": "s", "place": "x" }), "deleted: s, moved to x; its name is free again\n"),
            (Verb::Delete, json!({ "deleted": "s" }), "deleted: s; its name is free again\n"),
            (
                Verb::Undo,
                json!({ "undone": { "deeds": [], "words": "release of row A" } }),
                "undone: release of row A\n",
            ),
            (Verb::Running, json!({ "running": [], "sheet": "" }), "no rows in progress\n"),
            (Verb::List, json!({ "studies": [] }), "no studies in lab\n"),
            (Verb::Export, json!({ "csv": "row,value\n1,\u{1b}\n" }), "row,value\n1,\\u{1b}\n"),
        ] {
            assert_eq!(printed(verb, &reply), words);
        }
        let counts = json!({ "new": 1, "again": 0, "replaced": 0, "unchanged": 0 });
        let change = |changed| json!({ "changed": changed, "rows_before": 7, "rows": 8, "told": counts, "sheet": "" });
        assert_eq!(printed(Verb::Update, &change(false)), "The sheet has not changed.\n");
        assert!(printed(Verb::Update, &change(true)).starts_with("The sheet has changed: 8 rows (1 more)"));
    }
}

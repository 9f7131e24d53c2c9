//! `icee runs`: lists the training runs in a folder with their progress and results.

use super::progress::in_words;
use crate::terminal::printable;
use icee_models::runs::{Found, Run, State, list};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// List training runs, the newest first.
#[derive(clap::Args)]
pub struct Args {
    /// List the runs in this folder.
    #[arg(value_name = "DIR", default_value = "runs")]
    folder: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A line of the list.
#[derive(Serialize)]
struct Row {
    name: String,
    path: String,
    /// Running, finished, stopped; else damaged, or foreign where the folder is no run.
    state: &'static str,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(flatten)]
    run: Option<Known>,
}

/// What a run says of itself.
#[derive(Serialize)]
struct Known {
    world: String,
    /// The name of the log, where it learns from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    method: String,
    seed: String,
    /// Updates done, and to do.
    step: u64,
    steps: Option<u64>,
    /// When it began, UTC.
    began: Option<String>,
    seconds: Option<f64>,
    /// The last of what is measured on games or functions that are not learned from; of a log the least.
    results: BTreeMap<String, f64>,
    /// What the kept networks are worth, where that was found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let rows: Vec<Row> = list(&args.folder)?.map(row).collect();
    let mut out = std::io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?,
        false if rows.is_empty() => writeln!(out, "no runs in {}", args.folder.display())?,
        false => write_list(&mut out, &rows)?,
    }
    Ok(())
}

fn row(found: Found) -> Row {
    let bare = |path: &Path, state, problem| Row {
        name: path.file_name().unwrap_or(path.as_os_str()).display().to_string(),
        path: path.display().to_string(),
        state,
        problem,
        run: None,
    };
    match found {
        Found::Run(run) => {
            Row { name: run.name.clone(), run: Some(known(&run)), ..bare(&run.path, word(run.state), None) }
        }
        Found::Damaged(path, why) => bare(&path, "damaged", Some(why.to_string())),
        Found::Foreign(path) => bare(&path, "foreign", Some("not a run folder".into())),
    }
}

fn known(run: &Run) -> Known {
    let results = run.results().into_iter().map(|(name, value)| (name.to_owned(), value));
    Known {
        world: run.setting("world"),
        log: run.log(),
        method: run.setting("method"),
        seed: run.setting("seed"),
        step: run.step(),
        steps: run.steps(),
        began: run.began(),
        seconds: run.seconds,
        results: results.collect(),
        verdict: run.verdict.clone(),
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Finished => "finished",
        State::Stopped => "stopped",
    }
}

fn write_list(out: &mut impl Write, rows: &[Row]) -> std::io::Result<()> {
    let head = ["run", "world", "method", "seed", "updates", "state", "results", "time"].map(String::from).to_vec();
    let lines = rows.iter().filter_map(|row| {
        let run = row.run.as_ref()?;
        let steps = run.steps.map_or("?".into(), |steps| steps.to_string());
        let time = run.seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Some(vec![
            row.name.clone(),
            run.log.clone().unwrap_or_else(|| run.world.clone()),
            run.method.clone(),
            run.seed.clone(),
            format!("{}/{steps}", run.step),
            row.state.into(),
            results(&run.results, run.verdict.as_deref()),
            time.map_or("-".into(), in_words),
        ])
    });
    let table: Vec<Vec<String>> = std::iter::once(head).chain(lines).collect();
    if table.len() > 1 {
        write_rows(out, table)?;
    }
    for row in rows {
        if let Some(problem) = &row.problem {
            writeln!(out, "{}: {}: {}", printable(&row.name), row.state, printable(problem))?;
        }
    }
    Ok(())
}

/// The return at the first, middle and last episode; else the loss on what is held out; else nothing yet.
fn results(results: &BTreeMap<String, f64>, verdict: Option<&str>) -> String {
    let value = |name: &str| results.get(name).map(|value| format!("{value:.2}"));
    let returns: Option<Vec<String>> =
        ["return/first", "return/middle", "return/last"].map(value).into_iter().collect();
    let loss = || results.get("held_out/loss").map(|loss| format!("held-out loss {loss:.3}"));
    let measured = returns.map(|returns| format!("return {}", returns.join(" / "))).or_else(loss);
    let verdict = verdict.map(|verdict| match verdict {
        // Not to be read as "better": that was not measured.
        "prefers-better" => "not measured (prefers better episodes)".into(),
        "cannot-be-told" => "not measured".into(),
        other => other.replace('-', " "),
    });
    let all: Vec<String> = measured.into_iter().chain(verdict).collect();
    if all.is_empty() { "-".into() } else { all.join(", ") }
}

/// Columns as wide as their longest cell. What was read from files cannot command a terminal.
pub fn write_rows(out: &mut impl Write, mut table: Vec<Vec<String>>) -> std::io::Result<()> {
    for cell in table.iter_mut().flatten() {
        *cell = printable(cell).into_owned();
    }
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| table.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in &table {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

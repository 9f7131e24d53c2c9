//! Looking at studies from outside: all that lie in a folder, and what one was told as a file.

use super::study::{LookArgs, names_in};
use super::study_print::{short, write_json};
use crate::terminal::printable;
use clap::Args;
use icee_study::{Models, Status, Study, Summary};
use serde::Serialize;
use std::io::{IsTerminal, Write, stdout};
use std::path::PathBuf;

/// Print the studies of a folder: rows, told, running, left, and the best value.
#[derive(Args)]
pub struct ListArgs {
    /// The folder of studies.
    #[arg(long, value_name = "DIR", default_value = "studies")]
    dir: PathBuf,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

/// A line of the list.
#[derive(Serialize)]
struct Line {
    name: String,
    rows: usize,
    told: usize,
    running: usize,
    left: usize,
    best: Option<f64>,
    /// Why nothing else is known of it.
    problem: Option<String>,
}

/// Runs `icee study list`.
pub fn list(out: &mut impl Write, args: &ListArgs) -> anyhow::Result<()> {
    let line = |name: String| match Study::open(&args.dir.join(format!("{name}.jsonl")), None, Models::default()) {
        Ok(mut study) => {
            let Summary { rows, told, running, left, best, .. } = study.summary();
            let best = best.and_then(|best| best.row.value);
            Line { name, rows, told: told.len(), running: running.len(), left, best, problem: None }
        }
        Err(error) => {
            Line { name, rows: 0, told: 0, running: 0, left: 0, best: None, problem: Some(error.to_string()) }
        }
    };
    let lines: Vec<Line> = names_in(&args.dir).into_iter().map(line).collect();
    if args.json {
        return write_json(out, &lines);
    }
    if lines.is_empty() {
        writeln!(out, "no studies in {}", printable(&args.dir.display().to_string()))?;
        return Ok(());
    }
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default().max("study".len());
    writeln!(out, "{:<width$}  {:>7}  {:>7}  {:>7}  {:>7}  best", "study", "rows", "told", "running", "left")?;
    for Line { name, rows, told, running, left, best, problem } in &lines {
        let name = printable(name);
        match problem {
            Some(problem) => writeln!(out, "{name:<width$}  {}", printable(problem))?,
            None => {
                let best = best.map_or_else(|| "-".into(), short);
                writeln!(out, "{name:<width$}  {rows:>7}  {told:>7}  {running:>7}  {left:>7}  {best}")?;
            }
        }
    }
    Ok(())
}

/// Runs `icee study export`.
pub fn export(out: &mut impl Write, args: &LookArgs) -> anyhow::Result<()> {
    let summary = args.study.open()?.summary();
    super::study_print::notes(&summary.notes);
    if args.study.json {
        return write_json(out, &summary.told);
    }
    // A terminal must not obey what stands in a file.
    let terminal = stdout().is_terminal();
    let shown = |text: &str| if terminal { printable(text).into_owned() } else { text.to_owned() };
    let mut table = csv::Writer::from_writer(out);
    let id = summary.id_column.clone().unwrap_or_else(|| "row".into());
    let columns = summary.told.first().map(|told| told.cells.0.iter().map(|(name, _)| name.clone()).collect());
    let value = summary.value_column.clone().unwrap_or_else(|| "value".into());
    let header: Vec<String> = std::iter::once(id).chain(columns.unwrap_or_else(Vec::new)).chain([value]).collect();
    table.write_record(header.iter().map(|name| shown(name)))?;
    for told in &summary.told {
        let outcomes: Vec<String> = match told.status {
            Status::Failed => vec!["failed".into()],
            Status::Impossible => vec!["impossible".into()],
            _ => told.values.iter().map(f64::to_string).collect(),
        };
        for outcome in outcomes {
            let cells = told.cells.0.iter().map(|(_, cell)| shown(cell));
            table.write_record(std::iter::once(shown(&told.id)).chain(cells).chain([outcome]))?;
        }
    }
    table.flush()?;
    Ok(())
}

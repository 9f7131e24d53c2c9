//! `icee functions`: lists the benchmark functions, evaluates them to full precision, and writes the pools of the benchmark.

use super::counts::count;
use anyhow::bail;
use clap::{Args, Subcommand};
use icee_base::table::{Row, Table};
use icee_bo::functions::{self, BenchmarkFunction};
use icee_bo::protocol::Protocol;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The columns a file of points must have, in any order.
const COLUMNS: [&str; 3] = ["function", "x1", "x2"];

/// Arguments of `icee functions`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Evaluate a function at a point or at the points of a file.
    Eval(EvalArguments),
    /// Write the benchmark's pools as CSV, to race other tools on them.
    Tasks(TaskArguments),
}

#[derive(Args)]
struct TaskArguments {
    /// Write this many trials of each function.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count)]
    trials: usize,
    /// Seed of the pools, as in `icee eval`.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
}

#[derive(Args)]
#[command(
    override_usage = "icee functions eval [--json] <NAME> <X1> <X2>\n       icee functions eval [--json] --csv <FILE>"
)]
struct EvalArguments {
    /// Function name; case does not matter.
    #[arg(required_unless_present = "csv")]
    name: Option<String>,
    /// First coordinate.
    #[arg(required_unless_present = "csv", allow_negative_numbers = true)]
    x1: Option<f64>,
    /// Second coordinate.
    #[arg(required_unless_present = "csv", allow_negative_numbers = true)]
    x2: Option<f64>,
    /// Evaluate every line of this CSV file (columns function, x1 and x2).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "x1", "x2"])]
    csv: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One value, as it is printed.
#[derive(Serialize)]
struct Evaluation {
    function: &'static str,
    x1: f64,
    x2: f64,
    value: f64,
}

/// Runs `icee functions`.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut text = Vec::new();
    match arguments.action {
        None if arguments.json => write_json(&mut text, &functions::all().iter().map(Entry::from).collect::<Vec<_>>())?,
        None => write_table(&mut text)?,
        Some(Action::Eval(arguments)) => evaluate(&mut text, arguments)?,
        Some(Action::Tasks(arguments)) => write_tasks(&mut text, &arguments)?,
    }
    Ok(io::stdout().lock().write_all(&text)?)
}

/// Every candidate of every pool: its place in [0, 1]², its standardised value and, where it is among those that are
/// evaluated first, its number in their order.
fn write_tasks(out: &mut impl Write, arguments: &TaskArguments) -> anyhow::Result<()> {
    let protocol = Protocol { trials: arguments.trials, seed: arguments.seed, ..Protocol::default() };
    writeln!(out, "function,trial,candidate,x1,x2,value,first")?;
    for task in protocol.tasks()? {
        for (candidate, value) in task.search.values.iter().enumerate() {
            let x = task.search.pool.point(candidate);
            let order = task.search.initial.iter().position(|&first| first == candidate);
            let first = order.map_or(String::new(), |order| (order + 1).to_string());
            let (function, trial) = (task.function.name, task.trial);
            writeln!(out, "{function},{trial},{candidate},{:?},{:?},{value:?},{first}", x[0], x[1])?;
        }
    }
    Ok(())
}

fn evaluate(out: &mut impl Write, arguments: EvalArguments) -> anyhow::Result<()> {
    if let Some(path) = arguments.csv {
        let evaluations = evaluate_file(&path)?;
        if arguments.json {
            return write_json(out, &evaluations);
        }
        writeln!(out, "function,x1,x2,value")?;
        for Evaluation { function, x1, x2, value } in evaluations {
            writeln!(out, "{function},{x1:?},{x2:?},{value:?}")?;
        }
        return Ok(());
    }
    let (Some(name), Some(x1), Some(x2)) = (arguments.name, arguments.x1, arguments.x2) else {
        bail!("give a name and two coordinates, or --csv FILE");
    };
    let function = functions::find(&name)?;
    let value = function.checked_value([x1, x2])?;
    if arguments.json {
        return write_json(out, &Evaluation { function: function.name, x1, x2, value });
    }
    // Debug prints as many digits as it takes to read the same number back.
    writeln!(out, "{value:?}")?;
    Ok(())
}

/// The values for all lines of a file; if any line is broken, an error that names each of them and no values.
fn evaluate_file(path: &Path) -> anyhow::Result<Vec<Evaluation>> {
    let mut table = Table::read(path)?;
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let known = table.header().iter().find(|name| name.eq_ignore_ascii_case(column)).cloned();
        *place = table.column(known.as_deref().unwrap_or(column))?;
    }
    let mut evaluations = Vec::new();
    table.scan(|table, row| {
        evaluations.push(evaluate_row(table, row, places)?);
        Ok(())
    })?;
    Ok(evaluations)
}

/// The value for one row, or what is wrong with it and in which column.
fn evaluate_row(table: &Table, row: &Row<'_>, places: [usize; 3]) -> Result<Evaluation, String> {
    let at = |k: usize| format!("column {} ({})", places[k] + 1, COLUMNS[k]);
    let field = |k: usize| match row.cell(places[k]) {
        "" => Err(format!("{}: missing", at(k))),
        cell => Ok(cell),
    };
    let function = functions::find(field(0)?).map_err(|error| format!("{}: {error}", at(0)))?;
    let mut x = [0.0; 2];
    for (axis, coordinate) in x.iter_mut().enumerate() {
        let text = field(axis + 1)?;
        *coordinate = table.number(text).ok_or_else(|| format!("{}: {text:?} is not a number", at(axis + 1)))?;
    }
    let value = function.checked_value(x).map_err(|error| match error {
        icee_bo::BoError::OutsideDomain { axis, .. } => format!("{}: {error}", at(axis)),
        error => error.to_string(),
    })?;
    Ok(Evaluation { function: function.name, x1: x[0], x2: x[1], value })
}

fn write_json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

/// A function in JSON.
#[derive(Serialize)]
struct Entry {
    name: &'static str,
    domain: [[f64; 2]; 2],
    minimum: f64,
    minimisers: &'static [[f64; 2]],
}

impl From<&BenchmarkFunction> for Entry {
    fn from(function: &BenchmarkFunction) -> Self {
        let &BenchmarkFunction { name, domain, minimum, minimisers, .. } = function;
        Self { name, domain, minimum, minimisers }
    }
}

fn write_table(out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "{:<16}{:<20}{:<20}{:>22}  minimisers", "function", "x1", "x2", "minimum")?;
    for function in functions::all() {
        let [x1, x2] = function.domain.map(|[low, high]| format!("[{low}, {high}]"));
        let [x, y] = function.minimisers[0];
        let more = match function.minimisers.len() - 1 {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let minimum = format!("{:?}", function.minimum);
        writeln!(out, "{:<16}{x1:<20}{x2:<20}{minimum:>22}  ({x:.6}, {y:.6}){more}", function.name)?;
    }
    Ok(())
}

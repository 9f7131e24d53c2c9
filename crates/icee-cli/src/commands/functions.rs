//! `icee functions`: the benchmark functions as a table, their values at given points to full precision, and the pools
//! of the benchmark.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
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
    /// Evaluate a function at a point, or a file of points.
    Eval(EvalArguments),
    /// Write the pools on which `icee eval` measures optimisers as CSV, so that other tools can be raced on them.
    Tasks(TaskArguments),
}

#[derive(Args)]
struct TaskArguments {
    /// Trials of each function.
    #[arg(long, value_name = "N", default_value_t = 5)]
    trials: usize,
    /// Fixes the pools, as that of `icee eval` does.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
}

#[derive(Args)]
#[command(
    override_usage = "icee functions eval [--json] <NAME> <X1> <X2>\n       icee functions eval [--json] --csv <FILE>"
)]
struct EvalArguments {
    /// Name of the function, in any case.
    #[arg(required_unless_present = "csv")]
    name: Option<String>,
    /// First coordinate.
    #[arg(required_unless_present = "csv", allow_negative_numbers = true)]
    x1: Option<f64>,
    /// Second coordinate.
    #[arg(required_unless_present = "csv", allow_negative_numbers = true)]
    x2: Option<f64>,
    /// Evaluate every line of a CSV file with the columns function, x1 and x2.
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
    match io::stdout().lock().write_all(&text) {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write the result"),
    }
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
    let shown = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().with_context(|| format!("{shown}: cannot read the header"))?.clone();
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let found = header.iter().position(|name| name.eq_ignore_ascii_case(column));
        *place = found.with_context(|| {
            format!("{shown}, line 1: no column {column:?}: the first line must name function,x1,x2")
        })?;
    }
    let mut evaluations = Vec::new();
    let mut broken = Vec::new();
    for record in reader.records() {
        let result = match record {
            Ok(record) => {
                let line = line_of(record.position(), bytes);
                evaluate_record(&record, places).map_err(|problem| format!("line {line}, {problem}"))
            }
            Err(error) => Err(describe(&error, bytes)),
        };
        match result {
            Ok(evaluation) => evaluations.push(evaluation),
            Err(problem) => broken.push(problem),
        }
    }
    if !broken.is_empty() {
        let lines = if broken.len() == 1 { "line" } else { "lines" };
        bail!("{shown} has {} broken {lines}, nothing was evaluated:\n  {}", broken.len(), broken.join("\n  "));
    }
    Ok(evaluations)
}

/// The value for one line, or what is wrong with it and in which column.
fn evaluate_record(record: &csv::StringRecord, places: [usize; 3]) -> Result<Evaluation, String> {
    let field = |k: usize| -> Result<&str, String> {
        match record.get(places[k]) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(format!("column {} ({}): missing", places[k] + 1, COLUMNS[k])),
        }
    };
    let at = |k: usize| format!("column {} ({})", places[k] + 1, COLUMNS[k]);
    let function = functions::find(field(0)?).map_err(|error| format!("{}: {error}", at(0)))?;
    let mut x = [0.0; 2];
    for (axis, coordinate) in x.iter_mut().enumerate() {
        let text = field(axis + 1)?;
        *coordinate = text.parse().map_err(|_| format!("{}: {text:?} is not a number", at(axis + 1)))?;
    }
    let value = function.checked_value(x).map_err(|error| match error {
        icee_bo::BoError::OutsideDomain { axis, .. } => format!("{}: {error}", at(axis)),
        error => error.to_string(),
    })?;
    Ok(Evaluation { function: function.name, x1: x[0], x2: x[1], value })
}

/// The line on which a record stands; the reader counts empty lines before it as its beginning.
fn line_of(position: Option<&csv::Position>, bytes: &[u8]) -> u64 {
    let Some(position) = position else { return 0 };
    let rest = bytes.get(position.byte() as usize..).unwrap_or_default();
    let skipped = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|&&byte| byte == b'\n').count();
    position.line() + skipped as u64
}

/// A reader's error with its line; the only one a line can cause is text that is not UTF-8.
fn describe(error: &csv::Error, bytes: &[u8]) -> String {
    let line = line_of(error.position(), bytes);
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => format!("line {line}, column {}: not UTF-8 text", err.field() + 1),
        _ => format!("line {line}: {error}"),
    }
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

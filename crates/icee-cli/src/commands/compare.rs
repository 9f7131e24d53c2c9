//! `icee compare`: plots a metric of several training runs and prints its final values and the settings that differ.

use super::plot::{Curve, letters, thinned};
use super::runs::write_rows;
use crate::terminal::printable;
use anyhow::bail;
use icee_base::files::write_atomically;
use icee_base::numbers::short;
use icee_models::runs::{Run, differences, find_metric, headline};
use icee_report::draw::svg_file;
use icee_report::figure::{Axis, Figure, Mark, Point, Series};
use icee_report::ink;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// Columns and rows of the plot in a terminal.
const PLOT: (usize, usize) = (66, 16);
/// Points of a line in a figure: more are finer than any screen.
const MOST_POINTS: usize = 500;

/// Plot a metric of several training runs side by side.
#[derive(clap::Args)]
pub struct Args {
    /// Run folders (`icee runs` lists them).
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    runs: Vec<PathBuf>,
    /// Plot this column of metrics.csv [default: return/last, held_out/loss or loss].
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Also write a figure (SVG) to this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A run and its curve.
struct Line {
    letter: char,
    run: Run,
    /// Empty where nothing was measured yet; none where the run has no such metric.
    curve: Option<Curve>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let alphabet = ('a'..='z').chain('A'..='Z');
    if args.runs.len() > alphabet.clone().count() {
        bail!("{} runs are too many for one plot; give at most {}", args.runs.len(), alphabet.count());
    }
    let runs = args.runs.iter().map(|path| Run::read(path)).collect::<Result<Vec<Run>, _>>()?;
    let metric = metric(args, &runs)?;
    let differing = differences(&runs);
    let with_curve = |(letter, run): (char, Run)| Line { letter, curve: run.curve(&metric), run };
    let lines: Vec<Line> = alphabet.zip(runs).map(with_curve).collect();
    if let Some(path) = &args.svg {
        write_atomically(path, svg_file(&figure(&lines, &metric)).as_bytes())?;
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&to_json(&lines, &metric, &differing))?)?;
        return Ok(());
    }
    write_plot(&mut out, &lines, &metric)?;
    write_values(&mut out, &lines)?;
    write_differences(&mut out, &lines, differing)?;
    Ok(())
}

fn metric(args: &Args, runs: &[Run]) -> anyhow::Result<String> {
    if let Some(wanted) = &args.metric {
        return Ok(find_metric(runs, wanted)?);
    }
    let measured: Vec<Vec<&str>> = runs.iter().map(measured).collect();
    let measured: Vec<&[&str]> = measured.iter().map(Vec::as_slice).collect();
    match headline(&measured) {
        Some(metric) => Ok(metric.into()),
        None => bail!("these runs have no metric in common; choose one with --metric NAME"),
    }
}

/// What a run has measured at least once.
fn measured(run: &Run) -> Vec<&str> {
    run.history.names().iter().map(String::as_str).filter(|name| run.history.last(name).is_some()).collect()
}

fn write_plot(out: &mut impl Write, lines: &[Line], metric: &str) -> std::io::Result<()> {
    let curves: Vec<(char, &[(u64, f64)])> =
        lines.iter().map(|line| (line.letter, line.curve.as_deref().unwrap_or_default())).collect();
    let plot = letters(&curves, PLOT);
    match plot.is_empty() {
        true => writeln!(out, "{metric} by updates: no values yet\n"),
        false => writeln!(out, "{metric} by updates\n\n{}\n", plot.join("\n")),
    }
}

fn write_values(out: &mut impl Write, lines: &[Line]) -> std::io::Result<()> {
    let mut table = vec![["", "run", "updates", "last", "lowest", "highest"].map(String::from).to_vec()];
    for line in lines {
        let mut row = vec![line.letter.to_string(), line.run.name.clone(), line.run.step().to_string()];
        match line.curve.as_deref() {
            None => row.push("no such metric".into()),
            Some([]) => row.push("no values yet".into()),
            Some(curve @ [.., (_, last)]) => {
                let values = || curve.iter().map(|(_, value)| *value);
                row.extend([*last, values().fold(*last, f64::min), values().fold(*last, f64::max)].map(short));
            }
        }
        table.push(row);
    }
    write_rows(out, table)
}

fn write_differences(
    out: &mut impl Write,
    lines: &[Line],
    differing: Vec<(String, Vec<Option<String>>)>,
) -> std::io::Result<()> {
    if differing.is_empty() {
        return writeln!(out, "\nall settings are the same");
    }
    writeln!(out)?;
    let head = std::iter::once("differing".to_owned()).chain(lines.iter().map(|line| line.letter.to_string()));
    let mut table = vec![head.collect()];
    for (key, values) in differing {
        let cells = values.into_iter().map(|value| value.unwrap_or_else(|| "-".into()));
        table.push(std::iter::once(key).chain(cells).collect());
    }
    write_rows(out, table)
}

fn figure(lines: &[Line], metric: &str) -> Figure {
    let palette = ink::palette();
    let series = lines.iter().enumerate().filter_map(|(index, line)| {
        let curve = thinned(line.curve.as_deref().filter(|curve| !curve.is_empty())?, MOST_POINTS);
        let points = curve.into_iter().map(|(step, y)| Point { x: step as f64, y, half_width: None }).collect();
        // Where there are more runs than colours, the second of a colour is dashed.
        let mark = if index < palette.len() { Mark::Line } else { Mark::Dashed };
        let label = format!("{}: {}", line.letter, printable(&line.run.name));
        Some(Series::new(palette[index % palette.len()], mark, points).called(&label))
    });
    let (title, caption) = (format!("{metric} by updates"), "Each line is one training run.");
    Figure::single("compare", &title, caption, Axis::count("updates"), Axis::linear(metric), series.collect())
}

fn to_json(lines: &[Line], metric: &str, differing: &[(String, Vec<Option<String>>)]) -> Value {
    let of_line = |line: &Line| {
        let Line { run, curve, .. } = line;
        json!({
            "name": run.name, "path": run.path.display().to_string(), "state": run.state, "step": run.step(),
            "steps": run.steps(), "last": curve.as_ref().and_then(|curve| curve.last()).map(|(_, value)| value),
            "curve": curve,
        })
    };
    let differing: Vec<Value> = differing.iter().map(|(key, values)| json!({ "key": key, "values": values })).collect();
    json!({ "metric": metric, "runs": lines.iter().map(of_line).collect::<Vec<_>>(), "differing": differing })
}

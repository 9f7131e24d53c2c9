//! `icee eval` of a model of Bayesian optimisation: the paper's protocol, against GP-EI and random search.

use super::progress::{Elsewhere, Progress};
use anyhow::Context;
use icee_base::stats::Estimate;
use icee_bo::protocol::Protocol;
use icee_bo::report::{Report, Summary};
use icee_optim::{Calibration, OptimiserEvaluation, OptimiserModel, Reliability, regret_at};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Evaluations that the table shows.
const STEPS: [usize; 5] = [10, 20, 30, 40, 55];
/// Seconds of suggestions that the table shows.
const SECONDS: [f64; 6] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

pub fn run(
    model: &OptimiserModel,
    trials: usize,
    seed: u64,
    threads: usize,
    as_json: bool,
    csv: Option<&Path>,
) -> anyhow::Result<()> {
    let protocol = Protocol { trials, seed, ..Protocol::default() };
    let progress = Progress::new("search", 0, Elsewhere::Nothing);
    let begun = |begun: usize, all: usize| progress.at(begun as u64, all as u64, "searches,");
    let comparison = icee_optim::evaluate(model, &protocol, threads, &begun)?;
    progress.end();
    if let Some(path) = csv {
        write_csv(path, &comparison).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut out = std::io::stdout().lock();
    if as_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&summary(&comparison))?)?;
        return Ok(());
    }
    write_table(&mut out, &comparison)?;
    Ok(())
}

fn summary(comparison: &OptimiserEvaluation) -> Value {
    let sampler = |report: &Report| {
        let by_function: Vec<Value> = report
            .by_function()
            .into_iter()
            .map(|(function, summary)| json!({ "function": function, "summary": summary }))
            .collect();
        json!({
            "sampler": report.sampler, "summary": report.summary(), "by_function": by_function,
            "seconds_per_suggestion": report.seconds_per_suggestion(),
            "regret_by_seconds": SECONDS.map(|seconds| (seconds, regret_at(report, seconds))),
        })
    };
    let OptimiserEvaluation { world, method, step, trials, seed, threads, reports, against_gp_ei, calibration } =
        comparison;
    json!({
        "world": world, "method": method, "step": step, "trials": trials, "seed": seed, "threads": threads,
        "samplers": reports.iter().map(sampler).collect::<Vec<_>>(),
        "difference_to_gp_ei": against_gp_ei, "calibration": calibration,
    })
}

fn write_table(out: &mut impl Write, comparison: &OptimiserEvaluation) -> std::io::Result<()> {
    let OptimiserEvaluation { world, method, step, trials, seed, threads, reports, .. } = comparison;
    writeln!(out, "{method} trained on {world} for {step} steps; 16 functions x {trials} trials, seed {seed}")?;
    writeln!(out, "\nregret after so many evaluations, mean and 95 % interval")?;
    writeln!(out, "{:<22}{}  solved", "", STEPS.map(|step| format!("{step:>14}")).concat())?;
    for report in reports {
        writeln!(out, "{}", row(report.sampler, &report.summary()))?;
    }
    let difference = &comparison.against_gp_ei;
    writeln!(out, "{:<22}{}", "icee - gp-ei, paired", cells(difference))?;
    for (place, (function, ours)) in reports[0].by_function().iter().enumerate() {
        writeln!(out, "{}", row(&format!("  {function}"), ours))?;
        if let Some((_, rival)) = reports[1].by_function().get(place) {
            writeln!(out, "{}", row("    gp-ei", rival))?;
        }
    }
    if *threads == 1 {
        writeln!(out, "\nregret after so many seconds of suggestions on one thread")?;
        let header = SECONDS.map(|seconds| format!("{seconds:>8}")).concat();
        writeln!(out, "{:<22}{header}  ms a suggestion", "")?;
        for report in reports {
            let cells = SECONDS.map(|seconds| format!("{:>8.3}", regret_at(report, seconds))).concat();
            let milliseconds = 1e3 * report.seconds_per_suggestion();
            writeln!(out, "{:<22}{cells}  {milliseconds:.3}", report.sampler)?;
        }
    }
    comparison.calibration.iter().try_for_each(|calibration| write_calibration(out, calibration))
}

fn cells(regret: &[Estimate]) -> String {
    let cell = |step: usize| {
        let text = regret.get(step - 1).map(|e| format!("{:.3} ±{:.2}", e.mean, e.half_width));
        format!("{:>14}", text.unwrap_or_default())
    };
    STEPS.map(cell).concat()
}

fn row(name: &str, summary: &Summary) -> String {
    format!("{name:<22}{}  {:>4.0} %", cells(&summary.regret), 100.0 * summary.solved)
}

pub(super) fn write_calibration(out: &mut impl Write, calibration: &Calibration) -> std::io::Result<()> {
    let Calibration { on, beliefs, coverage, beats_best, any_left, any_left_independent, any_left_single } =
        calibration;
    writeln!(out, "\npredictions on {on} ({beliefs})")?;
    for (level, share) in coverage {
        writeln!(out, "  a {:.0} % interval covers {:.1} %", 100.0 * level, 100.0 * share)?;
    }
    for (what, reliabilities) in [
        ("this candidate beats the best", beats_best),
        ("any remaining candidate beats the best, as a study reports it", any_left),
        ("the same, if candidates were independent", any_left_independent),
        ("the same, from the most promising candidate alone", any_left_single),
    ] {
        writeln!(out, "  {what}: predicted, observed, cases")?;
        for Reliability { count, predicted, observed } in reliabilities {
            writeln!(out, "    {:>7.2} %  {:>7.2} %  {count}", 100.0 * predicted, 100.0 * observed)?;
        }
    }
    Ok(())
}

fn write_csv(path: &Path, comparison: &OptimiserEvaluation) -> anyhow::Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record(["sampler", "function", "trial", "evaluation", "regret", "seconds"])?;
    for report in &comparison.reports {
        for run in &report.runs {
            for (at, (regret, seconds)) in run.regret.iter().zip(&run.seconds).enumerate() {
                let numbers = [run.trial.to_string(), (at + 1).to_string(), regret.to_string(), seconds.to_string()];
                csv.write_record([report.sampler, run.function].into_iter().chain(numbers.iter().map(String::as_str)))?;
            }
        }
    }
    csv.flush()?;
    Ok(())
}

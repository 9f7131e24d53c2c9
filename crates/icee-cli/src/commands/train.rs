//! `icee train`: trains on the tasks of a world, on your logs or on functions, into a run folder.

use super::counts::minutes;
use super::device::DeviceName;
use super::plot::{Curve, braille};
use super::progress::{Elsewhere, Progress};
use super::stop;
use crate::terminal::say;
use icee_games::presets;
use icee_models::job::{Job, Onlooker, report};
use icee_models::kind::new_problem;
use icee_models::runs::headline;
use icee_train::{Device, HeldOutMetrics, History, Limits, Observer, Problem, RunFolder, StepReport, Stopped, Summary};
use icee_worlds::Registry;
use std::io::Write;
use std::path::PathBuf;

/// Columns and rows of the curve below the bar.
const CURVE: (usize, usize) = (50, 4);

/// Train a model on a world, on logged episodes, or on functions.
///
/// On a terminal, a curve shows the return at the last episode, or the held-out loss. `icee runs` lists the runs, `icee compare`
/// plots several.
#[derive(clap::Args)]
pub struct Args {
    /// Preset name or TOML file [default with --logs: custom].
    #[arg(value_name = "PRESET", required_unless_present_any = ["resume", "logs"])]
    preset: Option<String>,
    /// Method: icee, icee-weighted, icee-paper, icee-biased, ad, ad-sorted, dpt, mgdt.
    #[arg(long, value_name = "M")]
    method: Option<String>,
    /// Change a setting, as in train.lr=3e-4. Repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Seed of the initial weights and the tasks.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Learn from logged episodes (CSV or JSON lines) instead of a world.
    #[arg(long, value_name = "FILE")]
    logs: Option<PathBuf>,
    /// Create the run folder here.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Resume a stopped run.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["preset", "method", "settings", "seed", "logs"])]
    resume: Option<PathBuf>,
    /// Save and stop after this many minutes.
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    max_minutes: Option<f64>,
    /// Run on cpu, cuda (a GPU) or auto (a GPU if there is one).
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    device: DeviceName,
    /// Use this many threads; 0 takes all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, registry: &Registry) -> anyhow::Result<()> {
    let device = args.device.open(args.threads)?;
    let job = match &args.resume {
        Some(path) => Job::resume(path, registry)?,
        None => Job::start(problem(args, registry)?, &args.out),
    };
    let (summary, folder) = run_job(job, &device, args.max_minutes, !args.json)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report(&summary, &folder))?)?;
        return Ok(());
    }
    writeln!(out, "{}", folder.checkpoint().display())?;
    if let Some(evaluation) = &summary.evaluation {
        writeln!(out, "{}", evaluation.line)?;
    }
    Ok(())
}

/// Trains to the end, to the time limit, or to Ctrl-C (or another signal to end). Progress goes to stderr, on a terminal with an
/// optional learning curve.
pub fn run_job(
    job: Job,
    device: &Device,
    max_minutes: Option<f64>,
    curve: bool,
) -> anyhow::Result<(Summary, RunFolder)> {
    let words: Vec<_> = std::env::args_os().skip(1).map(|word| word.display().to_string()).collect();
    let command = format!("icee {}", words.join(" "));
    let limits = Limits { max_minutes, stop: Some(stop::flag()) };
    let watched = if curve { Watched::of(job.problem().held_out_metrics()) } else { None };
    let mut watcher = Watcher { max_minutes, progress: None, metric: String::new(), watched };
    let done = job.run(device, limits, Some(command), &mut watcher);
    if let Some(progress) = &watcher.progress {
        progress.end();
    }
    let (summary, folder) = done?;
    if matches!(summary.stopped, Stopped::Interrupted | Stopped::OutOfTime) {
        let why = if summary.stopped == Stopped::OutOfTime { "the time limit was reached" } else { "stopped" };
        let path = folder.path().display();
        say(format_args!("{why} at step {}; to continue: icee train --resume {path}", summary.step));
    }
    Ok((summary, folder))
}

fn problem(args: &Args, registry: &Registry) -> anyhow::Result<Box<dyn Problem>> {
    let preset = args.preset.as_deref().unwrap_or(presets::CUSTOM.0);
    let mut settings = args.settings.clone();
    settings.extend(args.seed.map(|seed| format!("seed={seed}")));
    Ok(new_problem(preset, args.method.as_deref(), &settings, args.logs.as_deref(), registry)?)
}

/// Says how training goes.
struct Watcher {
    max_minutes: Option<f64>,
    /// From the moment at which training begins.
    progress: Option<Progress>,
    /// The last evaluation's metric.
    metric: String,
    /// What the curve shows.
    watched: Option<Watched>,
}

/// A held-out metric and how it has gone so far.
struct Watched {
    name: &'static str,
    /// Its place among the held-out metrics.
    place: usize,
    curve: Curve,
}

impl Watched {
    /// The one of these metrics that matters most.
    fn of(metrics: &[&'static str]) -> Option<Watched> {
        let name = headline(&[metrics])?;
        let place = metrics.iter().position(|metric| *metric == name)?;
        Some(Watched { name, place, curve: Curve::new() })
    }

    fn note(&mut self, step: u64, value: f64) {
        if value.is_finite() {
            self.curve.push((step, value));
        }
    }

    fn picture(&self) -> Vec<String> {
        std::iter::once(self.name.to_owned()).chain(braille(&self.curve, CURVE)).collect()
    }
}

impl Observer for Watcher {
    fn step(&mut self, report: &StepReport) {
        let StepReport { step, steps, loss, tokens_per_second, .. } = *report;
        let speed = tokens_per_second / 1e3;
        if let Some(progress) = &self.progress {
            progress.at(step, steps, format_args!("loss {loss:.3} {}{speed:.1}k tokens/s", self.metric));
        }
    }

    fn evaluated(&mut self, step: u64, evaluation: &HeldOutMetrics) {
        self.metric = format!("{} ", evaluation.brief);
        if let Some(progress) = &self.progress {
            progress.line(&format!("step {step}: {}", evaluation.line));
            if let Some(watched) = &mut self.watched {
                watched.note(step, evaluation.values.get(watched.place).copied().unwrap_or(f64::NAN));
                // One point is no curve.
                if watched.curve.len() > 1 {
                    progress.picture(|| watched.picture());
                }
            }
        }
    }
}

impl Onlooker for Watcher {
    fn remark(&mut self, words: &str) {
        match &self.progress {
            Some(progress) => progress.line(words),
            None => say(words),
        }
    }

    fn begins(&mut self, folder: &RunFolder, device: &Device, from: u64) {
        stop::on_signals();
        self.progress = Some(Progress::new("step", from, Elsewhere::Lines).within(self.max_minutes));
        if let Some(watched) = self.watched.as_mut().filter(|_| from > 0) {
            // Evaluations from before the stop; without them the curve starts here.
            let history = History::of_run(folder.path()).unwrap_or_default();
            let before = history.values(watched.name).unwrap_or_default();
            before.into_iter().filter(|(step, _)| *step <= from).for_each(|(step, value)| watched.note(step, value));
        }
        say(format_args!("run folder {}, {}", folder.path().display(), device.describe()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_that_of_what_matters_most() {
        let mut watched = Watched::of(&["return/first", "return/last", "return/mean"]).unwrap();
        assert_eq!((watched.name, watched.place), ("return/last", 1));
        [(10, 1.0), (20, f64::NAN), (30, 2.5)].into_iter().for_each(|(step, value)| watched.note(step, value));
        assert_eq!(watched.curve, [(10, 1.0), (30, 2.5)]);
        let picture = watched.picture();
        assert_eq!((picture.len(), picture[0].as_str()), (1 + CURVE.1, "return/last"));
        assert!(picture[1].starts_with("2.5 ") && picture[CURVE.1].starts_with("  1 "), "{picture:?}");
        assert!(picture[1..].iter().all(|line| line.chars().count() == 4 + CURVE.0));
        assert_eq!(Watched::of(&["held_out/loss", "race/regret"]).unwrap().name, "held_out/loss");
        assert!(Watched::of(&[]).is_none());
    }
}

//! `icee train`: learn from a world's fresh games, from one's own logs, or from functions, into a run folder.

use super::counts::minutes;
use super::device::{DeviceName, suited};
use super::progress::{Elsewhere, Progress};
use super::stop;
use crate::terminal::say;
use anyhow::bail;
use icee_base::files::write_atomically;
use icee_models::kind::{new_problem, resumed_problem};
use icee_train::{
    Device, HeldOutMetrics, Limits, Observer, Problem, RunFolder, RunInfo, StepReport, Stopped, Summary, Trainer,
};
use icee_worlds::Registry;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Train a model on a world, on logged episodes, or on functions.
#[derive(clap::Args)]
pub struct Args {
    /// A preset's name, or a TOML file of one's own.
    #[arg(value_name = "PRESET", required_unless_present = "resume")]
    preset: Option<String>,
    /// The method on games: icee, icee-weighted, icee-paper, icee-biased, ad, ad-sorted, dpt or mgdt.
    #[arg(long, value_name = "M")]
    method: Option<String>,
    /// Change a setting: `--set train.lr=3e-4`. May be given many times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Fixes the weights' start and all games.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Learn from logged episodes (CSV or JSON lines) instead of the preset's world.
    #[arg(long, value_name = "FILE")]
    logs: Option<PathBuf>,
    /// Where run folders are made.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Go on with a run that was stopped.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["preset", "method", "settings", "seed", "logs"])]
    resume: Option<PathBuf>,
    /// Stop after this many minutes, saved and ready to be resumed.
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    max_minutes: Option<f64>,
    /// Where to learn and to play: cpu, cuda (a GPU), or auto (a GPU where there is one).
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    device: DeviceName,
    /// Threads; 0 takes all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, registry: &Registry) -> anyhow::Result<()> {
    let device = args.device.open(args.threads)?;
    let job = match &args.resume {
        Some(path) => Job::resume(path, registry)?,
        None => Job::start(problem(args, registry)?, &args.out),
    };
    let (summary, folder) = job.run(&device, args.max_minutes)?;
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

/// The result for machines.
fn report(summary: &Summary, folder: &RunFolder) -> serde_json::Value {
    // Paths need not be UTF-8.
    let (run, checkpoint) = (folder.path().display().to_string(), folder.checkpoint().display().to_string());
    serde_json::json!({
        "run": run, "checkpoint": checkpoint, "step": summary.step,
        "finished": summary.stopped == Stopped::Finished, "seconds": summary.seconds,
        "evaluation": summary.evaluation.as_ref().map(|evaluation| &evaluation.details),
    })
}

/// A run that is ready to begin or to go on.
pub struct Job {
    problem: Box<dyn Problem>,
    place: Place,
}

/// Where a run is written.
enum Place {
    /// In a new folder under `out`.
    New { out: PathBuf },
    /// Where it was stopped.
    Old(RunFolder),
}

impl Job {
    /// A new run in a folder of its own under `out`.
    pub fn start(problem: Box<dyn Problem>, out: &Path) -> Job {
        Job { problem, place: Place::New { out: out.to_owned() } }
    }

    /// A run that was stopped.
    pub fn resume(path: &Path, registry: &Registry) -> anyhow::Result<Job> {
        let folder = RunFolder::open(path)?;
        Ok(Job { problem: resumed_problem(&folder, registry)?, place: Place::Old(folder) })
    }

    /// Trains to the end, until the time is up, or until Ctrl-C (or another signal to end); progress goes to stderr.
    pub fn run(self, device: &Device, max_minutes: Option<f64>) -> anyhow::Result<(Summary, RunFolder)> {
        let problem = &*self.problem;
        problem.remarks().iter().for_each(say);
        let device = &suited(device, problem.networks().iter().map(|network| &network.spec));
        let (mut trainer, folder) = match self.place {
            Place::Old(folder) => (Trainer::resume(problem, &folder, device)?, folder),
            Place::New { out } => {
                // First: where it fails, no folder is left behind.
                let trainer = Trainer::fresh(problem, device)?;
                let words: Vec<_> = std::env::args_os().skip(1).map(|word| word.display().to_string()).collect();
                let command = format!("icee {}", words.join(" "));
                let info = RunInfo { command: Some(command), ..RunInfo::new(device, problem.data_file()) };
                (trainer, RunFolder::create(&out, problem, &info)?)
            }
        };
        let from = trainer.step();
        let stop = stop::on_signals();
        let progress = Progress::new("step", from, Elsewhere::Lines).within(max_minutes);
        let mut watcher = Watcher { progress, metric: String::new() };
        say(format_args!("run folder {}, {}", folder.path().display(), device.describe()));
        let limits = Limits { max_minutes, stop: Some(stop) };
        let summary = icee_train::train(&mut trainer, &folder, limits, &mut watcher);
        watcher.progress.end();
        let summary = summary?;
        let path = folder.path().join("summary.json");
        let text = serde_json::to_string_pretty(&report(&summary, &folder))?;
        // Where there was nothing left to do, the summary of what was done stays.
        if summary.step > from || !path.is_file() {
            write_atomically(&path, text.as_bytes())?;
        }
        if summary.stopped != Stopped::Finished {
            let why = if summary.stopped == Stopped::OutOfTime { "time is up" } else { "stopped" };
            let path = folder.path().display();
            say(format_args!("{why} at step {}; go on with: icee train --resume {path}", summary.step));
        }
        Ok((summary, folder))
    }
}

fn problem(args: &Args, registry: &Registry) -> anyhow::Result<Box<dyn Problem>> {
    let Some(preset) = &args.preset else { bail!("give a preset, or --resume a run") };
    let mut settings = args.settings.clone();
    settings.extend(args.seed.map(|seed| format!("seed={seed}")));
    Ok(new_problem(preset, args.method.as_deref(), &settings, args.logs.as_deref(), registry)?)
}

/// Says how training goes.
struct Watcher {
    progress: Progress,
    /// The last evaluation's metric.
    metric: String,
}

impl Observer for Watcher {
    fn step(&mut self, report: &StepReport) {
        let StepReport { step, steps, loss, tokens_per_second, .. } = *report;
        let speed = tokens_per_second / 1e3;
        self.progress.at(step, steps, format_args!("loss {loss:.3} {}{speed:.1}k tokens/s", self.metric));
    }

    fn evaluated(&mut self, step: u64, evaluation: &HeldOutMetrics) {
        self.metric = format!("{} ", evaluation.brief);
        self.progress.line(&format!("step {step}: {}", evaluation.line));
    }
}

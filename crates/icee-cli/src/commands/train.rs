//! `icee train`: learn from a world's fresh games, from one's own logs, or from functions, into a run folder.

use super::device::{DeviceName, suited};
use anyhow::{Context, bail};
use icee_models::kind::{new_problem, resumed_problem};
use icee_train::{
    Device, HeldOutMetrics, Limits, Observer, Problem, RunFolder, RunInfo, StepReport, Stopped, Summary, Trainer,
};
use icee_worlds::Registry;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a plain line is written where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Set by Ctrl-C; training stops after the step it is in.
static STOP: AtomicBool = AtomicBool::new(false);

/// Train a model on a world, on logged episodes, or on functions.
#[derive(clap::Args)]
pub struct Args {
    /// A preset's name, or a TOML file of one's own.
    #[arg(value_name = "PRESET", required_unless_present = "resume")]
    preset: Option<String>,
    /// The method on games: icee, icee-weighted, icee-paper, icee-biased, ad, ad-sorted or mgdt.
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
    #[arg(long, value_name = "MINUTES")]
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
        None => Job::start(problem(args, registry)?, args.logs.clone(), &args.out),
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
    serde_json::json!({
        "run": folder.path(), "checkpoint": folder.checkpoint(), "step": summary.step,
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
    New { logs: Option<PathBuf>, out: PathBuf },
    /// Where it was stopped.
    Old(RunFolder),
}

impl Job {
    /// A new run in a folder of its own under `out`.
    pub fn start(problem: Box<dyn Problem>, logs: Option<PathBuf>, out: &Path) -> Job {
        Job { problem, place: Place::New { logs, out: out.to_owned() } }
    }

    /// A run that was stopped.
    pub fn resume(path: &Path, registry: &Registry) -> anyhow::Result<Job> {
        let folder = RunFolder::open(path)?;
        Ok(Job { problem: resumed_problem(&folder, registry)?, place: Place::Old(folder) })
    }

    /// Trains to the end, until the time is up, or until Ctrl-C; progress goes to stderr.
    pub fn run(self, device: &Device, max_minutes: Option<f64>) -> anyhow::Result<(Summary, RunFolder)> {
        let problem = &*self.problem;
        problem.remarks().iter().for_each(|remark| eprintln!("{remark}"));
        let device = &suited(device, problem.networks().iter().map(|network| &network.spec));
        let (mut trainer, folder) = match self.place {
            Place::Old(folder) => (Trainer::resume(problem, &folder, device)?, folder),
            Place::New { logs, out } => {
                // First: where it fails, no folder is left behind.
                let trainer = Trainer::fresh(problem, device)?;
                let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
                let info =
                    RunInfo { command: Some(format!("icee {command}")), ..RunInfo::new(device, logs.as_deref()) };
                (trainer, RunFolder::create(&out, problem, &info)?)
            }
        };
        stop_on_ctrl_c();
        let mut progress = Progress::new(trainer.step(), problem.settings().steps);
        eprintln!("run folder {}, {}", folder.path().display(), device.describe());
        let limits = Limits { max_minutes, stop: Some(&STOP) };
        let summary = icee_train::train(&mut trainer, &folder, limits, &mut progress);
        progress.finish();
        let summary = summary?;
        let path = folder.path().join("summary.json");
        let text = serde_json::to_string_pretty(&report(&summary, &folder))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        if summary.stopped != Stopped::Finished {
            let why = if summary.stopped == Stopped::OutOfTime { "time is up" } else { "stopped" };
            let path = folder.path().display();
            eprintln!("{why} at step {}; go on with: icee train --resume {path}", summary.step);
        }
        Ok((summary, folder))
    }
}

/// The first Ctrl-C lets training save and stop after the step it is in; the second ends the program at once.
fn stop_on_ctrl_c() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let handler = || {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            eprintln!("Ctrl-C will not save: {error}");
        }
    });
}

/// Whether Ctrl-C was pressed.
pub fn was_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

fn problem(args: &Args, registry: &Registry) -> anyhow::Result<Box<dyn Problem>> {
    let Some(preset) = &args.preset else { bail!("give a preset, or --resume a run") };
    let mut settings = args.settings.clone();
    settings.extend(args.seed.map(|seed| format!("seed={seed}")));
    Ok(new_problem(preset, args.method.as_deref(), &settings, args.logs.as_deref(), registry)?)
}

/// A bar on a terminal, plain lines elsewhere; both on stderr.
struct Progress {
    bar: Option<ProgressBar>,
    said: Instant,
    start: (u64, Instant),
    /// The last evaluation's metric.
    metric: String,
}

impl Progress {
    fn new(step: u64, steps: u64) -> Self {
        let style = "{bar:30} {pos}/{len} {msg} {eta} left";
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(steps).with_position(step);
            match ProgressStyle::with_template(style) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self { bar, said: Instant::now(), start: (step, Instant::now()), metric: String::new() }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish();
        }
    }
}

impl Observer for Progress {
    fn step(&mut self, report: &StepReport) {
        let StepReport { step, steps, loss, tokens_per_second, .. } = *report;
        let speed = format!("{:.1}k tokens/s", tokens_per_second / 1e3);
        if let Some(bar) = &self.bar {
            bar.set_position(step);
            bar.set_message(format!("loss {loss:.3} {}{speed}", self.metric));
        } else if self.said.elapsed() > PLAIN_EVERY || step == steps {
            self.said = Instant::now();
            let (from, since) = self.start;
            let left = since.elapsed().as_secs_f64() * (steps - step) as f64 / (step - from).max(1) as f64;
            eprintln!("step {step}/{steps} loss {loss:.3} {}{speed} {left:.0} s left", self.metric);
        }
    }

    fn evaluated(&mut self, step: u64, evaluation: &HeldOutMetrics) {
        self.metric = format!("{} ", evaluation.brief);
        let line = format!("step {step}: {}", evaluation.line);
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }
}

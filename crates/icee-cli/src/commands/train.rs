//! `icee train`: learn from a world's fresh games, or from one's own logs, into a run folder.

use anyhow::{Context, bail};
use icee::train::{self, Limits, Observer, RunFolder, RunInfo, StepReport, Stopped, Summary, Trainer};
use icee::{Config, Device, DeviceChoice, Evaluation, Source, logs::Logs, presets};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a plain line is written where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Set by Ctrl-C; training stops after the step it is in.
static STOP: AtomicBool = AtomicBool::new(false);

/// Train a model on a world or on logged episodes.
#[derive(clap::Args)]
pub struct Args {
    /// A preset's name, or a TOML file of one's own.
    #[arg(value_name = "PRESET", required_unless_present = "resume")]
    preset: Option<String>,
    /// The method: icee, icee-weighted, icee-paper, icee-biased, ad, ad-sorted or mgdt.
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
    /// Where to learn: cpu, cuda (a GPU), or auto (a GPU where there is one).
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    device: DeviceName,
    /// Threads; 0 takes all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Where to learn.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum DeviceName {
    Cpu,
    Cuda,
    Auto,
}

impl DeviceName {
    /// The device, with this many threads for what the CPU does.
    pub fn choose(self, threads: usize) -> anyhow::Result<Device> {
        let choice = match self {
            DeviceName::Cpu => DeviceChoice::Cpu,
            DeviceName::Cuda => DeviceChoice::Cuda,
            DeviceName::Auto => DeviceChoice::Auto,
        };
        Ok(Device::choose(choice, threads)?)
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let device = args.device.choose(args.threads)?;
    let job = match &args.resume {
        Some(path) => Job::resume(path, &device)?,
        None => Job::start(&config_of(args)?, args.logs.as_deref(), &args.out, &device)?,
    };
    let (summary, folder) = job.run(&device, args.max_minutes)?;
    let mut out = std::io::stdout().lock();
    let evaluation = summary.evaluation.as_ref();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report(&summary, &folder))?)?;
        return Ok(());
    }
    writeln!(out, "{}", folder.checkpoint().display())?;
    if let Some(evaluation) = evaluation {
        writeln!(out, "{}", returns_line(evaluation))?;
    }
    Ok(())
}

/// The result for machines.
fn report(summary: &Summary, folder: &RunFolder) -> serde_json::Value {
    serde_json::json!({
        "run": folder.path(), "checkpoint": folder.checkpoint(), "step": summary.step,
        "finished": summary.stopped == Stopped::Finished, "seconds": summary.seconds,
        "evaluation": summary.evaluation.as_ref(),
    })
}

/// A run that is ready to go on.
pub struct Job {
    trainer: Trainer,
    source: Source,
    folder: RunFolder,
}

impl Job {
    /// A new run in a folder of its own under `out`.
    pub fn start(config: &Config, logs: Option<&Path>, out: &Path, device: &Device) -> anyhow::Result<Job> {
        let source = source_of(config, logs)?;
        let trainer = train::start(config, &source, device)?;
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let info = RunInfo { command: Some(format!("icee {command}")), ..RunInfo::new(device, logs) };
        let folder = RunFolder::create(out, config, &source.task().name, &info)?;
        Ok(Job { trainer, source, folder })
    }

    /// A run that was stopped.
    pub fn resume(path: &Path, device: &Device) -> anyhow::Result<Job> {
        let folder = RunFolder::open(path)?;
        let trainer = Trainer::resume(&folder, device)?;
        let source = source_of(trainer.config(), folder.info()?.logs.as_deref())?;
        Ok(Job { trainer, source, folder })
    }

    /// Trains to the end, until the time is up, or until Ctrl-C; progress goes to stderr.
    pub fn run(mut self, device: &Device, max_minutes: Option<f64>) -> anyhow::Result<(Summary, RunFolder)> {
        let Job { trainer, source, folder } = &mut self;
        say_what_logs_lack(trainer, source);
        stop_on_ctrl_c();
        let mut progress = Progress::new(trainer.step(), trainer.config().train.steps);
        eprintln!("run folder {}, {}", folder.path().display(), device.describe());
        let limits = Limits { max_minutes, stop: Some(&STOP) };
        let summary = train::train(trainer, source, folder, limits, &mut progress);
        progress.finish();
        let summary = summary?;
        let path = folder.path().join("summary.json");
        let text = serde_json::to_string_pretty(&report(&summary, folder))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        if summary.stopped != Stopped::Finished {
            let why = if summary.stopped == Stopped::OutOfTime { "time is up" } else { "stopped" };
            let path = folder.path().display();
            eprintln!("{why} at step {}; go on with: icee train --resume {path}", summary.step);
        }
        Ok((summary, self.folder))
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

fn config_of(args: &Args) -> anyhow::Result<Config> {
    let Some(name) = &args.preset else { bail!("give a preset, or --resume a run") };
    let own;
    let world = if Path::new(name).extension().is_some_and(|e| e == "toml") {
        own = std::fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
        &own
    } else {
        presets::world(name)?
    };
    let mut layers = vec![world];
    if let Some(method) = &args.method {
        layers.push(presets::method(method)?);
    }
    let mut settings = args.settings.clone();
    settings.extend(args.seed.map(|seed| format!("seed={seed}")));
    Ok(Config::layered(&layers, &settings)?)
}

fn source_of(config: &Config, logs: Option<&Path>) -> anyhow::Result<Source> {
    Ok(match logs {
        Some(path) => Source::Logs(Logs::read(path)?),
        None => Source::of_config(config)?,
    })
}

fn say_what_logs_lack(trainer: &Trainer, source: &Source) {
    if let Source::Logs(logs) = source
        && !logs.has_probabilities
        && trainer.blueprint().uses_weights()
    {
        eprintln!("the log has no probability of every action: all weights are 1, which trains the biased form");
    }
}

fn returns_line(evaluation: &Evaluation) -> String {
    let [first, middle, last] = evaluation.first_middle_last();
    let count = evaluation.episodes.len();
    format!("return at episode 1 / {} / {count}: {first:.2} / {middle:.2} / {last:.2}", count / 2 + 1)
}

/// A bar on a terminal, plain lines elsewhere; both on stderr.
struct Progress {
    bar: Option<ProgressBar>,
    said: Instant,
    start: (u64, Instant),
    returns: String,
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
        Self { bar, said: Instant::now(), start: (step, Instant::now()), returns: String::new() }
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
            bar.set_message(format!("loss {loss:.3} {}{speed}", self.returns));
        } else if self.said.elapsed() > PLAIN_EVERY || step == steps {
            self.said = Instant::now();
            let (from, since) = self.start;
            let left = since.elapsed().as_secs_f64() * (steps - step) as f64 / (step - from).max(1) as f64;
            eprintln!("step {step}/{steps} loss {loss:.3} {}{speed} {left:.0} s left", self.returns);
        }
    }

    fn evaluated(&mut self, step: u64, evaluation: &Evaluation) {
        let [first, middle, last] = evaluation.first_middle_last();
        self.returns = format!("return {last:.2} ");
        let line = format!("step {step}: {}", returns_line(evaluation));
        match &self.bar {
            Some(bar) => bar.set_message(format!("return {first:.2} {middle:.2} {last:.2}")),
            None => eprintln!("{line}"),
        }
    }
}

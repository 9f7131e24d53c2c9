//! `icee train`: learn from a world's fresh games, or from one's own logs, into a run folder.

use super::device::DeviceName;
use anyhow::{Context, bail};
use icee::train::{self, Limits, Observer, RunFolder, RunInfo, StepReport, Stopped, Trainer};
use icee::{Config, Evaluation, Source, logs::Logs, presets};
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

pub fn run(args: &Args) -> anyhow::Result<()> {
    let device = args.device.open(args.threads)?;
    let (mut trainer, source, folder) = match &args.resume {
        Some(path) => {
            let folder = RunFolder::open(path)?;
            let trainer = Trainer::resume(&folder, &device)?;
            let source = source_of(trainer.config(), folder.info()?.logs.as_deref())?;
            (trainer, source, folder)
        }
        None => {
            let config = config_of(args)?;
            let source = source_of(&config, args.logs.as_deref())?;
            let trainer = train::start(&config, &source, &device)?;
            let info = RunInfo::new(&device, args.logs.as_deref());
            let folder = RunFolder::create(&args.out, &config, &source.task().name, &info)?;
            (trainer, source, folder)
        }
    };
    say_what_logs_lack(&trainer, &source);
    // A second Ctrl-C before the step is over does nothing more; the first is honoured within a step.
    if let Err(error) = ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)) {
        eprintln!("Ctrl-C will not save: {error}");
    }
    let mut progress = Progress::new(trainer.step(), trainer.config().train.steps);
    eprintln!("run folder {}, {}", folder.path().display(), device.describe());
    let limits = Limits { max_minutes: args.max_minutes, stop: Some(&STOP) };
    let summary = train::train(&mut trainer, &source, &folder, limits, &mut progress);
    progress.finish();
    let summary = summary?;

    if summary.stopped != Stopped::Finished {
        let why = if summary.stopped == Stopped::OutOfTime { "time is up" } else { "stopped" };
        let path = folder.path().display();
        eprintln!("{why} at step {}; go on with: icee train --resume {path}", summary.step);
    }
    let mut out = std::io::stdout().lock();
    let evaluation = summary.evaluation.as_ref();
    if args.json {
        let report = serde_json::json!({
            "run": folder.path(), "checkpoint": folder.checkpoint(), "step": summary.step,
            "finished": summary.stopped == Stopped::Finished, "seconds": summary.seconds, "evaluation": evaluation,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    writeln!(out, "{}", folder.checkpoint().display())?;
    if let Some(evaluation) = evaluation {
        writeln!(out, "{}", returns_line(evaluation))?;
    }
    Ok(())
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

//! `icee reproduce`: recomputes the paper's results from the trained models on one page. The same command continues an
//! interrupted report.

use super::device::DeviceName;
use super::models::StoreArgs;
use super::stop::was_stopped;
use super::train::run_job;
use crate::terminal::say;
use anyhow::{Context, bail};
use icee_models::add::{Addition, add};
use icee_models::job::Job;
use icee_models::kind::new_problem;
use icee_models::{ModelStore, Recipe, recipes};
use icee_report::paper::Verdict;
use icee_report::plan::{self, Options, Part};
use icee_report::reproduction::{Report, reproduce};
use icee_report::work::{Machine, ResultStore, Unit, Watcher, Work};
use icee_train::{Device, Stopped};
use icee_worlds::Registry;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Reproduce the paper: one page with figures, tables and verdicts.
#[derive(clap::Args)]
pub struct Args {
    /// Compute only these parts; parts computed earlier stay on the page.
    ///
    /// Parts: dark-room, dark-room-hard, key-to-door, dark-room-biased, beyond, bo, tables, ablations, cost. Cost is always on the
    /// page: it was measured once.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    only: Vec<String>,
    /// Evaluate on this many tasks.
    #[arg(long, value_name = "N", default_value_t = 100)]
    games: usize,
    /// Draw this many pools of each benchmark function.
    #[arg(long, value_name = "N", default_value_t = 5)]
    trials: usize,
    /// Seed of the evaluations.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write the report here, and reuse the results in it.
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    /// Train all models first, into DIR/models.
    #[arg(long)]
    train: bool,
    /// Train on cpu, cuda (a GPU) or auto (a GPU if there is one).
    #[arg(long, value_enum, default_value_t = DeviceName::Auto, requires = "train")]
    device: DeviceName,
    /// Change a training setting, as in train.steps=1000. Repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "train")]
    settings: Vec<String>,
    /// Use this many threads; 0 takes all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    pub(crate) models: StoreArgs,
}

pub fn run(args: &Args, registry: &Registry, models: &ModelStore) -> anyhow::Result<()> {
    if args.games == 0 || args.trials == 0 {
        bail!("--games and --trials must be at least 1");
    }
    let parts: Vec<Part> = match args.only.is_empty() {
        true => Part::all(),
        false => args.only.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
    };
    let options = Options { games: args.games, trials: args.trials, seed: args.seed, parts };
    let units = plan::units(&options);
    let mut models = models.clone();
    if args.train {
        let folder = args.out.join("models");
        train_all(args, &units, &folder, registry)?;
        models = models.with_root(folder);
    }
    let results = ResultStore::open(&args.out.join("work"))?;
    let machine = Machine { device: Device::cpu(args.threads)?, registry, models, results };
    let mut progress = Progress::new(&units);
    let report = reproduce(&options, &machine, &args.out, &mut progress);
    progress.finish();
    write_summary(&mut std::io::stdout().lock(), &report?)?;
    Ok(())
}

/// Trains every model of the plan that is not there, each in a run that can be resumed.
fn train_all(args: &Args, units: &[Unit], models: &Path, registry: &Registry) -> anyhow::Result<()> {
    let device = args.device.open(args.threads)?;
    let mut wanted: Vec<Recipe> = Vec::new();
    for unit in units {
        let name = match &unit.work {
            Work::Play { model, .. } => model,
            Work::Search { sampler, .. } | Work::Race { sampler, .. } => sampler,
            Work::Reference { .. } => continue,
        };
        wanted.extend(recipes::find(name).filter(|recipe| !wanted.contains(recipe)));
    }
    for recipe in wanted {
        let name = &recipe.name;
        if models.join(name).is_dir() {
            continue;
        }
        let runs = args.out.join("runs").join(name);
        say(format!("training {name}"));
        let (summary, folder) = run_job(job(&recipe, &args.settings, &runs, registry)?, &device, None, true)?;
        if summary.stopped != Stopped::Finished {
            bail!("stopped; the same command continues");
        }
        add(&Addition { run: folder.path(), name, models, evaluation: None, force: false })?;
    }
    Ok(())
}

/// The model's run: the one that was stopped, or a new one.
fn job(recipe: &Recipe, settings: &[String], runs: &Path, registry: &Registry) -> anyhow::Result<Job> {
    let started = std::fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
    if let Some(run) = started.into_iter().find(|run| run.join("training.safetensors").is_file()) {
        return Ok(Job::resume(&run, registry)?);
    }
    let all = settings_of(recipe, settings);
    let problem = new_problem(recipe.preset, recipe.method, &all, None, registry)
        .with_context(|| format!("cannot train {}", recipe.name))?;
    Ok(Job::start(problem, runs))
}

/// The recipe's settings and seed, then those of the command line.
fn settings_of(recipe: &Recipe, settings: &[String]) -> Vec<String> {
    let own = recipe.settings.iter().map(ToString::to_string);
    own.chain([format!("seed={}", recipe.seed)]).chain(settings.iter().cloned()).collect()
}

/// What is being done and how long it will take: a bar on a terminal, plain lines elsewhere; both on stderr.
struct Progress {
    bar: Option<ProgressBar>,
    /// Pieces of work: done, all.
    count: (usize, usize),
    /// Estimated seconds of what is left, and of what was computed here.
    left: f64,
    computed: f64,
    begun: Instant,
    /// Models that were said to be missing.
    missing: Vec<String>,
    said: Instant,
}

/// How often a plain line is written where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

impl Progress {
    fn new(units: &[Unit]) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(units.len() as u64);
            match ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        let left = units.iter().map(|unit| unit.cost).sum();
        let (begun, said) = (Instant::now(), Instant::now());
        Progress { bar, count: (0, units.len()), left, computed: 0.0, begun, missing: Vec::new(), said }
    }

    /// The time that is left, from how long what was computed took against its estimate.
    fn time_left(&self) -> String {
        if self.computed == 0.0 {
            return String::new();
        }
        let seconds = self.left * self.begun.elapsed().as_secs_f64() / self.computed;
        match seconds {
            s if s < 90.0 => format!(", about {s:.0} s left"),
            s => format!(", about {:.0} min left", s / 60.0),
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => say(line),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn count_one(&mut self, unit: &Unit) {
        self.count.0 += 1;
        self.left = (self.left - unit.cost).max(0.0);
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        if was_stopped() {
            self.finish();
            say("stopped; the same command continues");
            std::process::exit(130);
        }
    }
}

impl Watcher for Progress {
    fn begins(&mut self, unit: &Unit) {
        let message = format!("{}{}", unit.id, self.time_left());
        match &self.bar {
            Some(bar) => bar.set_message(message),
            None if self.count.0 == 0 || self.said.elapsed() > PLAIN_EVERY => {
                self.said = Instant::now();
                say(format!("{}/{} {message}", self.count.0 + 1, self.count.1));
            }
            None => {}
        }
    }

    fn done(&mut self, unit: &Unit, computed: bool) {
        if computed {
            self.computed += unit.cost;
        }
        self.count_one(unit);
    }

    fn damaged(&mut self, _: &Unit, why: &str) {
        self.say(&format!("{why}; computing it again"));
    }

    fn lost(&mut self, unit: &Unit, why: &str) {
        let model = match &unit.work {
            Work::Play { model, .. } => model.clone(),
            Work::Search { sampler, .. } | Work::Race { sampler, .. } => sampler.clone(),
            Work::Reference { world, .. } => (*world).into(),
        };
        if !self.missing.contains(&model) {
            self.say(why);
            self.missing.push(model);
        }
        self.count_one(unit);
    }
}

fn write_summary(out: &mut impl Write, report: &Report) -> std::io::Result<()> {
    let Report { page, comparisons, results, absent } = report;
    if comparisons.iter().any(|cell| cell.ours.is_some()) {
        writeln!(out, "{:<20}{:<15}{:>8}{:>16}{:>16}  verdict", "world", "method", "episode", "paper", "ours")?;
    }
    for cell in comparisons {
        let (Some((mean, half)), Some(verdict)) = (cell.ours, cell.verdict) else { continue };
        let paper = format!("{:.2} ± {:.2}", cell.paper.0, cell.paper.1);
        let ours = format!("{mean:.2} ± {half:.2}");
        let verdict = match verdict {
            Verdict::Higher => "higher",
            Verdict::Agrees => "agrees",
            Verdict::Lower => "lower",
        };
        let (world, method, episode) = (cell.world, cell.method, cell.episode);
        writeln!(out, "{world:<20}{method:<15}{episode:>8}{paper:>16}{ours:>16}  {verdict}")?;
    }
    let mut missing: Vec<&str> = results.lost.iter().map(|lost| lost.model.as_str()).collect();
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() {
        writeln!(out, "missing models: {}", missing.join(", "))?;
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|part| part.name()).collect();
        writeln!(out, "not on the page yet: {}", names.join(", "))?;
    }
    writeln!(out, "{} results, {} computed now", results.outcomes.len(), results.computed)?;
    writeln!(out, "{}", page.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_trained_with_the_seeds_of_their_recipes() {
        for recipe in recipes::recipes() {
            let seed = settings_of(&recipe, &[]).into_iter().rfind(|setting| setting.starts_with("seed="));
            assert_eq!(seed, Some(format!("seed={}", recipe.seed)), "{}", recipe.name);
        }
        let hard = recipes::find("dark-room-hard__icee").expect("a recipe");
        assert!(settings_of(&hard, &[]).contains(&"seed=5".to_owned()));
        assert_eq!(settings_of(&hard, &["seed=7".into()]).last().map(String::as_str), Some("seed=7"));
    }
}

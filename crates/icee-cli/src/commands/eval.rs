//! `icee eval`: a trained model's return on unseen tasks beside reference agents; or, for a model of functions, its regret.

use super::acting::ActingArgs;
use super::counts::count;
use super::device::{DeviceName, suited};
use super::models::StoreArgs;
use super::progress::{Elsewhere, Progress};
use super::{eval_functions, eval_logs, eval_pools};
use anyhow::{Context, bail};
use icee_games::{Evaluation, EvaluationGames, TrainedModel, evaluate_watched};
use icee_models::catalogue::references;
use icee_models::{Model, ModelStore};
use icee_optim::OptimiserModel;
use icee_report::paper;
use icee_worlds::{Games, ReferenceAgent, Registry, Returns, Split};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Measure a trained model on unseen tasks or on the benchmark functions.
#[derive(clap::Args)]
pub struct Args {
    /// Model name (`icee models` lists them), checkpoint folder or run folder.
    #[arg(value_name = "MODEL")]
    model: String,
    /// Play this many tasks [default: 100].
    #[arg(long, value_name = "N", value_parser = count)]
    games: Option<usize>,
    /// Play this many episodes of each task [default: the world's K].
    #[arg(long, value_name = "K", value_parser = count)]
    episodes: Option<usize>,
    /// Play another world with the same observations and actions.
    #[arg(long, value_name = "ID")]
    world: Option<String>,
    /// Play training tasks, in a world that holds tasks out for evaluation.
    #[arg(long)]
    training_games: bool,
    /// Judge it by the tasks of this log without playing [default: its held-out ones].
    #[arg(long, value_name = "FILE", conflicts_with_all = ["world", "training_games"])]
    logs: Option<PathBuf>,
    /// Run this many trials of each benchmark function [default: 5].
    #[arg(long, value_name = "N", value_parser = count)]
    trials: Option<usize>,
    /// Race on the real tables in this folder instead of the benchmark functions.
    #[arg(long, value_name = "DIR")]
    pools: Option<PathBuf>,
    /// Compare with the searches of other tools in this file. Repeatable.
    #[arg(long, value_name = "FILE", requires = "pools")]
    runs: Vec<PathBuf>,
    /// Save the searches of this race to a file that --runs reads.
    #[arg(long, value_name = "FILE", requires = "pools")]
    keep_runs: Option<PathBuf>,
    /// Seed of tasks, functions and choices [default: 0]. Not with --pools.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Run on cpu, cuda (a GPU) or auto (a GPU if there is one).
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    device: DeviceName,
    /// Use this many threads [default: all cores; 1 for a model of functions].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write returns by task and episode, or regrets by evaluation, as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) models: StoreArgs,
    #[command(flatten)]
    acting: ActingArgs,
}

/// Three (episode, mean return) of the paper's tables.
type PaperRow = Vec<(usize, f64)>;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    evaluation: Evaluation,
    /// Mean returns by episode of the agents that bound the model.
    references: Vec<(&'static str, Vec<f64>)>,
    /// The paper's (episode, mean return), where it has some.
    paper: Option<PaperRow>,
}

pub fn run(args: &Args, registry: &Registry, models: &ModelStore) -> anyhow::Result<()> {
    match models.find(&args.model)?.load()? {
        Model::Games(model) => eval_agent(args, model, registry),
        Model::Functions(model) => eval_optimiser(args, &model),
    }
}

fn eval_optimiser(args: &Args, model: &OptimiserModel) -> anyhow::Result<()> {
    let of_games = args.games.is_some()
        || args.episodes.is_some()
        || args.world.is_some()
        || args.training_games
        || args.logs.is_some();
    if of_games || args.acting.given() {
        bail!(
            "this model was trained on functions; leave out --games, --episodes, --world, --training-games, --logs and acting rules"
        );
    }
    if matches!(args.device, DeviceName::Cuda) {
        bail!("models of functions are evaluated on the CPU, so that times can be compared; leave out --device");
    }
    let (trials, threads) = (args.trials.unwrap_or(5), args.threads.unwrap_or(1));
    if let Some(folder) = &args.pools {
        if args.seed.is_some() {
            bail!("a race is not random: it starts with the rows that the tables name; leave out --seed");
        }
        let race = eval_pools::Race {
            folder,
            others: &args.runs,
            keep: args.keep_runs.as_deref(),
            trials,
            threads,
            json: args.json,
            csv: args.csv.as_deref(),
        };
        return eval_pools::run(model, &race);
    }
    eval_functions::run(model, trials, args.seed.unwrap_or(0), threads, args.json, args.csv.as_deref())
}

fn eval_agent(args: &Args, mut model: TrainedModel, registry: &Registry) -> anyhow::Result<()> {
    if args.trials.is_some() || args.pools.is_some() {
        bail!("this model was trained on games; leave out --trials and --pools, and use --games");
    }
    args.acting.apply(&mut model.config.acting)?;
    if args.logs.is_some() || (model.task.is_of_logs() && args.world.is_none()) {
        for (given, name) in [
            (args.csv.is_some(), "--csv"),
            (args.episodes.is_some(), "--episodes"),
            (args.training_games, "--training-games"),
            (args.seed.is_some(), "--seed"),
            (matches!(args.device, DeviceName::Cuda), "--device cuda"),
        ] {
            if given {
                bail!(
                    "{name} needs a world to play in, and this model is judged by a log; leave {name} out, or add --world ID"
                );
            }
        }
        let judged = eval_logs::Judged { model: &model, folder: Path::new(&args.model), logs: args.logs.as_deref() };
        return eval_logs::run(&judged, args.games, args.threads.unwrap_or(0), args.json);
    }
    let device = args.device.open(args.threads.unwrap_or(0))?;
    let device = suited(&device, model.models.iter().map(|model| model.spec()));
    let (count, seed) = (args.games.unwrap_or(100), args.seed.unwrap_or(0));
    let progress = Progress::new("episode", 0, Elsewhere::Nothing);
    let watch = |played: usize, all: usize| progress.at(played as u64, all as u64, "episodes,");
    let split = if args.training_games { Split::Training } else { Split::Evaluation };
    let games = EvaluationGames { world: args.world.clone(), split, games: count, episodes: args.episodes, seed };
    let (evaluation, returns) = evaluate_watched(&device, &model, registry, &games, watch)?;
    progress.end();
    if let Some(path) = &args.csv {
        write_csv(path, &returns).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let world = registry.make(&evaluation.world)?;
    let mut beside = Vec::new();
    for (_, kind) in references() {
        let mut games = Games::deal(&*world, count, seed, split)?;
        let Ok(mut agent) = ReferenceAgent::new(kind, &games) else { continue };
        let returns = games.play(&mut agent, evaluation.episodes.len())?;
        let means = (0..returns.episodes()).map(|episode| returns.estimate(episode).mean).collect();
        beside.push((kind.name(), means));
    }
    let row = paper::row(&evaluation.world, &evaluation.agent);
    let paper = (!row.is_empty()).then(|| row.into_iter().map(|cell| (cell.episode, cell.mean)).collect());
    let report = Report { evaluation, references: beside, paper };
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    report.write(&mut out)?;
    Ok(())
}

impl Report {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let Evaluation { world, agent, games, seed, decisions_per_second, forgotten, episodes } = &self.evaluation;
        writeln!(out, "{world}, {agent}, {games} games, seed {seed}, {decisions_per_second:.0} decisions/s")?;
        if let Some(words) = forgotten.words() {
            writeln!(out, "{words}")?;
        }
        write!(out, "episode  mean return  95 % interval  entropy")?;
        for (name, _) in &self.references {
            write!(out, "  {name:>9}")?;
        }
        writeln!(out, "{}", if self.paper.is_some() { "  paper" } else { "" })?;
        for (index, row) in episodes.iter().enumerate() {
            let interval = row.half_width_95.map_or_else(|| "-".into(), |half| format!("± {half:.3}"));
            write!(out, "{:>7}  {:>11.3}  {interval:>13}  {:>7.3}", row.episode, row.mean, row.entropy)?;
            for (_, means) in &self.references {
                write!(out, "  {:>9.3}", means[index])?;
            }
            let paper = self.paper.as_ref().and_then(|rows| rows.iter().find(|(at, _)| *at == row.episode).copied());
            writeln!(out, "{}", paper.map_or(String::new(), |(_, mean)| format!("  {mean:>5.2}")))?;
        }
        Ok(())
    }
}

fn write_csv(path: &Path, returns: &Returns) -> anyhow::Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record(["game", "episode", "return"])?;
    for game in 0..returns.games() {
        for (episode, value) in returns.game(game).iter().enumerate() {
            csv.write_record([game.to_string(), (episode + 1).to_string(), value.to_string()])?;
        }
    }
    csv.flush()?;
    Ok(())
}

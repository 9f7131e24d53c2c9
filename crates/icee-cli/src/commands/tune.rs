//! `icee tune`: chooses acting rules on validation tasks or fresh functions and writes them into the checkpoint.

use super::counts::count;
use super::device::{DeviceName, suited};
use super::models::StoreArgs;
use super::progress::{Elsewhere, Progress};
use anyhow::{Context, bail};
use icee_games::config::OutcomeReading;
use icee_games::{Acting, ActingResult, TrainedModel, tune};
use icee_models::{Model, ModelStore, Place};
use icee_optim::{OptimiserModel, PickingResult};
use icee_worlds::Registry;
use serde::Serialize;
use std::io::Write;

/// Choose a model's acting rules on validation tasks or fresh functions.
#[derive(clap::Args)]
pub struct Args {
    /// Model name, checkpoint folder or run folder; its config is changed.
    #[arg(value_name = "MODEL")]
    model: String,
    /// Play this many validation tasks (or functions) in each trial.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = count)]
    games: usize,
    /// Seed of the validation tasks.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Print the table and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Run on cpu, cuda (a GPU) or auto (a GPU if there is one).
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    device: DeviceName,
    /// Use this many threads; 0 takes all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) models: StoreArgs,
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    acting: Acting,
    mean: f64,
    first: f64,
    middle: f64,
    last: f64,
    chosen: bool,
}

pub fn run(args: &Args, registry: &Registry, models: &ModelStore) -> anyhow::Result<()> {
    let found = models.find(&args.model)?;
    if found.place == Place::Program && !args.dry_run {
        bail!("{} is inside the program and cannot be changed; add --dry-run to print the table", found.name);
    }
    match found.load()? {
        Model::Games(model) => tune_agent(args, &found.place, model, registry),
        Model::Functions(model) => tune_optimiser(args, &found.place, model),
    }
}

fn tune_agent(args: &Args, place: &Place, mut model: TrainedModel, registry: &Registry) -> anyhow::Result<()> {
    let progress = Progress::new("trial", 0, Elsewhere::Nothing);
    let mut count = 0;
    let told = |trial: &ActingResult, all: usize| {
        count += 1;
        progress.at(count, all as u64, format_args!("trials, mean return {:.3},", trial.evaluation.mean()));
    };
    let device = suited(&args.device.open(args.threads)?, model.models.iter().map(|model| model.spec()));
    let (trials, best) = tune(&device, &model, registry, args.games, args.seed, told)?;
    progress.end();
    let row = |(index, trial): (usize, &ActingResult)| {
        let [first, middle, last] = trial.evaluation.first_middle_last();
        let (acting, mean) = (trial.acting.clone(), trial.evaluation.mean());
        Row { acting, mean, first, middle, last, chosen: index == best }
    };
    let rows: Vec<Row> = trials.iter().enumerate().map(row).collect();
    if let (Place::Folder(folder), false) = (place, args.dry_run) {
        model.config.acting = trials[best].acting.clone();
        model.save_acting(folder).context("cannot write the acting rules into the checkpoint")?;
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    writeln!(out, " kappa  guard   outcome  temperature  patience   mean  first  middle   last")?;
    for Row { acting, mean, first, middle, last, chosen } in &rows {
        let outcome = if acting.outcome == OutcomeReading::Exactly { "exactly" } else { "at-least" };
        let Acting { kappa, guard, temperature, patience, .. } = acting;
        let mark = if *chosen { "  <- chosen" } else { "" };
        writeln!(
            out,
            "{kappa:>6}  {guard:>5}  {outcome:>8}  {temperature:>11}  {patience:>8}  {mean:>5.2}  {first:>5.2}  {middle:>6.2}  {last:>5.2}{mark}"
        )?;
    }
    Ok(())
}

/// A line of an optimiser's table.
#[derive(Serialize)]
struct OptimiserRow {
    #[serde(flatten)]
    acting: icee_optim::Acting,
    regret: f64,
    last: f64,
    solved: f64,
    chosen: bool,
}

fn tune_optimiser(args: &Args, place: &Place, mut model: OptimiserModel) -> anyhow::Result<()> {
    if matches!(args.device, DeviceName::Cuda) {
        bail!("models of functions are tuned on the CPU; leave out --device");
    }
    let progress = Progress::new("trial", 0, Elsewhere::Nothing);
    let mut count = 0;
    let told = |trial: &PickingResult, all: usize| {
        count += 1;
        progress.at(count, all as u64, format_args!("trials, mean regret {:.3},", trial.regret));
    };
    let (trials, best) = icee_optim::tune(&model, args.games, args.seed, args.threads, told)?;
    progress.end();
    if let (Place::Folder(folder), false) = (place, args.dry_run) {
        model.config.acting = trials[best].acting.clone();
        model.save_acting(folder).context("cannot write the acting rules into the checkpoint")?;
    }
    let row = |(index, trial): (usize, &PickingResult)| {
        let PickingResult { acting, regret, last, solved } = trial.clone();
        OptimiserRow { acting, regret, last, solved, chosen: index == best }
    };
    let rows: Vec<OptimiserRow> = trials.iter().enumerate().map(row).collect();
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    writeln!(out, "sharpness  temperature  mean regret  at the end  solved")?;
    for OptimiserRow { acting: icee_optim::Acting { sharpness, temperature }, regret, last, solved, chosen } in &rows {
        let mark = if *chosen { "  <- chosen" } else { "" };
        let solved = format!("{:.0} %", 100.0 * solved);
        writeln!(out, "{sharpness:>9}  {temperature:>11}  {regret:>11.3}  {last:>10.3}  {solved:>6}{mark}")?;
    }
    Ok(())
}

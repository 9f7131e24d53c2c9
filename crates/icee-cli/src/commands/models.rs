//! `icee models`: lists the trained models with their returns, and makes a model from a run.

use anyhow::{Context, anyhow, bail};
use icee_models::add::{Addition, add};
use icee_models::recipes;
use icee_models::results::milestones;
use icee_models::{Description, Found, ModelStore, Place};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// List the trained models, or make one from a run.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) models: StoreArgs,
}

/// Where models are looked for.
#[derive(clap::Args)]
pub struct StoreArgs {
    /// Search this folder of models first.
    #[arg(long, value_name = "DIR", global = true, display_order = 500)]
    models: Option<PathBuf>,
}

impl StoreArgs {
    /// The folder of the flag, then as [`ModelStore::of_environment`].
    pub fn store(&self) -> anyhow::Result<ModelStore> {
        if let Some(folder) = self.models.as_ref().filter(|folder| !folder.is_dir()) {
            bail!("--models: there is no folder {}", folder.display());
        }
        Ok(self.models.clone().into_iter().fold(ModelStore::of_environment(), ModelStore::with_root))
    }
}

#[derive(clap::Subcommand)]
enum Action {
    Add(AddArgs),
    /// Print a model's card.
    Card {
        /// Model name.
        name: String,
    },
}

/// Make a model from a training run: 8-bit weights, description, card.
#[derive(clap::Args)]
struct AddArgs {
    /// Run folder, checkpoint folder, or model to store again.
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Name of the new model, such as dark-room__icee.
    #[arg(value_name = "NAME")]
    name: String,
    /// Store these results: CSV by episode, or the output of `icee eval RUN --json`.
    #[arg(long, value_name = "FILE")]
    eval: Option<PathBuf>,
    /// Write into this folder [default: --models, ICEE_MODELS or models].
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Replace an existing model.
    #[arg(long)]
    force: bool,
}

/// A line of the list.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Inside the program, a folder, or none where it is missing.
    place: Option<String>,
    #[serde(flatten)]
    description: Option<Description>,
    /// (episode, mean return).
    results: Vec<(usize, f64)>,
    /// The command that trains it, where it is one of ours.
    command: Option<String>,
}

pub fn run(args: &Args, store: &ModelStore) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match &args.action {
        Some(Action::Add(args)) => {
            let AddArgs { run, name, eval, to, force } = args;
            let models = to.as_deref().unwrap_or(store.first());
            let addition = Addition { run, name, models, evaluation: eval.as_deref(), force: *force };
            let added = add(&addition).map_err(|error| match error {
                icee_models::Error::Exists(_) => anyhow!("{error}, or --force to replace it"),
                error => error.into(),
            })?;
            writeln!(out, "{}", added.display())?;
        }
        Some(Action::Card { name }) => {
            let card = store.find(name)?.card();
            write!(out, "{}", card.unwrap_or_else(|| format!("{name} has no card\n")))?;
        }
        None => {
            let rows = store.names().iter().map(|name| row(store, name)).collect::<anyhow::Result<Vec<_>>>()?;
            if args.json {
                writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
            } else {
                write_list(&mut out, &rows)?;
            }
        }
    }
    Ok(())
}

fn row(store: &ModelStore, name: &str) -> anyhow::Result<Row> {
    let stored = store.stored_results(name)?.unwrap_or_default();
    let shown = if stored.is_empty() { Vec::new() } else { milestones(stored.len()).to_vec() };
    let results = shown.into_iter().map(|episode| (episode, stored[episode - 1].mean)).collect();
    let command = recipes::find(name).map(|recipe| recipe.command());
    let found = match store.find(name) {
        Ok(found) => Some(found),
        Err(icee_models::Error::Missing { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let description = found.as_ref().map(Found::describe).transpose().with_context(|| name.to_owned())?;
    Ok(Row { name: name.into(), place: found.as_ref().map(place_of), description, results, command })
}

fn place_of(found: &Found) -> String {
    match &found.place {
        Place::Program => "inside the program".into(),
        Place::Folder(folder) => folder.display().to_string(),
    }
}

fn write_list(out: &mut impl Write, rows: &[Row]) -> std::io::Result<()> {
    let (here, missing): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.place.is_some());
    if !here.is_empty() {
        let line = ["model", "world", "method", "weights", "return at episode, or regret", "where"];
        writeln!(out, "{:<34}{:<20}{:<13}{:>9}  {:<34}{}", line[0], line[1], line[2], line[3], line[4], line[5])?;
    }
    for row in here {
        let (Some(Description { world, method, weights, .. }), Some(place)) = (&row.description, &row.place) else {
            continue;
        };
        writeln!(out, "{:<34}{world:<20}{method:<13}{weights:>9}  {:<34}{place}", row.name, returns(row))?;
    }
    if !missing.is_empty() {
        writeln!(out, "\nmissing; to train:")?;
        for row in missing {
            let known = if row.results.is_empty() { String::new() } else { format!("  stored: {}", returns(row)) };
            writeln!(out, "  {:<34}{}{known}", row.name, row.command.as_deref().unwrap_or_default())?;
        }
    }
    Ok(())
}

fn returns(row: &Row) -> String {
    if row.results.is_empty() {
        return "-".into();
    }
    let episodes: Vec<String> = row.results.iter().map(|(episode, _)| episode.to_string()).collect();
    let means: Vec<String> = row.results.iter().map(|(_, mean)| format!("{mean:.2}")).collect();
    format!("{}: {}", episodes.join("/"), means.join(" / "))
}

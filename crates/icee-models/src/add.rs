//! A training run becomes a model: 8-bit weights, the description, a card that says where it comes from, its results.

use crate::kind::{Kind, Model};
use crate::results::{self, EpisodeRow};
use crate::store::is_name;
use crate::{Description, Error, Result};
use icee_base::files::{FileError, write_atomically};
use icee_nn::checkpoint::{self, Checkpoint, Storage};
use icee_train::config::KIND;
use icee_train::{RunInfo, checkpoint_in};
use serde::Deserialize;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The card's part on the run, and the line in it that is about this folder alone.
const ORIGIN: &str = "## Where it comes from";
const WEIGHTS: &str = "- weights in";

/// What is added, and where.
#[derive(Clone, Debug)]
pub struct Addition<'a> {
    /// A run folder, a checkpoint folder, or a model's: its weights are stored anew, its card says the same of the run.
    pub run: &'a Path,
    /// The model's name.
    pub name: &'a str,
    /// The folder of models.
    pub models: &'a Path,
    /// What it earned: CSV by episode, or the JSON of `icee eval --json`.
    pub evaluation: Option<&'a Path>,
    /// Whether a model of that name may be replaced.
    pub force: bool,
}

/// How a run ended, as `icee train` leaves it in the run folder.
#[derive(Deserialize)]
struct RunSummary {
    seconds: f64,
}

/// What it earned, and the options of `icee eval` that say so.
struct Evaluation {
    rows: Vec<EpisodeRow>,
    options: Option<String>,
}

/// Makes the model's folder and gives its path. The folder appears whole or not at all.
///
/// # Errors
/// Where the name cannot be one, a model of that name exists, the run holds no checkpoint, or writing fails.
pub fn add(addition: &Addition<'_>) -> Result<PathBuf> {
    let Addition { run, name, models, evaluation, force } = addition;
    if !is_name(name) {
        return Err(Error::NoName((*name).into()));
    }
    let folder = models.join(name);
    if folder.exists() && !force {
        return Err(Error::Exists(folder));
    }
    let loaded = checkpoint::load(&checkpoint_in(run))?;
    let earned = match evaluation {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(FileError::io(path))?;
            Some(Evaluation { rows: results::read(path, &text)?, options: results::options(&text) })
        }
        None => None,
    };
    let unfinished = models.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = write(&unfinished, &loaded, run, name, earned.as_ref()).and_then(|()| {
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(FileError::io(&folder))?;
        }
        Ok(fs::rename(&unfinished, &folder).map_err(FileError::io(&folder))?)
    });
    if written.is_err() {
        // Half a model would only be in the way.
        let _ = fs::remove_dir_all(&unfinished);
    }
    written.map(|()| folder)
}

fn write(folder: &Path, loaded: &Checkpoint, run: &Path, name: &str, earned: Option<&Evaluation>) -> Result<()> {
    fs::create_dir_all(folder).map_err(FileError::io(folder))?;
    let models: Vec<_> = loaded.models.iter().map(|(name, model)| (name.as_str(), model)).collect();
    let weights = models.iter().map(|(_, model)| model.weights().len()).sum();
    let description = Description::of(&loaded.meta, weights)?;
    let mut meta = loaded.meta.clone();
    // Older checkpoints do not say it.
    meta[KIND] = description.kind.tag().into();
    checkpoint::save(folder, &models, &meta, Storage::Byte)?;
    write_atomically(&folder.join("README.md"), card(&description, run, name, earned).as_bytes())?;
    if let Some(Evaluation { rows, .. }) = earned {
        write_atomically(&folder.join(results::FILE), results::to_csv(rows).as_bytes())?;
    }
    Ok(())
}

/// The checkpoint's own card, or a short one for models that have none, with the run's origin and the results.
fn card(description: &Description, run: &Path, name: &str, earned: Option<&Evaluation>) -> String {
    let Description { kind, world, method, step, seed, weights } = description;
    let own = Model::load(run).map(|model| model.card());
    let mut text = match own {
        Ok(card) => card.replacen("# ", &format!("# {name}: "), 1).replace("FOLDER", name),
        Err(_) => format!("# {name}: {world}, {method}\n\n{weights} weights.\n"),
    };
    let _ = write!(
        text,
        "\n{ORIGIN}\n{}{WEIGHTS} 8 bits; everything it was told: `config.json`\n",
        origin(run, *step, *seed)
    );
    if let Some(Evaluation { rows, options }) = earned {
        text += match kind {
            Kind::Games => "\n## What it earns\n| episode | mean return | 95 % interval |\n|---|---|---|\n",
            Kind::Functions => {
                "\n## What it leaves\nMean regret on the 16 benchmark functions, in standard deviations of each pool.\n\n\
                 | evaluations | mean regret | 95 % interval |\n|---|---|---|\n"
            }
        };
        for episode in results::milestones(rows.len()) {
            let row = rows[episode - 1];
            let interval = row.half_width_95.map_or_else(|| "–".into(), |half| format!("± {half:.3}"));
            let _ = writeln!(text, "| {episode} | {:.3} | {interval} |", row.mean);
        }
        let command = options.as_ref().map_or(String::new(), |options| format!(" by `icee eval {name} {options}`"));
        let _ = writeln!(text, "\nAll of them{command}: `{}`.", results::FILE);
    }
    text
}

/// What the run says of itself or, where the folder is a model already, what its card says.
fn origin(run: &Path, step: u64, seed: u64) -> String {
    let read = |file: &str| fs::read_to_string(run.join(file)).ok();
    if let Some(card) = read("README.md")
        && let Some((_, section)) = card.split_once(ORIGIN)
    {
        let lines = section.trim_start().lines().take_while(|line| line.starts_with("- "));
        return lines.filter(|line| !line.starts_with(WEIGHTS)).map(|line| format!("{line}\n")).collect();
    }
    let info = read("run.json").and_then(|text| serde_json::from_str::<RunInfo>(&text).ok());
    let summary = read("summary.json").and_then(|text| serde_json::from_str::<RunSummary>(&text).ok());
    let mut text = String::new();
    if let Some(info) = info {
        if let Some(command) = info.command {
            let _ = writeln!(text, "- command: `{command}`");
        }
        let _ = writeln!(text, "- device: {} ({})", info.device, info.platform);
        let _ = writeln!(text, "- icee {}", info.icee);
    }
    let _ = writeln!(text, "- seed {seed}, {step} updates");
    if let Some(RunSummary { seconds }) = summary {
        let _ = writeln!(text, "- training took {seconds:.0} s");
    }
    text
}

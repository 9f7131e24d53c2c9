//! Makes a model from a training run: 8-bit weights, the description, a card with its origin, its results.

use crate::kind::{Kind, Model};
use crate::results::{self, EpisodeRow};
use crate::store::{is_checkpoint, is_name};
use crate::{Description, Error, Result};
use icee_base::files::{FileError, write_atomically};
use icee_nn::checkpoint::{self, CONFIG, Checkpoint, Storage, TENSORS};
use icee_train::{RunInfo, checkpoint_in};
use serde::Deserialize;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The card's part on the run, and the line in it that is about this folder alone.
const ORIGIN: &str = "## Where it comes from";
const WEIGHTS: &str = "- weights in";

/// The card's file.
const CARD: &str = "README.md";

/// What is added, and where.
#[derive(Clone, Debug)]
pub struct Addition<'a> {
    /// A run folder, a checkpoint folder, or a model's: its weights are stored anew, its card says the same of the run.
    pub run: &'a Path,
    /// The model's name.
    pub name: &'a str,
    /// The folder of models.
    pub models: &'a Path,
    /// Its results: CSV by episode, or the JSON of `icee eval --json`.
    pub evaluation: Option<&'a Path>,
    /// Whether a model of that name may be replaced.
    pub force: bool,
}

/// How a run ended, as `icee train` leaves it in the run folder.
#[derive(Deserialize)]
struct RunSummary {
    seconds: f64,
    #[serde(default)]
    verdict: Option<RunVerdict>,
}

#[derive(Deserialize)]
struct RunVerdict {
    words: String,
}

/// What it earned, and the options of `icee eval` that say so.
struct Evaluation {
    rows: Vec<EpisodeRow>,
    options: Option<String>,
}

/// Makes the model's folder and gives its path. The folder appears whole or not at all.
///
/// # Errors
/// Where the name cannot be one, a model of that name exists (with `force`: something that is no model), the run holds no checkpoint, or writing fails.
pub fn add(addition: &Addition<'_>) -> Result<PathBuf> {
    let Addition { run, name, models, evaluation, force } = addition;
    if !is_name(name) {
        return Err(Error::NoName((*name).into()));
    }
    let folder = models.join(name);
    if folder.symlink_metadata().is_ok() {
        if !force {
            return Err(Error::Exists(folder));
        }
        check_replaceable(&folder)?;
    }
    let loaded = checkpoint::load(&checkpoint_in(run))?;
    let earned = match evaluation {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(FileError::io(path))?;
            Some(Evaluation { rows: results::read(path, &text)?, options: results::options(&text) })
        }
        None => None,
    };
    let beside = |what: &str| models.join(format!(".{name}.{}.{what}", std::process::id()));
    let (unfinished, replaced) = (beside("tmp"), beside("old"));
    let written = write(&unfinished, &loaded, run, name, earned.as_ref())
        .and_then(|()| Ok(put(&unfinished, &folder, &replaced).map_err(FileError::io(&folder))?));
    if written.is_err() {
        // Half a model would only be in the way.
        let _ = fs::remove_dir_all(&unfinished);
    }
    written.map(|()| folder)
}

/// Refuses a folder that holds anything but a model: it is somebody's, and replacing it would delete it.
fn check_replaceable(folder: &Path) -> Result<()> {
    let refused = |why: String| Err(Error::NoModel { folder: folder.to_owned(), why });
    if folder.is_symlink() || !is_checkpoint(folder) {
        return refused("it holds no model".into());
    }
    for entry in fs::read_dir(folder).map_err(FileError::io(folder))? {
        let name = entry.map_err(FileError::io(folder))?.file_name();
        if ![CONFIG, TENSORS, CARD, results::FILE].iter().any(|ours| name == *ours) {
            return refused(format!("it holds {}, too, which is no part of a model", name.display()));
        }
    }
    Ok(())
}

/// Puts a finished folder in its place. What was there is moved aside first and deleted last: whenever this is cut short, both
/// are whole.
fn put(finished: &Path, place: &Path, replaced: &Path) -> std::io::Result<()> {
    let replaces = place.exists();
    if replaces {
        fs::rename(place, replaced)?;
    }
    if let Err(error) = fs::rename(finished, place) {
        if replaces {
            fs::rename(replaced, place)?;
        }
        return Err(error);
    }
    if replaces { fs::remove_dir_all(replaced) } else { Ok(()) }
}

fn write(folder: &Path, loaded: &Checkpoint, run: &Path, name: &str, earned: Option<&Evaluation>) -> Result<()> {
    fs::create_dir_all(folder).map_err(FileError::io(folder))?;
    let models: Vec<_> = loaded.models.iter().map(|(name, model)| (name.as_str(), model)).collect();
    let weights = models.iter().map(|(_, model)| model.weights().len()).sum();
    let description = Description::of(&loaded.meta, weights)?;
    checkpoint::save(folder, &models, &loaded.meta, Storage::Byte)?;
    write_atomically(&folder.join(CARD), card(&description, run, name, earned).as_bytes())?;
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
    let _ = write!(text, "\n{ORIGIN}\n{}{WEIGHTS} 8 bits; all settings: `config.json`\n", origin(run, *step, *seed));
    if let Some(Evaluation { rows, options }) = earned {
        text += match kind {
            Kind::Games => "\n## Returns\n| episode | mean return | 95 % interval |\n|---|---|---|\n",
            Kind::Functions => {
                "\n## Regret\nMean regret on the 16 benchmark functions, in standard deviations of each pool.\n\n\
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
    if let Some(card) = read(CARD)
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
    if let Some(RunSummary { seconds, verdict }) = summary {
        let _ = writeln!(text, "- training took {seconds:.0} s");
        if let Some(RunVerdict { words }) = verdict {
            let _ = writeln!(text, "- {words}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("icee-add-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// A folder of this repository.
    fn model() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/dark-room__icee")
    }

    #[test]
    fn only_a_model_is_replaced() {
        let scratch = Scratch::new("replace");
        let run = model();
        let addition = |name, force| Addition { run: &run, name, models: &scratch.0, evaluation: None, force };
        for (name, file) in [("thesis", "chapter.txt"), ("half", CONFIG)] {
            fs::create_dir_all(scratch.0.join(name)).unwrap();
            fs::write(scratch.0.join(name).join(file), "years of work").unwrap();
            let said = add(&addition(name, true)).unwrap_err().to_string();
            assert!(said.contains("holds no model"), "{said}");
        }
        fs::write(scratch.0.join("file"), "a file").unwrap();
        assert!(add(&addition("file", true)).is_err());

        let folder = add(&addition("mine", false)).unwrap();
        assert!(add(&addition("mine", false)).unwrap_err().to_string().contains("use another name"));
        fs::write(folder.join(CARD), "an old card").unwrap();
        add(&addition("mine", true)).unwrap();
        assert_ne!(fs::read_to_string(folder.join(CARD)).unwrap(), "an old card");
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        let said = add(&addition("mine", true)).unwrap_err().to_string();
        assert!(said.contains("notes.txt"), "{said}");
        assert_eq!(fs::read_to_string(folder.join("notes.txt")).unwrap(), "mine");
        let left: Vec<_> = fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 4, "{left:?}");
    }

    #[test]
    fn what_is_replaced_comes_back_where_the_new_one_cannot_take_its_place() {
        let scratch = Scratch::new("put");
        let [new, place, aside] = ["new", "place", "aside"].map(|name| scratch.0.join(name));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("a"), "old").unwrap();
        assert!(put(&new, &place, &aside).is_err(), "there is no new one");
        assert_eq!(fs::read_to_string(place.join("a")).unwrap(), "old");
        fs::create_dir_all(&new).unwrap();
        fs::write(new.join("a"), "new").unwrap();
        put(&new, &place, &aside).unwrap();
        assert_eq!(fs::read_to_string(place.join("a")).unwrap(), "new");
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1);
    }
}

//! Where models are looked for: given folders, `models/` here or one above, then the program itself.

use crate::kind::{Kind, Model};
use crate::recipes;
use crate::results::{self, EpisodeRow};
use crate::{EMBEDDED, Embedded, Error, Result, STORED};
use icee_base::files::FileError;
use icee_base::hash::checksum;
use icee_base::names::nearest;
use icee_games::TrainedModel;
use icee_nn::checkpoint::{self, CONFIG, Checkpoint, TENSORS};
use icee_optim::OptimiserModel;
use icee_train::checkpoint_in;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where models are looked for.
#[derive(Clone, Debug)]
pub struct ModelStore {
    /// Folders of models, looked at in this order, then the program itself.
    roots: Vec<PathBuf>,
}

/// Where a model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a folder.
    Folder(PathBuf),
    /// Inside the program.
    Program,
}

/// A model that is there.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name; the folder's for one that was given as a folder.
    pub name: String,
    /// Where it is.
    pub place: Place,
}

/// What a model's description says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    /// What it learned.
    #[serde(serialize_with = "tag")]
    pub kind: Kind,
    /// What it learned from: a world, or a prior over functions.
    pub world: String,
    /// The method.
    pub method: String,
    /// Updates.
    pub step: u64,
    /// What fixed its training.
    pub seed: u64,
    /// The number of weights.
    pub weights: usize,
}

impl Description {
    /// From what lies beside the tensors; what is not there is empty.
    pub(crate) fn of(meta: &Value, weights: usize) -> Result<Description> {
        let text = |path: &str| meta.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |path: &str| meta.pointer(path).and_then(Value::as_u64).unwrap_or_default();
        let (world, method) = (text("/config/world"), text("/config/method"));
        let (kind, step, seed) = (Kind::of_meta(meta)?, number("/step"), number("/config/seed"));
        Ok(Description { kind, world, method, step, seed, weights })
    }
}

fn tag<S: serde::Serializer>(kind: &Kind, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.tag())
}

impl Default for ModelStore {
    /// `models/` in the current folder, then one above, then the program.
    fn default() -> Self {
        Self { roots: vec!["models".into(), "../models".into()] }
    }
}

/// The variable that names a folder of models.
const VARIABLE: &str = "ICEE_MODELS";

impl ModelStore {
    /// As the default, with the folder of the variable `ICEE_MODELS` before it, where there is one.
    #[must_use]
    pub fn of_environment() -> Self {
        let variable = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
        variable.map_or_else(Self::default, |folder| Self::default().with_root(folder.into()))
    }

    /// A store that looks into another folder first.
    #[must_use]
    pub fn with_root(mut self, root: PathBuf) -> Self {
        self.roots.insert(0, root);
        self
    }

    /// The folder that is looked into first.
    #[must_use]
    pub fn first(&self) -> &Path {
        // There are always some.
        self.roots.first().map_or(Path::new("models"), PathBuf::as_path)
    }

    /// A model by its folder (a checkpoint or a run) or by its name.
    ///
    /// # Errors
    /// [`Error::Missing`] for a known name that is nowhere, [`Error::Unknown`] for any other.
    pub fn find(&self, model: &str) -> Result<Found> {
        let folder = Path::new(model);
        if folder.is_dir() {
            let name = folder.file_name().map_or_else(|| model.into(), |name| name.to_string_lossy().into_owned());
            return Ok(Found { name, place: Place::Folder(checkpoint_in(folder)) });
        }
        if is_name(model) {
            let candidates = self.roots.iter().map(|root| root.join(model));
            if let Some(folder) = candidates.into_iter().find(|folder| is_checkpoint(folder)) {
                return Ok(Found { name: model.into(), place: Place::Folder(folder) });
            }
            if embedded(model).is_some() {
                return Ok(Found { name: model.into(), place: Place::Program });
            }
        }
        Err(self.not_found(model))
    }

    fn not_found(&self, model: &str) -> Error {
        if let Some(recipe) = recipes::find(model) {
            let looked = self.roots.iter().map(|root| root.display().to_string()).collect();
            let way_out = format!("train it: {}, then: icee models add RUN {model}", recipe.command());
            return Error::Missing { name: model.into(), looked, way_out };
        }
        let known = self.names();
        let suggestion = match nearest(model, &known).first() {
            Some(nearest) => format!("did you mean \"{nearest}\"?"),
            None => "`icee models` lists the names".into(),
        };
        Error::Unknown { name: model.into(), suggestion }
    }

    /// The names of all models: those of the recipes, in their order, then others that lie in the folders.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = recipes::recipes().into_iter().map(|recipe| recipe.name).collect();
        let folders = self.roots.iter().filter_map(|root| std::fs::read_dir(root).ok()).flatten().flatten();
        let mut others: Vec<String> = folders
            .filter(|entry| is_checkpoint(&entry.path()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        others.sort();
        others.dedup();
        names.extend(others.into_iter().filter(|name| recipes::find(name).is_none()));
        names
    }

    /// What a model earned when it was added; also for one whose weights are not here, where the program knows it.
    ///
    /// # Errors
    /// Where there is a file and it is damaged.
    pub fn stored_results(&self, name: &str) -> Result<Option<Vec<EpisodeRow>>> {
        for path in self.roots.iter().map(|root| root.join(name).join(results::FILE)) {
            if path.is_file() {
                let text = std::fs::read_to_string(&path).map_err(FileError::io(&path))?;
                return results::read(&path, &text).map(Some);
            }
        }
        let stored = STORED.iter().find(|(known, _)| *known == name);
        stored.map(|(_, text)| results::read(Path::new(results::FILE), text)).transpose()
    }
}

impl Found {
    /// Reads it.
    ///
    /// # Errors
    /// Where it is damaged.
    pub fn load(&self) -> Result<Model> {
        match &self.place {
            Place::Folder(folder) => Model::load(folder),
            Place::Program => {
                let Embedded { config, tensors, .. } = self.embedded()?;
                Model::parse(config, tensors)
            }
        }
    }

    /// Reads a model that plays games.
    ///
    /// # Errors
    /// Where it is damaged, or optimises functions.
    pub fn load_agent(&self) -> Result<TrainedModel> {
        match self.load()? {
            Model::Games(model) => Ok(model),
            Model::Functions(_) => Err(Error::Kind(format!(
                "{} was trained on functions, not on games; `icee eval` measures it",
                self.name
            ))),
        }
    }

    /// Reads a model that optimises functions.
    ///
    /// # Errors
    /// Where it is damaged, or plays games.
    pub fn load_optimiser(&self) -> Result<OptimiserModel> {
        match self.load()? {
            Model::Functions(model) => Ok(model),
            Model::Games(_) => Err(Error::Kind(format!("{} was trained on games, not on functions", self.name))),
        }
    }

    /// A checksum of its description and weights: what it is, down to the last bit.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn hash(&self) -> Result<u64> {
        let [config, tensors] = self.bytes()?;
        Ok(model_hash(&config, &tensors))
    }

    /// The bytes of its description and of its weights.
    fn bytes(&self) -> Result<[Vec<u8>; 2]> {
        match &self.place {
            Place::Folder(folder) => {
                let read = |file: &str| {
                    let path = folder.join(file);
                    std::fs::read(&path).map_err(FileError::io(&path))
                };
                Ok([read(CONFIG)?, read(TENSORS)?])
            }
            Place::Program => self.embedded().map(|model| [model.config.to_vec(), model.tensors.to_vec()]),
        }
    }

    /// What its description says, whatever kind of model it is.
    ///
    /// # Errors
    /// Where it is damaged.
    pub fn describe(&self) -> Result<Description> {
        let [config, tensors] = self.bytes()?;
        let Checkpoint { models, meta } = checkpoint::parse(&config, &tensors)?;
        Description::of(&meta, models.iter().map(|(_, model)| model.weights().len()).sum())
    }

    /// Its model card, where it has one.
    #[must_use]
    pub fn card(&self) -> Option<String> {
        match &self.place {
            Place::Folder(folder) => std::fs::read_to_string(folder.join("README.md")).ok(),
            Place::Program => self.embedded().ok().map(|model| model.card.into()),
        }
    }

    fn embedded(&self) -> Result<&'static Embedded> {
        embedded(&self.name).ok_or_else(|| Error::NoName(self.name.clone()))
    }
}

/// A checksum of a model's description and weights.
pub(crate) fn model_hash(config: &[u8], tensors: &[u8]) -> u64 {
    checksum(checksum(0, config), tensors)
}

/// A model inside the program.
pub(crate) fn embedded(name: &str) -> Option<&'static Embedded> {
    EMBEDDED.iter().find(|model| model.name == name)
}

pub(crate) fn is_checkpoint(folder: &Path) -> bool {
    folder.join(CONFIG).is_file() && folder.join(TENSORS).is_file()
}

/// Whether it can be the name of a model, so that no path is made of anything else.
pub(crate) fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= 100 && text.chars().all(allowed)
}

//! A trained model on disk: networks, config and task, in a folder of plain files.

use crate::blueprint::Blueprint;
use crate::card;
use crate::config::Config;
use crate::task::GameSpec;
use crate::{Error, KIND, Result};
use icee_base::files::FileError;
use icee_nn::Model;
use icee_nn::checkpoint::{self, Checkpoint};
use icee_train::{DataFile, checkpoint_in, networks, write_acting};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The networks of a method, and all that is needed to act with them.
#[derive(Clone, Debug)]
pub struct TrainedModel {
    /// The run's config; its `acting` part is what agents do.
    pub config: Config,
    /// The games.
    pub task: GameSpec,
    /// Updates so far.
    pub step: u64,
    /// The networks, in the blueprint's order.
    pub models: Vec<Model>,
    /// The log that they learned from; of worlds, and of older checkpoints, none.
    pub log: Option<LearnedLog>,
}

/// The log that a model has learned from, wherever the model is taken: by it the same games are held out again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedLog {
    /// The file's name.
    pub name: String,
    /// The checksum of its content.
    pub checksum: String,
}

impl LearnedLog {
    pub(crate) fn of(file: &DataFile) -> LearnedLog {
        let name = file.path.file_name().unwrap_or(file.path.as_os_str());
        LearnedLog { name: name.to_string_lossy().into_owned(), checksum: file.checksum_text() }
    }
}

/// What a checkpoint says of itself besides its tensors.
#[derive(Serialize, Deserialize)]
pub struct Meta {
    /// What kind of model it is.
    kind: String,
    icee: String,
    step: u64,
    /// The games.
    pub task: GameSpec,
    /// The run's config.
    pub config: Config,
    /// The log, where it learned from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<LearnedLog>,
}

impl Meta {
    pub(crate) fn new(config: &Config, task: &GameSpec, step: u64, log: Option<LearnedLog>) -> Meta {
        let icee = env!("CARGO_PKG_VERSION").into();
        Meta { kind: KIND.into(), icee, step, task: task.clone(), config: config.clone(), log }
    }

    pub(crate) fn to_value(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|e| Error::Config(e.to_string()))
    }

    /// What lies beside the tensors of a model of games; `path` is for messages.
    ///
    /// # Errors
    /// Where it is that of no model of games.
    pub fn read(path: &Path, value: Value) -> Result<Meta> {
        let wrong =
            |e| FileError::content(path, format!("the description is not that of a model that plays games: {e}"));
        Ok(serde_json::from_value(value).map_err(wrong)?)
    }
}

impl TrainedModel {
    /// Reads a checkpoint folder, or the newest checkpoint of a run folder. Nothing in it is trusted.
    ///
    /// # Errors
    /// Where files are missing or damaged, or do not fit each other.
    pub fn load(folder: &Path) -> Result<TrainedModel> {
        let folder = &checkpoint_in(folder);
        TrainedModel::of(folder, checkpoint::load(folder)?)
    }

    /// Reads a checkpoint from the bytes of its two files, for models inside a program. Nothing in it is trusted.
    ///
    /// # Errors
    /// Where they are damaged or do not fit each other.
    pub fn parse(config: &[u8], tensors: &[u8]) -> Result<TrainedModel> {
        TrainedModel::of(Path::new(checkpoint::CONFIG), checkpoint::parse(config, tensors)?)
    }

    fn of(path: &Path, loaded: Checkpoint) -> Result<TrainedModel> {
        let Meta { step, task, config, log, .. } = Meta::read(path, loaded.meta)?;
        let models = loaded.models.into_iter().map(|(name, model)| (name, model, ())).collect();
        let models = networks::adopt(&Blueprint::new(&config, &task)?.specs(), models)?;
        let models = models.into_iter().map(|(model, ())| model).collect();
        Ok(TrainedModel { config, task, step, models, log })
    }

    /// Writes the acting rules into a checkpoint folder and leaves its weights as they are.
    ///
    /// # Errors
    /// Where there is no checkpoint, or it cannot be written.
    pub fn save_acting(&self, folder: &Path) -> Result<()> {
        Ok(write_acting(folder, &self.config.acting)?)
    }

    /// A short model card in Markdown.
    #[must_use]
    pub fn card(&self) -> String {
        card::of_games(&self.config, &self.task, self.step, self.parameters(), self.log.as_ref())
    }

    /// The number of weights.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.models.iter().map(|model| model.weights().len()).sum()
    }
}

//! A trained model as it lies on disk: the networks, the config, the task. Never more than a folder of plain files.

use crate::blueprint::Blueprint;
use crate::bo;
use crate::card;
use crate::config::Config;
use crate::networks;
use crate::task::Task;
use crate::{Error, Result};
use icee_nn::Model;
use icee_nn::checkpoint::{self, Checkpoint};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The networks of a method, and all that is needed to act with them.
#[derive(Clone, Debug)]
pub struct TrainedModel {
    /// The run's config; its `acting` part is what agents do.
    pub config: Config,
    /// The games.
    pub task: Task,
    /// Updates so far.
    pub step: u64,
    /// The networks, in the blueprint's order.
    pub models: Vec<Model>,
}

/// What a checkpoint says of itself besides its tensors.
#[derive(Serialize, Deserialize)]
pub(crate) struct Meta {
    pub icee: String,
    pub step: u64,
    pub task: Task,
    pub config: Config,
}

impl Meta {
    pub fn new(config: &Config, task: &Task, step: u64) -> Meta {
        Meta { icee: env!("CARGO_PKG_VERSION").into(), step, task: task.clone(), config: config.clone() }
    }

    pub fn to_value(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|e| Error::Config(e.to_string()))
    }

    pub fn read(path: &Path, value: Value) -> Result<Meta> {
        if bo::Meta::describes(&value) {
            let problem = "this model was trained on functions, not on games; `icee eval` measures it".into();
            return Err(Error::File { path: path.to_owned(), problem });
        }
        serde_json::from_value(value).map_err(|e| Error::File {
            path: path.to_owned(),
            problem: format!("the description is not that of a model trained by icee: {e}"),
        })
    }
}

/// The checkpoint folder that is meant: the newest one of a run, or the folder itself.
pub fn checkpoint_in(folder: &Path) -> PathBuf {
    let inside = folder.join("checkpoint");
    if inside.join(checkpoint::CONFIG).is_file() { inside } else { folder.to_owned() }
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
        let Meta { step, task, config, .. } = Meta::read(path, loaded.meta)?;
        let models = loaded.models.into_iter().map(|(name, model)| (name, model, ())).collect();
        let models = networks::adopt(&Blueprint::new(&config, &task)?.specs(), models)?;
        Ok(TrainedModel { config, task, step, models: models.into_iter().map(|(model, ())| model).collect() })
    }

    /// Writes the acting rules into a checkpoint folder and leaves its weights as they are.
    ///
    /// # Errors
    /// Where there is no checkpoint, or it cannot be written.
    pub fn save_acting(&self, folder: &Path) -> Result<()> {
        write_acting(folder, &self.config.acting)
    }

    /// A short model card in Markdown.
    #[must_use]
    pub fn card(&self) -> String {
        card::of_games(&self.config, &self.task, self.step, self.parameters())
    }

    /// The number of weights.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.models.iter().map(|model| model.weights().len()).sum()
    }
}

/// Puts other acting rules into a checkpoint's description; the weights stay as they are.
pub(crate) fn write_acting(folder: &Path, rules: &impl Serialize) -> Result<()> {
    let path = folder.join(checkpoint::CONFIG);
    let failed = |e: serde_json::Error| Error::File { path: path.clone(), problem: e.to_string() };
    let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
    let mut config: Value = serde_json::from_str(&text).map_err(failed)?;
    let Some(acting) = config.pointer_mut("/meta/config/acting") else {
        return Err(Error::File { path, problem: "the description is not that of a model trained by icee".into() });
    };
    *acting = serde_json::to_value(rules).map_err(failed)?;
    let text = serde_json::to_string_pretty(&config).map_err(failed)?;
    Ok(checkpoint::write_atomically(&path, format!("{text}\n").as_bytes())?)
}

//! A trained model as it lies on disk: the networks, the config, the task. Never more than a folder of plain files.

use crate::blueprint::Blueprint;
use crate::config::Config;
use crate::task::Task;
use crate::{Error, Result};
use icee_nn::Model;
use icee_nn::Precision;
use icee_nn::checkpoint;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

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
        serde_json::from_value(value).map_err(|e| Error::File {
            path: path.to_owned(),
            problem: format!("the description is not that of a model trained by icee: {e}"),
        })
    }
}

impl TrainedModel {
    /// Reads a checkpoint folder, or the newest checkpoint of a run folder. Nothing in it is trusted.
    ///
    /// # Errors
    /// Where files are missing or damaged, or do not fit each other.
    pub fn load(folder: &Path) -> Result<TrainedModel> {
        let inside = folder.join("checkpoint");
        let folder = if inside.join("config.json").is_file() { &inside } else { folder };
        let loaded = checkpoint::load(folder)?;
        let Meta { step, task, config, .. } = Meta::read(folder, loaded.meta)?;
        let models = Blueprint::new(&config, &task)?.adopt(loaded.models)?;
        Ok(TrainedModel { config, task, step, models })
    }

    /// Writes a checkpoint folder; a reader never sees half of it.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let blueprint = Blueprint::new(&self.config, &self.task)?;
        let named: Vec<(&str, &Model)> = blueprint.networks.iter().map(|n| n.name).zip(&self.models).collect();
        let meta = Meta::new(&self.config, &self.task, self.step).to_value()?;
        Ok(checkpoint::save(folder, &named, &meta, Precision::Single)?)
    }
}

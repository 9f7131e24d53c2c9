//! A model trained on functions as it lies on disk: one network and its config, in a folder of plain files.

use super::config::Config;
use super::functions::Plan;
use crate::model::{checkpoint_in, write_acting};
use crate::{Error, Result, card, networks};
use icee_nn::checkpoint;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Stands for the path of what lies in no file.
const BUILT_IN: &str = "(built in)";
/// A network trained on functions, and all that is needed to use it.
#[derive(Clone, Debug)]
pub struct Model {
    /// The run's config; its `acting` part is how candidates are picked.
    pub config: Config,
    /// Updates so far.
    pub step: u64,
    /// The network.
    pub network: icee_nn::Model,
}

/// What a checkpoint says of itself besides its tensors.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Meta {
    pub icee: String,
    pub step: u64,
    pub config: Config,
}

impl Meta {
    pub fn new(config: &Config, step: u64) -> Meta {
        Meta { icee: env!("CARGO_PKG_VERSION").into(), step, config: config.clone() }
    }

    /// Whether a description is that of a model of functions; one of games has a task.
    pub fn describes(value: &Value) -> bool {
        value.get("config").is_some() && value.get("task").is_none()
    }

    pub fn to_value(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|e| Error::Config(e.to_string()))
    }

    pub fn read(path: &Path, value: Value) -> Result<Meta> {
        let file = |problem: String| Error::File { path: path.to_owned(), problem };
        if !Meta::describes(&value) {
            return Err(file("this model was trained on games, not on functions".into()));
        }
        let meta: Meta = serde_json::from_value(value)
            .map_err(|e| file(format!("the description is not that of a model trained by icee: {e}")))?;
        meta.config.check()?;
        Ok(meta)
    }
}

impl Model {
    /// Reads a checkpoint folder, or the newest checkpoint of a run folder. Nothing in it is trusted.
    ///
    /// # Errors
    /// Where files are missing or damaged, do not fit each other, or hold a model of games.
    pub fn load(folder: &Path) -> Result<Model> {
        let folder = &checkpoint_in(folder);
        let loaded = checkpoint::load(folder)?;
        Model::of_checkpoint(folder, loaded)
    }

    /// A model from the bytes of a checkpoint's two files, such as those built into a program.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn parse(config: &[u8], tensors: &[u8]) -> Result<Model> {
        Model::of_checkpoint(Path::new(BUILT_IN), checkpoint::parse(config, tensors)?)
    }

    fn of_checkpoint(path: &Path, loaded: checkpoint::Checkpoint) -> Result<Model> {
        let Meta { step, config, .. } = Meta::read(path, loaded.meta)?;
        let models = loaded.models.into_iter().map(|(name, model)| (name, model, ())).collect();
        let mut models = networks::adopt(&Plan::new(&config)?.networks(), models)?;
        let Some((network, ())) = models.pop() else {
            return Err(Error::Config("a model of functions has one network".into()));
        };
        Ok(Model { config, step, network })
    }

    /// Whether a folder holds a model of functions, rather than of games.
    ///
    /// # Errors
    /// Where its description cannot be read.
    pub fn is_in(folder: &Path) -> Result<bool> {
        Ok(Meta::describes(&checkpoint::read_meta(&checkpoint_in(folder))?))
    }

    /// Whether a description, such as one built into a program, is that of a model of functions.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn is_described(config: &[u8]) -> Result<bool> {
        Ok(Meta::describes(&checkpoint::parse_meta(config)?))
    }

    /// The config in a description; the weights are not looked at.
    ///
    /// # Errors
    /// Where it cannot be read, or is that of a model of games.
    pub fn config_in(config: &[u8]) -> Result<Config> {
        Ok(Meta::read(Path::new(BUILT_IN), checkpoint::parse_meta(config)?)?.config)
    }

    /// Writes its acting rules into the description of the checkpoint in `folder`.
    ///
    /// # Errors
    /// Where there is none, or it cannot be written.
    pub fn save_acting(&self, folder: &Path) -> Result<()> {
        write_acting(folder, &self.config.acting)
    }

    /// A short model card in Markdown.
    #[must_use]
    pub fn card(&self) -> String {
        card::of_functions(&self.config, self.step, self.network.weights().len())
    }
}

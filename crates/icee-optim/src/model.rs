//! A model trained on functions, on disk: one network and its config, in a folder of plain files.

use crate::config::Config;
use crate::plan::Plan;
use crate::{Error, KIND, Result, card};
use icee_base::files::FileError;
use icee_nn::checkpoint;
use icee_train::{checkpoint_in, networks, write_acting};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Stands for the path of what lies in no file.
const BUILT_IN: &str = "(built in)";
/// A network trained on functions, and all that is needed to use it.
#[derive(Clone, Debug)]
pub struct OptimiserModel {
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
pub struct Meta {
    /// What kind of model it is.
    kind: String,
    icee: String,
    step: u64,
    /// The run's config.
    pub config: Config,
}

impl Meta {
    pub(crate) fn new(config: &Config, step: u64) -> Meta {
        Meta { kind: KIND.into(), icee: env!("CARGO_PKG_VERSION").into(), step, config: config.clone() }
    }

    pub(crate) fn to_value(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|e| Error::Config(e.to_string()))
    }

    /// What lies beside the tensors of a model of functions; `path` is for messages.
    ///
    /// # Errors
    /// Where it is that of no model of functions.
    pub fn read(path: &Path, value: Value) -> Result<Meta> {
        let wrong = |e| {
            FileError::content(path, format!("the description is not that of a model that optimises functions: {e}"))
        };
        let meta: Meta = serde_json::from_value(value).map_err(wrong)?;
        meta.config.check()?;
        Ok(meta)
    }
}

impl OptimiserModel {
    /// Reads a checkpoint folder, or the newest checkpoint of a run folder. Nothing in it is trusted.
    ///
    /// # Errors
    /// Where files are missing or damaged, do not fit each other, or hold a model of games.
    pub fn load(folder: &Path) -> Result<OptimiserModel> {
        let folder = &checkpoint_in(folder);
        let loaded = checkpoint::load(folder)?;
        OptimiserModel::of_checkpoint(folder, loaded)
    }

    /// A model from the bytes of a checkpoint's two files, such as those built into a program.
    ///
    /// # Errors
    /// As [`OptimiserModel::load`].
    pub fn parse(config: &[u8], tensors: &[u8]) -> Result<OptimiserModel> {
        OptimiserModel::of_checkpoint(Path::new(BUILT_IN), checkpoint::parse(config, tensors)?)
    }

    fn of_checkpoint(path: &Path, loaded: checkpoint::Checkpoint) -> Result<OptimiserModel> {
        let Meta { step, config, .. } = Meta::read(path, loaded.meta)?;
        let models = loaded.models.into_iter().map(|(name, model)| (name, model, ())).collect();
        let mut models = networks::adopt(&Plan::new(&config)?.networks(), models)?;
        let Some((network, ())) = models.pop() else {
            return Err(Error::Config("a model of functions has one network".into()));
        };
        Ok(OptimiserModel { config, step, network })
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
        Ok(write_acting(folder, &self.config.acting)?)
    }

    /// A short model card in Markdown.
    #[must_use]
    pub fn card(&self) -> String {
        card::of_functions(&self.config, self.step, self.network.weights().len())
    }
}

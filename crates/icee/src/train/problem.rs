//! What a trainer needs to know of what is learned, be it games or functions.

use crate::bo;
use crate::config::{self, Config, TrainConfig};
use crate::device::Device;
use crate::games::Games;
use crate::logs::Logs;
use crate::networks::{NetworkSpec, Start};
use crate::source::Source;
use crate::train::RunFolder;
use crate::{Error, Result};
use icee_nn::batch::Batch;
use icee_nn::{Model, checkpoint};
use serde_json::Value;
use std::path::Path;

/// What is learned: networks, batches without end, and a measure of progress.
pub trait Problem: Send + Sync {
    /// What it is learned on, as in the run folder's name.
    fn name(&self) -> &str;

    /// The method.
    fn method(&self) -> &str;

    /// Fixes everything.
    fn seed(&self) -> u64;

    /// How it is learned.
    fn settings(&self) -> &TrainConfig;

    /// How the networks' weights begin.
    fn start(&self) -> Start;

    /// The networks, in order.
    fn networks(&self) -> Vec<NetworkSpec>;

    /// The whole config as TOML.
    ///
    /// # Errors
    /// [`Error::Config`] where a value cannot be written.
    fn to_toml(&self) -> Result<String>;

    /// What travels with the networks in a checkpoint.
    ///
    /// # Errors
    /// [`Error::Config`] where a value cannot be written.
    fn meta(&self, step: u64) -> Result<Value>;

    /// The card that lies beside the networks after `step` updates.
    fn card(&self, step: u64, weights: usize) -> String;

    /// Batch number `index`: fixed by the seed and the number, whatever was made before.
    ///
    /// # Errors
    /// Where the data cannot be made.
    fn batch(&self, index: u64) -> Result<Prepared>;

    /// Names of [`Prepared::figures`].
    fn batch_figures(&self) -> &'static [&'static str];

    /// Names of [`HeldOut::figures`].
    fn held_out_figures(&self) -> &'static [&'static str];

    /// How the networks do on what they never learn from, the same at every call; none where there is nothing to try.
    ///
    /// # Errors
    /// Whatever fails.
    fn evaluate(&self, device: &Device, models: &[&Model]) -> Result<Option<HeldOut>>;

    /// What the user should know before it starts.
    fn remarks(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// A batch of every network, and what is worth knowing of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// One a network.
    pub batches: Vec<Batch>,
    /// Tokens in one network's batch.
    pub tokens: usize,
    /// Statistics, in the order of their names.
    pub figures: Vec<Option<f64>>,
}

/// What came out of an evaluation on held-out data.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// In the order of their names.
    pub figures: Vec<f64>,
    /// The one that matters most, with its name.
    pub brief: String,
    /// All of it in a line.
    pub line: String,
    /// For machines.
    pub details: Value,
}

/// The problem of a new run: presets' texts under settings; the config's world, or a log of one's own.
///
/// # Errors
/// [`Error::Config`] that names the key, or what the log lacks.
pub fn problem_of(texts: &[&str], settings: &[String], logs: Option<&Path>) -> Result<Box<dyn Problem>> {
    let world = config::world_of(texts, settings)?;
    if !world.as_deref().is_some_and(bo::is_prior) {
        let config = Config::layered(texts, settings)?;
        let source = source_of(&config, logs)?;
        return Ok(Box::new(Games::new(config, source)?));
    }
    if logs.is_some() {
        return Err(Error::Config("a log holds episodes of games; functions are drawn, so leave out the log".into()));
    }
    Ok(Box::new(bo::Functions::new(bo::Config::layered(texts, settings)?)?))
}

/// The problem of a run that is to go on.
///
/// # Errors
/// Where the state is missing or damaged, or its log has changed.
pub fn problem_of_run(folder: &RunFolder) -> Result<Box<dyn Problem>> {
    let path = folder.state();
    let meta = checkpoint::load_training(&path)?.meta;
    if bo::Meta::describes(&meta) {
        return Ok(Box::new(bo::Functions::new(bo::Meta::read(&path, meta)?.config)?));
    }
    let meta = crate::model::Meta::read(&path, meta)?;
    let source = source_of(&meta.config, folder.info()?.logs.as_deref())?;
    if source.task() != meta.task {
        return Err(Error::Config("the log is not the one that the run began with; start a new run".into()));
    }
    Ok(Box::new(Games::new(meta.config, source)?))
}

fn source_of(config: &Config, logs: Option<&Path>) -> Result<Source> {
    match logs {
        Some(path) => Ok(Source::Logs(Logs::read(path)?)),
        None => Source::of_config(config),
    }
}

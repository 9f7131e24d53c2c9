//! The interface between the trainer and a problem: networks, batches, evaluation.

use crate::Result;
use crate::config::TrainConfig;
use crate::device::Device;
use crate::networks::{Initialisation, NetworkSpec};
use icee_nn::Model;
use icee_nn::batch::Batch;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file that is learned from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Where it is.
    pub path: PathBuf,
    /// The checksum of its content.
    pub checksum: u64,
}

impl DataFile {
    /// The checksum as it is written down.
    #[must_use]
    pub fn checksum_text(&self) -> String {
        format!("{:016x}", self.checksum)
    }
}

/// What is learned: networks, batches without end, and a measure of progress.
pub trait Problem: Send + Sync {
    /// What kind of problem it is: the tag in its configs and checkpoints.
    fn kind(&self) -> &'static str;

    /// What it is learned on, as in the run folder's name.
    fn name(&self) -> &str;

    /// The method.
    fn method(&self) -> &str;

    /// Fixes everything.
    fn seed(&self) -> u64;

    /// How it is learned.
    fn settings(&self) -> &TrainConfig;

    /// How the networks' weights are initialised.
    fn initialisation(&self) -> Initialisation;

    /// The networks, in order.
    fn networks(&self) -> Vec<NetworkSpec>;

    /// The whole config as TOML.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where a value cannot be written.
    fn to_toml(&self) -> Result<String>;

    /// What travels with the networks in a checkpoint.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where a value cannot be written.
    fn meta(&self, step: u64) -> Result<Value>;

    /// The card that lies beside the networks after `step` updates.
    fn card(&self, step: u64, weights: usize) -> String {
        format!("# {}, {}\n\n{weights} weights after {step} updates.\n", self.name(), self.method())
    }

    /// Batch number `index`: fixed by the seed and the number, whatever was made before.
    ///
    /// # Errors
    /// Where the data cannot be made.
    fn batch(&self, index: u64) -> Result<Prepared>;

    /// Names of [`Prepared::metrics`].
    fn batch_metrics(&self) -> &'static [&'static str] {
        &[]
    }

    /// Names of [`HeldOutMetrics::values`].
    fn held_out_metrics(&self) -> &'static [&'static str] {
        &[]
    }

    /// The held-out metric whose least value marks the networks to keep, where the data is limited: training then ends when
    /// it only rises.
    fn early_stopping(&self) -> Option<&'static str> {
        None
    }

    /// How the networks do on what they never learn from, the same at every call; none where there is nothing to try.
    ///
    /// # Errors
    /// Whatever fails.
    fn evaluate(&self, device: &Device, models: &[&Model]) -> Result<Option<HeldOutMetrics>> {
        let _ = (device, models);
        Ok(None)
    }

    /// The file that is learned from, where there is one.
    fn data_file(&self) -> Option<&DataFile> {
        None
    }

    /// What is to be said of the checkpoint in this folder, now that training has ended.
    ///
    /// # Errors
    /// Whatever fails.
    fn judge(&self, device: &Device, folder: &Path) -> Result<Option<Judgement>> {
        let _ = (device, folder);
        Ok(None)
    }

    /// What the user should know before it starts.
    fn remarks(&self) -> Vec<String> {
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
    pub metrics: Vec<Option<f64>>,
}

/// What came out of an evaluation on held-out data.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOutMetrics {
    /// In the order of their names.
    pub values: Vec<f64>,
    /// The one that matters most, with its name.
    pub brief: String,
    /// All of it in a line.
    pub line: String,
    /// For machines.
    pub details: Value,
}

/// What is said of a checkpoint when training has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// In words.
    pub words: String,
    /// For machines.
    pub details: Value,
}

//! Errors. Each message says what is wrong and what to do.

use icee_base::files::FileError;
use std::path::PathBuf;
use thiserror::Error;

/// Every error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine's.
    #[error(transparent)]
    Engine(#[from] icee_nn::Error),
    /// The GPU's memory is too small.
    #[error("{problem}; {advice}")]
    GpuMemory {
        /// What was asked for, and how much is missing.
        problem: String,
        /// Which setting to lower.
        advice: &'static str,
    },
    /// A setting that does not exist or cannot work.
    #[error("config: {0}")]
    Config(String),
    /// A file that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The loss is no longer a number, or weights are too large to be used.
    #[error(
        "training has diverged at step {step}: the loss is {loss} (learning rate {rate:.2e}); {}; try a lower train.lr",
        last_good.as_ref().map_or("no checkpoint was saved yet".into(), |p| format!("the last good checkpoint is {}", p.display()))
    )]
    Diverged {
        /// The step.
        step: u64,
        /// The loss.
        loss: f64,
        /// The learning rate of that step.
        rate: f32,
        /// The last checkpoint with finite weights.
        last_good: Option<PathBuf>,
    },
    /// What is learned cannot go on.
    #[error(transparent)]
    Problem(Box<dyn std::error::Error + Send + Sync>),
}

/// This crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An engine's error; where the GPU's memory is too small, with advice.
    pub(crate) fn with_advice(advice: &'static str) -> impl Fn(icee_nn::Error) -> Error {
        move |source| match source {
            icee_nn::Error::CudaMemory { .. } => Error::GpuMemory { problem: source.to_string(), advice },
            source => Error::Engine(source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_says_how_much_and_what_to_lower() {
        let source = icee_nn::Error::CudaMemory {
            what: "a batch of this size".into(),
            needed: 5 << 30,
            free: (3 << 30) + 1,
            reason: "out of memory".into(),
        };
        let said = Error::with_advice("lower train.batch")(source).to_string();
        for part in ["a batch of this size needs 5120 MiB", "3072 MiB are free", "2048 MiB are missing", "train.batch"]
        {
            assert!(said.contains(part), "{said}");
        }
        let other = Error::with_advice("lower train.batch")(icee_nn::Error::Cuda("no".into()));
        assert!(matches!(other, Error::Engine(_)) && !other.to_string().contains("train.batch"));
    }
}

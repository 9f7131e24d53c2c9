//! What can go wrong, said so that the way out is in the message.

use std::path::{Path, PathBuf};
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
    /// The worlds'.
    #[error(transparent)]
    World(#[from] icee_worlds::WorldError),
    /// Bayesian optimisation's.
    #[error(transparent)]
    Functions(#[from] icee_bo::BoError),
    /// A setting that does not exist or cannot work.
    #[error("config: {0}")]
    Config(String),
    /// A name that is not known.
    #[error("unknown {kind} \"{name}\"; {suggestion}")]
    Unknown {
        /// What kind of thing was asked for.
        kind: &'static str,
        /// The name.
        name: String,
        /// The nearest names, or all of them.
        suggestion: String,
    },
    /// A file that could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file whose content is not what it should be.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Logged episodes with lines that cannot be used.
    #[error("{}: {count} line(s) cannot be used:\n{}", path.display(), lines.join("\n"))]
    Logs {
        /// The file.
        path: PathBuf,
        /// How many lines.
        count: usize,
        /// Each line with its number and what is wrong with it.
        lines: Vec<String>,
    },
    /// A CSV file that cannot be used, with what is wrong and where.
    #[error("{}:{}{}", path.display(), if problems.len() > 1 { "\n  " } else { " " }, problems.join("\n  "))]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        problems: Vec<String>,
    },
    /// A study that cannot do what was asked for.
    #[error("{0}")]
    Study(String),
    /// The loss is no longer a number.
    #[error(
        "the loss is {loss} at step {step} (learning rate {rate:.2e}); {}; try a lower train.lr",
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
    /// An agent was used in an order that makes no sense.
    #[error("agent: {0}")]
    Agent(String),
}

/// This crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the system about a file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_owned(), source }
    }

    /// An engine's error; where the GPU's memory is too small, with advice.
    pub(crate) fn with_advice(advice: &'static str) -> impl Fn(icee_nn::Error) -> Error {
        move |source| match source {
            icee_nn::Error::CudaMemory { .. } => Error::GpuMemory { problem: source.to_string(), advice },
            source => Error::Engine(source),
        }
    }

    /// A name that is not among the known ones.
    pub(crate) fn unknown(kind: &'static str, name: &str, known: &[&str]) -> Error {
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        let nearest = icee_worlds::nearest_names(name, &known);
        let suggestion = match nearest.first() {
            Some(first) => format!("did you mean \"{first}\"?"),
            None => format!("known are {}", known.join(", ")),
        };
        Error::Unknown { kind, name: name.into(), suggestion }
    }
}

impl From<Error> for icee_bo::BoError {
    fn from(error: Error) -> Self {
        match error {
            Error::Functions(error) => error,
            other => Self::Model { message: other.to_string() },
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

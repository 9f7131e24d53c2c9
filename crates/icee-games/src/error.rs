//! Errors. Each message says what is wrong and what to do.

use icee_base::files::FileError;
use icee_base::names::Unknown;
use icee_base::table::TableError;
use std::path::PathBuf;
use thiserror::Error;

/// Every error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine's.
    #[error(transparent)]
    Engine(#[from] icee_nn::Error),
    /// The trainer's, or a device's.
    #[error(transparent)]
    Train(#[from] icee_train::Error),
    /// The worlds'.
    #[error(transparent)]
    World(#[from] icee_worlds::WorldError),
    /// A setting that cannot work.
    #[error("config: {0}")]
    Config(String),
    /// A name that is not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A file that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A log in CSV that cannot be used.
    #[error(transparent)]
    Table(#[from] TableError),
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
    /// An agent was used in an order that makes no sense.
    #[error("{0}")]
    Agent(String),
}

/// This crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl From<Error> for icee_train::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(error) => error.into(),
            Error::Train(error) => error,
            Error::File(error) => error.into(),
            Error::Config(message) => Self::Config(message),
            other => Self::Problem(Box::new(other)),
        }
    }
}

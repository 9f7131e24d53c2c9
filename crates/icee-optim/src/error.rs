//! Errors. Each message says what is wrong and what to do.

use icee_base::files::FileError;
use icee_base::names::Unknown;
use icee_bo::BoError;
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
    /// Of Bayesian optimisation.
    #[error(transparent)]
    Bo(#[from] BoError),
    /// A setting that cannot work.
    #[error("config: {0}")]
    Config(String),
    /// A name that is not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A file that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// This crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl From<Error> for BoError {
    fn from(error: Error) -> Self {
        match error {
            Error::Bo(error) => error,
            other => Self::Model { message: other.to_string() },
        }
    }
}

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

//! What can go wrong, said so that the way out is in the message.

use std::path::PathBuf;
use thiserror::Error;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Every error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The method's.
    #[error(transparent)]
    Method(#[from] icee::Error),
    /// The models'.
    #[error(transparent)]
    Models(#[from] icee_models::Error),
    /// The worlds'.
    #[error(transparent)]
    World(#[from] icee_worlds::WorldError),
    /// The optimisers'.
    #[error(transparent)]
    Bo(#[from] icee_bo::BoError),
    /// The engine's.
    #[error(transparent)]
    Engine(#[from] icee_nn::Error),
    /// A model of another world than its name says.
    #[error("the model \"{model}\" plays {plays}, not {wanted}; its folder has the wrong name")]
    OtherWorld {
        /// The model.
        model: String,
        /// What it was trained on.
        plays: String,
        /// What its name says.
        wanted: String,
    },
    /// A part of the report that does not exist.
    #[error("there is no part \"{name}\" of the report; the parts are {known}")]
    UnknownPart {
        /// What was asked for.
        name: String,
        /// All parts.
        known: String,
    },
    /// A file that could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something that could not be drawn or written down.
    #[error("{what}: {problem}")]
    Output {
        /// What was being made.
        what: String,
        /// What is wrong.
        problem: String,
    },
}

impl Error {
    pub(crate) fn output(what: impl Into<String>, problem: impl ToString) -> Error {
        Error::Output { what: what.into(), problem: problem.to_string() }
    }
}

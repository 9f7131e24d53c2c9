//! Errors. Each message says what is wrong and what to do.

use icee_base::files::FileError;
use std::path::PathBuf;
use thiserror::Error;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Every error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The games'.
    #[error(transparent)]
    Games(#[from] icee_games::Error),
    /// The optimisers'.
    #[error(transparent)]
    Optimisers(#[from] icee_optim::Error),
    /// The trainer's.
    #[error(transparent)]
    Train(#[from] icee_train::Error),
    /// The engine's.
    #[error(transparent)]
    Engine(#[from] icee_nn::Error),
    /// A known model that is not here.
    #[error("the model \"{name}\" is not inside this program nor in {}; {way_out}", looked.join(" or "))]
    Missing {
        /// Its name.
        name: String,
        /// The folders that were looked at.
        looked: Vec<String>,
        /// How to get it.
        way_out: String,
    },
    /// A name that is not known.
    #[error(transparent)]
    Name(#[from] icee_base::names::Unknown),
    /// A metric that no run has, though others are near.
    #[error("{0} There are {known}", known = .0.known.join(", "))]
    Metric(icee_base::names::Unknown),
    /// What was asked for is not of the kind that it is.
    #[error("{0}")]
    Kind(String),
    /// A name that no model has.
    #[error("there is no folder and no model \"{name}\"; {suggestion}")]
    Unknown {
        /// The name.
        name: String,
        /// The nearest names, or where to look.
        suggestion: String,
    },
    /// A name that a folder cannot have.
    #[error("\"{0}\" is not a model name; use letters, digits, `-` and `_`, as in dark-room__icee")]
    NoName(String),
    /// A model of that name exists already.
    #[error("{} exists already; use another name", .0.display())]
    Exists(PathBuf),
    /// What bears the name of a model is none, and is not replaced.
    #[error("{} is not replaced: {why}; use another name, or move it away", folder.display())]
    NoModel {
        /// The folder.
        folder: PathBuf,
        /// What it is.
        why: String,
    },
    /// A file that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

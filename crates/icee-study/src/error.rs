//! What can go wrong, said so that the way out is in the message.

use crate::record::ModelPin;
use icee_base::files::FileError;
use icee_base::names::Unknown;
use icee_base::table::TableError;
use icee_bo::BoError;
use thiserror::Error;

/// Every error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A model's.
    #[error(transparent)]
    Bo(#[from] BoError),
    /// A name that is not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A file that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A CSV file that cannot be used, with what is wrong and where.
    #[error(transparent)]
    Table(#[from] TableError),
    /// What is stored of a study is not what it should be.
    #[error("{name}: {problem}")]
    Stored {
        /// What the storage is called; a file's path.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Where a study is kept cannot be reached for now; nothing that was acknowledged is lost.
    #[error("{name} cannot be reached: {problem}; try again in a moment")]
    Unavailable {
        /// What the storage is called, without secrets.
        name: String,
        /// What happened.
        problem: String,
    },
    /// There is too much to do where a study is kept; nothing was done.
    #[error("{0}; try again in a moment")]
    Busy(String),
    /// A study that cannot do what was asked for.
    #[error("{0}")]
    Study(String),
    /// The same of what makes sense, but not as things stand: the name is taken, or the row another's.
    #[error("{0}")]
    Conflict(String),
    /// The model at hand is not the one that the study has been using.
    #[error(
        "this study has been using the model {pinned}, and this program has {here}, which may suggest other rows; use the old \
         program, or go on with this model knowingly: `icee study ask NAME --accept-model`"
    )]
    OtherModel {
        /// The study's.
        pinned: ModelPin,
        /// The program's.
        here: ModelPin,
    },
}

impl Error {
    pub(crate) fn stored(name: &str, problem: impl Into<String>) -> Error {
        Error::Stored { name: name.to_owned(), problem: problem.into() }
    }
}

/// This crate's result.
pub type Result<T> = std::result::Result<T, Error>;

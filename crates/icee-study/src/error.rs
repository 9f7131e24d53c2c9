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
    /// A study that cannot do what was asked for.
    #[error("{0}")]
    Study(String),
    /// The model at hand is not the one that the study has been using.
    #[error(
        "this study has been using the model {pinned}, and this program has {here}, which may suggest other rows; use the old \
         program, or go on with this model knowingly: --accept-model"
    )]
    OtherModel {
        /// The study's.
        pinned: ModelPin,
        /// The program's.
        here: ModelPin,
    },
}

/// This crate's result.
pub type Result<T> = std::result::Result<T, Error>;

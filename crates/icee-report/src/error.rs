//! Errors. Each message says what is wrong and what to do.

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
    /// A device's.
    #[error(transparent)]
    Train(#[from] icee_train::Error),
    /// The models'.
    #[error(transparent)]
    Models(#[from] icee_models::Error),
    /// The worlds'.
    #[error(transparent)]
    World(#[from] icee_worlds::WorldError),
    /// Of Bayesian optimisation.
    #[error(transparent)]
    Bo(#[from] icee_bo::BoError),
    /// A model of another world than its name says.
    #[error("the model \"{model}\" plays {plays}, not {wanted}; rename its folder")]
    OtherWorld {
        /// The model.
        model: String,
        /// What it was trained on.
        plays: String,
        /// What its name says.
        wanted: String,
    },
    /// A part of the report that does not exist.
    #[error("the report has no part \"{name}\"; its parts are {known}")]
    UnknownPart {
        /// What was asked for.
        name: String,
        /// All parts.
        known: String,
    },
    /// A file that cannot be used.
    #[error(transparent)]
    File(#[from] icee_base::files::FileError),
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

//! Errors. Each message says what is wrong and what to do.

use icee_base::names::Unknown;
use thiserror::Error;

/// A result of this crate.
pub type BoResult<T> = Result<T, BoError>;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BoError {
    /// No benchmark function has that name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A coordinate is not a number of the function's domain.
    #[error("x{axis} = {value} is outside the domain of {function}: give a number in [{low}, {high}]")]
    OutsideDomain {
        /// The function's name.
        function: &'static str,
        /// The coordinate, counted from one.
        axis: usize,
        /// Its value.
        value: f64,
        /// The domain's lower end.
        low: f64,
        /// The domain's upper end.
        high: f64,
    },
    /// A setting that cannot work.
    #[error("{setting} is {value}: it must be {expected}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Its value.
        value: String,
        /// What would do.
        expected: &'static str,
    },
    /// Two things that should have the same size do not.
    #[error("{what} has {found} entries where {expected} are needed")]
    Size {
        /// The thing of the wrong size.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The right size.
        expected: usize,
    },
    /// A number that is NaN or infinite.
    #[error("entry {index} of {what} is {value}: only finite numbers can be used")]
    NotFinite {
        /// Where it stands.
        what: &'static str,
        /// Its position, counted from zero.
        index: usize,
        /// The number.
        value: f64,
    },
    /// A matrix that has no Cholesky factor.
    #[error("a covariance matrix of {size} points is not positive definite: raise the noise or drop repeated points")]
    NotPositiveDefinite {
        /// The number of rows.
        size: usize,
    },
    /// A candidate that the pool does not have, or whose value is known already.
    #[error("no result can be recorded for candidate {index}: {reason}")]
    Candidate {
        /// The candidate's position in the pool.
        index: usize,
        /// Why not.
        reason: &'static str,
    },
    /// A learned model that cannot answer.
    #[error("{message}")]
    Model {
        /// What the model says.
        message: String,
    },
    /// A file of a race that cannot be used.
    #[error("{message}")]
    Race {
        /// Which, and what is wrong with it.
        message: String,
    },
    /// Every candidate has been evaluated.
    #[error("all {pool} candidates have been evaluated: nothing is left to suggest")]
    Exhausted {
        /// The size of the pool.
        pool: usize,
    },
}

impl BoError {
    /// A setting that cannot work.
    pub(crate) fn setting(setting: &'static str, value: impl ToString, expected: &'static str) -> Self {
        Self::Setting { setting, value: value.to_string(), expected }
    }
}

/// Fails on the first entry that is not finite.
pub(crate) fn require_finite(what: &'static str, entries: &[f64]) -> BoResult<()> {
    match entries.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(BoError::NotFinite { what, index, value: entries[index] }),
        None => Ok(()),
    }
}

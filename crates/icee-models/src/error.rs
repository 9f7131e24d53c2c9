//! What can go wrong, said so that the way out is in the message.

use std::path::{Path, PathBuf};
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
    /// A name that no model has.
    #[error("there is no folder and no model \"{name}\"; {suggestion}")]
    Unknown {
        /// The name.
        name: String,
        /// The nearest names, or where to look.
        suggestion: String,
    },
    /// A name that a folder cannot have.
    #[error("\"{0}\" is no name for a model: use letters, digits, `-` and `_`, such as dark-room__icee")]
    Name(String),
    /// A model of that name exists already.
    #[error("{} exists already; give another name, or --force to replace it", .0.display())]
    Exists(PathBuf),
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
}

impl Error {
    /// Names the file that an error of the system belongs to.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::Io { path: path.to_owned(), source }
    }
}

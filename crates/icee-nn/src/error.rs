//! Errors. Each message says what is wrong and what to do.

use icee_base::files::FileError;
use std::path::PathBuf;

/// The engine's errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model description that cannot be built.
    #[error("model description: {0}")]
    Spec(String),
    /// A batch that does not fit the model.
    #[error("batch: {0}")]
    Batch(String),
    /// A call on caches that they cannot serve.
    #[error("cache: {0}")]
    Cache(String),
    /// An update that must not be made.
    #[error("optimiser: {0}")]
    Optimiser(String),
    /// A file that could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A checkpoint file whose content is not what it should be.
    #[error("{}: {problem}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The GPU, its libraries, or something that it cannot do.
    #[error("CUDA: {0}")]
    Cuda(String),
    /// Something that does not fit into the GPU's memory.
    #[error(
        "CUDA: {what} needs {} MiB of GPU memory and {} MiB are free: {} MiB are missing ({reason})",
        needed >> 20, free >> 20, needed.saturating_sub(*free).div_ceil(1 << 20)
    )]
    CudaMemory {
        /// What it is for.
        what: String,
        /// Bytes that were asked for.
        needed: usize,
        /// Bytes that the GPU had left.
        free: usize,
        /// What the driver said.
        reason: String,
    },
    /// Threads could not be started.
    #[error("could not start {threads} threads: {reason}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}

/// The engine's result.
pub type Result<T> = std::result::Result<T, Error>;

impl From<FileError> for Error {
    fn from(error: FileError) -> Error {
        match error {
            FileError::Io { path, source } => Error::Io { path, source },
            FileError::Content { path, problem } => Error::Checkpoint { path, problem },
        }
    }
}

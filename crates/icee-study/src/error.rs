//! Errors of others as problems of the protocol.

use icee_base::files::FileError;
use icee_base::names::Unknown;
use icee_base::table::TableError;
use icee_bo::BoError;
use icee_protocol::Problem;
use std::path::Path;

/// The result of this crate.
pub type Result<T> = std::result::Result<T, Problem>;

/// An error that is a problem.
pub trait IntoProblem {
    /// The problem that it is.
    fn into_problem(self) -> Problem;
}

/// A result whose error is a problem.
pub trait OrProblem<T> {
    /// The same with the problem.
    ///
    /// # Errors
    /// Where there was one.
    fn or_problem(self) -> Result<T>;
}

impl<T, E: IntoProblem> OrProblem<T> for std::result::Result<T, E> {
    fn or_problem(self) -> Result<T> {
        self.map_err(IntoProblem::into_problem)
    }
}

impl IntoProblem for FileError {
    fn into_problem(self) -> Problem {
        match self {
            FileError::Io { path, source } => Problem::File { path: shown(&path), fault: source.to_string(), io: true },
            FileError::Content { path, problem } => Problem::File { path: shown(&path), fault: problem, io: false },
        }
    }
}

impl IntoProblem for TableError {
    fn into_problem(self) -> Problem {
        match self {
            TableError::Missing(path) => Problem::FileMissing { path: shown(&path) },
            TableError::File(error) => error.into_problem(),
            TableError::Content { path, problems } => Problem::Table { file: shown(&path), faults: problems },
        }
    }
}

impl IntoProblem for BoError {
    fn into_problem(self) -> Problem {
        Problem::Model { fault: self.to_string() }
    }
}

impl IntoProblem for Unknown {
    fn into_problem(self) -> Problem {
        let Unknown { kind, name, nearest, known } = self;
        Problem::Unknown { what: kind.into(), name, nearest, known }
    }
}

/// A path as problems have it.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The stored lines or sheets of a study are not sound.
pub(crate) fn stored(name: &str, fault: impl Into<String>) -> Problem {
    Problem::Stored { name: name.to_owned(), fault: fault.into() }
}

/// A mistake of this program.
pub(crate) fn bug(fault: impl std::fmt::Display) -> Problem {
    Problem::Bug { fault: fault.to_string() }
}

//! A folder of journals.

use icee_protocol::{Bundle, Noted, Problem, Reply, Request, Result, StudyName, Transport};
use std::path::{Path, PathBuf};

/// The studies of a folder.
pub struct Folder {
    folder: PathBuf,
    waiting: Box<dyn Fn(&Path) + Send + Sync>,
}

/// Pages of studies, as the report draws them.
pub struct Pages;

impl Folder {
    /// Those of this folder, which need not be there yet.
    pub fn new(folder: impl Into<PathBuf>) -> Folder {
        Folder { folder: folder.into(), waiting: Box::new(|_| ()) }
    }

    /// What is done, once, where a request has to wait for more than a second because another process is at work on the study.
    #[must_use]
    pub fn when_waiting(mut self, say: impl Fn(&Path) + Send + Sync + 'static) -> Folder {
        self.waiting = Box::new(say);
        self
    }
}

impl Transport for Folder {
    fn send(&mut self, _: Option<&StudyName>, _: Request) -> Result<Noted<Reply>> {
        (self.waiting)(&self.folder);
        Err(Problem::Bug { fault: "not there yet".into() })
    }

    fn place(&self) -> String {
        self.folder.display().to_string()
    }
}

/// A journal that was upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgraded {
    /// How many lines it has now.
    pub lines: u64,
    /// The format that it had.
    pub from: u32,
    /// Where the journal lies as it was.
    pub backup: PathBuf,
}

/// Rewrites a journal of an earlier format in the format of today.
///
/// # Errors
/// Where there is none, or it cannot be rewritten.
pub fn upgrade(folder: &Path, name: &StudyName) -> Result<Upgraded> {
    Err(Problem::Bug { fault: format!("not there yet for {name} in {}", folder.display()) })
}

/// Writes a study to files: its journal there, its sheets beside it. Gives the paths of the sheets.
///
/// # Errors
/// Where something is in the way, or cannot be written.
pub fn write_bundle(to: &Path, bundle: &Bundle) -> Result<Vec<PathBuf>> {
    Err(Problem::Bug { fault: format!("not there yet: {} sheets to {}", bundle.sheets.len(), to.display()) })
}

/// Reads a study from its journal and the sheets beside it.
///
/// # Errors
/// Where something is missing, or cannot be read.
pub fn read_bundle(journal: &Path) -> Result<Bundle> {
    Err(Problem::Bug { fault: format!("not there yet for {}", journal.display()) })
}

//! A folder of journals.

use icee_protocol::{Noted, Problem, Reply, Request, Result, StudyName, Transport};
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

    /// Turns the journal of a study from the format before into today's.
    ///
    /// # Errors
    /// Where it is neither.
    pub fn upgrade(&self, _: &StudyName) -> Result<()> {
        Err(Problem::Bug { fault: "not there yet".into() })
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

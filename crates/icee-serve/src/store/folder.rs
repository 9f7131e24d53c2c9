//! A folder of journals and sheets: the command line's, so both can be used on one study at the same time.

use super::turns::{Alone, Turns};
use super::{Stamp, Store, problem_of};
use crate::failure::ServeError;
use crate::locks;
use crate::tokens::Tokens;
use icee_base::files::FileError;
use icee_protocol::{Result, StudyName};
use icee_study::{Home, JournalFile, Study};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The folder.
pub struct Folder {
    path: PathBuf,
    /// Held as long as the server lives: open studies are one server's.
    _alone: File,
}

impl Folder {
    /// Takes a folder for oneself.
    ///
    /// # Errors
    /// Where another server has it, or it cannot be used.
    pub fn open(folder: &Path) -> std::result::Result<Folder, ServeError> {
        std::fs::create_dir_all(folder).map_err(FileError::io(folder))?;
        let path = folder.join(".serve.lock");
        let alone = locks::open(&path)?;
        match alone.try_lock() {
            Err(TryLockError::WouldBlock) => Err(ServeError::Taken(folder.to_owned())),
            Err(TryLockError::Error(error)) => Err(FileError::io(&path)(error).into()),
            Ok(()) => Ok(Folder { path: folder.to_owned(), _alone: alone }),
        }
    }

    fn journal(&self, name: &StudyName) -> PathBuf {
        self.path.join(format!("{name}.jsonl"))
    }
}

impl icee_study::Place for Folder {
    fn names(&self) -> Result<Vec<StudyName>> {
        let files = std::fs::read_dir(&self.path).map_err(|error| problem_of(FileError::io(&self.path)(error)))?;
        let name = |file: std::fs::DirEntry| file.file_name().to_str()?.strip_suffix(".jsonl")?.parse().ok();
        let mut names: Vec<StudyName> = files.flatten().filter_map(name).collect();
        names.sort();
        Ok(names)
    }

    fn exists(&self, name: &StudyName) -> Result<bool> {
        Ok(self.journal(name).exists())
    }

    fn home(&self, name: &StudyName) -> Result<Box<dyn Home>> {
        Ok(Box::new(JournalFile(self.journal(name))))
    }

    /// Into a folder of its own in `deleted/`, with the sheets that were kept.
    fn put_away(&self, name: &StudyName, now: u64) -> Result<Option<String>> {
        let sheets = Some(self.path.join(format!("{name}.sheets"))).filter(|sheets| sheets.is_dir());
        let place = Study::put_away(&self.journal(name), sheets.as_slice(), now)?;
        Ok(Some(place.display().to_string()))
    }
}

impl Store for Folder {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn tokens(&self) -> Tokens {
        Tokens::in_folder(&self.path)
    }

    fn stamp(&self, name: &StudyName) -> Result<Option<Stamp>> {
        Ok(Stamp::of(&self.journal(name)))
    }

    fn open(&self, name: &StudyName) -> Result<(Box<dyn Home>, Box<dyn Turns>)> {
        Ok((Box::new(JournalFile(self.journal(name))), Box::new(Alone)))
    }
}

//! A folder of journals and sheets: the command line's, so both can be used on one study at the same time.

use super::turns::{Alone, Turns};
use super::{Stamp, Store};
use crate::failure::ServeError;
use crate::locks;
use crate::tokens::Tokens;
use icee_base::files::FileError;
use icee_protocol::{Result, StudyName};
use icee_study::{Home, Place, place};
use std::fs::{File, TryLockError};
use std::path::Path;

/// The folder.
pub struct Folder {
    journals: place::Folder,
    /// Held as long as the server lives: one server at a time has the folder.
    _alone: File,
}

impl Folder {
    /// Takes a folder for this server.
    ///
    /// # Errors
    /// If another server has it, or it cannot be used.
    pub fn open(folder: &Path) -> std::result::Result<Folder, ServeError> {
        std::fs::create_dir_all(folder).map_err(FileError::io(folder))?;
        let path = folder.join(".serve.lock");
        let alone = locks::open(&path)?;
        match alone.try_lock() {
            Err(TryLockError::WouldBlock) => Err(ServeError::Taken(folder.to_owned())),
            Err(TryLockError::Error(error)) => Err(FileError::io(&path)(error).into()),
            Ok(()) => Ok(Folder { journals: place::Folder(folder.to_owned()), _alone: alone }),
        }
    }
}

impl Place for Folder {
    fn names(&self) -> Result<Vec<StudyName>> {
        self.journals.names()
    }

    fn exists(&self, name: &StudyName) -> Result<bool> {
        self.journals.exists(name)
    }

    fn home(&self, name: &StudyName) -> Result<Box<dyn Home>> {
        self.journals.home(name)
    }

    fn put_away(&self, name: &StudyName, now: u64) -> Result<Option<String>> {
        self.journals.put_away(name, now)
    }
}

impl Store for Folder {
    fn name(&self) -> String {
        self.journals.0.display().to_string()
    }

    fn tokens(&self) -> Tokens {
        Tokens::in_folder(&self.journals.0)
    }

    fn stamp(&self, name: &StudyName) -> Result<Option<Stamp>> {
        Ok(Stamp::of(&self.journals.path(name)))
    }

    fn open(&self, name: &StudyName) -> Result<(Box<dyn Home>, Box<dyn Turns>)> {
        Ok((self.home(name)?, Box::new(Alone)))
    }
}

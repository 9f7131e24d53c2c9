//! A folder of journals and sheets: the command line's, so both can be used on one study at the same time.

use super::key_file::KeyFile;
use super::{Draft, Ledger, Sheet, Store};
use crate::failure::{Failure, ServeError};
use crate::locks;
use crate::name::StudyName;
use crate::tokens::{Stamp, Tokens};
use icee_base::files::FileError;
use icee_study::{Home, JournalFile, Models, Result, SHEETS, Study};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The folder.
pub struct Folder {
    path: PathBuf,
    /// Held as long as the server lives: keys and open studies are one server's.
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
}

impl Store for Folder {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn tokens(&self) -> Tokens {
        Tokens::in_folder(&self.path)
    }

    fn scratch(&self) -> &Path {
        &self.path
    }

    fn names(&self) -> Result<Vec<StudyName>> {
        Ok(StudyName::all_in(&self.path))
    }

    fn stamp(&self, name: &StudyName) -> Result<Option<Stamp>> {
        Ok(Stamp::of(&name.journal(&self.path)))
    }

    fn seat(&self, name: &StudyName) -> Result<(Box<dyn Home>, Box<dyn Ledger>)> {
        let keys = KeyFile::new(name.file(&self.path, "keys"));
        Ok((Box::new(JournalFile(name.journal(&self.path))), Box::new(keys)))
    }

    fn draft(&self, name: &StudyName, ending: &str, sheet: &[u8]) -> std::result::Result<Draft, Failure> {
        // Of a study whose journal was taken away by hand.
        for keys in KeyFile::files(&name.file(&self.path, "keys")) {
            let _ = std::fs::remove_file(keys);
        }
        let sheet = Sheet::write_for_journal(name.file(&self.path, ending), sheet)?;
        Ok(Draft { sheet, stays: true, home: Box::new(JournalFile(name.journal(&self.path))) })
    }

    fn like(&self, name: &StudyName) -> Result<Option<PathBuf>> {
        Ok(Some(name.journal(&self.path)).filter(|journal| journal.is_file()))
    }

    /// Into a folder of its own in `deleted/`; its sheet goes with it if it lies beside the journal under the same name.
    fn put_away(&self, name: &StudyName, now: u64) -> Result<()> {
        let journal = name.journal(&self.path);
        // A study that cannot be opened any more can still be put away; then every sheet of its name goes along, because one that
        // stays would be in the way of the next study of that name.
        let sheet = Study::open(&journal, None, Models::default()).map(|study| study.pool().to_owned()).ok();
        let mut files = Vec::new();
        for file in ["csv", "xlsx"].iter().chain(&SHEETS).map(|ending| name.file(&self.path, ending)) {
            let goes = sheet.as_ref().map_or_else(|| file.is_file(), |sheet| *sheet == file);
            files.extend(goes.then_some(file));
        }
        files.extend(KeyFile::files(&name.file(&self.path, "keys")).into_iter().filter(|keys| keys.exists()));
        Study::put_away(&journal, &files, now)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_free_again_after_a_kill_and_after_damage() {
        let path = std::env::temp_dir().join(format!("icee-folder-{}", std::process::id()));
        let folder = Folder::open(&path).unwrap();
        let bread = StudyName::new("bread").unwrap();
        let draft = |sheet: &[u8]| folder.draft(&bread, "csv", sheet);
        let files = || {
            let mut names: Vec<String> = std::fs::read_dir(&path)
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            names.retain(|name| name.contains("bread"));
            names.sort();
            names
        };
        // Killed: nothing is tidied up.
        std::mem::forget(draft(b"a\n1\n").unwrap());
        assert_eq!(files(), [".bread.csv.new", "bread.csv"]);
        let mut second = draft(b"a\n2\n").unwrap();
        assert_eq!(std::fs::read(path.join("bread.csv")).unwrap(), b"a\n2\n");
        second.home.create(&["{}".into()]).unwrap();
        second.sheet.wanted = second.stays;
        drop(second);
        assert_eq!(files(), ["bread.csv", "bread.jsonl"]);
        // No program can open this one.
        folder.put_away(&bread, 7).unwrap();
        assert_eq!(files(), [""; 0]);
        assert!(path.join("deleted/bread-7/bread.csv").is_file());
        // What somebody else has put there is not touched.
        std::fs::write(path.join("bread.csv"), "mine").unwrap();
        std::fs::write(path.join(".bread.csv.new"), "else").unwrap();
        assert!(draft(b"a\n3\n").err().unwrap().words.contains("exists already"));
        assert_eq!((std::fs::read(path.join("bread.csv")).unwrap(), files().len()), (b"mine".to_vec(), 1));
        std::fs::remove_dir_all(path).unwrap();
    }
}

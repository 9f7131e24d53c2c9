//! A study on its way to another place: its journal and its sheet, byte for byte.

use crate::formats;
use crate::journal::{JournalFile, write_new};
use crate::memory::{incomplete, journal_of, lines_of};
use crate::models::Models;
use crate::replay::{header_of, replay};
use crate::rows::Rows;
use crate::storage::{Home, News, SHEETS};
use crate::study::Study;
use crate::{Error, Result};
use icee_base::files::{FileError, folder_of, read_regular, sync_folder};
use std::path::{Path, PathBuf};

/// Bytes of a sheet.
const MOST_BYTES: u64 = 1 << 30;

/// A study's journal and sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyFiles {
    /// The journal, with the checksums of its lines.
    pub journal: String,
    /// The sheet's file.
    pub sheet: Vec<u8>,
}

impl Study {
    /// The study as it stands, to be taken to another place. Half a line that a crash has left does not come along.
    ///
    /// # Errors
    /// Where the journal or the sheet cannot be read, or the sheet has changed and that was not taken in yet.
    pub fn files(&mut self) -> Result<StudyFiles> {
        let lines = self.all_lines()?;
        self.load()?;
        let large = || FileError::content(self.pool(), "is too large to be moved");
        let sheet = read_regular(self.pool(), MOST_BYTES)?.ok_or_else(large)?;
        let files = StudyFiles { journal: journal_of(&lines), sheet };
        // The sheet may have been saved a moment ago.
        files.lines()?;
        Ok(files)
    }

    /// Puts a journal away, and other files of the study: into a folder of its own in `deleted/` beside it, which is returned. Its name
    /// is free again, and nothing is lost. It need not be one that can be opened.
    ///
    /// # Errors
    /// Where something cannot be moved.
    pub fn put_away(journal: &Path, others: &[PathBuf], now: u64) -> Result<PathBuf> {
        let deleted = folder_of(journal).join("deleted");
        let name = journal.file_stem().unwrap_or_default().to_string_lossy();
        let label = |at: u64| if at == 0 { format!("{name}-{now}") } else { format!("{name}-{now}-{at}") };
        let place = (0..).map(|at| deleted.join(label(at))).find(|place| !place.exists());
        let place = place.unwrap_or_else(|| deleted.clone());
        std::fs::create_dir_all(&place).map_err(FileError::io(&place))?;
        for file in std::iter::once(journal).chain(others.iter().map(PathBuf::as_path)) {
            let to = place.join(file.file_name().unwrap_or_default());
            std::fs::rename(file, &to).map_err(FileError::io(file))?;
            sync_folder(&to);
            sync_folder(file);
        }
        sync_folder(&place);
        sync_folder(&deleted);
        Ok(place)
    }
}

impl StudyFiles {
    /// Those of a study that lies somewhere, its sheet at `pool` or where it is looked for otherwise.
    ///
    /// # Errors
    /// As [`Study::files`], and where the journal ends in half a line.
    pub fn read(journal: &Path, pool: Option<&Path>) -> Result<StudyFiles> {
        let mut study = Study::open(journal, pool, Models::default())?;
        let files = study.files()?;
        if study.is_torn() { Err(incomplete("journal")) } else { Ok(files) }
    }

    /// The lines of the journal, as a [`Home`] is created of, where all is sound: they make sense, and the sheet is theirs.
    ///
    /// # Errors
    /// Where not.
    pub fn lines(&self) -> Result<Vec<String>> {
        let name = "journal";
        let lines = lines_of(self.journal.as_bytes())?;
        let header = header_of(name, &News { lines: lines.clone(), ..News::default() })?;
        let header = replay(name, &header, &lines[1..])?.with_sheet(&header);
        let table = formats::table(Path::new("sheet"), self.sheet.clone())?;
        let other = || {
            let words = "the sheet is not the one that the journal is about; where the study is, `icee study update` takes in a sheet that \
                         has changed";
            Error::Study(words.into())
        };
        Rows::of(table, &header)?.ok_or_else(other)?;
        Ok(lines)
    }

    /// How the name of the sheet ends that lies beside the journal.
    pub fn ending(&self) -> &'static str {
        let [csv, workbook] = SHEETS;
        if formats::is_archive(&self.sheet) { workbook } else { csv }
    }

    /// Writes both, the sheet beside the journal, and never over a file; says where the sheet is.
    ///
    /// # Errors
    /// Where one of them exists already, makes no sense or cannot be written; then nothing is left behind.
    pub fn write(&self, journal: &Path) -> Result<PathBuf> {
        let lines = self.lines()?;
        if journal.exists() {
            return Err(taken(journal));
        }
        let (folder, sheet) = (folder_of(journal), journal.with_extension(self.ending()));
        std::fs::create_dir_all(&folder).map_err(FileError::io(&folder))?;
        match write_new(&sheet, &self.sheet) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(taken(&sheet)),
            written => written.map_err(FileError::io(&sheet))?,
        }
        JournalFile(journal.to_owned()).create(&lines).inspect_err(|_| {
            // Without a journal it would only be in the way.
            let _ = std::fs::remove_file(&sheet);
        })?;
        Ok(sheet)
    }
}

fn taken(path: &Path) -> Error {
    Error::Conflict(format!("{} exists already; choose another name", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::{Models, Repeat, StudyOptions};

    #[test]
    fn a_study_goes_on_elsewhere_byte_for_byte_or_not_at_all() {
        let scratch = Scratch::new("transfer");
        let (pool, path) = (scratch.file("pool.csv"), scratch.file("a/s.jsonl"));
        std::fs::write(&pool, "a,kind\n1,x\n2,y\n3,x\n").unwrap();
        let options = StudyOptions { pool: pool.clone(), ..StudyOptions::default() };
        let mut study = Study::create(&path, &options, Models::default()).unwrap();
        study.tell("1", Some(1.0), Repeat::Refuse).unwrap();
        study.ask(1, None).unwrap();
        study.undo().unwrap();
        let files = study.files().unwrap();
        assert_eq!(files.journal, std::fs::read_to_string(&path).unwrap());
        let there = scratch.file("b/t.jsonl");
        assert_eq!(files.write(&there).unwrap(), scratch.file("b/t.sheet.csv"));
        assert_eq!(std::fs::read(&there).unwrap(), std::fs::read(&path).unwrap());
        // The sheet has come along; the path in the journal leads nowhere any more.
        std::fs::remove_file(&pool).unwrap();
        let mut moved = Study::open(&there, None, Models::default()).unwrap();
        assert_eq!(moved.files().unwrap(), files);
        moved.ask(1, None).unwrap();
        assert!(files.write(&there).unwrap_err().to_string().contains("exists already"));

        let wrong = |files: StudyFiles| {
            let place = scratch.file("c/u.jsonl");
            let words = files.write(&place).unwrap_err().to_string();
            assert!(!place.exists() && !place.with_extension("sheet.csv").exists());
            words
        };
        let journal = |journal: String| StudyFiles { journal, ..files.clone() };
        assert!(
            wrong(StudyFiles { sheet: b"a,kind\n1,x\n2,y\n4,x\n".to_vec(), ..files.clone() }).contains("not the one")
        );
        let mut bytes = files.journal.clone().into_bytes();
        let second = files.journal.find('\n').unwrap() + 3;
        bytes[second] = b'X';
        let changed = String::from_utf8(bytes).unwrap();
        assert!(wrong(journal(changed)).contains("line 2: its checksum does not fit"));
        assert!(wrong(journal(files.journal[..files.journal.len() - 9].into())).contains("incomplete"));
        assert!(wrong(journal("{}\n".into())).contains("not the header of a study"));
        assert!(wrong(journal(String::new())).contains("empty"));
        // A sheet that is in the way stays, and so does nothing else.
        std::fs::write(scratch.file("d.sheet.csv"), "mine").unwrap();
        assert!(files.write(&scratch.file("d.jsonl")).unwrap_err().to_string().contains("d.sheet.csv exists already"));
        assert!(!scratch.file("d.jsonl").exists());
    }
}

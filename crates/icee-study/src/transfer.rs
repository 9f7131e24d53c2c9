//! A study on its way to another place: its journal and its sheets.

use crate::error::{OrProblem, Result, bug, stored};
use crate::formats;
use crate::journal::{JournalFile, sheets_of};
use crate::memory::{incomplete, journal_of, lines_of};
use crate::record::{Entry, Header, Line, to_line};
use crate::replay::{header_of, parse, replay};
use crate::rows::Rows;
use crate::storage::{Home, KeptSheet, News};
use crate::study::Study;
use icee_base::files::{FileError, folder_of, sync_folder};
use icee_protocol::{Bundle, Content, Problem};
use std::path::{Path, PathBuf};

impl Study {
    /// The study as a bundle, to be taken to another place. Half a line that a crash has left is not included.
    ///
    /// # Errors
    /// Where the journal or the sheet cannot be read.
    pub fn bundle(&mut self) -> Result<Bundle> {
        let lines = self.all_lines()?;
        if self.is_torn() {
            return Err(incomplete("journal"));
        }
        let mut sheets = Vec::new();
        for hash in self.tally.sheets.clone() {
            // Of very large sheets the oldest versions are not kept.
            sheets.extend(self.journal.kept(&hash)?.map(Content));
        }
        let bundle = Bundle { journal: journal_of(&lines), sheets };
        Package::of(&bundle).map(|_| bundle)
    }
}

/// A bundle that was checked: what a [`Home`] is created of.
pub struct Package {
    /// The lines of the journal. They name no file: the sheets came with them.
    pub lines: Vec<String>,
    /// The sheets.
    pub sheets: Vec<KeptSheet>,
}

impl Package {
    /// Checks a bundle: its lines are valid, and its latest sheet is included.
    ///
    /// # Errors
    /// If they are not.
    pub fn of(bundle: &Bundle) -> Result<Package> {
        let name = "journal";
        let lines = lines_of(bundle.journal.as_bytes())?;
        let header = header_of(name, &News { lines: lines.clone(), ..News::default() })?;
        let (trials, tally) = replay(name, &header, &lines[1..])?;
        let now = trials.now(&header);
        let sheets = bundle.sheets.iter().map(|Content(bytes)| KeptSheet::new(bytes.clone()));
        let sheets: Vec<KeptSheet> = sheets.filter(|sheet| tally.sheets.contains(&sheet.hash)).collect();
        let latest = sheets.iter().find(|sheet| now.pool.hash.as_ref() == Some(&sheet.hash));
        let latest = latest.ok_or(Problem::OtherSheet)?;
        Rows::of(formats::table(Path::new("sheet"), latest.bytes.clone())?, &now)?.ok_or(Problem::OtherSheet)?;
        Ok(Package { lines: without_files(name, &lines)?, sheets })
    }

    /// Creates the study.
    ///
    /// # Errors
    /// If there is one, or it cannot be written; then nothing is left behind.
    pub fn create(&self, home: &dyn Home) -> Result<()> {
        home.create(&self.lines, &self.sheets)
    }
}

/// Writes a bundle to files: its journal there, its sheets in a folder beside it, which is returned. Never over a file.
///
/// # Errors
/// Where something is in the way, or cannot be written; then no journal is left behind.
pub fn write_files(journal: &Path, bundle: &Bundle) -> Result<PathBuf> {
    let sheets: Vec<KeptSheet> = bundle.sheets.iter().map(|Content(bytes)| KeptSheet::new(bytes.clone())).collect();
    JournalFile(journal.to_owned()).create(&lines_of(bundle.journal.as_bytes())?, &sheets)?;
    Ok(sheets_of(journal))
}

/// The same lines without paths of sheets: they belong to another machine.
pub(crate) fn without_files(name: &str, lines: &[String]) -> Result<Vec<String>> {
    let mut header: Header = serde_json::from_str(&lines[0]).map_err(bug)?;
    header.pool.path = None;
    let mut all = vec![to_line(&header)?];
    for (_, mut line) in parse(name, &lines[1..], 2)? {
        let Line { changes, .. } = &mut line;
        for change in changes {
            if let Entry::Sheet { pool, .. } = change {
                pool.path = None;
            }
        }
        all.push(to_line(&line)?);
    }
    Ok(all)
}

/// Moves a journal and its sheets out of the way: into a folder of its own in `deleted/` beside it, which is returned. Its name is
/// free again, and nothing is lost. It need not be one that can be opened.
///
/// # Errors
/// Where something cannot be moved.
pub(crate) fn put_away(journal: &Path, now: u64) -> Result<PathBuf> {
    let deleted = folder_of(journal).join("deleted");
    let name = journal.file_stem().unwrap_or_default().to_string_lossy();
    let label = |at: u64| if at == 0 { format!("{name}-{now}") } else { format!("{name}-{now}-{at}") };
    let place = (0..).map(|at| deleted.join(label(at))).find(|place| !place.exists());
    let place = place.ok_or_else(|| stored(&name, "no folder is free for it"))?;
    std::fs::create_dir_all(&place).map_err(FileError::io(&place)).or_problem()?;
    let sheets = sheets_of(journal);
    for file in std::iter::once(journal).chain(sheets.is_dir().then_some(sheets.as_path())) {
        let to = place.join(file.file_name().unwrap_or_default());
        std::fs::rename(file, &to).map_err(FileError::io(file)).or_problem()?;
        sync_folder(&to);
        sync_folder(file);
    }
    sync_folder(&place);
    sync_folder(&deleted);
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::{Models, Repeat, StudyOptions};

    #[test]
    fn a_study_goes_on_elsewhere_or_not_at_all() {
        let scratch = Scratch::new("transfer");
        let (pool, path) = (scratch.file("pool.csv"), scratch.file("a/s.jsonl"));
        std::fs::write(&pool, "a,kind\n1,x\n2,y\n3,x\n").unwrap();
        let options = StudyOptions { pool: pool.clone().into(), ..StudyOptions::default() };
        let mut study = Study::create(&path, &options, Models::default()).unwrap();
        study.tell("1", Some(1.0), Repeat::Refuse).unwrap();
        study.ask(1, None).unwrap();
        study.undo(None).unwrap();
        let bundle = study.bundle().unwrap();
        assert_eq!(bundle.journal, std::fs::read_to_string(&path).unwrap());
        let there = scratch.file("b/t.jsonl");
        let home = JournalFile(there.clone());
        Package::of(&bundle).unwrap().create(&home).unwrap();
        // The sheet is in the bundle; the path in the journal is no longer followed.
        std::fs::write(&pool, "other\n1\n").unwrap();
        let mut moved = Study::open(&there, Models::default()).unwrap();
        assert_eq!(moved.sheet_path(), None);
        let again = moved.bundle().unwrap();
        assert_eq!(again.sheets, bundle.sheets);
        assert_eq!(moved.summary(None).told, study.summary(None).told);
        moved.ask(1, None).unwrap();
        assert_eq!(Package::of(&bundle).unwrap().create(&home).unwrap_err().code(), "study-exists");

        let code = |bundle: Bundle| Package::of(&bundle).map(|_| ()).unwrap_err().code();
        let sheets = vec![Content(b"a,kind\n1,x\n2,y\n4,x\n".to_vec())];
        assert_eq!(code(Bundle { sheets, ..bundle.clone() }), "other-sheet");
        let journal = bundle.journal.replace("\"tell\"", "\"told\"");
        assert_eq!(code(Bundle { journal, ..bundle.clone() }), "file");
        let torn = bundle.journal[..bundle.journal.len() - 3].to_owned();
        assert_eq!(code(Bundle { journal: torn, ..bundle }), "stored");
    }

    #[test]
    fn what_is_deleted_can_be_brought_back() {
        let scratch = Scratch::new("deleted");
        let (pool, path) = (scratch.file("pool.csv"), scratch.file("s.jsonl"));
        std::fs::write(&pool, "a\n1\n2\n3\n").unwrap();
        let options = StudyOptions { pool: pool.into(), ..StudyOptions::default() };
        Study::create(&path, &options, Models::default()).unwrap();
        let place = put_away(&path, 7).unwrap();
        assert!(place.ends_with("deleted/s-7") && !path.exists() && !sheets_of(&path).exists());
        let mut back = Study::open(&place.join("s.jsonl"), Models::default()).unwrap();
        assert_eq!(back.all_cells().unwrap().columns[0].cells.len(), 3);
        // The name is free, and a second one of it goes beside the first.
        Study::create(&path, &options, Models::default()).unwrap();
        assert!(put_away(&path, 7).unwrap().ends_with("deleted/s-7-1"));
    }
}

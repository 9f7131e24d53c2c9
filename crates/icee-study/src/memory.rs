//! Studies in memory, without a file: a storage for those that need not outlive the program, and readers of journals
//! and pools that are bytes. The bytes may come from any source.

use crate::encode;
use crate::error::{OrProblem, Result, stored};
use crate::formats;
use crate::lines::{parse, seal};
use crate::replay::{header_of, replay};
use crate::rows::Rows;
use crate::storage::{Home, KeptSheet, News, PATIENCE, Position, Storage};
use crate::survey::survey;
use icee_protocol::Problem;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The home of a study in memory. Copies of it are the same home, and the study is gone with the last of them.
///
/// ```
/// use icee_study::memory::InMemory;
/// use icee_study::{Models, Source, Study, StudyOptions};
///
/// let home = InMemory::new("bread");
/// let pool = Source::Bytes(b"heat,minutes\n180,20\n200,30\n".to_vec());
/// let options = StudyOptions { pool, ..Default::default() };
/// Study::create_in(&home, &options, Models::default())?.ask(1, None)?;
/// // Another handle goes on where the first one was.
/// let mut study = Study::open_in(&home, Models::default())?;
/// assert_eq!(study.summary(None).running.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct InMemory {
    name: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// The lock was released.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// None before the study was created.
    lines: Vec<String>,
    /// The versions of the sheet, by their hashes.
    sheets: HashMap<String, Vec<u8>>,
    /// The handle that holds the lock.
    holder: Option<u64>,
    /// Handles opened so far.
    handles: u64,
}

impl Shared {
    /// The state, also after a thread has panicked: no change of it can be left half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InMemory {
    /// A home without a study, called so in messages.
    pub fn new(name: &str) -> InMemory {
        InMemory { name: name.to_owned(), shared: Arc::default() }
    }
}

impl Home for InMemory {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn create(&self, lines: &[String], sheets: &[KeptSheet]) -> Result<()> {
        let mut state = self.shared.state();
        if !state.lines.is_empty() {
            return Err(Problem::StudyExists { name: self.name.clone() });
        }
        state.sheets = sheets.iter().map(|sheet| (sheet.hash.clone(), sheet.bytes.clone())).collect();
        state.lines = lines.to_vec();
        Ok(())
    }

    fn open(&self) -> Result<Box<dyn Storage>> {
        let mut state = self.shared.state();
        if state.lines.is_empty() {
            return Err(stored(&self.name, "there is no study. Create it first."));
        }
        state.handles += 1;
        let home = self.clone();
        Ok(Box::new(Handle { home, number: state.handles, at: Position::default() }))
    }
}

/// A handle of a study in memory.
struct Handle {
    home: InMemory,
    number: u64,
    at: Position,
}

impl Handle {
    fn free(&self) {
        let mut state = self.home.shared.state();
        if state.holder == Some(self.number) {
            state.holder = None;
            self.home.shared.freed.notify_all();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.free();
    }
}

impl Storage for Handle {
    fn position(&self) -> Position {
        self.at
    }

    fn lock(&mut self, waiting: &dyn Fn()) -> Result<()> {
        let Shared { freed, .. } = &*self.home.shared;
        let is_taken = |state: &mut State| state.holder.is_some_and(|holder| holder != self.number);
        let first = freed.wait_timeout_while(self.home.shared.state(), PATIENCE, is_taken);
        let (mut state, late) = first.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            // The callback may want to look.
            drop(state);
            waiting();
            let then = freed.wait_while(self.home.shared.state(), is_taken);
            state = then.unwrap_or_else(PoisonError::into_inner);
        }
        state.holder = Some(self.number);
        Ok(())
    }

    fn unlock(&mut self) -> Result<()> {
        self.free();
        Ok(())
    }

    fn read(&mut self) -> Result<News> {
        let state = self.home.shared.state();
        let known = usize::try_from(self.at.lines).unwrap_or(usize::MAX);
        let lines = state.lines.get(known..).unwrap_or_default().to_vec();
        let end = Position { lines: self.at.lines + lines.len() as u64, ..self.at };
        Ok(News { lines, torn: vec![], end })
    }

    fn accept(&mut self, news: &News) {
        self.at = news.end;
    }

    fn rewind(&mut self) {
        self.at = Position::default();
    }

    fn append(&mut self, line: &str) -> Result<()> {
        let mut state = self.home.shared.state();
        if state.holder != Some(self.number) || self.at.lines != state.lines.len() as u64 {
            return Err(stored(&self.home.name, "a line is appended under the lock, after all others were read"));
        }
        state.lines.push(line.to_owned());
        self.at.lines += 1;
        Ok(())
    }

    fn keep(&mut self, sheet: &KeptSheet) -> Result<()> {
        self.home.shared.state().sheets.entry(sheet.hash.clone()).or_insert_with(|| sheet.bytes.clone());
        Ok(())
    }

    fn kept(&mut self, hash: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.home.shared.state().sheets.get(hash).cloned())
    }

    fn drop_kept(&mut self, hash: &str) -> Result<()> {
        self.home.shared.state().sheets.remove(hash);
        Ok(())
    }
}

/// The lines of a journal at hand, as a [`Home`] is created of.
///
/// # Errors
/// Where it is damaged, or its last line is incomplete.
pub fn lines_of(journal: &[u8]) -> Result<Vec<String>> {
    let name = "journal";
    let news = parse(Path::new(name), Position::default(), journal)?;
    header_of(name, &news)?;
    match news.is_torn() {
        false => Ok(news.lines),
        true => Err(incomplete(name)),
    }
}

/// The error of a journal that ends in half a line: the loss must be reported.
pub(crate) fn incomplete(name: &str) -> Problem {
    stored(name, "its last line is incomplete. The next change to the study repairs that.")
}

/// The journal of lines, with their checksums: byte for byte the file to which they would have been appended.
pub fn journal_of(lines: &[String]) -> String {
    let (mut text, mut chain) = (String::new(), 0);
    for line in lines {
        let (sealed, after) = seal(chain, line);
        text.push_str(&sealed);
        chain = after;
    }
    text
}

/// The content of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Whole lines.
    pub lines: usize,
    /// Rows with a result.
    pub told: usize,
    /// Rows in progress.
    pub running: usize,
    /// Whether an incomplete line follows.
    pub torn: bool,
}

/// Reads a journal as opening does; and the pool, if it is given, by the journal's codes, whatever its checksum
/// is.
///
/// # Errors
/// Where the journal is damaged, or the pool does not fit it.
pub fn inspect(journal: &[u8], pool: Option<&[u8]>) -> Result<Inspection> {
    let name = "journal";
    let news = parse(Path::new(name), Position::default(), journal)?;
    let header = header_of(name, &news)?;
    let (trials, _) = replay(name, &header, &news.lines[1..])?;
    if let Some(pool) = pool {
        let header = trials.now(&header);
        Rows::encode(formats::table(Path::new("pool"), pool.to_vec())?, &header)?;
    }
    let (told, running) = (trials.told.len(), trials.count_running());
    Ok(Inspection { lines: news.lines.len(), told, running, torn: news.is_torn() })
}

/// The columns that a study would learn from: the name and type of each.
///
/// # Errors
/// If no column can be used as an input.
pub fn columns(pool: &[u8]) -> Result<Vec<(String, String)>> {
    let mut table = formats::table(Path::new("pool"), pool.to_vec())?;
    let places: Vec<usize> = (0..table.header().len()).collect();
    let survey = survey(&mut table, &places, &[])?;
    // Found codes must be usable.
    let encoder = encode::Encoder::new(&table, &survey.columns)?;
    let mut points = Vec::new();
    let scanned = table.scan(|table, row| {
        points.clear();
        encoder.encode(table, row, &mut points);
        match points.iter().all(|x| (0.0..=1.0).contains(x)) {
            true => Ok(()),
            false => Err("a coordinate lies outside of its scale".into()),
        }
    });
    scanned.or_problem()?;
    Ok(survey.columns.into_iter().map(|column| (column.name, column.code.describe())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::{Models, Repeat, Study, StudyOptions};

    #[test]
    fn bytes_say_what_the_file_says() {
        let scratch = Scratch::new("memory");
        let pool = scratch.file("pool.csv");
        std::fs::write(&pool, "a,kind\n1,x\n2,y\n3,x\n").unwrap();
        let path = scratch.file("s.jsonl");
        let options = StudyOptions { pool: pool.clone().into(), ..StudyOptions::default() };
        let mut study = Study::create(&path, &options, Models::default()).unwrap();
        study.ask(2, None).unwrap();
        study.tell("1", Some(1.0), Repeat::Refuse).unwrap();
        let (mut journal, pool) = (std::fs::read(&path).unwrap(), std::fs::read(&pool).unwrap());
        let lines = lines_of(&journal).unwrap();
        assert_eq!((journal_of(&lines).into_bytes(), lines.len()), (journal.clone(), 3));
        journal.push(b'{');
        assert!(lines_of(&journal).unwrap_err().to_string().contains("incomplete"));
        let running = study.summary(None).running.len();
        assert_eq!(inspect(&journal, Some(&pool)).unwrap(), Inspection { lines: 3, told: 1, running, torn: true });
        assert!(inspect(&journal, Some(b"b\n1\n")).is_err() && inspect(b"", None).is_err());
        assert_eq!(columns(&pool).unwrap()[1], ("kind".into(), "2 categories".into()));
    }
}

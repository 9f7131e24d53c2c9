//! The study itself: its state, and how it is read and written in turns with other processes.

use crate::error::{Result, bug, shown, stored};
use crate::formats;
use crate::goals::Goals;
use crate::journal::JournalFile;
use crate::models::{Models, Width};
use crate::predictor::Predictor;
use crate::record::{Entry, Header, Line, ModelPin, Origin, SamplerKind, to_line};
use crate::replay::{Tally, follow, header_of, is_undo, parse, replay, standing};
use crate::rows::Rows;
use crate::storage::{Home, KeptSheet, News, Storage};
use crate::trials::Trials;
use icee_protocol::{Note, Problem};
use std::path::{Path, PathBuf};

/// Bytes of all versions of a sheet that are kept beside a journal; of more, the oldest but the first are dropped.
const MOST_KEPT: u64 = 256 << 20;

/// A search for the best row of a sheet, kept in one file, or in any storage of lines.
pub struct Study {
    pub(crate) journal: Box<dyn Storage>,
    /// The journal's name in messages.
    name: String,
    /// The folder that paths in the journal start from.
    pub(crate) folder: Option<PathBuf>,
    /// With the sheet and the goals as they are now.
    pub(crate) header: Header,
    /// As in the first line.
    first: Header,
    pub(crate) trials: Trials,
    pub(crate) tally: Tally,
    pub(crate) models: Models,
    /// The rows, once they were needed.
    pub(crate) rows: Option<Rows>,
    pub(crate) notes: Vec<Note>,
    /// The request in progress.
    pub(crate) origin: Origin,
    /// Its changes so far, made already and not recorded yet.
    pending: Vec<Entry>,
    /// Versions of the sheet that the pending changes name.
    to_keep: Vec<KeptSheet>,
    /// The hash of the sheet's file where its text is the same as that of the version that is kept.
    pub(crate) same_text: Option<String>,
    /// Whether the journal ends in an incomplete line.
    torn: bool,
    waiting: Box<dyn Fn(&Path) + Send + Sync>,
}

impl Study {
    /// Opens a study. That needs no right to write, and nor does any look at it.
    ///
    /// # Errors
    /// Where there is none, or its file is damaged.
    pub fn open(path: &Path, models: Models) -> Result<Study> {
        Study::open_in(&JournalFile(path.to_owned()), models)
    }

    /// Opens a study in any storage.
    ///
    /// # Errors
    /// As [`Study::open`].
    pub fn open_in(home: &dyn Home, models: Models) -> Result<Study> {
        let (name, folder) = (home.name(), home.folder());
        let mut journal = home.open()?;
        let news = journal.look()?;
        let header = header_of(&name, &news)?;
        let mut study = Study {
            journal,
            name,
            folder,
            first: header.clone(),
            trials: Trials::new(&header),
            tally: Tally::default(),
            header: Header { outcomes: vec![], ..header },
            models,
            rows: None,
            notes: vec![],
            origin: Origin::default(),
            pending: vec![],
            to_keep: vec![],
            same_text: None,
            torn: news.is_torn(),
            waiting: Box::new(|_| ()),
        };
        study.take_in(&news)?;
        Ok(study)
    }

    /// Sets a callback, called once if a change has to wait for more than a second because another process is at work
    /// on the study's file (or whatever its storage is called).
    pub fn when_waiting(&mut self, say: impl Fn(&Path) + Send + Sync + 'static) {
        self.waiting = Box::new(say);
    }

    /// The notes for the user; each is given once.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// The goals of the results.
    pub(crate) fn goals(&self) -> Goals {
        self.header.goals()
    }

    pub(crate) fn width(&self) -> Width {
        Width::of(&self.header.columns, self.header.earlier.is_some())
    }

    /// The sampler, and the notes about it.
    pub(crate) fn resolve(&self, wanted: Option<SamplerKind>) -> Result<(SamplerKind, Option<Note>)> {
        match wanted {
            Some(wanted) => self.models.resolve(Some(wanted), self.width()),
            None => Ok((self.header.sampler, None)),
        }
    }

    /// The predictor of a sampler.
    pub(crate) fn predictor(&self, sampler: SamplerKind) -> Result<Predictor> {
        self.models.predictor(sampler, self.width(), self.trials.model.as_ref())
    }

    /// The learned model at hand, which must be the one that the study uses, if any.
    pub(crate) fn check_model(&self, sampler: SamplerKind) -> Result<Option<ModelPin>> {
        let used = self.trials.model.as_ref();
        let here = self.models.pin(self.width(), used).filter(|_| sampler == SamplerKind::Learned);
        match (used, here) {
            (Some(used), Some(here)) if *used != here => {
                Err(Problem::OtherModel { pinned: used.clone().into(), here: here.into() })
            }
            (_, here) => Ok(here),
        }
    }

    /// The predictor for a look: with the study's own model.
    pub(crate) fn looking(&self, sampler: Option<SamplerKind>) -> Result<Predictor> {
        let (sampler, _) = self.resolve(sampler)?;
        self.check_model(sampler)?;
        self.predictor(sampler)
    }

    /// The sheet's file, if the study follows one.
    pub fn sheet_path(&self) -> Option<PathBuf> {
        let path = self.header.pool.path.as_ref()?;
        Some(self.folder.as_ref().map_or_else(|| path.clone(), |folder| folder.join(path)))
    }

    /// The sheet's name in messages.
    pub(crate) fn sheet_name(&self) -> PathBuf {
        self.sheet_path().unwrap_or_else(|| PathBuf::from("sheet"))
    }

    /// Reads the sheet that the journal names, if that has not happened yet.
    pub(crate) fn load(&mut self) -> Result<()> {
        if self.rows.is_none() {
            self.rows = Some(self.read_sheet()?);
        }
        Ok(())
    }

    fn read_sheet(&mut self) -> Result<Rows> {
        let hash = self.header.pool.hash.clone();
        let kept = hash.as_deref().map(|hash| self.journal.kept(hash)).transpose()?.flatten();
        // The kept version may have been deleted: the file itself is as good if it has not changed.
        let bytes = kept.map_or_else(|| self.read_file(), |bytes| Ok(Some(bytes)));
        let not_kept = || Problem::SheetNotKept { hash: hash.clone().unwrap_or_default() };
        let bytes = bytes.ok().flatten().ok_or_else(not_kept)?;
        let table = formats::table(&self.sheet_name(), bytes)?;
        Rows::of(table, &self.header)?.ok_or_else(not_kept)
    }

    /// The bytes of the sheet's file; none where the study follows no file.
    pub(crate) fn read_file(&self) -> Result<Option<Vec<u8>>> {
        let Some(path) = self.sheet_path() else { return Ok(None) };
        match formats::read_bytes(&path) {
            Err(Problem::FileMissing { .. }) => Err(Problem::SheetGone { path: shown(&path) }),
            bytes => bytes.map(Some),
        }
    }

    /// The rows at hand.
    pub(crate) fn loaded(&self) -> Result<&Rows> {
        self.rows.as_ref().ok_or_else(not_loaded)
    }

    /// Reads the sheet for a look.
    pub(crate) fn try_to_load(&mut self) {
        if let Err(problem) = self.load() {
            self.notes.push(Note::Unread { problem: Box::new(problem) });
        }
    }

    /// Does some work while no other process is at work on the study, with all its lines read. The changes are one
    /// line.
    pub(crate) fn alone<T>(&mut self, work: impl FnOnce(&mut Study) -> Result<T>) -> Result<T> {
        self.lock()?;
        let done = self.catch_up().and_then(|()| work(self)).and_then(|done| self.write().map(|()| done));
        self.unlock(done)
    }

    fn lock(&mut self) -> Result<()> {
        let name = Path::new(&self.name);
        self.journal.lock(&|| (self.waiting)(name))
    }

    /// Releases the lock; changes that were not recorded are dropped.
    fn unlock<T>(&mut self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.roll_back();
        }
        let unlocked = self.journal.unlock();
        let done = done?;
        unlocked.map(|()| done)
    }

    /// Records the changes since the study was at a position. If others have written meanwhile, none of them is made:
    /// they are made again while no other process is at work on the study.
    pub(crate) fn commit<T>(
        &mut self,
        seen: crate::storage::Position,
        done: T,
        again: impl FnOnce(&mut Study) -> Result<T>,
    ) -> Result<T> {
        if self.pending.is_empty() {
            return Ok(done);
        }
        self.lock()?;
        let done = self.commit_alone(seen, done, again).and_then(|done| self.write().map(|()| done));
        self.unlock(done)
    }

    fn commit_alone<T>(
        &mut self,
        seen: crate::storage::Position,
        done: T,
        again: impl FnOnce(&mut Study) -> Result<T>,
    ) -> Result<T> {
        let news = self.journal.read()?;
        if self.journal.position() == seen && news.lines.is_empty() {
            return self.set_aside(&news).map(|()| done);
        }
        self.roll_back();
        self.catch_up()?;
        again(self)
    }

    /// Reads what is new, and repairs the end of the journal. Only under the lock.
    fn catch_up(&mut self) -> Result<()> {
        let news = self.journal.read()?;
        self.set_aside(&news)?;
        self.take_in(&news)
    }

    fn set_aside(&mut self, news: &News) -> Result<()> {
        if let Some(place) = self.journal.set_aside(news)? {
            self.notes.push(Note::TornMoved { place });
        }
        self.torn = false;
        Ok(())
    }

    /// Reads what others have written meanwhile, and changes nothing. Changes do so by themselves.
    ///
    /// # Errors
    /// Where the journal cannot be used.
    pub fn refresh(&mut self) -> Result<()> {
        let news = self.journal.look()?;
        self.torn = news.is_torn();
        self.take_in(&news)
    }

    fn take_in(&mut self, news: &News) -> Result<()> {
        let name = &self.name;
        let known = self.journal.lines();
        if known == 0 {
            // From the beginning, also of a file that has taken the place of the one that was read before.
            if header_of(name, news)? != self.first {
                return Err(stored(name, "it is another study now. Open it anew."));
            }
            (self.trials, self.tally) = replay(name, &self.first, &news.lines[1..])?;
        } else if !news.lines.is_empty() {
            let lines = parse(name, &news.lines, known + 1)?;
            if lines.iter().any(|(_, line)| is_undo(line)) {
                // Earlier lines may be undone now.
                return self.read_again();
            }
            // All of them or, if one is not valid, none.
            let (mut trials, mut tally) = (self.trials.clone(), self.tally.clone());
            lines.iter().for_each(|(number, line)| tally.count(*number, line));
            tally.last = lines.last().map(|(_, line)| line.clone());
            follow(&mut trials, name, lines)?;
            (self.trials, self.tally) = (trials, tally);
        }
        self.journal.accept(news);
        self.follow_now();
        Ok(())
    }

    /// Sets the sheet and the goals to what the journal says now.
    fn follow_now(&mut self) {
        let (first, header) = (&self.first, &mut self.header);
        let (pool, columns) = self.trials.sheet.as_ref().map_or((&first.pool, &first.columns), |now| (&now.0, &now.1));
        let (bounds, further) =
            self.trials.goals.as_ref().map_or((&first.bounds, &first.further), |now| (&now.0, &now.1));
        if header.pool != *pool || header.columns != *columns {
            (header.pool, header.columns) = (pool.clone(), columns.clone());
            (self.rows, self.same_text) = (None, None);
        }
        if header.bounds != *bounds || header.further != *further {
            (header.bounds, header.further) = (*bounds, further.clone());
            self.rows = None;
        }
    }

    /// Reads the journal from its beginning.
    fn read_again(&mut self) -> Result<()> {
        self.journal.rewind();
        let news = self.journal.read()?;
        self.take_in(&news)
    }

    /// All whole lines of the journal, read and followed.
    pub(crate) fn all_lines(&mut self) -> Result<Vec<String>> {
        self.journal.rewind();
        let news = self.journal.look()?;
        self.take_in(&news)?;
        Ok(news.lines)
    }

    /// Whether half a line follows what was read.
    pub(crate) fn is_torn(&self) -> bool {
        self.torn
    }

    pub(crate) fn mention_torn(&mut self) {
        if std::mem::take(&mut self.torn) {
            self.notes.push(Note::Torn);
        }
    }

    /// Makes a change. It is recorded at the end of the request.
    pub(crate) fn change(&mut self, entry: Entry) -> Result<()> {
        self.trials.check(&entry).map_err(bug)?;
        self.trials.take_in(entry.clone(), self.origin.by.as_deref());
        self.pending.push(entry);
        self.follow_now();
        Ok(())
    }

    /// The same for a sheet, which is kept as soon as the change is recorded.
    pub(crate) fn change_sheet(&mut self, entry: Entry, sheet: KeptSheet) -> Result<()> {
        self.to_keep.push(sheet);
        self.change(entry)
    }

    /// Records the changes as one line. Only under the lock.
    fn write(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.require_new()?;
        let sheets = std::mem::take(&mut self.to_keep);
        sheets.iter().try_for_each(|sheet| self.journal.keep(sheet))?;
        let line = Line { from: self.origin.clone(), changes: self.pending.clone() };
        self.journal.append(&to_line(&line)?)?;
        self.pending.clear();
        self.tally.count(self.journal.lines(), &line);
        self.tally.last = Some(line);
        // To prune reads the sheets: only a new one can make them too many.
        if !sheets.is_empty() {
            self.prune(MOST_KEPT);
        }
        Ok(())
    }

    /// Refuses a request whose key another process has used meanwhile. Only under the lock.
    fn require_new(&self) -> Result<()> {
        let done = self.origin.key.as_ref().is_some_and(|key| self.tally.keys.contains_key(&key.key));
        if done { Err(Problem::ChangedMeanwhile) } else { Ok(()) }
    }

    /// Drops the oldest versions of the sheet where all are more bytes than this; the first and the latest stay.
    fn prune(&mut self, most: u64) {
        let sheets = self.tally.sheets.clone();
        let Some((latest, older)) = sheets.split_last() else { return };
        let mut size = |hash: &String| self.journal.kept(hash).ok().flatten().map_or(0, |bytes| bytes.len() as u64);
        let is_large = self.header.pool.bytes.saturating_mul(sheets.len() as u64) > most;
        if !is_large || older.len() < 2 {
            return;
        }
        let mut left = most.saturating_sub(size(latest)).saturating_sub(size(&older[0]));
        let mut gone = Vec::new();
        for hash in older[1..].iter().rev() {
            match left.checked_sub(size(hash)) {
                Some(rest) => left = rest,
                None => gone.push(hash),
            }
        }
        // One that cannot be dropped takes space, and does no harm.
        gone.into_iter().for_each(|hash| drop(self.journal.drop_kept(hash)));
    }

    /// Drops the changes that were not recorded: all is as it was before.
    pub(crate) fn put_back(&mut self, before: Trials) {
        self.pending.clear();
        self.to_keep.clear();
        self.trials = before;
        self.follow_now();
    }

    /// Reverts the changes that were not recorded.
    pub(crate) fn roll_back(&mut self) {
        self.to_keep.clear();
        if !std::mem::take(&mut self.pending).is_empty() {
            self.journal.rewind();
            // If this fails, the next look begins anew.
            let again = self.journal.look().and_then(|news| self.take_in(&news));
            if again.is_err() {
                self.journal.rewind();
            }
        }
    }

    /// Undoes the last line that still counts, and returns it; none if there is only the header. Only under the lock.
    pub(crate) fn undo_last(&mut self) -> Result<Option<Line>> {
        self.require_new()?;
        self.journal.rewind();
        let news = self.journal.read()?;
        let lines = parse(&self.name, news.lines.get(1..).unwrap_or_default(), 2)?;
        let mut standing = standing(&self.name, lines)?;
        self.journal.accept(&news);
        let Some((_, last)) = standing.pop() else { return Ok(None) };
        let line = Line { from: self.origin.clone(), changes: vec![Entry::Undo {}] };
        self.journal.append(&to_line(&line)?)?;
        self.read_again()?;
        Ok(Some(last))
    }
}

fn not_loaded() -> Problem {
    bug("the sheet is not loaded")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::InMemory;
    use crate::{Corrected, NewSheet, Repeat, Source, StudyOptions};

    /// A sheet of so many rows.
    fn sheet(rows: usize) -> Vec<u8> {
        (0..rows).fold("a,kind\n".to_owned(), |text, row| text + &format!("{row},{}\n", ["x", "y"][row % 2])).into()
    }

    #[test]
    fn of_many_versions_of_a_sheet_the_first_and_the_latest_are_kept() {
        let options = StudyOptions { pool: Source::Bytes(sheet(3)), ..StudyOptions::default() };
        let mut study = Study::create_in(&InMemory::new("versions"), &options, Models::default()).unwrap();
        let update = |study: &mut Study, rows| {
            study.update(Repeat::Refuse, Corrected::Refuse, Some(NewSheet::Bytes(sheet(rows)))).unwrap();
        };
        (4..8).for_each(|rows| update(&mut study, rows));
        let kept = |study: &mut Study| -> Vec<bool> {
            let sheets = study.tally.sheets.clone();
            sheets.iter().map(|hash| study.journal.kept(hash).unwrap().is_some()).collect()
        };
        let size = |rows| sheet(rows).len() as u64;
        study.prune(5 * size(7));
        assert_eq!(kept(&mut study), [true; 5]);
        study.prune(size(3) + size(6) + size(7));
        assert_eq!(kept(&mut study), [true, false, false, true, true]);
        study.prune(0);
        assert_eq!(kept(&mut study), [true, false, false, false, true]);
        // The files are a study that can be exported.
        assert_eq!(study.bundle().unwrap().sheets.len(), 2);
        // After an undo, a version that was dropped is missing; the next one is read all the same.
        study.undo(None).unwrap();
        assert_eq!(study.ask(1, None).unwrap_err().code(), "sheet-not-kept");
        update(&mut study, 8);
        study.ask(1, None).unwrap();
        assert_eq!(kept(&mut study), [true, false, false, false, true, true]);
    }
}

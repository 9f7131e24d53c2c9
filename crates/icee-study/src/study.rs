//! The study itself: predicting and remembering, in turns with other processes.

use crate::journal::JournalFile;
use crate::models::{Models, Width};
use crate::predictor::Predictor;
use crate::record::{Entry, Header, ModelPin, RowName, SamplerKind, to_line};
use crate::replay::{entries, follow, header_of, replay, standing};
use crate::rows::Rows;
use crate::sheet;
use crate::storage::{Home, News, Storage};
use crate::trials::Trials;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A search for the best row of a pool, kept in one file, or wherever lines can be appended.
pub struct Study {
    pub(crate) journal: Box<dyn Storage>,
    /// What the journal is called in messages.
    name: String,
    /// The folder that paths in the journal start from.
    pub(crate) folder: Option<PathBuf>,
    /// With the sheet as it is now.
    pub(crate) header: Header,
    /// As the first line says.
    first: Header,
    pub(crate) trials: Trials,
    pub(crate) models: Models,
    /// Where the pool lies.
    pub(crate) pool: PathBuf,
    /// Whether that was said by whoever opened the study, rather than by the journal.
    pub(crate) elsewhere: bool,
    /// Whether it is kept where the lines are: then its file is a copy of the moment, whose path is nobody's business.
    pub(crate) copied: bool,
    /// The pool, once it was needed.
    pub(crate) rows: Option<Rows>,
    pub(crate) notes: Vec<String>,
    /// Whether the journal ends in an incomplete line.
    torn: bool,
    waiting: Box<dyn Fn(&Path) + Send + Sync>,
}

impl Study {
    /// The file of a study of that name in a folder.
    ///
    /// # Errors
    /// Where the name could not be a file's on every system.
    pub fn path(folder: &Path, name: &str) -> Result<PathBuf> {
        let usable = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let sound = !name.is_empty() && name.len() <= 100 && name.chars().all(usable);
        if !sound || name.starts_with('.') || name.ends_with('.') {
            return Err(Error::Study(format!(
                "\"{name}\" cannot be the name of a study; use letters, digits, - _ and . (not first or last)"
            )));
        }
        Ok(folder.join(format!("{name}.jsonl")))
    }

    /// Opens a study; `pool` says where the pool lies, if it is no longer where it was. That needs no right to write, and
    /// nor does any look at it.
    ///
    /// # Errors
    /// Where there is none, or its file is damaged.
    pub fn open(path: &Path, pool: Option<&Path>, models: Models) -> Result<Study> {
        Study::open_in(&JournalFile(path.to_owned()), pool, models)
    }

    /// Opens a study in any storage.
    ///
    /// # Errors
    /// As [`Study::open`].
    pub fn open_in(home: &dyn Home, pool: Option<&Path>, models: Models) -> Result<Study> {
        let (name, folder, beside) = (home.name(), home.folder(), home.sheet());
        let copied = pool.is_none() && beside.is_some() && folder.is_none();
        let pool = pool.or(beside.as_deref());
        let mut journal = home.open()?;
        let news = journal.look()?;
        let header = header_of(&name, &news)?;
        let elsewhere = pool.is_some();
        let pool = pool.map_or_else(|| sheet::place(folder.as_deref(), &header), Path::to_owned);
        let mut study = Study {
            journal,
            name,
            folder,
            first: header.clone(),
            header,
            trials: Trials::default(),
            models,
            pool,
            elsewhere,
            copied,
            rows: None,
            notes: vec![],
            torn: news.is_torn(),
            waiting: Box::new(|_| ()),
        };
        study.take_in(&news)?;
        Ok(study)
    }

    /// What is done, once, where asking or telling has to wait for more than a second because another process is at work on
    /// the study's file (or whatever its storage is called).
    pub fn when_waiting(&mut self, say: impl Fn(&Path) + Send + Sync + 'static) {
        self.waiting = Box::new(say);
    }

    /// What the user should know; each note is given once.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// The name under which commands know it, as far as its file says.
    pub(crate) fn called(&self) -> String {
        Path::new(&self.name).file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn width(&self) -> Width {
        Width::of(&self.header.columns, self.header.earlier.is_some())
    }

    /// What picks the rows, and what is to be said about it.
    pub(crate) fn resolve(&self, wanted: Option<SamplerKind>) -> Result<(SamplerKind, Option<String>)> {
        match wanted {
            Some(wanted) => self.models.resolve(Some(wanted), self.width()),
            None => Ok((self.header.sampler, None)),
        }
    }

    /// What predicts for a sampler.
    pub(crate) fn predictor(&self, sampler: SamplerKind) -> Result<Predictor> {
        self.models.predictor(sampler, self.width(), self.trials.model.as_ref())
    }

    /// The learned model at hand, which must be the one that the study has been using, if any.
    pub(crate) fn check_model(&self, sampler: SamplerKind) -> Result<Option<ModelPin>> {
        let used = self.trials.model.as_ref();
        let here = self.models.pin(self.width(), used).filter(|_| sampler == SamplerKind::Icee);
        match (used, here) {
            (Some(used), Some(here)) if *used != here => Err(Error::OtherModel { pinned: used.clone(), here }),
            (_, here) => Ok(here),
        }
    }

    /// Goes on with the learned model that a new study would use, whatever was used before; the journal says from where on. Without effect where
    /// the sampler, the study's own unless another is named, is no learned model.
    ///
    /// # Errors
    /// Where the pool or the journal cannot be used.
    pub fn accept_model(&mut self, sampler: Option<SamplerKind>) -> Result<()> {
        self.load()?;
        self.alone(|study| {
            let learned = study.resolve(sampler)?.0 == SamplerKind::Icee;
            let here = study.models.pin(study.width(), None).filter(|_| learned);
            match here.filter(|here| study.trials.model.as_ref() != Some(here)) {
                Some(here) => study.record(Entry::Model(here)),
                None => Ok(()),
            }
        })
    }

    /// Reads the pool, if that has not happened yet.
    pub(crate) fn load(&mut self) -> Result<()> {
        if self.rows.is_none() {
            self.rows = Rows::load(&self.pool, &self.header)?;
        }
        let changed = || {
            let pool = self.pool.display();
            Error::Conflict(format!(
                "{pool} has changed since it was last read; `icee study update` or the next ask takes it in"
            ))
        };
        self.rows.as_ref().map(|_| ()).ok_or_else(changed)
    }

    /// That the rows at hand are still those of the sheet: under the lock, another process may have taken in a newer one.
    pub(crate) fn still_loaded(&self) -> Result<()> {
        match self.rows {
            Some(_) => Ok(()),
            None => Err(Error::Conflict("another process has taken in a newer sheet meanwhile; do it again".into())),
        }
    }

    /// Reads the pool where that is only for show.
    pub(crate) fn try_to_load(&mut self) {
        if let Err(error) = self.load() {
            self.notes.push(error.to_string());
        }
    }

    /// Does some work while no other process is at work on the study, with all they did taken in.
    pub(crate) fn alone<T>(&mut self, work: impl FnOnce(&mut Study) -> Result<T>) -> Result<T> {
        self.journal.lock(&|| (self.waiting)(Path::new(&self.name)))?;
        let result = self.catch_up().and_then(|()| work(self));
        self.journal.unlock()?;
        result
    }

    /// Takes in what is new, and mends the end of the journal. Only under the lock.
    fn catch_up(&mut self) -> Result<()> {
        let news = self.journal.read()?;
        if let Some(place) = self.journal.set_aside(&news)? {
            self.notes.push(format!(
                "the journal's last line was incomplete, perhaps after a crash; it was moved to {place} and the rest is whole"
            ));
        }
        self.torn = false;
        self.take_in(&news)
    }

    /// Takes in what others have written meanwhile, and changes nothing. Asking and telling do so by themselves.
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
            // The beginning, also of a file that has taken the place of the one that was read before.
            if header_of(name, news)? != self.first {
                return Err(Error::stored(name, "it is another study now; open it anew"));
            }
            self.trials = replay(name, &self.first, &news.lines[1..])?;
        } else if !news.lines.is_empty() {
            let entries = entries(name, &news.lines, known + 1)?;
            if entries.iter().any(|(_, entry)| *entry == Entry::Undo {}) {
                // What was taken in may not count any more.
                return self.read_again();
            }
            // All of them or, where one makes no sense, none.
            let mut trials = self.trials.clone();
            follow(&mut trials, name, entries)?;
            self.trials = trials;
        }
        self.journal.accept(news);
        self.follow_sheet();
        Ok(())
    }

    /// Knows the sheet as the journal says it is now.
    fn follow_sheet(&mut self) {
        let (pool, columns) = self
            .trials
            .sheet
            .as_ref()
            .map_or((&self.first.pool, &self.first.columns), |(pool, columns)| (pool, columns));
        if self.header.pool == *pool && self.header.columns == *columns {
            return;
        }
        self.header = self.trials.with_sheet(&self.first);
        if !self.elsewhere {
            self.pool = sheet::place(self.folder.as_deref(), &self.header);
        }
        self.rows = None;
    }

    /// Takes in the journal from its beginning.
    fn read_again(&mut self) -> Result<()> {
        self.journal.rewind();
        let news = self.journal.read()?;
        self.take_in(&news)
    }

    /// All lines of the journal as they stand, whole ones, taken in.
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
            let note =
                "the journal's last line is incomplete, perhaps after a crash, and does not count; the rest is whole";
            self.notes.push(note.into());
        }
    }

    /// Writes an entry down and takes it in.
    pub(crate) fn record(&mut self, entry: Entry) -> Result<()> {
        self.trials.check(&entry).map_err(Error::Study)?;
        self.journal.append(&to_line(&entry)?)?;
        self.trials.take_in(entry);
        self.follow_sheet();
        Ok(())
    }

    /// Takes back the last line that still counts, and says what it was; none where there is nothing but the header. Only under
    /// the lock.
    pub(crate) fn undo_last(&mut self) -> Result<Option<Entry>> {
        self.journal.rewind();
        let news = self.journal.read()?;
        let entries = entries(&self.name, news.lines.get(1..).unwrap_or_default(), 2)?;
        let mut standing = standing(&self.name, entries)?;
        self.journal.accept(&news);
        let Some((_, last)) = standing.pop() else { return Ok(None) };
        self.journal.append(&to_line(&Entry::Undo {})?)?;
        self.read_again()?;
        Ok(Some(last))
    }
}

pub(crate) fn not_loaded() -> Error {
    Error::Study("the pool is not loaded".into())
}

/// A row's name for a message.
pub(crate) fn shown(name: &RowName) -> String {
    format!("row \"{}\"", name.shown())
}

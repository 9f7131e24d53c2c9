//! The study itself: predicting and remembering, in turns with other processes.

use crate::answer::{BestRow, Forecast, RowForecast, Status, Summary, ToldRow};
use crate::encode::{self, Scale};
use crate::journal::Journal;
use crate::lines::News;
use crate::models::{Models, Width};
use crate::predictor::Predictor;
use crate::record::{Direction, Entry, FORMAT, Header, ModelPin, RowName, SamplerKind, to_line};
use crate::replay::{entries, follow, header_of, replay, standing};
use crate::replicates::Replicates;
use crate::rows::{Rows, check_ids, pool_file, read_pool};
use crate::sheet;
use crate::suspects::chosen_columns;
use crate::trials::{self, Known, Trials, Units};
use crate::{Error, Result};
use icee_base::files::{FileError, folder_of};
use icee_bo::pool::Told;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Rows predicted at a time.
const CHUNK: usize = 1 << 14;

/// What a new study is about.
#[derive(Clone, Debug, Default)]
pub struct StudyOptions {
    /// The sheet of candidates: CSV or .xlsx.
    pub pool: PathBuf,
    /// The columns to learn from; all of them by default, but for the ids.
    pub columns: Option<Vec<String>>,
    /// Columns not to learn from.
    pub ignore: Vec<String>,
    /// Columns that are to be taken otherwise than they look.
    pub scales: Vec<(String, Scale)>,
    /// The column that names the rows; their numbers do by default.
    pub id: Option<String>,
    /// The column in which values are filled in, if there is one. What stands there is told at once, and it is never
    /// learned from.
    pub value: Option<String>,
    /// Which values are good.
    pub direction: Direction,
    /// What picks the rows; by default a learned model where one fits, a Gaussian process elsewhere.
    pub sampler: Option<SamplerKind>,
    /// Fixes all that is random.
    pub seed: u64,
}

/// A search for the best row of a pool, kept in one file.
pub struct Study {
    pub(crate) journal: Journal,
    /// With the sheet as it is now.
    pub(crate) header: Header,
    /// As the first line says.
    first: Header,
    pub(crate) trials: Trials,
    pub(crate) models: Models,
    /// Where the pool lies.
    pub(crate) pool: PathBuf,
    /// Whether that was said by whoever opened the study, rather than by the journal.
    elsewhere: bool,
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

    /// Creates a study in a new file.
    ///
    /// # Errors
    /// Where the file exists, the pool cannot be used, or a choice makes no sense; then no file is written.
    pub fn create(path: &Path, options: &StudyOptions, models: Models) -> Result<Study> {
        if path.exists() {
            return Err(Error::Study(format!("{} exists already; choose another name", path.display())));
        }
        let mut table = read_pool(&options.pool)?;
        let mut notes = Vec::new();
        let places = chosen_columns(&table, options, &mut notes)?;
        for (name, _) in &options.scales {
            if !places.contains(&table.column(name)?) {
                return Err(Error::Study(format!("\"{name}\" is not learned from, so it has no scale")));
            }
        }
        let survey = encode::survey(&mut table, &places, &options.scales)?;
        notes.extend(survey.notes);
        if let Some(id) = &options.id {
            let column = table.column(id)?;
            check_ids(&mut table, column)?;
        }
        let width = Width::of(&survey.columns);
        let (sampler, note) = models.resolve(options.sampler, width)?;
        notes.extend(note);
        let header = Header {
            icee_study: FORMAT,
            pool: pool_file(&table, path)?,
            id: options.id.clone(),
            value: options.value.clone(),
            columns: survey.columns,
            direction: options.direction,
            sampler,
            seed: options.seed,
            model: if sampler == SamplerKind::Icee { models.pin(width, None) } else { None },
        };
        // All that could fail has been tried before a file is written.
        let mut rows = Rows::encode(table, &header)?;
        let mut lines = vec![to_line(&header)?];
        let outcomes = sheet::first_outcomes(&mut rows, &header)?;
        if !outcomes.is_empty() {
            lines.push(to_line(&Entry::Tell { outcomes })?);
        }
        Journal::create(path, &lines)?;
        let mut study = Study::open(path, Some(&options.pool), models)?;
        study.notes.splice(0..0, notes);
        Ok(study)
    }

    /// Opens a study; `pool` says where the pool lies, if it is no longer where it was. That needs no right to write, and
    /// nor does any look at it.
    ///
    /// # Errors
    /// Where there is none, or its file is damaged.
    pub fn open(path: &Path, pool: Option<&Path>, models: Models) -> Result<Study> {
        let mut journal = Journal::open(path)?;
        let news = journal.look()?;
        let header = header_of(path, &news)?;
        let elsewhere = pool.is_some();
        let pool = pool.map_or_else(|| folder_of(path).join(&header.pool.path), Path::to_owned);
        let mut study = Study {
            journal,
            first: header.clone(),
            header,
            trials: Trials::default(),
            models,
            pool,
            elsewhere,
            rows: None,
            notes: vec![],
            torn: news.is_torn(),
            waiting: Box::new(|_| ()),
        };
        study.take_in(&news)?;
        Ok(study)
    }

    /// What is done, once, where asking or telling has to wait for more than a second because another process is at work on
    /// the study's file.
    pub fn when_waiting(&mut self, say: impl Fn(&Path) + Send + Sync + 'static) {
        self.waiting = Box::new(say);
    }

    /// What the user should know; each note is given once.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn width(&self) -> Width {
        Width::of(&self.header.columns)
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

    /// The best row told so far: the one of the best value or, where some were measured more than once, the one that is
    /// believed to be the best.
    pub fn best(&mut self) -> Option<BestRow> {
        self.try_to_load();
        self.mention_torn();
        if let Some((units, replicates)) = self.replicates() {
            let (row, belief) = replicates.best();
            if let Some(trial) = self.trials.outcome(row).filter(|trial| trial.value().is_some()) {
                let (believed, sure) = (Some(units.shown(belief.mean)), Some(replicates.sure()));
                return Some(BestRow { row: self.outcome(trial), believed, sure });
            }
        }
        let trial = self.trials.best(self.header.direction)?.clone();
        Some(BestRow { row: self.outcome(&trial), believed: None, sure: None })
    }

    /// Rows to which nothing has happened, identical ones counted once.
    pub(crate) fn left(&self) -> usize {
        let mut taken = self.trials.taken(self.header.pool.rows);
        if let Some(rows) = &self.rows {
            rows.mark_repeated(&mut taken);
        }
        taken.iter().filter(|taken| !**taken).count()
    }

    /// By how much measurements of one row differ, where some row was measured more than once.
    fn noise(&self) -> Option<f64> {
        self.replicates().map(|(units, replicates)| units.distance(replicates.noise()))
    }

    /// What rows that were measured more than once say, and in which unit.
    fn replicates(&self) -> Option<(Units, Replicates)> {
        let units = Units::of(&self.trials, self.header.direction);
        Replicates::of(&units.history(&self.trials)).map(|replicates| (units, replicates))
    }

    /// All there is to know about the study.
    pub fn summary(&mut self) -> Summary {
        let best = self.best();
        let told: Vec<ToldRow> = self.trials.told.iter().map(|trial| self.outcome(trial)).collect();
        let header = &self.header;
        Summary {
            pool: self.pool.display().to_string(),
            rows: header.pool.rows,
            columns: header.columns.iter().map(|column| (column.name.clone(), column.code.describe())).collect(),
            id_column: header.id.clone(),
            value_column: header.value.clone(),
            direction: header.direction,
            sampler: header.sampler,
            model: self.trials.model.clone(),
            seed: header.seed,
            best,
            noise: self.noise(),
            running: self.trials.running().map(|(_, name)| name.shown()).collect(),
            left: self.left(),
            told,
            notes: self.take_notes(),
        }
    }

    /// What is believed of every row of the pool, in its order.
    ///
    /// # Errors
    /// Where too few values were told, or the pool cannot be used.
    pub fn predict(&mut self, sampler: Option<SamplerKind>) -> Result<Vec<RowForecast>> {
        self.load()?;
        let (sampler, _) = self.resolve(sampler)?;
        self.refresh()?;
        self.mention_torn();
        self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let Some(rows) = &mut self.rows else { return Err(not_loaded()) };
        let units = Units::of(&self.trials, self.header.direction);
        let history = units.history(&self.trials);
        let least = predictor.surrogate.least_history();
        if self.trials.values() < least {
            let known = self.trials.values();
            return Err(Error::Study(format!(
                "a prediction needs {least} told values, there are {known}; tell more first"
            )));
        }
        let best = lowest(&history);
        let taken = self.trials.taken(rows.points.size());
        let first = rows.first_of_each();
        let ids = rows.ids()?;
        let mut forecasts = Vec::with_capacity(ids.len());
        let all: Vec<usize> = (0..ids.len()).collect();
        let mut ids = ids.into_iter();
        for chunk in all.chunks(CHUNK) {
            let beliefs = predictor.predict(&rows.points, &history, chunk)?;
            for ((&row, belief), id) in chunk.iter().zip(&beliefs).zip(&mut ids) {
                let value = self.trials.outcome(first[row]).and_then(trials::Trial::value);
                let status = Status::of(first[row], &self.trials, &taken);
                forecasts.push(RowForecast { id, status, value, forecast: Forecast::new(belief, &units, best) });
            }
        }
        Ok(forecasts)
    }

    fn outcome(&self, trial: &trials::Trial) -> ToldRow {
        let cells = self.rows.as_ref().map(|rows| rows.cells(trial.row)).unwrap_or_default();
        let values = if let Known::Values(values) = &trial.known { values.clone() } else { vec![] };
        let status = Status::told(&trial.known);
        ToldRow { id: trial.name.shown(), row: trial.name.row, value: trial.value(), values, status, cells }
    }

    /// Reads the pool, if that has not happened yet.
    pub(crate) fn load(&mut self) -> Result<()> {
        if self.rows.is_none() {
            self.rows = Rows::load(&self.pool, &self.header)?;
        }
        let changed = || {
            let pool = self.pool.display();
            Error::Study(format!(
                "{pool} has changed since it was last read; `icee study update` or the next ask takes it in"
            ))
        };
        self.rows.as_ref().map(|_| ()).ok_or_else(changed)
    }

    /// That the rows at hand are still those of the sheet: under the lock, another process may have taken in a newer one.
    pub(crate) fn still_loaded(&self) -> Result<()> {
        match self.rows {
            Some(_) => Ok(()),
            None => Err(Error::Study("another process has taken in a newer sheet meanwhile; do it again".into())),
        }
    }

    /// Reads the pool where that is only for show.
    fn try_to_load(&mut self) {
        if let Err(error) = self.load() {
            self.notes.push(error.to_string());
        }
    }

    /// Does some work while no other process is at work on the study, with all they did taken in.
    pub(crate) fn alone<T>(&mut self, work: impl FnOnce(&mut Study) -> Result<T>) -> Result<T> {
        self.journal.lock(&*self.waiting)?;
        let result = self.catch_up().and_then(|()| work(self));
        self.journal.unlock()?;
        result
    }

    /// Takes in what is new, and mends the end of the journal. Only under the lock.
    fn catch_up(&mut self) -> Result<()> {
        let news = self.journal.read()?;
        if let Some(path) = self.journal.set_aside(&news)? {
            self.notes.push(format!(
                "the journal's last line was incomplete, perhaps after a crash; it was moved to {} and the rest is whole",
                path.display()
            ));
        }
        self.torn = false;
        self.take_in(&news)
    }

    /// Takes in what is new, and changes nothing.
    fn refresh(&mut self) -> Result<()> {
        let news = self.journal.look()?;
        self.torn = news.is_torn();
        self.take_in(&news)
    }

    fn take_in(&mut self, news: &News) -> Result<()> {
        let path = self.journal.path();
        let known = self.journal.lines();
        if known == 0 {
            // The beginning, also of a file that has taken the place of the one that was read before.
            if header_of(path, news)? != self.first {
                return Err(FileError::content(path, "it is another study now; open it anew").into());
            }
            self.trials = replay(path, &self.first, &news.lines[1..])?;
        } else if !news.lines.is_empty() {
            let entries = entries(path, &news.lines, known + 1)?;
            if entries.iter().any(|(_, entry)| *entry == Entry::Undo {}) {
                // What was taken in may not count any more.
                return self.read_again();
            }
            // All of them or, where one makes no sense, none.
            let mut trials = self.trials.clone();
            follow(&mut trials, path, entries)?;
            self.trials = trials;
        }
        self.journal.accept(news);
        self.follow_sheet();
        Ok(())
    }

    /// Knows the sheet as the journal says it is now.
    fn follow_sheet(&mut self) {
        let header = self.trials.with_sheet(&self.first);
        if self.header != header {
            if !self.elsewhere {
                self.pool = folder_of(self.journal.path()).join(&header.pool.path);
            }
            self.header = header;
            self.rows = None;
        }
    }

    /// Takes in the journal from its beginning.
    fn read_again(&mut self) -> Result<()> {
        self.journal.rewind();
        let news = self.journal.read()?;
        self.take_in(&news)
    }

    fn mention_torn(&mut self) {
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
        let mut standing = standing(self.journal.path(), entries(self.journal.path(), &news.lines[1..], 2)?)?;
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

/// The lowest value of a history; the mean of those of one row.
pub(crate) fn lowest(history: &[Told]) -> f64 {
    let mut rows: HashMap<usize, (f64, usize)> = HashMap::with_capacity(history.len());
    for told in history {
        let (sum, count) = rows.entry(told.candidate).or_default();
        *sum += told.value;
        *count += 1;
    }
    rows.values().map(|(sum, count)| sum / *count as f64).fold(f64::INFINITY, f64::min)
}

/// A row's name for a message.
pub(crate) fn shown(name: &RowName) -> String {
    format!("row \"{}\"", name.shown())
}

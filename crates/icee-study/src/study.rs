//! The study itself: predicting and remembering, in turns with other processes.

use crate::aims::Aims;
use crate::answer::{BestRow, Forecast, RowForecast, Status, Summary, ToldRow};
use crate::encode::{self, Scale};
use crate::goals::{Bounds, Direction, Further, dominates};
use crate::journal::JournalFile;
use crate::models::{Models, Width};
use crate::predictor::Predictor;
use crate::record::{Entry, FORMAT, Header, ModelPin, RowName, SamplerKind, to_line};
use crate::replay::{entries, follow, header_of, replay, standing};
use crate::replicates::Replicates;
use crate::rows::{Cells, Rows, check_ids, pool_file, read_pool};
use crate::sheet;
use crate::storage::{Home, News, Storage};
use crate::suspects::chosen_columns;
use crate::trials::{Trial, Trials};
use crate::{Error, Result};
use icee_bo::belief::Belief;
use std::path::{Path, PathBuf};

/// Rows predicted at a time.
const CHUNK: usize = 1 << 14;

/// What a new study is about.
#[derive(Clone, Debug, Default)]
pub struct StudyOptions {
    /// The CSV file of candidates.
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
    /// Between which ends values can lie at all.
    pub bounds: Option<Bounds>,
    /// Further outcomes of the same experiment, and what is wanted of them.
    pub further: Vec<Further>,
    /// The column that says what a row costs, where what is gained should be worth its price. It is never learned from.
    pub cost: Option<String>,
    /// What picks the rows; by default a learned model where one fits, a Gaussian process elsewhere.
    pub sampler: Option<SamplerKind>,
    /// Fixes all that is random.
    pub seed: u64,
}

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
        Study::create_in(&JournalFile(path.to_owned()), options, models)
    }

    /// Creates a study in any storage.
    ///
    /// # Errors
    /// As [`Study::create`].
    pub fn create_in(home: &dyn Home, options: &StudyOptions, models: Models) -> Result<Study> {
        options.check()?;
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
            pool: pool_file(&table, home.folder().as_deref())?,
            id: options.id.clone(),
            value: options.value.clone(),
            columns: survey.columns,
            direction: options.direction,
            bounds: options.bounds,
            further: options.further.clone(),
            cost: options.cost.clone(),
            earlier: None,
            sampler,
            seed: options.seed,
            model: if sampler == SamplerKind::Icee { models.pin(width, None) } else { None },
        };
        // All that could fail has been tried before anything is written.
        let mut rows = Rows::encode(table, &header)?;
        let mut lines = vec![to_line(&header)?];
        let outcomes = sheet::first_outcomes(&mut rows, &header, &options.pool)?;
        if !outcomes.is_empty() {
            lines.push(to_line(&Entry::Tell { outcomes })?);
        }
        home.create(&lines)?;
        let mut study = Study::open_in(home, Some(&options.pool), models)?;
        study.notes.splice(0..0, notes);
        Ok(study)
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
        let (name, folder) = (home.name(), home.folder());
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
        let aims = self.aims();
        if let Some(replicates) = replicates(&aims).filter(|_| aims.is_plain()) {
            let (row, belief) = replicates.best();
            if let Some(trial) = self.trials.outcome(row).filter(|trial| trial.value().is_some()) {
                let (believed, sure) = (Some(aims.main().units.shown(belief.mean)), Some(replicates.sure()));
                return Some(BestRow { row: self.outcome(trial), believed, sure });
            }
        }
        let trial = self.trials.best(&self.header.goals())?;
        Some(BestRow { row: self.outcome(trial), believed: None, sure: None })
    }

    /// The rows told whose limits hold and that are beaten by none: better in one outcome is worse in another. The best by the
    /// first outcome first; with one objective the best row alone.
    pub fn front(&mut self) -> Vec<ToldRow> {
        self.try_to_load();
        self.mention_torn();
        let goals = self.header.goals();
        let losses = |trial: &'_ Trial| goals.losses(&self.trials.outcomes_of(trial));
        let mut front: Vec<(Vec<f64>, &Trial)> = Vec::new();
        for (row, trial) in self.trials.told.iter().filter_map(|trial| Some((losses(trial)?, trial))) {
            if !front.iter().any(|(other, _)| dominates(other, &row)) {
                front.retain(|(other, _)| !dominates(&row, other));
                front.push((row, trial));
            }
        }
        front.sort_by(|(one, _), (other, _)| one[0].total_cmp(&other[0]));
        front.into_iter().map(|(_, trial)| self.outcome(trial)).collect()
    }

    /// How many outcomes are to be made as good as possible.
    pub fn objectives(&self) -> usize {
        self.header.goals().objectives()
    }

    /// Whether any row has a value.
    pub fn has_values(&self) -> bool {
        self.trials.values(0) > 0
    }

    /// The column in which values are filled in, if there is one.
    pub fn value_column(&self) -> Option<&str> {
        self.header.value.as_deref()
    }

    /// A row's cells by its number, from one; none where there is no such row or the pool has not been read.
    pub fn cells(&self, row: usize) -> Cells {
        let known = self.rows.as_ref().filter(|_| (1..=self.header.pool.rows).contains(&row));
        known.map(|rows| rows.cells(row - 1)).unwrap_or_default()
    }

    /// What is wanted of all outcomes, and what was told, as models see it.
    pub(crate) fn aims(&self) -> Aims {
        Aims::of(&self.trials, &self.header.goals())
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
        let aims = self.aims();
        replicates(&aims).map(|replicates| aims.main().units.distance(replicates.noise()))
    }

    /// All there is to know about the study.
    pub fn summary(&mut self) -> Summary {
        let best = self.best();
        let goals = self.header.goals();
        let front = if goals.objectives() > 1 { self.front() } else { vec![] };
        let told: Vec<ToldRow> = self.trials.told.iter().map(|trial| self.outcome(trial)).collect();
        let header = &self.header;
        let names = std::iter::once(header.value.clone());
        let names = names.chain(header.further.iter().map(|further| Some(further.name.clone())));
        Summary {
            pool: self.pool.display().to_string(),
            rows: header.pool.rows,
            columns: header.columns.iter().map(|column| (column.name.clone(), column.code.describe())).collect(),
            id_column: header.id.clone(),
            value_column: header.value.clone(),
            direction: header.direction,
            goals: names.zip(goals.wanted().map(|wanted| wanted.to_string())).collect(),
            cost_column: header.cost.clone(),
            earlier: header.earlier.as_ref().map(|earlier| (earlier.study.clone(), earlier.rows.len())),
            sampler: header.sampler,
            model: self.trials.model.clone(),
            seed: header.seed,
            best,
            noise: self.noise(),
            front,
            running: self.trials.running().map(|running| running.name.shown()).collect(),
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
        let goals = self.header.goals();
        let aims = Aims::of(&self.trials, &goals);
        let least = predictor.surrogate.least_history();
        let known = (0..aims.each.len()).map(|number| self.trials.values(number)).min().unwrap_or_default();
        if known < least {
            return Err(Error::Study(format!(
                "a prediction needs {least} told values, there are {known}; tell more first"
            )));
        }
        let (histories, front) = (aims.histories(), aims.front());
        let taken = self.trials.taken(rows.points.size());
        let first = rows.first_of_each();
        let ids = rows.ids()?;
        let mut forecasts = Vec::with_capacity(ids.len());
        let all: Vec<usize> = (0..ids.len()).collect();
        let mut ids = ids.into_iter();
        for chunk in all.chunks(CHUNK) {
            let beliefs = predictor.predict_all(&rows.points, &histories, chunk)?;
            for ((at, &row), id) in chunk.iter().enumerate().zip(&mut ids) {
                let value = self.trials.outcome(first[row]).and_then(Trial::value);
                let status = Status::of(first[row], &self.trials, &taken);
                let of_row: Vec<&Belief> = beliefs.iter().map(|beliefs| &beliefs[at]).collect();
                let forecast = Forecast::new(&of_row, &aims, &front, &goals);
                forecasts.push(RowForecast { id, row: row + 1, status, value, forecast });
            }
        }
        Ok(forecasts)
    }

    fn outcome(&self, trial: &Trial) -> ToldRow {
        let cells = self.rows.as_ref().map(|rows| rows.cells(trial.row)).unwrap_or_default();
        let values = trial.outcomes(0).collect();
        let further =
            self.header.further.iter().zip(1..).map(|(further, at)| (further.name.clone(), trial.outcome(at)));
        let status = Status::told(&trial.known);
        let (id, row, value) = (trial.name.shown(), trial.name.row, trial.value());
        let measurements = trial
            .measurements()
            .iter()
            .map(|measurement| (0..=self.header.further.len()).map(|number| measurement.outcome(number)).collect());
        let measurements = measurements.collect();
        ToldRow { id, row, value, values, measurements, further: further.collect(), status, cells }
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

    /// Takes in what is new, and changes nothing.
    fn refresh(&mut self) -> Result<()> {
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
        let header = self.trials.with_sheet(&self.first);
        if self.header != header {
            if !self.elsewhere {
                self.pool = sheet::place(self.folder.as_deref(), &header);
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

/// What rows that were measured more than once say of the value that a study is about.
fn replicates(aims: &Aims) -> Option<Replicates> {
    Replicates::of(&aims.main().history)
}

impl StudyOptions {
    /// Whether what is wanted can be.
    fn check(&self) -> Result<()> {
        let fail = |message: String| Err(Error::Study(message));
        let Bounds { low, high } = self.bounds.unwrap_or_default();
        let mut numbers: Vec<f64> = [low, high].into_iter().flatten().collect();
        numbers.extend(self.further.iter().filter_map(|further| further.wanted.number()));
        if let Direction::Target(target) = self.direction {
            numbers.push(target);
        }
        if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
            return fail(format!("{number} is not a number that values can be compared with"));
        }
        if let (Some(low), Some(high)) = (low, high)
            && low >= high
        {
            return fail(format!("values cannot lie between {low} and {high}; the lower end comes first"));
        }
        match self.direction {
            Direction::Target(target) if !self.bounds.unwrap_or_default().hold(target) => {
                return fail(format!("the target {target} lies outside of what values can be"));
            }
            _ => {}
        }
        for (at, Further { name, .. }) in self.further.iter().enumerate() {
            let twice = self.further[..at].iter().any(|other| other.name == *name);
            if name.is_empty() || twice || self.value.as_ref() == Some(name) {
                return fail(format!("the outcome \"{name}\" needs a name of its own"));
            }
        }
        Ok(())
    }
}

/// A row's name for a message.
pub(crate) fn shown(name: &RowName) -> String {
    format!("row \"{}\"", name.shown())
}

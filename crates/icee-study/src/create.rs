//! From a sheet to a study: its options, checked, and its first line.

use crate::encode::Scale;
use crate::error::{OrProblem, Result};
use crate::formats;
use crate::goals::{Bounds, Direction, Further};
use crate::journal::JournalFile;
use crate::models::{Models, Width};
use crate::record::{Earlier, FORMAT, Header, Origin, SamplerKind, to_line};
use crate::results;
use crate::rows::{Rows, check_ids, contents, relative_to};
use crate::sheet;
use crate::storage::{Home, KeptSheet};
use crate::study::Study;
use crate::survey::survey;
use crate::suspects::{check_width, chosen_columns, relevant, suspects};
use icee_protocol::{Note, Problem, Suspicion};
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Results beside the main one: each has a model of its own.
const MOST_FURTHER: usize = 256;

/// Where the sheet of a new study comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, which the study follows.
    File(PathBuf),
    /// Bytes that are in no file.
    Bytes(Vec<u8>),
}

impl Default for Source {
    fn default() -> Source {
        Source::Bytes(vec![])
    }
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Source {
        Source::File(path)
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Source {
        Source::File(path.to_owned())
    }
}

/// An earlier study, wherever it is kept.
#[derive(Clone)]
pub struct Like {
    /// Its name.
    pub name: String,
    /// Its home.
    pub home: Arc<dyn Home>,
}

impl fmt::Debug for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl From<PathBuf> for Like {
    fn from(path: PathBuf) -> Like {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Like { name, home: Arc::new(JournalFile(path)) }
    }
}

/// The options of a new study.
#[derive(Clone, Debug, Default)]
pub struct StudyOptions {
    /// The sheet of candidates.
    pub pool: Source,
    /// The columns to learn from; by default all, except for the ids.
    pub columns: Option<Vec<String>>,
    /// Columns not to learn from.
    pub ignore: Vec<String>,
    /// Columns that are read otherwise than they look.
    pub scales: Vec<(String, Scale)>,
    /// The column that names the rows; without one their numbers do.
    pub id: Option<String>,
    /// The column in which results are filled in, if there is one. Results in it are recorded at once, and it is never
    /// an input.
    pub value: Option<String>,
    /// The goal of the main result.
    pub direction: Direction,
    /// The range of possible results.
    pub bounds: Option<Bounds>,
    /// Additional objectives and constraints.
    pub further: Vec<Further>,
    /// The column with the cost of a row: gains are weighed against it. It is never an input.
    pub cost: Option<String>,
    /// An earlier study of such rows, whose results are used as well.
    pub like: Option<Like>,
    /// The sampler; by default a learned model if one fits, else a Gaussian process.
    pub sampler: Option<SamplerKind>,
    /// Fixes everything random.
    pub seed: u64,
}

impl StudyOptions {
    /// Checks that the goals are possible.
    pub(crate) fn check(&self) -> Result<()> {
        let Bounds { low, high } = self.bounds.unwrap_or_default();
        let mut numbers: Vec<f64> = [low, high].into_iter().flatten().collect();
        numbers.extend(self.further.iter().filter_map(|further| further.wanted.number()));
        if let Direction::Target(target) = self.direction {
            numbers.push(target);
        }
        if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
            return Err(Problem::NotFinite { text: number.to_string() });
        }
        if let (Some(low), Some(high)) = (low, high)
            && low >= high
        {
            return Err(Problem::RangeReversed { low, high });
        }
        match self.direction {
            Direction::Target(target) if !self.bounds.unwrap_or_default().hold(target) => {
                return Err(Problem::TargetOutside { target });
            }
            _ => {}
        }
        if self.further.len() > MOST_FURTHER {
            return Err(Problem::TooManyGoals { count: self.further.len(), most: MOST_FURTHER });
        }
        let mut names = HashSet::new();
        for Further { name, .. } in &self.further {
            let twice = !names.insert(name);
            let reserved = [results::VALUE, results::row_column(|_| false)].contains(&name.as_str());
            if twice {
                return Err(Problem::GoalTwice { name: name.clone() });
            }
            if name.is_empty() || reserved || self.value.as_ref() == Some(name) {
                return Err(Problem::GoalName { name: name.clone() });
            }
        }
        Ok(())
    }
}

impl Study {
    /// Creates a study in a new file.
    ///
    /// # Errors
    /// Where the file exists, the sheet cannot be used, or a choice makes no sense; then no file is written.
    pub fn create(path: &Path, options: &StudyOptions, models: Models) -> Result<Study> {
        Study::create_in(&JournalFile(path.to_owned()), options, models)
    }

    /// Creates a study in any storage.
    ///
    /// # Errors
    /// As [`Study::create`].
    pub fn create_in(home: &dyn Home, options: &StudyOptions, models: Models) -> Result<Study> {
        Study::create_from(home, options, models, Origin::default()).map(|(study, _)| study)
    }

    /// The same for a request, with the columns that are perhaps not inputs. The sheet is read once.
    pub(crate) fn create_from(
        home: &dyn Home,
        options: &StudyOptions,
        models: Models,
        from: Origin,
    ) -> Result<(Study, Vec<Suspicion>)> {
        options.check()?;
        let (file, bytes) = match &options.pool {
            Source::File(path) => (path.clone(), formats::read_bytes(path)?),
            Source::Bytes(bytes) => (PathBuf::from("sheet"), bytes.clone()),
        };
        let sheet = KeptSheet::new(bytes);
        let mut table = formats::table(&file, sheet.bytes.clone())?;
        let mut notes = Vec::new();
        check_width(&table)?;
        let suspects = suspects(&mut table, options)?;
        let places = chosen_columns(&table, options, &mut notes)?;
        let learned: HashSet<usize> = places.iter().copied().collect();
        for (name, _) in &options.scales {
            if !learned.contains(&table.column(name).or_problem()?) {
                return Err(Problem::ScaleUnused { column: name.clone() });
            }
        }
        let survey = survey(&mut table, &places, &options.scales)?;
        let suspects = relevant(suspects, &survey.columns);
        notes.splice(0..0, suspects.iter().cloned().map(Note::Suspect));
        notes.extend(survey.notes);
        notes.extend(survey.footers);
        if let Some(id) = &options.id {
            let column = table.column(id).or_problem()?;
            check_ids(&mut table, column)?;
        }
        let like = options.like.as_ref().map(|like| Earlier::of_study(like, &survey.columns, options.direction));
        let (earlier, note) = like.transpose()?.unzip();
        notes.extend(note.flatten());
        notes.extend((earlier.is_some() && !options.further.is_empty()).then_some(Note::EarlierFirst));
        let width = Width::of(&survey.columns, earlier.is_some());
        let (sampler, note) = models.resolve(options.sampler, width)?;
        notes.extend(note);
        let path = match &options.pool {
            Source::File(path) => Some(relative_to(home.folder().as_deref(), path)?),
            Source::Bytes(_) => None,
        };
        let mut pool = contents(&table);
        (pool.path, pool.hash) = (path, Some(sheet.hash.clone()));
        let mut header = Header {
            icee_study: FORMAT,
            from,
            pool,
            id: options.id.clone(),
            value: options.value.clone(),
            columns: survey.columns,
            direction: options.direction,
            bounds: options.bounds,
            further: options.further.clone(),
            cost: options.cost.clone(),
            earlier,
            sampler,
            seed: options.seed,
            model: if sampler == SamplerKind::Learned { models.pin(width, None) } else { None },
            outcomes: vec![],
        };
        header.pool.others = header.others(&table);
        // All that could fail has been tried before anything is written.
        let mut rows = Rows::encode(table, &header)?;
        let (outcomes, said) = sheet::first_outcomes(&mut rows, &header, &file)?;
        header.outcomes = outcomes;
        notes.extend(said);
        notes.extend(sheet::repeated(&rows));
        home.create(&[to_line(&header)?], &[sheet])?;
        let mut study = Study::open_in(home, models)?;
        study.rows = Some(rows);
        study.notes.splice(0..0, notes);
        Ok((study, suspects))
    }
}

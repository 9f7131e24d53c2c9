//! From a sheet to a study: what it is about, checked, and its first lines.

use crate::encode::Scale;
use crate::goals::{Bounds, Direction, Further};
use crate::journal::JournalFile;
use crate::models::{Models, Width};
use crate::record::{Earlier, Entry, FORMAT, Header, SamplerKind, to_line};
use crate::results;
use crate::rows::{Rows, check_ids, pool_file, read_pool};
use crate::sheet;
use crate::storage::Home;
use crate::study::Study;
use crate::survey::survey;
use crate::suspects::{check_width, chosen_columns};
use crate::{Error, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Outcomes beside the one that a study is about: each has a model of its own.
const MOST_FURTHER: usize = 256;

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
    /// The file of an earlier study of such rows, to learn from its values, too.
    pub like: Option<PathBuf>,
    /// What picks the rows; by default a learned model where one fits, a Gaussian process elsewhere.
    pub sampler: Option<SamplerKind>,
    /// Fixes all that is random.
    pub seed: u64,
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
        if self.further.len() > MOST_FURTHER {
            return fail(format!("{} further outcomes are wanted; at most {MOST_FURTHER} are", self.further.len()));
        }
        let mut names = HashSet::new();
        for Further { name, .. } in &self.further {
            let twice = !names.insert(name);
            let reserved = [results::VALUE, results::row_column(|_| false)].contains(&name.as_str());
            if twice {
                return fail(format!(
                    "two things are wanted of \"{name}\", and one wish for each outcome is heard; for values between two limits ask \
                     for their middle, \"{name} = 7\""
                ));
            }
            if name.is_empty() || reserved || self.value.as_ref() == Some(name) {
                return fail(format!("the outcome \"{name}\" needs a name of its own"));
            }
        }
        Ok(())
    }
}

impl Study {
    /// Creates a study in a new file.
    ///
    /// # Errors
    /// Where the file exists, the pool cannot be used, or a choice makes no sense; then no file is written.
    pub fn create(path: &Path, options: &StudyOptions, models: Models) -> Result<Study> {
        if path.exists() {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            return Err(Error::Conflict(format!(
                "{} exists already; choose another name, or put it away with `icee study delete {name}`",
                path.display()
            )));
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
        check_width(&table)?;
        let places = chosen_columns(&table, options, &mut notes)?;
        let learned: HashSet<usize> = places.iter().copied().collect();
        for (name, _) in &options.scales {
            if !learned.contains(&table.column(name)?) {
                return Err(Error::Study(format!("\"{name}\" is not learned from, so it has no scale")));
            }
        }
        let survey = survey(&mut table, &places, &options.scales)?;
        notes.extend(survey.notes);
        notes.extend(survey.footers);
        if let Some(id) = &options.id {
            let column = table.column(id)?;
            check_ids(&mut table, column)?;
        }
        let like = options.like.as_deref().map(|path| Earlier::of_study(path, &survey.columns, options.direction));
        let (earlier, note) = like.transpose()?.unzip();
        notes.extend(note.flatten());
        if earlier.is_some() && !options.further.is_empty() {
            notes.push("the earlier study has values of the first outcome alone; the others begin anew".into());
        }
        let width = Width::of(&survey.columns, earlier.is_some());
        let (sampler, note) = models.resolve(options.sampler, width)?;
        notes.extend(note);
        let mut header = Header {
            icee_study: FORMAT,
            pool: pool_file(&table, home.folder().as_deref())?,
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
            model: if sampler == SamplerKind::Icee { models.pin(width, None) } else { None },
        };
        header.pool.others = Some(header.others(&table));
        // All that could fail has been tried before anything is written.
        let mut rows = Rows::encode(table, &header)?;
        let mut lines = vec![to_line(&header)?];
        let (outcomes, said) = sheet::first_outcomes(&mut rows, &header, &options.pool)?;
        notes.extend(said);
        notes.extend(sheet::repeated(&rows));
        if !outcomes.is_empty() {
            lines.push(to_line(&Entry::Tell { outcomes, late: None })?);
        }
        home.create(&lines)?;
        let mut study = Study::open_in(home, Some(&options.pool), models)?;
        study.notes.splice(0..0, notes);
        Ok(study)
    }
}

//! Studies: which row next? Answers are the JSON of the command line; the package makes frames of them.

use crate::call::{Process, Result, call, here, in_threads, json, said};
use icee_base::files::write_atomically;
use icee_base::table::Table;
use icee_models::study_models;
use icee_report::output::write_page;
use icee_report::study::{glance, page_of};
use icee_study::{
    AskOptions, Bounds, Corrected, Direction, Further, Outcome, Repeat, SHEETS, SamplerKind, Scale, StudyOptions,
    duration, suspects,
};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Said where nobody says which values are good: to guess would be worse.
const NO_DIRECTION: &str =
    "which values are good? add direction=\"maximize\" or direction=\"minimize\", or target=NUMBER";

/// What stands for the path of a table that is in no file.
const FRAME: &str = "the table";

/// A study in a journal file.
#[pyclass(frozen, module = "icee._native")]
pub struct Study {
    path: PathBuf,
    /// Where its sheet lies now, if somebody said so.
    pool: Option<PathBuf>,
    study: Mutex<(Process, icee_study::Study)>,
}

type Opened<'a> = MutexGuard<'a, (Process, icee_study::Study)>;

impl Study {
    fn new(path: PathBuf, pool: Option<PathBuf>, study: icee_study::Study) -> Study {
        Study { path, pool, study: Mutex::new((Process::this(), study)) }
    }

    /// The study for one caller at a time. Its model has threads; in a fork it is opened anew.
    fn lock(&self) -> Result<Opened<'_>> {
        let mut study = self.study.lock().unwrap_or_else(PoisonError::into_inner);
        if !study.0.is_this() {
            let opened = icee_study::Study::open(&self.path, self.pool.as_deref(), study_models()?)?;
            std::mem::forget(std::mem::replace(&mut *study, (Process::this(), opened)));
        }
        Ok(study)
    }

    /// Does something with the study as it is now: others may have written meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut icee_study::Study) -> Result<T> + Send,
    ) -> PyResult<T> {
        here(py, || {
            // Locked before the threads are entered: one that waits takes up other calls, and these must not wait for what it holds.
            let mut opened = self.lock()?;
            let study = &mut opened.1;
            in_threads(|| {
                study.refresh()?;
                work(study)
            })
        })
    }

    /// What a page calls it.
    fn name(&self) -> String {
        self.path.file_stem().map_or_else(|| "study".into(), |stem| stem.to_string_lossy().into_owned())
    }
}

#[pymethods]
impl Study {
    #[staticmethod]
    #[pyo3(signature = (path, pool, *, value, direction, target, bounds, also, cost, id, columns, ignore, scales, like, sampler, seed))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        pool: PathBuf,
        value: Option<String>,
        direction: Option<&str>,
        target: Option<f64>,
        bounds: Option<(Option<f64>, Option<f64>)>,
        also: Vec<String>,
        cost: Option<String>,
        id: Option<String>,
        columns: Option<Vec<String>>,
        ignore: Vec<String>,
        scales: Vec<(String, String)>,
        like: Option<PathBuf>,
        sampler: Option<&str>,
        seed: u64,
    ) -> PyResult<(Study, Vec<String>)> {
        call(py, || {
            let direction = match (direction, target) {
                (Some(_), Some(_)) => return Err(said("give a direction or a target, not both")),
                (Some(word), None) => word.parse::<Direction>()?,
                (None, Some(target)) => Direction::Target(target),
                (None, None) => return Err(said(NO_DIRECTION)),
            };
            let options = StudyOptions {
                pool,
                columns,
                ignore,
                scales: scales.into_iter().map(|(name, scale)| (name, scale_of(&scale))).collect(),
                id,
                value,
                direction,
                bounds: bounds.map(|(low, high)| Bounds { low, high }),
                further: also.iter().map(|wish| wish.parse::<Further>()).collect::<std::result::Result<_, _>>()?,
                cost,
                like,
                sampler: kind(sampler)?,
                seed,
            };
            let mut notes: Vec<String> = suspects(&options)?.iter().map(ToString::to_string).collect();
            let mut study = icee_study::Study::create(&path, &options, study_models()?)?;
            notes.extend(study.take_notes());
            Ok((Study::new(path, None, study), notes))
        })
    }

    #[staticmethod]
    #[pyo3(signature = (path, pool=None))]
    fn open(py: Python<'_>, path: PathBuf, pool: Option<PathBuf>) -> PyResult<Study> {
        call(py, || {
            let study = icee_study::Study::open(&path, pool.as_deref(), study_models()?)?;
            Ok(Study::new(path, pool, study))
        })
    }

    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    #[getter]
    fn pool(&self) -> Option<&Path> {
        self.pool.as_deref()
    }

    /// The column that names the rows, if there is one.
    #[getter]
    fn id_column(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |study| Ok(study.id_column().map(str::to_owned)))
    }

    /// What a column of rows' numbers is called.
    #[getter]
    fn row_column(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |study| Ok(study.row_column()))
    }

    /// Which sheet the rows are numbered by: another one has another text.
    #[getter]
    fn sheet(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |study| Ok(study.sheet_fingerprint().to_owned()))
    }

    /// What is to be said after what was done last.
    fn take_notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |study| Ok(study.take_notes()))
    }

    #[pyo3(signature = (count, *, condition, more, same, within, by, sampler))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    fn ask(
        &self,
        py: Python<'_>,
        count: usize,
        condition: Option<String>,
        more: bool,
        same: Vec<String>,
        within: Option<Within>,
        by: Option<String>,
        sampler: Option<&str>,
    ) -> PyResult<String> {
        self.with(py, |study| {
            let sampler = kind(sampler)?;
            let (within, now) = (within.map(Within::seconds).transpose()?, now());
            let until = within.map(|seconds| now.saturating_add(seconds));
            json(&study.ask_or_repeat(&AskOptions { count, sampler, condition, same, until, by }, more, now)?)
        })
    }

    #[pyo3(signature = (row, value, further, *, impossible, repeat, by))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    fn tell(
        &self,
        py: Python<'_>,
        row: &str,
        value: Option<f64>,
        further: Vec<(String, f64)>,
        impossible: bool,
        repeat: &str,
        by: Option<&str>,
    ) -> PyResult<String> {
        self.with(py, |study| {
            let outcome = match value {
                Some(value) => Outcome::Value(value),
                None if impossible => Outcome::Impossible,
                None => Outcome::Failed,
            };
            let further: Vec<(&str, f64)> = further.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            json(&study.tell_by(by, row, outcome, &further, repeat_of(repeat)?)?)
        })
    }

    /// Tells all rows of a table, given as CSV.
    #[pyo3(signature = (csv, value, *, repeat))]
    fn tell_table(&self, py: Python<'_>, csv: Vec<u8>, value: Option<&str>, repeat: &str) -> PyResult<String> {
        self.with(py, |study| {
            let table = Table::of_bytes(Path::new(FRAME), csv)?;
            json(&study.tell_table(table, value, repeat_of(repeat)?)?)
        })
    }

    /// Tells all rows of a file.
    #[pyo3(signature = (path, value, *, repeat))]
    fn tell_file(&self, py: Python<'_>, path: PathBuf, value: Option<&str>, repeat: &str) -> PyResult<String> {
        self.with(py, |study| json(&study.tell_csv(&path, value, repeat_of(repeat)?)?))
    }

    /// Takes in what has changed in the sheet, or another sheet in its place.
    #[pyo3(signature = (sheet=None, *, repeat, keep))]
    fn update(&self, py: Python<'_>, sheet: Option<Vec<u8>>, repeat: &str, keep: bool) -> PyResult<String> {
        let corrected = if keep { Corrected::Keep } else { Corrected::Refuse };
        // A file of the user's is never written to.
        let own = SHEETS.iter().chain(&["csv"]).map(|ending| self.path.with_extension(ending)).collect::<Vec<_>>();
        self.with(py, |study| {
            let repeat = repeat_of(repeat)?;
            let Some(sheet) = sheet else { return json(&study.update(repeat, corrected)?) };
            json(&study.update_to(&sheet, repeat, corrected, &mut |place| {
                if !own.iter().any(|own| own == place) {
                    let words = format!(
                        "the sheet of this study is the file {}; change that one, and update without a table",
                        place.display()
                    );
                    return Err(icee_study::Error::Study(words));
                }
                write_atomically(place, &sheet)?;
                Ok(place.to_owned())
            })?)
        })
    }

    #[pyo3(signature = (sampler=None))]
    fn predict(&self, py: Python<'_>, sampler: Option<&str>) -> PyResult<String> {
        self.with(py, |study| json(&study.predict(kind(sampler)?)?))
    }

    fn best(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |study| json(&study.best()))
    }

    fn front(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |study| json(&study.front()))
    }

    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |study| json(&study.summary()))
    }

    fn why(&self, py: Python<'_>, row: &str) -> PyResult<String> {
        self.with(py, |study| json(&study.why(row, None)?))
    }

    fn effects(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |study| json(&study.effects(None)?))
    }

    /// The cells of all rows, as text: a list a column.
    fn cells(&self, py: Python<'_>) -> PyResult<Vec<(String, Vec<String>)>> {
        self.with(py, |study| Ok(study.all_cells()?))
    }

    #[pyo3(signature = (rows, *, within, by))]
    fn renew(&self, py: Python<'_>, rows: Vec<String>, within: Within, by: Option<&str>) -> PyResult<()> {
        self.with(py, |study| {
            let until = now().saturating_add(within.seconds()?);
            Ok(study.renew(&rows.iter().map(String::as_str).collect::<Vec<_>>(), until, by)?)
        })
    }

    fn withdraw(&self, py: Python<'_>, rows: Vec<String>) -> PyResult<()> {
        self.with(py, |study| Ok(study.withdraw(&rows.iter().map(String::as_str).collect::<Vec<_>>(), None)?))
    }

    fn forget(&self, py: Python<'_>, rows: Vec<String>) -> PyResult<()> {
        self.with(py, |study| Ok(study.forget(&rows.iter().map(String::as_str).collect::<Vec<_>>())?))
    }

    fn undo(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |study| Ok(study.undo()?))
    }

    #[pyo3(signature = (sampler=None))]
    fn accept_model(&self, py: Python<'_>, sampler: Option<&str>) -> PyResult<()> {
        self.with(py, |study| Ok(study.accept_model(kind(sampler)?)?))
    }

    /// Writes a page about the study; gives what else is to be said.
    fn report(&self, py: Python<'_>, path: PathBuf, ahead: usize) -> PyResult<Vec<String>> {
        let name = self.name();
        self.with(py, move |study| {
            let (page, notes) = page_of(study, &name, ahead)?;
            write_page(&page, &path)?;
            Ok(notes)
        })
    }

    /// The study at a glance as a piece of HTML, with the picture of its progress.
    fn glance(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name();
        self.with(py, move |study| Ok(glance(&study.summary(), &name)))
    }
}

/// A time: seconds, or words such as 8h.
#[derive(FromPyObject)]
pub enum Within {
    /// Seconds.
    Seconds(f64),
    /// Words.
    Words(String),
}

impl Within {
    fn seconds(self) -> Result<u64> {
        match self {
            Within::Seconds(seconds) => Ok(duration(&format!("{seconds}s"))?),
            Within::Words(words) => Ok(duration(&words)?),
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn kind(sampler: Option<&str>) -> Result<Option<SamplerKind>> {
    Ok(sampler.map(str::parse).transpose()?)
}

/// The package says no other words.
fn scale_of(word: &str) -> Scale {
    match word {
        "log" => Scale::Log,
        "linear" => Scale::Linear,
        _ => Scale::Categories,
    }
}

fn repeat_of(word: &str) -> Result<Repeat> {
    match word {
        "refuse" => Ok(Repeat::Refuse),
        "again" => Ok(Repeat::Again),
        "replace" => Ok(Repeat::Replace),
        _ => Err(said(format!("repeat is \"refuse\", \"again\" or \"replace\", not \"{word}\""))),
    }
}

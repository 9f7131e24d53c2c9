//! Places that have studies: requests to a place itself, before there is a study or about all of them.

use crate::create::{Like, Source, StudyOptions};
use crate::encode::Scale;
use crate::error::{OrProblem, Result};
use crate::goals::{Direction, Further};
use crate::handle::{Context, origin_of, sheet_of};
use crate::journal::JournalFile;
use crate::memory::InMemory;
use crate::models::Models;
use crate::record::Origin;
use crate::storage::Home;
use crate::study::Study;
use crate::transfer::{Package, put_away};
use crate::words::amount;
use icee_base::files::FileError;
use icee_protocol::{
    Bundle, Column, Create, Gone, Import, Line, Note, Problem, StudyName, Summary, Surveyed, Texts, Verb,
};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of a sheet that are shown before there is a study.
const PREVIEW: usize = 5;

/// A place that has studies: a folder, a database.
pub trait Place: Send + Sync {
    /// All studies, in order.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn names(&self) -> Result<Vec<StudyName>>;

    /// Whether there is a study of this name.
    ///
    /// # Errors
    /// If that cannot be known.
    fn exists(&self, name: &StudyName) -> Result<bool>;

    /// Where a study of this name is, or will be.
    ///
    /// # Errors
    /// Where that cannot be known.
    fn home(&self, name: &StudyName) -> Result<Box<dyn Home>>;

    /// Moves a study away so that it can be brought back; says where to, if that is a folder.
    ///
    /// # Errors
    /// Where that cannot be done.
    fn put_away(&self, name: &StudyName, now: u64) -> Result<Option<String>>;
}

/// A folder of journals.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// The journal of a study.
    pub fn path(&self, name: &StudyName) -> PathBuf {
        self.0.join(format!("{name}.jsonl"))
    }
}

impl Place for Folder {
    fn names(&self) -> Result<Vec<StudyName>> {
        let files = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
            files => files.map_err(FileError::io(&self.0)).or_problem()?,
        };
        let name = |file: std::fs::DirEntry| file.file_name().to_str()?.strip_suffix(".jsonl")?.parse().ok();
        let mut names: Vec<StudyName> = files.flatten().filter_map(name).collect();
        names.sort();
        Ok(names)
    }

    fn exists(&self, name: &StudyName) -> Result<bool> {
        Ok(self.path(name).exists())
    }

    fn home(&self, name: &StudyName) -> Result<Box<dyn Home>> {
        Ok(Box::new(JournalFile(self.path(name))))
    }

    fn put_away(&self, name: &StudyName, now: u64) -> Result<Option<String>> {
        put_away(&self.path(name), now).map(|place| Some(place.display().to_string()))
    }
}

/// The problem of an unknown name.
///
/// # Errors
/// Where the place cannot be read.
pub fn require(place: &dyn Place, name: &StudyName, shown: Option<String>) -> Result<()> {
    if place.exists(name)? {
        return Ok(());
    }
    let known = place.names()?.into_iter().map(String::from).take(20).collect();
    Err(Problem::NoStudy { name: name.to_string(), place: shown, known })
}

/// Starts a study. The same request with the same key starts it once.
///
/// # Errors
/// Where there is one of that name, or the sheet or a choice makes no sense; then nothing is left behind.
pub fn create(
    place: &dyn Place,
    mut request: Create,
    models: Models,
    context: &Context<'_>,
) -> Result<(Summary, Vec<Note>)> {
    let name = request.name.clone().ok_or(Problem::NameMissing)?;
    let origin = origin_of(Verb::Create, &request, context)?;
    let home = place.home(&name)?;
    if place.exists(&name)? {
        return repeated(&*home, &name, &origin, models);
    }
    let direction = direction(&request)?.ok_or(Problem::DirectionMissing)?;
    let sheet = request.sheet.take().ok_or(Problem::SheetMissing)?;
    let options = StudyOptions { direction, ..options(Some(place), &request, sheet_of(sheet, context)?)? };
    let (study, _) = Study::create_from(&*home, &options, models, origin)?;
    Ok(summed_up(study))
}

/// What a new study looks like.
fn summed_up(mut study: Study) -> (Summary, Vec<Note>) {
    let summary = study.summary(None);
    (summary, study.take_notes())
}

/// An existing study counts as created if the same request made it.
fn repeated(home: &dyn Home, name: &StudyName, origin: &Origin, models: Models) -> Result<(Summary, Vec<Note>)> {
    let taken = || Problem::StudyExists { name: name.to_string() };
    let key = origin.key.as_ref().ok_or_else(taken)?;
    let study = Study::open_in(home, models)?;
    match study.tally.keys.get(&key.key) {
        Some((1, request)) if *request == key.request => Ok(summed_up(study)),
        _ => Err(taken()),
    }
}

/// Imports a study: its journal and its sheets.
///
/// # Errors
/// Where there is one of that name, or journal and sheets are not sound or not of one study; then nothing is left behind.
pub fn import(place: &dyn Place, request: Import, models: Models) -> Result<(Summary, Vec<Note>)> {
    let Import { name, journal, sheets } = request;
    let name = name.ok_or(Problem::NameMissing)?;
    let package = Package::of(&Bundle { journal, sheets })?;
    let home = place.home(&name)?;
    if place.exists(&name)? {
        // The same request again is done already.
        let mut study = Study::open_in(&*home, models)?;
        if study.all_lines()? != package.lines {
            return Err(Problem::StudyExists { name: name.to_string() });
        }
        return Ok(summed_up(study));
    }
    package.create(&*home)?;
    Study::open_in(&*home, models).map(summed_up)
}

/// How a sheet is read: a study of it in memory, of which nothing is kept.
///
/// # Errors
/// As [`create`].
pub fn survey(mut request: Create, models: Models, context: &Context<'_>) -> Result<(Surveyed, Vec<Note>)> {
    let direction = direction(&request)?.unwrap_or_default();
    let sheet = request.sheet.take().ok_or(Problem::SheetMissing)?;
    let options = StudyOptions { direction, ..options(None, &request, sheet_of(sheet, context)?)? };
    let (mut study, suspects) = Study::create_from(&InMemory::new("sheet"), &options, models, Origin::default())?;
    let summary = study.summary(None);
    let notes = study.take_notes();
    let mut preview = study.all_cells()?.columns;
    for Column { cells, .. } in &mut preview {
        *cells = cells.iter().take(PREVIEW).collect::<Texts>();
    }
    Ok((Surveyed { summary, suspects, preview }, notes))
}

/// Deletes a study.
///
/// # Errors
/// Where there is none, or it cannot be moved.
pub fn delete(place: &dyn Place, name: &StudyName, context: &Context<'_>) -> Result<Gone> {
    require(place, name, None)?;
    let where_to = place.put_away(name, context.now)?;
    Ok(Gone { deleted: name.to_string(), place: where_to })
}

/// A study in a list.
pub fn line(name: &StudyName, study: &mut Study) -> Line {
    // Rows with the same cells count once; that depends on the sheet.
    let _ = study.load();
    let [rows, told, running, left] = study.counts();
    let best = if study.objectives() == 1 { study.best().and_then(|best| best.row.value) } else { None };
    study.take_notes();
    Line { name: name.to_string(), rows, told, running, left, best, problem: None }
}

/// The same of a study that cannot be read.
pub fn broken_line(name: &StudyName, problem: String) -> Line {
    Line { name: name.to_string(), rows: 0, told: 0, running: 0, left: 0, best: None, problem: Some(problem) }
}

/// Which results are good, if the request says so.
fn direction(request: &Create) -> Result<Option<Direction>> {
    match (&request.direction, &request.target) {
        (Some(_), Some(_)) => Err(Problem::DirectionAndTarget),
        (Some(word), None) => word.parse().map(Some),
        (None, target) => Ok(target.as_ref().map(amount).transpose()?.map(Direction::Target)),
    }
}

/// The goals, except for the direction.
fn options(place: Option<&dyn Place>, request: &Create, pool: Source) -> Result<StudyOptions> {
    let like = request.like.as_deref().map(|like| earlier(place, like)).transpose()?;
    Ok(StudyOptions {
        pool,
        columns: request.columns.clone(),
        ignore: request.ignore.clone(),
        scales: scales(request)?,
        id: request.id.clone(),
        value: request.value.clone(),
        direction: Direction::default(),
        bounds: request.bounds.as_deref().map(str::parse).transpose()?,
        further: request.also.iter().map(|goal| goal.parse()).collect::<Result<Vec<Further>>>()?,
        cost: request.cost.clone(),
        like: like.flatten(),
        sampler: request.sampler.as_deref().map(str::parse).transpose()?,
        seed: request.seed,
    })
}

/// How columns are to be read.
fn scales(request: &Create) -> Result<Vec<(String, Scale)>> {
    let all = [(&request.log, Scale::Log), (&request.linear, Scale::Linear), (&request.categories, Scale::Categories)];
    let (mut scales, mut seen) = (Vec::new(), HashSet::new());
    for (name, scale) in all.iter().flat_map(|(names, scale)| names.iter().map(move |name| (name, *scale))) {
        if !seen.insert(name) {
            return Err(Problem::ScaleTwice { column: name.clone() });
        }
        scales.push((name.clone(), scale));
    }
    Ok(scales)
}

/// An earlier study of the same place; a survey looks at none.
fn earlier(place: Option<&dyn Place>, like: &str) -> Result<Option<Like>> {
    let Some(place) = place else { return Ok(None) };
    let name: StudyName = like.parse()?;
    require(place, &name, None)?;
    let home: Arc<dyn Home> = Arc::from(place.home(&name)?);
    Ok(Some(Like { name: name.to_string(), home }))
}

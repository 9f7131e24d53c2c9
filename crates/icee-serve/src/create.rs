//! From a sheet in a request to a study: the sheet lies beside the journal, as people keep them.

use crate::call::{Call, Done, Reply};
use crate::change::sampler;
use crate::failure::Failure;
use crate::fields::Create;
use crate::look::for_clients;
use crate::name::StudyName;
use crate::store::{Sheet, Store, ending_of};
use crate::wire::{Doubt, Survey};
use axum::http::StatusCode;
use icee_models::study_models;
use icee_study::memory::InMemory;
use icee_study::{Cells, Direction, Scale, Study, StudyOptions, Summary, Suspect, suspects};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a sheet that are shown before there is a study.
const PREVIEW: usize = 5;

/// Starts a study. Only when it is one's turn with that name.
///
/// # Errors
/// Where there is one of that name, or the sheet or a choice makes no sense; then nothing is left behind.
pub fn create(store: &dyn Store, name: &StudyName, wanted: &Create, call: &Call) -> Done {
    require_free(store, name)?;
    let direction = direction(wanted)?.ok_or_else(|| {
        Failure::bad("which values are good? add direction, maximize or minimize, or target with a number")
    })?;
    let bytes = bytes(wanted, call)?;
    let mut draft = store.draft(name, ending_of(&bytes), &bytes)?;
    let options = StudyOptions { direction, ..options(store, wanted, &draft.sheet.path)? };
    let doubts = suspects(&options)?;
    let models = study_models().map_err(|error| Failure::internal(error.to_string()))?;
    let mut study = Study::create_in(&*draft.home, &options, models)?;
    draft.sheet.wanted = draft.stays;
    let mut summary = study.summary();
    summary.notes.splice(0..0, doubts.iter().map(ToString::to_string));
    let reply = Reply::json(&for_clients(summary, call))?;
    Ok(Reply { status: StatusCode::CREATED, ..reply })
}

/// That no study has this name.
///
/// # Errors
/// Where one has.
pub fn require_free(store: &dyn Store, name: &StudyName) -> Result<(), Failure> {
    if store.stamp(name).map_err(Failure::stored)?.is_some() {
        let words = format!("there is a study \"{}\" already; choose another name", name.as_str());
        return Err(Failure::conflict(words));
    }
    Ok(())
}

/// What is understood of a sheet: a study of it in memory, of which nothing is kept.
///
/// # Errors
/// As [`create`].
pub fn survey(store: &dyn Store, wanted: &Create, call: &Call) -> Done {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let direction = direction(wanted)?.unwrap_or_default();
    let bytes = bytes(wanted, call)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let path = store.scratch().join(format!(".survey-{}-{number}", std::process::id()));
    // Left by a process of the same number that was killed.
    let _ = std::fs::remove_file(&path);
    let sheet = Sheet::write(path, &bytes)?;
    let options = StudyOptions { direction, ..options(store, wanted, &sheet.path)? };
    let surveyed = || -> Result<Reply, Failure> {
        let doubts = suspects(&options)?;
        let models = study_models().map_err(|error| Failure::internal(error.to_string()))?;
        let mut study = Study::create_in(&InMemory::new("sheet"), &options, models)?;
        let summary = Summary { pool: "sheet".into(), ..study.summary() };
        let rows: Vec<Cells> = (1..=summary.rows.min(PREVIEW)).map(|row| study.cells(row)).collect();
        let names = rows.first().into_iter().flat_map(|row| &row.0).map(|(name, _)| name.clone());
        let column = |(at, name): (usize, String)| (name, rows.iter().map(|row| row.0[at].1.clone()).collect());
        let preview = names.enumerate().map(column).collect();
        let doubt = |Suspect { column, reason, is_result, .. }| Doubt { column, reason, is_result };
        let suspects = doubts.into_iter().map(doubt).collect();
        Reply::json(&Survey { summary, suspects, preview })
    };
    // Where the sheet lay for a moment is nobody's business.
    let path = sheet.path.display().to_string();
    surveyed().map_err(|failure| Failure { words: failure.words.replace(&path, "sheet"), ..failure })
}

/// The sheet's bytes.
fn bytes(wanted: &Create, call: &Call) -> Result<Vec<u8>, Failure> {
    call.sheet(wanted.sheet.as_deref(), wanted.sheet_base64.as_deref())
}

/// Which values are good, if that is said.
fn direction(wanted: &Create) -> Result<Option<Direction>, Failure> {
    match (&wanted.direction, wanted.target) {
        (Some(_), Some(_)) => Err(Failure::bad("direction and target exclude each other; say one of them")),
        (Some(word), None) => word.parse().map(Some).map_err(Failure::bad),
        (None, target) => Ok(target.map(Direction::Target)),
    }
}

/// What is wanted, but for the direction.
fn options(store: &dyn Store, wanted: &Create, pool: &Path) -> Result<StudyOptions, Failure> {
    let further = wanted.also.iter().map(|wish| wish.parse().map_err(Failure::bad));
    Ok(StudyOptions {
        pool: pool.to_owned(),
        columns: wanted.columns.clone(),
        ignore: wanted.ignore.clone(),
        scales: scales(wanted)?,
        id: wanted.id.clone(),
        value: wanted.value.clone(),
        direction: Direction::default(),
        bounds: wanted.bounds.as_deref().map(str::parse).transpose().map_err(Failure::bad)?,
        further: further.collect::<Result<_, _>>()?,
        cost: wanted.cost.clone(),
        like: wanted.like.as_deref().map(|like| earlier(store, like)).transpose()?,
        sampler: sampler(wanted.sampler.as_deref())?,
        seed: wanted.seed,
    })
}

/// How columns are to be taken.
fn scales(wanted: &Create) -> Result<Vec<(String, Scale)>, Failure> {
    let all = [(&wanted.log, Scale::Log), (&wanted.linear, Scale::Linear), (&wanted.categories, Scale::Categories)];
    let (mut scales, mut seen) = (Vec::new(), HashSet::new());
    for (name, scale) in all.iter().flat_map(|(names, scale)| names.iter().map(move |name| (name, *scale))) {
        if !seen.insert(name) {
            return Err(Failure::bad(format!("\"{name}\" stands in two of log, linear and categories")));
        }
        scales.push((name.clone(), scale));
    }
    Ok(scales)
}

/// The file of an earlier study. Clients name studies, never files.
fn earlier(store: &dyn Store, like: &str) -> Result<PathBuf, Failure> {
    let path = store.like(&StudyName::new(like)?).map_err(Failure::stored)?;
    path.ok_or_else(|| Failure::bad(format!("like: there is no study \"{like}\"")))
}

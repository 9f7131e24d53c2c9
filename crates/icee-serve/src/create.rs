//! From a sheet in a request to a study: the sheet lies beside the journal, as people keep them.

use crate::call::{Call, Done, Reply};
use crate::change::sampler;
use crate::failure::Failure;
use crate::fields::Create;
use crate::look::for_clients;
use crate::name::StudyName;
use crate::wire::{Doubt, Survey};
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use icee_base::files::FileError;
use icee_models::study_models;
use icee_study::memory::InMemory;
use icee_study::{Direction, Models, Scale, Study, StudyOptions, Suspect, suspects};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the first bytes of a workbook are.
const WORKBOOK: &[u8] = b"PK\x03\x04";

/// A file that is removed when it is not wanted any more.
struct Sheet {
    path: PathBuf,
    wanted: bool,
}

impl Sheet {
    /// Writes a new file, and never over another one.
    fn write(path: PathBuf, bytes: &[u8]) -> Result<Sheet, Failure> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = match file {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let words = format!("{} exists already; choose another name", path.display());
                return Err(Failure::conflict(words));
            }
            file => file.map_err(FileError::io(&path))?,
        };
        let sheet = Sheet { path, wanted: false };
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(FileError::io(&sheet.path))?;
        Ok(sheet)
    }
}

impl Drop for Sheet {
    fn drop(&mut self) {
        if !self.wanted {
            // Nobody refers to it; if it stays, it is only in the way.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Starts a study. Only when it is one's turn with that name.
///
/// # Errors
/// Where there is one of that name, or the sheet or a choice makes no sense; then nothing is left behind.
pub fn create(folder: &Path, name: &StudyName, call: &Call) -> Done {
    let wanted: Create = call.body()?;
    let journal = name.journal(folder);
    if journal.exists() {
        let words = format!("there is a study \"{}\" already; choose another name", name.as_str());
        return Err(Failure::conflict(words));
    }
    let direction = direction(&wanted)?.ok_or_else(|| {
        Failure::bad("which values are good? add direction, maximize or minimize, or target with a number")
    })?;
    let bytes = bytes(&wanted)?;
    let ending = if bytes.starts_with(WORKBOOK) { "xlsx" } else { "csv" };
    let mut sheet = Sheet::write(name.file(folder, ending), &bytes)?;
    let options = StudyOptions { direction, ..options(folder, &wanted, &sheet.path)? };
    let doubts = suspects(&options)?;
    let models = study_models().map_err(|error| Failure::internal(error.to_string()))?;
    let mut study = Study::create(&journal, &options, models)?;
    sheet.wanted = true;
    let mut summary = study.summary();
    summary.notes.splice(0..0, doubts.iter().map(ToString::to_string));
    let reply = Reply::json(&for_clients(summary, call))?;
    Ok(Reply { status: StatusCode::CREATED, ..reply })
}

/// What is understood of a sheet: a study of it in memory, of which nothing is kept.
///
/// # Errors
/// As [`create`].
pub fn survey(folder: &Path, wanted: &Create) -> Done {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let direction = direction(wanted)?.unwrap_or_default();
    let bytes = bytes(wanted)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".survey-{}-{number}", std::process::id()));
    // Left by a process of the same number that was killed.
    let _ = std::fs::remove_file(&path);
    let sheet = Sheet::write(path, &bytes)?;
    let options = StudyOptions { direction, ..options(folder, wanted, &sheet.path)? };
    let surveyed = || -> Result<Reply, Failure> {
        let doubts = suspects(&options)?;
        let models = study_models().map_err(|error| Failure::internal(error.to_string()))?;
        let mut summary = Study::create_in(&InMemory::new("sheet"), &options, models)?.summary();
        summary.pool = "sheet".into();
        let doubt = |Suspect { column, reason, is_result }| Doubt { column, reason, is_result };
        let suspects = doubts.into_iter().map(doubt).collect();
        Reply::json(&Survey { summary, suspects })
    };
    // Where the sheet lay for a moment is nobody's business.
    let path = sheet.path.display().to_string();
    surveyed().map_err(|failure| Failure { words: failure.words.replace(&path, "sheet"), ..failure })
}

/// The sheet's bytes.
fn bytes(wanted: &Create) -> Result<Vec<u8>, Failure> {
    match (&wanted.sheet, &wanted.sheet_base64) {
        (Some(text), None) => Ok(text.clone().into_bytes()),
        (None, Some(text)) => {
            STANDARD.decode(text.trim()).map_err(|error| Failure::bad(format!("sheet_base64 is no base64: {error}")))
        }
        _ => Err(Failure::bad("give the sheet as text (sheet) or in base64 (sheet_base64), one of them")),
    }
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
fn options(folder: &Path, wanted: &Create, pool: &Path) -> Result<StudyOptions, Failure> {
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
        like: wanted.like.as_deref().map(|like| earlier(folder, like)).transpose()?,
        sampler: sampler(wanted.sampler.as_deref())?,
        seed: wanted.seed,
    })
}

/// How columns are to be taken.
fn scales(wanted: &Create) -> Result<Vec<(String, Scale)>, Failure> {
    let all = [(&wanted.log, Scale::Log), (&wanted.linear, Scale::Linear), (&wanted.categories, Scale::Categories)];
    let mut scales: Vec<(String, Scale)> = Vec::new();
    for (name, scale) in all.iter().flat_map(|(names, scale)| names.iter().map(move |name| (name, *scale))) {
        if scales.iter().any(|(other, _)| other == name) {
            return Err(Failure::bad(format!("\"{name}\" stands in two of log, linear and categories")));
        }
        scales.push((name.clone(), scale));
    }
    Ok(scales)
}

/// The file of an earlier study. Clients name studies, never files.
fn earlier(folder: &Path, like: &str) -> Result<PathBuf, Failure> {
    let path = StudyName::new(like)?.journal(folder);
    match path.is_file() {
        true => Ok(path),
        false => Err(Failure::bad(format!("like: there is no study \"{like}\""))),
    }
}

/// Puts a study away, into a folder of its own in `deleted/`, from which it can be taken back; its sheet goes with it if it lies beside
/// the journal under the same name. Only when it is one's turn.
///
/// # Errors
/// Where it cannot be moved.
pub fn put_away(folder: &Path, name: &StudyName, now: u64) -> Done {
    let journal = name.journal(folder);
    // A study that cannot be opened any more can still be put away.
    let sheet = Study::open(&journal, None, Models::default()).map(|study| study.pool().to_owned()).ok();
    let mut files = vec![journal];
    for file in ["csv", "xlsx"].map(|ending| name.file(folder, ending)) {
        files.extend((sheet.as_deref() == Some(&*file)).then_some(file));
    }
    let keys = name.file(folder, "keys");
    files.extend(keys.exists().then_some(keys));
    let deleted = folder.join("deleted");
    let label =
        |at: u64| if at == 0 { format!("{}-{now}", name.as_str()) } else { format!("{}-{now}-{at}", name.as_str()) };
    std::fs::create_dir_all(&deleted).map_err(FileError::io(&deleted))?;
    let place = (0..).map(|at| deleted.join(label(at))).find(|place| !place.exists()).unwrap_or(deleted);
    std::fs::create_dir_all(&place).map_err(FileError::io(&place))?;
    for file in files {
        let to = place.join(file.file_name().unwrap_or_default());
        std::fs::rename(&file, &to).map_err(FileError::io(&file))?;
    }
    Reply::json(&json!({ "deleted": name.as_str() }))
}

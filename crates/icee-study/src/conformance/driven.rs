//! Studies that are driven through a storage: beside one in a file, and by two at once.

use super::{Checked, done, joined, require, same, stored};
use crate::create::StudyOptions;
use crate::error::{OrProblem, Result, bug};
use crate::journal::JournalFile;
use crate::models::Models;
use crate::record::{Outcome, SamplerKind};
use crate::sheet::Corrected;
use crate::storage::Home;
use crate::study::Study;
use crate::tell::Repeat;
use icee_base::files::FileError;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::{Debug, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::scope;

/// Rows of the pools that are tried, and requests of each of two askers at the same time.
const ROWS: usize = 24;
const QUESTIONS: usize = 8;

/// A folder that is deleted with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("icee-study-conformance-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(FileError::io(&path)).or_problem()?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes a pool of points without large gaps, the first of which have a result.
fn write_pool(path: &Path, rows: usize) -> Result<()> {
    let mut text = String::from("a,b,kind,value\n");
    for row in 1..=rows {
        let part = |step: f64| (row as f64 * step).fract();
        let (a, b, kind) = (part(0.754_877_666), part(0.569_840_290), ["rye", "oat"][row % 2]);
        let value = if row <= 2 { value(row).to_string() } else { String::new() };
        let _ = writeln!(text, "{a},{b},{kind},{value}");
    }
    std::fs::write(path, text).map_err(FileError::io(path)).or_problem()
}

fn value(row: usize) -> f64 {
    (row as f64 * 0.754_877_666).fract() - 0.3 * (row % 2) as f64
}

fn options(pool: &Path, sampler: SamplerKind) -> StudyOptions {
    let (pool, value) = (pool.into(), Some("value".into()));
    StudyOptions { pool, value, sampler: Some(sampler), seed: 5, ..StudyOptions::default() }
}

/// A study's answers, step by step.
#[derive(Default)]
struct Transcript(Vec<String>);

impl Transcript {
    /// Notes down a step's result, and returns it.
    fn note<T: Debug>(&mut self, step: &str, result: Result<T>) -> Result<T> {
        match &result {
            Ok(answer) => self.0.push(format!("{step}: {answer:?}")),
            Err(error) => self.0.push(format!("{step}: {error}")),
        }
        result
    }

    /// The whole state of a study and its notes, except for where its pool is: storages differ in that.
    fn state(&mut self, step: &str, study: &mut Study) {
        let mut summary = study.summary(None);
        summary.pool = None;
        self.0.push(format!("{step}: {summary:?} {:?}", study.take_notes()));
    }
}

/// Drives a study through all it can do, by two handles in turn, and returns the answers.
fn drive(home: &dyn Home, pool: &Path) -> Result<Vec<String>> {
    write_pool(pool, ROWS)?;
    let mut said = Transcript::default();
    let mut study = Study::create_in(home, &options(pool, SamplerKind::GpEi), Models::default())?;
    said.state("create", &mut study);
    for _ in 0..2 {
        for suggestion in said.note("ask", study.ask(2, None))?.suggestions {
            said.note("tell", study.tell(&suggestion.id, value(suggestion.row), Repeat::Refuse))?;
        }
    }
    let ids: Vec<String> =
        said.note("ask", study.ask(3, None))?.suggestions.into_iter().map(|suggestion| suggestion.id).collect();
    let [first, second, third] = ids.as_slice() else { return Err(bug("three rows were asked for")) };
    said.note("withdraw", study.withdraw(&[first], None))?;
    said.note("tell a failure", study.tell(second, Outcome::Failed, Repeat::Refuse))?;
    let _ = said.note("tell again", study.tell(second, 0.5, Repeat::Refuse));
    said.note("replace", study.tell(second, 0.5, Repeat::Replace))?;
    said.note("undo", study.undo(None))?;
    said.note("forget", study.forget(&["1"]))?;
    said.state("all of it", &mut study);

    let mut other = Study::open_in(home, Models::default())?;
    said.state("open", &mut other);
    said.note("tell by another", other.tell(third, 0.25, Repeat::Refuse))?;
    said.note("predict", study.predict(None, None))?;
    said.note("undo by another", other.undo(None))?;
    said.note("in progress", study.running(None))?;
    said.note("ask", study.ask(1, None))?;
    write_pool(pool, ROWS + 3)?;
    said.note("update by another", other.update(Repeat::Again, Corrected::Refuse, None))?;
    said.note("ask of the new sheet", study.ask(2, Some(SamplerKind::Random)))?;
    drop((study, other));

    let mut study = Study::open_in(home, Models::default())?;
    said.state("opened again", &mut study);
    for _ in 0..3 {
        said.note("undo", study.undo(None))?;
    }
    said.note("ask", study.ask(2, None))?;
    said.state("in the end", &mut study);
    Ok(said.0)
}

/// A study gives the same answers as one in a file, and writes the same lines.
pub(super) fn check_answers(home: &dyn Home) -> Checked {
    let folder = done(home, Folder::new())?;
    let (pool, file) = (folder.0.join("pool.csv"), JournalFile(folder.0.join("study.jsonl")));
    let (expected, said) = (done(&file, drive(&file, &pool))?, done(home, drive(home, &pool))?);
    for (said, expected) in said.iter().zip(&expected) {
        same(home, "a study gives the same answers as in a file", said, expected)?;
    }
    let (lines, in_file) = (stored(home)?, stored(&file)?);
    same(home, "a study leaves as many lines as in a file", &lines.len(), &in_file.len())?;
    for (line, in_file) in lines.iter().zip(&in_file) {
        let rule = "a study leaves the same lines as in a file";
        same(home, rule, &placeless(line), &placeless(in_file))?;
    }
    Ok(())
}

/// A line without the sheet's path, which may be relative to a folder.
fn placeless(line: &str) -> Option<Value> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    line.pointer_mut("/pool/path").map(Value::take);
    for change in line.pointer_mut("/changes").and_then(Value::as_array_mut).into_iter().flatten() {
        change.pointer_mut("/sheet/pool/path").map(Value::take);
    }
    Some(line)
}

/// Two who ask at the same time get different rows.
pub(super) fn check_asked_at_once(home: &dyn Home) -> Checked {
    let folder = done(home, Folder::new())?;
    let pool = folder.0.join("pool.csv");
    done(home, write_pool(&pool, ROWS))?;
    done(home, Study::create_in(home, &options(&pool, SamplerKind::Random), Models::default()))?;
    let ask = || {
        let mut study = done(home, Study::open_in(home, Models::default()))?;
        let mut rows = Vec::new();
        for _ in 0..QUESTIONS {
            let answer = done(home, study.ask(1, None))?;
            rows.extend(answer.suggestions.iter().map(|suggestion| suggestion.row));
        }
        Ok(rows)
    };
    let [one, two] = scope(|scope| [scope.spawn(ask), scope.spawn(ask)].map(|asking| joined(home, asking)));
    let rows = [one?, two?].concat();
    let different: HashSet<usize> = rows.iter().copied().collect();
    let rule = "two requests at the same time get different rows";
    require(different.len() == 2 * QUESTIONS, home, rule, || format!("{rows:?}"))
}

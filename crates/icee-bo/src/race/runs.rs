//! Searches of pools: those of samplers of this program, and those that other tools left in a file.

use super::pools::{RealPool, problem};
use crate::error::BoResult;
use crate::search::Sampler;
use icee_base::files::FileError;
use rayon::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// One search of one pool.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolRun {
    /// The pool's name.
    pub pool: String,
    /// Who searched.
    pub method: String,
    /// Which run: it fixes the first rows.
    pub run: usize,
    /// Milliseconds a suggestion.
    pub milliseconds: f64,
    /// The rows in the order in which they were tried.
    pub rows: Vec<usize>,
}

/// Lets a sampler search all pools, `runs` times each at most, side by side on rayon's threads.
///
/// # Errors
/// The sampler's.
pub fn search(
    pools: &[RealPool],
    runs: usize,
    method: &str,
    make: impl Fn() -> BoResult<Box<dyn Sampler>> + Sync,
    done: impl Fn() + Sync,
) -> BoResult<Vec<PoolRun>> {
    let tasks: Vec<(&RealPool, usize)> =
        pools.iter().flat_map(|pool| (0..pool.first.len().min(runs)).map(move |run| (pool, run))).collect();
    let one = |&(pool, run): &(&RealPool, usize)| {
        let task = pool.task(run);
        let trace = task.run(&mut *make()?)?;
        let asked = (task.evaluations - task.initial.len()).max(1) as f64;
        done();
        Ok(PoolRun {
            pool: pool.name.clone(),
            method: method.to_owned(),
            run,
            milliseconds: 1e3 * trace.seconds.last().copied().unwrap_or(0.0) / asked,
            rows: trace.told.iter().map(|told| told.candidate).collect(),
        })
    };
    tasks.par_iter().map(one).collect()
}

/// Reads searches, one a line: pool, method, run, milliseconds a suggestion and the rows tried (numbered from one), with tabs
/// between them.
///
/// # Errors
/// Where the file cannot be read, or a line says something else.
pub fn read(path: &Path, pools: &[RealPool]) -> BoResult<Vec<PoolRun>> {
    let text = std::fs::read_to_string(path).map_err(|e| problem(FileError::io(path)(e).to_string()))?;
    parse(&text, path, pools)
}

/// The same from text; `path` is for messages.
pub(super) fn parse(text: &str, path: &Path, pools: &[RealPool]) -> BoResult<Vec<PoolRun>> {
    let line = |(number, line): (usize, &str)| {
        let wrong = |what: String| problem(format!("{}, line {}: {what}", path.display(), number + 1));
        let cells: Vec<&str> = line.split('\t').collect();
        let [pool, method, run, milliseconds, rows] = cells[..] else {
            return Err(wrong(format!("{} cells where there should be 5, with tabs between them", cells.len())));
        };
        let Some(known) = pools.iter().find(|known| known.name == pool) else {
            return Err(wrong(format!("there is no pool \"{pool}\"")));
        };
        let row = |cell: &str| {
            let number = cell.parse::<usize>().ok().filter(|row| (1..=known.values.len()).contains(row));
            number.map(|row| row - 1).ok_or_else(|| wrong(format!("\"{cell}\" is no row of {pool}")))
        };
        let rows = rows.split_whitespace().map(row).collect::<BoResult<Vec<_>>>()?;
        let run: usize = run.parse().map_err(|_| wrong(format!("\"{run}\" is no number of a run")))?;
        let milliseconds =
            milliseconds.parse().map_err(|_| wrong(format!("\"{milliseconds}\" are no milliseconds")))?;
        if known.first.get(run).is_none_or(|first: &Vec<usize>| !rows.starts_with(first)) {
            return Err(wrong(format!("run {run} of {pool} does not begin with the first rows of that run")));
        }
        Ok(PoolRun { pool: pool.to_owned(), method: method.to_owned(), run, milliseconds, rows })
    };
    text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()).map(line).collect()
}

/// The same lines as text.
#[must_use]
pub fn to_text(runs: &[PoolRun]) -> String {
    let mut text = String::new();
    for PoolRun { pool, method, run, milliseconds, rows } in runs {
        let rows: Vec<String> = rows.iter().map(|row| (row + 1).to_string()).collect();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{pool}\t{method}\t{run}\t{milliseconds:.1}\t{}", rows.join(" "));
    }
    text
}

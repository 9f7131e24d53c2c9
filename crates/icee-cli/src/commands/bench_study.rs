//! `icee bench study`: measures the time of a suggestion as the history and the table grow.

use crate::terminal::say;
use anyhow::{Context, Result};
use clap::Args;
use icee_models::study_models;
use icee_study::{Repeat, Study, StudyOptions};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Args)]
pub struct StudyArgs {
    /// Measure tables of these sizes.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1024, 100_000], value_parser = clap::value_parser!(u32).range(8..=10_000_000))]
    rows: Vec<u32>,
    /// Measure with these numbers of results; skipped where too few rows are left.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [10, 100, 1000], value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    told: Vec<u32>,
    /// Repeat each measurement this often and report the median.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Measurement {
    rows: u32,
    told: u32,
    /// One suggestion with the pool in memory.
    ask_milliseconds: f64,
    /// The same as a command: the journal and the pool are read first.
    command_milliseconds: f64,
}

/// A new private folder that is deleted at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        let mut folder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        // A random name, and never a folder that exists already.
        let path =
            std::env::temp_dir().join(format!("icee-bench-study-{:016x}", RandomState::new().build_hasher().finish()));
        folder.create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `icee bench study`.
pub fn run(args: &StudyArgs) -> Result<()> {
    let scratch = Scratch::new()?;
    let mut results = Vec::new();
    for &rows in &args.rows {
        let pool = scratch.0.join(format!("pool-{rows}.csv"));
        std::fs::write(&pool, pool_text(rows))?;
        for &told in args.told.iter().filter(|&&told| told + 2 * args.repeat <= rows) {
            let measured = measure(&scratch.0, &pool, rows, told, args.repeat)?;
            let Measurement { ask_milliseconds: ask, command_milliseconds: command, .. } = measured;
            say(format_args!("{rows} rows, {told} results: {ask:.1} ms, as a command {command:.1} ms"));
            results.push(measured);
        }
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&results)?)?;
        return Ok(());
    }
    writeln!(out, "{:>9} {:>7} {:>14} {:>18}", "rows", "results", "ms an answer", "ms as a command")?;
    for Measurement { rows, told, ask_milliseconds, command_milliseconds } in &results {
        writeln!(out, "{rows:>9} {told:>7} {ask_milliseconds:>14.1} {command_milliseconds:>18.1}")?;
    }
    Ok(())
}

fn measure(folder: &Path, pool: &Path, rows: u32, told: u32, repeat: u32) -> Result<Measurement> {
    let path = folder.join(format!("study-{rows}-{told}.jsonl"));
    let options = StudyOptions { pool: pool.into(), ..StudyOptions::default() };
    let mut study = Study::create(&path, &options, study_models()?)?;
    let results = folder.join("results.csv");
    let mut text = String::from("row,value\n");
    (0..told).for_each(|k| {
        // Spread over the pool.
        let row = u64::from(k) * u64::from(rows) / u64::from(told);
        let _ = writeln!(text, "{},{}", row + 1, value(row));
    });
    std::fs::write(&results, text)?;
    study.tell_csv(&results, None, Repeat::Refuse)?;
    let (mut asks, mut commands) = (Vec::new(), Vec::new());
    for _ in 0..repeat {
        let start = Instant::now();
        let row = study.ask(1, None)?.suggestions.remove(0);
        asks.push(1e3 * start.elapsed().as_secs_f64());
        study.tell(&row.id, Some(value(row.row as u64 - 1)), Repeat::Refuse)?;
        let start = Instant::now();
        let mut opened = Study::open(&path, study_models()?)?;
        let row = opened.ask(1, None)?.suggestions.remove(0);
        commands.push(1e3 * start.elapsed().as_secs_f64());
        opened.tell(&row.id, Some(value(row.row as u64 - 1)), Repeat::Refuse)?;
    }
    Ok(Measurement { rows, told, ask_milliseconds: median(asks), command_milliseconds: median(commands) })
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Four coordinates of a row, evenly spread.
fn point(row: u64) -> [f64; 4] {
    [0.856_675, 0.733_892, 0.628_707, 0.538_597].map(|step| ((row + 1) as f64 * step).fract())
}

fn pool_text(rows: u32) -> String {
    let mut text = String::from("a,b,c,d\n");
    for row in 0..u64::from(rows) {
        let [a, b, c, d] = point(row);
        let _ = writeln!(text, "{a:.6},{b:.6},{c:.6},{d:.6}");
    }
    text
}

/// A wavy bowl.
fn value(row: u64) -> f64 {
    let [a, b, c, d] = point(row);
    (a - 0.3).powi(2) + (b - 0.6).powi(2) + 0.5 * (6.0 * c).sin() + 0.2 * (9.0 * d).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_folder_is_private_new_and_gone_at_the_end() {
        use std::os::unix::fs::PermissionsExt;
        let (one, other) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        assert_ne!(one.0, other.0);
        assert_eq!(std::fs::metadata(&one.0).unwrap().permissions().mode() & 0o777, 0o700);
        let path = one.0.clone();
        drop(one);
        assert!(!path.exists());
    }
}

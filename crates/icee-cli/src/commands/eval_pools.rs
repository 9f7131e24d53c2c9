//! `icee eval MODEL --pools DIR`: a race on real tables against GP-EI, random search and saved searches of other tools.

use super::eval_functions::write_calibration;
use super::progress::{Elsewhere, Progress};
use crate::terminal::say;
use anyhow::Context;
use icee_base::files::write_atomically;
use icee_bo::race::pools;
use icee_bo::race::runs;
use icee_bo::race::score::{PoolScore, RANDOM, Scores};
use icee_optim::{OptimiserModel, RACER};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Evaluations that the table shows.
const STEPS: [usize; 5] = [10, 20, 30, 40, 55];

/// What a race is about.
pub struct Race<'a> {
    pub folder: &'a Path,
    /// Files with other tools' searches.
    pub others: &'a [PathBuf],
    /// Where the searches of this race are kept, for another one.
    pub keep: Option<&'a Path>,
    pub trials: usize,
    pub threads: usize,
    pub json: bool,
    pub csv: Option<&'a Path>,
}

pub fn run(model: &OptimiserModel, race: &Race<'_>) -> anyhow::Result<()> {
    let pools = pools::read(race.folder)?;
    let mut searches = Vec::new();
    for path in race.others {
        searches.extend(runs::read(path, &pools)?);
    }
    let progress = Progress::new("search", 0, Elsewhere::Nothing);
    let all = 2 * pools.iter().map(|pool| pool.first.len().min(race.trials)).sum::<usize>() as u64;
    let done = AtomicU64::new(0);
    let count = || progress.at(done.fetch_add(1, Ordering::Relaxed) + 1, all, "searches,");
    let own = icee_optim::race(model, &pools, race.trials, race.threads, &count)?;
    progress.end();
    if let Some(path) = race.keep {
        write_atomically(path, runs::to_text(&own.runs).as_bytes())?;
    }
    own.left_out.iter().for_each(say);
    searches.extend(own.runs);
    let scores = Scores::of(&pools, &searches);
    if let Some(path) = race.csv {
        write_csv(path, &scores).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut out = std::io::stdout().lock();
    if race.json {
        let mut all = serde_json::to_value(&scores)?;
        all["calibration"] = serde_json::to_value(&own.calibration)?;
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    write_table(&mut out, &scores)?;
    own.calibration.iter().try_for_each(|calibration| write_calibration(&mut out, calibration))?;
    Ok(())
}

fn write_table(out: &mut impl Write, scores: &Scores) -> std::io::Result<()> {
    writeln!(out, "regret after so many evaluations (first rows included), in standard deviations of the table")?;
    let header = STEPS.map(|step| format!("{step:>8}")).concat();
    writeln!(out, "{:<22}{header}    mean    relative  best found  ms a suggestion", "")?;
    let mut last = "";
    for score in &scores.pools {
        if score.pool != last {
            let runs = if score.runs == 1 { "1 run".into() } else { format!("{} runs", score.runs) };
            writeln!(out, "{}, {runs}", score.pool)?;
            last = &score.pool;
        }
        let at = |step: usize| score.regret[step.min(score.regret.len()) - 1];
        let cells = STEPS.map(|step| format!("{:>8.3}", at(step))).concat();
        let PoolScore { method, mean, relative, solved, milliseconds, .. } = score;
        let time = if method == RANDOM { String::new() } else { format!("{milliseconds:>15.1}") };
        writeln!(out, "  {method:<20}{cells}{mean:>8.3}{relative:>13.2}{:>10.0} %{time:>17}", 100.0 * solved)?;
    }
    writeln!(out, "\nmean regret relative to random search, mean over tables and 95 % interval")?;
    for (method, estimate) in &scores.methods {
        let pools = scores.pools.iter().filter(|score| score.method == *method).count();
        writeln!(out, "  {method:<20}{:.3} ±{:.3}  ({pools} tables)", estimate.mean, estimate.half_width)?;
    }
    for (rival, _) in scores.methods.iter().filter(|(method, _)| method != RACER) {
        let gap = scores.difference(RACER, rival);
        if gap.mean.is_finite() {
            writeln!(out, "  {:<20}{:+.3} ±{:.3}", format!("{RACER} - {rival}"), gap.mean, gap.half_width)?;
        }
    }
    Ok(())
}

fn write_csv(path: &Path, scores: &Scores) -> anyhow::Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record(["pool", "method", "runs", "evaluation", "regret", "relative_mean", "solved", "milliseconds"])?;
    for score in &scores.pools {
        for (at, regret) in score.regret.iter().enumerate() {
            let PoolScore { pool, method, runs, relative, solved, milliseconds, .. } = score;
            let numbers = [
                runs.to_string(),
                (at + 1).to_string(),
                format!("{regret:.6}"),
                format!("{relative:.6}"),
                format!("{solved:.4}"),
                format!("{milliseconds:.2}"),
            ];
            csv.write_record([pool, method].into_iter().chain(&numbers))?;
        }
    }
    csv.flush()?;
    Ok(())
}

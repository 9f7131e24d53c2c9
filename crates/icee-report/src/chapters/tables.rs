//! Real tables: regret of each method and of other tools, table by table.

use super::{mean_cell, nothing};
use crate::Result;
use crate::figure::{Axis, Figure, Mark, Panel, Point, Series};
use crate::ink;
use crate::page::{Block, Cell, Table};
use crate::plan::{RACERS, race_id};
use crate::work::{Results, UnitResult};
use icee_base::stats::Estimate;
use icee_bo::race::builtin;
use icee_bo::race::pools::RealPool;
use icee_bo::race::runs::PoolRun;
use icee_bo::race::score::{PoolScore, RANDOM, Scores};

/// The optimiser that the chapter is about.
const HIGHLIGHTED: &str = RACERS[0];

/// The chapter; empty where not every table was searched.
///
/// # Errors
/// None but a damaged program's.
pub fn tables(results: &Results) -> Result<Vec<Block>> {
    let pools = builtin::pools()?;
    let Some(scores) = scores(&pools, results)? else {
        return Ok(vec![Block::Text("No optimiser has searched all tables.".into())]);
    };
    Ok(vec![
        Block::Text(
            "Tables of real experiments, searched as if nothing were known: all methods start with the same five rows and evaluate 55. \
             BoTorch (a Gaussian process with default settings, greatest log expected improvement) and a random forest were run by \
             tools/bench/table_race.py. The model was trained on synthetic tables only and has seen none of these."
                .into(),
        ),
        Block::Figure(figure(&pools, &scores)),
        Block::Table(relative(&pools, &scores)),
        Block::Table(details(&scores)),
        Block::List(differences(&scores)),
    ])
}

/// The result in a sentence.
///
/// # Errors
/// As [`tables`].
pub(super) fn sentence(results: &Results) -> Result<Option<String>> {
    let pools = builtin::pools()?;
    let said = |scores: Scores| {
        let of = |(method, of): &(String, Estimate)| {
            format!("{} {:.2} ± {:.2}", ink::of(method).label, of.mean, of.half_width)
        };
        let list: Vec<String> = scores.methods.iter().map(of).collect();
        format!(
            "{} tables of real experiments, mean regret relative to random search (less is better): {}.",
            pools.len(),
            list.join(", ")
        )
    };
    Ok(scores(&pools, results)?.map(said))
}

fn scores(pools: &[RealPool], results: &Results) -> Result<Option<Scores>> {
    let Some(own) = own_runs(pools, results) else { return Ok(None) };
    let mut runs = builtin::others(pools)?;
    runs.extend(own);
    Ok(Some(Scores::of(pools, &runs)))
}

/// What was searched here; none where a racer has left a table out, for a mean over the others would mislead.
fn own_runs(pools: &[RealPool], results: &Results) -> Option<Vec<PoolRun>> {
    let mut all = Vec::new();
    for racer in RACERS {
        for pool in pools {
            let Some(UnitResult::Raced(raced)) = results.outcomes.get(&race_id(racer, &pool.name)) else { return None };
            all.extend(raced.runs.iter().enumerate().map(|(run, raced)| PoolRun {
                pool: pool.name.clone(),
                method: racer.into(),
                run,
                milliseconds: raced.milliseconds,
                rows: raced.rows.clone(),
            }));
        }
    }
    Some(all)
}

/// The methods, the lowest regret first, and random search last.
fn methods(scores: &Scores) -> Vec<&str> {
    scores.methods.iter().map(|(method, _)| method.as_str()).chain([RANDOM]).collect()
}

fn score<'a>(scores: &'a Scores, pool: &str, method: &str) -> Option<&'a PoolScore> {
    scores.pools.iter().find(|score| score.pool == pool && score.method == method)
}

fn figure(pools: &[RealPool], scores: &Scores) -> Figure {
    let panel = |pool: &RealPool| {
        let series = methods(scores).into_iter().filter_map(|method| {
            let regret = &score(scores, &pool.name, method)?.regret;
            let point = |(at, &y): (usize, &f64)| Point { x: (at + 1) as f64, y, half_width: None };
            let mark = if method == RANDOM { Mark::Dashed } else { Mark::Line };
            let points = regret.iter().enumerate().map(point).collect();
            Some(Series::new(ink::of(method), mark, points).highlighted_if(method == HIGHLIGHTED))
        });
        let (x, y) = (Axis::count("evaluations"), Axis::linear("regret"));
        Panel { title: pool.name.clone(), x, y, series: series.collect() }
    };
    Figure {
        id: "tables-regret".into(),
        title: "Regret by evaluations, table by table".into(),
        caption:
            "Best value so far minus the table's best, in standard deviations of its values; mean over the searches. \
                  Random search is exact."
                .into(),
        panels: pools.iter().map(panel).collect(),
        columns: 4,
    }
}

/// Regret relative to random search, table by table, and its mean.
fn relative(pools: &[RealPool], scores: &Scores) -> Table {
    let methods: Vec<&str> = scores.methods.iter().map(|(method, _)| method.as_str()).collect();
    let mut head = vec![String::new(), "rows".into(), "columns".into()];
    head.extend(methods.iter().map(|method| ink::of(method).label.to_owned()));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for pool in pools {
        let mut row = vec![Cell::from(pool.name.as_str())];
        row.push(pool.values.len().to_string().into());
        row.push(pool.pool.widths().len().to_string().into());
        let cell = |method: &&str| score(scores, &pool.name, method).map(|s| format!("{:.2}", s.relative).into());
        row.extend(methods.iter().map(|method| cell(method).unwrap_or_else(nothing)));
        rows.push(row);
    }
    let mut last: Vec<Cell> = vec!["mean".into(), String::new().into(), String::new().into()];
    last.extend(scores.methods.iter().map(|(_, of)| mean_cell(of.mean, of.known_half_width())));
    rows.push(last);
    let caption =
        "Mean regret over evaluations 6 to 55, relative to random search; below 1 is better than random search. \
                   The last row has its 95 % interval over the tables."
            .into();
    Table { caption, groups: Vec::new(), head, rows }
}

/// How often the best row was found, and how long a suggestion took.
fn details(scores: &Scores) -> Table {
    let head =
        ["", "best row found", "ms a suggestion, mean", "fastest table", "slowest table"].map(String::from).to_vec();
    let row = |method: &str| {
        let of: Vec<&PoolScore> = scores.pools.iter().filter(|score| score.method == method).collect();
        let mean = |value: fn(&PoolScore) -> f64| of.iter().map(|s| value(s)).sum::<f64>() / of.len().max(1) as f64;
        let times = || of.iter().map(|score| score.milliseconds);
        let mut row = vec![Cell::from(ink::of(method).label), format!("{:.0} %", 100.0 * mean(|s| s.solved)).into()];
        if method == RANDOM {
            row.extend([nothing(), nothing(), nothing()]);
        } else {
            let ends = [mean(|s| s.milliseconds), times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max)];
            row.extend(ends.map(|ms| Cell::from(format!("{ms:.0}"))));
        }
        row
    };
    let caption = "Searches that found the best row within 55 evaluations, mean over the tables; and the time of a suggestion on \
                   one core, of other tools on the machine on which they ran."
        .into();
    Table { caption, groups: Vec::new(), head, rows: methods(scores).into_iter().map(row).collect() }
}

/// The model minus each rival, paired by table.
fn differences(scores: &Scores) -> Vec<String> {
    let rivals = scores.methods.iter().map(|(method, _)| method.as_str()).filter(|method| *method != HIGHLIGHTED);
    let line = |rival: &str| {
        let gap = scores.difference(HIGHLIGHTED, rival);
        let (ours, theirs) = (ink::of(HIGHLIGHTED).label, ink::of(rival).label);
        format!("{ours} minus {theirs}: {:+.2} ± {:.2} (95 % interval, paired by table)", gap.mean, gap.half_width)
    };
    rivals.map(line).collect()
}

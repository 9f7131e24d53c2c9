//! Bayesian optimisation: regret by evaluations and by time, per function, and how many searches found the minimum.

use super::nothing;
use crate::figure::{Axis, Figure, Mark, Panel, Point, Series};
use crate::ink;
use crate::page::{Block, Cell, Table};
use crate::plan::search_id;
use crate::work::{Results, SearchCurve, Searched, UnitResult};
use icee_base::stats::{Estimate, share_half_width};
use icee_bo::functions;
use icee_models::catalogue;

/// The evaluations at which the table looks.
const MILESTONES: [usize; 5] = [10, 20, 30, 40, 55];
/// The optimiser that figures are about: the one that ships.
const HIGHLIGHTED: &str = "value";
/// Points of a curve over time.
const TIMES: usize = 60;

/// All searches of one optimiser.
struct Searches<'a> {
    key: &'a str,
    functions: Vec<&'a Searched>,
}

impl<'a> Searches<'a> {
    /// Of an optimiser that has searched every function; none otherwise, for a mean over others would mislead.
    fn of(key: &'a str, results: &'a Results) -> Option<Searches<'a>> {
        let one = |function: &functions::BenchmarkFunction| match results.outcomes.get(&search_id(key, function.name)) {
            Some(UnitResult::Searched(searched)) => Some(searched),
            _ => None,
        };
        let functions: Option<Vec<&Searched>> = functions::all().iter().map(one).collect();
        functions.map(|functions| Searches { key, functions })
    }

    fn trials(&self) -> impl Iterator<Item = &'a SearchCurve> {
        self.functions.iter().flat_map(|searched| &searched.trials)
    }

    fn initial(&self) -> usize {
        self.functions.first().map_or(0, |searched| searched.initial)
    }

    fn evaluations(&self) -> usize {
        self.trials().map(|trial| trial.regret.len()).min().unwrap_or(0)
    }

    fn seconds_per_suggestion(&self) -> f64 {
        let suggestions: usize = self.trials().map(|trial| trial.seconds.len().saturating_sub(self.initial())).sum();
        self.trials().filter_map(|trial| trial.seconds.last()).sum::<f64>() / suggestions.max(1) as f64
    }

    fn series(&self, points: Vec<Point>) -> Series {
        let mark = if self.key == "random" { Mark::Dashed } else { Mark::Line };
        Series::new(ink::of(self.key), mark, points).highlighted_if(self.key == HIGHLIGHTED)
    }
}

/// The chapter.
#[must_use]
pub fn optimisation(results: &Results) -> Vec<Block> {
    let keys: Vec<&str> = catalogue::compared_optimisers().map(|entry| entry.key).collect();
    let all: Vec<Searches<'_>> = keys.iter().filter_map(|key| Searches::of(key, results)).collect();
    if all.is_empty() {
        return vec![Block::Text("No optimiser has searched all functions.".into())];
    }
    let caption = "Best value so far minus the pool's minimum, values standardised, mean over all functions and trials. \
                   The band is the 95 % interval of ICEE, value; those of the others are in the table. The first five evaluations are random and the same for all.";
    let regret = regret_figure("bo-regret", "Regret by evaluations", caption, &keys, results);
    let mut blocks: Vec<Block> = regret.map(Block::Figure).into_iter().collect();
    blocks.extend([
        Block::Figure(by_time(&all)),
        Block::Figure(share_solved(&all)),
        Block::Figure(by_function(&all)),
        Block::Table(table(&all)),
    ]);
    blocks
}

/// Mean regret by evaluations of several optimisers, as far as they have searched; none where none has.
#[must_use]
pub fn regret_figure(id: &str, title: &str, caption: &str, keys: &[&str], results: &Results) -> Option<Figure> {
    let all: Vec<Searches<'_>> = keys.iter().filter_map(|key| Searches::of(key, results)).collect();
    let series = all.iter().map(|searches| searches.series(regret(&searches.trials().collect::<Vec<_>>()))).collect();
    let (x, y) = (Axis::count("evaluations"), Axis::linear("regret"));
    (!all.is_empty()).then(|| Figure::single(id, title, caption, x, y, series))
}

/// The mean regret of an optimiser after so many evaluations; none where it has not searched all functions.
#[must_use]
pub(super) fn regret_after_evaluations(key: &str, evaluations: usize, results: &Results) -> Option<Point> {
    let searches = Searches::of(key, results)?;
    regret(&searches.trials().collect::<Vec<_>>()).get(evaluations.checked_sub(1)?).copied()
}

/// A race: the mean over all functions and trials, on a logarithmic axis.
#[must_use]
pub fn race(runs: &[(&str, Vec<Searched>)]) -> Figure {
    let series = runs.iter().map(|(key, searched)| {
        let searches = Searches { key, functions: searched.iter().collect() };
        // All search the same pools, so it is the difference run by run that has an interval worth seeing.
        searches.series(without_intervals(regret(&searches.trials().collect::<Vec<_>>())))
    });
    Figure::single(
        "race",
        "A race to the minimum",
        "Best value so far minus the minimum of 1,024 candidates, values standardised, mean over all functions and trials, \
         on a logarithmic axis. The first five evaluations are random and the same for all.",
        Axis::count("evaluations"),
        Axis::log("regret, standard deviations"),
        series.collect(),
    )
}

fn regret(trials: &[&SearchCurve]) -> Vec<Point> {
    let evaluations = trials.iter().map(|trial| trial.regret.len()).min().unwrap_or(0);
    let at = |step: usize| point((step + 1) as f64, trials.iter().map(|trial| trial.regret[step]).collect());
    (0..evaluations).map(at).collect()
}

fn point(x: f64, sample: Vec<f64>) -> Point {
    let estimate = Estimate::of(&sample);
    Point { x, y: estimate.mean, half_width: estimate.known_half_width() }
}

fn without_intervals(points: Vec<Point>) -> Vec<Point> {
    points.into_iter().map(|point| Point { half_width: None, ..point }).collect()
}

/// The mean regret that a given time of suggestions buys.
fn by_time(all: &[Searches<'_>]) -> Figure {
    let series = all.iter().filter(|searches| searches.key != "random").map(|searches| {
        let trials: Vec<&SearchCurve> = searches.trials().collect();
        let first = |trial: &&&SearchCurve| trial.seconds.iter().copied().find(|&s| s > 0.0).unwrap_or(1e-6);
        let start = trials.iter().map(|trial| first(&trial)).fold(f64::INFINITY, f64::min);
        let end = trials.iter().filter_map(|trial| trial.seconds.last()).copied().fold(start, f64::max);
        let time = |step: usize| start * (end / start).powf(step as f64 / (TIMES - 1) as f64);
        let at = |seconds: f64| point(seconds, trials.iter().map(|trial| regret_after(trial, seconds)).collect());
        searches.series((0..TIMES).map(|step| at(time(step))).collect())
    });
    Figure::single(
        "bo-time",
        "Regret by elapsed time",
        "The same searches over the time spent on suggestions, on one core. Random search takes no time and is left out.",
        Axis::log("seconds of suggestions"),
        Axis::linear("regret"),
        series.collect(),
    )
}

/// The regret of the last evaluation whose suggestion had come by then.
fn regret_after(trial: &SearchCurve, seconds: f64) -> f64 {
    let done = trial.seconds.partition_point(|&spent| spent <= seconds);
    trial.regret[done.saturating_sub(1).min(trial.regret.len() - 1)]
}

fn share_solved(all: &[Searches<'_>]) -> Figure {
    let series = all.iter().map(|searches| {
        let trials: Vec<&SearchCurve> = searches.trials().collect();
        let at = |step: usize| {
            let y = trials.iter().filter(|trial| trial.regret[step] == 0.0).count() as f64 / trials.len() as f64;
            Point { x: (step + 1) as f64, y, half_width: Some(share_half_width(y, trials.len())) }
        };
        searches.series((0..searches.evaluations()).map(at).collect())
    });
    Figure::single(
        "bo-solved",
        "Share of searches that have found the minimum",
        "Of all functions and trials. The band is the 95 % interval of ICEE, value.",
        Axis::count("evaluations"),
        Axis::linear("share solved").between(0.0, 1.03),
        series.collect(),
    )
}

fn by_function(all: &[Searches<'_>]) -> Figure {
    let panel = |(index, function): (usize, &functions::BenchmarkFunction)| {
        let series = all.iter().map(|searches| {
            let trials: Vec<&SearchCurve> = searches.functions[index].trials.iter().collect();
            searches.series(without_intervals(regret(&trials)))
        });
        let (x, y) = (Axis::count("evaluations"), Axis::linear("regret"));
        Panel { title: function.name.into(), x, y, series: series.collect() }
    };
    Figure {
        id: "bo-functions".into(),
        title: "Regret by evaluations, function by function".into(),
        caption: "Mean over the trials. Shubert, DropWave and DeJong5 dominate the mean over all.".into(),
        panels: functions::all().iter().enumerate().map(panel).collect(),
        columns: 4,
    }
}

fn table(all: &[Searches<'_>]) -> Table {
    let mut head = vec![String::new()];
    head.extend(MILESTONES.map(|evaluations| evaluations.to_string()));
    head.extend(["solved".into(), "ms a suggestion".into()]);
    let groups = vec![("evaluations".into(), MILESTONES.len()), (String::new(), 2)];
    let row = |searches: &Searches<'_>| {
        let trials: Vec<&SearchCurve> = searches.trials().collect();
        let points = regret(&trials);
        let mut row = vec![Cell::from(ink::of(searches.key).label)];
        for evaluations in MILESTONES {
            let cell = points.get(evaluations - 1).map(|p| super::mean_cell(p.y, p.half_width));
            row.push(cell.unwrap_or_else(nothing));
        }
        let solved = trials.iter().filter(|trial| trial.regret.last() == Some(&0.0)).count();
        row.push(format!("{:.0} %", 100.0 * solved as f64 / trials.len().max(1) as f64).into());
        row.push(format!("{:.2}", 1e3 * searches.seconds_per_suggestion()).into());
        row
    };
    let caption =
        "Mean regret. After so many evaluations, with 95 % intervals; solved are searches that found the minimum."
            .into();
    Table { caption, groups, head, rows: all.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_buys_what_had_been_suggested_by_then() {
        let trial = SearchCurve { regret: vec![3.0, 2.0, 1.0, 0.0], seconds: vec![0.0, 0.0, 1.0, 2.0] };
        let after: Vec<f64> = [0.0, 0.5, 1.0, 1.9, 9.0].map(|seconds| regret_after(&trial, seconds)).to_vec();
        assert_eq!(after, [2.0, 2.0, 1.0, 1.0, 0.0]);
    }
}

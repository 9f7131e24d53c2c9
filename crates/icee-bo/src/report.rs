//! Results of a protocol: means over runs with 95 % intervals, per function and over all.

use icee_base::stats::Estimate;
use serde::Serialize;

/// One search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// The function's name.
    pub function: &'static str,
    /// Which of its trials.
    pub trial: usize,
    /// Best value so far minus the pool's minimum, after each evaluation.
    pub regret: Vec<f64>,
    /// Seconds spent on suggestions up to each evaluation; none for the initial points.
    pub seconds: Vec<f64>,
}

/// All searches of one sampler.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The sampler's name.
    pub sampler: &'static str,
    /// Evaluations of each run that it did not choose.
    pub initial: usize,
    /// One for each task, function by function.
    pub runs: Vec<Run>,
}

/// What a set of runs amounts to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The number of runs.
    pub runs: usize,
    /// Regret after each evaluation.
    pub regret: Vec<Estimate>,
    /// Mean seconds spent on suggestions up to each evaluation.
    pub seconds: Vec<f64>,
    /// Share of the runs that found the pool's minimum by the end.
    pub solved: f64,
}

impl Report {
    /// Over all runs.
    pub fn summary(&self) -> Summary {
        summarise(&self.runs.iter().collect::<Vec<_>>())
    }

    /// For each function, in the order of the runs.
    pub fn by_function(&self) -> Vec<(&'static str, Summary)> {
        let groups = self.runs.chunk_by(|a, b| a.function == b.function);
        groups.map(|runs| (runs[0].function, summarise(&runs.iter().collect::<Vec<_>>()))).collect()
    }

    /// Mean seconds for one suggestion.
    pub fn seconds_per_suggestion(&self) -> f64 {
        let suggestions = |run: &Run| run.seconds.len().saturating_sub(self.initial);
        let total: f64 = self.runs.iter().filter_map(|run| run.seconds.last()).sum();
        total / self.runs.iter().map(suggestions).sum::<usize>().max(1) as f64
    }
}

fn summarise(runs: &[&Run]) -> Summary {
    let evaluations = runs.iter().map(|run| run.regret.len()).min().unwrap_or(0);
    let at = |step: usize, series: fn(&Run) -> &[f64]| runs.iter().map(|run| series(run)[step]).collect::<Vec<f64>>();
    let solved = runs.iter().filter(|run| run.regret.last() == Some(&0.0)).count();
    Summary {
        runs: runs.len(),
        regret: (0..evaluations).map(|step| Estimate::of(&at(step, |run| &run.regret))).collect(),
        seconds: (0..evaluations).map(|step| Estimate::of(&at(step, |run| &run.seconds)).mean).collect(),
        solved: solved as f64 / runs.len().max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(function: &'static str, regret: [f64; 3]) -> Run {
        Run { function, trial: 0, regret: regret.to_vec(), seconds: vec![0.0, 0.5, 1.5] }
    }

    #[test]
    fn runs_are_grouped_by_function() {
        let runs = vec![run("A", [3.0, 1.0, 0.0]), run("A", [1.0, 1.0, 1.0]), run("B", [2.0, 0.0, 0.0])];
        let report = Report { sampler: "x", initial: 1, runs };
        let summary = report.summary();
        assert_eq!((summary.runs, summary.regret[0].mean), (3, 2.0));
        assert!((summary.solved - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(summary.seconds, [0.0, 0.5, 1.5]);
        let groups = report.by_function();
        assert_eq!((groups[0].0, groups[0].1.runs, groups[0].1.solved), ("A", 2, 0.5));
        assert_eq!((groups[1].0, groups[1].1.regret[0].mean), ("B", 2.0));
        assert!((report.seconds_per_suggestion() - 0.75).abs() < 1e-12);
    }
}

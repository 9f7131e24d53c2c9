//! Results of a protocol: means over runs with 95 % intervals, per function and over all.

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

/// A mean and its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean over runs.
    pub mean: f64,
    /// Half the width of its 95 % interval, by Student's t; infinite for a single run.
    pub half_width: f64,
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
        regret: (0..evaluations).map(|step| estimate(&at(step, |run| &run.regret))).collect(),
        seconds: (0..evaluations).map(|step| estimate(&at(step, |run| &run.seconds)).mean).collect(),
        solved: solved as f64 / runs.len().max(1) as f64,
    }
}

/// The mean of a sample with its 95 % interval.
pub fn estimate(sample: &[f64]) -> Estimate {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    if sample.len() < 2 {
        return Estimate { mean, half_width: f64::INFINITY };
    }
    let variance = sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Estimate { mean, half_width: student_quantile(sample.len() - 1) * (variance / n).sqrt() }
}

/// The 97.5 % quantile of Student's t: from a table, then by the first terms of Fisher's expansion about the normal one.
fn student_quantile(freedom: usize) -> f64 {
    const FIRST: [f64; 6] = [12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912];
    if let Some(&quantile) = FIRST.get(freedom - 1) {
        return quantile;
    }
    let (z, v) = (1.959_964_f64, freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / v + second / (v * v) + third / v.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(function: &'static str, regret: [f64; 3]) -> Run {
        Run { function, trial: 0, regret: regret.to_vec(), seconds: vec![0.0, 0.5, 1.5] }
    }

    #[test]
    fn quantiles_match_the_tables() {
        for (freedom, expected) in
            [(1, 12.706), (4, 2.776), (5, 2.571), (7, 2.365), (9, 2.262), (30, 2.042), (79, 1.990)]
        {
            assert!((student_quantile(freedom) - expected).abs() < 2e-3, "{freedom}: {}", student_quantile(freedom));
        }
    }

    #[test]
    fn estimates_are_the_textbooks() {
        let found = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(found.mean, 3.0);
        assert!((found.half_width - 2.776_445 * (2.5f64 / 5.0).sqrt()).abs() < 1e-12);
        assert_eq!(estimate(&[1.0]).half_width, f64::INFINITY);
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

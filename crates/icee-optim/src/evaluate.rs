//! The paper's protocol for a trained model, beside GP-EI and random search on the same tasks.

use crate::calibration::{Calibration, Search, calibrate};
use crate::methods::Objective;
use crate::model::OptimiserModel;
use crate::plan::Plan;
use crate::samplers::workers;
use crate::{Error, Result};
use icee_base::random::HELD_OUT;
use icee_base::stats::Estimate;
use icee_bo::gp_surrogate::gp_ei;
use icee_bo::protocol::Protocol;
use icee_bo::report::Report;
use icee_bo::search::{RandomSampler, Sampler, SearchTask};
use icee_train::Device;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Trials of each function on which predictions are checked; they take a search each.
const CALIBRATION_TRIALS: usize = 5;
/// Fresh functions of the prior on which predictions are checked.
const CALIBRATION_FUNCTIONS: usize = 80;

/// A trained model beside its rivals.
#[derive(Clone, Debug, Serialize)]
pub struct OptimiserEvaluation {
    /// The prior it was trained on.
    pub world: String,
    /// Its method.
    pub method: String,
    /// Its updates.
    pub step: u64,
    /// Trials of each function.
    pub trials: usize,
    /// What fixed the tasks.
    pub seed: u64,
    /// Threads; only on one are seconds those of the sampler alone.
    pub threads: usize,
    /// The model's runs, GP-EI's and random search's.
    pub reports: Vec<Report>,
    /// The model's regret minus GP-EI's after each evaluation, in pairs.
    pub against_gp_ei: Vec<Estimate>,
    /// How far its predictions can be trusted; of `value` only.
    pub calibration: Vec<Calibration>,
}

/// Puts a model through the protocol, on `threads` threads. `begun` is told, by any of them, how many searches have begun,
/// and how many there will be.
///
/// # Errors
/// Where the protocol cannot be run, or the model does not fit two columns.
pub fn evaluate(
    model: &OptimiserModel,
    protocol: &Protocol,
    threads: usize,
    begun: &(dyn Fn(usize, usize) + Sync),
) -> Result<OptimiserEvaluation> {
    if protocol.trials == 0 {
        return Err(Error::Config("at least one trial of each function is needed".into()));
    }
    let pool = workers(threads)?;
    let checks_beliefs = matches!(model.config.method()?.objective, Objective::Value | Objective::Table);
    let of_trials = |trials: usize| trials * protocol.functions.len();
    let checked = of_trials(protocol.trials.min(CALIBRATION_TRIALS)) + CALIBRATION_FUNCTIONS;
    let all = 3 * of_trials(protocol.trials) + if checks_beliefs { checked } else { 0 };
    let count = AtomicUsize::new(0);
    let count = || begun((count.fetch_add(1, Ordering::Relaxed) + 1).min(all), all);
    // Each task has a sampler of its own on one thread; tasks run side by side.
    model.sampler(&Device::cpu(1)?)?;
    let ours = || -> Box<dyn Sampler> {
        count();
        let sampler = Device::cpu(1).map_err(Error::Train).and_then(|device| model.sampler(&device));
        sampler.unwrap_or_else(|error| Box::new(Broken(error.to_string())))
    };
    let reports = pool.install(|| -> Result<Vec<Report>> {
        let rivals: [fn() -> Box<dyn Sampler>; 2] = [|| Box::new(gp_ei()), || Box::new(RandomSampler)];
        let mut reports = vec![protocol.run(ours)?];
        for rival in rivals {
            reports.push(protocol.run(|| {
                count();
                rival()
            })?);
        }
        Ok(reports)
    })?;
    let against_gp_ei = paired_difference(&reports[0], &reports[1]);
    let calibration = match checks_beliefs {
        true => pool.install(|| check_beliefs(model, protocol, &count))?,
        false => vec![],
    };
    Ok(OptimiserEvaluation {
        world: model.config.world.clone(),
        method: model.config.method.clone(),
        step: model.step,
        trials: protocol.trials,
        seed: protocol.seed,
        threads: pool.current_num_threads(),
        reports,
        against_gp_ei,
        calibration,
    })
}

fn check_beliefs(model: &OptimiserModel, protocol: &Protocol, count: &(dyn Fn() + Sync)) -> Result<Vec<Calibration>> {
    let few = Protocol { trials: protocol.trials.min(CALIBRATION_TRIALS), ..protocol.clone() };
    let benchmark: Vec<SearchTask> = few.tasks()?.into_iter().map(|task| task.search).collect();
    let fresh = Plan::new(&model.config)?.tasks(CALIBRATION_FUNCTIONS, protocol.seed ^ HELD_OUT)?;
    let check = |on: &'static str, tasks: Vec<SearchTask>| {
        let search = |task| {
            count();
            Search::by(task, &mut *model.sampler(&Device::cpu(1)?)?)
        };
        let searches = tasks.into_par_iter().map(search).collect::<Result<Vec<_>>>()?;
        calibrate(on, &searches, || model.surrogate(&Device::cpu(1)?))
    };
    Ok(vec![check("benchmark functions", benchmark)?, check("fresh functions of the prior", fresh)?])
}

/// `a` minus `b` after each evaluation, run by run.
fn paired_difference(a: &Report, b: &Report) -> Vec<Estimate> {
    let evaluations = a.runs.iter().chain(&b.runs).map(|run| run.regret.len()).min().unwrap_or(0);
    let difference = |step: usize| {
        let pairs = a.runs.iter().zip(&b.runs);
        Estimate::of(&pairs.map(|(a, b)| a.regret[step] - b.regret[step]).collect::<Vec<_>>())
    };
    (0..evaluations).map(difference).collect()
}

/// Mean regret of a report's runs when each has spent `seconds` on suggestions.
#[must_use]
pub fn regret_at(report: &Report, seconds: f64) -> f64 {
    let at = |run: &icee_bo::report::Run| {
        let done = run.seconds.partition_point(|&spent| spent <= seconds);
        run.regret[done.saturating_sub(1)]
    };
    report.runs.iter().map(at).sum::<f64>() / report.runs.len().max(1) as f64
}

/// Stands for a sampler that could not be made, and says why when asked.
struct Broken(String);

impl Sampler for Broken {
    fn name(&self) -> &'static str {
        "icee"
    }

    fn ask(&mut self, _: icee_bo::search::Context<'_>, _: &mut dyn rand::Rng) -> icee_bo::BoResult<usize> {
        Err(icee_bo::BoError::Model { message: self.0.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_bo::report::Run;

    fn report(regrets: &[[f64; 3]]) -> Report {
        let run = |(trial, regret): (usize, &[f64; 3])| Run {
            function: "f",
            trial,
            regret: regret.to_vec(),
            seconds: vec![0.0, 1.0, 3.0],
        };
        Report { sampler: "x", initial: 1, runs: regrets.iter().enumerate().map(run).collect() }
    }

    #[test]
    fn differences_are_taken_in_pairs_and_regret_by_time() {
        let (a, b) = (report(&[[3.0, 1.0, 0.0], [5.0, 3.0, 1.0]]), report(&[[3.0, 2.0, 2.0], [5.0, 4.0, 3.0]]));
        let difference = paired_difference(&a, &b);
        assert_eq!(difference.iter().map(|d| d.mean).collect::<Vec<_>>(), [0.0, -1.0, -2.0]);
        assert_eq!(difference[2].half_width, 0.0);
        assert_eq!([0.5, 1.0, 2.9, 9.0].map(|seconds| regret_at(&a, seconds)), [4.0, 2.0, 2.0, 0.5]);
    }
}

//! Chooses the acting rule of a trained model on fresh functions of its prior, never on the benchmark functions.

use crate::config::{Acting, Config};
use crate::methods::Objective;
use crate::model::OptimiserModel;
use crate::plan::Plan;
use crate::samplers::workers;
use crate::{Error, Result};
use icee_base::random::VALIDATION;
use icee_bo::search::SearchTask;
use icee_train::Device;
use rayon::prelude::*;

/// β of p ∝ EI^β; 0 for the greatest expected improvement.
const SHARPNESSES: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 0.0];
/// Temperatures of models that pick candidates directly.
const TEMPERATURES: [f64; 4] = [1.0, 0.5, 0.25, 0.125];

/// One way to pick candidates and what it left.
#[derive(Clone, Debug)]
pub struct PickingResult {
    /// The setting.
    pub acting: Acting,
    /// The mean regret over all evaluations that the model chose: what is found early counts longer.
    pub regret: f64,
    /// The mean regret at the end.
    pub last: f64,
    /// The share of the searches that found the lowest value.
    pub solved: f64,
}

fn settings(config: &Config) -> Result<Vec<Acting>> {
    let base = &config.acting;
    Ok(match config.method()?.objective {
        Objective::Value | Objective::Table => {
            SHARPNESSES.map(|sharpness| Acting { sharpness, ..base.clone() }).to_vec()
        }
        Objective::Drawn { .. } | Objective::Improvers => {
            TEMPERATURES.map(|temperature| Acting { temperature, ..base.clone() }).to_vec()
        }
    })
}

/// Tries every setting on `functions` fresh functions, on `threads` threads, and gives all trials and the number of the one
/// with the lowest regret. `tried` is called after every trial, with how many there will be.
///
/// # Errors
/// Where no function is asked for, or a search fails.
pub fn tune(
    model: &OptimiserModel,
    functions: usize,
    seed: u64,
    threads: usize,
    mut tried: impl FnMut(&PickingResult, usize),
) -> Result<(Vec<PickingResult>, usize)> {
    if functions == 0 {
        return Err(Error::Config("at least one function is needed".into()));
    }
    let tasks = Plan::new(&model.config)?.tasks(functions, seed ^ VALIDATION)?;
    let pool = workers(threads)?;
    let mut trials = Vec::new();
    let settings = settings(&model.config)?;
    for acting in &settings {
        let acts =
            OptimiserModel { config: Config { acting: acting.clone(), ..model.config.clone() }, ..model.clone() };
        let curves: Vec<Vec<f64>> =
            pool.install(|| tasks.par_iter().map(|task| regrets(&acts, task)).collect::<Result<_>>())?;
        // In the tasks' order, so that the sums do not depend on the threads.
        let over_tasks =
            |of: fn(&[f64]) -> f64| curves.iter().map(|curve| of(curve)).sum::<f64>() / curves.len() as f64;
        let trial = PickingResult {
            acting: acting.clone(),
            regret: over_tasks(|curve| curve.iter().sum::<f64>() / curve.len().max(1) as f64),
            last: over_tasks(|curve| curve.last().copied().unwrap_or(0.0)),
            solved: over_tasks(|curve| f64::from(u8::from(curve.last() == Some(&0.0)))),
        };
        tried(&trial, settings.len());
        trials.push(trial);
    }
    let best = (0..trials.len()).fold(0, |best, at| if trials[at].regret < trials[best].regret { at } else { best });
    Ok((trials, best))
}

/// The regret after each evaluation that the model chose.
fn regrets(model: &OptimiserModel, task: &SearchTask) -> Result<Vec<f64>> {
    let mut sampler = model.sampler(&Device::cpu(1)?)?;
    Ok(task.run(&mut *sampler)?.regret.split_off(task.initial.len()))
}

//! Chooses the acting rules of a trained model on validation tasks. This takes minutes and no gradient.

use crate::Result;
use crate::agent::Agent;
use crate::config::{Acting, ActionRule, OutcomeReading};
use crate::eval::{Evaluation, evaluate_agent, world_of};
use crate::methods::Condition;
use crate::model::TrainedModel;
use icee_base::random::VALIDATION;
use icee_train::Device;
use icee_worlds::{Registry, Split};

/// Temperatures that are tried for the best of the other settings.
const TEMPERATURES: [f64; 4] = [1.0, 0.5, 0.25, 0.125];

/// Patience that is tried for the best of the others, as shares of K.
const PATIENCE_SHARES: [f64; 2] = [0.1, 0.2];

/// One setting of the acting rules and what it earned.
#[derive(Clone, Debug)]
pub struct ActingResult {
    /// The setting.
    pub acting: Acting,
    /// Its return.
    pub evaluation: Evaluation,
}

/// The settings that are tried first: κ and the guard with its reading. The temperature follows for the best.
#[must_use]
fn tuning_grid(model: &TrainedModel) -> Vec<Acting> {
    let base = &model.config.acting;
    let conditioned = model.config.method().is_ok_and(|m| m.condition != Condition::Nothing);
    if !conditioned {
        return vec![base.clone()];
    }
    let bayes = model.config.model.action_rule == ActionRule::Bayes;
    let (exactly, at_least) = (OutcomeReading::Exactly, OutcomeReading::AtLeast);
    let readings = match bayes {
        true => vec![(0.0, exactly), (0.002, at_least), (0.02, at_least), (0.05, at_least)],
        false => vec![(0.0, exactly), (0.02, exactly), (0.05, exactly)],
    };
    // The paper's networks want a gentler tilt.
    let kappas: &[f64] = if bayes { &[8.0, 20.0, 80.0, 320.0] } else { &[2.0, 8.0, 20.0, 80.0] };
    let all = kappas.iter().flat_map(|kappa| readings.iter().map(move |&reading| (*kappa, reading)));
    all.map(|(kappa, (guard, outcome))| Acting { kappa, guard, outcome, ..base.clone() }).collect()
}

/// Tries the grid on `games` validation games, then other temperatures and patience for the best, and gives all trials and the
/// number of the best: the one with the highest mean return over all episodes. `tried` is called after every trial, with how many
/// there will be.
///
/// # Errors
/// Whatever fails at play.
pub fn tune(
    device: &Device,
    model: &TrainedModel,
    registry: &Registry,
    games: usize,
    seed: u64,
    mut tried: impl FnMut(&ActingResult, usize),
) -> Result<(Vec<ActingResult>, usize)> {
    let world = world_of(model, None, registry)?;
    let mut agent = Agent::new(device, model)?;
    let (grid, temperature) = (tuning_grid(model), model.config.acting.temperature);
    let patience = PATIENCE_SHARES.map(|share| (share * world.spec().episodes as f64).ceil() as usize);
    let temperatures: Vec<f64> = TEMPERATURES.into_iter().filter(|&t| t != temperature).collect();
    let all = grid.len() + temperatures.len() + patience.len();
    let mut trials: Vec<ActingResult> = Vec::new();
    let mut run = |acting: Acting, trials: &mut Vec<ActingResult>| -> Result<()> {
        agent.set_acting(&acting)?;
        let episodes = world.spec().episodes;
        // The kind of game that it will play, and other games than those that are reported.
        let seed = seed ^ VALIDATION;
        let (evaluation, _) = evaluate_agent(&mut agent, &*world, games, episodes, seed, Split::Evaluation)?;
        let trial = ActingResult { acting, evaluation };
        tried(&trial, all);
        trials.push(trial);
        Ok(())
    };
    for acting in grid {
        run(acting, &mut trials)?;
    }
    let first = trials[best(&trials)].acting.clone();
    for temperature in temperatures {
        run(Acting { temperature, ..first.clone() }, &mut trials)?;
    }
    let second = trials[best(&trials)].acting.clone();
    for patience in patience {
        run(Acting { patience, ..second.clone() }, &mut trials)?;
    }
    let best = best(&trials);
    Ok((trials, best))
}

fn best(trials: &[ActingResult]) -> usize {
    let mean = |at: usize| trials[at].evaluation.mean();
    (0..trials.len()).fold(0, |best, at| if mean(at) > mean(best) { at } else { best })
}

//! Histories by somebody who does not know the game, and what the behaviour policy would have made of every step.
//!
//! The behaviour policy knows what is hidden, so its moves give it away, and a model that learns from them reads its own
//! moves as evidence, too. A *searcher* acts on what the episodes have shown and on nothing else: its moves say
//! nothing new. At every step a copy of the world takes an action drawn uniformly, and then the behaviour policy plays the
//! episode to its end; what that earned is the step's label. The copy is thrown away, the searcher goes on. Since
//! p(R | a, h) does not depend on how a is drawn, the uniform draw costs nothing, and shows what comes of actions that
//! the behaviour policy hardly ever takes.

use crate::{GameRng, Policy, SequenceBatch, World, WorldError, sample_action};
use rand::{Rng, RngExt};

/// What came of a step at which the behaviour policy took over, after a first action drawn uniformly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Takeover {
    /// The first action.
    pub action: u32,
    /// That action's probability.
    pub probability: f32,
    /// What the first action earned.
    pub reward: f32,
    /// What was earned from this step to the episode's end.
    pub earned: f32,
    /// The number of those steps that earned nothing.
    pub idle: u32,
}

/// The greatest noise of a searcher's episode.
const MOST_NOISE: f32 = 0.6;

/// Plays one game's episodes by searchers into `batch`.
pub(crate) fn collect_searched_game(
    world: &mut dyn World,
    episodes: usize,
    rng: &mut GameRng,
    batch: &mut SequenceBatch,
) -> Result<(), WorldError> {
    let nearest_first = rng.random::<bool>();
    let searcher = if nearest_first { world.sweep() } else { world.posterior() };
    let agent = if nearest_first { "sweep" } else { "posterior" };
    let missing = || WorldError::NoReference { world: world.spec().id.clone(), agent };
    let mut searcher = searcher.ok_or_else(missing)?;
    searcher.begin_game();
    for _ in 0..episodes {
        // From a searcher without fault to one that hardly searches.
        let noise = rng.random::<f32>() * MOST_NOISE;
        search_episode(world, &mut *searcher, noise, rng, batch)?;
    }
    Ok(())
}

fn search_episode(
    world: &mut dyn World,
    searcher: &mut dyn Policy,
    noise: f32,
    rng: &mut GameRng,
    batch: &mut SequenceBatch,
) -> Result<(), WorldError> {
    let (limit, actions) = (world.spec().episode_limit, batch.action_count);
    let first_step = batch.steps();
    searcher.begin_episode(0.0);
    let mut observation = world.reset(rng.next_u64());
    for _ in 0..limit {
        if !batch.observations.push(observation) {
            return Err(WorldError::ObservationKind { world: batch.world.clone() });
        }
        let start = batch.probabilities.len();
        batch.probabilities.resize(start + actions, 0.0);
        let probabilities = &mut batch.probabilities[start..];
        searcher.probabilities(observation, rng, probabilities);
        for p in &mut *probabilities {
            *p = *p * (1.0 - noise) + noise / actions as f32;
        }
        let action = sample_action(probabilities, rng);
        let takeover = take_over(&*world, batch, first_step, rng)?;
        batch.push_takeover(takeover);
        let step = world.step(action)?;
        searcher.observe(action, step.reward);
        batch.actions.push(action as u32);
        batch.rewards.push(step.reward);
        if step.done() {
            batch.end_episode(noise, step.terminated);
            return Ok(());
        }
        observation = step.observation;
    }
    Err(WorldError::EpisodeTooLong { world: batch.world.clone(), limit })
}

/// An action drawn uniformly, then the behaviour policy, with a noise of its own, to the episode's end, in a copy of the
/// world.
fn take_over(
    world: &dyn World,
    batch: &SequenceBatch,
    first_step: usize,
    rng: &mut GameRng,
) -> Result<Takeover, WorldError> {
    let mut copy = world.clone_world();
    let mut policy = world.behaviour();
    policy.begin_game();
    policy.begin_episode(rng.random());
    let now = batch.steps();
    for step in first_step..now {
        policy.observe(batch.actions[step] as usize, batch.rewards[step]);
    }
    let mut takeover = Takeover { action: 0, probability: 0.0, reward: 0.0, earned: 0.0, idle: 0 };
    let mut probabilities = vec![0.0; batch.action_count];
    let unseen = || WorldError::ObservationKind { world: batch.world.clone() };
    let mut observation = batch.observations.get(now).ok_or_else(unseen)?;
    for steps in 0..world.spec().episode_limit {
        match steps {
            0 => probabilities.fill(1.0 / batch.action_count as f32),
            _ => policy.probabilities(observation, rng, &mut probabilities),
        }
        let action = sample_action(&probabilities, rng);
        let step = copy.step(action)?;
        policy.observe(action, step.reward);
        if steps == 0 {
            (takeover.action, takeover.probability) = (action as u32, probabilities[action]);
            takeover.reward = step.reward;
        }
        takeover.earned += step.reward;
        takeover.idle += u32::from(step.reward == 0.0);
        if step.done() {
            return Ok(takeover);
        }
        observation = step.observation;
    }
    Err(WorldError::EpisodeTooLong { world: batch.world.clone(), limit: world.spec().episode_limit })
}

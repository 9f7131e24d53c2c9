//! Histories by somebody who does not know the game, and what the behaviour policy would have made of every step.
//!
//! The behaviour policy knows what is hidden, so its moves give it away, and a model that learns from them reads its own
//! moves as evidence, too. A *searcher* acts on what the episodes have shown and on nothing else: its moves say
//! nothing new. At every step a copy of the world takes an action drawn uniformly, and then the behaviour policy plays the
//! episode to its end; what that earned is the step's label. The copy is thrown away, the searcher goes on. Since
//! p(R | a, h) does not depend on how a is drawn, the uniform draw costs nothing, and shows what comes of actions that
//! the behaviour policy hardly ever takes.

use crate::{GameRng, Observation, Policy, SequenceBatch, World, WorldError, sample_action};
use rand::RngExt;

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

/// Somebody who acts on what the episodes have shown, and with a chance of its own at random.
pub(crate) struct Searcher {
    policy: Box<dyn Policy>,
    noise: f32,
}

impl Searcher {
    /// Posterior sampling or nearest first, as chance will have it.
    pub fn new(world: &dyn World, rng: &mut GameRng) -> Result<Self, WorldError> {
        let nearest_first = rng.random::<bool>();
        let policy = if nearest_first { world.sweep() } else { world.posterior() };
        let agent = if nearest_first { "sweep" } else { "posterior" };
        let missing = || WorldError::NoReference { world: world.spec().id.clone(), agent };
        Ok(Self { policy: policy.ok_or_else(missing)?, noise: 0.0 })
    }

    /// The noise of one episode: from a searcher without fault to one that hardly searches.
    pub fn draw_noise(rng: &mut GameRng) -> f32 {
        rng.random::<f32>() * MOST_NOISE
    }
}

impl Policy for Searcher {
    fn begin_game(&mut self) {
        self.policy.begin_game();
    }

    fn begin_episode(&mut self, epsilon: f32) {
        self.noise = epsilon;
        self.policy.begin_episode(0.0);
    }

    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut GameRng, probabilities: &mut [f32]) {
        self.policy.probabilities(observation, rng, probabilities);
        let even = self.noise / probabilities.len() as f32;
        probabilities.iter_mut().for_each(|p| *p = *p * (1.0 - self.noise) + even);
    }

    fn observe(&mut self, action: usize, reward: f32) {
        self.policy.observe(action, reward);
    }
}

/// An action drawn uniformly, then the behaviour policy, with a noise of its own, to the episode's end, in a copy of the
/// world.
pub(crate) fn take_over(
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

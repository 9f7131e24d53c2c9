//! Relabelling by an expert, as in DAgger: histories of an exploring policy, which does not know the task, with labels of an
//! expert, which does.
//!
//! The behaviour policy knows what is hidden, so its moves reveal it, and a model that learns from them reads its own moves as
//! evidence, too. An exploring policy (a *searcher* in settings) acts on its episodes only: its moves reveal nothing. At every
//! step an *expert* ([`World::expert`]: the behaviour policy, unless the world has a better one) plays the episode to its end
//! in a copy of the world; its return is the step's label. Then the exploring policy continues.
//!
//! The first action is the expert's own in one half of the relabellings and drawn uniformly in the other: p(R | a, h)
//! does not depend on how a is drawn, and actions that the expert hardly ever takes are seen, too. With q = (π + U)/2,
//! the weights π/q (where its own action is meant) and U/q (where a uniform one is) never exceed 2.

use crate::{Observation, Policy, SequenceBatch, StreamRng, World, WorldError, sample_action, shaped_reward};
use rand::RngExt;

/// The expert's label of a step: its action in a copy of the world, and the return that followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relabel {
    /// The first action.
    pub action: u32,
    /// π(a|o): the expert's probability of this action.
    pub probability: f32,
    /// The reward of the first action.
    pub reward: f32,
    /// The return from this step to the episode's end.
    pub earned: f32,
    /// c: the same with the price of steps without reward.
    pub return_to_go: f32,
}

impl Relabel {
    /// q(a|o): the probability of drawing the first action among so many.
    #[must_use]
    pub fn drawn(&self, actions: usize) -> f32 {
        f32::midpoint(self.probability, 1.0 / actions as f32)
    }
}

/// The expert's label of an exploring policy's step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpertLabels {
    /// What came of it: the expert plays on to the episode's end.
    #[default]
    Outcomes,
    /// The best action there, by [`World::oracle`]; as in DPT (Decision-Pretrained Transformer).
    BestActions,
}

/// What is learned at a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum StepLabel {
    /// What was done there, and what came of it.
    #[default]
    Own,
    /// What the expert would have made of it.
    Relabelled(Relabel),
    /// Nothing: which game it is was decided by what happened later.
    Skipped,
}

/// The greatest noise of an episode of an exploring policy that is not a noisy one.
const MOST_NOISE: f32 = 0.6;

/// Somebody who acts on what the episodes have shown, and with a chance of its own at random.
pub(crate) struct Searcher {
    policy: Box<dyn Policy>,
    noise: f32,
}

impl Searcher {
    /// Posterior sampling, or what the world has beside it (nearest first, or upper confidence bounds), as chance will have
    /// it; posterior sampling alone where it has nothing.
    pub fn new(world: &dyn World, rng: &mut StreamRng) -> Result<Self, WorldError> {
        let other = rng.random::<bool>();
        let policy = if other { world.sweep().or_else(|| world.ucb()) } else { None };
        let missing = || WorldError::NoReference { world: world.spec().id.clone(), agent: "posterior" };
        Ok(Self { policy: policy.or_else(|| world.posterior()).ok_or_else(missing)?, noise: 0.0 })
    }

    /// The noise of one episode: from an exploring policy without fault to one that hardly searches, and a noisy policy that walks at
    /// random. Without noisy policies nearly all is found early, and a model would not know what to make of a late find.
    pub fn draw_noise(novice: bool, rng: &mut StreamRng) -> f32 {
        let (low, high) = if novice { (MOST_NOISE, 1.0) } else { (0.0, MOST_NOISE) };
        rng.random_range(low..high)
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

    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        self.policy.probabilities(observation, rng, probabilities);
        let even = self.noise / probabilities.len() as f32;
        probabilities.iter_mut().for_each(|p| *p = *p * (1.0 - self.noise) + even);
    }

    fn observe(&mut self, action: usize, reward: f32) {
        self.policy.observe(action, reward);
    }
}

/// Plays the rest of an episode in a copy of the world. Copy and policy are kept from one step to the next.
pub(crate) struct Expert {
    copy: Box<dyn World>,
    policy: Box<dyn Policy>,
    probabilities: Vec<f32>,
    labels: ExpertLabels,
}

impl Expert {
    /// For the world's current game.
    pub fn new(world: &dyn World, labels: ExpertLabels) -> Result<Self, WorldError> {
        let policy = match labels {
            ExpertLabels::Outcomes => Some(world.expert()),
            ExpertLabels::BestActions => world.oracle(),
        };
        let missing = || WorldError::NoReference { world: world.spec().id.clone(), agent: "oracle" };
        let mut policy = policy.ok_or_else(missing)?;
        policy.begin_game();
        Ok(Self { copy: world.clone_world(), policy, probabilities: vec![0.0; world.spec().actions()], labels })
    }

    /// The label of the step that comes next. The episode began at `first_step` of the batch, which holds what was seen
    /// last, too.
    ///
    /// For outcomes: an action of its own or a uniform one, then the expert with an ε of its own to the episode's end.
    pub fn relabel(
        &mut self,
        world: &dyn World,
        batch: &SequenceBatch,
        first_step: usize,
        rng: &mut StreamRng,
    ) -> Result<Relabel, WorldError> {
        let Self { copy, policy, probabilities, labels } = self;
        policy.begin_episode(rng.random());
        let now = batch.steps();
        for step in first_step..now {
            policy.observe(batch.actions[step] as usize, batch.rewards[step]);
        }
        let unseen = || WorldError::ObservationKind { world: batch.world.clone() };
        let observation = batch.observations.get(now).ok_or_else(unseen)?;
        policy.probabilities(observation, rng, probabilities);
        if *labels == ExpertLabels::BestActions {
            let action = sample_action(probabilities, rng);
            let probability = probabilities[action];
            return Ok(Relabel { action: action as u32, probability, reward: 0.0, earned: 0.0, return_to_go: 0.0 });
        }
        world.copy_to(copy);
        let own = rng.random::<bool>();
        let action = if own { sample_action(probabilities, rng) } else { rng.random_range(0..batch.action_count) };
        let mut step = copy.step(action)?;
        policy.observe(action, step.reward);
        let mut relabel = Relabel {
            action: action as u32,
            probability: probabilities[action],
            reward: step.reward,
            earned: step.reward,
            return_to_go: 0.0,
        };
        let (limit, price) = (world.spec().episode_limit, world.spec().idle_price());
        let mut return_to_go = f64::from(shaped_reward(step.reward, price));
        for _ in 0..limit {
            if step.done() {
                relabel.return_to_go = return_to_go as f32;
                return Ok(relabel);
            }
            policy.probabilities(step.observation, rng, probabilities);
            let action = sample_action(probabilities, rng);
            step = copy.step(action)?;
            policy.observe(action, step.reward);
            relabel.earned += step.reward;
            return_to_go += f64::from(shaped_reward(step.reward, price));
        }
        Err(WorldError::EpisodeTooLong { world: batch.world.clone(), limit })
    }
}

//! The agent for one live environment: reset, act, observe.

use super::{Agent, Thought};
use crate::model::TrainedModel;
use crate::{Error, Result};
use icee_train::Device;
use icee_worlds::{Decision, Observation, Observations, StepOutcome, Turn};

/// A trained model that plays one environment, step by step.
///
/// ```no_run
/// use icee_games::{LiveAgent, TrainedModel};
/// use icee_train::Device;
/// use icee_worlds::Observation;
///
/// let model = TrainedModel::load("runs/mine/checkpoint".as_ref())?;
/// let mut agent = LiveAgent::new(&Device::cpu(1)?, &model, 0)?;
/// let action = agent.act(Observation::Discrete(12))?;
/// agent.observe(0.0, false)?;
/// # Ok::<(), icee_games::Error>(())
/// ```
pub struct LiveAgent {
    agent: Agent,
    seed: u64,
    /// Games so far.
    played: u64,
    buffer: Observations,
}

impl LiveAgent {
    /// An agent that knows nothing of its game yet. The seed fixes its draws.
    ///
    /// # Errors
    /// Where the model's parts do not fit.
    pub fn new(device: &Device, model: &TrainedModel, seed: u64) -> Result<LiveAgent> {
        let mut agent = Agent::new(&device.without_gpu(), model)?;
        agent.begin_games(1, seed, 0)?;
        let mut buffer = agent.games[0].observations.clone();
        buffer.clear();
        Ok(LiveAgent { agent, seed, played: 0, buffer })
    }

    /// A new game begins: forgets everything. The seed and the number of resets fix its draws.
    ///
    /// # Errors
    /// Where there is no memory for it.
    pub fn reset(&mut self) -> Result<()> {
        self.played += 1;
        self.agent.begin_games(1, self.seed, self.played)
    }

    /// Chooses the action at an observation.
    ///
    /// # Errors
    /// [`Error::Agent`] where the observation is of another kind, or the last action was not followed by `observe`.
    pub fn act(&mut self, observation: Observation<'_>) -> Result<u32> {
        self.buffer.clear();
        if !self.buffer.push(observation) {
            return Err(self.unseen(&super::shown(observation)));
        }
        let mut decision = [Decision::default()];
        self.agent.decide(Turn { games: &[0], observations: &self.buffer }, &mut decision)?;
        Ok(decision[0].action)
    }

    /// That an observation, `shown` as whoever gave it wrote it, is none of this agent's.
    #[must_use]
    pub fn unseen(&self, shown: &str) -> Error {
        self.agent.unseen(0, shown)
    }

    /// Whether an action waits for what it earned.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.agent.waits(0)
    }

    /// What the action earned, and whether the episode is over.
    ///
    /// # Errors
    /// [`Error::Agent`] where no action waits for it.
    pub fn observe(&mut self, reward: f32, done: bool) -> Result<()> {
        self.agent.learn_outcomes(&[0], &[StepOutcome { reward, done }])
    }

    /// What it had in mind at its last action.
    #[must_use]
    pub fn thought(&self) -> &Thought {
        &self.agent.games[0].thought
    }

    /// What it expects every action to earn at once at every place, see [`Agent::expected_rewards`].
    ///
    /// # Errors
    /// As there.
    pub fn expected_rewards(&mut self) -> Result<Vec<f64>> {
        self.agent.expected_rewards(0)
    }

    /// What to tell a user once something was dropped.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        self.agent.notice()
    }
}

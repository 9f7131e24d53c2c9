//! Predicts rewards for places where the agent is not: forks of its caches are queried, so nothing changes.

use super::Agent;
use super::brain::HeadAt;
use crate::blueprint::NetworkPlan;
use crate::heads::Head;
use crate::task::ObservationKind;
use crate::tokens::{Previous, Token};
use crate::{Error, Result};
use icee_base::math::softmax;
use icee_nn::batch::Tokens;
use icee_worlds::Observation;

impl Agent {
    /// What it expects every action to earn at once at every place, [places, actions], if it stood there later in the
    /// episode and had earned nothing on the way. To be asked between an action and what it earns. It remembers nothing of the question, and acts as if it had not been
    /// asked.
    ///
    /// # Errors
    /// [`Error::Config`] where no network predicts rewards or observations are not places; [`Error::Agent`] where no action waits for what
    /// it earns, or the game is played on a GPU.
    pub fn expected_rewards(&mut self, game: usize) -> Result<Vec<f64>> {
        let task = &self.blueprint.task;
        if let ObservationKind::Vector { .. } = task.observation {
            return Err(Error::Config("observations are vectors, and forecasts need places".into()));
        }
        let head = self.blueprint.networks.iter().enumerate().find_map(|(network, plan)| {
            let (head, _) = plan.head(|head| head == Head::Reward)?;
            Some((plan, HeadAt { network, head }))
        });
        let Some((plan, head)) = head else {
            let why = "the model predicts no rewards; train it with model.reward_head above 0";
            return Err(Error::Config(why.into()));
        };
        let asked = self.games.get(game).and_then(|memory| {
            let now = memory.current_token()?;
            let action = *memory.actions.get(memory.steps())?;
            let next = |place| standing_at(place, &now, action, plan, task.episode_limit / 2);
            // In a full context the question takes the place of the current step.
            let length = (memory.steps() + 1).min(plan.spec.context - 1);
            Some((length, (0..task.observation.size() as u32).map(next).collect::<Vec<Tokens>>()))
        });
        let Some((length, tokens)) = asked else {
            return Err(Error::Agent(format!("no action of game {game} waits for its reward; call this after act")));
        };
        let logits = self.brain.imagine(head, game, length, &tokens)?;
        let classes = task.reward_classes;
        let (low, high) = task.reward_range;
        let expected = |logits: &[f32]| {
            let share: f64 = softmax(logits).iter().enumerate().map(|(class, p)| p * class as f64).sum();
            f64::from(low) + share / (classes - 1).max(1) as f64 * f64::from(high - low)
        };
        Ok(logits.chunks_exact(classes).map(expected).collect())
    }
}

/// A later step of the episode, taken at this place after the action has earned nothing: a reward would tell of the place itself. Not in
/// the first half of the episode, when a network knows that it cannot have come far.
fn standing_at(place: u32, now: &Token<'_>, action: u32, plan: &NetworkPlan, half: usize) -> Tokens {
    let previous = Some(Previous { observation: now.observation, action, reward: 0.0 });
    let step = (now.step + 1).max(half);
    let mut writer = plan.format.writer();
    writer.push(&Token { observation: Observation::Discrete(place), previous, step, ..*now });
    writer.end_sequence();
    writer.finish()
}

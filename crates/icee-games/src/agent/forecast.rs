//! What an agent expects of places where it is not: its network is asked as if it stood there. Only forks of its caches see the
//! question, so that it changes nothing.

use super::Agent;
use super::brain::HeadAt;
use super::memory::Memory;
use crate::blueprint::NetworkPlan;
use crate::heads::Head;
use crate::task::ObservationKind;
use crate::tokens::{Previous, Token};
use crate::{Error, Result};
use icee_base::math::softmax;
use icee_nn::batch::Tokens;
use icee_worlds::Observation;

impl Agent {
    /// What it expects every action to earn at once at every place, [places, actions], if it stood there at the current step of a game
    /// and had earned nothing on the way. It remembers nothing of the question, and acts as if it had not been asked.
    ///
    /// # Errors
    /// [`Error::Config`] where no network predicts rewards or observations are not places; [`Error::Agent`] where the game has not
    /// begun or is played on a GPU; the engine's where the context is full, which the next action mends.
    pub fn expected_rewards(&mut self, game: usize) -> Result<Vec<f64>> {
        let task = &self.blueprint.task;
        if let ObservationKind::Vector { .. } = task.observation {
            return Err(Error::Config("observations are no places, so nothing can be expected of them".into()));
        }
        let head = self.blueprint.networks.iter().enumerate().find_map(|(network, plan)| {
            let (head, _) = plan.head(|head| head == Head::Reward)?;
            Some((plan, HeadAt { network, head }))
        });
        let Some((plan, head)) = head else {
            let why = "the model predicts no rewards; train it with model.reward_head above 0";
            return Err(Error::Config(why.into()));
        };
        let Some(memory) = self.games.get(game) else {
            return Err(Error::Agent(format!("game {game} has not begun")));
        };
        let tokens: Vec<Tokens> =
            (0..task.observation.size() as u32).map(|place| standing_at(place, memory, plan)).collect();
        let logits = self.brain.imagine(head, game, memory.steps(), &tokens)?;
        let classes = task.reward_classes;
        let (low, high) = task.reward_range;
        let expected = |logits: &[f32]| {
            let share: f64 = softmax(logits).iter().enumerate().map(|(class, p)| p * class as f64).sum();
            f64::from(low) + share / (classes - 1).max(1) as f64 * f64::from(high - low)
        };
        Ok(logits.chunks_exact(classes).map(expected).collect())
    }
}

/// The current step, if it were taken at this place. A reward of the step before would tell of another place, so there is none.
fn standing_at(place: u32, memory: &Memory, plan: &NetworkPlan) -> Tokens {
    let token = memory.token_at(Observation::Discrete(place));
    let previous = token.previous.map(|previous| Previous { reward: 0.0, ..previous });
    let mut writer = plan.format.writer();
    writer.push(&Token { previous, ..token });
    writer.end_sequence();
    writer.finish()
}

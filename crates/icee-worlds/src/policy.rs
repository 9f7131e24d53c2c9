//! A policy plays one game and says the probability of every action. Behaviour policies and reference agents are
//! policies; so the probabilities that the objective needs are there for all of them.

use crate::{Observation, StreamRng};
use rand::RngExt;

/// Plays one game, episode after episode.
///
/// A policy that knows the hidden part of its game got it when it was made. What else it knows, it was told through
/// these calls, as an agent would be.
pub trait Policy: Send {
    /// The game begins anew: forget what earlier episodes showed.
    fn begin_game(&mut self) {}

    /// An episode begins. `epsilon` is the episode's ε in [0, 1], 0 for the best play that the policy has; policies
    /// without such a knob ignore it.
    fn begin_episode(&mut self, epsilon: f32);

    /// Writes the probability of every action at this observation. One value an action; they sum to 1.
    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]);

    /// The reward of the action. It may also come for steps at which the policy was not asked, because somebody
    /// else chose the action.
    fn observe(&mut self, action: usize, reward: f32);
}

/// Draws an action from its probabilities; one of probability zero is never drawn.
#[inline]
pub fn sample_action(probabilities: &[f32], rng: &mut StreamRng) -> usize {
    let mut left: f32 = rng.random();
    let mut chosen = 0;
    for (action, &probability) in probabilities.iter().enumerate() {
        if probability > 0.0 {
            chosen = action;
            if left < probability {
                break;
            }
            left -= probability;
        }
    }
    chosen
}

/// Every action alike, always.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformPolicy;

impl Policy for UniformPolicy {
    fn begin_episode(&mut self, _epsilon: f32) {}

    fn probabilities(&mut self, _observation: Observation<'_>, _rng: &mut StreamRng, probabilities: &mut [f32]) {
        probabilities.fill(1.0 / probabilities.len() as f32);
    }

    fn observe(&mut self, _action: usize, _reward: f32) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, stream};

    #[test]
    fn impossible_actions_are_never_drawn_and_the_rest_as_often_as_said() {
        let mut rng = stream(1, Purpose::Agent, 0);
        let probabilities = [0.0, 0.25, 0.0, 0.75, 0.0];
        let mut counts = [0_u32; 5];
        for _ in 0..40_000 {
            counts[sample_action(&probabilities, &mut rng)] += 1;
        }
        assert_eq!([counts[0], counts[2], counts[4]], [0; 3]);
        // Binomial: standard deviation √(40,000 · 1/4 · 3/4) = 87.
        assert!(counts[1].abs_diff(10_000) < 4 * 87, "{counts:?}");
    }

    #[test]
    fn rounding_that_leaves_a_sum_below_one_still_draws_a_possible_action() {
        let mut rng = stream(2, Purpose::Agent, 0);
        for _ in 0..1_000 {
            assert_eq!(sample_action(&[0.0, 0.1, 0.0], &mut rng), 1);
        }
    }
}

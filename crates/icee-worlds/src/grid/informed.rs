//! The policy that knows where the goals are: the behaviour policy (with ε and, in one world, a bias) and the oracle
//! (without either).

use super::room::{ACTIONS, Cell, Room, closer};
use super::rules::{Bias, Goals};
use crate::{Observation, Policy, StreamRng};

/// With 1 − ε a uniformly chosen action that brings the agent closer to the next goal (on it: stay), with ε a
/// uniformly chosen one of the others ("stay" and walking into a wall are others).
#[derive(Clone, Debug)]
pub(super) struct InformedPolicy {
    room: Room,
    goals: [Cell; 2],
    rule: Goals,
    bias: Option<Bias>,
    noisy: bool,
    epsilon: f32,
    /// How many of the goals that pay once have been reached in this episode.
    stage: usize,
}

impl InformedPolicy {
    pub fn new(room: Room, goals: [Cell; 2], rule: Goals) -> Self {
        Self { room, goals, rule, bias: None, noisy: true, epsilon: 0.0, stage: 0 }
    }

    pub fn with_bias(self, bias: Option<Bias>) -> Self {
        Self { bias, ..self }
    }

    /// Takes no notice of ε.
    pub fn without_noise(self) -> Self {
        Self { noisy: false, ..self }
    }
}

impl Policy for InformedPolicy {
    fn begin_episode(&mut self, epsilon: f32) {
        self.epsilon = if self.noisy { epsilon } else { 0.0 };
        self.stage = 0;
    }

    #[inline]
    fn probabilities(&mut self, observation: Observation<'_>, _rng: &mut StreamRng, probabilities: &mut [f32]) {
        let Observation::Discrete(index) = observation else { return probabilities.fill(0.0) };
        // After the last goal (an episode of fixed length) there is nothing better than to stay there.
        let target = self.goals[self.stage.min(self.rule.count() - 1)];
        write_epsilon_greedy(closer(self.room.cell(index), target), self.epsilon, probabilities);
        if let Some(Bias { action, probability }) = self.bias {
            probabilities.iter_mut().for_each(|p| *p *= 1.0 - probability);
            probabilities[action] += probability;
        }
    }

    #[inline]
    fn observe(&mut self, _action: usize, reward: f32) {
        if reward > 0.0 && self.rule != Goals::EveryStep {
            self.stage += 1;
        }
    }
}

/// 1 − ε shared by the good actions, ε by the others. There is always at least one of each.
#[inline]
pub(super) fn write_epsilon_greedy(good: [bool; ACTIONS], epsilon: f32, probabilities: &mut [f32]) {
    let count = good.iter().filter(|&&g| g).count() as f32;
    let each_good = (1.0 - epsilon) / count;
    let each_other = epsilon / (ACTIONS as f32 - count);
    for (probability, good) in probabilities.iter_mut().zip(good) {
        *probability = if good { each_good } else { each_other };
    }
}

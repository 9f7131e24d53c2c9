//! Policies for bandits: the behaviour policy, which keeps to an arm; Thompson sampling; UCB1; the Gittins index.

use super::arms::{Arms, Tally};
use super::gittins::Gittins;
use crate::{Observation, Policy, StreamRng};
use icee_base::math::ln;
use rand::RngExt;
use std::sync::Arc;

/// The chance that the behaviour policy chooses anew at a pull that is not an episode's first.
const ANEW: f32 = 0.1;

/// Chooses an arm when it is first asked in an episode, and keeps to the arm that was pulled last, but for a chance to choose anew.
/// It chooses the best with 1 − ε and each other with an equal share of ε.
#[derive(Clone, Debug)]
pub struct Committed {
    arms: usize,
    best: usize,
    anew: f32,
    epsilon: f32,
    asked: bool,
    last: Option<usize>,
}

impl Committed {
    /// The behaviour policy: switches are seen at every pull, if seldom.
    #[must_use]
    pub fn behaviour(arms: usize, best: usize) -> Self {
        Self { arms, best, anew: ANEW, epsilon: 0.0, asked: false, last: None }
    }

    /// Who relabels: chooses where it takes over, whatever was pulled before, and then keeps to the arm that was pulled.
    #[must_use]
    pub fn expert(arms: usize, best: usize) -> Self {
        Self { anew: 0.0, ..Self::behaviour(arms, best) }
    }
}

impl Policy for Committed {
    fn begin_episode(&mut self, epsilon: f32) {
        (self.epsilon, self.asked, self.last) = (epsilon, false, None);
    }

    fn probabilities(&mut self, _: Observation<'_>, _: &mut StreamRng, probabilities: &mut [f32]) {
        self.asked = true;
        let anew = if self.last.is_some() { self.anew } else { 1.0 };
        // A single arm is its own other.
        let others = (self.arms - 1).max(1) as f32;
        probabilities.fill(anew * self.epsilon / others);
        probabilities[self.best] = if self.arms > 1 { anew * (1.0 - self.epsilon) } else { anew };
        if let Some(last) = self.last {
            probabilities[last] += 1.0 - anew;
        }
    }

    fn observe(&mut self, action: usize, _reward: f32) {
        if self.asked {
            self.last = Some(action);
        }
    }
}

/// Always the same arm: the oracle's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Always {
    pub arm: usize,
}

impl Policy for Always {
    fn begin_episode(&mut self, _epsilon: f32) {}

    fn probabilities(&mut self, _: Observation<'_>, _: &mut StreamRng, probabilities: &mut [f32]) {
        write_only(self.arm, probabilities);
    }

    fn observe(&mut self, _action: usize, _reward: f32) {}
}

/// Thompson sampling, UCB1 or the Gittins index.
#[derive(Clone, Debug)]
pub(super) struct Counting {
    arms: Arms,
    index: Index,
    tallies: Vec<Tally>,
}

/// How an arm is valued.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// Thompson sampling: by a mean drawn from the arm's posterior.
    Thompson,
    /// UCB1 (Auer, Cesa-Bianchi and Fischer 2002): its mean so far, and 2σ √(2 ln t / n); that is √(2 ln t / n) for payments within [0, 1].
    Ucb1,
    /// By the Gittins index of a Bernoulli arm.
    Gittins(Arc<Gittins>),
}

impl Counting {
    pub fn new(arms: Arms, count: usize, index: Index) -> Self {
        Self { arms, index, tallies: vec![Tally::default(); count] }
    }
}

impl Policy for Counting {
    fn begin_game(&mut self) {
        self.tallies.fill(Tally::default());
    }

    fn begin_episode(&mut self, _epsilon: f32) {}

    fn probabilities(&mut self, _: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        let Self { arms, index, tallies } = self;
        let chosen = match index {
            Index::Thompson => greatest(tallies.iter().map(|&tally| arms.believed_mean(tally, rng))),
            Index::Ucb1 => match tallies.iter().filter(|tally| tally.pulls == 0.0).count() {
                0 => {
                    let log = ln(tallies.iter().map(|tally| tally.pulls).sum());
                    let width = 2.0 * arms.deviation();
                    greatest(tallies.iter().map(|t| t.earned / t.pulls + width * (2.0 * log / t.pulls).sqrt()))
                }
                unknown => {
                    let chosen = rng.random_range(0..unknown);
                    let mut open = (0..tallies.len()).filter(|&arm| tallies[arm].pulls == 0.0);
                    open.nth(chosen).unwrap_or(0)
                }
            },
            Index::Gittins(table) => {
                let pulls = tallies.iter().map(|tally| tally.pulls as usize).sum();
                greatest(tallies.iter().map(|tally| table.index(tally.pulls as usize, tally.earned as usize, pulls)))
            }
        };
        write_only(chosen, probabilities);
    }

    fn observe(&mut self, action: usize, reward: f32) {
        let tally = &mut self.tallies[action];
        tally.pulls += 1.0;
        tally.earned += f64::from(reward);
    }
}

/// The place of the greatest value, the first of equal ones.
pub(super) fn greatest(values: impl Iterator<Item = f64>) -> usize {
    let better = |best: (usize, f64), (place, value)| if value > best.1 { (place, value) } else { best };
    values.enumerate().fold((0, f64::NEG_INFINITY), better).0
}

/// Probability 1 for one action.
pub(super) fn write_only(action: usize, probabilities: &mut [f32]) {
    probabilities.fill(0.0);
    probabilities[action] = 1.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, stream};

    fn asked(policy: &mut dyn Policy, arms: usize) -> Vec<f32> {
        let mut probabilities = vec![f32::NAN; arms];
        policy.probabilities(Observation::Discrete(0), &mut stream(0, Purpose::Agent, 0), &mut probabilities);
        probabilities
    }

    #[test]
    fn who_makes_the_data_keeps_to_an_arm() {
        let mut behaviour = Committed::behaviour(3, 1);
        behaviour.begin_episode(0.5);
        assert_eq!(asked(&mut behaviour, 3), [0.25, 0.5, 0.25]);
        behaviour.observe(2, 0.0);
        let expected = [0.025, 0.05, 0.925];
        asked(&mut behaviour, 3).iter().zip(expected).for_each(|(p, e)| assert!((p - e).abs() < 1e-6, "{p} {e}"));
        behaviour.begin_episode(0.0);
        assert_eq!(asked(&mut behaviour, 3), [0.0, 1.0, 0.0]);
    }

    /// What an exploring policy has pulled says nothing of what the expert will; the action that was drawn for it does.
    #[test]
    fn the_expert_chooses_where_it_takes_over_and_keeps_to_that() {
        let mut expert = Committed::expert(3, 1);
        expert.begin_episode(0.5);
        expert.observe(0, 0.0);
        assert_eq!(asked(&mut expert, 3), [0.25, 0.5, 0.25]);
        expert.observe(2, 0.0);
        assert_eq!(asked(&mut expert, 3), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn ucb1_tries_every_arm_and_then_the_highest_bound() {
        let mut ucb = Counting::new(Arms::Bernoulli, 3, Index::Ucb1);
        for (arm, reward) in [(0, 1.0), (2, 0.0)] {
            ucb.observe(arm, reward);
        }
        assert_eq!(asked(&mut ucb, 3), [0.0, 1.0, 0.0]);
        ucb.observe(1, 0.0);
        assert_eq!(asked(&mut ucb, 3), [1.0, 0.0, 0.0]);
        // After 100 pulls of which two were of arm 1: 0.5 + √(2 ln 101 / 2) is more than 1 + √(2 ln 101 / 98).
        ucb.observe(1, 1.0);
        (0..97).for_each(|_| ucb.observe(0, 1.0));
        (0..2).for_each(|_| ucb.observe(2, 0.0));
        assert_eq!(asked(&mut ucb, 3), [0.0, 1.0, 0.0]);
    }
}

//! The returns that the model is conditioned on: c (`step_rtg`) and c̃ (`episode_rtg`), and the weights U/π.

use crate::novelty::Novelty;
use crate::sequences::Sequences;
use icee_worlds::{StepLabel, returns_to_go};
use serde::{Deserialize, Serialize};

/// The share of a return that is a matter of rounding.
const ROUNDING: f32 = 1e-6;

/// The uniform bins into which c is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReturnBins {
    /// c_min.
    pub low: f32,
    /// c_max.
    pub high: f32,
    /// How many bins.
    pub count: usize,
}

impl ReturnBins {
    /// The bin of a return-to-go.
    #[must_use]
    pub fn bin(&self, step_rtg: f32) -> u32 {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        let share = (f64::from(step_rtg) - low) / (high - low);
        // Sums of −1/T often lie on an edge but for rounding; a hair lifts them all onto the same side.
        let bin = (share * self.count as f64 + 1e-4).floor();
        bin.clamp(0.0, (self.count - 1) as f64) as u32
    }

    /// (c − c_min) / (c_max − c_min) at the centre of a bin.
    #[must_use]
    pub fn share(&self, bin: usize) -> f64 {
        (bin as f64 + 0.5) / self.count as f64
    }

    /// c at the centre of a bin.
    #[must_use]
    pub fn centre(&self, bin: usize) -> f64 {
        f64::from(self.low) + self.share(bin) * f64::from(self.high - self.low)
    }
}

/// Follows the best return of a sequence and says of each episode whether it beats it: c̃.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    best: f32,
}

impl Default for Record {
    /// The first episode improves iff its return is above 0.
    fn default() -> Self {
        Record { best: 0.0 }
    }
}

impl Record {
    /// Whether a return beats all so far.
    #[must_use]
    pub fn is_beaten_by(&self, episode_return: f32) -> bool {
        episode_return - self.best > self.rounding(episode_return)
    }

    /// Whether a return is as good as any so far.
    fn is_matched_by(&self, episode_return: f32) -> bool {
        self.best - episode_return <= self.rounding(episode_return)
    }

    /// What other sums of as much may differ by: five times 0.02 is no more than 0.1.
    fn rounding(&self, episode_return: f32) -> f32 {
        ROUNDING * self.best.abs().max(episode_return.abs())
    }

    /// c̃ of the next episode, which then counts among the earlier ones.
    pub fn episode_rtg(&mut self, first: bool, episode_return: f32) -> u32 {
        let improves = self.is_beaten_by(episode_return);
        self.best = if first { episode_return } else { self.best.max(episode_return) };
        u32::from(improves)
    }
}

/// Labels of every step, in the order of the tokens: what the behaviour policy did there and what came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// a.
    pub actions: Vec<u32>,
    /// r: the reward of the action.
    pub rewards: Vec<f32>,
    /// c, sorted into bins.
    pub step_bins: Vec<u32>,
    /// c̃ of the step's episode.
    pub episode_rtg: Vec<u32>,
    /// How much the step counts, 0 where nothing is learned; the weights that follow are multiplied by it.
    pub learned: Vec<f32>,
    /// U(a)/π(a|o), clipped; of relabelled steps U/q, q being how a was drawn.
    pub weights: Vec<f32>,
    /// What makes the actions those of the behaviour policy: π/q of relabelled steps, 1 elsewhere.
    pub behaviour_weights: Vec<f32>,
    /// (Σw)²/Σw² as a share of the number of steps that are learned from.
    pub effective_share: f64,
    /// The share of weights that were clipped.
    pub clipped_share: f64,
    /// Whether steps lead to new places; empty unless a head asks for it.
    pub novelty: Novelty,
}

/// How much steps count.
#[derive(Clone, Copy, Debug)]
pub struct Weighing {
    /// The greatest U(a)/π(a|o).
    pub clip: f32,
    /// The weight of steps of a search, when others have 1. It depends on the history alone, so what is predicted given
    /// the history stays the same; but how a search goes on is seldom seen and hard to learn.
    pub search: f32,
    /// A search are the steps of a game that has paid nothing so far. Where there is one goal after another, it goes on
    /// in an episode that has earned no less than any before it.
    pub goals_in_turn: bool,
}

/// What is learned at one step.
struct Label {
    action: u32,
    learned: f32,
    weight: f32,
    behaviour_weight: f32,
    reward: f32,
    step_rtg: f32,
    episode_rtg: u32,
}

impl Labels {
    /// Labels of all steps of some sequences.
    #[must_use]
    pub fn new(sequences: &Sequences, bins: ReturnBins, idle_price: f32, weighing: Weighing) -> Labels {
        let Weighing { clip, search, goals_in_turn } = weighing;
        let data = &*sequences.data;
        let actions = data.action_count as f32;
        let mut labels = Labels::default();
        let (mut clipped, mut count, mut sum, mut squares) = (0usize, 0.0f64, 0.0f64, 0.0f64);
        for order in &sequences.order {
            let mut record = Record::default();
            let mut has_paid = false;
            for (k, &episode) in order.iter().enumerate() {
                let steps = data.episode_steps(episode);
                let before = record;
                let episode_rtg = record.episode_rtg(k == 0, data.episode_return(episode));
                let returns = returns_to_go(&data.rewards[steps.clone()], idle_price);
                let mut earned = 0.0;
                for (step, step_rtg) in steps.zip(returns) {
                    let own = Label {
                        action: data.actions[step],
                        learned: 1.0,
                        weight: 1.0 / (actions * data.taken_probability(step)),
                        behaviour_weight: 1.0,
                        reward: data.rewards[step],
                        step_rtg,
                        episode_rtg,
                    };
                    let label = match data.label(step) {
                        StepLabel::Own => own,
                        StepLabel::Skipped => Label { learned: 0.0, weight: 0.0, behaviour_weight: 0.0, ..own },
                        StepLabel::Relabelled(t) => Label {
                            action: t.action,
                            learned: 1.0,
                            weight: 1.0 / (actions * t.drawn(data.action_count)),
                            behaviour_weight: t.probability / t.drawn(data.action_count),
                            reward: t.reward,
                            step_rtg: t.return_to_go,
                            episode_rtg: u32::from(before.is_beaten_by(earned + t.earned)),
                        },
                    };
                    let searches = if goals_in_turn { before.is_matched_by(earned) } else { !has_paid };
                    let importance = if searches { search } else { 1.0 };
                    has_paid |= data.rewards[step] != 0.0;
                    earned += data.rewards[step];
                    clipped += usize::from(label.weight > clip);
                    let weight = label.weight.min(clip);
                    count += f64::from(label.learned);
                    sum += f64::from(weight);
                    squares += f64::from(weight) * f64::from(weight);
                    labels.learned.push(label.learned * importance);
                    labels.actions.push(label.action);
                    labels.rewards.push(label.reward);
                    labels.step_bins.push(bins.bin(label.step_rtg));
                    labels.episode_rtg.push(label.episode_rtg);
                    labels.weights.push(weight * importance);
                    labels.behaviour_weights.push(label.behaviour_weight * importance);
                }
            }
        }
        let count = count.max(1.0);
        labels.effective_share = if squares > 0.0 { sum * sum / squares / count } else { 0.0 };
        labels.clipped_share = clipped as f64 / count;
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_by_hand() {
        let bins = ReturnBins { low: -1.0, high: 1.0, count: 8 };
        assert_eq!([-1.0, -0.76, -0.75, 0.99, 1.0, 7.0].map(|c| bins.bin(c)), [0, 0, 1, 7, 7, 7]);
        assert_eq!(bins.centre(7), 0.875);
    }

    #[test]
    fn records_by_hand() {
        let label = |returns: &[f32]| {
            let mut record = Record::default();
            returns.iter().enumerate().map(|(k, &r)| record.episode_rtg(k == 0, r)).collect::<Vec<u32>>()
        };
        assert_eq!(label(&[0.0, 1.0, 1.0, 2.0, 0.0]), [0, 1, 0, 1, 0]);
        assert_eq!(label(&[1.0, 1.0, 3.0]), [1, 0, 1]);
        // Whatever the unit and the order, as much is not more.
        assert_eq!(label(&[0.1, 0.02 + 0.02 + 0.02 + 0.02 + 0.02, 0.1 + 1e-8, 0.12]), [1, 0, 0, 1]);
        // A first return below zero is no success, but it can be beaten.
        assert_eq!(label(&[-2.0, -1.0, -1.5]), [0, 1, 0]);
    }
}

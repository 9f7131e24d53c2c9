//! Regret after every step: the oracle's return minus the agent's, on the same tasks.

use crate::Result;
use icee_base::stats::Estimate;
use icee_worlds::{Games, PlayedStep, Reference, ReferenceAgent, Split, World};

/// The rewards of all steps of all games, every episode having as many steps as its limit allows.
pub(super) struct Rewards {
    /// T.
    limit: usize,
    /// The steps of a game: K T.
    steps: usize,
    /// `[games, steps]`
    values: Vec<f32>,
}

impl Rewards {
    pub(super) fn new(world: &dyn World, games: usize) -> Rewards {
        let limit = world.spec().episode_limit;
        let steps = limit * world.spec().episodes;
        Rewards { limit, steps, values: vec![0.0; games * steps] }
    }

    pub(super) fn see(&mut self, step: &PlayedStep<'_>) {
        self.values[step.game * self.steps + step.episode * self.limit + step.step] = step.outcome.reward;
    }

    /// The rewards of somebody who knows the best arm, on the same games.
    pub(super) fn of_oracle(world: &dyn World, games: usize, seed: u64) -> Result<Rewards> {
        let mut rewards = Rewards::new(world, games);
        let mut dealt = Games::deal(world, games, seed, Split::Evaluation)?;
        let mut oracle = ReferenceAgent::new(Reference::Oracle, &dealt)?;
        dealt.play_watched(&mut oracle, world.spec().episodes, |step| rewards.see(step))?;
        Ok(rewards)
    }

    /// The regret up to each step: its mean over games, and half the width of its 95 % interval.
    pub(super) fn regret(&self, best: &Rewards) -> Vec<(f64, f64)> {
        let games = self.values.len() / self.steps;
        let mut sums = vec![0.0; games];
        let after = |step: usize| {
            for (game, sum) in sums.iter_mut().enumerate() {
                let at = game * self.steps + step;
                *sum += f64::from(best.values[at]) - f64::from(self.values[at]);
            }
            let estimate = Estimate::of(&sums);
            (estimate.mean, estimate.known_half_width().unwrap_or(0.0))
        };
        (0..self.steps).map(after).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regret_by_hand() {
        let of = |values: [f32; 4]| Rewards { limit: 2, steps: 2, values: values.to_vec() };
        let regret = of([0.0, 1.0, 0.5, 0.0]).regret(&of([1.0, 1.0, 1.0, 1.0]));
        // 1 and 0.5 after the first step, 1 and 1.5 after the second; t for one degree of freedom is 12.7.
        assert_eq!(regret.iter().map(|(mean, _)| *mean).collect::<Vec<_>>(), [0.75, 1.25]);
        assert!(regret.iter().all(|(_, half)| (half - 12.706_205 * 0.25).abs() < 1e-6), "{regret:?}");
    }
}

//! What whoever has made a log should know of it before anything is learned from it.

use super::Logs;
use crate::task::ObservationKind;
use icee_base::stats::Estimate;
use icee_worlds::Observations;
use std::collections::HashMap;

/// Deviations from its column's mean beyond which an observation is worth a look.
const FAR: f32 = 10.0;
/// How far the mean of U/π may be from 1 before it is told, and how many half widths of its interval that must be.
const OFF: (f64, f64) = (0.1, 2.0);

/// The share of a probability by which another may differ and still be the same, written with fewer digits.
const SAME: f32 = 1e-2;

impl Logs {
    /// What is unusual about the log, in words.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let games = self.data.sequences();
        let mut remarks = Vec::new();
        if games == 1 {
            remarks.push(
                "there is one game only: what is hidden never changes, so nothing is learned of finding it out"
                    .to_owned(),
            );
        }
        if self.most_episodes() == 1 {
            remarks.push(
                "every game has a single episode, so nothing is learned of using earlier ones: give the episodes of one game the same number"
                    .into(),
            );
        }
        remarks.extend(self.unread.iter().cloned());
        remarks.extend(self.doubtful_probabilities());
        remarks.extend(self.reals());
        remarks
    }

    /// What is wrong with the probabilities, if anything is. The mean of U(a)/π(a) is 1 wherever π takes every action now and then, and less
    /// where it leaves some out.
    #[must_use]
    pub fn doubtful_probabilities(&self) -> Option<String> {
        let steps = self.data.steps();
        if !self.has_probabilities {
            let missing = self.without_probability;
            return (missing < steps).then(|| {
                format!("{missing} of {steps} steps have no probability, so none is used: give all of them, or leave the column out")
            });
        }
        let actions = self.data.action_count as f64;
        let weight = |step: usize| 1.0 / (actions * f64::from(self.data.taken_probability(step)));
        let of_game = |game: usize| {
            let steps = self.data.sequence_steps(game);
            let count = steps.len().max(1) as f64;
            steps.map(weight).sum::<f64>() / count
        };
        let games: Vec<f64> = (0..self.data.sequences()).map(of_game).collect();
        let Estimate { mean, half_width } = Estimate::of(&games);
        if (mean - 1.0).abs() < OFF.0.max(OFF.1 * half_width) {
            return None;
        }
        let why = match mean > 1.0 {
            true => "the probabilities are too small: they must be those of the actions that were taken",
            false => {
                "the probabilities are too large, or some actions are never taken in some places; of those nothing can be said"
            }
        };
        Some(format!("the mean of (1 / actions) / probability is {mean:.2} and should be about 1: {why}"))
    }

    /// Whether the policy that made the log seems to act on what is hidden: the same action at the same first sight of a game is not equally
    /// likely in all games, when nothing has been seen yet by which games could be told apart.
    #[must_use]
    pub fn seems_to_know_more(&self) -> bool {
        let Observations::Discrete(seen) = &self.data.observations else { return false };
        let mut known: HashMap<(u32, u32), f32> = HashMap::new();
        self.has_probabilities
            && (0..self.data.sequences()).any(|game| {
                let first = self.data.sequence_steps(game).start;
                let probability = self.data.taken_probability(first);
                let other = *known.entry((seen[first], self.data.actions[first])).or_insert(probability);
                (probability - other).abs() > SAME * other
            })
    }

    /// What is unusual about columns of reals.
    fn reals(&self) -> Vec<String> {
        let (Observations::Vector { width, values }, ObservationKind::Vector { .. }) =
            (&self.data.observations, self.task.observation)
        else {
            return vec![];
        };
        let mut remarks = Vec::new();
        if *width == 1 && values.iter().all(|value| value.fract() == 0.0 && *value >= 0.0) {
            remarks.push(
                "all observations are whole numbers with decimal points, and read as reals: write them without, if they number things".to_owned(),
            );
        }
        for (column, [mean, deviation]) in self.task.observation_scale.iter().flatten().enumerate() {
            let column_values = values.iter().skip(column).step_by(*width);
            let Some(furthest) = column_values.max_by(|a, b| (*a - mean).abs().total_cmp(&(*b - mean).abs())) else {
                continue;
            };
            let far = (furthest - mean).abs() / deviation;
            if far > FAR {
                remarks.push(format!(
                    "number {} of the observations has a value of {furthest}, {far:.0} deviations from its mean {mean}: is it a slip? If not, \
                     learn from its logarithm",
                    column + 1
                ));
            }
        }
        remarks
    }
}

//! Warnings about a log before training: single tasks or episodes, gaps, copies, outliers, wrong probabilities.

use super::Logs;
use crate::task::ObservationKind;
use icee_base::stats::Estimate;
use icee_worlds::{Observation, Observations};
use std::collections::HashMap;

/// Standard deviations from its column's mean beyond which an observation is reported.
const FAR: f32 = 10.0;
/// How far the mean of U/π may be from 1 before it is reported, and how many half widths of its interval that must be.
const OFF: (f64, f64) = (0.1, 2.0);

/// How much oftener a first move must come back within its game than in others before it counts, and how many half widths that must be:
/// where several ways lead to what is hidden, and with noise, it is not much.
const REPEATED: (f64, f64) = (0.01, 2.0);
/// The share of a probability by which another may differ and still be the same, written with fewer digits.
const SAME: f32 = 1e-2;

/// First moves of games that look alike at first.
#[derive(Default)]
struct FirstMoves {
    /// Those of the games, and their probabilities.
    of_games: Vec<(u32, f32)>,
    /// Of every game how often each action is the first of an episode that looks like that, too.
    of_episodes: Vec<HashMap<u32, f64>>,
}

impl FirstMoves {
    /// Whether one policy that sees no more than this can have made them: every action is equally likely in all games, and all together
    /// at most 1.
    fn are_of_one_policy(&self) -> bool {
        let mut known: HashMap<u32, f32> = HashMap::new();
        let alike = self.of_games.iter().all(|&(action, probability)| {
            let other = *known.entry(action).or_insert(probability);
            (probability - other).abs() <= SAME * other
        });
        alike && known.values().sum::<f32>() <= 1.0 + SAME
    }

    /// For every game how much oftener two of its episodes begin alike than one of it and one of another game.
    fn repeated(&self) -> Vec<f64> {
        let mut all: HashMap<u32, f64> = HashMap::new();
        for (action, count) in self.of_episodes.iter().flatten() {
            *all.entry(*action).or_default() += count;
        }
        let total: f64 = all.values().sum();
        let of = |game: &HashMap<u32, f64>| {
            let count: f64 = game.values().sum();
            let alike: f64 = game.values().map(|n| n * (n - 1.0)).sum();
            let others: f64 = game.iter().map(|(action, n)| n * (all[action] - n)).sum();
            (count > 1.0 && total > count).then(|| alike / (count * (count - 1.0)) - others / (count * (total - count)))
        };
        self.of_episodes.iter().filter_map(of).collect()
    }
}

impl Logs {
    /// What is unusual about the log, in words.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let games = self.data.sequences();
        let mut remarks = Vec::new();
        if games == 1 {
            remarks.push(
                "the log has one game only: what is hidden never changes, so the agent does not learn to find it"
                    .to_owned(),
            );
        }
        if self.most_episodes() == 1 {
            remarks.push(
                "every game has a single episode, so the agent does not learn to use earlier ones; give the episodes of one game the same number"
                    .into(),
            );
        }
        remarks.extend(self.unread.iter().cloned());
        remarks.extend(self.gap.clone());
        remarks.extend(self.copies());
        remarks.extend(self.actions());
        remarks.extend(self.outlying.clone());
        remarks.extend(self.doubtful_probabilities());
        remarks.extend(self.reals());
        remarks
    }

    /// What is unusual about actions.
    fn actions(&self) -> Option<String> {
        let mut taken = vec![false; self.data.action_count];
        self.data.actions.iter().for_each(|&action| taken[action as usize] = true);
        if taken.iter().filter(|taken| **taken).count() == 1 {
            let only = taken.len() - 1;
            return Some(format!("the only action is {only}: there is nothing to learn"));
        }
        let why = "no action is 0: actions are numbered from 0, and the agent may take actions that never occur";
        (!taken[0]).then(|| why.into())
    }

    /// What is wrong with the probabilities, if anything is. The mean of U(a)/π(a) is 1 wherever π takes every action now and then, and less
    /// where it leaves some out.
    #[must_use]
    pub fn doubtful_probabilities(&self) -> Option<String> {
        let steps = self.data.steps();
        if !self.has_probabilities {
            let missing = self.without_probability;
            return (missing < steps).then(|| {
                format!("{missing} of {steps} steps have no probability, so none is used; give all of them, or leave the column out")
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
            true => "the probabilities are too small; they must be those of the logged actions",
            false => {
                "the probabilities are too large, or some actions are never taken in some places and cannot be judged"
            }
        };
        Some(format!("the mean of (1 / actions) / probability is {mean:.2} and should be about 1: {why}"))
    }

    /// Whether the policy that made the log seems to act on what is hidden. Two things must hold where games look alike at first. Their
    /// first moves are not those of one policy, though nothing has been seen yet by which games could be told apart: who learns as it
    /// plays begins all games alike. And two episodes of a game that look like that begin alike, more often than those of different games:
    /// chance that is drawn for every episode, as noise is, has no such memory.
    #[must_use]
    pub fn seems_to_know_more(&self) -> bool {
        let mut sights: HashMap<Vec<i64>, FirstMoves> = HashMap::new();
        for game in 0..self.data.sequences() {
            let starts = self.data.sequence_episodes(game).map(|episode| self.data.episode_steps(episode).start);
            let Some((first, sight)) = starts.clone().next().and_then(|first| Some((first, self.sight(first)?))) else {
                continue;
            };
            let mut of_episodes: HashMap<u32, f64> = HashMap::new();
            for start in starts.filter(|start| self.sight(*start).as_ref() == Some(&sight)) {
                *of_episodes.entry(self.data.actions[start]).or_default() += 1.0;
            }
            let moves = sights.entry(sight).or_default();
            moves.of_games.push((self.data.actions[first], self.data.taken_probability(first)));
            moves.of_episodes.push(of_episodes);
        }
        let repeated: Vec<f64> =
            sights.values().filter(|moves| !moves.are_of_one_policy()).flat_map(FirstMoves::repeated).collect();
        let Estimate { mean, half_width } = Estimate::of(&repeated);
        self.has_probabilities && mean > REPEATED.0.max(REPEATED.1 * half_width)
    }

    /// What is seen at a step: reals to a standard deviation, as noise seldom leaves two alike.
    fn sight(&self, step: usize) -> Option<Vec<i64>> {
        Some(match self.data.observations.get(step)? {
            Observation::Discrete(index) => vec![i64::from(index)],
            Observation::Vector(values) => {
                let mut scaled = Vec::new();
                self.task.scale_reals(values, &mut scaled);
                scaled.iter().map(|value| value.round() as i64).collect()
            }
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
                "all observations are whole numbers with decimal points, and read as reals; if they are indices, write them without points".to_owned(),
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
                    "number {} of the observations is {furthest} in one step, {far:.0} standard deviations from its mean {mean}; fix it, or \
                     use its logarithm",
                    column + 1
                ));
            }
        }
        remarks
    }
}

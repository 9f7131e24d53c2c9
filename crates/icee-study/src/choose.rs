//! Which rows to try next.
//!
//! Everything here is in the models' unit (see [`Units`](crate::trials::Units)) and depends on the pool, the trials and
//! one stream of random numbers. Rows that are still running, and those picked so far, count as known with an outcome
//! drawn from the model's belief: that keeps a batch from crowding into one place.

use crate::Result;
use crate::predictor::Predictor;
use crate::replicates::Replicates;
use crate::study::lowest;
use crate::trials::Trials;
use icee_base::random::StreamRng;
use icee_bo::acquisition::{Rule, log_improvements, pick};
use icee_bo::belief::Belief;
use icee_bo::pool::{Pool, Told};
use icee_bo::remaining::Remaining;
use rand::seq::index::sample;
use rand::{Rng, RngExt};
use std::collections::BTreeSet;

/// Told rows whose neighbourhoods a preselection looks at.
const CENTRES: usize = 4;
/// Rows from which all but the first of a batch are picked.
const SHORT_LIST: usize = 1 << 11;
/// Rows of a batch for each of which a model is fitted anew. All values beyond those told are imagined, and the more there are
/// of them, the less another one can teach.
const FITTED_PICKS: usize = 16;
/// Steps in which running rows get their sampled outcomes; within a step each for itself.
const RUNNING_STEPS: usize = 8;
/// Random rows of which the farthest from all others is a good start.
const START_DRAWS: usize = 32;

/// The rows picked, with what is believed of them from the values told alone.
#[derive(Debug)]
pub struct Choice {
    /// Which rows; without a belief where there is too little history for one.
    pub rows: Vec<(usize, Option<Belief>)>,
    /// About all rows that are left.
    pub remaining: Option<Remaining>,
    /// How many rows were left, and how many of them were looked at.
    pub left: usize,
    /// See `left`.
    pub scored: usize,
}

/// Where a choice is made.
pub struct Scene<'a> {
    /// The rows.
    pub pool: &'a Pool,
    /// What is known.
    pub trials: &'a Trials,
    /// The same as models see it.
    pub history: &'a [Told],
    /// For every row, whether it is out of the question.
    pub taken: &'a [bool],
}

impl Scene<'_> {
    /// Picks up to `count` rows of those that are left, all different.
    pub fn choose(&self, predictor: &mut Predictor, count: usize, rng: &mut StreamRng) -> Result<Choice> {
        let left: Vec<usize> = (0..self.taken.len()).filter(|&row| !self.taken[row]).collect();
        if left.is_empty() || self.trials.values() < predictor.surrogate.least_history() {
            let rows = self.start(predictor.rule, &left, count, rng).into_iter().map(|row| (row, None)).collect();
            return Ok(Choice { rows, remaining: None, left: left.len(), scored: left.len() });
        }
        let mut candidates = self.preselected(&left, predictor.scored, rng);
        if predictor.rule == Rule::Random {
            let mut places: Vec<usize> = sample(rng, left.len(), count.min(left.len())).into_vec();
            places.iter_mut().for_each(|place| *place = left[*place]);
            let beliefs = predictor.predict(self.pool, self.history, &places)?;
            let promise = predictor.predict(self.pool, self.history, &candidates)?;
            let remaining = predictor.remaining(self.pool, self.history, &candidates, &promise, rng)?;
            let rows = places.into_iter().zip(beliefs.into_iter().map(Some)).collect();
            let (left, scored) = (left.len(), candidates.len());
            return Ok(Choice { rows, remaining: Some(remaining), left, scored });
        }
        let scored = candidates.len();
        let told_alone = predictor.predict(self.pool, self.history, &candidates)?;
        let remaining = predictor.remaining(self.pool, self.history, &candidates, &told_alone, rng)?;
        let mut known = self.history.to_vec();
        self.imagine_running(predictor, &mut known, rng)?;
        let mut picked = Vec::from_iter(self.repeated(&told_alone));
        let repeats = !picked.is_empty();
        while picked.len() < count && !candidates.is_empty() {
            if picked.len() == FITTED_PICKS + usize::from(repeats) {
                predictor.hold(self.pool, Some(&known))?;
            }
            let as_told = known.len() == self.history.len();
            let beliefs =
                if as_told { told_alone.clone() } else { predictor.predict(self.pool, &known, &candidates)? };
            let gains = log_improvements(&beliefs, lowest(&known));
            let place = pick(predictor.rule, &gains, &beliefs, rng);
            known.push(Told { candidate: candidates[place], value: beliefs[place].sample(rng) });
            picked.push(candidates[place]);
            candidates = shortened(&candidates, &gains, place);
        }
        predictor.hold(self.pool, None)?;
        let beliefs = predictor.predict(self.pool, self.history, &picked)?;
        let rows = picked.into_iter().zip(beliefs.into_iter().map(Some)).collect();
        Ok(Choice { rows, remaining: Some(remaining), left: left.len(), scored })
    }

    /// A row that has a value and is more worth measuring than any of which these are the beliefs.
    fn repeated(&self, beliefs: &[Belief]) -> Option<usize> {
        let replicates = Replicates::of(self.history)?;
        let (row, worth) = replicates.worth_repeating();
        let can_be = !self.trials.is_running(row) && self.trials.outcome(row)?.value().is_some();
        let is_most = beliefs.iter().all(|belief| replicates.worth_of(belief) < worth);
        (can_be && is_most).then_some(row)
    }

    /// Before there is anything to learn from: each row the farthest of a few random ones from all that are taken.
    fn start(&self, rule: Rule, left: &[usize], count: usize, rng: &mut dyn Rng) -> Vec<usize> {
        let taken = self.trials.told.iter().map(|trial| trial.row).chain(self.trials.running().map(|(row, _)| *row));
        let mut centres: Vec<usize> = taken.collect();
        let mut open: BTreeSet<usize> = BTreeSet::new();
        let mut left = left.to_vec();
        let mut picked = Vec::new();
        while picked.len() < count && !left.is_empty() {
            open.clear();
            let draws = if rule == Rule::Random || centres.is_empty() { 1 } else { START_DRAWS };
            open.extend((0..draws).map(|_| rng.random_range(0..left.len())));
            let Some(place) = self.farthest(&open, &left, &centres) else { break };
            let row = left.swap_remove(place);
            centres.push(row);
            picked.push(row);
        }
        picked
    }

    /// Of some places in `left` the one whose row is farthest from all centres, the first of equals.
    fn farthest(&self, places: &BTreeSet<usize>, left: &[usize], centres: &[usize]) -> Option<usize> {
        let mut found = places.first().copied();
        if places.len() < 2 {
            return found;
        }
        let mut farthest = f64::NEG_INFINITY;
        for &place in places {
            let point = self.pool.point(left[place]);
            let mut nearest = f64::INFINITY;
            for &centre in centres {
                nearest = nearest.min(square_distance(point, self.pool.point(centre)));
                // Out, whatever the other centres are.
                if nearest <= farthest {
                    break;
                }
            }
            if nearest > farthest {
                (farthest, found) = (nearest, Some(place));
            }
        }
        found
    }

    /// The rows that are scored, ascending: all, or of a very large pool half chosen by chance and half the nearest
    /// neighbours of the best rows told.
    fn preselected(&self, left: &[usize], limit: usize, rng: &mut StreamRng) -> Vec<usize> {
        if left.len() <= limit {
            return left.to_vec();
        }
        let mut chosen: BTreeSet<usize> = BTreeSet::new();
        let mut best: Vec<&Told> = self.history.iter().collect();
        best.sort_by(|a, b| a.value.total_cmp(&b.value));
        for centre in best.into_iter().take(CENTRES) {
            let centre = self.pool.point(centre.candidate);
            let mut near: Vec<(f32, usize)> =
                left.iter().map(|&row| (square_distance(self.pool.point(row), centre) as f32, row)).collect();
            let (before, _, _) =
                near.select_nth_unstable_by(limit / 2 / CENTRES, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            chosen.extend(before.iter().map(|(_, row)| *row));
        }
        // As many as are wanted in all: some of them are neighbours already.
        for place in sample(rng, left.len(), limit) {
            if chosen.len() == limit {
                break;
            }
            chosen.insert(left[place]);
        }
        chosen.into_iter().collect()
    }

    /// Adds a sampled outcome for every running row.
    fn imagine_running(&self, predictor: &mut Predictor, known: &mut Vec<Told>, rng: &mut dyn Rng) -> Result<()> {
        let running: Vec<usize> = self.trials.running().map(|(row, _)| *row).collect();
        for step in 0..RUNNING_STEPS.min(running.len()) {
            let rows: Vec<usize> = running.iter().copied().skip(step).step_by(RUNNING_STEPS).collect();
            let beliefs = predictor.predict(self.pool, known, &rows)?;
            known.extend(
                rows.iter().zip(&beliefs).map(|(&candidate, belief)| Told { candidate, value: belief.sample(rng) }),
            );
        }
        Ok(())
    }
}

/// The candidates without the one at `place`, and no more than the most promising ones, in their order.
fn shortened(candidates: &[usize], gains: &[f64], place: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..candidates.len()).filter(|&other| other != place).collect();
    if places.len() > SHORT_LIST {
        places.select_nth_unstable_by(SHORT_LIST, |&a, &b| gains[b].total_cmp(&gains[a]).then(a.cmp(&b)));
        places.truncate(SHORT_LIST);
        places.sort_unstable();
    }
    places.into_iter().map(|place| candidates[place]).collect()
}

fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

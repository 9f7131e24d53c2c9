//! How far the beliefs of a value model can be trusted, checked along its own searches, where every value is known.
//!
//! Three questions: does a 50, 80 or 95 % interval hold that share of the values; do candidates that beat the best with
//! probability p do so in a share p of the cases; and the same for "does anything left beat the best?".

use super::race::Race;
use super::value_sampler::ValueSampler;
use crate::Result;
use icee_bo::sampler::Told;
use icee_bo::surrogate::Belief;
use serde::Serialize;

/// Told values after which beliefs are checked.
const LOOKS: [usize; 3] = [10, 20, 40];
/// Nominal levels of the intervals.
const LEVELS: [f64; 3] = [0.5, 0.8, 0.95];
/// Upper ends of the classes of predicted probabilities.
const CLASSES: [f64; 8] = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0];

/// Beliefs beside what was true.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Which functions.
    pub on: &'static str,
    /// Beliefs checked.
    pub beliefs: usize,
    /// Nominal level and the share of values within the central interval.
    pub coverage: Vec<(f64, f64)>,
    /// "This candidate beats the best."
    pub beats_best: Vec<Reliability>,
    /// "Something left beats the best", taking candidates for independent: an upper bound where they rise and fall
    /// together.
    pub any_left_independent: Vec<Reliability>,
    /// "Something left beats the best", by the most promising candidate alone: a lower bound.
    pub any_left_single: Vec<Reliability>,
}

/// Predictions of about the same probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reliability {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub predicted: f64,
    /// The share that came true.
    pub observed: f64,
}

/// Predictions sorted into classes.
#[derive(Default)]
struct Tally {
    classes: [(usize, f64, usize); CLASSES.len()],
}

impl Tally {
    fn add(&mut self, predicted: f64, came_true: bool) {
        let class = CLASSES.partition_point(|&end| end < predicted).min(CLASSES.len() - 1);
        let (count, sum, hits) = &mut self.classes[class];
        *count += 1;
        *sum += predicted;
        *hits += usize::from(came_true);
    }

    fn reliabilities(&self) -> Vec<Reliability> {
        let filled = self.classes.iter().filter(|(count, ..)| *count > 0);
        filled
            .map(|&(count, sum, hits)| Reliability {
                count,
                predicted: sum / count as f64,
                observed: hits as f64 / count as f64,
            })
            .collect()
    }
}

/// Checks the beliefs of the sampler's model along its searches.
pub(crate) fn calibrate(on: &'static str, race: &Race, sampler: &mut ValueSampler) -> Result<Calibration> {
    let mut inside = [0usize; LEVELS.len()];
    let mut beliefs = 0;
    let (mut beats, mut independent, mut single) = (Tally::default(), Tally::default(), Tally::default());
    for task in &race.tasks {
        let evaluations = LOOKS[LOOKS.len() - 1].min(task.pool.size() / 2);
        let told = task.search(evaluations, sampler)?;
        for look in LOOKS.into_iter().filter(|&look| look <= told.len()) {
            let told = &told[..look];
            let left = unevaluated(task.pool.size(), told);
            let best = told.iter().map(|told| told.value).fold(f64::INFINITY, f64::min);
            let (mut none, mut most) = (1.0, 0.0f64);
            for (belief, &candidate) in sampler.model().beliefs(&task.pool, told, &left)?.iter().zip(&left) {
                let value = task.values[candidate];
                beliefs += 1;
                for (level, inside) in LEVELS.into_iter().zip(&mut inside) {
                    *inside += usize::from(holds(belief, level, value));
                }
                let better = belief.below(best);
                beats.add(better, value < best);
                none *= 1.0 - better;
                most = most.max(better);
            }
            let any = left.iter().any(|&candidate| task.values[candidate] < best);
            independent.add(1.0 - none, any);
            single.add(most, any);
        }
    }
    let share = |count: usize| count as f64 / beliefs.max(1) as f64;
    Ok(Calibration {
        on,
        beliefs,
        coverage: LEVELS.into_iter().zip(inside).map(|(level, inside)| (level, share(inside))).collect(),
        beats_best: beats.reliabilities(),
        any_left_independent: independent.reliabilities(),
        any_left_single: single.reliabilities(),
    })
}

/// Whether the central interval of a level holds the value.
fn holds(belief: &Belief, level: f64, value: f64) -> bool {
    let (low, high) = belief.interval(level);
    (low..=high).contains(&value)
}

fn unevaluated(pool: usize, told: &[Told]) -> Vec<usize> {
    let mut known = vec![false; pool];
    told.iter().for_each(|told| known[told.candidate] = true);
    (0..pool).filter(|&candidate| !known[candidate]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_by_hand() {
        let mut tally = Tally::default();
        for (predicted, came_true) in [(0.0, false), (0.3, true), (0.5, false), (0.8, true), (1.0, true)] {
            tally.add(predicted, came_true);
        }
        let found = tally.reliabilities();
        assert_eq!(found.iter().map(|r| r.count).collect::<Vec<_>>(), [1, 2, 2]);
        assert_eq!((found[1].predicted, found[1].observed), (0.4, 0.5));
        assert_eq!((found[2].predicted, found[2].observed), (0.9, 1.0));
    }

    #[test]
    fn intervals_hold_what_lies_between_their_quantiles() {
        let belief = Belief::Histogram { low: 0.0, width: 1.0, probabilities: vec![0.05; 20] };
        // The widest interval reaches the outer bins, so it holds whatever lies beyond.
        for (value, held) in [(4.4, [false, true, true]), (10.0, [true; 3]), (99.0, [false, false, true])] {
            assert_eq!(LEVELS.map(|level| holds(&belief, level, value)), held, "{value}");
        }
    }
}

//! Calibration of a value model along its own searches, where every value is known.
//!
//! Three questions: does a 50, 80 or 95 % interval hold that share of the values; do candidates that beat the best with
//! probability p do so in a share p of the cases; and the same for "does anything left beat the best?".

use crate::Result;
use icee_bo::belief::{Belief, Range};
use icee_bo::pool::Told;
use icee_bo::remaining::Remaining;
use icee_bo::search::{Sampler, SearchTask};
use icee_bo::surrogate::Surrogate;
use rayon::prelude::*;
use serde::Serialize;

/// Results after which predictions are checked.
const LOOKS: [usize; 3] = [10, 20, 40];
/// Nominal levels of the intervals.
const LEVELS: [f64; 3] = [0.5, 0.8, 0.95];
/// Upper ends of the classes of predicted probabilities.
const CLASSES: [f64; 4] = [0.01, 0.1, 0.5, 1.0];

/// Predictions beside what was true.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Which functions.
    pub on: &'static str,
    /// Predictions checked.
    pub beliefs: usize,
    /// Nominal level and the share of values within the central interval.
    pub coverage: Vec<(f64, f64)>,
    /// "This candidate beats the best."
    pub beats_best: Vec<Reliability>,
    /// "Something left beats the best", as a study says it: the most promising candidates together.
    pub any_left: Vec<Reliability>,
    /// The same, taking candidates for independent: an upper bound where they rise and fall together.
    pub any_left_independent: Vec<Reliability>,
    /// The same by the most promising candidate alone: a lower bound.
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

    fn merge(&mut self, other: &Tally) {
        for (mine, (count, sum, hits)) in self.classes.iter_mut().zip(other.classes) {
            *mine = (mine.0 + count, mine.1 + sum, mine.2 + hits);
        }
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

/// What was found on some tasks.
#[derive(Default)]
struct Findings {
    beliefs: usize,
    inside: [usize; LEVELS.len()],
    beats: Tally,
    any: Tally,
    independent: Tally,
    single: Tally,
}

impl Findings {
    /// Checks what a model believes along a search.
    fn of(Search { task, told }: &Search, surrogate: &mut dyn Surrogate) -> Result<Findings> {
        let mut findings = Findings::default();
        for look in LOOKS.into_iter().filter(|&look| look <= told.len()) {
            let told = &told[..look];
            let left = unevaluated(task.pool.size(), told);
            let best = told.iter().map(|told| told.value).fold(f64::INFINITY, f64::min);
            let beliefs = surrogate.predict(&task.pool, told, &left)?;
            for (belief, &candidate) in beliefs.iter().zip(&left) {
                let value = task.values[candidate];
                findings.beliefs += 1;
                for (level, inside) in LEVELS.into_iter().zip(&mut findings.inside) {
                    *inside += usize::from(holds(belief, level, value));
                }
                findings.beats.add(belief.below(best), value < best);
            }
            let came_true = left.iter().any(|&candidate| task.values[candidate] < best);
            let mut rng = task.questions(look);
            let said = Remaining::judge(surrogate, &task.pool, told, &left, &beliefs, Range::below(best), &mut rng)?;
            findings.any.add(said.any, came_true);
            findings.independent.add(said.independent, came_true);
            findings.single.add(said.single, came_true);
        }
        Ok(findings)
    }

    fn merge(mut self, other: Findings) -> Findings {
        self.beliefs += other.beliefs;
        self.inside.iter_mut().zip(other.inside).for_each(|(mine, other)| *mine += other);
        self.beats.merge(&other.beats);
        self.any.merge(&other.any);
        self.independent.merge(&other.independent);
        self.single.merge(&other.single);
        self
    }
}

/// A search that was made, as far as predictions are checked.
pub(crate) struct Search {
    task: SearchTask,
    told: Vec<Told>,
}

impl Search {
    /// The search that tried these rows.
    pub fn of_rows(task: SearchTask, rows: &[usize]) -> Search {
        let count = last_look(&task).min(rows.len());
        let told = rows[..count].iter().map(|&row| Told { candidate: row, value: task.values[row] }).collect();
        Search { task, told }
    }

    /// The search that a sampler makes.
    pub fn by(task: SearchTask, sampler: &mut dyn Sampler) -> Result<Search> {
        let told = SearchTask { evaluations: last_look(&task), ..task.clone() }.run(sampler)?.told;
        Ok(Search { task, told })
    }
}

/// The evaluations of a search that are looked at.
fn last_look(task: &SearchTask) -> usize {
    LOOKS[LOOKS.len() - 1].min(task.pool.size() / 2)
}

/// Checks the predictions of a model along searches, side by side on rayon's threads.
pub(crate) fn calibrate(
    on: &'static str,
    searches: &[Search],
    make: impl Fn() -> Result<Box<dyn Surrogate>> + Sync,
) -> Result<Calibration> {
    let found: Vec<Findings> =
        searches.par_iter().map(|search| Findings::of(search, &mut *make()?)).collect::<Result<_>>()?;
    // In the tasks' order, so that the sums do not depend on the threads.
    let found = found.into_iter().fold(Findings::default(), Findings::merge);
    let share = |count: usize| count as f64 / found.beliefs.max(1) as f64;
    Ok(Calibration {
        on,
        beliefs: found.beliefs,
        coverage: LEVELS.into_iter().zip(found.inside).map(|(level, inside)| (level, share(inside))).collect(),
        beats_best: found.beats.reliabilities(),
        any_left: found.any.reliabilities(),
        any_left_independent: found.independent.reliabilities(),
        any_left_single: found.single.reliabilities(),
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

//! Histories as a search makes them: each candidate is chosen from what the ones before it have shown, and from nothing
//! else.
//!
//! The rank-based [`behaviour`](crate::behaviour) policy knows all values, so its choices give some away: a model that
//! learns from them takes a candidate's having been tried for a sign that it is good. An exploring policy's choices say
//! nothing about what has not been seen, so p(y | x, H) learned from them is the prior's own posterior, and its histories
//! crowd around the best as those of a real search do.
//!
//! It is a Gaussian process with the kernel (1 + r²/4)⁻², which needs no exponential, and the lowest confidence bound,
//! updated candidate by candidate: O(pool · steps) a step.

use rand::seq::index;
use rand::{Rng, RngExt};

/// The most candidates of a history that are drawn at random before the search begins.
const MOST_INITIAL: usize = 8;
/// The least and the greatest length scale in two coordinates; they grow with the root of the coordinates' number.
const LENGTH_SCALES: (f32, f32) = (0.06, 0.8);
/// The greatest weight of the standard deviation in the bound.
const MOST_BOLD: f32 = 2.5;
/// The chance of a candidate drawn uniformly in the middle of the search.
const CHANCE: f64 = 0.1;
/// Relative noise that it believes in; it keeps the factor well conditioned in 32 bits.
const NUGGET: f32 = 1e-3;

/// What is known of every candidate, as a factor that grows by a row an evaluation.
struct Knowledge<'a> {
    locations: &'a [f32],
    dimension: usize,
    /// 1 / (2 ℓ)² for the kernel's r²/4.
    scale: f32,
    /// Rows of L⁻¹ K(history, candidates), [steps, pool].
    rows: Vec<f32>,
    /// L⁻¹ y and L⁻¹ 1: the mean of the values is taken out afterwards.
    solved: Vec<(f32, f32)>,
    /// Σ rows · solved for each candidate.
    mean: Vec<(f32, f32)>,
    variance: Vec<f32>,
}

impl<'a> Knowledge<'a> {
    fn none(locations: &'a [f32], dimension: usize, length_scale: f32) -> Self {
        let pool = locations.len() / dimension;
        Self {
            locations,
            dimension,
            scale: 0.25 / (length_scale * length_scale),
            rows: Vec::new(),
            solved: Vec::new(),
            mean: vec![(0.0, 0.0); pool],
            variance: vec![1.0; pool],
        }
    }

    /// A candidate was evaluated.
    fn learn(&mut self, candidate: usize, value: f32) {
        let (dimension, pool) = (self.dimension, self.variance.len());
        let at = &self.locations[candidate * dimension..][..dimension];
        let mut row: Vec<f32> = self
            .locations
            .chunks_exact(dimension)
            .map(|location| {
                let square: f32 = location.iter().zip(at).map(|(a, b)| (a - b) * (a - b)).sum();
                let falls = 1.0 / (1.0 + self.scale * square);
                falls * falls
            })
            .collect();
        let mut own = (value, 1.0);
        for (earlier, solved) in self.rows.chunks_exact(pool).zip(&self.solved) {
            let weight = earlier[candidate];
            row.iter_mut().zip(earlier).for_each(|(entry, earlier)| *entry -= weight * earlier);
            own = (own.0 - weight * solved.0, own.1 - weight * solved.1);
        }
        let inverse = 1.0 / (self.variance[candidate].max(0.0) + NUGGET).sqrt();
        let own = (own.0 * inverse, own.1 * inverse);
        for ((entry, mean), variance) in row.iter_mut().zip(&mut self.mean).zip(&mut self.variance) {
            *entry *= inverse;
            *mean = (mean.0 + *entry * own.0, mean.1 + *entry * own.1);
            *variance -= *entry * *entry;
        }
        self.rows.extend_from_slice(&row);
        self.solved.push(own);
    }

    /// The candidate of the lowest bound among those not taken.
    fn lowest_bound(&self, taken: &[bool], centre: f32, spread: f32, bold: f32) -> Option<usize> {
        let bound = |candidate: usize| {
            let (mean, ones) = self.mean[candidate];
            mean + centre * (1.0 - ones) - bold * spread * self.variance[candidate].max(0.0).sqrt()
        };
        let free = (0..taken.len()).filter(|&candidate| !taken[candidate]);
        free.map(|candidate| (bound(candidate), candidate)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, best)| best)
    }
}

/// `count` different candidates (all, where there are fewer) in the order of a search for the lowest of `values`, at
/// `locations` ([pool, dimension], row-major). How far it looks and how bold it is are drawn anew for each call.
pub fn search<R: Rng>(locations: &[f32], dimension: usize, values: &[f32], count: usize, rng: &mut R) -> Vec<usize> {
    let initial = rng.random_range(2..=MOST_INITIAL);
    search_from(locations, dimension, values, initial, count, rng)
}

/// As [`search`], after `initial` candidates at random.
pub fn search_from<R: Rng>(
    locations: &[f32],
    dimension: usize,
    values: &[f32],
    initial: usize,
    count: usize,
    rng: &mut R,
) -> Vec<usize> {
    let pool = values.len();
    let count = count.min(pool);
    let initial = initial.min(count);
    let coordinates = (dimension as f32 / 2.0).sqrt();
    let (low, high) = LENGTH_SCALES;
    // Each doubling of the length scale is as likely as any other, but for the ends.
    let length_scale = coordinates * low * (1 << rng.random_range(0..4)) as f32 * rng.random_range(1.0..2.0);
    let mut knowledge = Knowledge::none(locations, dimension, length_scale.min(high * coordinates));
    let bold = rng.random_range(0.0..MOST_BOLD);
    let mut taken = vec![false; pool];
    let mut history = index::sample(rng, pool, initial).into_vec();
    let (mut sum, mut squares) = (0.0_f32, 0.0_f32);
    let mut seen = 0;
    loop {
        for &candidate in &history[seen..] {
            let value = values[candidate];
            taken[candidate] = true;
            (sum, squares) = (sum + value, squares + value * value);
            knowledge.learn(candidate, value);
        }
        seen = history.len();
        if seen >= count {
            return history;
        }
        let centre = sum / seen as f32;
        let spread = (squares / seen as f32 - centre * centre).max(0.0).sqrt();
        let by_chance = rng.random_bool(CHANCE).then(|| rng.random_range(0..pool)).filter(|&drawn| !taken[drawn]);
        let Some(next) = by_chance.or_else(|| knowledge.lowest_bound(&taken, centre, spread, bold)) else {
            return history;
        };
        history.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prior::{Family, Prior};
    use icee_base::random;

    /// The mean interpolates the results, and the variance falls to zero there.
    #[test]
    fn what_was_told_is_known() {
        let locations = [0.1_f32, 0.3, 0.35, 0.6, 0.9];
        let values = [1.0_f32, -0.5, -0.7, 2.0, 0.3];
        let mut knowledge = Knowledge::none(&locations, 1, 0.1);
        [0, 1, 3].into_iter().for_each(|candidate| knowledge.learn(candidate, values[candidate]));
        for told in [0, 1, 3] {
            assert!((knowledge.mean[told].0 - values[told]).abs() < 0.01, "{:?}", knowledge.mean);
            assert!((knowledge.mean[told].1 - 1.0).abs() < 0.01 && knowledge.variance[told] < 0.01);
        }
        assert!(knowledge.variance[4] > 0.5 && knowledge.variance[2] < 0.3, "{:?}", knowledge.variance);
    }

    #[test]
    fn it_searches_and_never_tries_anything_twice() {
        let prior = Prior::new(Family::Wide, 2, 320, 8).unwrap();
        let mut rng = random::path(1, &[]);
        let (mut best, mut uniform) = (0.0, 0.0);
        for group in prior.sample(3, 64).unwrap() {
            for values in group.functions() {
                let history = search(group.locations(), 2, values, 40, &mut rng);
                let mut once = history.clone();
                once.sort_unstable();
                once.dedup();
                assert_eq!((history.len(), once.len()), (40, 40));
                let lowest = |of: &[usize]| of.iter().map(|&candidate| values[candidate]).fold(f32::MAX, f32::min);
                best += lowest(&history);
                uniform += lowest(&index::sample(&mut rng, 320, 40).into_vec());
            }
        }
        assert!(best < uniform - 64.0 * 0.2, "{best} {uniform}");
        // A pool that is used up, and one candidate.
        let few = search(&[0.1, 0.2, 0.3], 1, &[1.0, 1.0, 1.0], 9, &mut rng);
        assert_eq!(few.len(), 3);
        assert_eq!(search(&[0.5, 0.5], 2, &[7.0], 4, &mut rng), [0]);
    }
}

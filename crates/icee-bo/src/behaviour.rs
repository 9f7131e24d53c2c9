//! The behaviour policy that fills training histories: candidates drawn by the rank of their value.
//!
//! The i-th best of n candidates has probability p_i ∝ exp(γ (n − i)/(n − 1)), γ ~ U[0, 10] for each function: from
//! uniform draws to draws that mostly know the answer. Over ranks this is a geometric distribution cut off at n, so a
//! draw is one logarithm, not a search in a table of n sums.

use crate::error::{BoError, BoResult};
use icee_base::math::{exp, exp_m1, ln_1p};
use rand::{Rng, RngExt};

/// γ is drawn from [0, `GREATEST_SHARPNESS`].
pub const GREATEST_SHARPNESS: f64 = 10.0;

/// A sharpness γ ~ U[0, 10], one for each function.
pub fn draw_sharpness<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    rng.random_range(0.0..=GREATEST_SHARPNESS)
}

/// The policy for one pool of known values.
#[derive(Debug, Clone)]
pub struct RankPolicy {
    /// Candidates from the lowest value to the highest.
    order: Vec<u32>,
    /// Place of each candidate in `order`: 0 for the best.
    rank: Vec<u32>,
    /// γ/(n − 1): how much one rank costs in log probability.
    decay: f64,
    /// e^(−γ n/(n − 1)) − 1: minus the mass of the uncut distribution that the n ranks keep.
    kept: f64,
}

impl RankPolicy {
    /// The policy of sharpness γ for a pool with these values; equal values keep the pool's order.
    pub fn new(values: &[f32], sharpness: f64) -> BoResult<Self> {
        if values.is_empty() {
            return Err(BoError::setting("pool", 0, "at least 1 candidate"));
        }
        if !(sharpness >= 0.0 && sharpness.is_finite()) {
            return Err(BoError::setting("sharpness", sharpness, "a finite number, 0 or more"));
        }
        if let Some(index) = values.iter().position(|value| value.is_nan()) {
            return Err(BoError::NotFinite { what: "the pool's values", index, value: f64::NAN });
        }
        let n = values.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        let mut rank = vec![0; n];
        for (place, &candidate) in order.iter().enumerate() {
            rank[candidate as usize] = place as u32;
        }
        let decay = sharpness / (n.max(2) - 1) as f64;
        Ok(Self { order, rank, decay, kept: exp_m1(-decay * n as f64) })
    }

    /// The number of candidates.
    pub fn size(&self) -> usize {
        self.order.len()
    }

    /// π(a): the probability that `candidate` is drawn.
    pub fn probability(&self, candidate: usize) -> f64 {
        if self.decay == 0.0 {
            return 1.0 / self.size() as f64;
        }
        exp(-self.decay * f64::from(self.rank[candidate])) * exp_m1(-self.decay) / self.kept
    }

    /// U(a)/π(a): the weight of `candidate` in the paper's unbiased objective.
    pub fn weight(&self, candidate: usize) -> f64 {
        1.0 / (self.size() as f64 * self.probability(candidate))
    }

    /// Draws one candidate; draws are independent, so a candidate may come twice.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> usize {
        let u: f64 = rng.random();
        // Inverse of the distribution function 1 − e^(−decay · rank), cut off at n.
        let place = if self.decay == 0.0 { u * self.size() as f64 } else { -ln_1p(u * self.kept) / self.decay };
        self.order[(place as usize).min(self.size() - 1)] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    fn values(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37) % 101) as f32 + i as f32 * 1e-3).collect()
    }

    #[test]
    fn probabilities_are_the_papers_formula() {
        for (n, sharpness) in [(1024, 10.0), (1024, 0.0), (1024, 1e-9), (100, 3.7), (2, 5.0), (1, 5.0)] {
            let values = values(n);
            let policy = RankPolicy::new(&values, sharpness).unwrap();
            let mut sorted: Vec<usize> = (0..n).collect();
            sorted.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            let span = (n as f64 - 1.0).max(1.0);
            let mass = |i: usize| (sharpness * (n - i) as f64 / span).exp();
            let total: f64 = (1..=n).map(mass).sum();
            for (place, &candidate) in sorted.iter().enumerate() {
                let expected = mass(place + 1) / total;
                let found = policy.probability(candidate);
                assert!((found / expected - 1.0).abs() < 1e-9, "n {n}, γ {sharpness}, place {place}");
                assert!((policy.weight(candidate) * found * n as f64 - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn draws_follow_the_probabilities() {
        for sharpness in [0.0, 1e-7, 2.0, 10.0] {
            let n = 16;
            let policy = RankPolicy::new(&values(n), sharpness).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let draws = 200_000;
            let mut counts = vec![0u32; n];
            (0..draws).for_each(|_| counts[policy.sample(&mut rng)] += 1);
            // χ² with 15 degrees of freedom: 44 is passed once in 10,000.
            let statistic: f64 = (0..n)
                .map(|i| {
                    let expected = policy.probability(i) * f64::from(draws);
                    (f64::from(counts[i]) - expected).powi(2) / expected
                })
                .sum();
            assert!(statistic < 44.0, "γ {sharpness}: {statistic}");
        }
    }

    #[test]
    fn the_largest_weight_is_what_the_formula_says() {
        // (1/n)/π of the worst of 1,024 at γ = 10: about 2,200.
        let policy = RankPolicy::new(&(0..1024).map(|i| i as f32).collect::<Vec<_>>(), 10.0).unwrap();
        assert!((policy.weight(1023) - 2213.0).abs() < 10.0, "{}", policy.weight(1023));
    }

    #[test]
    fn impossible_pools_are_refused() {
        assert!(RankPolicy::new(&[], 1.0).is_err());
        assert!(RankPolicy::new(&[1.0], -1.0).is_err());
        assert!(RankPolicy::new(&[1.0], f64::NAN).is_err());
        assert!(RankPolicy::new(&[1.0, f32::NAN], 1.0).is_err());
    }
}

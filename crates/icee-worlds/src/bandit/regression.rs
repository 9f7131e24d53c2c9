//! Bayesian linear regression in a few dimensions: the posterior of the weights after some payments.

use super::linear::DIMENSIONS;
use crate::StreamRng;
use icee_base::distributions::normal;

pub(super) type Vector = [f64; DIMENSIONS];

/// The sum of the products.
pub(super) fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weights that are normal before anything is seen, and so afterwards.
#[derive(Clone, Debug)]
pub(super) struct Regression {
    /// Σ φφᵀ/σ² and the prior's precision.
    precision: [Vector; DIMENSIONS],
    /// Σ r φ/σ².
    pull: Vector,
    /// 1/σ² of a payment.
    certainty: f64,
}

/// The posterior of the weights: N(mean, (L Lᵀ)⁻¹).
pub(super) struct Belief {
    pub mean: Vector,
    lower: [Vector; DIMENSIONS],
}

impl Regression {
    /// Nothing seen: every weight is N(0, `variance`), payments have noise of that standard deviation.
    pub fn new(variance: f64, noise: f64) -> Self {
        let mut precision = [[0.0; DIMENSIONS]; DIMENSIONS];
        precision.iter_mut().enumerate().for_each(|(i, row)| row[i] = 1.0 / variance);
        Self { precision, pull: [0.0; DIMENSIONS], certainty: 1.0 / (noise * noise) }
    }

    /// An arm with these features has paid.
    pub fn observe(&mut self, features: &Vector, reward: f64) {
        for (i, row) in self.precision.iter_mut().enumerate() {
            row.iter_mut().zip(features).for_each(|(cell, f)| *cell += self.certainty * features[i] * f);
            self.pull[i] += self.certainty * reward * features[i];
        }
    }

    /// By Cholesky's decomposition of the precision.
    pub fn belief(&self) -> Belief {
        let mut lower = [[0.0; DIMENSIONS]; DIMENSIONS];
        for i in 0..DIMENSIONS {
            for j in 0..=i {
                let known: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
                let rest = self.precision[i][j] - known;
                lower[i][j] = if i == j { rest.sqrt() } else { rest / lower[j][j] };
            }
        }
        Belief { mean: upper_solve(&lower, lower_solve(&lower, self.pull)), lower }
    }
}

impl Belief {
    /// Weights drawn from the posterior.
    pub fn draw(&self, rng: &mut StreamRng) -> Vector {
        let mut drawn = upper_solve(&self.lower, std::array::from_fn(|_| normal(rng)));
        drawn.iter_mut().zip(&self.mean).for_each(|(value, mean)| *value += mean);
        drawn
    }

    /// The standard deviation of what arms with these features pay on average.
    pub fn deviation(&self, features: &Vector) -> f64 {
        let solved = lower_solve(&self.lower, *features);
        dot(&solved, &solved).sqrt()
    }
}

/// L⁻¹ b.
fn lower_solve(lower: &[Vector; DIMENSIONS], mut b: Vector) -> Vector {
    for i in 0..DIMENSIONS {
        let known: f64 = (0..i).map(|k| lower[i][k] * b[k]).sum();
        b[i] = (b[i] - known) / lower[i][i];
    }
    b
}

/// L⁻ᵀ b.
fn upper_solve(lower: &[Vector; DIMENSIONS], mut b: Vector) -> Vector {
    for i in (0..DIMENSIONS).rev() {
        let known: f64 = (i + 1..DIMENSIONS).map(|k| lower[k][i] * b[k]).sum();
        b[i] = (b[i] - known) / lower[i][i];
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, stream};

    /// Along one axis it is the scalar formula: precision 1/v + n/σ², mean Σr/σ² over it; other axes stay as they were.
    #[test]
    fn one_axis_by_hand() {
        let (variance, noise) = (0.5, 0.3);
        let mut regression = Regression::new(variance, noise);
        let axis = |i| std::array::from_fn(|k| f64::from(u8::from(k == i)));
        for reward in [0.4, 0.9, -0.1] {
            regression.observe(&axis(1), reward);
        }
        let belief = regression.belief();
        let precision = 1.0 / variance + 3.0 / (noise * noise);
        assert!((belief.mean[1] - 1.2 / (noise * noise) / precision).abs() < 1e-12 && belief.mean[0] == 0.0);
        assert!((belief.deviation(&axis(1)) - precision.sqrt().recip()).abs() < 1e-12);
        assert!((belief.deviation(&axis(0)) - variance.sqrt()).abs() < 1e-12);
    }

    /// Draws have the posterior's mean and standard deviation along any direction.
    #[test]
    fn draws_are_those_of_the_belief() {
        let mut rng = stream(3, Purpose::Agent, 0);
        let mut regression = Regression::new(0.2, 0.3);
        for _ in 0..4 {
            let features: Vector = std::array::from_fn(|_| normal(&mut rng));
            regression.observe(&features, normal(&mut rng));
        }
        let belief = regression.belief();
        let direction: Vector = std::array::from_fn(|_| normal(&mut rng));
        let drawn: Vec<f64> = (0..20_000).map(|_| dot(&belief.draw(&mut rng), &direction)).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        let expected = belief.deviation(&direction);
        // Standard errors: σ/√n of the mean, σ²√(2/n) of the variance.
        assert!((mean - dot(&belief.mean, &direction)).abs() < 4.0 * expected / 141.0);
        assert!((variance / (expected * expected) - 1.0).abs() < 4.0 * 0.01, "{variance} {expected}");
    }
}

//! Several points at once: the chance that the function goes below a bound at any of them.

use super::{GaussianProcess, LEAST_VARIANCE};
use crate::belief::Range;
use crate::error::BoResult;
use crate::kernel::{count_points, scaled, squared_distance};
use crate::linalg::Cholesky;
use crate::normal::{below, open_unit, quantile};
use rand::Rng;

/// Variance added to every point, as a share of the prior variance, so that points that coincide can be factorised.
const JITTER: f64 = 1e-8;

impl GaussianProcess {
    /// P(function < `bound` at any of `points`), [m, d] row-major, with all correlations.
    ///
    /// Sequential sampling of the event that nothing is below (Geweke, Hajivassiliou, Keane): with y = μ + L u each u_j
    /// is drawn from the part of its distribution that keeps y_j above the bound, and P(none) is the product of
    /// those parts' probabilities. Unbiased for every number of `paths`, and exact for one point.
    pub fn any_below(&self, points: &[f64], bound: f64, paths: usize, rng: &mut dyn Rng) -> BoResult<f64> {
        // P(u_j above what the bound asks for), from the lower tail for its accuracy.
        let above = |mean: f64, deviation: f64| below((mean - bound) / deviation);
        self.any(points, paths, rng, above, |_, _, above, draw| -quantile(above * draw))
    }

    /// P(function within `range` at any of `points`), the same way.
    pub fn any_within(&self, points: &[f64], range: Range, paths: usize, rng: &mut dyn Rng) -> BoResult<f64> {
        let under = |end: f64, mean: f64, deviation: f64| below((end - mean) / deviation);
        let outside = |mean, deviation| 1.0 - under(range.high, mean, deviation) + under(range.low, mean, deviation);
        self.any(points, paths, rng, outside, |mean, deviation, outside, draw| {
            let level = outside * draw;
            let low = under(range.low, mean, deviation);
            quantile(if level < low { level } else { level + 1.0 - outside })
        })
    }

    /// P(an event at any of `points`). `spared` says of a mean and a standard deviation how likely it is that the event does not happen
    /// there, and `draw` makes of these and a number from (0, 1) a u of those with which it does not.
    fn any(
        &self,
        points: &[f64],
        paths: usize,
        rng: &mut dyn Rng,
        spared: impl Fn(f64, f64) -> f64,
        draw: impl Fn(f64, f64, f64, f64) -> f64,
    ) -> BoResult<f64> {
        let (means, factor) = self.joint(points)?;
        let mut none = 0.0;
        let mut draws = vec![0.0; means.len()];
        for _ in 0..paths {
            let mut none_on_path = 1.0;
            for (j, mean) in means.iter().enumerate() {
                let row = factor.row(j);
                let given: f64 = row[..j].iter().zip(&draws).map(|(entry, draw)| entry * draw).sum();
                let chance = spared(mean + given, row[j]);
                none_on_path *= chance;
                if none_on_path < 1e-9 {
                    break;
                }
                draws[j] = draw(mean + given, row[j], chance, open_unit(rng));
            }
            none += none_on_path / paths as f64;
        }
        Ok((1.0 - none).clamp(0.0, 1.0))
    }

    /// Means at `points`, and the factor of their covariance.
    fn joint(&self, points: &[f64]) -> BoResult<(Vec<f64>, Cholesky)> {
        let dimension = self.hyperparameters.length_scales.len();
        let m = count_points("the points to predict", points, dimension)?;
        let variance = self.hyperparameters.output_scale;
        let points = scaled(points, &self.hyperparameters.length_scales);
        let at = |k: usize| &points[k * dimension..(k + 1) * dimension];
        let covariance = |a: &[f64], b: &[f64]| variance * self.profile.covariance(squared_distance(a, b));
        let mut means = vec![self.hyperparameters.mean; m];
        // Covariances between data and points, [n, m].
        let mut cross = Vec::with_capacity(self.weights.len() * m);
        for (input, weight) in self.inputs.chunks_exact(dimension).zip(&self.weights) {
            for (k, mean) in means.iter_mut().enumerate() {
                let entry = covariance(input, at(k));
                *mean += weight * entry;
                cross.push(entry);
            }
        }
        self.factor.solve_lower(&mut cross, m);
        let mut matrix = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                let explained: f64 = cross.chunks_exact(m).map(|row| row[i] * row[j]).sum();
                matrix[i * m + j] = covariance(at(i), at(j)) - explained;
            }
            matrix[i * m + i] = matrix[i * m + i].max(LEAST_VARIANCE) + JITTER * variance;
        }
        Ok((means, Cholesky::new(matrix, m)?))
    }
}

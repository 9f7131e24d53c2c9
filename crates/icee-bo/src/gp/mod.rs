//! Gaussian processes: exact regression with a constant mean, a kernel with one length scale for each column, and Gaussian
//! noise. Hyperparameters are set by MAP (`fit`).
//!
//! What is assumed beforehand (`assumptions`) is either what BoTorch's `SingleTaskGP` had when the paper was written, the GP-EI
//! baseline, whose numbers agree with GPyTorch's on committed cases; or what it has had since, which suits tables of many columns.

pub mod assumptions;
pub mod fit;
mod joint;
pub mod objective;

use crate::error::{BoError, BoResult, require_finite};
use crate::kernel::{Profile, Tiles, add_covariance, count_points, scaled};
use crate::linalg::Cholesky;
use crate::normal::Prediction;
use rayon::prelude::*;

/// Candidates predicted by one task.
const CANDIDATES_PER_TASK: usize = 256;
/// Posterior variances that rounding makes smaller are raised to this.
const LEAST_VARIANCE: f64 = 1e-12;

/// What the process assumes before it sees data.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyperparameters {
    /// The constant mean.
    pub mean: f64,
    /// One for each dimension.
    pub length_scales: Vec<f64>,
    /// Prior variance of the function.
    pub output_scale: f64,
    /// Variance of the noise on a value.
    pub noise: f64,
}

impl Hyperparameters {
    fn check(&self) -> BoResult<()> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        if let Some(&scale) = self.length_scales.iter().find(|&&scale| !positive(scale)) {
            return Err(BoError::setting("length scale", scale, "a positive number"));
        }
        if !positive(self.output_scale) {
            return Err(BoError::setting("output scale", self.output_scale, "a positive number"));
        }
        if !positive(self.noise) {
            return Err(BoError::setting("noise", self.noise, "a positive number"));
        }
        require_finite("the mean", &[self.mean])
    }
}

/// A process conditioned on data.
#[derive(Debug, Clone)]
pub struct GaussianProcess {
    hyperparameters: Hyperparameters,
    /// Inputs divided by the length scales, [n, d].
    inputs: Vec<f64>,
    /// Factor of K + noise · I.
    factor: Cholesky,
    /// (K + noise · I)⁻¹ (y − mean).
    weights: Vec<f64>,
    profile: Profile,
}

impl GaussianProcess {
    /// Conditions on `values` at `inputs` ([n, d], row-major), with the Matérn 5/2 kernel.
    pub fn new(inputs: &[f64], values: &[f64], hyperparameters: Hyperparameters) -> BoResult<Self> {
        Self::with_profile(inputs, values, hyperparameters, Profile::Matern52)
    }

    /// The same with any kernel.
    pub fn with_profile(
        inputs: &[f64],
        values: &[f64],
        hyperparameters: Hyperparameters,
        profile: Profile,
    ) -> BoResult<Self> {
        hyperparameters.check()?;
        let dimension = hyperparameters.length_scales.len();
        let n = check_data(inputs, values, dimension)?;
        let inputs = scaled(inputs, &hyperparameters.length_scales);
        let mut matrix = vec![0.0; n * n];
        add_covariance(&mut matrix, &inputs, dimension, profile, hyperparameters.output_scale);
        (0..n).for_each(|i| matrix[i * n + i] += hyperparameters.noise);
        let factor = Cholesky::new(matrix, n)?;
        let mut weights: Vec<f64> = values.iter().map(|value| value - hyperparameters.mean).collect();
        factor.solve_lower(&mut weights, 1);
        factor.solve_upper(&mut weights);
        Ok(Self { hyperparameters, inputs, factor, weights, profile })
    }

    /// The hyperparameters it was made with.
    pub fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyperparameters
    }

    /// Predicts the function at each of `points` ([m, d], row-major), noise not included.
    pub fn predict(&self, points: &[f64]) -> BoResult<Vec<Prediction>> {
        let dimension = self.hyperparameters.length_scales.len();
        count_points("the points to predict", points, dimension)?;
        let chunks = points.par_chunks(CANDIDATES_PER_TASK * dimension);
        Ok(chunks.flat_map_iter(|chunk| self.predict_chunk(chunk)).collect())
    }

    fn predict_chunk(&self, points: &[f64]) -> Vec<Prediction> {
        let Hyperparameters { mean, length_scales, output_scale, .. } = &self.hyperparameters;
        let dimension = length_scales.len();
        let points = scaled(points, length_scales);
        let m = points.len() / dimension;
        let mut predictions = vec![Prediction { mean: *mean, variance: *output_scale }; m];
        // Covariances between data and points, [n, m].
        let mut cross = vec![0.0; self.weights.len() * m];
        let rows = cross.chunks_exact_mut(m).zip(self.inputs.chunks_exact(dimension)).zip(&self.weights);
        let tiles = Tiles::new(&points, dimension);
        for ((row, input), weight) in rows {
            tiles.squared_distances(input, row);
            for (entry, prediction) in row.iter_mut().zip(&mut predictions) {
                *entry = output_scale * self.profile.covariance(*entry);
                prediction.mean += weight * *entry;
            }
        }
        self.factor.solve_lower(&mut cross, m);
        for row in cross.chunks_exact(m) {
            for (entry, prediction) in row.iter().zip(&mut predictions) {
                prediction.variance -= entry * entry;
            }
        }
        predictions.iter_mut().for_each(|prediction| prediction.variance = prediction.variance.max(LEAST_VARIANCE));
        predictions
    }
}

/// Checks data and gives the number of points.
fn check_data(inputs: &[f64], values: &[f64], dimension: usize) -> BoResult<usize> {
    let n = count_points("the inputs", inputs, dimension)?;
    if n == 0 {
        return Err(BoError::setting("the number of values", 0, "at least 1"));
    }
    if values.len() != n {
        return Err(BoError::Size { what: "the list of values", found: values.len(), expected: n });
    }
    require_finite("the values", values)?;
    Ok(n)
}

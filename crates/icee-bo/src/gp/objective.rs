//! What MAP maximises: log marginal likelihood plus log prior, with analytic gradients.
//!
//! log p(y) = −½ (y − m)ᵀ K⁻¹ (y − m) − ½ log det K − (n/2) log 2π, and for any hyperparameter θ of K, with
//! α = K⁻¹ (y − m): ∂ log p(y)/∂θ = ½ Σ_ij (α αᵀ − K⁻¹)_ij ∂K_ij/∂θ.

use super::assumptions::Assumptions;
use super::{Hyperparameters, check_data};
use crate::error::BoResult;
use crate::kernel::{Profile, Tiles, add_weighted_squares, scaled};
use crate::linalg::Cholesky;
use icee_base::math::{exp, ln};
use std::f64::consts::{LN_2, TAU};

/// A gamma distribution, by shape and rate.
#[derive(Debug, Clone, Copy)]
pub struct GammaPrior {
    shape: f64,
    rate: f64,
    /// log(rate^shape / Γ(shape)).
    log_normaliser: f64,
}

impl GammaPrior {
    const fn new(shape: f64, rate: f64, log_normaliser: f64) -> Self {
        Self { shape, rate, log_normaliser }
    }

    /// The log density.
    pub fn log_density(&self, x: f64) -> f64 {
        self.log_normaliser + (self.shape - 1.0) * ln(x) - self.rate * x
    }

    /// Its derivative.
    pub fn slope(&self, x: f64) -> f64 {
        (self.shape - 1.0) / x - self.rate
    }
}

/// Gamma(3, 6) on each length scale: 3 log 6 − log Γ(3).
pub const LENGTH_SCALE_PRIOR: GammaPrior = GammaPrior::new(3.0, 6.0, 5.375_278_407_684_165 - LN_2);
/// Gamma(2, 0.15) on the output scale: 2 log 0.15 − log Γ(2).
pub const OUTPUT_SCALE_PRIOR: GammaPrior = GammaPrior::new(2.0, 0.15, -3.794_239_969_771_763);
/// Gamma(1.1, 0.05) on the noise: 1.1 log 0.05 − log Γ(1.1).
pub const NOISE_PRIOR: GammaPrior = GammaPrior::new(1.1, 0.05, -3.295_305_500_909_390_3 + 0.049_872_441_259_839_72);

/// The objective at one setting, and its derivatives with respect to the hyperparameters themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// log p(y | hyperparameters).
    pub log_likelihood: f64,
    /// The sum of the priors' log densities; the mean has none.
    pub log_prior: f64,
    /// Derivatives of the sum of both, in the places of the hyperparameters.
    pub gradient: Hyperparameters,
}

/// Data prepared for many evaluations.
#[derive(Debug, Clone)]
pub struct Objective<'a> {
    inputs: &'a [f64],
    values: &'a [f64],
    dimension: usize,
    assumptions: Assumptions,
}

impl<'a> Objective<'a> {
    /// The objective of the paper's rival for `values` at `inputs` ([n, d], row-major).
    pub fn new(inputs: &'a [f64], values: &'a [f64], dimension: usize) -> BoResult<Self> {
        Self::assuming(inputs, values, Assumptions::former(dimension))
    }

    /// The objective under any assumptions.
    pub fn assuming(inputs: &'a [f64], values: &'a [f64], assumptions: Assumptions) -> BoResult<Self> {
        let dimension = assumptions.dimension();
        check_data(inputs, values, dimension)?;
        Ok(Self { inputs, values, dimension, assumptions })
    }

    /// What is assumed.
    pub fn assumptions(&self) -> &Assumptions {
        &self.assumptions
    }

    /// The number of inputs' coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of values.
    pub fn size(&self) -> usize {
        self.values.len()
    }

    /// The objective at `at`.
    pub fn evaluate(&self, at: &Hyperparameters) -> BoResult<Evaluation> {
        at.check()?;
        let system = System::new(self, at)?;
        Ok(system.evaluation(self, at))
    }

    /// The objective at `at`, but for the constant mean that makes it greatest; that mean is put into `at`.
    ///
    /// For a fixed K the best mean is known: m = 1ᵀK⁻¹y / 1ᵀK⁻¹1. By the envelope theorem the other derivatives are
    /// the same as with the mean held fixed, so that the search has one dimension less.
    pub fn evaluate_with_best_mean(&self, at: &mut Hyperparameters) -> BoResult<Evaluation> {
        at.check()?;
        let system = System::new(self, at)?;
        let n = self.values.len();
        let sums = system.inverse.chunks_exact(n).map(|row| row.iter().sum::<f64>());
        let (mut weighted, mut total) = (0.0, 0.0);
        for (sum, value) in sums.zip(self.values) {
            weighted += sum * value;
            total += sum;
        }
        at.mean = weighted / total;
        Ok(system.evaluation(self, at))
    }
}

/// K, factorised and inverted, with the parts of its derivatives.
struct System {
    factor: Cholesky,
    inverse: Vec<f64>,
    /// Inputs divided by the length scales.
    points: Vec<f64>,
    /// Correlations k(x_i, x_j)/output scale, lower triangle without its diagonal of ones.
    correlation: Vec<f64>,
    /// ∂ correlation / ∂ℓ_k is this times (scaled difference in k)²/ℓ_k; for Matérn 5/2 it is (5/3)(1 + √5 r) e^(−√5 r).
    fall: Vec<f64>,
}

impl System {
    fn new(objective: &Objective<'_>, at: &Hyperparameters) -> BoResult<Self> {
        let (n, dimension) = (objective.values.len(), objective.dimension);
        let points = scaled(objective.inputs, &at.length_scales);
        let mut correlation = vec![0.0; n * n];
        let mut fall = vec![0.0; n * n];
        let (tiles, profile) = (Tiles::new(&points, dimension), objective.assumptions.profile());
        let mut squares = vec![0.0; n];
        for (i, a) in points.chunks_exact(dimension).enumerate() {
            tiles.squared_distances(a, &mut squares[..i]);
            for (j, square) in squares[..i].iter().enumerate() {
                (correlation[i * n + j], fall[i * n + j]) = match profile {
                    Profile::Rbf => {
                        let correlation = exp(-0.5 * square);
                        (correlation, correlation)
                    }
                    Profile::Matern32 => {
                        let r = (3.0 * square).sqrt();
                        let decayed = exp(-r);
                        ((1.0 + r) * decayed, 3.0 * decayed)
                    }
                    Profile::Matern52 => {
                        let r = (5.0 * square).sqrt();
                        let decayed = exp(-r);
                        ((1.0 + r + r * r / 3.0) * decayed, 5.0 / 3.0 * (1.0 + r) * decayed)
                    }
                };
            }
        }
        let mut matrix: Vec<f64> = correlation.iter().map(|entry| at.output_scale * entry).collect();
        (0..n).for_each(|i| matrix[i * n + i] = at.output_scale + at.noise);
        let factor = Cholesky::new(matrix, n)?;
        let inverse = factor.inverse();
        Ok(Self { factor, inverse, points, correlation, fall })
    }

    fn evaluation(&self, objective: &Objective<'_>, at: &Hyperparameters) -> Evaluation {
        let (n, dimension) = (objective.values.len(), objective.dimension);
        let residuals: Vec<f64> = objective.values.iter().map(|value| value - at.mean).collect();
        let mut weights = residuals.clone();
        self.factor.solve_lower(&mut weights, 1);
        self.factor.solve_upper(&mut weights);
        let fit: f64 = residuals.iter().zip(&weights).map(|(r, w)| r * w).sum();
        let log_likelihood = -0.5 * (fit + self.factor.log_determinant() + n as f64 * ln(TAU));

        // Off the diagonal the lower triangle counts twice, which takes up the factor ½.
        let (mut by_noise, mut by_scale) = (0.0, 0.0);
        let mut by_length = vec![0.0; dimension];
        let mut steep = vec![0.0; n];
        for (i, a) in self.points.chunks_exact(dimension).enumerate() {
            let row = i * n;
            let diagonal = 0.5 * (weights[i] * weights[i] - self.inverse[row + i]);
            by_noise += diagonal;
            by_scale += diagonal;
            for j in 0..i {
                let pull = weights[i] * weights[j] - self.inverse[row + j];
                by_scale += pull * self.correlation[row + j];
                steep[j] = pull * self.fall[row + j];
            }
            add_weighted_squares(&mut by_length, &steep[..i], a, &self.points);
        }
        let assumptions = &objective.assumptions;
        let (of_length, of_output, of_noise) =
            (assumptions.length_prior(), assumptions.output_prior(), assumptions.noise_prior());
        let length_scales = by_length.iter().zip(&at.length_scales).enumerate();
        let gradient = Hyperparameters {
            mean: weights.iter().sum(),
            length_scales: length_scales
                .map(|(k, (sum, &length))| {
                    at.output_scale * sum / length + assumptions.share(k) * of_length.slope(length)
                })
                .collect(),
            output_scale: by_scale + of_output.slope(at.output_scale),
            noise: by_noise + of_noise.slope(at.noise),
        };
        let lengths = at.length_scales.iter().enumerate();
        let log_prior = lengths.map(|(k, &length)| assumptions.share(k) * of_length.log_density(length)).sum::<f64>()
            + of_output.log_density(at.output_scale)
            + of_noise.log_density(at.noise);
        Evaluation { log_likelihood, log_prior, gradient }
    }
}

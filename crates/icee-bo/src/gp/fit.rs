//! MAP hyperparameters, found from several starts.
//!
//! The search runs over logarithms, in which the objective is closest to a quadratic, within a box that only the noise is
//! meant to meet. Starts are fixed, not drawn: the same data always give the same fit.

use super::assumptions::Assumptions;
use super::objective::Objective;
use super::{GaussianProcess, Hyperparameters};
use crate::error::{BoError, BoResult};
use crate::quasi_newton::{Minimum, Tolerance, minimise};
use icee_base::math::{exp, ln};
use rayon::prelude::*;

/// The least noise variance of standardised values, as in BoTorch.
pub const LEAST_NOISE: f64 = 1e-4;
const LENGTH_SCALES: (f64, f64) = (1e-3, 1e2);
const OUTPUT_SCALES: (f64, f64) = (1e-3, 1e3);
const NOISES: (f64, f64) = (LEAST_NOISE, 1e1);

const TOLERANCE: Tolerance = Tolerance { iterations: 100, gradient: 1e-5, decrease: 1e-9 };

/// The process with MAP hyperparameters for `values` at `inputs` ([n, d], row-major), which should be standardised.
pub fn fit(inputs: &[f64], values: &[f64], assumptions: Assumptions) -> BoResult<GaussianProcess> {
    let objective = Objective::assuming(inputs, values, assumptions)?;
    let hyperparameters = fit_hyperparameters(&objective)?;
    GaussianProcess::with_profile(inputs, values, hyperparameters, objective.assumptions().profile())
}

/// The hyperparameters alone.
pub fn fit_hyperparameters(objective: &Objective<'_>) -> BoResult<Hyperparameters> {
    let assumptions = objective.assumptions();
    let scales = assumptions.scales();
    let logs = |(low, high): (f64, f64)| (ln(low), ln(high));
    let mut bounds = vec![logs(LENGTH_SCALES); scales];
    let output_scales = assumptions.fixed_output().map_or(OUTPUT_SCALES, |output| (output, output));
    bounds.extend([logs(output_scales), logs(NOISES)]);

    let loss = |point: &[f64], gradient: &mut [f64]| {
        let mut at = from_logs(point, assumptions);
        let Ok(evaluation) = objective.evaluate_with_best_mean(&mut at) else { return f64::INFINITY };
        let slopes = evaluation.gradient;
        // d/d log θ = θ d/dθ.
        let chained = slopes.length_scales.iter().zip(&at.length_scales).map(|(slope, value)| slope * value);
        let rest = [slopes.output_scale * at.output_scale, slopes.noise * at.noise];
        let all = assumptions.gather(chained).into_iter().chain(rest);
        gradient.iter_mut().zip(all).for_each(|(entry, slope)| *entry = -slope);
        -(evaluation.log_likelihood + evaluation.log_prior)
    };

    let starts = assumptions.starts();
    let searches = starts.par_iter().map(|[length_scale, output_scale, noise]| {
        let mut start = vec![ln(*length_scale); scales];
        start.extend([ln(*output_scale), ln(*noise)]);
        minimise(loss, &start, &bounds, TOLERANCE)
    });
    // Collected before they are compared: of equal minima the first start's is taken, whichever search ended first.
    let found: Vec<Minimum> = searches.flatten().collect();
    let best = found.into_iter().reduce(|best, other| if other.value < best.value { other } else { best });
    let point = best.ok_or(BoError::NotPositiveDefinite { size: objective.size() })?.point;
    let mut hyperparameters = from_logs(&point, assumptions);
    objective.evaluate_with_best_mean(&mut hyperparameters)?;
    Ok(hyperparameters)
}

/// The hyperparameters at a point of the search; the mean is still to be set.
fn from_logs(point: &[f64], assumptions: &Assumptions) -> Hyperparameters {
    let scales = assumptions.scales();
    Hyperparameters {
        mean: 0.0,
        length_scales: assumptions.spread(&point[..scales].iter().map(|&log| exp(log)).collect::<Vec<_>>()),
        output_scale: exp(point[scales]),
        noise: exp(point[scales + 1]),
    }
}

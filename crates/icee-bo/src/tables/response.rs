//! What is measured of the truth: bent scales, floors and ceilings, rounding, noise and outliers.

use crate::prior::log_uniform;
use crate::standard::standardise;
use icee_base::math::{asinh, exp, normals, sinh};
use rand::{Rng, RngExt};
use std::ops::RangeInclusive;

/// Shares of functions with a bent scale, a floor (many equal bad values, as yields of 0), a ceiling, rounded values, noise,
/// noise that grows with the distance from the floor, and outliers.
const BENT: f64 = 0.4;
const FLOOR: f64 = 0.18;
const CEILING: f64 = 0.06;
const ROUNDED: f64 = 0.07;
const NOISY: f64 = 0.55;
const UNEVEN: f64 = 0.25;
const OUTLIERS: f64 = 0.06;
/// The same of plain functions.
const PLAIN_NOISY: f64 = 0.1;
const PLAIN_ROUNDED: f64 = 0.03;
/// The noise's standard deviation in those of the truth.
const NOISE: RangeInclusive<f64> = 0.01..=0.6;

/// How the truth is measured.
#[derive(Debug, Clone)]
pub(super) struct Response {
    /// What one gets without noise.
    truth: Vec<f64>,
    /// The standard deviation of a measurement of each row.
    deviations: Vec<f64>,
    /// Values that no measurement exceeds: a yield is never negative, and never above 100.
    bounds: (f64, f64),
    step: Option<f64>,
    outliers: f64,
}

impl Response {
    pub(super) fn draw<R: Rng>(mut truth: Vec<f64>, rng: &mut R) -> Self {
        if rng.random_bool(BENT) {
            let strength = rng.random_range(0.3..1.6);
            let kind = rng.random_range(0..4);
            for value in &mut truth {
                let x = strength * *value;
                *value = match kind {
                    0 => sinh(x),
                    1 => asinh(3.0 * x),
                    2 => exp(x),
                    _ => -exp(-x),
                };
            }
            standardise(&mut truth);
        }
        let mut sorted = truth.clone();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
        let high = if rng.random_bool(FLOOR) { quantile(rng.random_range(0.15..0.8)) } else { f64::INFINITY };
        let low = if rng.random_bool(CEILING) { quantile(rng.random_range(0.0..0.15)) } else { f64::NEG_INFINITY };
        let (worst, best) = (sorted[sorted.len() - 1].min(high), sorted[0].max(low));
        let noise = if rng.random_bool(NOISY) { log_uniform(NOISE, rng) } else { 0.0 };
        let uneven = rng.random_bool(UNEVEN);
        let deviation = |value: f64| {
            if uneven { noise * 2.0 * ((worst - value.clamp(best, worst)) / (worst - best).max(1e-9)) } else { noise }
        };
        let deviations = truth.iter().map(|&value| deviation(value)).collect();
        let step = rng.random_bool(ROUNDED).then(|| (worst - best) / f64::from(rng.random_range(1..=12)));
        let outliers = if rng.random_bool(OUTLIERS) { rng.random_range(0.005..0.04) } else { 0.0 };
        Self { truth, deviations, bounds: (low, high.max(low)), step, outliers }
    }

    /// Measured as it is, mostly; now and then with noise or rounded.
    pub(super) fn plain<R: Rng>(truth: Vec<f64>, rng: &mut R) -> Self {
        let noise = if rng.random_bool(PLAIN_NOISY) { log_uniform(NOISE, rng) } else { 0.0 };
        let (low, high) = truth.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        let step = rng.random_bool(PLAIN_ROUNDED).then(|| (high - low) / f64::from(rng.random_range(1..=12)));
        let bounds = (f64::NEG_INFINITY, f64::INFINITY);
        Self { deviations: vec![noise; truth.len()], truth, bounds, step, outliers: 0.0 }
    }

    /// One measurement of a row.
    pub(super) fn measure<R: Rng>(&self, row: usize, rng: &mut R) -> f64 {
        let (low, high) = self.bounds;
        let z = normals(rng, 1)[0];
        let mut value = self.truth[row] + self.deviations[row] * z;
        if self.outliers > 0.0 && rng.random_bool(self.outliers) {
            value += 4.0 * normals(rng, 1)[0];
        }
        value = value.clamp(low, high);
        if let Some(step) = self.step.filter(|&step| step > 0.0) {
            value = (value / step).round() * step;
        }
        value
    }
}

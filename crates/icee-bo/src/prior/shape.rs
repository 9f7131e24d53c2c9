//! What each function has for itself: a quadratic bowl under the sample, and a warp of its values.
//!
//! Many functions that people minimise have one broad basin, or values of which a few are far larger than the rest;
//! no stationary Gaussian process has either.

use super::covariance::log_uniform;
use super::{Blemishes, Family};
use crate::kernel::squared_distance;
use crate::standard::standardise;
use icee_base::math::{asinh, exp, normals, sinh};
use rand::{Rng, RngExt};
use std::ops::RangeInclusive;

/// Share of wide functions with a bowl, and its standard deviation over the pool where the sample has one.
const BOWL_SHARE: f64 = 1.0 / 3.0;
const BOWL_HEIGHT: RangeInclusive<f64> = 0.3..=3.0;
/// Steepness of the bowl along each coordinate.
const BOWL_STEEPNESS: RangeInclusive<f64> = 0.3..=1.0;
/// Share of wide functions with a warp, and how many of its units a standard deviation is.
const WARP_SHARE: f64 = 0.45;
const WARP_STRENGTH: RangeInclusive<f64> = 0.3..=1.5;
/// The noise's standard deviation, where the function has one; log-uniform.
const NOISE: RangeInclusive<f64> = 0.01..=0.5;
/// Levels of a function whose values are rounded.
const LEVELS: RangeInclusive<usize> = 2..=12;

/// How one sample becomes one function.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    bowl: Option<Bowl>,
    warp: Option<Warp>,
}

#[derive(Debug, Clone)]
struct Bowl {
    height: f64,
    centre: Vec<f64>,
    steepness: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Warp {
    curve: Curve,
    strength: f64,
}

/// Monotonic, so that a warp moves no minimum.
#[derive(Debug, Clone, Copy)]
enum Curve {
    /// sinh: long tails on both sides.
    Stretch,
    /// Its inverse: short tails.
    Squeeze,
    /// exp: a flat bottom and high peaks.
    Peaks,
    /// −exp(−y): a flat top and deep pits.
    Pits,
}

impl Shape {
    pub(super) fn draw<R: Rng>(family: Family, dimension: usize, rng: &mut R) -> Self {
        if family == Family::Paper {
            return Self::default();
        }
        let bowl = rng.random_bool(BOWL_SHARE).then(|| Bowl {
            height: log_uniform(BOWL_HEIGHT, rng),
            centre: (0..dimension).map(|_| rng.random()).collect(),
            steepness: (0..dimension).map(|_| rng.random_range(BOWL_STEEPNESS)).collect(),
        });
        let warp = rng.random_bool(WARP_SHARE).then(|| Warp {
            curve: [Curve::Stretch, Curve::Squeeze, Curve::Peaks, Curve::Pits][rng.random_range(0..4)],
            strength: rng.random_range(WARP_STRENGTH),
        });
        Self { bowl, warp }
    }

    /// Shapes the sample at `locations` and leaves it standardised.
    pub(super) fn apply(&self, values: &mut [f64], locations: &[f64]) {
        standardise(values);
        if let Some(bowl) = &self.bowl {
            let heights = bowl.at(locations);
            values.iter_mut().zip(&heights).for_each(|(value, height)| *value += height);
            standardise(values);
        }
        if let Some(warp) = self.warp {
            values.iter_mut().for_each(|value| *value = warp.at(*value));
            standardise(values);
        }
    }
}

/// Rounds values to levels, or adds noise, or both, and leaves them standardised.
pub(super) fn blemish<R: Rng>(blemishes: Blemishes, values: &mut [f64], rng: &mut R) {
    let (stepped, noisy) = (rng.random_bool(blemishes.stepped), rng.random_bool(blemishes.noisy));
    if stepped {
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        let step = (high - low) / (rng.random_range(LEVELS) - 1) as f64;
        if step > 0.0 {
            values.iter_mut().for_each(|value| *value = low + ((*value - low) / step).round() * step);
            standardise(values);
        }
    }
    if noisy {
        let deviation = log_uniform(NOISE, rng);
        let noise = normals(rng, values.len());
        values.iter_mut().zip(noise).for_each(|(value, normal)| *value += deviation * normal);
        standardise(values);
    }
}

impl Bowl {
    /// The bowl at each location, with its height as standard deviation.
    fn at(&self, locations: &[f64]) -> Vec<f64> {
        let scale = |x: &[f64]| -> Vec<f64> { x.iter().zip(&self.steepness).map(|(x, s)| x * s).collect() };
        let centre = scale(&self.centre);
        let mut heights: Vec<f64> =
            locations.chunks_exact(centre.len()).map(|x| squared_distance(&scale(x), &centre)).collect();
        standardise(&mut heights);
        heights.iter_mut().for_each(|height| *height *= self.height);
        heights
    }
}

impl Warp {
    fn at(self, value: f64) -> f64 {
        let scaled = self.strength * value;
        match self.curve {
            Curve::Stretch => sinh(scaled),
            Curve::Squeeze => asinh(scaled),
            Curve::Peaks => exp(scaled),
            Curve::Pits => -exp(-scaled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::random;

    #[test]
    fn the_wide_prior_has_the_stated_shares() {
        let draws = 8000;
        let shapes: Vec<Shape> =
            (0..draws).map(|seed| Shape::draw(Family::Wide, 2, &mut random::path(seed, &[]))).collect();
        let share = |test: fn(&Shape) -> bool| shapes.iter().filter(|shape| test(shape)).count() as f64 / draws as f64;
        assert!((share(|shape| shape.bowl.is_some()) - 1.0 / 3.0).abs() < 0.03);
        assert!((share(|shape| shape.warp.is_some()) - 0.45).abs() < 0.03);
        let paper = Shape::draw(Family::Paper, 2, &mut random::path(0, &[]));
        assert!(paper.bowl.is_none() && paper.warp.is_none());
    }

    #[test]
    fn warps_keep_the_order_of_values() {
        let sorted: Vec<f64> = (-40..=40).map(|k| f64::from(k) / 10.0).collect();
        for curve in [Curve::Stretch, Curve::Squeeze, Curve::Peaks, Curve::Pits] {
            let mut values = sorted.clone();
            Shape { bowl: None, warp: Some(Warp { curve, strength: 1.2 }) }.apply(&mut values, &[]);
            assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{curve:?}");
        }
    }

    #[test]
    fn a_bowl_is_lowest_at_its_centre() {
        let locations: Vec<f64> =
            (0..=10).flat_map(|i| (0..=10).map(move |j| [i, j])).flatten().map(|k| f64::from(k) / 10.0).collect();
        let bowl = Bowl { height: 2.0, centre: vec![0.3, 0.8], steepness: vec![1.0, 0.4] };
        let heights = bowl.at(&locations);
        let lowest = (0..heights.len()).min_by(|&a, &b| heights[a].total_cmp(&heights[b])).unwrap();
        assert_eq!(&locations[2 * lowest..2 * lowest + 2], [0.3, 0.8]);
        let variance = heights.iter().map(|h| h * h).sum::<f64>() / heights.len() as f64;
        assert!((variance - 4.0).abs() < 1e-9);
    }

    #[test]
    fn equal_values_standardise_to_zero() {
        let mut values = [3.0; 5];
        standardise(&mut values);
        assert_eq!(values, [0.0; 5]);
    }
}

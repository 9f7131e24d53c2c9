//! What the functions of one group share: a sum of one or two stationary kernels, one of which may be periodic.

use super::Family;
use crate::fourier;
use crate::kernel::{Profile, add_covariance, scaled};
use icee_base::math::{exp, ln, sin_cos_pi};
use rand::{Rng, RngExt};
use std::ops::RangeInclusive;

/// The paper's length scales, uniform.
const PAPER_SCALES: RangeInclusive<f64> = 0.05..=0.3;
/// The wide prior's length scales in up to two dimensions, log-uniform; in d they are longer by √(d/2), as distances are.
const WIDE_SCALES: RangeInclusive<f64> = 0.04..=1.0;
/// Share of wide covariances with a second component, and share of those where it is periodic.
const SECOND_SHARE: f64 = 0.5;
const PERIODIC_SHARE: f64 = 0.25;
/// Variance of the second component, out of one for both.
const SECOND_VARIANCE: RangeInclusive<f64> = 0.1..=0.9;
/// Periods of the periodic component, log-uniform: ten waves over the domain down to one.
const PERIODS: RangeInclusive<f64> = 0.1..=1.0;
/// Its length scales, on the circle of radius one that a period becomes; log-uniform, from spiky to a plain sine.
const CIRCLE_SCALES: RangeInclusive<f64> = 0.3..=2.0;

/// Waves of which a component is a sum, where it is drawn by waves.
const WAVES: usize = 160;

/// A covariance of variance one.
#[derive(Debug, Clone)]
pub(super) struct Covariance {
    pub(super) components: Vec<Component>,
}

#[derive(Debug, Clone)]
pub(super) struct Component {
    pub(super) profile: Profile,
    pub(super) variance: f64,
    /// One for each dimension; of the periodic component on the circle.
    pub(super) length_scales: Vec<f64>,
    /// One for each dimension, of the periodic component only.
    pub(super) periods: Option<Vec<f64>>,
    /// Whether it is a sum of functions of one coordinate each: effects that add up and do not depend on each other.
    pub(super) additive: bool,
}

impl Covariance {
    /// Draws one; `additive` is the share of the wide family's components that are sums over coordinates.
    pub(super) fn draw<R: Rng>(family: Family, dimension: usize, additive: f64, rng: &mut R) -> Self {
        if family == Family::Paper {
            let length_scales = (0..dimension).map(|_| rng.random_range(PAPER_SCALES)).collect();
            let only =
                Component { profile: Profile::Matern52, variance: 1.0, length_scales, periods: None, additive: false };
            return Self { components: vec![only] };
        }
        let mut components = vec![Component::draw(dimension, false, rng)];
        if rng.random_bool(SECOND_SHARE) {
            let periodic = rng.random_bool(PERIODIC_SHARE);
            let mut second = Component::draw(dimension, periodic, rng);
            second.variance = rng.random_range(SECOND_VARIANCE);
            components[0].variance = 1.0 - second.variance;
            components.push(second);
        }
        if additive > 0.0 && dimension > 1 {
            components.iter_mut().for_each(|component| component.additive = rng.random_bool(additive));
        }
        Self { components }
    }

    /// Values at `locations` ([n, d]) of one function, by random waves instead of exactly.
    pub(super) fn sample_by_waves<R: Rng>(&self, locations: &[f64], rng: &mut R) -> Vec<f64> {
        let dimension = self.components[0].length_scales.len();
        let mut values = vec![0.0; locations.len() / dimension];
        for component in &self.components {
            let (points, width) = component.embed(locations);
            let parts = if component.additive { dimension } else { 1 };
            let (deviation, slice) = ((component.variance / parts as f64).sqrt(), width / parts);
            for part in 0..parts {
                let points = columns(&points, width, part, parts);
                let own = fourier::sample(component.profile, &points, slice, &vec![1.0; slice], WAVES / parts, rng);
                values.iter_mut().zip(own).for_each(|(value, own)| *value += deviation * own);
            }
        }
        values
    }

    /// The covariance matrix at `locations` ([n, d]): [n, n], row-major, lower triangle only.
    pub(super) fn matrix(&self, locations: &[f64]) -> Vec<f64> {
        let dimension = self.components[0].length_scales.len();
        let n = locations.len() / dimension;
        let mut matrix = vec![0.0; n * n];
        for component in &self.components {
            let (points, width) = component.embed(locations);
            let parts = if component.additive { dimension } else { 1 };
            let variance = component.variance / parts as f64;
            for part in 0..parts {
                let points = columns(&points, width, part, parts);
                add_covariance(&mut matrix, &points, width / parts, component.profile, variance);
            }
        }
        matrix
    }
}

impl Component {
    fn draw<R: Rng>(dimension: usize, periodic: bool, rng: &mut R) -> Self {
        let mut each = |range: RangeInclusive<f64>| -> Vec<f64> {
            (0..dimension).map(|_| log_uniform(range.clone(), rng)).collect()
        };
        if periodic {
            let (length_scales, periods) = (each(CIRCLE_SCALES), Some(each(PERIODS)));
            return Self { profile: Profile::Rbf, variance: 1.0, length_scales, periods, additive: false };
        }
        let mut length_scales = each(WIDE_SCALES);
        let longer = (dimension as f64 / 2.0).sqrt().max(1.0);
        length_scales.iter_mut().for_each(|scale| *scale *= longer);
        let profile = [Profile::Matern52, Profile::Matern32, Profile::Rbf][rng.random_range(0..3)];
        Self { profile, variance: 1.0, length_scales, periods: None, additive: false }
    }

    /// The points between which the kernel measures plain distance, and their width.
    ///
    /// A periodic kernel exp(−2 sin²(π(x − x')/p)/ℓ²) is an RBF kernel between points on a circle: each coordinate
    /// becomes (cos, sin) of 2πx/p, whose squared distance is 4 sin²(π(x − x')/p).
    fn embed(&self, locations: &[f64]) -> (Vec<f64>, usize) {
        let Some(periods) = &self.periods else {
            return (scaled(locations, &self.length_scales), self.length_scales.len());
        };
        let mut points = Vec::with_capacity(2 * locations.len());
        for location in locations.chunks_exact(periods.len()) {
            for ((x, period), scale) in location.iter().zip(periods).zip(&self.length_scales) {
                let (sine, cosine) = sin_cos_pi(2.0 * x / period);
                points.extend([cosine / scale, sine / scale]);
            }
        }
        (points, 2 * periods.len())
    }
}

/// One of `parts` equal slices of the columns of `points` ([n, width]).
fn columns(points: &[f64], width: usize, part: usize, parts: usize) -> Vec<f64> {
    let slice = width / parts;
    points.chunks_exact(width).flat_map(|point| &point[part * slice..(part + 1) * slice]).copied().collect()
}

/// A number whose logarithm is uniform over `range`.
pub(crate) fn log_uniform<R: Rng + ?Sized>(range: RangeInclusive<f64>, rng: &mut R) -> f64 {
    exp(rng.random_range(ln(*range.start())..=ln(*range.end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::random;

    #[test]
    fn the_papers_covariance_is_one_matern_within_its_scales() {
        for seed in 0..50 {
            let drawn = Covariance::draw(Family::Paper, 3, 0.5, &mut random::path(seed, &[]));
            assert_eq!(drawn.components.len(), 1);
            assert_eq!(drawn.components[0].profile, Profile::Matern52);
            assert!(drawn.components[0].length_scales.iter().all(|scale| PAPER_SCALES.contains(scale)));
        }
    }

    #[test]
    fn the_wide_prior_has_the_stated_shares() {
        let draws = 8000;
        let (mut second, mut periodic, mut matern32, mut additive) = (0, 0, 0, 0);
        for seed in 0..draws {
            let drawn = Covariance::draw(Family::Wide, 2, 0.3, &mut random::path(seed, &[]));
            let variance: f64 = drawn.components.iter().map(|component| component.variance).sum();
            assert!((variance - 1.0).abs() < 1e-12);
            assert!(drawn.components[0].length_scales.iter().all(|scale| (0.0399..=1.001).contains(scale)));
            second += usize::from(drawn.components.len() == 2);
            periodic += usize::from(drawn.components.iter().any(|component| component.periods.is_some()));
            matern32 += usize::from(drawn.components[0].profile == Profile::Matern32);
            additive += usize::from(drawn.components[0].additive);
        }
        let share = |count: usize| count as f64 / draws as f64;
        assert!((share(second) - 0.5).abs() < 0.03);
        assert!((share(periodic) - 0.125).abs() < 0.02);
        assert!((share(matern32) - 1.0 / 3.0).abs() < 0.03);
        assert!((share(additive) - 0.3).abs() < 0.03);
    }

    #[test]
    fn the_periodic_component_is_the_periodic_kernel() {
        let component = Component {
            profile: Profile::Rbf,
            variance: 1.0,
            length_scales: vec![0.7, 1.1],
            periods: Some(vec![0.2, 0.5]),
            additive: false,
        };
        let locations = [0.1, 0.4, 0.17, 0.9, 0.3, 0.4];
        let matrix = Covariance { components: vec![component.clone()] }.matrix(&locations);
        let term = |x: f64, p: f64, l: f64| (-2.0 * (std::f64::consts::PI * x / p).sin().powi(2) / (l * l)).exp();
        let (first, second) = (term(0.07, 0.2, 0.7), term(0.5, 0.5, 1.1));
        assert!((matrix[3] - first * second).abs() < 1e-12);
        assert!((matrix[6] - 1.0).abs() < 1e-12, "one whole period apart");
        let sum = Covariance { components: vec![Component { additive: true, ..component }] }.matrix(&locations);
        assert!((sum[3] - (first + second) / 2.0).abs() < 1e-12);
        assert!((sum[0] - 1.0).abs() < 1e-12);
    }
}

//! Random numbers of other distributions than the uniform one, the same bits on every machine.

use crate::math::{exp, ln, power, sin_cos_pi};
use rand::{Rng, RngExt};

/// A standard normal number, by Box and Muller; [`math::normals`](crate::math::normals) makes many.
pub fn normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    let radius = (-2.0 * ln(1.0 - rng.random::<f64>())).sqrt();
    radius * sin_cos_pi(2.0 * rng.random::<f64>()).1
}

/// A standard normal number of at most `most` in size: drawn again where it is larger.
pub fn bounded_normal<R: Rng + ?Sized>(rng: &mut R, most: f64) -> f64 {
    loop {
        let z = normal(rng);
        if z.abs() <= most {
            return z;
        }
    }
}

/// A normal number given that it lies within `low..=high`.
pub fn truncated_normal<R: Rng + ?Sized>(rng: &mut R, mean: f64, deviation: f64, low: f64, high: f64) -> f64 {
    let (below, above) = ((low - mean) / deviation, (high - mean) / deviation);
    let z = if below > 0.0 {
        tail(rng, below, above)
    } else if above < 0.0 {
        -tail(rng, -above, -below)
    } else {
        within(rng, below, above)
    };
    (mean + deviation * z).clamp(low, high)
}

/// A standard normal number within an interval that holds 0: normal numbers where it is wide, uniform ones, kept by the density,
/// where it is narrow. Both keep at least one in five or so.
fn within<R: Rng + ?Sized>(rng: &mut R, below: f64, above: f64) -> f64 {
    let narrow = above - below < 2.0;
    loop {
        let z = if narrow { below + (above - below) * rng.random::<f64>() } else { normal(rng) };
        let keep = !narrow || ln(1.0 - rng.random::<f64>()) < -0.5 * z * z;
        if keep && (below..=above).contains(&z) {
            return z;
        }
    }
}

/// A standard normal number between two positive ones, by Robert's exponential proposals (1995).
fn tail<R: Rng + ?Sized>(rng: &mut R, below: f64, above: f64) -> f64 {
    let rate = 0.5 * (below + (below * below + 4.0).sqrt());
    // The proposal's share that lies above the interval is never drawn.
    let kept = 1.0 - exp(-rate * (above - below));
    loop {
        let z = below - ln(1.0 - kept * rng.random::<f64>()) / rate;
        if ln(1.0 - rng.random::<f64>()) < -0.5 * (z - rate) * (z - rate) {
            return z.min(above);
        }
    }
}

/// A number of the gamma distribution of this shape and scale 1, by the method of Marsaglia and Tsang (2000).
pub fn gamma<R: Rng + ?Sized>(rng: &mut R, shape: f64) -> f64 {
    if shape < 1.0 {
        // Gamma(a) = Gamma(a + 1) U^(1/a).
        return gamma(rng, shape + 1.0) * power(1.0 - rng.random::<f64>(), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = normal(rng);
        let root = 1.0 + c * z;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        if ln(1.0 - rng.random::<f64>()) < 0.5 * z * z + d - d * v + d * ln(v) {
            return d * v;
        }
    }
}

/// A number of the beta distribution.
pub fn beta<R: Rng + ?Sized>(rng: &mut R, a: f64, b: f64) -> f64 {
    let (x, y) = (gamma(rng, a), gamma(rng, b));
    x / (x + y)
}

/// Turns the parameters of a Dirichlet distribution into probabilities that were drawn from it.
pub fn dirichlet_in_place<R: Rng + ?Sized>(rng: &mut R, parameters: &mut [f64]) {
    parameters.iter_mut().for_each(|a| *a = gamma(rng, *a));
    let sum: f64 = parameters.iter().sum();
    parameters.iter_mut().for_each(|p| *p /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use crate::stats::Estimate;

    /// The mean of many draws is within four standard errors of the expected one.
    fn assert_mean(what: &str, expected: f64, draw: impl FnMut() -> f64) {
        let sample: Vec<f64> = std::iter::repeat_with(draw).take(40_000).collect();
        let Estimate { mean, half_width } = Estimate::of(&sample);
        assert!((mean - expected).abs() < 4.0 / 1.96 * half_width, "{what}: {mean} for {expected} ± {half_width}");
    }

    #[test]
    fn gammas_and_betas_have_their_moments() {
        let mut rng = random::path(1, &[]);
        for shape in [0.3, 1.0, 1.7, 12.0] {
            assert_mean("gamma", shape, || gamma(&mut rng, shape));
            assert_mean("gamma squared", shape * (shape + 1.0), || gamma(&mut rng, shape).powi(2));
        }
        for (a, b) in [(1.0, 1.0), (0.5, 2.0), (30.0, 12.0)] {
            assert_mean("beta", a / (a + b), || beta(&mut rng, a, b));
            let square = a * (a + 1.0) / ((a + b) * (a + b + 1.0));
            assert_mean("beta squared", square, || beta(&mut rng, a, b).powi(2));
        }
    }

    #[test]
    fn dirichlets_have_their_means_and_sum_to_one() {
        let mut rng = random::path(2, &[]);
        let parameters = [0.5, 1.0, 4.5];
        for (index, a) in parameters.into_iter().enumerate() {
            let mut draw = || {
                let mut drawn = parameters;
                dirichlet_in_place(&mut rng, &mut drawn);
                assert!((drawn.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                drawn[index]
            };
            assert_mean("dirichlet", a / 6.0, &mut draw);
            // A share is a beta number: E x² = a(a + 1)/(6 · 7).
            assert_mean("dirichlet squared", a * (a + 1.0) / 42.0, || draw().powi(2));
        }
    }

    /// The density φ(x) over the interval, integrated by steps.
    fn moment_by_hand(mean: f64, deviation: f64, low: f64, high: f64, power: i32) -> f64 {
        let steps = 20_000;
        let (mut mass, mut sum) = (0.0, 0.0);
        for step in 0..steps {
            let x = low + (high - low) * (f64::from(step) + 0.5) / f64::from(steps);
            let density = (-0.5 * ((x - mean) / deviation).powi(2)).exp();
            mass += density;
            sum += density * x.powi(power);
        }
        sum / mass
    }

    #[test]
    fn truncated_normals_stay_inside_and_have_their_moments() {
        let mut rng = random::path(3, &[]);
        for (mean, deviation) in [(0.5, 0.02), (0.4, 0.3), (0.5, 9.0), (-0.1, 0.03), (1.5, 0.2), (-2.0, 4.0)] {
            for power in [1, 2] {
                let expected = moment_by_hand(mean, deviation, 0.0, 1.0, power);
                assert_mean(&format!("N({mean}, {deviation}²)"), expected, || {
                    let x = truncated_normal(&mut rng, mean, deviation, 0.0, 1.0);
                    assert!((0.0..=1.0).contains(&x));
                    x.powi(power)
                });
            }
        }
    }

    #[test]
    fn bounded_normals_are_bounded() {
        let mut rng = random::path(4, &[]);
        assert!((0..10_000).all(|_| bounded_normal(&mut rng, 1.5).abs() <= 1.5));
        assert_mean("bounded normal", 0.0, || bounded_normal(&mut rng, 4.0));
    }
}

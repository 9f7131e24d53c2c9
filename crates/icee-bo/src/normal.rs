//! The normal distribution, in exact arithmetic: what Gaussian processes predict, and what follows from it.
//!
//! Expected improvement is EI = σ h(z) with z = (best − mean)/σ and h(z) = φ(z) + z Φ(z). Far from the best value both terms are tiny and
//! nearly cancel; at z = −40 h is below the smallest double. So left of −2 the logarithm is taken from
//! h(−t) = ierfc(t/√2)/√2, an integral of the error function whose continued fraction has positive terms only
//! (Gautschi 1961): nothing cancels, and candidates can be told apart even where EI itself would round to zero.

use icee_base::math::{exp, ln};
use rand::{Rng, RngExt};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, TAU};

/// A normal distribution of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The expected value.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
}

/// Uniform between 0 and 1, open at both ends.
pub fn open_unit(rng: &mut dyn Rng) -> f64 {
    (rng.random_range(0..1u64 << 52) as f64 + 0.5) / (1u64 << 52) as f64
}

/// The z below which lies probability `level`, 0 < `level` < 1.
pub(crate) fn quantile(level: f64) -> f64 {
    let (mut left, mut right) = (-40.0, 40.0);
    while right - left > 1e-12 {
        let middle = 0.5 * (left + right);
        if below(middle) < level { left = middle } else { right = middle }
    }
    0.5 * (left + right)
}

/// Φ(z), accurate in the lower tail.
pub(crate) fn below(z: f64) -> f64 {
    if z > 0.0 {
        return 1.0 - below(-z);
    }
    0.5 * complementary_error(-z * FRAC_1_SQRT_2)
}

/// erfc(x) for x ≥ 0: a series near zero, a continued fraction (Lentz) beyond.
fn complementary_error(x: f64) -> f64 {
    let gauss = exp(-x * x);
    if x < 2.0 {
        let (mut term, mut sum, mut odd) = (x, x, 1.0);
        while term > f64::EPSILON * 0.1 * sum {
            odd += 2.0;
            term *= 2.0 * x * x / odd;
            sum += term;
        }
        return 1.0 - 4.0 / (2.0 * TAU).sqrt() * gauss * sum;
    }
    let fraction = (1..=120).rev().fold(0.0, |below, n| 0.5 * f64::from(n) / (x + below));
    gauss * 2.0 / (2.0 * TAU).sqrt() / (x + fraction)
}

/// log h(z), h(z) = φ(z) + z Φ(z).
#[must_use]
pub fn log_improvement(z: f64) -> f64 {
    if z > 0.0 {
        // h(z) = z + h(−z), both positive.
        ln(z + exp(log_improvement(-z)))
    } else if z > -2.0 {
        ln(central_improvement(-z))
    } else {
        tail_log_improvement(-z)
    }
}

/// h(−t) for 0 ≤ t ≤ 2, by Φ(t) − ½ = φ(t) (t + t³/3 + t⁵/(3·5) + …).
fn central_improvement(t: f64) -> f64 {
    let density = exp(-0.5 * t * t) / TAU.sqrt();
    let (mut term, mut sum) = (t, t);
    let mut odd = 3.0;
    while term > f64::EPSILON * 0.1 * sum {
        term *= t * t / odd;
        sum += term;
        odd += 2.0;
    }
    density - t * (0.5 - density * sum)
}

/// log h(−t) for t ≥ 2, by the ratios r_n = iⁿerfc(x)/iⁿ⁻¹erfc(x) = ½/(x + (n + 1) r_{n+1}), x = t/√2.
fn tail_log_improvement(t: f64) -> f64 {
    let x = t * FRAC_1_SQRT_2;
    // The recursion forgets its start like exp(−2x√(2n)): this many steps leave less than one rounding.
    let steps = 15 + ((18.5 / x) * (18.5 / x) / 2.0) as u32;
    let ratio = |n: u32, next: f64| 0.5 / (x + f64::from(n + 1) * next);
    let first = (1..=steps).rev().fold(0.0, |next, n| ratio(n, next));
    let zeroth = ratio(0, first);
    -0.5 * t * t + ln(FRAC_2_SQRT_PI * FRAC_1_SQRT_2) + ln(zeroth) + ln(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_is_tabulated_right() {
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_543),
            (-3.0, 1.349_898_031_630_094_6e-3),
            (-8.0, 6.220_960_574_271_785e-16),
        ] {
            assert!((below(z) / p - 1.0).abs() < 1e-12, "{z}: {}", below(z));
            assert!((quantile(below(z)) - z).abs() < 1e-9);
        }
    }

    #[test]
    fn the_pieces_meet_and_rise() {
        for seam in [-2.0, 0.0] {
            let (left, right) = (log_improvement(seam - 1e-9), log_improvement(seam + 1e-9));
            assert!((left - right).abs() < 1e-8, "at {seam}");
        }
        let values: Vec<f64> = (-400..=400).map(|k| log_improvement(f64::from(k) / 10.0)).collect();
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

//! log expected improvement, for any distance from the best value.
//!
//! EI = σ h(z) with z = (best − mean)/σ and h(z) = φ(z) + z Φ(z). Far from the best value both terms are tiny and
//! nearly cancel; at z = −40 h is below the smallest double. So left of −2 the logarithm is taken from
//! h(−t) = ierfc(t/√2)/√2, an integral of the error function whose continued fraction has positive terms only
//! (Gautschi 1961): nothing cancels, and candidates can be told apart even where EI itself would round to zero.

use super::Prediction;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, TAU};

/// log E[(best − y)⁺] for a Gaussian y: by how much a candidate is expected to go below `best`.
pub fn log_expected_improvement(prediction: Prediction, best: f64) -> f64 {
    let deviation = prediction.variance.sqrt();
    deviation.ln() + log_improvement((best - prediction.mean) / deviation)
}

/// log h(z), h(z) = φ(z) + z Φ(z).
pub fn log_improvement(z: f64) -> f64 {
    if z > 0.0 {
        // h(z) = z + h(−z), both positive.
        (z + log_improvement(-z).exp()).ln()
    } else if z > -2.0 {
        central_improvement(-z).ln()
    } else {
        tail_log_improvement(-z)
    }
}

/// h(−t) for 0 ≤ t ≤ 2, by Φ(t) − ½ = φ(t) (t + t³/3 + t⁵/(3·5) + …).
fn central_improvement(t: f64) -> f64 {
    let density = (-0.5 * t * t).exp() / TAU.sqrt();
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
    -0.5 * t * t + (FRAC_2_SQRT_PI * FRAC_1_SQRT_2).ln() + zeroth.ln() + first.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_meet_and_rise() {
        for seam in [-2.0, 0.0] {
            let (left, right) = (log_improvement(seam - 1e-9), log_improvement(seam + 1e-9));
            assert!((left - right).abs() < 1e-8, "at {seam}");
        }
        let values: Vec<f64> = (-400..=400).map(|k| log_improvement(f64::from(k) / 10.0)).collect();
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn improvement_scales_with_the_deviation() {
        let at = |scale: f64| {
            log_expected_improvement(Prediction { mean: 2.0 * scale, variance: 0.09 * scale * scale }, 1.5 * scale)
        };
        assert!((at(1000.0) - at(1.0) - 1000f64.ln()).abs() < 1e-12);
    }
}

//! Exponential, logarithm, softmax and sampling in plain f64 arithmetic.
//!
//! The system's `exp` and `ln` differ in the last bit from platform to platform, and one bit is enough to make two
//! machines draw different actions from the same seed.

use rand::{Rng, RngExt};

const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Exponentials that are computed side by side: enough for the divisions of one to fill the waits of the others.
const LANES: usize = 16;

/// eˣ to about 1e-15 relative; 0 below −700 and of what is not a number.
pub(crate) fn exp(x: f64) -> f64 {
    exp_each([x])[0]
}

/// eˣ of each number, the same bits as one by one.
fn exp_each<const N: usize>(x: [f64; N]) -> [f64; N] {
    let bounded = x.map(|x| x.clamp(-700.0, 700.0));
    let k = bounded.map(|x| (x * std::f64::consts::LOG2_E).round());
    let r: [f64; N] = std::array::from_fn(|i| (bounded[i] - k[i] * LN2_HIGH) - k[i] * LN2_LOW);
    // |r| ≤ ln 2 / 2: the series ends below 1e-17 after 14 terms.
    let mut sum = [1.0; N];
    for n in (1..=14).rev() {
        for (sum, r) in sum.iter_mut().zip(r) {
            *sum = 1.0 + *sum * r / f64::from(n);
        }
    }
    let power = |k: f64| f64::from_bits(((1023 + k as i64) as u64) << 52);
    std::array::from_fn(|i| if x[i] >= -700.0 { sum[i] * power(k[i]) } else { 0.0 })
}

/// ln x for normal x > 0 to about 1e-15 relative; −∞ for anything that is not above the smallest normal number.
pub(crate) fn ln(x: f64) -> f64 {
    if x.is_nan() || x < f64::MIN_POSITIVE {
        return f64::NEG_INFINITY;
    }
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh s, |s| ≤ 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for n in (0..=11).rev() {
        sum = sum * square + 1.0 / f64::from(2 * n + 1);
    }
    exponent * LN2_HIGH + (exponent * LN2_LOW + 2.0 * s * sum)
}

/// sin πx and cos πx to about 1e-15; of a number that is not finite, NaN.
pub(crate) fn sin_cos_pi(x: f64) -> (f64, f64) {
    // To |r| ≤ 1/4 of a half-turn's multiple, where the series end below 1e-17 after 9 terms.
    let quarter = (2.0 * x).round();
    let angle = (x - 0.5 * quarter) * std::f64::consts::PI;
    let square = angle * angle;
    let (mut sine, mut cosine) = (1.0, 1.0);
    for n in (1..=9).rev() {
        let even = f64::from(2 * n);
        sine = 1.0 - sine * square / (even * (even + 1.0));
        cosine = 1.0 - cosine * square / (even * (even - 1.0));
    }
    sine *= angle;
    match quarter.rem_euclid(4.0) as u8 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

/// Softmax of logits.
pub(crate) fn softmax(logits: &[f32]) -> Vec<f64> {
    let logits: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
    softmax64(&logits)
}

/// Softmax of logits of which some may be −∞; uniform where all are.
pub(crate) fn softmax64(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return vec![1.0 / logits.len() as f64; logits.len()];
    }
    let mut out: Vec<f64> = logits.iter().map(|&x| x - most).collect();
    let (lanes, rest) = out.as_chunks_mut::<LANES>();
    lanes.iter_mut().for_each(|lanes| *lanes = exp_each(*lanes));
    rest.iter_mut().for_each(|x| *x = exp(*x));
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= sum);
    out
}

/// Draws an index with probability proportional to its weight, by one number from the stream.
pub(crate) fn sample<R: Rng + ?Sized>(weights: &[f64], rng: &mut R) -> usize {
    let total: f64 = weights.iter().sum();
    let mut left = rng.random::<f64>() * total;
    let mut chosen = 0;
    for (index, &weight) in weights.iter().enumerate() {
        if weight > 0.0 {
            chosen = index;
            if left < weight {
                break;
            }
            left -= weight;
        }
    }
    chosen
}

/// −Σ p ln p.
pub(crate) fn entropy(probabilities: &[f64]) -> f64 {
    probabilities.iter().filter(|&&p| p > 0.0).map(|&p| -p * ln(p)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_ln_agree_with_the_system_to_the_last_digits() {
        for i in -6_000..6_000 {
            let x = f64::from(i) * 0.1;
            assert!((exp(x) / x.exp() - 1.0).abs() < 4e-15, "exp {x}");
            let y = x.exp();
            assert!((ln(y) - y.ln()).abs() < 1e-14 * y.ln().abs().max(1.0), "ln {y}");
        }
        for i in -4_000..4_000 {
            let x = f64::from(i) * 1e-3;
            let (sine, cosine) = sin_cos_pi(x);
            let (s, c) = (std::f64::consts::PI * x).sin_cos();
            assert!((sine - s).abs() < 2e-15 && (cosine - c).abs() < 2e-15, "{x}: {sine} {s} {cosine} {c}");
        }
        assert_eq!((exp(-1e9), exp(f64::NAN)), (0.0, 0.0));
        let many: [f64; LANES] = std::array::from_fn(|i| 0.37 * i as f64 - 701.0 * f64::from(u8::from(i == 3)));
        assert_eq!(exp_each(many), many.map(exp), "side by side as one by one");
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert_eq!(softmax64(&[f64::NEG_INFINITY; 2]), [0.5, 0.5]);
    }
}

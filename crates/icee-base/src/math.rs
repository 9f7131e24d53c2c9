//! Exponential, logarithm and what follows from them, in plain f64 arithmetic.
//!
//! The system's `exp`, `ln` and `sin` differ in the last bit from platform to platform, and one bit is enough to make two
//! machines draw different actions, or suggest different rows, from the same seed. These use additions, multiplications,
//! divisions and roots alone, which IEEE 754 fixes to the last bit.

use rand::{Rng, RngExt};

const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Exponentials that are computed side by side, so that a vector unit has something to do.
const LANES: usize = 16;

/// 1/n!, from n = 13 down to 2.
const FACTORIALS: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

/// eˣ to about 1e-15 relative; 0 below −700, e⁷⁰⁰ above 700, and 0 of what is not a number.
#[must_use]
pub fn exp(x: f64) -> f64 {
    exp_each([x])[0]
}

/// eˣ of each number in its place, the same bits as one by one.
pub fn exp_in_place(values: &mut [f64]) {
    let (lanes, rest) = values.as_chunks_mut::<LANES>();
    lanes.iter_mut().for_each(|lanes| *lanes = exp_each(*lanes));
    rest.iter_mut().for_each(|x| *x = exp(*x));
}

#[inline(always)]
fn exp_each<const N: usize>(x: [f64; N]) -> [f64; N] {
    // Adding and subtracting 1.5 · 2⁵² rounds to the nearest whole number, and leaves it in the low bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    std::array::from_fn(|i| {
        let bounded = x[i].clamp(-700.0, 700.0);
        let shifted = bounded * std::f64::consts::LOG2_E + SHIFT;
        let k = shifted - SHIFT;
        let r = (bounded - k * LN2_HIGH) - k * LN2_LOW;
        let sum = 1.0 + (r + r * r * exponential_tail(r));
        let power = f64::from_bits((shifted.to_bits().wrapping_add(1023)) << 52);
        if x[i] >= -700.0 { sum * power } else { 0.0 }
    })
}

/// ln x for x > 0 to about 1e-15 relative; −∞ for 0 and for anything that is not above it.
#[must_use]
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < f64::MIN_POSITIVE {
        // Subnormal: 2⁵⁴ times as large it is not.
        return ln(x * 18_014_398_509_481_984.0) - 54.0 * std::f64::consts::LN_2;
    }
    if x == f64::INFINITY {
        return x;
    }
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh s, |s| ≤ 0.172.
    exponent * LN2_HIGH + (exponent * LN2_LOW + artanh_twice((mantissa - 1.0) / (mantissa + 1.0)))
}

/// 2 artanh s for |s| ≤ 1/4, where the series ends below 1e-16 after 12 terms.
fn artanh_twice(s: f64) -> f64 {
    let square = s * s;
    let mut sum = 0.0;
    for n in (0..=11).rev() {
        sum = sum * square + 1.0 / f64::from(2 * n + 1);
    }
    2.0 * s * sum
}

/// (eʳ − 1 − r)/r² for |r| ≤ ln 2 / 2: the series ends below 1e-17 after r¹¹/13!.
#[inline(always)]
fn exponential_tail(r: f64) -> f64 {
    FACTORIALS[1..].iter().fold(FACTORIALS[0], |sum, factor| sum * r + factor)
}

/// ln(1 + x) for x > −1, accurate near zero.
#[must_use]
pub fn ln_1p(x: f64) -> f64 {
    if x.abs() > 0.4 { ln(1.0 + x) } else { artanh_twice(x / (2.0 + x)) }
}

/// eˣ − 1, accurate near zero.
#[must_use]
pub fn exp_m1(x: f64) -> f64 {
    if x.abs() > 0.35 {
        return exp(x) - 1.0;
    }
    x + x * x * exponential_tail(x)
}

/// The alternating series of sin a / a (`odd` = 1) or cos a (0) in a²: 1/(2n + odd)! from n = 9 down to 0, with signs.
const fn circular(odd: usize) -> [f64; 10] {
    let mut terms = [1.0; 10];
    let mut n = 1;
    while n < 10 {
        let even = (2 * n + odd) as f64;
        terms[9 - n] = -terms[10 - n] / (even * (even - 1.0));
        n += 1;
    }
    terms
}

const SINE: [f64; 10] = circular(1);
const COSINE: [f64; 10] = circular(0);

#[inline(always)]
fn horner(terms: &[f64; 10], square: f64) -> f64 {
    terms[1..].iter().fold(terms[0], |sum, term| sum * square + term)
}

/// cos πx of each number in its place, for |x| below 2⁵⁰, to about 1e-15.
pub fn cos_pi_in_place(values: &mut [f64]) {
    let (lanes, rest) = values.as_chunks_mut::<LANES>();
    lanes.iter_mut().for_each(|lanes| *lanes = cos_pi_each(*lanes));
    rest.iter_mut().for_each(|x| *x = cos_pi_each([*x])[0]);
}

#[inline(always)]
fn cos_pi_each<const N: usize>(x: [f64; N]) -> [f64; N] {
    // As for the exponential: the nearest whole number of quarter-turns stays in the low bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    std::array::from_fn(|i| {
        let shifted = 2.0 * x[i] + SHIFT;
        let angle = (x[i] - 0.5 * (shifted - SHIFT)) * std::f64::consts::PI;
        let square = angle * angle;
        let (sine, cosine) = (angle * horner(&SINE, square), horner(&COSINE, square));
        let quarter = shifted.to_bits();
        let size = if quarter & 1 == 1 { sine } else { cosine };
        // Less than nothing in the second and the third quarter, counted from where the cosine is greatest.
        if quarter.wrapping_add(1) & 2 == 2 { -size } else { size }
    })
}

/// sin πx and cos πx to about 1e-15; of a number that is not finite, NaN.
#[must_use]
pub fn sin_cos_pi(x: f64) -> (f64, f64) {
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

/// xᵖ for x ≥ 0 and p > 0.
#[must_use]
pub fn power(x: f64, p: f64) -> f64 {
    if x > 0.0 { exp(p * ln(x)) } else { 0.0 }
}

/// sinh x = (eˣ − e⁻ˣ)/2; near zero its digits cancel, which is no matter where it stretches values.
#[must_use]
pub fn sinh(x: f64) -> f64 {
    0.5 * (exp(x) - exp(-x))
}

/// asinh x = sign(x) ln(|x| + √(x² + 1)).
#[must_use]
pub fn asinh(x: f64) -> f64 {
    let size = x.abs();
    ln(size + (size * size + 1.0).sqrt()).copysign(x)
}

/// Independent standard normal numbers, in pairs by Box and Muller.
pub fn normals<R: Rng + ?Sized>(rng: &mut R, count: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(count + 1);
    while out.len() < count {
        // 1 − u lies in (0, 1], so that the logarithm is finite.
        let radius = (-2.0 * ln(1.0 - rng.random::<f64>())).sqrt();
        let (sine, cosine) = sin_cos_pi(2.0 * rng.random::<f64>());
        out.extend([radius * cosine, radius * sine]);
    }
    out.truncate(count);
    out
}

/// Softmax of logits.
#[must_use]
pub fn softmax(logits: &[f32]) -> Vec<f64> {
    let logits: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
    softmax64(&logits)
}

/// Softmax of logits of which some may be −∞; uniform where all are.
#[must_use]
pub fn softmax64(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return vec![1.0 / logits.len() as f64; logits.len()];
    }
    let mut out: Vec<f64> = logits.iter().map(|&x| x - most).collect();
    exp_in_place(&mut out);
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= sum);
    out
}

/// Draws an index with probability proportional to its weight, by one number from the stream.
pub fn sample<R: Rng + ?Sized>(weights: &[f64], rng: &mut R) -> usize {
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
#[must_use]
pub fn entropy(probabilities: &[f64]) -> f64 {
    probabilities.iter().filter(|&&p| p > 0.0).map(|&p| -p * ln(p)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn cosines_side_by_side_are_those_one_by_one() {
        let x: Vec<f64> = (-4000..4000).map(|k| f64::from(k) * 0.0137).chain([0.0, 0.25, -0.75, 1e6 + 0.3]).collect();
        let mut each = x.clone();
        cos_pi_in_place(&mut each);
        for (x, cosine) in x.iter().zip(&each) {
            assert!((cosine - sin_cos_pi(*x).1).abs() < 4e-15, "{x}: {cosine}");
        }
        let mut alone = [x[17]];
        cos_pi_in_place(&mut alone);
        assert_eq!(alone[0].to_bits(), each[17].to_bits());
    }

    #[test]
    fn exp_and_ln_agree_with_the_system_to_the_last_digits() {
        for i in -6_000..6_000 {
            let x = f64::from(i) * 0.1 + 1e-3 * f64::from(i % 7);
            assert!((exp(x) / x.exp() - 1.0).abs() < 4e-15, "exp {x}: {} {}", exp(x), x.exp());
            let y = x.exp();
            assert!((ln(y) - y.ln()).abs() < 1e-14 * y.ln().abs().max(1.0), "ln {y}");
            let z = f64::from(i) * 1e-3;
            assert!(
                (asinh(z) - z.asinh()).abs() < 1e-14 * z.abs().max(1.0)
                    && (sinh(z) - z.sinh()).abs() < 1e-13 * z.cosh()
            );
            assert!((exp_m1(z) / z.exp_m1() - 1.0).abs() < 1e-14 || z == 0.0);
            assert!(z <= -1.0 || z == 0.0 || (ln_1p(z) / z.ln_1p() - 1.0).abs() < 1e-14, "ln_1p {z}");
            assert!(z <= 0.0 || (power(z, 0.7) / z.powf(0.7) - 1.0).abs() < 1e-14);
        }
        for i in -4_000..4_000 {
            let x = f64::from(i) * 1e-3;
            let (sine, cosine) = sin_cos_pi(x);
            let (s, c) = (std::f64::consts::PI * x).sin_cos();
            assert!((sine - s).abs() < 2e-15 && (cosine - c).abs() < 2e-15, "{x}: {sine} {s} {cosine} {c}");
        }
        assert_eq!((exp(-1e9), exp(f64::NAN), exp(0.0), power(0.0, 2.0)), (0.0, 0.0, 1.0, 0.0));
        let many: [f64; LANES + 3] = std::array::from_fn(|i| 0.37 * i as f64 - 701.0 * f64::from(u8::from(i == 3)));
        let mut side_by_side = many;
        exp_in_place(&mut side_by_side);
        assert_eq!(side_by_side, many.map(exp), "side by side as one by one");
        assert_eq!((ln(0.0), ln(1.0), ln(f64::INFINITY)), (f64::NEG_INFINITY, 0.0, f64::INFINITY));
        assert!((ln(5e-324) - 5e-324f64.ln()).abs() < 1e-12);
        assert_eq!((ln(-1.0), ln(f64::NAN)), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert_eq!(softmax64(&[f64::NEG_INFINITY; 2]), [0.5, 0.5]);
    }

    #[test]
    fn normals_have_the_moments_of_the_normal_distribution() {
        let drawn = normals(&mut random::path(1, &[]), 100_001);
        assert_eq!(drawn.len(), 100_001);
        let moment = |power: i32| drawn.iter().map(|z| z.powi(power)).sum::<f64>() / drawn.len() as f64;
        // Four standard errors of each: variances 1, 2, 15 and 96.
        for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let error = 4.0 * (variance / drawn.len() as f64).sqrt();
            assert!((moment(power) - expected).abs() < error, "{power}: {}", moment(power));
        }
    }
}

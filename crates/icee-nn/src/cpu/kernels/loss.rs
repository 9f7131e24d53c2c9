//! Softmax cross-entropy.

use super::elementwise::exp;
use crate::cpu::simd::{LANES, Simd, kernel};

/// Turns one row of logits into probabilities, in place; returns the log of the normaliser.
#[inline(always)]
unsafe fn softmax_row<S: Simd>(row: &mut [f32]) -> f32 {
    unsafe {
        let (len, p) = (row.len(), row.as_mut_ptr());
        let lowest = S::splat(f32::NEG_INFINITY);
        let mut top = lowest;
        for at in (0..len).step_by(LANES) {
            let n = len - at;
            top = S::max(top, S::first(n, S::load_first(n, p.add(at)), lowest));
        }
        let top = S::largest(top);
        let mut sum = S::splat(0.0);
        for at in (0..len).step_by(LANES) {
            let n = len - at;
            let e = exp::<S>(S::sub(S::load_first(n, p.add(at)), S::splat(top)));
            let e = S::first(n, e, S::splat(0.0));
            S::store_first(n, p.add(at), e);
            sum = S::add(sum, e);
        }
        let sum = S::sum(sum);
        let inverse = S::splat(1.0 / sum);
        for at in (0..len).step_by(LANES) {
            let n = len - at;
            S::store_first(n, p.add(at), S::mul(S::load_first(n, p.add(at)), inverse));
        }
        top + sum.ln()
    }
}

#[inline(always)]
unsafe fn softmax_body<S: Simd>(row: &mut [f32]) -> f32 {
    unsafe { softmax_row::<S>(row) }
}

kernel! {
    /// Turns one row of logits into probabilities, in place; returns the log of the normaliser.
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn softmax(row: &mut [f32]) -> f32 = softmax_body
}

#[inline(always)]
unsafe fn class_loss_body<S: Simd>(logits: &mut [f32], classes: &[u32], weights: &[f32], scale: f32) -> f64 {
    let width = logits.len().checked_div(classes.len()).unwrap_or(0);
    assert!(weights.len() == classes.len() && logits.len() == width * classes.len());
    let mut loss = 0.0;
    for ((row, &class), &weight) in logits.chunks_exact_mut(width.max(1)).zip(classes).zip(weights) {
        let logit = row[class as usize];
        // SAFETY: the caller vouches for the instruction set.
        let log_sum = unsafe { softmax_row::<S>(row) };
        loss += f64::from(weight) * f64::from(log_sum - logit);
        row[class as usize] -= 1.0;
        let factor = weight * scale;
        row.iter_mut().for_each(|g| *g *= factor);
    }
    loss * f64::from(scale)
}

kernel! {
    /// Weighted cross-entropy of rows of logits; the logits are replaced by its gradient.
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn class_loss(logits: &mut [f32], classes: &[u32], weights: &[f32], scale: f32) -> f64
        = class_loss_body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::Isa;

    #[test]
    fn loss_and_gradient_match_the_definition() {
        for isa in Isa::available() {
            let logits: Vec<f32> = (0..2 * 21).map(|i| ((i * 37 % 23) as f32 - 11.0) * 0.7).collect();
            let (classes, weights, scale) = ([3u32, 20], [0.5f32, 2.0], 0.25);
            let mut gradient = logits.clone();
            // SAFETY: the instruction set is available.
            let loss = unsafe { class_loss(isa, &mut gradient, &classes, &weights, scale) };
            let mut expected = 0.0;
            for r in 0..2 {
                let row: Vec<f64> = logits[r * 21..][..21].iter().map(|&x| f64::from(x)).collect();
                let sum: f64 = row.iter().map(|x| x.exp()).sum();
                let factor = f64::from(weights[r] * scale);
                expected += factor * (sum.ln() - row[classes[r] as usize]);
                for (j, x) in row.iter().enumerate() {
                    let target = if j == classes[r] as usize { 1.0 } else { 0.0 };
                    let g = factor * (x.exp() / sum - target);
                    assert!((f64::from(gradient[r * 21 + j]) - g).abs() < 1e-6, "{isa}");
                }
            }
            assert!((loss - expected).abs() < 1e-5 * expected.abs(), "{isa}: {loss} {expected}");
        }
    }
}

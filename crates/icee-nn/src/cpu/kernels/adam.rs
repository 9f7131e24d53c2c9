//! One AdamW update of a stretch of weights.

use crate::cpu::simd::{LANES, Simd, kernel};

/// The numbers of one update, the same for every weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamStep {
    pub rate: f32,
    pub beta1: f32,
    pub beta2: f32,
    pub epsilon: f32,
    /// 1 − rate · weight decay.
    pub keep: f32,
    /// 1 / (1 − beta1ᵗ) and 1 / (1 − beta2ᵗ).
    pub unbias1: f32,
    pub unbias2: f32,
    /// What gradients are multiplied by first (clipping).
    pub scale: f32,
}

#[inline(always)]
unsafe fn adam_body<S: Simd>(
    s: AdamStep,
    weights: &mut [f32],
    gradient: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    let len = weights.len();
    assert!(gradient.len() == len && first.len() == len && second.len() == len);
    unsafe {
        for at in (0..len).step_by(LANES) {
            let n = len - at;
            let load = |x: *const f32| S::load_first(n, x.add(at));
            let g = S::mul(load(gradient.as_ptr()), S::splat(s.scale));
            let m = S::fma(load(first.as_ptr()), S::splat(s.beta1), S::mul(g, S::splat(1.0 - s.beta1)));
            let v = S::fma(load(second.as_ptr()), S::splat(s.beta2), S::mul(S::mul(g, g), S::splat(1.0 - s.beta2)));
            let denominator = S::add(S::sqrt(S::mul(v, S::splat(s.unbias2))), S::splat(s.epsilon));
            let step = S::div(S::mul(m, S::splat(s.unbias1)), denominator);
            let w = S::fma(step, S::splat(-s.rate), S::mul(load(weights.as_ptr()), S::splat(s.keep)));
            S::store_first(n, weights.as_mut_ptr().add(at), w);
            S::store_first(n, first.as_mut_ptr().add(at), m);
            S::store_first(n, second.as_mut_ptr().add(at), v);
        }
    }
}

kernel! {
    /// Updates weights and both moments in place.
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn adam(
        step: AdamStep, weights: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32],
    ) = adam_body
}

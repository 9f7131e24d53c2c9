//! Each instruction set against plain Rust, bit for bit.

use super::{Isa, LANES, Simd, portable::fused};
use proptest::prelude::*;

/// Runs every operation once and returns all results' bits.
#[inline(always)]
unsafe fn all_operations<S: Simd>(a: &[f32; LANES], b: &[f32; LANES], c: &[f32; LANES], n: usize) -> Vec<u32> {
    unsafe {
        let (x, y, z) = (S::load(a.as_ptr()), S::load(b.as_ptr()), S::load(c.as_ptr()));
        let mut bits = Vec::new();
        let mut out = [0.0f32; LANES];
        let vectors = [
            S::add(x, y),
            S::sub(x, y),
            S::mul(x, y),
            S::div(x, y),
            S::sqrt(S::mul(x, x)),
            S::max(x, y),
            S::min(x, y),
            S::fma(x, y, z),
            S::first(n, x, y),
            S::scale_by_exponent(x, S::splat(12_582_912.0 - 3.0)),
            S::load_first(n, a.as_ptr()),
        ];
        for v in vectors {
            S::store(out.as_mut_ptr(), v);
            bits.extend(out.map(f32::to_bits));
        }
        let halves = a.map(|x| half::f16::from_f32(x).to_bits());
        S::store(out.as_mut_ptr(), S::load_f16(halves.as_ptr()));
        bits.extend(out.map(f32::to_bits));
        let mut narrowed = [0u16; LANES];
        S::store_f16(narrowed.as_mut_ptr(), x);
        bits.extend(narrowed.map(u32::from));
        let mut part = [7.0f32; LANES];
        S::store_first(n, part.as_mut_ptr(), x);
        bits.extend(part.map(f32::to_bits));
        bits.extend([S::sum(x).to_bits(), S::largest(x).to_bits()]);
        bits
    }
}

super::kernel! {
    unsafe fn run_all(a: &[f32; LANES], b: &[f32; LANES], c: &[f32; LANES], n: usize) -> Vec<u32> = all_operations
}

fn ordinary() -> impl Strategy<Value = f32> {
    prop_oneof![-1e4f32..1e4, -1.0f32..1.0, Just(0.0), Just(1.0), Just(-2.5), -1e-6f32..1e-6]
}

proptest! {
    #[test]
    fn every_instruction_set_gives_the_same_bits(
        a in prop::array::uniform16(ordinary()),
        b in prop::array::uniform16(ordinary()),
        c in prop::array::uniform16(ordinary()),
        n in 0usize..=LANES,
    ) {
        // Division by zero and its NaNs carry a sign that is not specified.
        let b = b.map(|x| if x == 0.0 { 1.5 } else { x });
        // SAFETY: the arrays have sixteen elements.
        let expected = unsafe { run_all(Isa::Portable, &a, &b, &c, n) };
        for isa in Isa::available() {
            // SAFETY: as above.
            let got = unsafe { run_all(isa, &a, &b, &c, n) };
            prop_assert_eq!(&got, &expected, "{}", isa);
        }
    }

    #[test]
    fn the_portable_fused_multiply_add_rounds_once(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
        prop_assume!(a.is_finite() && b.is_finite() && c.is_finite());
        let (got, exact) = (fused(a, b, c), a.mul_add(b, c));
        prop_assert!(got.to_bits() == exact.to_bits() || (got == 0.0 && exact == 0.0), "{got:e} {exact:e}");
    }

    #[test]
    fn the_portable_fused_multiply_add_survives_cancellation(a in -2.0f32..2.0, b in -2.0f32..2.0, ulps in -3i32..3) {
        let c = f32::from_bits(((-(a * b)).to_bits() as i32 + ulps) as u32);
        prop_assume!(c.is_finite());
        prop_assert_eq!(fused(a, b, c), a.mul_add(b, c));
    }
}

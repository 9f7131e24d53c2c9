//! [`Simd`] in plain Rust: arrays of sixteen, which the compiler turns into the target's baseline vectors (NEON on
//! 64-bit ARM, where it reaches full speed; SSE2 on x86-64 machines without AVX2).

use super::{Isa, LANES, Simd};
use half::f16;

#[derive(Clone, Copy)]
pub(crate) struct Portable;

type Lanes = [f32; LANES];

#[inline(always)]
fn each(a: Lanes, b: Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = f(a[i], b[i]);
    }
    out
}

/// a × b + c rounded once, on targets with a baseline fused multiply-add.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) fn fused(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// a × b + c rounded once, without the instruction: the product is exact in f64, the sum is rounded to odd there,
/// and rounding an odd f64 to f32 gives the correctly rounded result. Branch-free, so it vectorises, unlike a call of
/// the C library's `fmaf`.
#[cfg(not(target_arch = "aarch64"))]
#[inline(always)]
pub(super) fn fused(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    // The exact error of the sum (Knuth's two-sum).
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    let bits = sum.to_bits();
    // Inexact and even: step to the odd neighbour on the error's side.
    let step = u64::from(error != 0.0 && error.is_finite() && bits & 1 == 0);
    let towards_zero = (error < 0.0) != (sum < 0.0);
    let odd = if towards_zero { bits.wrapping_sub(step) } else { bits.wrapping_add(step) };
    f64::from_bits(odd) as f32
}

impl Simd for Portable {
    type F = Lanes;
    const ISA: Isa = Isa::Portable;
    const WIDE: bool = false;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Lanes {
        [x; LANES]
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Lanes {
        unsafe { p.cast::<Lanes>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Lanes) {
        unsafe { p.cast::<Lanes>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Lanes {
        let halves = unsafe { p.cast::<[u16; LANES]>().read_unaligned() };
        halves.map(|bits| f16::from_bits(bits).to_f32())
    }
    #[inline(always)]
    unsafe fn store_f16(p: *mut u16, v: Lanes) {
        unsafe { p.cast::<[u16; LANES]>().write_unaligned(v.map(|x| f16::from_f32(x).to_bits())) }
    }
    #[inline(always)]
    unsafe fn add(a: Lanes, b: Lanes) -> Lanes {
        each(a, b, |x, y| x + y)
    }
    #[inline(always)]
    unsafe fn sub(a: Lanes, b: Lanes) -> Lanes {
        each(a, b, |x, y| x - y)
    }
    #[inline(always)]
    unsafe fn mul(a: Lanes, b: Lanes) -> Lanes {
        each(a, b, |x, y| x * y)
    }
    #[inline(always)]
    unsafe fn div(a: Lanes, b: Lanes) -> Lanes {
        each(a, b, |x, y| x / y)
    }
    #[inline(always)]
    unsafe fn sqrt(a: Lanes) -> Lanes {
        a.map(f32::sqrt)
    }
    #[inline(always)]
    unsafe fn max(a: Lanes, b: Lanes) -> Lanes {
        each(a, b, |x, y| if x > y { x } else { y })
    }
    #[inline(always)]
    unsafe fn min(a: Lanes, b: Lanes) -> Lanes {
        each(a, b, |x, y| if x < y { x } else { y })
    }
    #[inline(always)]
    unsafe fn fma(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = fused(a[i], b[i], c[i]);
        }
        out
    }
    #[inline(always)]
    unsafe fn first(n: usize, v: Lanes, rest: Lanes) -> Lanes {
        let mut out = rest;
        for i in 0..LANES {
            out[i] = if i < n { v[i] } else { rest[i] };
        }
        out
    }
    #[inline(always)]
    unsafe fn sum(v: Lanes) -> f32 {
        let eight: [f32; 8] = std::array::from_fn(|i| v[i] + v[i + 8]);
        let four: [f32; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
        (four[0] + four[2]) + (four[1] + four[3])
    }
    #[inline(always)]
    unsafe fn largest(v: Lanes) -> f32 {
        let larger = |x: f32, y: f32| if x > y { x } else { y };
        let eight: [f32; 8] = std::array::from_fn(|i| larger(v[i], v[i + 8]));
        let four: [f32; 4] = std::array::from_fn(|i| larger(eight[i], eight[i + 4]));
        larger(larger(four[0], four[2]), larger(four[1], four[3]))
    }
    #[inline(always)]
    unsafe fn scale_by_exponent(p: Lanes, t: Lanes) -> Lanes {
        each(p, t, |p, t| f32::from_bits(p.to_bits().wrapping_add(t.to_bits() << 23)))
    }
}

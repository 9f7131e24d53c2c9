//! [`Simd`] on two 256-bit registers.

use super::{Isa, Simd};
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Avx2;

/// Lanes 0 to 7 and 8 to 15.
type Pair = (__m256, __m256);

impl Simd for Avx2 {
    type F = Pair;
    const ISA: Isa = Isa::Avx2;
    const WIDE: bool = false;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Pair {
        unsafe { (_mm256_set1_ps(x), _mm256_set1_ps(x)) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Pair {
        unsafe { (_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8))) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Pair) {
        unsafe {
            _mm256_storeu_ps(p, v.0);
            _mm256_storeu_ps(p.add(8), v.1);
        }
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Pair {
        unsafe { (_mm256_cvtph_ps(_mm_loadu_si128(p.cast())), _mm256_cvtph_ps(_mm_loadu_si128(p.add(8).cast()))) }
    }
    #[inline(always)]
    unsafe fn store_f16(p: *mut u16, v: Pair) {
        unsafe {
            _mm_storeu_si128(p.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v.0));
            _mm_storeu_si128(p.add(8).cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v.1));
        }
    }
    #[inline(always)]
    unsafe fn add(a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_add_ps(a.0, b.0), _mm256_add_ps(a.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn sub(a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_sub_ps(a.0, b.0), _mm256_sub_ps(a.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn mul(a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_mul_ps(a.0, b.0), _mm256_mul_ps(a.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn div(a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_div_ps(a.0, b.0), _mm256_div_ps(a.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn sqrt(a: Pair) -> Pair {
        unsafe { (_mm256_sqrt_ps(a.0), _mm256_sqrt_ps(a.1)) }
    }
    #[inline(always)]
    unsafe fn max(a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_max_ps(a.0, b.0), _mm256_max_ps(a.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn min(a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_min_ps(a.0, b.0), _mm256_min_ps(a.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn fma(a: Pair, b: Pair, c: Pair) -> Pair {
        unsafe { (_mm256_fmadd_ps(a.0, b.0, c.0), _mm256_fmadd_ps(a.1, b.1, c.1)) }
    }
    #[inline(always)]
    unsafe fn first(n: usize, v: Pair, rest: Pair) -> Pair {
        unsafe {
            let n = _mm256_set1_epi32(n.min(16) as i32);
            let low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let high = _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15);
            let keep_low = _mm256_castsi256_ps(_mm256_cmpgt_epi32(n, low));
            let keep_high = _mm256_castsi256_ps(_mm256_cmpgt_epi32(n, high));
            (_mm256_blendv_ps(rest.0, v.0, keep_low), _mm256_blendv_ps(rest.1, v.1, keep_high))
        }
    }
    #[inline(always)]
    unsafe fn sum(v: Pair) -> f32 {
        unsafe {
            let eight = _mm256_add_ps(v.0, v.1);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    unsafe fn largest(v: Pair) -> f32 {
        unsafe {
            let eight = _mm256_max_ps(v.0, v.1);
            let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    unsafe fn scale_by_exponent(p: Pair, t: Pair) -> Pair {
        #[inline(always)]
        unsafe fn half(p: __m256, t: __m256) -> __m256 {
            unsafe {
                let n = _mm256_slli_epi32::<23>(_mm256_castps_si256(t));
                _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), n))
            }
        }
        unsafe { (half(p.0, t.0), half(p.1, t.1)) }
    }
}

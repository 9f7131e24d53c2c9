//! [`Simd`] on one 512-bit register.

use super::{Isa, Simd};
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Avx512;

impl Simd for Avx512 {
    type F = __m512;
    const ISA: Isa = Isa::Avx512;
    const WIDE: bool = true;

    #[inline(always)]
    unsafe fn splat(x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(p) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: __m512) {
        unsafe { _mm512_storeu_ps(p, v) }
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> __m512 {
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) }
    }
    #[inline(always)]
    unsafe fn store_f16(p: *mut u16, v: __m512) {
        unsafe { _mm256_storeu_si256(p.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)) }
    }
    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sqrt(a: __m512) -> __m512 {
        unsafe { _mm512_sqrt_ps(a) }
    }
    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn first(n: usize, v: __m512, rest: __m512) -> __m512 {
        let mask = if n >= 16 { 0xffff } else { (1u16 << n) - 1 };
        unsafe { _mm512_mask_blend_ps(mask, rest, v) }
    }
    #[inline(always)]
    unsafe fn sum(v: __m512) -> f32 {
        unsafe {
            let eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    unsafe fn largest(v: __m512) -> f32 {
        unsafe {
            let eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
            let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    unsafe fn scale_by_exponent(p: __m512, t: __m512) -> __m512 {
        unsafe {
            let n = _mm512_slli_epi32::<23>(_mm512_castps_si512(t));
            _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), n))
        }
    }
    #[inline(always)]
    unsafe fn load_first(n: usize, p: *const f32) -> __m512 {
        let mask = if n >= 16 { 0xffff } else { (1u16 << n) - 1 };
        unsafe { _mm512_maskz_loadu_ps(mask, p) }
    }
    #[inline(always)]
    unsafe fn store_first(n: usize, p: *mut f32, v: __m512) {
        let mask = if n >= 16 { 0xffff } else { (1u16 << n) - 1 };
        unsafe { _mm512_mask_storeu_ps(p, mask, v) }
    }
}

//! Sixteen f32 lanes on every machine.
//!
//! Every kernel is written once, against [`Simd`], and compiled once per instruction set; the set is chosen at run
//! time. A vector always has sixteen *logical* lanes (one AVX-512 register, two of AVX2, four of NEON or SSE) and
//! every multiply-add is fused. So each kernel performs, for each output element, the same sequence of IEEE
//! operations whatever the machine: results are the same bits on AVX-512, AVX2, ARM and plain Rust.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use portable::Portable;

use std::fmt;

/// Logical lanes of a vector.
pub(crate) const LANES: usize = 16;

/// An instruction set for which the kernels were compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// 512-bit vectors (x86-64).
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 256-bit vectors with fused multiply-add (x86-64).
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Plain Rust, vectorised by the compiler for the target's baseline: NEON on 64-bit ARM.
    Portable,
}

impl Isa {
    /// The best instruction set of the running machine.
    pub fn detect() -> Isa {
        Isa::available()[0]
    }

    /// All instruction sets the running machine has, best first.
    pub fn available() -> Vec<Isa> {
        let mut sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 =
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx2 && avx512 {
                sets.push(Isa::Avx512);
            }
            if avx2 {
                sets.push(Isa::Avx2);
            }
        }
        sets.push(Isa::Portable);
        sets
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "AVX2",
            Isa::Portable if cfg!(target_arch = "aarch64") => "NEON",
            Isa::Portable => "plain Rust",
        })
    }
}

/// Operations on sixteen f32 lanes.
///
/// # Safety
/// Every method requires that the running CPU has the implementing instruction set, and that pointers are valid for
/// sixteen elements. All methods are inlined into a function compiled for that set (see [`kernel`]).
pub(crate) trait Simd: Copy + Send + Sync + 'static {
    /// Sixteen lanes.
    type F: Copy;
    /// What it is, for kernels that call others.
    const ISA: Isa;
    /// Whether there are enough registers for a tile of 6 × 4 vectors (otherwise 6 × 1).
    const WIDE: bool;

    unsafe fn splat(x: f32) -> Self::F;
    unsafe fn load(p: *const f32) -> Self::F;
    unsafe fn store(p: *mut f32, v: Self::F);
    /// Loads sixteen IEEE half-precision numbers, widened exactly.
    unsafe fn load_f16(p: *const u16) -> Self::F;
    /// Stores sixteen numbers rounded to IEEE half precision, ties to even.
    unsafe fn store_f16(p: *mut u16, v: Self::F);
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn div(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn sqrt(a: Self::F) -> Self::F;
    /// `if a > b { a } else { b }` in each lane (b when either is NaN).
    unsafe fn max(a: Self::F, b: Self::F) -> Self::F;
    /// `if a < b { a } else { b }` in each lane (b when either is NaN).
    unsafe fn min(a: Self::F, b: Self::F) -> Self::F;
    /// a × b + c, rounded once.
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The first `n` lanes of `v`, the others from `rest`.
    unsafe fn first(n: usize, v: Self::F, rest: Self::F) -> Self::F;
    /// Sum in a fixed order: lane i + lane (i + 8), then + 4, + 2, + 1.
    unsafe fn sum(v: Self::F) -> f32;
    /// Largest lane, combined in the same order as [`Simd::sum`].
    unsafe fn largest(v: Self::F) -> f32;
    /// bits(p) + (bits(t) << 23) as a float: multiplies p by 2ⁿ where t holds n in its lowest mantissa bits.
    unsafe fn scale_by_exponent(p: Self::F, t: Self::F) -> Self::F;

    /// Loads the first `n` lanes (the others are zero) without reading past them.
    #[inline(always)]
    unsafe fn load_first(n: usize, p: *const f32) -> Self::F {
        unsafe {
            if n >= LANES {
                return Self::load(p);
            }
            let mut lanes = [0.0f32; LANES];
            std::ptr::copy_nonoverlapping(p, lanes.as_mut_ptr(), n);
            Self::load(lanes.as_ptr())
        }
    }

    /// Stores the first `n` lanes without writing past them.
    #[inline(always)]
    unsafe fn store_first(n: usize, p: *mut f32, v: Self::F) {
        unsafe {
            if n >= LANES {
                return Self::store(p, v);
            }
            let mut lanes = [0.0f32; LANES];
            Self::store(lanes.as_mut_ptr(), v);
            std::ptr::copy_nonoverlapping(lanes.as_ptr(), p, n);
        }
    }
}

/// Compiles one generic kernel body for every instruction set and dispatches on an [`Isa`].
///
/// The generated function is unsafe with the body's own contract; the instruction set is safe because an [`Isa`]
/// comes from detection.
macro_rules! kernel {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:path) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis unsafe fn $name(isa: $crate::cpu::simd::Isa, $($arg: $ty),*) $(-> $ret)? {
            use $crate::cpu::simd::{Isa, Portable};
            #[cfg(target_arch = "x86_64")]
            use $crate::cpu::simd::{Avx2, Avx512};
            use $body as body;
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
            unsafe fn avx512($($arg: $ty),*) $(-> $ret)? {
                unsafe { body::<Avx512>($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn avx2($($arg: $ty),*) $(-> $ret)? {
                unsafe { body::<Avx2>($($arg),*) }
            }
            // SAFETY: the caller keeps the body's contract, and `isa` was detected on this machine.
            unsafe {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => avx512($($arg),*),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => avx2($($arg),*),
                    Isa::Portable => body::<Portable>($($arg),*),
                }
            }
        }
    };
}
pub(crate) use kernel;

#[cfg(test)]
mod tests;

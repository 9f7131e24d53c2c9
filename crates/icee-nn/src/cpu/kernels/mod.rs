//! The arithmetic, written once against [`super::simd::Simd`] and compiled for each instruction set.
//!
//! Blocks here give no reasons of their own: bodies are unsafe functions, entered through [`super::simd::kernel`] alone,
//! with the contract of [`super::simd::Simd`] and what the kernel's own `# Safety` adds. A body that takes slices checks
//! their lengths before it takes pointers.

pub(crate) mod adam;
pub(crate) mod attention;
pub(crate) mod attention_backward;
pub(crate) mod cells;
pub(crate) mod elementwise;
pub(crate) mod loss;
pub(crate) mod matmul;

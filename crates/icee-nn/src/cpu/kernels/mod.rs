//! The arithmetic, written once against [`super::simd::Simd`] and compiled for each instruction set.

pub(crate) mod adam;
pub(crate) mod attention;
pub(crate) mod attention_backward;
pub(crate) mod elementwise;
pub(crate) mod loss;
pub(crate) mod matmul;

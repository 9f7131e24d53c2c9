//! The peak speeds of the GPU, measured on the spot, to compare with.

use super::device::{Cuda, describe, problem};
use super::gemm::{Epilogue, Products, Sizes};
use crate::Result;
use cudarc::driver::result;
use half::bf16;
use std::time::Instant;

/// Lines and columns of the square matrices.
const SIDE: usize = 8192;
/// Bytes that are copied.
const BYTES: usize = 2 << 30;
const REPEAT: usize = 10;

/// The two rates that bound every kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// Operations a second of a large bf16 matrix product of random numbers.
    pub operations: f64,
    /// Bytes a second, read and written, of a large copy on the GPU.
    pub bytes: f64,
}

impl Cuda {
    /// Measures the GPU's ceilings; takes about a second and 5 GB of its memory.
    pub fn ceilings(&self) -> Result<Ceilings> {
        let mut products = Products::new(self)?;
        let matrix = self.allocate("a matrix", 2 * SIDE * SIDE)?;
        let result = self.allocate("a matrix", 2 * SIDE * SIDE)?;
        self.write(&matrix, &random_halves(SIDE * SIDE))?;
        let sizes = Sizes { rows: SIDE, inputs: SIDE, outputs: SIDE };
        let product = self.seconds(|| {
            let (from, to) = (matrix.start(), result.start());
            // SAFETY: three matrices of that many lines and columns; they outlive the wait for them.
            unsafe { products.forward(sizes, from, from, to, Epilogue::None) }
        })?;
        let (from, to) = (self.allocate("a copy", BYTES)?, self.allocate("a copy", BYTES)?);
        let copy = self.seconds(|| {
            let (from, to) = (from.start::<u8>().bits(), to.start::<u8>().bits());
            // SAFETY: both hold that many bytes, do not overlap, and outlive the wait for them.
            let queued = unsafe { result::memcpy_dtod_async(to, from, BYTES, self.stream.cu_stream()) };
            queued.map_err(|e| problem("copying on the GPU", describe(e)))
        })?;
        Ok(Ceilings { operations: 2.0 * (SIDE as f64).powi(3) / product, bytes: 2.0 * BYTES as f64 / copy })
    }

    /// Mean seconds of queued work, after a warm-up.
    fn seconds(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        let mut run = |count: usize| -> Result<f64> {
            let start = Instant::now();
            (0..count).try_for_each(|_| work())?;
            self.synchronize()?;
            Ok(start.elapsed().as_secs_f64() / count as f64)
        };
        run(3)?;
        run(REPEAT)
    }
}

/// Numbers between 0.5 and 2 of either sign in bf16: a product of zeros or of few values runs faster than real ones.
fn random_halves(count: usize) -> Vec<bf16> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bf16::from_bits(0x3f00 | (state as u16 & 0x80ff))
    };
    (0..count).map(next).collect()
}

//! What every part of a computation on the GPU reads, in learning and in inference.

use super::compile::Kernels;
use super::device::Cuda;
use super::gemm::Products;
use super::places::Places;
use crate::spec::ModelSpec;

/// A model on the card, and the batch it is given.
pub(super) struct Pass<'a> {
    pub cuda: &'a Cuda,
    pub kernels: &'a Kernels,
    pub products: &'a mut Products,
    pub spec: &'a ModelSpec,
    pub places: &'a Places,
    /// Addresses of the weights in f32 and in bf16, and of the batch's words.
    pub weights: u64,
    pub weights16: u64,
    pub batch: u64,
}

impl Pass<'_> {
    /// The f32 weight at a place.
    pub fn single(&self, place: usize) -> u64 {
        self.weights + 4 * place as u64
    }

    /// The bf16 weight at a place.
    pub fn half(&self, place: usize) -> u64 {
        self.weights16 + 2 * place as u64
    }

    /// A word of the batch.
    pub fn word(&self, at: usize) -> u64 {
        self.batch + 4 * at as u64
    }
}

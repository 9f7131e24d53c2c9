//! What every part of a computation on the GPU reads, in learning and in inference.

use super::address::{Address, Section};
use super::device::Cuda;
use super::gemm::Products;
use super::kernels::Kernels;
use super::places::Places;
use crate::spec::ModelSpec;
use half::bf16;

/// A model on the GPU, and the batch it is given.
pub(super) struct Pass<'a> {
    pub cuda: &'a Cuda,
    pub kernels: &'a Kernels,
    pub products: &'a mut Products,
    pub spec: &'a ModelSpec,
    pub places: &'a Places,
    /// The weights in f32 and in bf16, and the batch's words.
    pub weights: Address<f32>,
    pub weights16: Address<bf16>,
    pub batch: Address<i32>,
}

impl Pass<'_> {
    /// The f32 weight at a place.
    pub fn single(&self, place: usize) -> Address<f32> {
        self.weights.plus(place)
    }

    /// The bf16 weight at a place.
    pub fn half(&self, place: usize) -> Address<bf16> {
        self.weights16.plus(place)
    }

    /// What a section of the batch holds.
    pub fn section<T>(&self, section: Section<T>) -> Address<T> {
        self.batch.section(section)
    }
}

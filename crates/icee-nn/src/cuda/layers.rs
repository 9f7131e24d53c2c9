//! Layers of the trunk and of heads, as learning and inference both need them, and how many blocks kernels get.

use super::address::{Address, Section};
use super::device::Cuda;
use super::gemm::{Epilogue, Sizes};
use super::kernels::{AttentionForward, Kernels, NormForward, RoundNumbers, Stats};
use super::pass::Pass;
use super::places::{LinearPlace, NormPlace};
use super::records::{RowTile, WARPS, int};
use super::step::Step;
use crate::Result;
use half::bf16;
use std::f32::consts::LOG2_E;

/// Threads of a block, in kernels that have one for each element.
const THREADS: usize = 256;

/// Blocks with a thread for each of `count` elements.
pub(super) fn elements(count: usize) -> (u32, u32) {
    (count.div_ceil(THREADS) as u32, 1)
}

/// Blocks with a warp for each row.
pub(super) fn by_row(rows: usize) -> (u32, u32) {
    (rows.div_ceil(WARPS) as u32, 1)
}

/// So many blocks that share the rows, for each run of columns that a block can hold: eight a thread.
pub(super) fn by_columns(blocks: usize, columns: usize) -> (u32, u32) {
    (blocks as u32, columns.div_ceil(8 * THREADS) as u32)
}

/// rounded = numbers in bf16.
pub(super) fn round(
    cuda: &Cuda,
    kernels: &Kernels,
    numbers: Address<f32>,
    rounded: Address<bf16>,
    count: usize,
) -> Result<()> {
    let arguments = RoundNumbers { numbers, rounded, count: count as u64 };
    // SAFETY: both have that many; a thread each.
    unsafe { cuda.launch(&kernels.round_numbers, elements(count), arguments) }
}

fn sizes(rows: usize, place: LinearPlace) -> Sizes {
    Sizes { rows, inputs: place.inputs, outputs: place.outputs }
}

impl Pass<'_> {
    /// y = x w + bias.
    pub fn linear(&mut self, rows: usize, place: LinearPlace, x: Address<bf16>, y: Address<bf16>) -> Result<()> {
        let (weight, bias) = (self.half(place.weight), self.half(place.bias));
        // SAFETY: weight and bias are the layer's, x and y have `rows` lines of its inputs and outputs.
        unsafe { self.products.forward(sizes(rows, place), x, weight, y, Epilogue::Bias(bias)) }
    }

    /// before = x w + bias, after = GELU(before).
    pub fn linear_gelu(
        &mut self,
        rows: usize,
        place: LinearPlace,
        x: Address<bf16>,
        before: Address<bf16>,
        after: Address<bf16>,
    ) -> Result<()> {
        let (weight, bias) = (self.half(place.weight), self.half(place.bias));
        let epilogue = Epilogue::BiasGelu { bias, before };
        // SAFETY: as for `linear`, twice as many outputs.
        unsafe { self.products.forward(sizes(rows, place), x, weight, after, epilogue) }
    }

    /// y = x w + bias in f32.
    pub fn linear_single(&mut self, rows: usize, place: LinearPlace, x: Address<bf16>, y: Address<f32>) -> Result<()> {
        let (weight, bias) = (self.half(place.weight), self.single(place.bias));
        // SAFETY: as for `linear`.
        unsafe { self.products.forward_single(sizes(rows, place), x, weight, y, Epilogue::Bias(bias)) }
    }

    /// y = x w in f32, of a layer without a bias.
    pub fn product_single(&mut self, rows: usize, place: LinearPlace, x: Address<bf16>, y: Address<f32>) -> Result<()> {
        let weight = self.half(place.weight);
        // SAFETY: as for `linear`.
        unsafe { self.products.forward_single(sizes(rows, place), x, weight, y, Epilogue::None) }
    }

    /// y += x w in f32; the bias is elsewhere.
    pub fn add_product(&mut self, rows: usize, place: LinearPlace, x: Address<bf16>, y: Address<f32>) -> Result<()> {
        let weight = self.half(place.weight);
        // SAFETY: as for `linear`.
        unsafe { self.products.forward_add(sizes(rows, place), x, weight, y) }
    }

    /// Normalises x or, where there is a delta, `sum` = x + delta.
    pub fn norm(
        &self,
        rows: usize,
        (x, delta, sum): (Address<f32>, Address<bf16>, Address<f32>),
        place: NormPlace,
        (normed, stats): (Address<bf16>, Address<Stats>),
    ) -> Result<()> {
        let (gain, bias) = (self.single(place.gain), self.single(place.bias));
        let arguments = NormForward { x, delta, sum, gain, bias, normed, stats, rows: int(rows) };
        // SAFETY: all buffers have `rows` lines of the model's width, but for the norm's own one; a warp a row.
        unsafe { self.cuda.launch(&self.kernels.norm_forward, by_row(rows), arguments) }
    }

    /// Attention of `rows` rows; keys, with their values behind them, lie `line` numbers apart.
    pub fn attention(
        &self,
        rows: usize,
        tiles: Section<RowTile>,
        qkv: Address<bf16>,
        (all_keys, line): (Address<bf16>, usize),
        (out, log_sum): (Address<bf16>, Address<f32>),
    ) -> Result<()> {
        let arguments = AttentionForward {
            qkv,
            all_keys,
            line: int(line),
            tiles: self.section(tiles),
            out,
            log_sum,
            total_rows: int(rows),
            factor: LOG2_E / (self.spec.head_width() as f32).sqrt(),
        };
        let grid = (tiles.count as u32, self.spec.attention_heads as u32);
        // SAFETY: the tiles were packed for these rows and keys; qkv and out have `rows` lines, log_sum, where there is
        // one, as many for each attention head; a block a tile and attention head.
        unsafe { self.cuda.launch(&self.kernels.attention_forward, grid, arguments) }
    }
}

impl Step<'_> {
    /// dx = dy wᵀ.
    pub fn input_gradient(
        &mut self,
        rows: usize,
        place: LinearPlace,
        dy: Address<bf16>,
        dx: Address<bf16>,
    ) -> Result<()> {
        let weight = self.half(place.weight);
        // SAFETY: the weight is the layer's, dy and dx have `rows` lines of its outputs and inputs.
        unsafe { self.products.input_gradient(sizes(rows, place), dy, weight, dx, Epilogue::None) }
    }

    /// dx = dy wᵀ · GELU'(before).
    pub fn input_gradient_gelu(
        &mut self,
        rows: usize,
        place: LinearPlace,
        dy: Address<bf16>,
        before: Address<bf16>,
        dx: Address<bf16>,
    ) -> Result<()> {
        let weight = self.half(place.weight);
        // SAFETY: as for `input_gradient`; `before` has the shape of dx.
        unsafe { self.products.input_gradient(sizes(rows, place), dy, weight, dx, Epilogue::GeluBackward { before }) }
    }

    /// dw += xᵀ dy.
    pub fn weight_gradient(
        &mut self,
        rows: usize,
        place: LinearPlace,
        x: Address<bf16>,
        dy: Address<bf16>,
    ) -> Result<()> {
        let to = self.gradient(place.weight);
        // SAFETY: the gradient is the layer's, x and dy have `rows` lines of its inputs and outputs.
        unsafe { self.products.weight_gradient(sizes(rows, place), place.inputs, x, dy, to) }
    }
}

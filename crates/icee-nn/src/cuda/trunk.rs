//! The trunk on the GPU, forward and backward: the same computation as on the CPU, with queries, keys and values as
//! one product for all rows (query rows' keys and values are computed but never seen, and their gradients are zero).

use super::device::{int, real};
use super::fields::{embed, embed_backward};
use super::gemm::{Epilogue, Sizes};
use super::learner::Step;
use super::places::{LinearPlace, NormPlace};
use super::plan::WARPS;
use crate::Result;
use std::f32::consts::LOG2_E;

const THREADS: u32 = 256;

/// Blocks of `THREADS` for `count` elements.
pub(super) fn elements(count: usize) -> (u32, u32) {
    (count.div_ceil(THREADS as usize) as u32, 1)
}

/// Blocks with a warp a row.
fn by_row(rows: usize) -> (u32, u32) {
    (rows.div_ceil(WARPS) as u32, 1)
}

pub(super) fn sizes(rows: usize, linear: LinearPlace) -> Sizes {
    Sizes { rows, inputs: linear.inputs, outputs: linear.outputs }
}

/// From tokens to the trunk's output.
pub(super) fn forward(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape, places) = (s.plan, s.shape, s.places);
    let (rows, width) = (shape.rows, s.spec.width);
    for (tokens, mlps) in shape.tokens.iter().zip(&plan.mlps) {
        embed(s, tokens, mlps, plan.blocks[0].stream + (4 * tokens.first * width) as u64)?;
    }
    let factor = LOG2_E / (s.spec.head_width() as f32).sqrt();
    for (l, (b, place)) in plan.blocks.iter().zip(&places.blocks).enumerate() {
        match l {
            0 => norm(s, b.stream, 0, 0, place.norm1, b.normed1, b.stats1)?,
            _ => norm(s, plan.blocks[l - 1].middle, plan.delta, b.stream, place.norm1, b.normed1, b.stats1)?,
        }
        linear(s, place.qkv, b.normed1, b.qkv)?;
        let grid = (shape.row_tiles.count as u32, s.spec.attention_heads as u32);
        let tiles = s.word(shape.row_tiles.at);
        let (keys, line) = (b.qkv + 2 * width as u64, int(3 * width));
        let mut arguments = [b.qkv, keys, line, tiles, b.attended, b.log_sum, int(rows), real(factor)];
        s.cuda.launch(&s.kernels.attention_forward, grid, (128, 1), &mut arguments)?;
        linear(s, place.project, b.attended, plan.delta)?;
        norm(s, b.stream, plan.delta, b.middle, place.norm2, b.normed2, b.stats2)?;
        let (weight, bias) = (s.half(place.mlp_in.weight), s.half(place.mlp_in.bias));
        let epilogue = Epilogue::BiasGelu { bias, before: b.before };
        s.products.forward(sizes(rows, place.mlp_in), b.normed2, weight, b.after, epilogue)?;
        linear(s, place.mlp_out, b.after, plan.delta)?;
    }
    let last = plan.blocks.last().expect("a model has blocks").middle;
    norm(s, last, plan.delta, plan.last, places.norm, plan.out, plan.last_stats)
}

/// Normalises x, or `sum` = x + delta where there is a delta.
fn norm(s: &Step<'_>, x: u64, delta: u64, sum: u64, place: NormPlace, normed: u64, stats: u64) -> Result<()> {
    let rows = s.shape.rows;
    let (gain, bias) = (s.single(place.gain), s.single(place.bias));
    let mut arguments = [x, delta, sum, gain, bias, normed, stats, int(rows)];
    s.cuda.launch(&s.kernels.norm_forward, by_row(rows), (32 * WARPS as u32, 1), &mut arguments)
}

fn linear(s: &mut Step<'_>, place: LinearPlace, x: u64, y: u64) -> Result<()> {
    let (weight, bias) = (s.half(place.weight), s.half(place.bias));
    let layer = sizes(s.shape.rows, place);
    s.products.forward(layer, x, weight, y, Epilogue::Bias(bias))
}

/// From dL/d(out) to the gradients of everything below.
pub(super) fn backward(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape, places) = (s.plan, s.shape, s.places);
    let (rows, width, heads) = (shape.rows, s.spec.width, s.spec.attention_heads as u32);
    let (dstream, dstream16) = (plan.dstream, plan.dstream16);
    let norm_threads = (32 * WARPS as u32, 1);
    let norm_grid = (plan.sum_blocks as u32, 1);
    let gain = s.single(places.norm.gain);
    let mut arguments = [plan.dout, plan.last, plan.last_stats, gain, dstream, dstream16, plan.last_sums, int(rows)];
    s.cuda.launch(&s.kernels.norm_backward_first, norm_grid, norm_threads, &mut arguments)?;
    let scale = 1.0 / (s.spec.head_width() as f32).sqrt();
    let factor = scale * LOG2_E;
    for (l, (b, place)) in plan.blocks.iter().zip(&places.blocks).enumerate().rev() {
        let [norm1_sums, norm2_sums, mlp_sums, qkv_sums] = plan.block_sums[l];
        let norm_back = |s: &Step<'_>, x: u64, stats: u64, place: NormPlace, sums: u64| {
            let mut arguments = [plan.dnormed, x, stats, s.single(place.gain), dstream, dstream16, sums, int(rows)];
            s.cuda.launch(&s.kernels.norm_backward_next, norm_grid, norm_threads, &mut arguments)
        };
        // Not by cuBLASLt's epilogue: for these shapes it picks a product several times slower than the plain one.
        input_gradient(s, place.mlp_out, dstream16, plan.dhidden)?;
        gelu_backward(s, plan.dhidden, b.before, (rows, place.mlp_in.outputs), mlp_sums, plan.sum_blocks, false)?;
        weight_gradient(s, place.mlp_out, b.after, dstream16)?;
        weight_gradient(s, place.mlp_in, b.normed2, plan.dhidden)?;
        input_gradient(s, place.mlp_in, plan.dhidden, plan.dnormed)?;
        norm_back(s, b.middle, b.stats2, place.norm2, norm2_sums)?;
        weight_gradient(s, place.project, b.attended, dstream16)?;
        input_gradient(s, place.project, dstream16, plan.dattended)?;
        let line = 2 * 3 * width;
        s.cuda.clear(plan.dqkv + (shape.history * line) as u64, (rows - shape.history) * line)?;
        let grid = (shape.row_tiles.count as u32, heads);
        let tiles = s.word(shape.row_tiles.at);
        let (total, deltas) = (int(rows), plan.row_deltas);
        let mut arguments =
            [b.qkv, b.attended, plan.dattended, tiles, b.log_sum, deltas, plan.dqkv, total, real(factor), real(scale)];
        s.cuda.launch(&s.kernels.attention_backward_rows, grid, (128, 1), &mut arguments)?;
        let grid = (shape.key_tiles.count as u32, heads);
        let tiles = s.word(shape.key_tiles.at);
        let mut arguments =
            [b.qkv, plan.dattended, tiles, b.log_sum, deltas, plan.dqkv, total, real(factor), real(scale)];
        s.cuda.launch(&s.kernels.attention_backward_keys, grid, (128, 1), &mut arguments)?;
        column_sums(s, plan.dqkv, rows, 3 * width, qkv_sums)?;
        weight_gradient(s, place.qkv, b.normed1, plan.dqkv)?;
        input_gradient(s, place.qkv, plan.dqkv, plan.dnormed)?;
        norm_back(s, b.stream, b.stats1, place.norm1, norm1_sums)?;
    }
    embed_backward(s)
}

fn input_gradient(s: &mut Step<'_>, place: LinearPlace, dy: u64, dx: u64) -> Result<()> {
    let weight = s.half(place.weight);
    let layer = sizes(s.shape.rows, place);
    s.products.input_gradient(layer, dy, weight, dx, Epilogue::None)
}

/// x *= GELU'(before) for x [rows, columns], with column sums for `finish_sums`: of this x alone or, with `add`,
/// together with those that are there.
pub(super) fn gelu_backward(
    s: &Step<'_>,
    x: u64,
    before: u64,
    (rows, columns): (usize, usize),
    sums: u64,
    blocks: usize,
    add: bool,
) -> Result<()> {
    let grid = (blocks as u32, columns.div_ceil(8 * THREADS as usize) as u32);
    let mut arguments = [x, before, sums, int(rows), int(columns), u64::from(add)];
    s.cuda.launch(&s.kernels.gelu_backward_sums, grid, (THREADS, 1), &mut arguments)
}

fn weight_gradient(s: &mut Step<'_>, place: LinearPlace, x: u64, dy: u64) -> Result<()> {
    let to = s.gradient(place.weight);
    let layer = sizes(s.shape.rows, place);
    s.products.weight_gradient(layer, place.inputs, x, dy, to)
}

/// Sums the columns of x [rows, columns] bf16, for `finish_sums`.
pub(super) fn column_sums(s: &Step<'_>, x: u64, rows: usize, columns: usize, to: u64) -> Result<()> {
    let grid = (s.plan.sum_blocks as u32, columns.div_ceil(8 * THREADS as usize) as u32);
    s.cuda.launch(&s.kernels.column_sums, grid, (THREADS, 1), &mut [x, to, int(rows), int(columns)])
}

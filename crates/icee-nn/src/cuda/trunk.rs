//! The trunk on the GPU, forward and backward: the same computation as on the CPU, with queries, keys and values as
//! one product for all rows (query rows' keys and values are computed but never seen, and their gradients are zero).

use super::address::Address;
use super::fields::{embed, embed_backward};
use super::kernels::{
    AttentionBackwardKeys, AttentionBackwardRows, CellsBackwardKeys, CellsBackwardRows, CellsForward, ColumnSums,
    GeluBackwardSums, NormBackwardFirst, NormBackwardNext, Stats,
};
use super::layers::by_columns;
use super::places::{AttentionPlace, NormPlace};
use super::plan::{AttentionSums, SavedAttention};
use super::records::int;
use super::step::Step;
use crate::Result;
use half::bf16;
use std::f32::consts::LOG2_E;

/// From tokens to the trunk's output.
pub(super) fn forward(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape, places) = (s.plan, s.shape, s.places);
    let (rows, width) = (shape.rows, s.spec.width);
    for (tokens, mlps) in shape.tokens.iter().zip(&plan.mlps) {
        embed(s, tokens, mlps, plan.blocks[0].stream().plus(tokens.first * width))?;
    }
    for (l, (b, place)) in plan.blocks.iter().zip(&places.blocks).enumerate() {
        let mut sum = match l {
            0 => (b.stream(), Address::NONE, Address::NONE),
            _ => (plan.blocks[l - 1].middle, plan.delta, b.stream()),
        };
        if let (Some(saved), Some(place)) = (&b.rows, &place.rows) {
            s.norm(rows, sum, place.norm, (saved.normed, saved.stats))?;
            s.linear(rows, place.qkv, saved.normed, saved.qkv)?;
            cells_forward(s, saved)?;
            s.linear(rows, place.project, saved.attended, plan.delta)?;
            sum = (saved.stream, plan.delta, b.attention.stream);
        }
        let (saved, attention) = (&b.attention, &place.attention);
        s.norm(rows, sum, attention.norm, (saved.normed, saved.stats))?;
        s.linear(rows, attention.qkv, saved.normed, saved.qkv)?;
        let keys = (saved.qkv.plus(width), 3 * width);
        s.attention(rows, shape.row_tiles, saved.qkv, keys, (saved.attended, saved.log_sum))?;
        s.linear(rows, attention.project, saved.attended, plan.delta)?;
        s.norm(rows, (saved.stream, plan.delta, b.middle), place.norm2, (b.normed2, b.stats2))?;
        s.linear_gelu(rows, place.mlp_in, b.normed2, b.before, b.after)?;
        s.linear(rows, place.mlp_out, b.after, plan.delta)?;
    }
    let last = plan.blocks.last().expect("a model has blocks").middle;
    s.norm(rows, (last, plan.delta, plan.last), places.norm, (plan.out, plan.last_stats))
}

/// From dL/d(out) to the gradients of everything below.
pub(super) fn backward(s: &mut Step<'_>) -> Result<()> {
    let (plan, places, rows) = (s.plan, s.places, s.shape.rows);
    last_norm_backward(s)?;
    for (b, (place, sums)) in plan.blocks.iter().zip(places.blocks.iter().zip(&plan.block_sums)).rev() {
        // Not by cuBLASLt's epilogue: for these shapes it picks a product several times slower than the plain one.
        s.input_gradient(rows, place.mlp_out, plan.dstream16, plan.dhidden)?;
        gelu_backward(s, plan.dhidden, b.before, (rows, place.mlp_in.outputs), sums.mlp_in, plan.sum_blocks, false)?;
        s.weight_gradient(rows, place.mlp_out, b.after, plan.dstream16)?;
        s.weight_gradient(rows, place.mlp_in, b.normed2, plan.dhidden)?;
        s.input_gradient(rows, place.mlp_in, plan.dhidden, plan.dnormed)?;
        norm_backward(s, b.middle, b.stats2, place.norm2, sums.norm2)?;
        behind_attention(s, &b.attention, &place.attention)?;
        attention_backward(s, &b.attention)?;
        before_attention(s, &b.attention, &place.attention, sums.attention)?;
        if let (Some(saved), Some(place), Some(sums)) = (&b.rows, &place.rows, sums.rows) {
            behind_attention(s, saved, place)?;
            cells_backward(s, saved)?;
            before_attention(s, saved, place, sums)?;
        }
    }
    embed_backward(s)
}

/// From the stream's gradient to that of what rows have attended to.
fn behind_attention(s: &mut Step<'_>, saved: &SavedAttention, place: &AttentionPlace) -> Result<()> {
    let (plan, rows) = (s.plan, s.shape.rows);
    s.weight_gradient(rows, place.project, saved.attended, plan.dstream16)?;
    s.input_gradient(rows, place.project, plan.dstream16, plan.dattended)
}

/// From the gradient of queries, keys and values to the stream's.
fn before_attention(
    s: &mut Step<'_>,
    saved: &SavedAttention,
    place: &AttentionPlace,
    sums: AttentionSums,
) -> Result<()> {
    let (plan, rows) = (s.plan, s.shape.rows);
    column_sums(s, plan.dqkv, rows, 3 * s.spec.width, sums.qkv)?;
    s.weight_gradient(rows, place.qkv, saved.normed, plan.dqkv)?;
    s.input_gradient(rows, place.qkv, plan.dqkv, plan.dnormed)?;
    norm_backward(s, saved.stream, saved.stats, place.norm, sums.norm)
}

/// Attention among the cells of every row.
fn cells_forward(s: &Step<'_>, saved: &SavedAttention) -> Result<()> {
    let cells = s.shape.cells;
    let arguments = CellsForward {
        qkv: saved.qkv,
        spans: s.section(cells),
        out: saved.attended,
        log_sum: saved.log_sum,
        total_rows: int(s.shape.rows),
        factor: LOG2_E / (s.spec.head_width() as f32).sqrt(),
    };
    let grid = (cells.count as u32, s.spec.attention_heads as u32);
    // SAFETY: the spans were packed for this shape, whose rows the plan's buffers have; log_sum has as many for each
    // attention head; a block a span and attention head.
    unsafe { s.cuda.launch(&s.kernels.cells_forward, grid, arguments) }
}

/// From the gradient of what cells have attended to, to that of their queries, keys and values.
fn cells_backward(s: &Step<'_>, saved: &SavedAttention) -> Result<()> {
    let (plan, cells, total_rows) = (s.plan, s.shape.cells, int(s.shape.rows));
    let scale = 1.0 / (s.spec.head_width() as f32).sqrt();
    let factor = scale * LOG2_E;
    let (spans, grid) = (s.section(cells), (cells.count as u32, s.spec.attention_heads as u32));
    let by_rows = CellsBackwardRows {
        qkv: saved.qkv,
        out: saved.attended,
        dout: plan.dattended,
        spans,
        log_sum: saved.log_sum,
        delta: plan.row_deltas,
        dqkv: plan.dqkv,
        total_rows,
        factor,
        scale,
    };
    let by_keys = CellsBackwardKeys {
        qkv: saved.qkv,
        dout: plan.dattended,
        spans,
        log_sum: saved.log_sum,
        delta: plan.row_deltas,
        dqkv: plan.dqkv,
        total_rows,
        factor,
        scale,
    };
    // SAFETY: as for the forward pass; together the two write every row of dqkv.
    unsafe {
        s.cuda.launch(&s.kernels.cells_backward_rows, grid, by_rows)?;
        s.cuda.launch(&s.kernels.cells_backward_keys, grid, by_keys)
    }
}

/// From dL/d(out) to the gradient of the stream behind the last block.
fn last_norm_backward(s: &Step<'_>) -> Result<()> {
    let plan = s.plan;
    let arguments = NormBackwardFirst {
        dnormed: plan.dout,
        x: plan.last,
        stats: plan.last_stats,
        gain: s.single(s.places.norm.gain),
        stream: plan.dstream,
        stream16: plan.dstream16,
        partial: plan.last_sums,
        rows: int(s.shape.rows),
    };
    // SAFETY: the plan's buffers have the shape's rows, and its sums a line of three widths for each of its blocks.
    unsafe { s.cuda.launch(&s.kernels.norm_backward_first, (plan.sum_blocks as u32, 1), arguments) }
}

/// Adds what goes back through a norm to the stream's gradient.
fn norm_backward(
    s: &Step<'_>,
    x: Address<f32>,
    stats: Address<Stats>,
    place: NormPlace,
    partial: Address<f32>,
) -> Result<()> {
    let plan = s.plan;
    let arguments = NormBackwardNext {
        dnormed: plan.dnormed,
        x,
        stats,
        gain: s.single(place.gain),
        stream: plan.dstream,
        stream16: plan.dstream16,
        partial,
        rows: int(s.shape.rows),
    };
    // SAFETY: as for the last norm.
    unsafe { s.cuda.launch(&s.kernels.norm_backward_next, (plan.sum_blocks as u32, 1), arguments) }
}

/// From the gradient of what rows have attended to, to that of their queries, keys and values.
fn attention_backward(s: &Step<'_>, b: &SavedAttention) -> Result<()> {
    let (plan, shape) = (s.plan, s.shape);
    let (total_rows, heads) = (int(shape.rows), s.spec.attention_heads as u32);
    let scale = 1.0 / (s.spec.head_width() as f32).sqrt();
    let factor = scale * LOG2_E;
    let line = 3 * s.spec.width;
    let by_rows = AttentionBackwardRows {
        qkv: b.qkv,
        out: b.attended,
        dout: plan.dattended,
        tiles: s.section(shape.row_tiles),
        log_sum: b.log_sum,
        delta: plan.row_deltas,
        dqkv: plan.dqkv,
        total_rows,
        factor,
        scale,
    };
    let by_keys = AttentionBackwardKeys {
        qkv: b.qkv,
        dout: plan.dattended,
        tiles: s.section(shape.key_tiles),
        log_sum: b.log_sum,
        delta: plan.row_deltas,
        dqkv: plan.dqkv,
        total_rows,
        factor,
        scale,
    };
    // SAFETY: the tiles were packed for this shape, whose rows the plan's buffers have, and history rows come first
    // among them; log_sum and delta have as many for each attention head; a block a tile and attention head.
    unsafe {
        s.cuda.clear(plan.dqkv.plus(shape.history * line), (shape.rows - shape.history) * line)?;
        s.cuda.launch(&s.kernels.attention_backward_rows, (shape.row_tiles.count as u32, heads), by_rows)?;
        s.cuda.launch(&s.kernels.attention_backward_keys, (shape.key_tiles.count as u32, heads), by_keys)
    }
}

/// x *= GELU'(before) for x [rows, columns], with column sums for `finish_sums`: of this x alone or, with `add`,
/// together with those that are there.
pub(super) fn gelu_backward(
    s: &Step<'_>,
    x: Address<bf16>,
    before: Address<bf16>,
    (rows, columns): (usize, usize),
    partial: Address<f32>,
    blocks: usize,
    add: bool,
) -> Result<()> {
    let (rows, add) = (int(rows), i32::from(add));
    let arguments = GeluBackwardSums { x, before, partial, rows, columns: int(columns), add };
    // SAFETY: x and before are of that shape, and the sums have a line for each of the blocks.
    unsafe { s.cuda.launch(&s.kernels.gelu_backward_sums, by_columns(blocks, columns), arguments) }
}

/// Sums the columns of x [rows, columns], for `finish_sums`.
pub(super) fn column_sums(
    s: &Step<'_>,
    x: Address<bf16>,
    rows: usize,
    columns: usize,
    partial: Address<f32>,
) -> Result<()> {
    let arguments = ColumnSums { x, partial, rows: int(rows), columns: int(columns) };
    // SAFETY: x is of that shape, and the sums have a line for each of the plan's blocks.
    unsafe { s.cuda.launch(&s.kernels.column_sums, by_columns(s.plan.sum_blocks, columns), arguments) }
}

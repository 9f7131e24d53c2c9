//! Class heads on the GPU: forward, weighted cross-entropy and backward of each set of targets.

use super::address::{Address, Section};
use super::fields::{add_embeddings, embed_gelu, features_gradient};
use super::kernels::{ClassLoss, FinishLoss, GatherRows, ScatterRows};
use super::layers::by_row;
use super::packing::TargetShape;
use super::plan::TargetBuffers;
use super::records::int;
use super::step::Step;
use super::trunk::column_sums;
use crate::Result;
use half::bf16;

/// The losses of all targets; in the backward pass also dL/d(trunk's output) and the heads' gradients.
pub(super) fn run_class_heads(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape) = (s.plan, s.shape);
    if shape.backward {
        // SAFETY: the plan has a line of the model's width for each of the shape's rows.
        unsafe { s.cuda.clear(plan.dout, shape.rows * s.spec.width) }?;
    }
    for (target, buffers) in shape.targets.iter().zip(&plan.targets) {
        if target.count == 0 {
            // SAFETY: one of the plan's losses.
            unsafe { s.cuda.clear(buffers.loss, 1) }?;
            continue;
        }
        let input = match target.all_rows {
            true => plan.out,
            false => {
                gather(s, target.rows, buffers.input)?;
                buffers.input
            }
        };
        forward(s, target, buffers, input)?;
        loss(s, target, buffers)?;
        if shape.backward {
            backward(s, target, buffers, input)?;
        }
    }
    Ok(())
}

/// to = the trunk's output of some rows.
pub(super) fn gather(s: &Step<'_>, rows: Section<i32>, to: Address<bf16>) -> Result<()> {
    let arguments = GatherRows { from: s.plan.out, rows: s.section(rows), to, count: int(rows.count) };
    // SAFETY: `to` has a line for each of the rows, which are rows of the batch or none; a warp each.
    unsafe { s.cuda.launch(&s.kernels.gather_rows, by_row(rows.count), arguments) }
}

/// Adds gradients to those of the trunk's output of some rows.
pub(super) fn scatter(s: &Step<'_>, from: Address<bf16>, rows: Section<i32>) -> Result<()> {
    let arguments = ScatterRows { from, rows: s.section(rows), to: s.plan.dout, count: int(rows.count) };
    // SAFETY: `from` has a line for each of the rows, which are distinct rows of the batch or none; a warp each.
    unsafe { s.cuda.launch(&s.kernels.scatter_rows, by_row(rows.count), arguments) }
}

fn forward(s: &mut Step<'_>, target: &TargetShape, buffers: &TargetBuffers, input: Address<bf16>) -> Result<()> {
    let head = &s.places.heads[target.head];
    let (last, hidden) = head.layers.split_last().expect("a head has a first layer");
    let (conditions, count) = (target.conditions, target.count);
    let mut x = input;
    for (i, layer) in hidden.iter().enumerate() {
        let (before, after) = (buffers.before[i], buffers.after[i]);
        if i == 0 && conditions.count > 0 {
            s.linear(count, *layer, x, before)?;
            embed_gelu(s, conditions, before, after, count, layer.outputs, true)?;
        } else {
            s.linear_gelu(count, *layer, x, before, after)?;
        }
        x = after;
    }
    s.linear_single(count, *last, x, buffers.logits)?;
    if hidden.is_empty() && conditions.count > 0 {
        add_embeddings(s, conditions, buffers.logits, count, last.outputs, true)?;
    }
    Ok(())
}

fn loss(s: &Step<'_>, target: &TargetShape, buffers: &TargetBuffers) -> Result<()> {
    let stride = s.places.heads[target.head].layers.last().expect("a head has a first layer").outputs;
    let arguments = ClassLoss {
        logits: buffers.logits,
        dlogits: buffers.dlogits,
        targets: s.section(target.classes),
        weights: s.section(target.weights),
        scale: s.section(target.scale),
        partial: buffers.loss_parts,
        rows: int(target.count),
        classes: int(s.spec.heads[target.head].classes),
        stride: int(stride),
    };
    // SAFETY: logits have `count` lines of the last layer's outputs, of which the classes that were checked are a part;
    // a part of the loss for each of the plan's blocks.
    unsafe { s.cuda.launch(&s.kernels.class_loss, (s.plan.sum_blocks as u32, 1), arguments) }?;
    finish_loss(s, buffers.loss_parts, s.plan.sum_blocks, target.scale, buffers.loss)
}

/// loss = scale · the sum of its parts.
pub(super) fn finish_loss(
    s: &Step<'_>,
    partial: Address<f64>,
    parts: usize,
    scale: Section<f32>,
    loss: Address<f64>,
) -> Result<()> {
    let arguments = FinishLoss { partial, blocks: int(parts), scale: s.section(scale), loss };
    // SAFETY: there are that many parts, one scale and one loss; the kernel is one warp.
    unsafe { s.cuda.launch(&s.kernels.finish_loss, (1, 1), arguments) }
}

fn backward(s: &mut Step<'_>, target: &TargetShape, buffers: &TargetBuffers, input: Address<bf16>) -> Result<()> {
    let head = &s.places.heads[target.head];
    let count = target.count;
    let gradient_of = |layer: usize| buffers.gradient.get(layer).copied().unwrap_or(buffers.dlogits);
    for (i, layer) in head.layers.iter().enumerate().rev() {
        let dy = gradient_of(i);
        let x = if i == 0 { input } else { buffers.after[i - 1] };
        s.weight_gradient(count, *layer, x, dy)?;
        column_sums(s, dy, count, layer.outputs, buffers.sums[i])?;
        match i {
            0 => s.input_gradient(count, *layer, dy, buffers.dinput)?,
            _ => s.input_gradient_gelu(count, *layer, dy, buffers.before[i - 1], buffers.gradient[i - 1])?,
        }
    }
    if target.conditions.count > 0 {
        features_gradient(s, &head.conditions, target.conditions, count, buffers.features, gradient_of(0))?;
    }
    scatter(s, buffers.dinput, target.rows)
}

//! Class heads on the GPU: forward, weighted cross-entropy and backward of each set of targets.

use super::device::int;
use super::fields::{add_embeddings, embed_gelu, features_gradient};
use super::gemm::Epilogue;
use super::learner::Step;
use super::packing::TargetShape;
use super::plan::{TargetBuffers, WARPS};
use super::trunk::{column_sums, sizes};
use crate::Result;

const THREADS: (u32, u32) = (256, 1);

/// The losses of all targets; on the way back also dL/d(trunk's output) and the heads' gradients.
pub(super) fn run_class_heads(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape) = (s.plan, s.shape);
    if shape.backward {
        s.cuda.clear(plan.dout, 4 * shape.rows * s.spec.width)?;
    }
    for (target, buffers) in shape.targets.iter().zip(&plan.targets) {
        if target.count == 0 {
            s.cuda.clear(buffers.loss, 8)?;
            continue;
        }
        let input = gather(s, target, buffers)?;
        forward(s, target, buffers, input)?;
        loss(s, target, buffers)?;
        if shape.backward {
            backward(s, target, buffers, input)?;
        }
    }
    Ok(())
}

pub(super) fn by_row(count: usize) -> (u32, u32) {
    (count.div_ceil(WARPS) as u32, 1)
}

/// The trunk's output of the targets' rows.
fn gather(s: &Step<'_>, target: &TargetShape, buffers: &TargetBuffers) -> Result<u64> {
    if target.all_rows {
        return Ok(s.plan.out);
    }
    let mut arguments = [s.plan.out, s.word(target.rows.at), buffers.input, int(target.count)];
    s.cuda.launch(&s.kernels.gather_rows, by_row(target.count), THREADS, &mut arguments)?;
    Ok(buffers.input)
}

fn forward(s: &mut Step<'_>, target: &TargetShape, buffers: &TargetBuffers, input: u64) -> Result<()> {
    let places = s.places;
    let head = &places.heads[target.head];
    let (last, hidden) = head.layers.split_last().expect("a head has a first layer");
    let conditions = target.conditions;
    let mut x = input;
    for (i, layer) in hidden.iter().enumerate() {
        let (before, after) = (buffers.before[i], buffers.after[i]);
        let (weight, bias) = (s.half(layer.weight), s.half(layer.bias));
        let layer_sizes = sizes(target.count, *layer);
        if i == 0 && conditions.count > 0 {
            s.products.forward(layer_sizes, x, weight, before, Epilogue::Bias(bias))?;
            embed_gelu(s, conditions, before, after, target.count, layer.outputs, true)?;
        } else {
            s.products.forward(layer_sizes, x, weight, after, Epilogue::BiasGelu { bias, before })?;
        }
        x = after;
    }
    let (weight, bias) = (s.half(last.weight), s.single(last.bias));
    s.products.forward_single(sizes(target.count, *last), x, weight, buffers.logits, Epilogue::Bias(bias))?;
    if hidden.is_empty() && conditions.count > 0 {
        add_embeddings(s, conditions, buffers.logits, target.count, last.outputs, true)?;
    }
    Ok(())
}

fn loss(s: &Step<'_>, target: &TargetShape, buffers: &TargetBuffers) -> Result<()> {
    let stride = s.places.heads[target.head].layers.last().expect("a head has a first layer").outputs;
    let (blocks, scale) = (s.plan.sum_blocks, s.word(target.scale.at));
    let mut arguments = [
        buffers.logits,
        buffers.dlogits,
        s.word(target.classes.at),
        s.word(target.weights.at),
        scale,
        buffers.loss_parts,
        int(target.count),
        int(s.spec.heads[target.head].classes),
        int(stride),
    ];
    s.cuda.launch(&s.kernels.class_loss, (blocks as u32, 1), THREADS, &mut arguments)?;
    let mut arguments = [buffers.loss_parts, int(blocks), scale, buffers.loss];
    s.cuda.launch(&s.kernels.finish_loss, (1, 1), (32, 1), &mut arguments)
}

fn backward(s: &mut Step<'_>, target: &TargetShape, buffers: &TargetBuffers, input: u64) -> Result<()> {
    let places = s.places;
    let head = &places.heads[target.head];
    let count = target.count;
    let gradient_of = |layer: usize| buffers.gradient.get(layer).copied().unwrap_or(buffers.dlogits);
    for (i, layer) in head.layers.iter().enumerate().rev() {
        let dy = gradient_of(i);
        let x = if i == 0 { input } else { buffers.after[i - 1] };
        let (weight, to) = (s.half(layer.weight), s.gradient(layer.weight));
        let layer_sizes = sizes(count, *layer);
        s.products.weight_gradient(layer_sizes, layer.inputs, x, dy, to)?;
        column_sums(s, dy, count, layer.outputs, buffers.sums[i])?;
        match i {
            0 => s.products.input_gradient(layer_sizes, dy, weight, buffers.dinput, Epilogue::None)?,
            _ => {
                let epilogue = Epilogue::GeluBackward { before: buffers.before[i - 1] };
                s.products.input_gradient(layer_sizes, dy, weight, buffers.gradient[i - 1], epilogue)?;
            }
        }
    }
    if target.conditions.count > 0 {
        features_gradient(s, &head.conditions, target.conditions, count, buffers.features, gradient_of(0))?;
    }
    let mut arguments = [buffers.dinput, s.word(target.rows.at), s.plan.dout, int(count)];
    s.cuda.launch(&s.kernels.scatter_rows, by_row(count), THREADS, &mut arguments)
}

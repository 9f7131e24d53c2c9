//! Embeddings of fields and conditions on the GPU, and their gradients.
//!
//! Categories and linear vectors of a sum are one group: their gradients are one product with a feature matrix. A
//! field with an MLP has its hidden layer apart, which is a group of one.

use super::device::int;
use super::gemm::{Epilogue, Sizes};
use super::learner::Step;
use super::packing::{Section, TokenShape};
use super::pass::Pass;
use super::places::Group;
use super::plan::{MlpBuffers, feature_stride};
use super::trunk::{elements, sizes};
use crate::Result;

const THREADS: (u32, u32) = (256, 1);
/// Columns that a thread of the embedding kernels has.
const COLUMNS: usize = 4;

/// out [rows, width] f32 = the sum of the tokens' fields.
pub(super) fn embed(s: &mut Pass<'_>, tokens: &TokenShape, buffers: &[MlpBuffers], out: u64) -> Result<()> {
    let (places, rows) = (s.places, tokens.rows);
    add_embeddings(s, tokens.fields, out, rows, s.spec.width, false)?;
    for (mlp, b) in tokens.mlps.iter().zip(buffers) {
        let place = &places.mlps[mlp.mlp];
        embed_gelu(s, mlp.field, b.before, b.after, rows, place.hidden.columns, false)?;
        let weight = s.half(place.out.weight);
        s.products.forward_add(sizes(rows, place.out), b.after, weight, out)?;
    }
    Ok(())
}

/// out [rows, columns] f32 = the sum of embeddings, or += where `add`.
pub(super) fn add_embeddings(
    s: &Pass<'_>,
    fields: Section,
    out: u64,
    rows: usize,
    columns: usize,
    add: bool,
) -> Result<()> {
    let (list, count, add) = (s.word(fields.at), int(fields.count), u64::from(add));
    let mut arguments = [list, count, s.batch, s.single(0), out, int(rows), int(columns), add];
    s.cuda.launch(&s.kernels.embed_rows, elements(rows * columns / COLUMNS), THREADS, &mut arguments)
}

/// A hidden layer [rows, columns] bf16, before and behind GELU, of embeddings alone or, with `add`, with what is there.
pub(super) fn embed_gelu(
    s: &Pass<'_>,
    fields: Section,
    before: u64,
    after: u64,
    rows: usize,
    columns: usize,
    add: bool,
) -> Result<()> {
    let (list, count, add) = (s.word(fields.at), int(fields.count), u64::from(add));
    let mut arguments = [list, count, s.batch, s.single(0), before, after, int(rows), int(columns), add];
    s.cuda.launch(&s.kernels.embed_gelu, elements(rows * columns / COLUMNS), THREADS, &mut arguments)
}

/// Adds the gradients of all fields of all tokens, given that of the stream they start.
pub(super) fn embed_backward(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape, places) = (s.plan, s.shape, s.places);
    let stride = feature_stride(places.fields.features);
    s.cuda.clear(plan.features, 2 * shape.rows * stride)?;
    for (tokens, mlps) in shape.tokens.iter().zip(&plan.mlps) {
        write_features(s, tokens.fields, plan.features + (2 * tokens.first * stride) as u64, tokens.rows, stride)?;
        mlp_gradients(s, tokens, mlps, plan.dstream16 + (2 * tokens.first * s.spec.width) as u64)?;
    }
    group_gradient(s, &places.fields, shape.rows, plan.features, plan.dstream16)
}

/// Adds the gradients of the tokens' MLPs but for their second biases, which the group has; dy [rows, width] bf16.
pub(super) fn mlp_gradients(s: &mut Step<'_>, tokens: &TokenShape, buffers: &[MlpBuffers], dy: u64) -> Result<()> {
    let (places, rows) = (s.places, tokens.rows);
    for (mlp, b) in tokens.mlps.iter().zip(buffers) {
        let place = &places.mlps[mlp.mlp];
        let out_sizes = sizes(rows, place.out);
        let (weight, to) = (s.half(place.out.weight), s.gradient(place.out.weight));
        s.products.weight_gradient(out_sizes, place.out.inputs, b.after, dy, to)?;
        let epilogue = Epilogue::GeluBackward { before: b.before };
        s.products.input_gradient(out_sizes, dy, weight, b.gradient, epilogue)?;
        features_gradient(s, &place.hidden, mlp.field, rows, b.features, b.gradient)?;
    }
    Ok(())
}

/// Adds the gradients of a group of embeddings from all their rows.
pub(super) fn features_gradient(
    s: &mut Step<'_>,
    group: &Group,
    fields: Section,
    rows: usize,
    features: u64,
    dy: u64,
) -> Result<()> {
    let stride = feature_stride(group.features);
    s.cuda.clear(features, 2 * rows * stride)?;
    write_features(s, fields, features, rows, stride)?;
    group_gradient(s, group, rows, features, dy)
}

/// Writes fields into a zeroed feature matrix.
fn write_features(s: &Step<'_>, fields: Section, to: u64, rows: usize, stride: usize) -> Result<()> {
    let mut arguments = [s.word(fields.at), int(fields.count), s.batch, to, int(rows), int(stride)];
    s.cuda.launch(&s.kernels.write_features, elements(rows * fields.count), THREADS, &mut arguments)
}

fn group_gradient(s: &mut Step<'_>, group: &Group, rows: usize, features: u64, dy: u64) -> Result<()> {
    let sizes = Sizes { rows, inputs: group.features, outputs: group.columns };
    let to = s.gradient(group.weight);
    s.products.weight_gradient(sizes, feature_stride(group.features), features, dy, to)
}

//! Embeddings of fields and conditions on the GPU, and their gradients.
//!
//! Categories and linear vectors of a sum are one group: their gradients are one product with a feature matrix. A
//! field with an MLP has its hidden layer apart, which is a group of one.

use super::address::{Address, Section};
use super::gemm::Sizes;
use super::kernels::{EmbedGelu, EmbedRows, WriteFeatures};
use super::layers::elements;
use super::packing::TokenShape;
use super::pass::Pass;
use super::places::Group;
use super::plan::{MlpBuffers, feature_stride};
use super::records::{Field, int};
use super::step::Step;
use crate::Result;
use half::bf16;

/// Columns that a thread of the embedding kernels has.
const COLUMNS: usize = 4;

/// out [rows, width] = the sum of the tokens' fields.
pub(super) fn embed(s: &mut Pass<'_>, tokens: &TokenShape, buffers: &[MlpBuffers], out: Address<f32>) -> Result<()> {
    let (places, rows) = (s.places, tokens.rows);
    add_embeddings(s, tokens.fields, out, rows, s.spec.width, false)?;
    for (mlp, b) in tokens.mlps.iter().zip(buffers) {
        let place = &places.mlps[mlp.mlp];
        embed_gelu(s, mlp.field, b.before, b.after, rows, place.hidden.columns, false)?;
        s.add_product(rows, place.out, b.after, out)?;
    }
    Ok(())
}

/// out [rows, columns] = the sum of embeddings, or += where `add`.
pub(super) fn add_embeddings(
    s: &Pass<'_>,
    fields: Section<Field>,
    out: Address<f32>,
    rows: usize,
    columns: usize,
    add: bool,
) -> Result<()> {
    let arguments = EmbedRows {
        fields: s.section(fields),
        count: int(fields.count),
        batch: s.batch,
        weights: s.weights,
        out,
        rows: int(rows),
        columns: int(columns),
        add: i32::from(add),
    };
    // SAFETY: the fields were packed with values for these rows, checked against the sizes of their lines among the
    // weights; out is of that shape, and its columns a multiple of a thread's.
    unsafe { s.cuda.launch(&s.kernels.embed_rows, elements(rows * columns / COLUMNS), arguments) }
}

/// A hidden layer [rows, columns], before and behind GELU, of embeddings alone or, with `add`, with what is there.
pub(super) fn embed_gelu(
    s: &Pass<'_>,
    fields: Section<Field>,
    before: Address<bf16>,
    after: Address<bf16>,
    rows: usize,
    columns: usize,
    add: bool,
) -> Result<()> {
    let arguments = EmbedGelu {
        fields: s.section(fields),
        count: int(fields.count),
        batch: s.batch,
        weights: s.weights,
        before,
        after,
        rows: int(rows),
        columns: int(columns),
        add: i32::from(add),
    };
    // SAFETY: as for `add_embeddings`.
    unsafe { s.cuda.launch(&s.kernels.embed_gelu, elements(rows * columns / COLUMNS), arguments) }
}

/// Adds the gradients of all fields of all tokens, given that of the stream they start.
pub(super) fn embed_backward(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape, places) = (s.plan, s.shape, s.places);
    let stride = feature_stride(places.fields.features);
    // SAFETY: the plan has a line of features for each of the shape's rows.
    unsafe { s.cuda.clear(plan.features, shape.rows * stride) }?;
    for (tokens, mlps) in shape.tokens.iter().zip(&plan.mlps) {
        write_features(s, tokens.fields, plan.features.plus(tokens.first * stride), tokens.rows, stride)?;
        mlp_gradients(s, tokens, mlps, plan.dstream16.plus(tokens.first * s.spec.width))?;
    }
    group_gradient(s, &places.fields, shape.rows, plan.features, plan.dstream16)
}

/// Adds the gradients of the tokens' MLPs but for their second biases, which the group has; dy [rows, width].
pub(super) fn mlp_gradients(
    s: &mut Step<'_>,
    tokens: &TokenShape,
    buffers: &[MlpBuffers],
    dy: Address<bf16>,
) -> Result<()> {
    let (places, rows) = (s.places, tokens.rows);
    for (mlp, b) in tokens.mlps.iter().zip(buffers) {
        let place = &places.mlps[mlp.mlp];
        s.weight_gradient(rows, place.out, b.after, dy)?;
        s.input_gradient_gelu(rows, place.out, dy, b.before, b.gradient)?;
        features_gradient(s, &place.hidden, mlp.field, rows, b.features, b.gradient)?;
    }
    Ok(())
}

/// Adds the gradients of a group of embeddings from all their rows.
pub(super) fn features_gradient(
    s: &mut Step<'_>,
    group: &Group,
    fields: Section<Field>,
    rows: usize,
    features: Address<bf16>,
    dy: Address<bf16>,
) -> Result<()> {
    let stride = feature_stride(group.features);
    // SAFETY: the features have a line for each row.
    unsafe { s.cuda.clear(features, rows * stride) }?;
    write_features(s, fields, features, rows, stride)?;
    group_gradient(s, group, rows, features, dy)
}

/// Writes fields into a zeroed feature matrix.
fn write_features(
    s: &Step<'_>,
    fields: Section<Field>,
    features: Address<bf16>,
    rows: usize,
    stride: usize,
) -> Result<()> {
    let arguments = WriteFeatures {
        fields: s.section(fields),
        count: int(fields.count),
        batch: s.batch,
        features,
        rows: int(rows),
        columns: int(stride),
    };
    // SAFETY: as for `add_embeddings`; a line of the matrix has a column for each feature of the fields' group.
    unsafe { s.cuda.launch(&s.kernels.write_features, elements(rows * fields.count), arguments) }
}

fn group_gradient(
    s: &mut Step<'_>,
    group: &Group,
    rows: usize,
    features: Address<bf16>,
    dy: Address<bf16>,
) -> Result<()> {
    let sizes = Sizes { rows, inputs: group.features, outputs: group.columns };
    let to = s.gradient(group.weight);
    // SAFETY: features and dy have `rows` lines, and the gradient is the group's.
    unsafe { s.products.weight_gradient(sizes, feature_stride(group.features), features, dy, to) }
}

//! A model as the CPU reads it: weights packed for products, and the forward steps that training and inference share.
//!
//! Every step treats rows independently, so callers may cut rows into any chunks.

use super::kernels::elementwise::{gelu, layer_norm};
use super::memory::reserve;
use super::packed::Weights;
use super::simd::Isa;
use crate::batch::FieldValues;
use crate::layout::{Attention, Block, Embedding, Layout, LinearId, Norm};
use crate::spec::ModelSpec;

/// Rows a chunk of work has at most: activations of a chunk stay in the second-level cache.
pub(crate) const CHUNK: usize = 96;

/// Borrowed weights in the form the kernels need.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub spec: &'a ModelSpec,
    pub layout: &'a Layout,
    /// All numbers, flat.
    pub weights: &'a [f32],
    /// One packed matrix a linear layer.
    pub packed: &'a [Weights],
    pub isa: Isa,
}

/// A worker's scratch space, grown on demand and kept.
#[derive(Default)]
pub(crate) struct Scratch {
    pub normed: Vec<f32>,
    pub hidden: Vec<f32>,
    pub activated: Vec<f32>,
    pub stats: Vec<[f32; 2]>,
}

/// Everything one chunk of rows needs behind attention. All slices have the chunk's rows.
pub(crate) struct AfterAttention<'a> {
    /// The residual stream before the block.
    pub x: &'a [f32],
    pub attended: &'a [f32],
    /// Receives the stream between attention and MLP.
    pub middle: &'a mut [f32],
    pub stats: &'a mut [[f32; 2]],
    /// Receives the MLP's hidden layer before GELU.
    pub hidden: &'a mut [f32],
    /// Receives the stream behind the block.
    pub next: &'a mut [f32],
}

impl View<'_> {
    /// out = (bias + x W) + add.
    pub fn linear(&self, id: LinearId, rows: usize, x: &[f32], add: Option<&[f32]>, out: &mut [f32]) {
        let bias = self.layout.linear(id).bias.clone().map(|range| &self.weights[range]);
        self.packed[id.0].product(self.isa, rows, x, bias, add, out);
    }

    /// LayerNorm of rows.
    pub fn norm(&self, norm: &Norm, x: &[f32], out: &mut [f32], stats: &mut [[f32; 2]]) {
        let (gain, bias) = (&self.weights[norm.gain.clone()], &self.weights[norm.bias.clone()]);
        // SAFETY: the kernel checks lengths; the instruction set was detected.
        unsafe { layer_norm(self.isa, x, gain, bias, out, stats) }
    }

    /// out = GELU(x).
    pub fn gelu(&self, x: &[f32], out: &mut [f32]) {
        // SAFETY: the kernel checks lengths; the instruction set was detected.
        unsafe { gelu(self.isa, x, out) }
    }

    /// Adds a field's or condition's embedding of rows `start..start + rows` of `values` to `sum` [rows, outputs].
    pub fn add_embedding(
        &self,
        embedding: &Embedding,
        values: &FieldValues,
        start: usize,
        rows: usize,
        sum: &mut [f32],
        scratch: &mut Scratch,
    ) {
        match (embedding, values) {
            (Embedding::Table(range), FieldValues::Categorical(values)) => {
                let outputs = sum.len() / rows.max(1);
                let table = &self.weights[range.clone()];
                for (row, &value) in sum.chunks_exact_mut(outputs).zip(&values[start..start + rows]) {
                    let entry = &table[value as usize * outputs..][..outputs];
                    row.iter_mut().zip(entry).for_each(|(s, e)| *s += e);
                }
            }
            (Embedding::Linear(id), FieldValues::Vector(values)) => {
                let size = self.layout.linear(*id).inputs;
                self.add_linear(*id, rows, &values[start * size..], sum, scratch);
            }
            (Embedding::Mlp(first, second), FieldValues::Vector(values)) => {
                let Layout { linears, .. } = self.layout;
                let (size, hidden) = (linears[first.0].inputs, linears[first.0].outputs);
                let len = rows * hidden;
                let mut before = std::mem::take(&mut scratch.hidden);
                let mut after = std::mem::take(&mut scratch.activated);
                reserve(&mut before, len);
                reserve(&mut after, len);
                self.linear(*first, rows, &values[start * size..], None, &mut before);
                self.gelu(&before[..len], &mut after[..len]);
                self.add_linear(*second, rows, &after, sum, scratch);
                (scratch.hidden, scratch.activated) = (before, after);
            }
            _ => unreachable!("batches are checked against the description"),
        }
    }

    fn add_linear(&self, id: LinearId, rows: usize, x: &[f32], sum: &mut [f32], scratch: &mut Scratch) {
        reserve(&mut scratch.normed, sum.len());
        let out = &mut scratch.normed[..sum.len()];
        self.linear(id, rows, x, Some(sum), out);
        sum.copy_from_slice(out);
    }

    /// The sum of all fields of rows `start..start + rows`, into `x`.
    pub fn embed(
        &self,
        fields: &[usize],
        values: &[FieldValues],
        start: usize,
        rows: usize,
        x: &mut [f32],
        scratch: &mut Scratch,
    ) {
        x.fill(0.0);
        for (&field, values) in fields.iter().zip(values) {
            self.add_embedding(&self.layout.fields[field], values, start, rows, x, scratch);
        }
    }

    /// Norm, queries and, for rows that are seen, keys and values.
    pub fn before_attention(
        &self,
        attention: &Attention,
        x: &[f32],
        stats: &mut [[f32; 2]],
        query: &mut [f32],
        key_value: Option<&mut [f32]>,
        scratch: &mut Scratch,
    ) {
        let rows = stats.len();
        reserve(&mut scratch.normed, x.len());
        let normed = &mut scratch.normed[..x.len()];
        self.norm(&attention.norm, x, normed, stats);
        self.linear(attention.query, rows, normed, None, query);
        if let Some(key_value) = key_value {
            self.linear(attention.key_value, rows, normed, None, key_value);
        }
    }

    /// Projection, residual, norm, MLP, residual.
    pub fn after_attention(&self, block: &Block, io: AfterAttention<'_>, scratch: &mut Scratch) {
        let rows = io.stats.len();
        self.linear(block.attention.project, rows, io.attended, Some(io.x), io.middle);
        reserve(&mut scratch.normed, io.x.len());
        let normed = &mut scratch.normed[..io.x.len()];
        self.norm(&block.norm2, io.middle, normed, io.stats);
        self.linear(block.mlp_in, rows, normed, None, io.hidden);
        reserve(&mut scratch.activated, io.hidden.len());
        let activated = &mut scratch.activated[..io.hidden.len()];
        self.gelu(io.hidden, activated);
        self.linear(block.mlp_out, rows, activated, Some(io.middle), io.next);
    }
}

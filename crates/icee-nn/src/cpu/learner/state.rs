//! What the trunk keeps from the forward pass for the backward pass, and which rows are whose.

use crate::batch::{Batch, Tokens};
use crate::cpu::memory::Buffer;
use crate::cpu::view::CHUNK;
use std::ops::Range;

/// What one block saves for the backward pass.
#[derive(Default)]
pub(super) struct Saved {
    /// Of the attention among the cells of a row, where there is one.
    pub rows: SavedRows,
    pub entrance: Entrance,
    pub attended: Buffer<f32>,
    /// (highest score, 1 / sum), [attention heads, rows].
    pub attention_stats: Buffer<[f32; 2]>,
    pub middle: Buffer<f32>,
    pub stats2: Buffer<[f32; 2]>,
    /// The MLP's hidden layer before GELU, [rows, mlp width].
    pub hidden: Buffer<f32>,
}

/// What the attention among the cells of a row saves.
#[derive(Default)]
pub(super) struct SavedRows {
    pub entrance: Entrance,
    pub attended: Buffer<f32>,
    /// The stream behind it, which the block's other attention reads.
    pub after: Buffer<f32>,
}

/// What a block makes of its stream before attention.
#[derive(Default)]
pub(super) struct Entrance {
    pub stats: Buffer<[f32; 2]>,
    pub query: Buffer<f32>,
    /// [rows that are seen, 2 · width].
    pub key_value: Buffer<f32>,
}

/// Buffers of the backward pass, shared by all blocks.
#[derive(Default)]
pub(super) struct Back {
    pub dnext: Buffer<f32>,
    pub dmiddle: Buffer<f32>,
    pub dprevious: Buffer<f32>,
    pub dhidden: Buffer<f32>,
    pub activated: Buffer<f32>,
    pub normed1: Buffer<f32>,
    pub normed2: Buffer<f32>,
    pub dattended: Buffer<f32>,
    pub dquery: Buffer<f32>,
    pub dkey_value: Buffer<f32>,
    /// Norm gradients of each chunk, [chunks, 2 · width].
    pub norm_parts: Buffer<f32>,
}

/// The rows of a batch: where history ends and where each sequence lies.
#[derive(Clone, Copy)]
pub(crate) struct RowMap<'a> {
    pub history: &'a Tokens,
    pub queries: Option<&'a Tokens>,
}

impl<'a> RowMap<'a> {
    pub fn new(batch: &'a Batch) -> RowMap<'a> {
        RowMap { history: &batch.history, queries: batch.queries.as_ref() }
    }

    pub fn rows(&self) -> usize {
        self.history.len() + self.queries.map_or(0, Tokens::len)
    }

    /// Number of chunks: history's, then the queries'.
    pub fn chunks(&self) -> usize {
        self.history.len().div_ceil(CHUNK) + self.queries.map_or(0, |q| q.len().div_ceil(CHUNK))
    }

    /// The rows of a chunk, and whether they are history.
    pub fn chunk(&self, index: usize) -> (Range<usize>, bool) {
        let own = self.history.len().div_ceil(CHUNK);
        if index < own {
            let start = index * CHUNK;
            return (start..self.history.len().min(start + CHUNK), true);
        }
        let start = self.history.len() + (index - own) * CHUNK;
        (start..self.rows().min(start + CHUNK), false)
    }

    /// The history rows and the query rows of a sequence.
    pub fn sequence(&self, s: usize) -> (Range<usize>, Range<usize>) {
        let history = self.history.offsets[s]..self.history.offsets[s + 1];
        let base = self.history.len();
        let queries = self.queries.map_or(base..base, |q| base + q.offsets[s]..base + q.offsets[s + 1]);
        (history, queries)
    }
}

//! Pool heads on the GPU. Target rows and candidates are projected once each; what is left for each (row, candidate) pair
//! is computed chunk by chunk, twice: for the scores, and again in the backward pass. Chunks follow each other on one
//! stream, and every sum has a fixed order, so the bits are the same on every run.

use super::address::Address;
use super::class_head::{finish_loss, gather, scatter};
use super::fields::{embed, features_gradient, mlp_gradients};
use super::kernels::{PoolCandidateSums, PoolLastBackward, PoolLoss, PoolPairs, PoolRowSums, PoolScores};
use super::layers::{by_columns, round};
use super::packing::{ChunkShape, PoolShape};
use super::places::PoolPlace;
use super::plan::PoolBuffers;
use super::records::{WARPS, int};
use super::step::Step;
use super::trunk::{column_sums, gelu_backward};
use crate::Result;
use half::bf16;

/// Candidates that a block of the kernels treats.
const STRIP: usize = 64;

/// One set of targets at work.
struct Pool<'a> {
    head: &'a PoolPlace,
    shape: &'a PoolShape,
    buffers: &'a PoolBuffers,
}

/// The losses of all pool targets; in the backward pass also dL/d(trunk's output) and the heads' gradients.
pub(super) fn run_pool_heads(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape, places) = (s.plan, s.shape, s.places);
    for (pool, buffers) in shape.pools.iter().zip(&plan.pools) {
        if pool.rows.count == 0 {
            // SAFETY: one of the plan's losses.
            unsafe { s.cuda.clear(buffers.loss, 1) }?;
            continue;
        }
        let pool = Pool { head: &places.pool_heads[pool.head], shape: pool, buffers };
        pool.project(s)?;
        for chunk in &pool.shape.chunks {
            pool.forward(s, chunk)?;
            pool.score(s, chunk)?;
        }
        pool.loss(s)?;
        if shape.backward {
            pool.backward(s)?;
        }
    }
    Ok(())
}

impl Pool<'_> {
    fn first_width(&self) -> usize {
        self.head.trunk.outputs
    }

    /// Projects target rows and candidates.
    fn project(&self, s: &mut Step<'_>) -> Result<()> {
        let (b, head, rows, tokens) = (self.buffers, self.head, self.shape.rows, &self.shape.candidates);
        gather(s, rows, b.input)?;
        s.linear_single(rows.count, head.trunk, b.input, b.row_part)?;
        embed(s, tokens, &b.mlps, b.embedded)?;
        round(s.cuda, s.kernels, b.embedded, b.embedded16, tokens.rows * s.spec.width)?;
        s.product_single(tokens.rows, head.candidate, b.embedded16, b.candidate_part)
    }

    /// A chunk's hidden layers.
    fn forward(&self, s: &mut Step<'_>, chunk: &ChunkShape) -> Result<()> {
        let b = self.buffers;
        let arguments = PoolPairs {
            rows: s.section(chunk.rows),
            row_part: b.row_part,
            candidate_part: b.candidate_part,
            before: b.before[0],
            after: b.after[0],
            columns: int(self.first_width()),
        };
        let grid = (chunk.rows.count as u32, chunk.widest.div_ceil(STRIP) as u32);
        // SAFETY: the chunk's rows were packed for these targets, and the buffers have a line for each pair of the
        // largest chunk; a block a row and strip of the most candidates.
        unsafe { s.cuda.launch(&s.kernels.pool_pairs, grid, arguments) }?;
        for (k, layer) in self.head.layers.iter().enumerate() {
            s.linear_gelu(chunk.pairs, *layer, b.after[k], b.before[k + 1], b.after[k + 1])?;
        }
        Ok(())
    }

    /// A chunk's scores, from its last hidden layer.
    fn score(&self, s: &Step<'_>, chunk: &ChunkShape) -> Result<()> {
        let (b, last) = (self.buffers, self.head.last);
        let arguments = PoolScores {
            after: b.after[self.head.layers.len()],
            weight: s.single(last.weight),
            bias: s.single(last.bias),
            scores: b.scores.plus(chunk.first),
            pairs: int(chunk.pairs),
            columns: int(last.inputs),
        };
        let blocks = chunk.pairs.div_ceil(WARPS).min(8 * b.pair_blocks);
        // SAFETY: the last hidden layer has a line for each of the chunk's pairs, whose scores lie side by side among
        // those of all; the kernel walks with strides.
        unsafe { s.cuda.launch(&s.kernels.pool_scores, (blocks as u32, 1), arguments) }
    }

    /// The loss; scores become their gradients.
    fn loss(&self, s: &Step<'_>) -> Result<()> {
        let (b, shape) = (self.buffers, self.shape);
        let arguments = PoolLoss {
            rows: s.section(shape.target_rows),
            all_scores: b.scores,
            targets: s.section(shape.targets),
            probabilities: s.section(shape.probabilities),
            weights: s.section(shape.weights),
            scale: s.section(shape.scale),
            losses: b.row_losses,
        };
        let count = shape.rows.count;
        // SAFETY: targets are distinct candidates of their row's pool, and there is a loss for each row; a block a row.
        unsafe { s.cuda.launch(&s.kernels.pool_loss, (count as u32, 1), arguments) }?;
        finish_loss(s, b.row_losses, count, shape.scale, b.loss)
    }

    fn backward(&self, s: &mut Step<'_>) -> Result<()> {
        let (b, head, shape) = (self.buffers, self.head, self.shape);
        let (rows, tokens, columns) = (shape.rows, &shape.candidates, self.first_width());
        // SAFETY: a line for each candidate.
        unsafe { s.cuda.clear(b.dcandidate_part, tokens.rows * columns) }?;
        for (number, chunk) in shape.chunks.iter().enumerate() {
            // A chunk that is alone is still there.
            if shape.chunks.len() > 1 {
                self.forward(s, chunk)?;
            }
            self.chunk_backward(s, chunk, number > 0)?;
        }
        column_sums(s, b.drow_part, rows.count, columns, b.trunk_sums)?;
        s.weight_gradient(rows.count, head.trunk, b.input, b.drow_part)?;
        s.input_gradient(rows.count, head.trunk, b.drow_part, b.dinput)?;
        scatter(s, b.dinput, rows)?;

        round(s.cuda, s.kernels, b.dcandidate_part, b.dcandidate_part16, tokens.rows * columns)?;
        s.weight_gradient(tokens.rows, head.candidate, b.embedded16, b.dcandidate_part16)?;
        s.input_gradient(tokens.rows, head.candidate, b.dcandidate_part16, b.dembedded)?;
        mlp_gradients(s, tokens, &b.mlps, b.dembedded)?;
        features_gradient(s, &head.embedding, tokens.fields, tokens.rows, b.features, b.dembedded)
    }

    /// From the gradients of a chunk's scores to those of both parts of the first layer.
    fn chunk_backward(&self, s: &mut Step<'_>, chunk: &ChunkShape, add: bool) -> Result<()> {
        let (b, head, pairs) = (self.buffers, self.head, chunk.pairs);
        let depth = head.layers.len();
        let [mut dy, mut other] = b.gradient;
        let arguments = PoolLastBackward {
            before: b.before[depth],
            after: b.after[depth],
            dscores: b.scores.plus(chunk.first),
            weight: s.single(head.last.weight),
            gradient: dy,
            partial: b.last_sums,
            pairs: int(pairs),
            columns: int(head.last.inputs),
            add: i32::from(add),
        };
        let grid = by_columns(b.pair_blocks, head.last.inputs);
        // SAFETY: the hidden layer and its gradient have a line for each of the chunk's pairs, and the sums one of the
        // kernel's length for each of the blocks.
        unsafe { s.cuda.launch(&s.kernels.pool_last_backward, grid, arguments) }?;
        for (k, layer) in head.layers.iter().enumerate().rev() {
            s.weight_gradient(pairs, *layer, b.after[k], dy)?;
            s.input_gradient(pairs, *layer, dy, other)?;
            gelu_backward(s, other, b.before[k], (pairs, layer.inputs), b.hidden_sums[k], b.pair_blocks, add)?;
            (dy, other) = (other, dy);
        }
        self.first_layer_sums(s, chunk, dy)
    }

    /// The gradients of both parts of the first layer, from those of a chunk's pairs.
    fn first_layer_sums(&self, s: &Step<'_>, chunk: &ChunkShape, gradient: Address<bf16>) -> Result<()> {
        let (b, columns) = (self.buffers, self.first_width());
        let of_rows = PoolRowSums { rows: s.section(chunk.rows), gradient, to: b.drow_part, columns: int(columns) };
        let of_candidates =
            PoolCandidateSums { spans: s.section(chunk.spans), gradient, to: b.dcandidate_part, columns: int(columns) };
        let strips = chunk.widest.div_ceil(STRIP) as u32;
        // SAFETY: rows and spans were packed for the chunk, whose pairs the gradient has, and point to lines of the
        // target rows and candidates; a block a row and run of columns, and a block a span and strip.
        unsafe {
            s.cuda.launch(&s.kernels.pool_row_sums, by_columns(chunk.rows.count, columns), of_rows)?;
            s.cuda.launch(&s.kernels.pool_candidate_sums, (chunk.spans.count as u32, strips), of_candidates)
        }
    }
}

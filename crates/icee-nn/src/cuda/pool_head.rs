//! Pool heads on the GPU. Target rows and candidates are projected once each; what is left for each (row, candidate) pair
//! is computed chunk by chunk, twice: for the scores, and again on the way back. Chunks follow each other on one
//! stream, and every sum has a fixed order, so the bits are the same on every run.

use super::class_head::by_row;
use super::device::int;
use super::fields::{embed, features_gradient, mlp_gradients};
use super::gemm::Epilogue;
use super::learner::Step;
use super::packing::{ChunkShape, PoolShape};
use super::places::PoolPlace;
use super::plan::PoolBuffers;
use super::trunk::{column_sums, elements, gelu_backward, sizes};
use crate::Result;

const THREADS: (u32, u32) = (256, 1);
/// Candidates that a block of the kernels treats.
const STRIP: usize = 64;
/// Columns that a block of the kernels treats.
const COLUMNS: usize = 8 * 256;

/// One set of targets at work.
struct Pool<'a> {
    head: &'a PoolPlace,
    shape: &'a PoolShape,
    buffers: &'a PoolBuffers,
}

/// The losses of all pool targets; on the way back also dL/d(trunk's output) and the heads' gradients.
pub(super) fn run_pool_heads(s: &mut Step<'_>) -> Result<()> {
    let (plan, shape, places) = (s.plan, s.shape, s.places);
    for (pool, buffers) in shape.pools.iter().zip(&plan.pools) {
        if pool.rows.count == 0 {
            s.cuda.clear(buffers.loss, 8)?;
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
        let mut arguments = [s.plan.out, s.word(rows.at), b.input, int(rows.count)];
        s.cuda.launch(&s.kernels.gather_rows, by_row(rows.count), THREADS, &mut arguments)?;
        let (weight, bias) = (s.half(head.trunk.weight), s.single(head.trunk.bias));
        s.products.forward_single(sizes(rows.count, head.trunk), b.input, weight, b.row_part, Epilogue::Bias(bias))?;
        embed(s, tokens, &b.mlps, b.embedded)?;
        round(s, b.embedded, b.embedded16, tokens.rows * s.spec.width)?;
        let weight = s.half(head.candidate.weight);
        let candidate_sizes = sizes(tokens.rows, head.candidate);
        s.products.forward_single(candidate_sizes, b.embedded16, weight, b.candidate_part, Epilogue::None)
    }

    /// A chunk's hidden layers.
    fn forward(&self, s: &mut Step<'_>, chunk: &ChunkShape) -> Result<()> {
        let b = self.buffers;
        let columns = self.first_width();
        let grid = (chunk.rows.count as u32, chunk.widest.div_ceil(STRIP) as u32);
        let rows = s.word(chunk.rows.at);
        let mut arguments = [rows, b.row_part, b.candidate_part, b.before[0], b.after[0], int(columns)];
        s.cuda.launch(&s.kernels.pool_pairs, grid, THREADS, &mut arguments)?;
        for (k, layer) in self.head.layers.iter().enumerate() {
            let (weight, bias) = (s.half(layer.weight), s.half(layer.bias));
            let epilogue = Epilogue::BiasGelu { bias, before: b.before[k + 1] };
            s.products.forward(sizes(chunk.pairs, *layer), b.after[k], weight, b.after[k + 1], epilogue)?;
        }
        Ok(())
    }

    /// A chunk's scores, from its last hidden layer.
    fn score(&self, s: &Step<'_>, chunk: &ChunkShape) -> Result<()> {
        let (b, last) = (self.buffers, self.head.last);
        let (after, scores) = (b.after[self.head.layers.len()], b.scores + 4 * chunk.first as u64);
        let (weight, bias) = (s.single(last.weight), s.single(last.bias));
        let grid = (chunk.pairs.div_ceil(8).min(8 * b.pair_blocks) as u32, 1);
        let mut arguments = [after, weight, bias, scores, int(chunk.pairs), int(last.inputs)];
        s.cuda.launch(&s.kernels.pool_scores, grid, THREADS, &mut arguments)
    }

    /// The loss; scores become their gradients.
    fn loss(&self, s: &Step<'_>) -> Result<()> {
        let (b, shape) = (self.buffers, self.shape);
        let scale = s.word(shape.scale.at);
        let (targets, probabilities) = (s.word(shape.targets.at), s.word(shape.probabilities.at));
        let (rows, weights) = (s.word(shape.target_rows.at), s.word(shape.weights.at));
        let mut arguments = [rows, b.scores, targets, probabilities, weights, scale, b.row_losses];
        let count = shape.rows.count;
        s.cuda.launch(&s.kernels.pool_loss, (count as u32, 1), THREADS, &mut arguments)?;
        let mut arguments = [b.row_losses, int(count), scale, b.loss];
        s.cuda.launch(&s.kernels.finish_loss, (1, 1), (32, 1), &mut arguments)
    }

    fn backward(&self, s: &mut Step<'_>) -> Result<()> {
        let (b, head, shape) = (self.buffers, self.head, self.shape);
        let (rows, tokens, columns) = (shape.rows, &shape.candidates, self.first_width());
        s.cuda.clear(b.dcandidate_part, 4 * tokens.rows * columns)?;
        for (number, chunk) in shape.chunks.iter().enumerate() {
            // A chunk that is alone is still there.
            if shape.chunks.len() > 1 {
                self.forward(s, chunk)?;
            }
            self.chunk_backward(s, chunk, number > 0)?;
        }
        column_sums(s, b.drow_part, rows.count, columns, b.trunk_sums)?;
        let (weight, to) = (s.half(head.trunk.weight), s.gradient(head.trunk.weight));
        let trunk_sizes = sizes(rows.count, head.trunk);
        s.products.weight_gradient(trunk_sizes, head.trunk.inputs, b.input, b.drow_part, to)?;
        s.products.input_gradient(trunk_sizes, b.drow_part, weight, b.dinput, Epilogue::None)?;
        let mut arguments = [b.dinput, s.word(rows.at), s.plan.dout, int(rows.count)];
        s.cuda.launch(&s.kernels.scatter_rows, by_row(rows.count), THREADS, &mut arguments)?;

        round(s, b.dcandidate_part, b.dcandidate_part16, tokens.rows * columns)?;
        let (weight, to) = (s.half(head.candidate.weight), s.gradient(head.candidate.weight));
        let candidate_sizes = sizes(tokens.rows, head.candidate);
        s.products.weight_gradient(candidate_sizes, head.candidate.inputs, b.embedded16, b.dcandidate_part16, to)?;
        s.products.input_gradient(candidate_sizes, b.dcandidate_part16, weight, b.dembedded, Epilogue::None)?;
        mlp_gradients(s, tokens, &b.mlps, b.dembedded)?;
        features_gradient(s, &head.embedding, tokens.fields, tokens.rows, b.features, b.dembedded)
    }

    /// From the gradients of a chunk's scores to those of both parts of the first layer.
    fn chunk_backward(&self, s: &mut Step<'_>, chunk: &ChunkShape, add: bool) -> Result<()> {
        let (b, head, pairs) = (self.buffers, self.head, chunk.pairs);
        let depth = head.layers.len();
        let [mut dy, mut other] = b.gradient;
        let grid = (b.pair_blocks as u32, head.last.inputs.div_ceil(COLUMNS) as u32);
        let mut arguments = [
            b.before[depth],
            b.after[depth],
            b.scores + 4 * chunk.first as u64,
            s.single(head.last.weight),
            dy,
            b.last_sums,
            int(pairs),
            int(head.last.inputs),
            u64::from(add),
        ];
        s.cuda.launch(&s.kernels.pool_last_backward, grid, THREADS, &mut arguments)?;
        for (k, layer) in head.layers.iter().enumerate().rev() {
            let layer_sizes = sizes(pairs, *layer);
            let (weight, to) = (s.half(layer.weight), s.gradient(layer.weight));
            s.products.weight_gradient(layer_sizes, layer.inputs, b.after[k], dy, to)?;
            s.products.input_gradient(layer_sizes, dy, weight, other, Epilogue::None)?;
            gelu_backward(s, other, b.before[k], (pairs, layer.inputs), b.hidden_sums[k], b.pair_blocks, add)?;
            (dy, other) = (other, dy);
        }
        let columns = self.first_width();
        let mut arguments = [s.word(chunk.rows.at), dy, b.drow_part, int(columns)];
        let grid = (chunk.rows.count as u32, columns.div_ceil(COLUMNS) as u32);
        s.cuda.launch(&s.kernels.pool_row_sums, grid, THREADS, &mut arguments)?;
        let mut arguments = [s.word(chunk.spans.at), dy, b.dcandidate_part, int(columns)];
        let grid = (chunk.spans.count as u32, chunk.widest.div_ceil(STRIP) as u32);
        s.cuda.launch(&s.kernels.pool_candidate_sums, grid, THREADS, &mut arguments)
    }
}

/// to = from in bf16.
fn round(s: &Step<'_>, from: u64, to: u64, count: usize) -> Result<()> {
    s.cuda.launch(&s.kernels.round_numbers, elements(count), THREADS, &mut [from, to, int(count)])
}

//! Pool heads in training: every target row scores every candidate of its pool.
//!
//! The first layer is split, so trunk rows and candidates are projected once each; what is left for each (row,
//! candidate) pair is computed chunk by chunk and again in the backward pass, and never stored for all pairs. A pool is
//! one task, because its rows share the gradients of its candidates.

use super::fields::FieldBuffers;
use super::gradients::{LayerGradient, add_layer_gradient_here, add_layer_gradients};
use super::{Context, Gradients, Workers};
use crate::batch::{FieldValues, PoolTargets};
use crate::cpu::kernels::elementwise::{add, gelu_backward};
use crate::cpu::kernels::loss::softmax;
use crate::cpu::memory::{grow, reserve};
use crate::cpu::packed::product;
use crate::cpu::threads::{Shared, chunk, scaled};
use crate::cpu::view::{CHUNK, View};
use crate::layout::PoolHeadLayout;

/// Buffers of one set of targets.
#[derive(Default)]
pub(crate) struct PoolHead {
    /// The trunk's output of the target rows, and the first layer's part on it with its gradient.
    input: Vec<f32>,
    row_part: Vec<f32>,
    drow_part: Vec<f32>,
    /// The candidates' embeddings, and the first layer's part on them with its gradient.
    embedded: Vec<f32>,
    dembedded: Vec<f32>,
    candidate_part: Vec<f32>,
    dcandidate_part: Vec<f32>,
    /// Values copied as a field, for the embedding.
    candidates: Option<FieldValues>,
    /// Gradients of the further layers, one set a pool.
    partial: Vec<f32>,
    losses: Vec<f64>,
    pairs: Vec<Pairs>,
}

/// One worker's chunk of (row, candidate) pairs.
#[derive(Default)]
struct Pairs {
    /// Each layer before GELU and behind it.
    before: Vec<Vec<f32>>,
    after: Vec<Vec<f32>>,
    gradient: Vec<f32>,
    dnext: Vec<f32>,
    scores: Vec<f32>,
    panel: Vec<f32>,
}

impl Pairs {
    /// Scores of one row for `rows` of the candidates' parts; the last of `before` holds them.
    fn forward(&mut self, view: &View<'_>, head: &PoolHeadLayout, row: &[f32], candidates: &[f32], count: usize) {
        let depth = head.layers.len();
        grow(&mut self.before, depth + 1);
        grow(&mut self.after, depth);
        reserve(&mut self.before[0], candidates.len());
        for (line, candidate) in self.before[0].chunks_exact_mut(row.len()).zip(candidates.chunks_exact(row.len())) {
            for ((sum, a), b) in line.iter_mut().zip(row).zip(candidate) {
                *sum = a + b;
            }
        }
        for (i, &layer) in head.layers.iter().enumerate() {
            let len = count * view.layout.linear(layer).inputs;
            reserve(&mut self.after[i], len);
            reserve(&mut self.before[i + 1], count * view.layout.linear(layer).outputs);
            view.gelu(&self.before[i][..len], &mut self.after[i][..len]);
            view.linear(layer, count, &self.after[i], None, &mut self.before[i + 1]);
        }
    }

    /// Given dL/d(scores) in `dnext`, leaves dL/d(first layer) there; adds the further layers' gradients.
    fn backward(&mut self, context: &Context<'_>, head: &PoolHeadLayout, count: usize, mut partial: &mut [f32]) {
        let view = &context.view;
        for (i, &id) in head.layers.iter().enumerate().rev() {
            let linear = view.layout.linear(id);
            let len = count * linear.inputs;
            reserve(&mut self.gradient, len);
            let transposed = &context.transposed[id.0];
            product(view.isa, transposed, count, &self.dnext, None, None, &mut self.gradient[..len]);
            let (before, after) = (&self.before[i][..len], &mut self.after[i][..len]);
            // SAFETY: the kernel checks lengths; the instruction set was detected.
            unsafe { gelu_backward(view.isa, before, &mut self.gradient[..len], after) }
            // Partial gradients are laid out from the last layer to the first.
            let (weight, rest) = partial.split_at_mut(linear.inputs * linear.outputs);
            let (bias, rest) = rest.split_at_mut(linear.outputs);
            let g = LayerGradient { id, x: after, dy: &self.dnext, rows: count };
            add_layer_gradient_here(view.isa, view.layout, &g, (weight, bias), &mut self.panel);
            partial = rest;
            reserve(&mut self.dnext, len);
            self.dnext[..len].copy_from_slice(&self.gradient[..len]);
        }
    }
}

impl PoolHead {
    /// Returns the loss; with gradients, adds them and dL/d(out).
    #[allow(clippy::too_many_arguments)]
    pub fn run(
        &mut self,
        context: &Context<'_>,
        targets: &PoolTargets,
        out: &[f32],
        dout: &mut [f32],
        workers: &mut Workers,
        fields: &mut FieldBuffers,
        gradients: Option<&mut Gradients>,
    ) -> f64 {
        let head = &context.view.layout.pool_heads[targets.head];
        self.project(context, targets, out, workers);
        self.score(context, targets, gradients.is_some());
        let pools = targets.pools.offsets.len() - 1;
        if let Some(gradients) = gradients {
            self.add_gradients(context, targets, dout, workers, fields, gradients);
            let size = partial_len(context, head);
            for part in self.partial.chunks_exact(size.max(1)).take(pools) {
                let mut at = 0;
                for &layer in head.layers.iter().rev() {
                    let linear = context.view.layout.linear(layer);
                    for range in [Some(linear.weight.clone()), linear.bias.clone()].into_iter().flatten() {
                        let len = range.len();
                        // SAFETY: the kernel checks lengths; the instruction set was detected.
                        unsafe { add(context.view.isa, &part[at..at + len], &mut gradients.values[range]) }
                        at += len;
                    }
                }
            }
        }
        self.losses[..pools].iter().sum()
    }

    /// Projects target rows and candidates once each.
    fn project(&mut self, context: &Context<'_>, targets: &PoolTargets, out: &[f32], workers: &mut Workers) {
        let view = &context.view;
        let head = &view.layout.pool_heads[targets.head];
        let (width, first) = (view.spec.width, view.layout.linear(head.trunk).outputs);
        let (rows, candidates) = (targets.rows.len(), *targets.pools.offsets.last().expect("checked"));
        for buffer in [&mut self.row_part, &mut self.drow_part] {
            reserve(buffer, rows * first);
        }
        for buffer in [&mut self.candidate_part, &mut self.dcandidate_part] {
            reserve(buffer, candidates * first);
        }
        reserve(&mut self.input, rows * width);
        reserve(&mut self.embedded, candidates * width);
        reserve(&mut self.dembedded, candidates * width);
        let values = match self.candidates.take() {
            Some(FieldValues::Vector(mut values)) => {
                values.clear();
                values.extend_from_slice(&targets.pools.candidates);
                values
            }
            _ => targets.pools.candidates.clone(),
        };
        let values = &*self.candidates.insert(FieldValues::Vector(values));
        let (input, row_part) = (Shared::new(&mut self.input), Shared::new(&mut self.row_part));
        let (embedded, candidate_part) = (Shared::new(&mut self.embedded), Shared::new(&mut self.candidate_part));
        let scratch = Shared::new(&mut workers.scratch);
        let row_chunks = rows.div_ceil(CHUNK);
        context.cpu.each(row_chunks + candidates.div_ceil(CHUNK), |c, worker| {
            if c < row_chunks {
                let r = chunk(c, CHUNK, rows);
                // SAFETY: chunks are disjoint.
                let (input, row_part) = unsafe { (input.get(scaled(&r, width)), row_part.get(scaled(&r, first))) };
                for (line, &row) in input.chunks_exact_mut(width).zip(&targets.rows[r.clone()]) {
                    line.copy_from_slice(&out[row as usize * width..][..width]);
                }
                view.linear(head.trunk, r.len(), input, None, row_part);
            } else {
                let r = chunk(c - row_chunks, CHUNK, candidates);
                // SAFETY: chunks are disjoint, and a worker runs one task at a time.
                let (embedded, part, scratch) = unsafe {
                    let scratch = &mut scratch.get(worker..worker + 1)[0];
                    (embedded.get(scaled(&r, width)), candidate_part.get(scaled(&r, first)), scratch)
                };
                embedded.fill(0.0);
                let field = &view.layout.fields[head.field];
                view.add_embedding(field, values, r.start, r.len(), embedded, scratch);
                view.linear(head.candidate, r.len(), embedded, None, part);
            }
        });
    }

    /// The loss of every pool and, with `backward`, the gradients of both parts of the first layer.
    fn score(&mut self, context: &Context<'_>, targets: &PoolTargets, backward: bool) {
        let view = &context.view;
        let head = &view.layout.pool_heads[targets.head];
        let first = view.layout.linear(head.trunk).outputs;
        let pools = targets.pools.offsets.len() - 1;
        let size = partial_len(context, head);
        reserve(&mut self.losses, pools);
        if backward {
            reserve(&mut self.partial, pools * size);
            self.partial[..pools * size].fill(0.0);
        }
        self.pairs.resize_with(context.cpu.threads(), Pairs::default);
        let (losses, partial) = (Shared::new(&mut self.losses), Shared::new(&mut self.partial));
        let (drow, dcandidate) = (Shared::new(&mut self.drow_part), Shared::new(&mut self.dcandidate_part));
        let (row_part, candidate_part) = (&self.row_part, &self.candidate_part);
        let pairs = Shared::new(&mut self.pairs);
        context.cpu.each(pools, |pool, worker| {
            let range = targets.pools.offsets[pool]..targets.pools.offsets[pool + 1];
            let count = range.len();
            let start = targets.row_pools.partition_point(|&p| (p as usize) < pool);
            let end = targets.row_pools.partition_point(|&p| p as usize <= pool);
            // SAFETY: pools own their candidates, rows and partial gradients; a worker runs one task at a time.
            let (pairs, dcandidate, drow) = unsafe {
                let pairs = &mut pairs.get(worker..worker + 1)[0];
                (pairs, dcandidate.get(scaled(&range, first)), drow.get(scaled(&(start..end), first)))
            };
            dcandidate.fill(0.0);
            drow.fill(0.0);
            let candidates = &candidate_part[scaled(&range, first)];
            let mut loss = 0.0;
            for i in start..end {
                let row = &row_part[i * first..][..first];
                let mut scores = std::mem::take(&mut pairs.scores);
                reserve(&mut scores, count);
                for c in (0..count).step_by(CHUNK) {
                    let part = c..count.min(c + CHUNK);
                    pairs.forward(view, head, row, &candidates[scaled(&part, first)], part.len());
                    let last = &pairs.before[head.layers.len()];
                    scores[part.clone()].copy_from_slice(&last[..part.len()]);
                }
                loss += row_loss(view, targets, i, &mut scores[..count]);
                if backward {
                    for c in (0..count).step_by(CHUNK) {
                        let part = c..count.min(c + CHUNK);
                        let wide = scaled(&part, first);
                        pairs.forward(view, head, row, &candidates[wide.clone()], part.len());
                        reserve(&mut pairs.dnext, part.len());
                        pairs.dnext[..part.len()].copy_from_slice(&scores[part.clone()]);
                        // SAFETY: as above.
                        let partial = unsafe { partial.get(scaled(&(pool..pool + 1), size)) };
                        pairs.backward(context, head, part.len(), partial);
                        let gradient = &pairs.dnext[..wide.len()];
                        // SAFETY: the kernel checks lengths; the instruction set was detected.
                        unsafe { add(view.isa, gradient, &mut dcandidate[wide]) }
                        let drow = &mut drow[(i - start) * first..][..first];
                        for line in gradient.chunks_exact(first) {
                            // SAFETY: as above.
                            unsafe { add(view.isa, line, drow) }
                        }
                    }
                }
                pairs.scores = scores;
            }
            // SAFETY: as above.
            unsafe { losses.get(pool..pool + 1)[0] = loss * f64::from(targets.scale) }
        });
    }

    /// Carries the gradients of both parts of the first layer on to weights, trunk and candidate embeddings.
    fn add_gradients(
        &mut self,
        context: &Context<'_>,
        targets: &PoolTargets,
        dout: &mut [f32],
        workers: &mut Workers,
        fields: &mut FieldBuffers,
        gradients: &mut Gradients,
    ) {
        let view = &context.view;
        let head = &view.layout.pool_heads[targets.head];
        let (width, first) = (view.spec.width, view.layout.linear(head.trunk).outputs);
        let (rows, candidates) = (targets.rows.len(), *targets.pools.offsets.last().expect("checked"));
        let layers = [
            LayerGradient { id: head.trunk, x: &self.input, dy: &self.drow_part, rows },
            LayerGradient { id: head.candidate, x: &self.embedded, dy: &self.dcandidate_part, rows: candidates },
        ];
        add_layer_gradients(context.cpu, view.layout, &layers, &mut gradients.values, &mut workers.panels);
        let (trunk, candidate) = (&context.transposed[head.trunk.0], &context.transposed[head.candidate.0]);
        let (dembedded, dout) = (Shared::new(&mut self.dembedded), Shared::new(dout));
        let (drow, dcandidate) = (&self.drow_part, &self.dcandidate_part);
        let scratch = Shared::new(&mut workers.scratch);
        let row_chunks = rows.div_ceil(CHUNK);
        context.cpu.each(row_chunks + candidates.div_ceil(CHUNK), |c, worker| {
            if c < row_chunks {
                let r = chunk(c, CHUNK, rows);
                // SAFETY: a worker runs one task at a time.
                let dinput = unsafe { &mut scratch.get(worker..worker + 1)[0].normed };
                reserve(dinput, r.len() * width);
                product(view.isa, trunk, r.len(), &drow[r.start * first..], None, None, dinput);
                for (line, &row) in dinput.chunks_exact(width).zip(&targets.rows[r]) {
                    let at = row as usize * width;
                    // SAFETY: target rows are distinct; the kernel checks lengths.
                    unsafe { add(view.isa, line, dout.get(at..at + width)) }
                }
            } else {
                let r = chunk(c - row_chunks, CHUNK, candidates);
                // SAFETY: chunks are disjoint.
                let to = unsafe { dembedded.get(scaled(&r, width)) };
                product(view.isa, candidate, r.len(), &dcandidate[r.start * first..], None, None, to);
            }
        });
        let embedding = &view.layout.fields[head.field];
        match &self.candidates {
            Some(FieldValues::Vector(values)) => {
                fields.add_vector(context, embedding, values, candidates, &self.dembedded, workers, gradients);
            }
            _ => unreachable!("candidates are vectors"),
        }
    }
}

/// Numbers in the gradients of the layers behind the first.
fn partial_len(context: &Context<'_>, head: &PoolHeadLayout) -> usize {
    let linears = head.layers.iter().map(|&id| context.view.layout.linear(id));
    linears.map(|l| (l.inputs + 1) * l.outputs).sum()
}

/// Weighted cross-entropy of one row, before the scale; the scores are replaced by its scaled gradient.
fn row_loss(view: &View<'_>, targets: &PoolTargets, row: usize, scores: &mut [f32]) -> f64 {
    let range = targets.target_offsets[row]..targets.target_offsets[row + 1];
    let wanted = || targets.targets[range.clone()].iter().zip(&targets.probabilities[range.clone()]);
    let hit: f32 = wanted().map(|(&t, &p)| p * scores[t as usize]).sum();
    // SAFETY: the instruction set was detected.
    let log_sum = unsafe { softmax(view.isa, scores) };
    for (&target, &probability) in wanted() {
        scores[target as usize] -= probability;
    }
    let weight = targets.weights[row];
    scores.iter_mut().for_each(|s| *s *= weight * targets.scale);
    f64::from(weight) * f64::from(log_sum - hit)
}

//! Which buffer of a step lies where: one arena, taken once and laid out anew for each shape of batch.

use super::packing::{PoolShape, Shape};
use super::places::{MlpPlace, Places, PoolPlace};
use crate::spec::ModelSpec;

/// Buffers start at multiples of this many bytes.
const ALIGNMENT: u64 = 256;
/// Warps a block of the kernels that treat a row with a warp.
pub(super) const WARPS: usize = 8;

/// What one block saves for the way back; addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Saved {
    /// The residual stream before the block, f32.
    pub stream: u64,
    pub stats1: u64,
    pub normed1: u64,
    pub qkv: u64,
    pub attended: u64,
    pub log_sum: u64,
    /// The stream between attention and MLP, f32.
    pub middle: u64,
    pub stats2: u64,
    pub normed2: u64,
    /// The MLP's hidden layer before and behind GELU.
    pub before: u64,
    pub after: u64,
}

/// Buffers of one field that is embedded by an MLP, for the rows that carry it.
#[derive(Clone, Debug, Default)]
pub(super) struct MlpBuffers {
    /// The hidden layer before and behind GELU, and its gradient.
    pub before: u64,
    pub after: u64,
    pub gradient: u64,
    pub features: u64,
}

/// Buffers of one set of targets.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetBuffers {
    pub input: u64,
    /// Each hidden layer before and behind GELU, and its gradient.
    pub before: Vec<u64>,
    pub after: Vec<u64>,
    pub gradient: Vec<u64>,
    pub logits: u64,
    pub dlogits: u64,
    pub dinput: u64,
    pub features: u64,
    pub loss_parts: u64,
    pub loss: u64,
    /// Column sums of each layer's gradient.
    pub sums: Vec<u64>,
}

/// Buffers of one set of pool targets.
#[derive(Clone, Debug, Default)]
pub(super) struct PoolBuffers {
    /// The trunk's output of the target rows, the first layer's part on it, and their gradients.
    pub input: u64,
    pub row_part: u64,
    pub drow_part: u64,
    pub dinput: u64,
    /// The candidates' embeddings, the first layer's part on them, and their gradients; those of MLPs.
    pub embedded: u64,
    pub embedded16: u64,
    pub dembedded: u64,
    pub candidate_part: u64,
    pub dcandidate_part: u64,
    pub dcandidate_part16: u64,
    pub features: u64,
    pub mlps: Vec<MlpBuffers>,
    /// A chunk's hidden layers before and behind GELU, and the gradients of two of them.
    pub before: Vec<u64>,
    pub after: Vec<u64>,
    pub gradient: [u64; 2],
    /// Scores of all pairs, then their gradients.
    pub scores: u64,
    pub row_losses: u64,
    pub loss: u64,
    /// Blocks that share a column sum over pairs.
    pub pair_blocks: usize,
    /// Column sums of the gradients of the trunk's part, of each hidden layer, and of the last layer.
    pub trunk_sums: u64,
    pub hidden_sums: Vec<u64>,
    pub last_sums: u64,
}

/// One column sum that `finish_sums` completes; in numbers, `from` counted from the plan's first sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumJob {
    pub from: usize,
    pub stride: usize,
    pub blocks: usize,
    pub columns: usize,
    pub to: usize,
}

/// All addresses of one shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub blocks: Vec<Saved>,
    /// The stream behind the last block, its statistics and the trunk's output.
    pub last: u64,
    pub last_stats: u64,
    pub out: u64,
    /// What a layer adds to the stream, bf16.
    pub delta: u64,
    pub dout: u64,
    pub dstream: u64,
    pub dstream16: u64,
    pub dhidden: u64,
    pub dnormed: u64,
    pub dattended: u64,
    pub dqkv: u64,
    pub row_deltas: u64,
    pub features: u64,
    /// Of history tokens and of query tokens.
    pub mlps: [Vec<MlpBuffers>; 2],
    /// Blocks that share a column sum.
    pub sum_blocks: usize,
    /// The start of all column sums.
    pub sums: u64,
    /// Sums of (norm1, norm2, mlp_in's bias, qkv's bias) of each block.
    pub block_sums: Vec<[u64; 4]>,
    pub last_sums: u64,
    pub targets: Vec<TargetBuffers>,
    pub pools: Vec<PoolBuffers>,
    pub losses: u64,
    pub jobs: Vec<SumJob>,
    pub bytes: usize,
}

/// A feature matrix's line is a whole number of 16 bytes.
pub(super) fn feature_stride(features: usize) -> usize {
    features.next_multiple_of(8)
}

/// Hands out stretches of memory, one behind the other.
pub(super) struct Arena {
    pub next: u64,
}

impl Arena {
    pub fn take(&mut self, bytes: usize) -> u64 {
        let at = self.next;
        self.next = (at + bytes as u64).next_multiple_of(ALIGNMENT);
        at
    }

    pub fn half(&mut self, count: usize) -> u64 {
        self.take(2 * count)
    }

    pub fn single(&mut self, count: usize) -> u64 {
        self.take(4 * count)
    }

    fn pool(&mut self, head: &PoolPlace, places: &Places, pool: &PoolShape, width: usize, loss: u64) -> PoolBuffers {
        let (rows, candidates) = (pool.rows.count, pool.candidates.rows);
        let (first, most) = (head.trunk.outputs, pool.chunks.iter().map(|c| c.pairs).max().unwrap_or(0));
        let widths: Vec<usize> = std::iter::once(first).chain(head.layers.iter().map(|l| l.outputs)).collect();
        let widest = widths.iter().copied().max().unwrap_or(0);
        let mut hidden = || widths.iter().map(|w| self.half(most * w)).collect::<Vec<_>>();
        let (before, after) = (hidden(), hidden());
        PoolBuffers {
            input: self.half(rows * width),
            row_part: self.single(rows * first),
            drow_part: self.half(rows * first),
            dinput: self.half(rows * width),
            embedded: self.single(candidates * width),
            embedded16: self.half(candidates * width),
            dembedded: self.half(candidates * width),
            candidate_part: self.single(candidates * first),
            dcandidate_part: self.single(candidates * first),
            dcandidate_part16: self.half(candidates * first),
            features: self.half(candidates * feature_stride(head.embedding.features)),
            mlps: pool.candidates.mlps.iter().map(|m| self.mlp(&places.mlps[m.mlp], candidates)).collect(),
            before,
            after,
            gradient: [self.half(most * widest), self.half(most * widest)],
            scores: self.single(pool.pairs),
            row_losses: self.take(8 * rows),
            loss,
            ..PoolBuffers::default()
        }
    }

    pub fn mlp(&mut self, place: &MlpPlace, rows: usize) -> MlpBuffers {
        let hidden = rows * place.hidden.columns;
        MlpBuffers {
            before: self.half(hidden),
            after: self.half(hidden),
            gradient: self.half(hidden),
            features: self.half(rows * feature_stride(place.hidden.features)),
        }
    }
}

impl Plan {
    /// Lays out a step from the address `base` on.
    pub fn new(spec: &ModelSpec, places: &Places, shape: &Shape, multiprocessors: usize, base: u64) -> Plan {
        let (rows, width, mlp) = (shape.rows, spec.width, spec.mlp_width);
        let heads = spec.attention_heads;
        let mut a = Arena { next: base };
        let mut plan = Plan { sum_blocks: rows.div_ceil(WARPS).clamp(1, 4 * multiprocessors), ..Plan::default() };
        // Losses first: reading them back must not depend on the shape.
        plan.losses = a.take(8 * (shape.targets.len() + shape.pools.len()).max(1));
        for _ in 0..spec.layers {
            plan.blocks.push(Saved {
                stream: a.single(rows * width),
                stats1: a.single(2 * rows),
                normed1: a.half(rows * width),
                qkv: a.half(3 * rows * width),
                attended: a.half(rows * width),
                log_sum: a.single(heads * rows),
                middle: a.single(rows * width),
                stats2: a.single(2 * rows),
                normed2: a.half(rows * width),
                before: a.half(rows * mlp),
                after: a.half(rows * mlp),
            });
        }
        plan.last = a.single(rows * width);
        plan.last_stats = a.single(2 * rows);
        plan.out = a.half(rows * width);
        plan.delta = a.half(rows * width);
        plan.dout = a.single(rows * width);
        plan.dstream = a.single(rows * width);
        plan.dstream16 = a.half(rows * width);
        plan.dhidden = a.half(rows * mlp);
        plan.dnormed = a.half(rows * width);
        plan.dattended = a.half(rows * width);
        plan.dqkv = a.half(3 * rows * width);
        plan.row_deltas = a.single(heads * rows);
        plan.features = a.half(rows * feature_stride(places.fields.features));
        plan.mlps = [0, 1].map(|role| {
            let tokens = &shape.tokens[role];
            tokens.mlps.iter().map(|mlp| a.mlp(&places.mlps[mlp.mlp], tokens.rows)).collect()
        });
        for (i, target) in shape.targets.iter().enumerate() {
            let head = &places.heads[target.head];
            let count = target.count;
            let (last, hidden) = head.layers.split_last().expect("a head has a first layer");
            let mut hidden_buffers = || hidden.iter().map(|l| a.half(count * l.outputs)).collect::<Vec<_>>();
            let (before, after, gradient) = (hidden_buffers(), hidden_buffers(), hidden_buffers());
            plan.targets.push(TargetBuffers {
                input: a.half(count * width),
                before,
                after,
                gradient,
                logits: a.single(count * last.outputs),
                dlogits: a.half(count * last.outputs),
                dinput: a.half(count * width),
                features: a.half(count * feature_stride(head.conditions.features)),
                loss_parts: a.take(8 * plan.sum_blocks),
                loss: plan.losses + 8 * i as u64,
                sums: Vec::new(),
            });
        }
        for (i, pool) in shape.pools.iter().enumerate() {
            let loss = plan.losses + 8 * (shape.targets.len() + i) as u64;
            plan.pools.push(a.pool(&places.pool_heads[pool.head], places, pool, width, loss));
            plan.pools[i].pair_blocks = 4 * multiprocessors;
        }
        plan.lay_out_sums(spec, places, shape, &mut a);
        plan.bytes = (a.next - base) as usize;
        plan
    }

    fn lay_out_sums(&mut self, spec: &ModelSpec, places: &Places, shape: &Shape, a: &mut Arena) {
        let (width, sum_blocks) = (spec.width, self.sum_blocks);
        self.sums = a.next;
        let start = a.next;
        let mut jobs = Vec::new();
        // `to` lists (first column, columns, place of their gradient).
        let mut sum_of = |blocks: usize, columns: usize, to: &[(usize, usize, usize)]| {
            let at = a.single(blocks * columns);
            let from = (at - start) as usize / 4;
            let job = |&(first, columns_here, to): &(usize, usize, usize)| SumJob {
                from: from + first,
                stride: columns,
                blocks,
                columns: columns_here,
                to,
            };
            jobs.extend(to.iter().map(job));
            at
        };
        // Targets without rows write no sums.
        for (buffers, pool) in self.pools.iter_mut().zip(&shape.pools).filter(|(_, pool)| pool.rows.count > 0) {
            let head = &places.pool_heads[pool.head];
            let (first, inputs, blocks) = (head.trunk.outputs, head.last.inputs, buffers.pair_blocks);
            // The first hidden layer's bias is the trunk's, summed over rows; the others' are summed over pairs, the
            // last together with the last layer's own gradients.
            buffers.trunk_sums = sum_of(sum_blocks, first, &[(0, first, head.trunk.bias)]);
            let mut bias = None;
            for layer in &head.layers {
                let width = layer.inputs;
                let job = bias.map(|bias| (0, width, bias));
                buffers.hidden_sums.push(sum_of(blocks, width, job.as_slice()));
                bias = Some(layer.bias);
            }
            let mut last = vec![(inputs, inputs, head.last.weight), (2 * inputs, 1, head.last.bias)];
            last.extend(bias.map(|bias| (0, inputs, bias)));
            buffers.last_sums = sum_of(blocks, 2 * inputs + 8, &last);
        }
        // Side by side, from the first column on.
        let mut sum = |columns: usize, to: &[(usize, usize)]| {
            let starts = to.iter().scan(0, |next, &(count, _)| {
                *next += count;
                Some(*next - count)
            });
            let list: Vec<_> = starts.zip(to).map(|(first, &(count, to))| (first, count, to)).collect();
            sum_of(sum_blocks, columns, &list)
        };
        // A norm's way back also sums the columns of the stream's gradient: the bias of the layer before it.
        for (l, block) in places.blocks.iter().enumerate() {
            let mut norm1 = vec![(width, block.norm1.gain), (width, block.norm1.bias)];
            if l > 0 {
                norm1.push((width, places.blocks[l - 1].mlp_out.bias));
            }
            let norm2 = [(width, block.norm2.gain), (width, block.norm2.bias), (width, block.project.bias)];
            self.block_sums.push([
                sum(3 * width, &norm1),
                sum(3 * width, &norm2),
                sum(block.mlp_in.outputs, &[(block.mlp_in.outputs, block.mlp_in.bias)]),
                sum(3 * width, &[(3 * width, block.qkv.bias)]),
            ]);
        }
        let mlp_out = places.blocks.last().map_or(0, |b| b.mlp_out.bias);
        self.last_sums = sum(3 * width, &[(width, places.norm.gain), (width, places.norm.bias), (width, mlp_out)]);
        for (buffers, target) in self.targets.iter_mut().zip(&shape.targets) {
            // Targets without rows write no sums.
            if target.count > 0 {
                let layers = &places.heads[target.head].layers;
                buffers.sums = layers.iter().map(|l| sum(l.outputs, &[(l.outputs, l.bias)])).collect();
            }
        }
        self.jobs = jobs;
    }

    /// The jobs as the kernel reads them.
    pub fn job_words(&self) -> impl Iterator<Item = u32> {
        self.jobs.iter().flat_map(|j| [j.from, j.stride, j.blocks, j.columns, j.to].map(|x| x as u32))
    }

    /// The most columns a job has.
    pub fn widest_job(&self) -> usize {
        self.jobs.iter().map(|j| j.columns).max().unwrap_or(0)
    }
}

//! Which buffer of a step lies where: one arena, taken once and laid out anew for each shape of batch.

use super::address::Address;
use super::kernels::Stats;
use super::packing::{PoolShape, Shape};
use super::places::{AttentionPlace, MlpPlace, Places, PoolPlace};
use super::records::{SumJob, WARPS, int};
use crate::spec::ModelSpec;
use half::bf16;

/// Buffers start at multiples of this many bytes.
const ALIGNMENT: u64 = 256;

/// What one attention saves for the backward pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SavedAttention {
    /// The residual stream before it.
    pub stream: Address<f32>,
    pub stats: Address<Stats>,
    pub normed: Address<bf16>,
    pub qkv: Address<bf16>,
    pub attended: Address<bf16>,
    pub log_sum: Address<f32>,
}

/// What one block saves for the backward pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Saved {
    /// Of the attention among the cells of a row, where there is one.
    pub rows: Option<SavedAttention>,
    pub attention: SavedAttention,
    /// The stream between attention and MLP.
    pub middle: Address<f32>,
    pub stats2: Address<Stats>,
    pub normed2: Address<bf16>,
    /// The MLP's hidden layer before and behind GELU.
    pub before: Address<bf16>,
    pub after: Address<bf16>,
}

impl Saved {
    /// The stream before the block.
    pub fn stream(&self) -> Address<f32> {
        self.rows.as_ref().unwrap_or(&self.attention).stream
    }
}

/// Buffers of one field that is embedded by an MLP, for the rows that carry it.
#[derive(Clone, Debug, Default)]
pub(super) struct MlpBuffers {
    /// The hidden layer before and behind GELU, and its gradient.
    pub before: Address<bf16>,
    pub after: Address<bf16>,
    pub gradient: Address<bf16>,
    pub features: Address<bf16>,
}

/// Buffers of one set of targets.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetBuffers {
    pub input: Address<bf16>,
    /// Each hidden layer before and behind GELU, and its gradient.
    pub before: Vec<Address<bf16>>,
    pub after: Vec<Address<bf16>>,
    pub gradient: Vec<Address<bf16>>,
    pub logits: Address<f32>,
    pub dlogits: Address<bf16>,
    pub dinput: Address<bf16>,
    pub features: Address<bf16>,
    pub loss_parts: Address<f64>,
    pub loss: Address<f64>,
    /// Column sums of each layer's gradient.
    pub sums: Vec<Address<f32>>,
}

/// Buffers of one set of pool targets.
#[derive(Clone, Debug, Default)]
pub(super) struct PoolBuffers {
    /// The trunk's output of the target rows, the first layer's part on it, and their gradients.
    pub input: Address<bf16>,
    pub row_part: Address<f32>,
    pub drow_part: Address<bf16>,
    pub dinput: Address<bf16>,
    /// The candidates' embeddings, the first layer's part on them, and their gradients; those of MLPs.
    pub embedded: Address<f32>,
    pub embedded16: Address<bf16>,
    pub dembedded: Address<bf16>,
    pub candidate_part: Address<f32>,
    pub dcandidate_part: Address<f32>,
    pub dcandidate_part16: Address<bf16>,
    pub features: Address<bf16>,
    pub mlps: Vec<MlpBuffers>,
    /// A chunk's hidden layers before and behind GELU, and the gradients of two of them.
    pub before: Vec<Address<bf16>>,
    pub after: Vec<Address<bf16>>,
    pub gradient: [Address<bf16>; 2],
    /// Scores of all pairs, then their gradients.
    pub scores: Address<f32>,
    pub row_losses: Address<f64>,
    pub loss: Address<f64>,
    /// Blocks that share a column sum over pairs.
    pub pair_blocks: usize,
    /// Column sums of the gradients of the trunk's part, of each hidden layer, and of the last layer.
    pub trunk_sums: Address<f32>,
    pub hidden_sums: Vec<Address<f32>>,
    pub last_sums: Address<f32>,
}

/// Column sums of one attention: of its norm, and of the bias of queries, keys and values.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttentionSums {
    pub norm: Address<f32>,
    pub qkv: Address<f32>,
}

/// Column sums of one block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSums {
    pub rows: Option<AttentionSums>,
    pub attention: AttentionSums,
    pub norm2: Address<f32>,
    pub mlp_in: Address<f32>,
}

/// All addresses of one shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub blocks: Vec<Saved>,
    /// The stream behind the last block, its statistics and the trunk's output.
    pub last: Address<f32>,
    pub last_stats: Address<Stats>,
    pub out: Address<bf16>,
    /// What a layer adds to the stream.
    pub delta: Address<bf16>,
    pub dout: Address<f32>,
    pub dstream: Address<f32>,
    pub dstream16: Address<bf16>,
    pub dhidden: Address<bf16>,
    pub dnormed: Address<bf16>,
    pub dattended: Address<bf16>,
    pub dqkv: Address<bf16>,
    pub row_deltas: Address<f32>,
    pub features: Address<bf16>,
    /// Of history tokens and of query tokens.
    pub mlps: [Vec<MlpBuffers>; 2],
    /// Blocks that share a column sum.
    pub sum_blocks: usize,
    /// The start of all column sums.
    pub sums: Address<f32>,
    /// Sums of each block.
    pub block_sums: Vec<BlockSums>,
    pub last_sums: Address<f32>,
    pub targets: Vec<TargetBuffers>,
    pub pools: Vec<PoolBuffers>,
    pub losses: Address<f64>,
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
    /// Room for so many numbers or records.
    pub fn take<T>(&mut self, count: usize) -> Address<T> {
        let at = Address::new(self.next);
        self.next = at.plus(count).bits().next_multiple_of(ALIGNMENT);
        at
    }

    fn pool(
        &mut self,
        head: &PoolPlace,
        places: &Places,
        pool: &PoolShape,
        width: usize,
        loss: Address<f64>,
    ) -> PoolBuffers {
        let (rows, candidates) = (pool.rows.count, pool.candidates.rows);
        let (first, most) = (head.trunk.outputs, pool.chunks.iter().map(|c| c.pairs).max().unwrap_or(0));
        let widths: Vec<usize> = std::iter::once(first).chain(head.layers.iter().map(|l| l.outputs)).collect();
        let widest = widths.iter().copied().max().unwrap_or(0);
        let mut hidden = || widths.iter().map(|w| self.take(most * w)).collect::<Vec<Address<bf16>>>();
        let (before, after) = (hidden(), hidden());
        PoolBuffers {
            input: self.take(rows * width),
            row_part: self.take(rows * first),
            drow_part: self.take(rows * first),
            dinput: self.take(rows * width),
            embedded: self.take(candidates * width),
            embedded16: self.take(candidates * width),
            dembedded: self.take(candidates * width),
            candidate_part: self.take(candidates * first),
            dcandidate_part: self.take(candidates * first),
            dcandidate_part16: self.take(candidates * first),
            features: self.take(candidates * feature_stride(head.embedding.features)),
            mlps: pool.candidates.mlps.iter().map(|m| self.mlp(&places.mlps[m.mlp], candidates)).collect(),
            before,
            after,
            gradient: [self.take(most * widest), self.take(most * widest)],
            scores: self.take(pool.pairs),
            row_losses: self.take(rows),
            loss,
            ..PoolBuffers::default()
        }
    }

    pub fn mlp(&mut self, place: &MlpPlace, rows: usize) -> MlpBuffers {
        let hidden = rows * place.hidden.columns;
        MlpBuffers {
            before: self.take(hidden),
            after: self.take(hidden),
            gradient: self.take(hidden),
            features: self.take(rows * feature_stride(place.hidden.features)),
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
        plan.losses = a.take((shape.targets.len() + shape.pools.len()).max(1));
        for _ in 0..spec.layers {
            let mut attention = || SavedAttention {
                stream: a.take(rows * width),
                stats: a.take(rows),
                normed: a.take(rows * width),
                qkv: a.take(3 * rows * width),
                attended: a.take(rows * width),
                log_sum: a.take(heads * rows),
            };
            plan.blocks.push(Saved {
                rows: spec.row_attention.then(&mut attention),
                attention: attention(),
                middle: a.take(rows * width),
                stats2: a.take(rows),
                normed2: a.take(rows * width),
                before: a.take(rows * mlp),
                after: a.take(rows * mlp),
            });
        }
        plan.last = a.take(rows * width);
        plan.last_stats = a.take(rows);
        plan.out = a.take(rows * width);
        plan.delta = a.take(rows * width);
        plan.dout = a.take(rows * width);
        plan.dstream = a.take(rows * width);
        plan.dstream16 = a.take(rows * width);
        plan.dhidden = a.take(rows * mlp);
        plan.dnormed = a.take(rows * width);
        plan.dattended = a.take(rows * width);
        plan.dqkv = a.take(3 * rows * width);
        plan.row_deltas = a.take(heads * rows);
        plan.features = a.take(rows * feature_stride(places.fields.features));
        plan.mlps = [0, 1].map(|role| {
            let tokens = &shape.tokens[role];
            tokens.mlps.iter().map(|mlp| a.mlp(&places.mlps[mlp.mlp], tokens.rows)).collect()
        });
        for (i, target) in shape.targets.iter().enumerate() {
            let head = &places.heads[target.head];
            let count = target.count;
            let (last, hidden) = head.layers.split_last().expect("a head has a first layer");
            let mut hidden_buffers = || hidden.iter().map(|l| a.take(count * l.outputs)).collect::<Vec<_>>();
            let (before, after, gradient) = (hidden_buffers(), hidden_buffers(), hidden_buffers());
            plan.targets.push(TargetBuffers {
                input: a.take(count * width),
                before,
                after,
                gradient,
                logits: a.take(count * last.outputs),
                dlogits: a.take(count * last.outputs),
                dinput: a.take(count * width),
                features: a.take(count * feature_stride(head.conditions.features)),
                loss_parts: a.take(plan.sum_blocks),
                loss: plan.losses.plus(i),
                sums: Vec::new(),
            });
        }
        for (i, pool) in shape.pools.iter().enumerate() {
            let loss = plan.losses.plus(shape.targets.len() + i);
            plan.pools.push(a.pool(&places.pool_heads[pool.head], places, pool, width, loss));
            plan.pools[i].pair_blocks = 4 * multiprocessors;
        }
        plan.lay_out_sums(spec, places, shape, &mut a);
        plan.bytes = (a.next - base) as usize;
        plan
    }

    fn lay_out_sums(&mut self, spec: &ModelSpec, places: &Places, shape: &Shape, a: &mut Arena) {
        let (width, sum_blocks) = (spec.width, self.sum_blocks);
        let start = a.next;
        self.sums = Address::new(start);
        let mut jobs = Vec::new();
        // `to` lists (first column, columns, place of their gradient).
        let mut sum_of = |blocks: usize, columns: usize, to: &[(usize, usize, usize)]| {
            let at: Address<f32> = a.take(blocks * columns);
            let from = (at.bits() - start) as usize / size_of::<f32>();
            let job = |&(first, columns_here, to): &(usize, usize, usize)| SumJob {
                from: int(from + first),
                stride: int(columns),
                blocks: int(blocks),
                columns: int(columns_here),
                to: int(to),
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
        // A norm's backward pass also sums the columns of the stream's gradient: the bias of the layer before it.
        for (l, block) in places.blocks.iter().enumerate() {
            let mut attention = |place: &AttentionPlace, before: Option<usize>| {
                let mut norm = vec![(width, place.norm.gain), (width, place.norm.bias)];
                norm.extend(before.map(|bias| (width, bias)));
                AttentionSums { norm: sum(3 * width, &norm), qkv: sum(3 * width, &[(3 * width, place.qkv.bias)]) }
            };
            let before = l.checked_sub(1).map(|l| places.blocks[l].mlp_out.bias);
            let rows = block.rows.as_ref().map(|rows| attention(rows, before));
            let before = block.rows.map(|rows| rows.project.bias).or(before);
            let attention = attention(&block.attention, before);
            let project = block.attention.project.bias;
            let norm2 = sum(3 * width, &[(width, block.norm2.gain), (width, block.norm2.bias), (width, project)]);
            let mlp_in = sum(block.mlp_in.outputs, &[(block.mlp_in.outputs, block.mlp_in.bias)]);
            self.block_sums.push(BlockSums { rows, attention, norm2, mlp_in });
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

    /// The most columns a job has.
    pub fn widest_job(&self) -> usize {
        self.jobs.iter().map(|j| j.columns as usize).max().unwrap_or(0)
    }
}

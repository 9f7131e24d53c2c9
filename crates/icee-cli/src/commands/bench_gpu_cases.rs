//! The workloads of `icee bench gpu`: models and batches, the same on every run.

use super::bench_engine::{reference_batch, reference_spec, tokens};
use anyhow::Result;
use icee_nn::batch::{Batch, ClassTargets, FieldValues, Tokens};
use icee_nn::cuda::{self, Cuda};
use icee_nn::{FieldKind, FieldSpec, HeadSpec, History, Model, ModelSpec, TokenRole};
use std::time::Instant;

/// A workload of learning: a model and batches of it, taken in turn.
pub struct Workload {
    pub name: &'static str,
    pub spec: ModelSpec,
    pub batches: Vec<Batch>,
}

/// All of them.
pub fn workloads() -> Vec<Workload> {
    let reference = |name, layers| Workload {
        name,
        spec: ModelSpec { layers, ..reference_spec() },
        batches: vec![reference_batch(64)],
    };
    let value = value_spec();
    vec![
        reference("train step, 12 layers, batch 64", 12),
        reference("train step, 4 layers, batch 64", 4),
        Workload { name: "train step, BO's value model", batches: value_batches(&value), spec: value },
    ]
}

/// Numbers that look random and are the same everywhere.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: usize) -> u32 {
        (self.next() % bound as u64) as u32
    }

    /// Between −1 and 1.
    fn real(&mut self) -> f32 {
        (self.next() % 20_001) as f32 / 10_000.0 - 1.0
    }

    fn tokens<'a>(&mut self, lengths: &[usize], fields: impl Iterator<Item = &'a FieldSpec>) -> Tokens {
        let mut offsets = vec![0];
        lengths.iter().for_each(|n| offsets.push(offsets.last().copied().unwrap_or(0) + n));
        let total: usize = lengths.iter().sum();
        let values = fields.map(|field| match field.kind {
            FieldKind::Categorical { size } => FieldValues::Categorical((0..total).map(|_| self.below(size)).collect()),
            FieldKind::Vector { size, .. } => FieldValues::Vector((0..total * size).map(|_| self.real()).collect()),
        });
        let fields = values.collect();
        Tokens::new(offsets, fields)
    }
}

/// BO's `value` model: x with sines and cosines and the log of the history's size on all tokens, y through an MLP on
/// the history, a distribution of the value at every query.
fn value_spec() -> ModelSpec {
    let field = |name: &str, kind, on| FieldSpec { name: name.into(), kind, on };
    ModelSpec {
        layers: 6,
        width: 128,
        attention_heads: 4,
        mlp_width: 512,
        context: 64,
        history: History::Set,
        row_attention: false,
        fields: vec![
            field("x", FieldKind::vector(22), TokenRole::Both),
            field("count", FieldKind::vector(1), TokenRole::Both),
            field("y", FieldKind::Vector { size: 2, hidden: Some(128) }, TokenRole::History),
        ],
        heads: vec![HeadSpec { name: "value".into(), conditions: vec![], hidden: vec![128], classes: 128 }],
        pool_heads: vec![],
    }
}

/// 256 tasks with histories of 2 to 64 points, another draw each, 128 queries a task.
fn value_batches(spec: &ModelSpec) -> Vec<Batch> {
    let lengths = |noise: &mut Noise| (0..256).map(|_| 2 + noise.below(63) as usize).collect::<Vec<_>>();
    (0..8).map(|draw| value_batch(spec, &lengths(&mut Noise(draw)), 128)).collect()
}

/// A class for every query.
fn value_batch(spec: &ModelSpec, lengths: &[usize], queries: usize) -> Batch {
    let mut noise = Noise(lengths.len() as u64 + 11);
    let history = noise.tokens(lengths, spec.fields.iter().filter(|f| f.on_history()));
    let queries = noise.tokens(&vec![queries; lengths.len()], spec.fields.iter().filter(|f| f.on_query()));
    let (first, count) = (history.len() as u32, queries.len());
    let mut noise = Noise(5);
    let targets = ClassTargets {
        head: 0,
        rows: (first..first + count as u32).collect(),
        conditions: vec![],
        classes: (0..count).map(|_| noise.below(spec.heads[0].classes)).collect(),
        weights: vec![1.0; count],
        scale: 1.0 / count as f32,
    };
    Batch { history, queries: Some(queries), class_targets: vec![targets], pool_targets: vec![] }
}

/// Sequences that are decoded in lock step.
pub const SEQUENCES: usize = 1000;

/// One more token for each of many sequences of the reference model at a context: (seconds, bytes).
pub fn decode(cuda: &Cuda, at: usize, repeat: usize) -> Result<(f64, f64)> {
    let spec = reference_spec();
    let model = Model::new(spec.clone(), 0)?;
    let mut network = cuda::Network::new(cuda, &model, SEQUENCES)?;
    let sequences: Vec<u32> = (0..SEQUENCES as u32).collect();
    network.append(&sequences, &tokens(&[at; SEQUENCES]))?;
    let next = tokens(&[1; SEQUENCES]);
    let mut steps = |count: usize| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..count {
            sequences.iter().for_each(|&s| network.truncate(s as usize, at));
            network.append(&sequences, &next)?;
            network.logits(0, &[])?;
        }
        Ok(start.elapsed().as_secs_f64() / count as f64)
    };
    steps(5)?;
    let bytes = SEQUENCES * at * spec.layers * 4 * spec.width + 2 * model.weights().len();
    Ok((steps(repeat)?, bytes as f64))
}

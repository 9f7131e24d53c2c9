//! `icee bench engine`: measures training, decoding and queries of the engine on the CPU.

use crate::terminal::say;
use anyhow::Result;
use clap::Args;
use icee_nn::batch::{Batch, ClassTargets, FieldValues, Tokens};
use icee_nn::cpu::{Cache, Cpu, Gradients, Learner, Network};
use icee_nn::optim::{AdamConfig, AdamW, clip_scale};
use icee_nn::{FieldKind, FieldSpec, HeadSpec, History, Model, ModelSpec, Precision, TokenRole};
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

#[derive(Args)]
pub struct EngineArgs {
    /// Use this many threads; 0 takes all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Repeat each measurement this often and report the median.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    instruction_set: String,
    threads: usize,
    repeat: u32,
    results: Vec<Measurement>,
    peak_memory_mb: Option<f64>,
}

#[derive(Serialize)]
struct Measurement {
    name: &'static str,
    milliseconds: f64,
    tokens_per_second: f64,
}

/// The field sizes of the reference workload: cell, action, reward, return bin, improvement.
const FIELDS: [(&str, usize); 5] = [("cell", 82), ("action", 6), ("reward", 3), ("return", 64), ("improves", 2)];
const TOKENS: usize = 1000;
const BATCH: usize = 4;
const CONTEXT: usize = 500;
const CLASSES: usize = 5;
const HISTORY: usize = 64;
const QUERIES: usize = 1024;

pub(super) fn reference_spec() -> ModelSpec {
    let field = |(name, size): (&str, usize)| FieldSpec::history(name, FieldKind::categorical(size));
    ModelSpec {
        layers: 12,
        width: 128,
        attention_heads: 4,
        mlp_width: 512,
        context: TOKENS,
        history: History::Causal,
        row_attention: false,
        fields: FIELDS.map(field).to_vec(),
        heads: vec![HeadSpec { name: "action".into(), conditions: vec![], hidden: vec![], classes: CLASSES }],
        pool_heads: vec![],
    }
}

/// BO's `value` model in two dimensions: x with its sines and cosines, y, and the size of the history.
fn query_spec() -> ModelSpec {
    let field = |name: &str, size, on| FieldSpec { name: name.into(), kind: FieldKind::vector(size), on };
    ModelSpec {
        layers: 6,
        history: History::Set,
        context: HISTORY,
        fields: vec![field("x", 22, TokenRole::Both), field("y", 2, TokenRole::History)],
        heads: vec![HeadSpec { name: "value".into(), conditions: vec![], hidden: vec![], classes: 128 }],
        ..reference_spec()
    }
}

/// Categories that vary from token to token, the same on every run.
pub(super) fn tokens(lengths: &[usize]) -> Tokens {
    let mut offsets = vec![0];
    lengths.iter().for_each(|n| offsets.push(offsets.last().copied().unwrap_or(0) + n));
    let total = *offsets.last().unwrap_or(&0);
    let fields = FIELDS.iter().enumerate().map(|(f, &(_, size))| {
        FieldValues::Categorical((0..total).map(|i| ((i * (7 + f) + i / 13) % size) as u32).collect())
    });
    Tokens::new(offsets, fields.collect())
}

fn reals(count: usize) -> FieldValues {
    FieldValues::Vector((0..count).map(|i| ((i * 2_654_435_761) % 1000) as f32 / 500.0 - 1.0).collect())
}

/// The reference workload: sequences of 1,000 tokens, a class for each token.
pub(super) fn reference_batch(sequences: usize) -> Batch {
    let history = tokens(&vec![TOKENS; sequences]);
    let rows = history.len();
    let targets = ClassTargets {
        head: 0,
        rows: (0..rows as u32).collect(),
        conditions: vec![],
        classes: (0..rows).map(|i| (i * 3 % CLASSES) as u32).collect(),
        weights: vec![1.0; rows],
        scale: 1.0 / rows as f32,
    };
    Batch { history, queries: None, class_targets: vec![targets], pool_targets: vec![] }
}

/// The median over `repeat` calls, after one that is not counted.
fn median(repeat: u32, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let mut times = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

pub fn run(args: &EngineArgs) -> Result<()> {
    let cpu = Cpu::new(args.threads)?;
    let mut results = Vec::new();
    let mut add = |name, seconds: f64, tokens: usize| {
        say(format_args!("{name}: {:.3} ms", seconds * 1e3));
        let tokens_per_second = tokens as f64 / seconds;
        results.push(Measurement { name, milliseconds: seconds * 1e3, tokens_per_second });
    };
    let mut model = Model::new(reference_spec(), 0)?;
    add("train step, batch 4", train_step(args, &cpu, &mut model)?, BATCH * TOKENS);
    add("forward, batch 4", forward(args, &cpu, &model)?, BATCH * TOKENS);
    let (single, half) = (Precision::Single, Precision::Half);
    add("decode, 1 sequence", decode(args, &cpu, &model, 1, single, single)?, 1);
    add("decode, 1 sequence, 16-bit", decode(args, &cpu, &model, 1, half, half)?, 1);
    add("decode, 100 sequences", decode(args, &cpu, &model, 100, single, single)?, 100);
    // Many sequences share the weights' traffic, so only the caches are halved.
    add("decode, 100 sequences, 16-bit", decode(args, &cpu, &model, 100, single, half)?, 100);
    add("1,024 queries, history 64", queries(args, &cpu)?, QUERIES);
    let report = Report {
        instruction_set: cpu.isa().to_string(),
        threads: cpu.threads(),
        repeat: args.repeat,
        results,
        peak_memory_mb: peak_memory_mb(),
    };
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    writeln!(out, "{} on {} threads, median of {}", report.instruction_set, report.threads, report.repeat)?;
    for r in &report.results {
        writeln!(out, "{:<32} {:>10.3} ms {:>12.0} tokens/s", r.name, r.milliseconds, r.tokens_per_second)?;
    }
    if let Some(memory) = report.peak_memory_mb {
        writeln!(out, "peak memory {memory:.0} MB")?;
    }
    Ok(())
}

fn train_step(args: &EngineArgs, cpu: &Cpu, model: &mut Model) -> Result<f64> {
    let batch = reference_batch(BATCH);
    let mut learner = Learner::new(cpu);
    let mut gradients = Gradients::default();
    let mut adam = AdamW::new(model.layout(), AdamConfig::default());
    median(args.repeat, || {
        gradients.clear();
        learner.accumulate(model, &batch, &mut gradients)?;
        let scale = clip_scale(gradients.square_sum(cpu).sqrt(), 1.0);
        adam.step(cpu, model, &gradients, 1e-4, scale)?;
        Ok(())
    })
}

fn forward(args: &EngineArgs, cpu: &Cpu, model: &Model) -> Result<f64> {
    let batch = reference_batch(BATCH);
    let mut learner = Learner::new(cpu);
    median(args.repeat, || {
        learner.evaluate(model, &batch)?;
        Ok(())
    })
}

/// One token to each sequence, at a context of 500.
fn decode(
    args: &EngineArgs,
    cpu: &Cpu,
    model: &Model,
    sequences: usize,
    weights: Precision,
    cache: Precision,
) -> Result<f64> {
    let mut network = Network::new(cpu, model, weights);
    let prompt = tokens(&[CONTEXT]);
    let mut caches = Vec::new();
    // Not forks of one: they would share their pages, and so their memory traffic.
    for _ in 0..sequences {
        let mut cache = network.cache(cache);
        network.append(&mut [&mut cache], &prompt)?;
        caches.push(cache);
    }
    let next = tokens(&vec![1; sequences]);
    let inner = if sequences == 1 { 20 } else { 5 };
    let seconds = median(args.repeat, || {
        for _ in 0..inner {
            caches.iter_mut().for_each(|c| c.truncate(CONTEXT));
            let mut all: Vec<&mut Cache> = caches.iter_mut().collect();
            let out = network.append(&mut all, &next)?.to_vec();
            network.logits(0, &out, &[])?;
        }
        Ok(())
    })?;
    Ok(seconds / f64::from(inner))
}

fn queries(args: &EngineArgs, cpu: &Cpu) -> Result<f64> {
    let model = Model::new(query_spec(), 0)?;
    let mut network = Network::new(cpu, &model, Precision::Single);
    let history = Tokens::single(HISTORY, vec![reals(HISTORY * 22), reals(HISTORY * 2)]);
    let pool = Tokens::single(QUERIES, vec![reals(QUERIES * 22)]);
    let inner = 5;
    let seconds = median(args.repeat, || {
        for _ in 0..inner {
            let mut cache = network.cache(Precision::Single);
            network.append(&mut [&mut cache], &history)?;
            let out = network.query(&[&cache], &pool)?.to_vec();
            network.logits(0, &out, &[])?;
        }
        Ok(())
    })?;
    Ok(seconds / f64::from(inner))
}

/// The most memory the process has had, where the system tells (Linux).
fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

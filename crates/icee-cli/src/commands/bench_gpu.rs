//! `icee bench gpu`: measures training and decoding on a GPU.

use super::bench_gpu_cases::{SEQUENCES, Workload, decode, workloads};
use anyhow::Result;
use clap::Args;
use icee_nn::batch::Batch;
use icee_nn::cuda::{self, Cuda};
use icee_nn::optim::AdamConfig;
use icee_nn::{History, Model, ModelSpec};
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

const WARM_UP: usize = 5;

#[derive(Args)]
pub struct GpuArgs {
    /// Measure this many steps.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    device: Option<String>,
    /// Why nothing was done, on a machine without a GPU.
    skipped: Option<String>,
    results: Vec<Speed>,
}

#[derive(Serialize)]
struct Speed {
    name: &'static str,
    milliseconds: f64,
    tokens_per_second: f64,
    /// The operations that a step must do, as a share of what the GPU's largest products reach.
    matrix_share: f64,
    /// The bytes that its kernels read and write, as a share of what a copy reaches.
    memory_share: f64,
}

pub fn run(args: &GpuArgs) -> Result<()> {
    match Cuda::new() {
        Ok(cuda) => speed(args, &cuda),
        Err(reason) => skip(args, &reason.to_string()),
    }
}

fn skip(args: &GpuArgs, reason: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        let report = Report { device: None, skipped: Some(reason.into()), results: vec![] };
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        writeln!(out, "skipped: no CUDA device ({reason})")?;
    }
    Ok(())
}

/// What a training step must do at least.
#[derive(Clone, Copy)]
struct Cost {
    /// Operations of all matrix products and of attention, forward and backward; nothing computed twice is counted.
    operations: f64,
    /// Bytes that the blocks' kernels read and write, every intermediate once.
    bytes: f64,
}

fn cost(spec: &ModelSpec, batch: &Batch) -> Cost {
    let (layers, width, hidden, rows) =
        (spec.layers as f64, spec.width as f64, spec.mlp_width as f64, batch.rows() as f64);
    let lengths = |offsets: &[usize]| offsets.windows(2).map(|w| (w[1] - w[0]) as f64).collect::<Vec<_>>();
    let history = lengths(&batch.history.offsets);
    let queries = batch.queries.as_ref().map_or(vec![0.0; history.len()], |q| lengths(&q.offsets));
    let pairs = history.iter().zip(&queries).map(|(&n, &q)| match spec.history {
        History::Causal => n * (n + 1.0) / 2.0 + q * n,
        History::Set => n * n + q * n,
    });
    let pairs: f64 = pairs.sum();
    let heads = batch.class_targets.iter().map(|targets| {
        let head = &spec.heads[targets.head];
        let sizes = [&[spec.width], &head.hidden[..], &[head.classes]].concat();
        targets.rows.len() as f64 * sizes.windows(2).map(|w| (w[0] * w[1]) as f64).sum::<f64>()
    });
    let heads: f64 = heads.sum();
    let forward = layers * (rows * (4.0 * width * width + 2.0 * width * hidden) + 2.0 * pairs * width) + heads;
    Cost {
        operations: 3.0 * 2.0 * forward,
        // A row of a block: 48 and 94 bytes a number of the stream, 6 and 14 a number of the MLP's hidden layer.
        bytes: layers * rows * (142.0 * width + 20.0 * hidden),
    }
}

fn speed(args: &GpuArgs, cuda: &Cuda) -> Result<()> {
    let ceilings = cuda.ceilings()?;
    let mut results = Vec::new();
    for Workload { name, spec, batches } in workloads() {
        let model = Model::new(spec.clone(), 0)?;
        let mut learner = cuda::Learner::new(cuda, &model, AdamConfig::default())?;
        let mut steps = |count: usize| -> Result<f64> {
            let start = Instant::now();
            for batch in batches.iter().cycle().take(count) {
                learner.submit(batch)?;
                learner.step(1e-4, 1.0)?;
            }
            learner.losses()?;
            Ok(start.elapsed().as_secs_f64() / count as f64)
        };
        // Each batch twice, so that all are captured.
        steps(WARM_UP.max(2 * batches.len()))?;
        let count = (args.repeat as usize).next_multiple_of(batches.len());
        let seconds = steps(count)?;
        let mean = |of: fn(&Cost) -> f64| {
            batches.iter().map(|b| of(&cost(&spec, b))).sum::<f64>() / batches.len() as f64 / seconds
        };
        let rows = batches.iter().map(Batch::rows).sum::<usize>() as f64 / batches.len() as f64;
        results.push(Speed {
            name,
            milliseconds: seconds * 1e3,
            tokens_per_second: rows / seconds,
            matrix_share: mean(|c| c.operations) / ceilings.operations,
            memory_share: mean(|c| c.bytes) / ceilings.bytes,
        });
    }
    let (seconds, bytes) = decode(cuda, 500, args.repeat as usize)?;
    results.push(Speed {
        name: "decode, 1,000 sequences at 500",
        milliseconds: seconds * 1e3,
        tokens_per_second: SEQUENCES as f64 / seconds,
        matrix_share: 0.0,
        memory_share: bytes / seconds / ceilings.bytes,
    });
    let mut out = std::io::stdout().lock();
    if args.json {
        let report = Report { device: Some(cuda.name().into()), skipped: None, results };
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    writeln!(
        out,
        "{}, mean of {} steps; ceilings here: {:.0} TFLOP/s, {:.2} TB/s",
        cuda.name(),
        args.repeat,
        ceilings.operations / 1e12,
        ceilings.bytes / 1e12
    )?;
    for r in &results {
        writeln!(
            out,
            "{:<34} {:>9.3} ms {:>12.0} tokens/s {:>4.0} % of matrix {:>4.0} % of memory",
            r.name,
            r.milliseconds,
            r.tokens_per_second,
            1e2 * r.matrix_share,
            1e2 * r.memory_share
        )?;
    }
    Ok(())
}

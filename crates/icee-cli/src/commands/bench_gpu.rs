//! `icee bench gpu`: is the GPU right, and how fast is it.

use super::bench::reference_spec;
use super::bench_gpu_cases::reference_batch;
use super::bench_gpu_check;
use anyhow::Result;
use clap::Args;
use icee_nn::Model;
use icee_nn::cuda::{self, Cuda};
use icee_nn::optim::AdamConfig;
use serde::Serialize;
use std::time::Instant;

const WARM_UP: usize = 5;

#[derive(Args)]
pub struct GpuArgs {
    /// Compare every loss and gradient with the CPU's instead of measuring speed
    #[arg(long)]
    check: bool,
    /// Steps to measure
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: u32,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
pub(super) struct Report<T> {
    pub device: Option<String>,
    /// Why nothing was done, on a machine without a GPU.
    pub skipped: Option<String>,
    pub results: Vec<T>,
}

#[derive(Serialize)]
struct Speed {
    name: &'static str,
    milliseconds: f64,
    tokens_per_second: f64,
}

pub fn run(args: &GpuArgs) -> Result<()> {
    let cuda = match Cuda::new() {
        Ok(cuda) => cuda,
        Err(reason) => return skip(args, &reason.to_string()),
    };
    if args.check { bench_gpu_check::check(&cuda, args.json) } else { speed(args, &cuda) }
}

fn skip(args: &GpuArgs, reason: &str) -> Result<()> {
    if args.json {
        let report: Report<Speed> = Report { device: None, skipped: Some(reason.into()), results: vec![] };
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("skipped: no CUDA device ({reason})");
    }
    Ok(())
}

fn speed(args: &GpuArgs, cuda: &Cuda) -> Result<()> {
    let mut results = Vec::new();
    for (name, layers) in [("train step, 12 layers, batch 64", 12), ("train step, 4 layers, batch 64", 4)] {
        let mut spec = reference_spec();
        spec.layers = layers;
        let model = Model::new(spec, 0)?;
        let batch = reference_batch();
        let mut learner = cuda::Learner::new(cuda, &model, AdamConfig::default())?;
        let mut steps = |count: usize| -> Result<f64> {
            let start = Instant::now();
            for _ in 0..count {
                learner.submit(&batch)?;
                learner.step(1e-4, 1.0)?;
            }
            learner.losses()?;
            Ok(start.elapsed().as_secs_f64() / count as f64)
        };
        steps(WARM_UP)?;
        let seconds = steps(args.repeat as usize)?;
        let tokens_per_second = batch.rows() as f64 / seconds;
        results.push(Speed { name, milliseconds: seconds * 1e3, tokens_per_second });
    }
    if args.json {
        let report = Report { device: Some(cuda.name().into()), skipped: None, results };
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    println!("{}, mean of {} steps", cuda.name(), args.repeat);
    for r in &results {
        println!("{:<34} {:>9.3} ms {:>12.0} tokens/s", r.name, r.milliseconds, r.tokens_per_second);
    }
    Ok(())
}

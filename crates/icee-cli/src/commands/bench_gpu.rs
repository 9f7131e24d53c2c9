//! `icee bench gpu`: is the GPU right, and how fast is it.

use super::bench::reference_spec;
use super::bench_gpu_cases::{Case, cases, fill, learning_case, reference_batch};
use anyhow::{Result, bail};
use clap::Args;
use icee_nn::Model;
use icee_nn::cpu::{self, Cpu, Gradients};
use icee_nn::cuda::{self, Cuda};
use icee_nn::optim::{AdamConfig, AdamW, clip_scale};
use serde::Serialize;
use std::time::Instant;

/// What bf16 arithmetic may cost: relative errors of losses and of each tensor's gradient.
const LOSS_TOLERANCE: f64 = 5e-3;
const GRADIENT_TOLERANCE: f64 = 3e-2;
/// Learning curves may drift apart a little more.
const CURVE_TOLERANCE: f64 = 2e-2;
const CURVE_STEPS: usize = 40;
const CURVE_NORMS: usize = 5;
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
struct Report<T> {
    device: Option<String>,
    /// Why nothing was done, on a machine without a GPU.
    skipped: Option<String>,
    results: Vec<T>,
}

#[derive(Serialize)]
struct Comparison {
    case: &'static str,
    loss_error: f64,
    gradient_error: f64,
    worst_tensor: String,
    /// Whether a second run gave the same bits.
    repeats: bool,
    passed: bool,
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
    if args.check { check(args, &cuda) } else { speed(args, &cuda) }
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

fn check(args: &GpuArgs, cuda: &Cuda) -> Result<()> {
    let cpu = Cpu::new(0)?;
    let mut results = Vec::new();
    for case in cases() {
        results.push(compare(&cpu, cuda, &case)?);
    }
    results.push(compare_curves(&cpu, cuda)?);
    let failed = results.iter().filter(|r| !r.passed).count();
    if args.json {
        let report = Report { device: Some(cuda.name().into()), skipped: None, results };
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{} against the CPU, relative errors", cuda.name());
        println!("{:<34}{:>11}{:>11}  {:<8}{:<8}worst tensor", "case", "loss", "gradient", "repeats", "");
        for r in &results {
            let (repeats, passed) = (if r.repeats { "yes" } else { "no" }, if r.passed { "ok" } else { "FAILED" });
            println!(
                "{:<34}{:>11.2e}{:>11.2e}  {repeats:<8}{passed:<8}{}",
                r.case, r.loss_error, r.gradient_error, r.worst_tensor
            );
        }
    }
    if failed > 0 {
        bail!("{failed} of the comparisons failed");
    }
    Ok(())
}

fn compare(cpu: &Cpu, cuda: &Cuda, case: &Case) -> Result<Comparison> {
    let mut model = Model::new(case.spec.clone(), 1)?;
    fill(&mut model);
    let mut gradients = Gradients::default();
    let expected = cpu::Learner::new(cpu).accumulate(&model, &case.batch, &mut gradients)?.clone();
    let mut learner = cuda::Learner::new(cuda, &model, AdamConfig::default())?;
    let losses = learner.accumulate(&case.batch)?.clone();
    let first = learner.gradients()?;
    // Twice more: captured as a graph, and replayed.
    let mut repeats = true;
    for _ in 0..2 {
        learner.clear_gradients()?;
        repeats &= *learner.accumulate(&case.batch)? == losses && learner.gradients()? == first;
    }
    repeats &= *learner.evaluate(&case.batch)? == losses;
    let loss_errors = losses.class.iter().zip(&expected.class).map(|(got, e)| (got - e).abs() / e.abs().max(1e-3));
    let loss_error = loss_errors.fold(0.0, largest);
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    // A tensor whose gradient cancels to almost nothing is measured against the whole.
    let whole = norm(&mut gradients.values.iter().map(|&g| f64::from(g)));
    let (mut gradient_error, mut worst_tensor) = (0.0, String::new());
    for tensor in &model.layout().tensors {
        let (got, wanted) = (&first[tensor.range.clone()], &gradients.values[tensor.range.clone()]);
        let difference = norm(&mut got.iter().zip(wanted).map(|(g, w)| f64::from(g - w)));
        let error = difference / (norm(&mut wanted.iter().map(|&w| f64::from(w))) + 1e-2 * whole);
        if worst_tensor.is_empty() || largest(gradient_error, error) > gradient_error {
            (gradient_error, worst_tensor) = (error, tensor.name.clone());
        }
    }
    let passed = loss_error <= LOSS_TOLERANCE && gradient_error <= GRADIENT_TOLERANCE && repeats;
    Ok(Comparison { case: case.name, loss_error, gradient_error, worst_tensor, repeats, passed })
}

/// The larger of two; not-a-number is the largest of all.
fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// Trains a small model on both devices and compares the losses, step by step, and the weights' distance at the end.
fn compare_curves(cpu: &Cpu, cuda: &Cuda) -> Result<Comparison> {
    let case = learning_case();
    let (rate, clip) = (2e-3, 1.0);
    let mut model = Model::new(case.spec.clone(), 3)?;
    let start = model.weights().to_vec();
    let mut on_gpu = cuda::Learner::new(cuda, &model, AdamConfig::default())?;
    let mut on_cpu = cpu::Learner::new(cpu);
    let mut gradients = Gradients::default();
    let mut adam = AdamW::new(model.layout(), AdamConfig::default());
    let (mut loss_error, mut norm_error) = (0.0, 0.0);
    for step in 0..CURVE_STEPS {
        gradients.clear();
        let expected = on_cpu.accumulate(&model, &case.batch, &mut gradients)?.total();
        let norm = gradients.square_sum(cpu).sqrt();
        adam.step(cpu, &mut model, &gradients, rate, clip_scale(norm, f64::from(clip)))?;
        let got = on_gpu.accumulate(&case.batch)?.total();
        on_gpu.step(rate, clip)?;
        loss_error = largest(loss_error, (got - expected).abs() / expected);
        // Later the gradients are small and mostly noise, and the two models are no longer the same.
        if step < CURVE_NORMS {
            norm_error = largest(norm_error, (on_gpu.gradient_norm()? - norm).abs() / norm);
        }
    }
    // Saving and restoring must lose nothing.
    let mut trained = model.clone();
    on_gpu.download(&mut trained)?;
    let state = on_gpu.optimiser()?;
    on_gpu.restore(&trained, &state)?;
    let mut again = model.clone();
    on_gpu.download(&mut again)?;
    let repeats = again.weights() == trained.weights() && on_gpu.optimiser()? == state && state.steps() == adam.steps();
    let distance =
        |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a - b) * f64::from(a - b)).sum::<f64>().sqrt();
    // How far the two ended apart, in units of how far they went.
    let apart = distance(trained.weights(), model.weights()) / distance(model.weights(), &start);
    let passed = loss_error <= CURVE_TOLERANCE && norm_error <= GRADIENT_TOLERANCE && repeats;
    let worst_tensor = format!("(gradient: norms; the weights ended {apart:.2} of their way apart)");
    let gradient_error = norm_error;
    Ok(Comparison { case: "learning curve, 40 steps", loss_error, gradient_error, worst_tensor, repeats, passed })
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

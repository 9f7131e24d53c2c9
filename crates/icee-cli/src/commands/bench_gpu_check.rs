//! `icee bench gpu --check`: whether the GPU computes what the CPU computes, to the accuracy of bf16.

use super::bench_gpu::Report;
use super::bench_gpu_cases::{Case, cases, fill, learning_case, value_learning_case};
use super::bench_gpu_play::compare_acting;
use anyhow::{Result, bail};
use icee::{Blueprint, Config, Device, DeviceChoice, Source, presets};
use icee_nn::Model;
use icee_nn::cpu::{self, Cpu, Gradients};
use icee_nn::cuda::{self, Cuda};
use icee_nn::optim::{AdamConfig, AdamW, clip_scale};
use serde::Serialize;

/// What bf16 arithmetic may cost: relative errors of losses and of each tensor's gradient.
const LOSS_TOLERANCE: f64 = 5e-3;
const GRADIENT_TOLERANCE: f64 = 3e-2;
/// Learning curves may drift apart a little more.
const CURVE_TOLERANCE: f64 = 2e-2;
const CURVE_STEPS: usize = 40;
const CURVE_NORMS: usize = 5;
const TRAINING_STEPS: u64 = 60;

#[derive(Serialize)]
pub(super) struct Comparison {
    pub case: &'static str,
    pub loss_error: f64,
    pub gradient_error: f64,
    pub worst_tensor: String,
    /// Whether a second run gave the same bits.
    pub repeats: bool,
    pub passed: bool,
}

/// Runs all comparisons and prints them; an error where one fails.
pub fn check(cuda: &Cuda, json: bool) -> Result<()> {
    let cpu = Cpu::new(0)?;
    let mut results = Vec::new();
    for case in cases() {
        results.push(compare(&cpu, cuda, &case)?);
    }
    results.push(compare_curves(&cpu, cuda, "learning curve, 40 steps", &[learning_case()])?);
    let pair = [learning_case(), value_learning_case()];
    results.push(compare_curves(&cpu, cuda, "two networks together, 40 steps", &pair)?);
    for (name, method) in [("the tiny room, 60 steps", "icee"), ("the tiny room, paper's networks", "icee-paper")] {
        results.push(compare_training(name, method)?);
    }
    results.extend(compare_acting(&cpu, cuda)?);
    let failed = results.iter().filter(|r| !r.passed).count();
    if json {
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
    let all = |losses: &cpu::Losses| losses.class.iter().chain(&losses.pool).copied().collect::<Vec<_>>();
    let (got, wanted) = (all(&losses), all(&expected));
    let loss_errors = got.iter().zip(&wanted).map(|(got, e)| (got - e).abs() / e.abs().max(1e-3));
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
pub(super) fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// Trains networks together on both devices and compares the losses, step by step, and the weights' distance at the
/// end.
fn compare_curves(cpu: &Cpu, cuda: &Cuda, name: &'static str, cases: &[Case]) -> Result<Comparison> {
    let (rate, clip) = (2e-3, 1.0);
    let fresh = |(case, seed): (&Case, u64)| Model::new(case.spec.clone(), seed);
    let mut models = cases.iter().zip(3..).map(fresh).collect::<icee_nn::Result<Vec<_>>>()?;
    let starts: Vec<Vec<f32>> = models.iter().map(|m| m.weights().to_vec()).collect();
    let on_gpu = models.iter().map(|m| cuda::Learner::new(cuda, m, AdamConfig::default()));
    let mut on_gpu = on_gpu.collect::<icee_nn::Result<Vec<_>>>()?;
    let mut on_cpu: Vec<_> = models
        .iter()
        .map(|m| (cpu::Learner::new(cpu), Gradients::default(), AdamW::new(m.layout(), AdamConfig::default())))
        .collect();
    let (mut loss_error, mut norm_error) = (0.0, 0.0);
    for step in 0..CURVE_STEPS {
        let (mut expected, mut squares) = (0.0, 0.0);
        for (((learner, gradients, _), model), case) in on_cpu.iter_mut().zip(&models).zip(cases) {
            gradients.clear();
            expected += learner.accumulate(model, &case.batch, gradients)?.total();
            squares += gradients.square_sum(cpu);
        }
        let norm = squares.sqrt();
        for ((_, gradients, adam), model) in on_cpu.iter_mut().zip(&mut models) {
            adam.step(cpu, model, gradients, rate, clip_scale(norm, f64::from(clip)))?;
        }
        for (learner, case) in on_gpu.iter_mut().zip(cases) {
            learner.submit(&case.batch)?;
        }
        cuda::step_together(&mut on_gpu, rate, clip)?;
        let mut got = 0.0;
        for learner in &mut on_gpu {
            got += learner.losses()?.total();
        }
        loss_error = largest(loss_error, (got - expected).abs() / expected);
        // Later the gradients are small and mostly noise, and the models are no longer the same.
        if step < CURVE_NORMS {
            norm_error = largest(norm_error, (on_gpu[0].gradient_norm()? - norm).abs() / norm);
        }
    }
    let (mut repeats, mut apart, mut way) = (true, 0.0, 0.0);
    for (((learner, model), start), (_, _, adam)) in on_gpu.iter_mut().zip(&models).zip(&starts).zip(&on_cpu) {
        // Saving and restoring must lose nothing.
        let mut trained = model.clone();
        learner.download(&mut trained)?;
        let state = learner.optimiser()?;
        learner.restore(&trained, &state)?;
        let mut again = model.clone();
        learner.download(&mut again)?;
        repeats &= again.weights() == trained.weights();
        repeats &= learner.optimiser()? == state && state.steps() == adam.steps();
        let square = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
        apart += square(trained.weights(), model.weights());
        way += square(model.weights(), start);
    }
    let apart = (apart / way).sqrt();
    let passed = loss_error <= CURVE_TOLERANCE && norm_error <= GRADIENT_TOLERANCE && repeats;
    let worst_tensor = format!("(gradient: norms; the weights ended {apart:.2} of their way apart)");
    Ok(Comparison { case: name, loss_error, gradient_error: norm_error, worst_tensor, repeats, passed })
}

/// Trains the tiny preset on both devices as `icee train` does, on fresh games, and compares the losses.
fn compare_training(name: &'static str, method: &str) -> Result<Comparison> {
    let layers = [presets::world("dark-room-tiny")?, presets::method(method)?];
    let config = Config::layered(&layers, &[])?;
    let source = Source::of_config(&config)?;
    let blueprint = Blueprint::new(&config, &source.task())?;
    let train = |choice| -> Result<Vec<(f64, f64)>> {
        let device = Device::choose(choice, 0)?;
        let with_adam = |model: Model| {
            let adam = AdamW::new(model.layout(), AdamConfig::default());
            (model, adam)
        };
        let mut models: Vec<_> = blueprint.fresh_models(1)?.into_iter().map(with_adam).collect();
        let mut learner = device.learner(models.len());
        let mut curve = Vec::new();
        for step in 0..TRAINING_STEPS {
            let sequences = source.sequences(&config, blueprint.episodes, step)?;
            let batches = blueprint.batches(&sequences, &blueprint.labels(&sequences));
            let update = learner.update(&mut models, &batches, 1e-3, 1.0)?;
            curve.push((update.total(), update.norm));
        }
        Ok(curve)
    };
    let (gpu, again) = (train(DeviceChoice::Cuda)?, train(DeviceChoice::Cuda)?);
    let cpu = train(DeviceChoice::Cpu)?;
    let error = |(got, wanted): (f64, f64)| (got - wanted).abs() / wanted;
    let losses = gpu.iter().zip(&cpu).map(|(g, c)| error((g.0, c.0)));
    let norms = gpu.iter().zip(&cpu).take(CURVE_NORMS).map(|(g, c)| error((g.1, c.1)));
    let (loss_error, gradient_error) = (losses.fold(0.0, largest), norms.fold(0.0, largest));
    let repeats = gpu == again;
    let passed = loss_error <= CURVE_TOLERANCE && gradient_error <= GRADIENT_TOLERANCE && repeats;
    let last = gpu.len() - 1;
    let worst_tensor = format!("(gradient: norms; last losses {:.4} and {:.4})", gpu[last].0, cpu[last].0);
    Ok(Comparison { case: name, loss_error, gradient_error, worst_tensor, repeats, passed })
}

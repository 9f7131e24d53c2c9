//! Against PyTorch in float64: outputs, losses, the gradient of every parameter, and AdamW step by step.

mod common;

use common::{Golden, load_golden};
use icee_nn::cpu::{Cpu, Gradients, Isa, Learner};
use icee_nn::optim::{AdamConfig, AdamW, clip_scale};
use safetensors::SafeTensors;

const CASES: [&str; 5] = ["causal", "set", "pool", "wide", "table"];

fn tensor(tensors: &SafeTensors<'_>, name: &str) -> Vec<f32> {
    let view = tensors.tensor(name).unwrap();
    view.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Largest difference relative to the tensor's largest value; gradients that cancel to nothing count as 0.01.
fn relative_error(got: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(got.len(), expected.len());
    let size = expected.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    let error = got.iter().zip(expected).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
    error / size.max(1e-2)
}

#[test]
fn losses_and_every_gradient_agree_with_pytorch() {
    for case in CASES {
        let Golden { record, tensors, model, batch } = load_golden(case);
        let expected = SafeTensors::deserialize(&tensors).unwrap();
        for isa in Isa::available() {
            let mut learner = Learner::new(&Cpu::with_isa(2, isa).unwrap());
            let mut gradients = Gradients::default();
            let losses = learner.accumulate(&model, &batch, &mut gradients).unwrap().clone();
            let all: Vec<f64> = losses.class.iter().chain(&losses.pool).copied().collect();
            for (i, loss) in all.iter().enumerate() {
                let wanted = record["losses"][i].as_f64().unwrap();
                assert!((loss - wanted).abs() < 1e-5 * wanted.abs(), "{case} {isa} loss {i}: {loss} {wanted}");
            }
            assert_eq!(learner.evaluate(&model, &batch).unwrap().clone(), losses, "{case} {isa}");
            for info in &model.layout().tensors {
                let wanted = tensor(&expected, &format!("gradient.{}", info.name));
                let error = relative_error(&gradients.values[info.range.clone()], &wanted);
                assert!(error < 2e-5, "{case} {isa} {}: relative error {error:e}", info.name);
            }
        }
    }
}

#[test]
fn gradients_accumulate() {
    let Golden { model, batch, .. } = load_golden("causal");
    let mut learner = Learner::new(&Cpu::new(1).unwrap());
    let (mut once, mut twice) = (Gradients::default(), Gradients::default());
    learner.accumulate(&model, &batch, &mut once).unwrap();
    learner.accumulate(&model, &batch, &mut twice).unwrap();
    learner.accumulate(&model, &batch, &mut twice).unwrap();
    let doubled: Vec<f32> = once.values.iter().map(|g| 2.0 * g).collect();
    assert!(relative_error(&twice.values, &doubled) < 1e-6);
    twice.clear();
    assert!(twice.values.iter().all(|&g| g == 0.0));
}

#[test]
fn one_learner_serves_models_and_batches_of_any_size_in_turn() {
    let cpu = Cpu::new(2).unwrap();
    let mut shared = Learner::new(&cpu);
    for case in ["causal", "pool", "set", "table", "wide", "causal", "table", "set"] {
        let Golden { model, batch, .. } = load_golden(case);
        let (mut got, mut alone) = (Gradients::default(), Gradients::default());
        let losses = shared.accumulate(&model, &batch, &mut got).unwrap().clone();
        assert_eq!(*Learner::new(&cpu).accumulate(&model, &batch, &mut alone).unwrap(), losses, "{case}");
        assert!(got.values == alone.values, "{case}");
        assert_eq!(*shared.evaluate(&model, &batch).unwrap(), losses, "{case}");
    }
}

#[test]
fn updates_that_would_spoil_the_weights_are_refused() {
    let Golden { mut model, batch, .. } = load_golden("causal");
    let cpu = Cpu::new(1).unwrap();
    let before = model.weights().to_vec();
    let mut adam = AdamW::new(model.layout(), AdamConfig::default());
    let mut gradients = Gradients::default();
    let early = adam.step(&cpu, &mut model, &gradients, 1e-3, 1.0).unwrap_err().to_string();
    assert!(early.contains("the gradients 0"), "{early}");
    Learner::new(&cpu).accumulate(&model, &batch, &mut gradients).unwrap();
    gradients.values[7] = f32::NAN;
    let scale = clip_scale(gradients.square_sum(&cpu).sqrt(), 1.0);
    let spoiled = adam.step(&cpu, &mut model, &gradients, 1e-3, scale).unwrap_err().to_string();
    assert!(spoiled.contains("not finite"), "{spoiled}");
    assert!(model.weights() == before && adam.steps() == 0);
}

#[test]
fn batches_that_do_not_fit_are_refused() {
    let Golden { model, batch, .. } = load_golden("pool");
    let mut learner = Learner::new(&Cpu::new(1).unwrap());
    let mut refused = |change: &dyn Fn(&mut icee_nn::batch::Batch)| {
        let mut batch = batch.clone();
        change(&mut batch);
        learner.evaluate(&model, &batch).expect_err("should be refused").to_string()
    };
    assert!(refused(&|b| b.pool_targets[0].probabilities[0] = f32::NAN).contains("probabilities"));
    assert!(refused(&|b| b.pool_targets[0].probabilities[0] = -1.0).contains("probabilities"));
    assert!(refused(&|b| b.pool_targets[0].targets[0] = 4000).contains("outside its pool"));
    assert!(refused(&|b| b.pool_targets[0].weights[0] = f32::INFINITY).contains("finite weights"));
    assert!(refused(&|b| b.class_targets[0].classes[0] = 3).contains("not below 3"));
    assert!(refused(&|b| b.class_targets[0].rows[0] = 400).contains("rows must increase"));
    assert!(refused(&|b| b.class_targets[0].head = 9).contains("class head 9"));
    assert!(refused(&|b| b.history.offsets[1] = usize::MAX).contains("offsets"));
    assert!(refused(&|b| b.history.offsets.push((usize::MAX >> 1) + 2)).contains("tokens"));
    assert!(refused(&|b| b.history.fields.truncate(2)).contains("2 fields given"));
    assert!(refused(&|b| b.queries = Some(b.history.clone())).contains("queries"));
}

#[test]
fn adamw_with_clipping_agrees_step_by_step() {
    for case in CASES {
        let Golden { record, tensors, mut model, batch } = load_golden(case);
        let expected = SafeTensors::deserialize(&tensors).unwrap();
        let cpu = Cpu::new(2).unwrap();
        let mut learner = Learner::new(&cpu);
        let number = |name: &str| record["adam"][name].as_f64().unwrap();
        let config = AdamConfig {
            beta1: number("beta1") as f32,
            beta2: number("beta2") as f32,
            epsilon: number("epsilon") as f32,
            weight_decay: number("weight_decay") as f32,
        };
        let mut adam = AdamW::new(model.layout(), config);
        let mut gradients = Gradients::default();
        for norm in record["norms"].as_array().unwrap() {
            gradients.clear();
            learner.accumulate(&model, &batch, &mut gradients).unwrap();
            let got = gradients.square_sum(&cpu).sqrt();
            let wanted = norm.as_f64().unwrap();
            assert!((got - wanted).abs() < 1e-4 * wanted, "{case}: gradient norm {got}, expected {wanted}");
            adam.step(&cpu, &mut model, &gradients, number("rate") as f32, clip_scale(got, number("clip"))).unwrap();
        }
        assert_eq!(adam.steps(), 5);
        for info in &model.layout().tensors {
            // Adam divides by the gradient's size: where it is zero but for rounding, the update's sign is noise.
            let gradient = tensor(&expected, &format!("gradient.{}", info.name));
            let wanted = tensor(&expected, &format!("after.{}", info.name));
            for ((got, wanted), g) in model.weights()[info.range.clone()].iter().zip(&wanted).zip(&gradient) {
                let error = (got - wanted).abs();
                assert!(error < 2e-5 || g.abs() < 1e-6, "{case} {}: {got} {wanted} (gradient {g})", info.name);
            }
        }
    }
}

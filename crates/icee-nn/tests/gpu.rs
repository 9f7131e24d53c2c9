//! The GPU against the CPU, to the accuracy of bf16, and against itself, to the bit. Where there is no GPU, every test
//! ends at once and says so. `--nocapture` shows how far apart the two are.
#![allow(clippy::print_stdout, reason = "figures, for whoever asks")]

#[path = "common/gpu_cases.rs"]
mod cases;

use cases::{Case, Noise, cases, fill, learning_case, play_spec, random_tokens, value_learning_case};
use icee_nn::batch::FieldValues;
use icee_nn::cpu::{self, Cache, Cpu, Gradients, Losses};
use icee_nn::cuda::{self, ClassRange, Cuda, ReturnDraw, Tilt};
use icee_nn::optim::{AdamConfig, AdamW, clip_scale};
use icee_nn::{Model, Precision};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// What bf16 arithmetic may cost: relative errors of losses, of each tensor's gradient and of logits.
const LOSS_TOLERANCE: f64 = 5e-3;
const GRADIENT_TOLERANCE: f64 = 3e-2;
const LOGIT_TOLERANCE: f64 = 2e-2;
/// Learning curves may drift apart a little more.
const CURVE_TOLERANCE: f64 = 2e-2;
const CURVE_STEPS: usize = 40;
/// Later the gradients are small and mostly noise, and the models are no longer the same.
const CURVE_NORMS: usize = 5;
/// The same logits must give the same draws but for ties: the share of rows that may differ.
const DRAW_TOLERANCE: f64 = 2e-3;
/// Posteriors from the same logits, both computed in 64 bits, written in 32.
const POSTERIOR_TOLERANCE: f64 = 1e-5;

/// Runs a test on the GPU, or says why there is none. One at a time: they share the GPU's memory.
fn on_gpu(test: impl FnOnce(&Cpu, &Cuda)) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match Cuda::new() {
        Ok(cuda) => test(&Cpu::new(0).unwrap(), &cuda),
        Err(reason) => {
            // Past the harness, which keeps to itself what a test that passes prints.
            let _ = writeln!(std::io::stderr(), "skipped: no GPU here: {reason}");
        }
    }
}

/// What was compared; all of it is before anything fails.
#[derive(Default)]
struct Verdict {
    failed: Vec<String>,
}

impl Verdict {
    fn close(&mut self, what: &str, error: f64, tolerance: f64) {
        let line = format!("{what}: {error:.2e}, at most {tolerance:.0e}");
        println!("{line}");
        // Not-a-number is too far.
        if !matches!(error.partial_cmp(&tolerance), Some(order) if order.is_le()) {
            self.failed.push(line);
        }
    }

    fn holds(&mut self, what: &str, is_so: bool) {
        if !is_so {
            self.failed.push(format!("{what}: no"));
        }
    }

    fn end(self) {
        assert!(self.failed.is_empty(), "{:#?}", self.failed);
    }
}

/// The larger of two; not-a-number is the largest of all.
fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

fn difference(got: &[f32], wanted: &[f32]) -> f64 {
    assert_eq!(got.len(), wanted.len());
    norm(got.iter().zip(wanted).map(|(g, w)| f64::from(g - w)))
}

fn length(values: &[f32]) -> f64 {
    norm(values.iter().map(|&x| f64::from(x)))
}

/// A case's model, with its losses and gradients on the CPU and a learner on the GPU.
fn both(cpu: &Cpu, cuda: &Cuda, case: &Case) -> (Model, Losses, Vec<f32>, cuda::Learner) {
    let mut model = Model::new(case.spec.clone(), 1).unwrap();
    fill(&mut model);
    let mut gradients = Gradients::default();
    let losses = cpu::Learner::new(cpu).accumulate(&model, &case.batch, &mut gradients).unwrap().clone();
    let learner = cuda::Learner::new(cuda, &model, AdamConfig::default()).unwrap();
    (model, losses, gradients.values, learner)
}

#[test]
fn losses_are_those_of_the_cpu() {
    on_gpu(|cpu, cuda| {
        let mut verdict = Verdict::default();
        for case in cases() {
            let (_, wanted, _, mut learner) = both(cpu, cuda, &case);
            let got = learner.accumulate(&case.batch).unwrap().clone();
            assert_eq!((got.class.len(), got.pool.len()), (wanted.class.len(), wanted.pool.len()));
            let pairs = got.class.iter().chain(&got.pool).zip(wanted.class.iter().chain(&wanted.pool));
            let error = pairs.map(|(g, w)| (g - w).abs() / w.abs().max(1e-3)).fold(0.0, largest);
            verdict.close(case.name, error, LOSS_TOLERANCE);
            // Forward alone; then captured as a graph, and replayed.
            let forward = learner.evaluate(&case.batch).unwrap() == &got;
            verdict.holds(&format!("{}, forward alone gives the same bits", case.name), forward);
            let again = (0..2).all(|_| learner.accumulate(&case.batch).unwrap() == &got);
            verdict.holds(&format!("{}, a second and third run give the same bits", case.name), again);
        }
        verdict.end();
    });
}

#[test]
fn gradients_are_those_of_the_cpu() {
    on_gpu(|cpu, cuda| {
        let mut verdict = Verdict::default();
        for case in cases() {
            let (model, _, wanted, mut learner) = both(cpu, cuda, &case);
            learner.accumulate(&case.batch).unwrap();
            let got = learner.gradients().unwrap();
            // A tensor whose gradient cancels to almost nothing is measured against the whole.
            let whole = length(&wanted);
            let errors = model.layout().tensors.iter().map(|tensor| {
                let (got, wanted) = (&got[tensor.range.clone()], &wanted[tensor.range.clone()]);
                (difference(got, wanted) / (length(wanted) + 1e-2 * whole), tensor.name.as_str())
            });
            let (error, worst) = errors.fold((0.0, "all"), |(worst, name), (error, own)| {
                if largest(worst, error) > worst { (largest(worst, error), own) } else { (worst, name) }
            });
            verdict.close(&format!("{}, {worst}", case.name), error, GRADIENT_TOLERANCE);
            let again = (0..2).all(|_| {
                learner.clear_gradients().unwrap();
                learner.accumulate(&case.batch).unwrap();
                learner.gradients().unwrap() == got
            });
            verdict.holds(&format!("{}, captured and replayed gives the same bits", case.name), again);
        }
        verdict.end();
    });
}

#[test]
fn a_network_learns_as_on_the_cpu() {
    on_gpu(|cpu, cuda| compare_curves(cpu, cuda, &[learning_case()]));
}

#[test]
fn two_networks_with_one_norm_learn_as_on_the_cpu() {
    on_gpu(|cpu, cuda| compare_curves(cpu, cuda, &[learning_case(), value_learning_case()]));
}

/// Trains networks together on both devices: losses step by step, norms, and what saving and restoring keeps.
fn compare_curves(cpu: &Cpu, cuda: &Cuda, cases: &[Case]) {
    let (rate, clip) = (2e-3, 1.0);
    let mut models: Vec<Model> =
        cases.iter().zip(3..).map(|(case, seed)| Model::new(case.spec.clone(), seed).unwrap()).collect();
    let starts: Vec<Vec<f32>> = models.iter().map(|m| m.weights().to_vec()).collect();
    let mut on_gpu: Vec<_> =
        models.iter().map(|m| cuda::Learner::new(cuda, m, AdamConfig::default()).unwrap()).collect();
    let mut on_cpu: Vec<_> = models
        .iter()
        .map(|m| (cpu::Learner::new(cpu), Gradients::default(), AdamW::new(m.layout(), AdamConfig::default())))
        .collect();
    let (mut loss_error, mut norm_error) = (0.0, 0.0);
    let (mut first, mut last) = (0.0, 0.0);
    for step in 0..CURVE_STEPS {
        let (mut wanted, mut squares) = (0.0, 0.0);
        for (((learner, gradients, _), model), case) in on_cpu.iter_mut().zip(&models).zip(cases) {
            gradients.clear();
            wanted += learner.accumulate(model, &case.batch, gradients).unwrap().total();
            squares += gradients.square_sum(cpu);
        }
        let norm = squares.sqrt();
        for ((_, gradients, adam), model) in on_cpu.iter_mut().zip(&mut models) {
            adam.step(cpu, model, gradients, rate, clip_scale(norm, f64::from(clip))).unwrap();
        }
        on_gpu.iter_mut().zip(cases).for_each(|(learner, case)| learner.submit(&case.batch).unwrap());
        cuda::step_together(&mut on_gpu, rate, clip).unwrap();
        last = on_gpu.iter_mut().map(|learner| learner.losses().unwrap().total()).sum();
        if step == 0 {
            first = last;
        }
        loss_error = largest(loss_error, (last - wanted).abs() / wanted);
        if step < CURVE_NORMS {
            norm_error = largest(norm_error, (on_gpu[0].gradient_norm().unwrap() - norm).abs() / norm);
        }
    }
    let mut verdict = Verdict::default();
    verdict.close("losses", loss_error, CURVE_TOLERANCE);
    verdict.close("gradient norms", norm_error, GRADIENT_TOLERANCE);
    verdict.holds(&format!("the loss falls, from {first} to {last}"), last < 0.9 * first);
    let (mut apart, mut way) = (0.0, 0.0);
    for (((learner, model), start), (_, _, adam)) in on_gpu.iter_mut().zip(&models).zip(&starts).zip(&on_cpu) {
        let mut trained = model.clone();
        learner.download(&mut trained).unwrap();
        let state = learner.optimiser().unwrap();
        learner.restore(&trained, &state).unwrap();
        let mut again = model.clone();
        learner.download(&mut again).unwrap();
        verdict.holds("restoring keeps the weights", again.weights() == trained.weights());
        verdict.holds("restoring keeps the optimiser", learner.optimiser().unwrap() == state);
        verdict.holds("as many steps", state.steps() == adam.steps());
        apart += difference(trained.weights(), model.weights()).powi(2);
        way += difference(model.weights(), start).powi(2);
    }
    println!("the weights ended {:.2} of their way apart", (apart / way).sqrt());
    verdict.end();
}

/// Ragged appends, cuts and appends again; every head read each time.
#[test]
fn logits_from_caches_are_those_of_the_cpu() {
    on_gpu(|cpu, cuda| {
        let spec = play_spec();
        let mut model = Model::new(spec.clone(), 1).unwrap();
        fill(&mut model);
        let mut on_cpu = cpu::Network::new(cpu, &model, Precision::Single);
        let mut on_gpu = cuda::Network::new(cuda, &model, 5).unwrap();
        let mut caches: Vec<Cache> = (0..5).map(|_| on_cpu.cache(Precision::Single)).collect();
        let mut verdict = Verdict::default();
        // Which sequences, the lengths they are cut to first, and how many tokens each gets.
        let all = usize::MAX;
        let rounds: [(&[u32], &[usize], &[usize]); 5] = [
            (&[0, 1, 2, 3, 4], &[all; 5], &[1, 7, 64, 130, 0]),
            (&[0, 1, 2, 3, 4], &[all; 5], &[1; 5]),
            (&[1, 3, 4], &[all; 3], &[1; 3]),
            (&[0, 2, 3], &[0, 60, 100], &[200, 3, 29]),
            (&[0, 1, 2, 3, 4], &[all; 5], &[1; 5]),
        ];
        for (round, (sequences, cuts, counts)) in rounds.into_iter().enumerate() {
            let tokens = random_tokens(&spec, counts, round as u64);
            for (&s, &cut) in sequences.iter().zip(cuts) {
                caches[s as usize].truncate(cut);
                on_gpu.truncate(s as usize, cut);
            }
            let all = caches.iter_mut().enumerate();
            let mut chosen: Vec<&mut Cache> =
                all.filter(|(i, _)| sequences.contains(&(*i as u32))).map(|(_, cache)| cache).collect();
            let trunk = on_cpu.append(&mut chosen, &tokens).unwrap().to_vec();
            on_gpu.append(sequences, &tokens).unwrap();
            let conditions = [FieldValues::Categorical((0..tokens.len() as u32).map(|i| i % 6).collect())];
            for (head, description) in spec.heads.iter().enumerate() {
                let what = format!("round {round}, head `{}`", description.name);
                let given = &conditions[..description.conditions.len()];
                let wanted = on_cpu.logits(head, &trunk, given).unwrap().to_vec();
                let got = on_gpu.logits(head, given).unwrap();
                verdict.close(&what, difference(&got, &wanted) / length(&wanted), LOGIT_TOLERANCE);
                let again = on_gpu.logits(head, given).unwrap();
                verdict.holds(&format!("{what}, read twice gives the same bits"), again == got);
                if !given.is_empty() {
                    let wanted = on_cpu.logits_for_each(head, &trunk, 0, &[]).unwrap().to_vec();
                    let got = on_gpu.logits_for_each(head).unwrap();
                    let error = difference(&got, &wanted) / length(&wanted);
                    verdict.close(&format!("{what}, each value"), error, LOGIT_TOLERANCE);
                }
            }
        }
        verdict.end();
    });
}

const ROWS: usize = 1000;

/// A network with one token in each of many sequences.
fn playing(cuda: &Cuda) -> cuda::Network {
    let spec = play_spec();
    let mut model = Model::new(spec.clone(), 1).unwrap();
    fill(&mut model);
    let mut network = cuda::Network::new(cuda, &model, ROWS).unwrap();
    let sequences: Vec<u32> = (0..ROWS as u32).collect();
    network.append(&sequences, &random_tokens(&spec, &[1; ROWS], 3)).unwrap();
    network
}

fn softmax(logs: &[f64]) -> Vec<f64> {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logs.iter().map(|x| (x - top).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

fn probabilities(logits: &[f32]) -> Vec<f64> {
    softmax(&logits.iter().map(|&x| f64::from(x)).collect::<Vec<_>>())
}

/// ln p + tilt of the bins in which the model believes.
fn tilted(p: &[f64], tilt: &Tilt<'_>) -> Vec<f64> {
    let total: f64 = p.iter().sum();
    let (mut kept, mut tail) = (p.len(), 0.0);
    while kept > 1 && tail + p[kept - 1] < tilt.guard * total {
        kept -= 1;
        tail += p[kept];
    }
    p.iter().zip(tilt.bins).take(kept).map(|(p, tilt)| p.ln() + tilt).collect()
}

/// Which of the weights a number between 0 and 1 draws.
fn drawn(weights: &[f64], uniform: f64) -> usize {
    let mut left = uniform * weights.iter().sum::<f64>();
    let mut last = 0;
    for (i, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = i;
        if left < weight {
            break;
        }
        left -= weight;
    }
    last
}

/// What [`ReturnDraw`] and [`Tilt`] say, one row at a time.
fn draw_by_hand(logits: &[f32], tilt: &Tilt<'_>, draw: &ReturnDraw) -> (u32, u32) {
    let bins = tilt.bins.len();
    let p = probabilities(logits);
    let slice = draw.slice.unwrap_or_else(|| {
        let (no, yes) = p.split_at(bins);
        let mass: f64 = yes.iter().sum();
        let share = if mass < tilt.guard {
            0.0
        } else if 1.0 - mass < tilt.guard {
            1.0
        } else {
            let (no, yes) = (tilted(no, tilt), tilted(yes, tilt));
            softmax(&[no.clone(), yes].concat())[no.len()..].iter().sum()
        };
        drawn(&[1.0 - share, share], draw.slice_uniform) as u32
    });
    let bin = drawn(&softmax(&tilted(&p[slice as usize * bins..][..bins], tilt)), draw.uniform);
    (slice, bin as u32)
}

#[test]
fn draws_of_returns_are_those_by_hand() {
    on_gpu(|_, cuda| {
        let mut network = playing(cuda);
        let classes = play_spec().heads[0].classes;
        let logits = network.logits(0, &[]).unwrap();
        let mut noise = Noise(99);
        let mut verdict = Verdict::default();
        for (kappa, guard) in [(0.0, 0.0), (20.0, 0.03), (1e6, 0.05)] {
            // Two slices of bins, of which one is given or is drawn too, and one slice.
            for (slices, given) in [(2, false), (2, true), (1, true)] {
                let bins = classes / slices;
                let tilt: Vec<f64> = (0..bins).map(|bin| kappa * ((bin as f64 + 0.5) / bins as f64).ln()).collect();
                let tilt = Tilt { bins: &tilt, guard };
                let draws: Vec<ReturnDraw> = (0..ROWS)
                    .map(|_| ReturnDraw {
                        slice: given.then(|| noise.below(slices)),
                        slice_uniform: noise.unit(),
                        uniform: noise.unit(),
                    })
                    .collect();
                let got = network.draw_returns(0, tilt, &draws).unwrap();
                let lines = logits.chunks_exact(classes);
                let wanted = lines.zip(&draws).map(|(line, draw)| draw_by_hand(line, &tilt, draw));
                let other = got.iter().zip(wanted).filter(|(got, wanted)| *got != wanted).count();
                let what =
                    format!("tilt {kappa}, guard {guard}, {slices} slices, given: {given}, share of other draws");
                verdict.close(&what, other as f64 / ROWS as f64, DRAW_TOLERANCE);
            }
        }
        verdict.end();
    });
}

#[test]
fn posteriors_are_those_by_hand() {
    on_gpu(|_, cuda| {
        let mut network = playing(cuda);
        let spec = play_spec();
        let mut noise = Noise(5);
        let mut verdict = Verdict::default();
        for (head, description) in spec.heads.iter().enumerate() {
            let (name, classes) = (&description.name, description.classes);
            let conditions = [FieldValues::Categorical((0..ROWS as u32).map(|i| i % 6).collect())];
            let given = &conditions[..description.conditions.len()];
            let temperature = 0.5;
            let wanted: Vec<f64> = network
                .logits(head, given)
                .unwrap()
                .chunks_exact(classes)
                .flat_map(|line| softmax(&line.iter().map(|&x| f64::from(x) / temperature).collect::<Vec<_>>()))
                .collect();
            let got = network.class_posterior(head, given, temperature).unwrap();
            verdict.close(&format!("classes of `{name}`"), farthest(&got, &wanted), POSTERIOR_TOLERANCE);
            if given.is_empty() {
                continue;
            }
            let outcomes: Vec<ClassRange> = (0..ROWS)
                .map(|_| {
                    let from = noise.below(classes);
                    ClassRange { from, to: from + 1 + noise.below(classes - from as usize) }
                })
                .collect();
            let each = network.logits_for_each(head).unwrap();
            let values = each.len() / ROWS / classes;
            let rows = each.chunks_exact(values * classes).zip(&outcomes);
            let wanted: Vec<f64> = rows
                .flat_map(|(row, outcome)| {
                    let likelihood = |line: &[f32]| -> f64 {
                        probabilities(line)[outcome.from as usize..outcome.to as usize].iter().sum()
                    };
                    softmax(&row.chunks_exact(classes).map(|l| likelihood(l).ln() / temperature).collect::<Vec<_>>())
                })
                .collect();
            let got = network.outcome_posterior(head, &outcomes, temperature).unwrap();
            verdict.close(&format!("outcomes of `{name}`"), farthest(&got, &wanted), POSTERIOR_TOLERANCE);
        }
        verdict.end();
    });
}

fn farthest(got: &[f32], wanted: &[f64]) -> f64 {
    assert_eq!(got.len(), wanted.len());
    got.iter().zip(wanted).map(|(&g, w)| (f64::from(g) - w).abs()).fold(0.0, largest)
}

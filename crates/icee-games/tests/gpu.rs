//! Learning, acting and whole games on the GPU against the CPU. Where there is no GPU, every test ends at once and says
//! so. `--nocapture` shows how far apart the two are.
#![allow(clippy::print_stdout, reason = "figures, for whoever asks")]

use icee_games::agent::Rules;
use icee_games::config::OutcomeReading;
use icee_games::{Acting, Blueprint, Config, EvaluationGames, ReturnBins, Source, TrainedModel, evaluate, presets};
use icee_nn::batch::{FieldValues, Tokens};
use icee_nn::cuda::{self, ClassRange, Cuda, ReturnDraw, Tilt};
use icee_nn::optim::{AdamConfig, AdamW};
use icee_nn::{ConditionSpec, FieldKind, FieldSpec, HeadSpec, History, Model, ModelSpec};
use icee_train::{Device, DeviceChoice};
use icee_worlds::{Purpose, Registry, Returns, stream};
use rand::RngExt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// What bf16 arithmetic may cost: relative errors of losses as networks learn, and of gradients' norms at first.
const CURVE_TOLERANCE: f64 = 2e-2;
const NORM_TOLERANCE: f64 = 3e-2;
const NORMS: usize = 5;
/// The same logits must give the same choices but for ties: the share of rows that may differ.
const CHOICE_TOLERANCE: f64 = 2e-3;
/// Returns may differ by this many standard errors.
const ERRORS: f64 = 4.0;

/// Runs a test on the GPU, or says why there is none. One at a time: they share the GPU's memory.
fn on_gpu(test: impl FnOnce(&Cuda)) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match Cuda::new() {
        Ok(cuda) => test(&cuda),
        Err(reason) => {
            // Past the harness, which keeps to itself what a test that passes prints.
            let _ = writeln!(std::io::stderr(), "skipped: no GPU here: {reason}");
        }
    }
}

/// The tiny room with one of the methods.
fn tiny(method: &str) -> (Config, Source, Blueprint) {
    let layers = [presets::world("dark-room-tiny").unwrap(), presets::method(method).unwrap()];
    let config = Config::layered(&layers, &[]).unwrap();
    let source = Source::of_config(&config, &Registry::builtin()).unwrap();
    let blueprint = Blueprint::new(&config, &source.task()).unwrap();
    (config, source, blueprint)
}

/// Trains fresh networks on fresh games, as `icee train` does: each step's loss and norm, and the networks.
fn train(device: &Device, method: &str, seed: u64, steps: u64, rate: f32) -> (Vec<(f64, f64)>, Vec<Model>) {
    let (config, source, blueprint) = tiny(method);
    let with_adam = |model: Model| {
        let adam = AdamW::new(model.layout(), AdamConfig::default());
        (model, adam)
    };
    let mut models: Vec<_> = blueprint.fresh_models(seed).unwrap().into_iter().map(with_adam).collect();
    let loader = device.loader(models.iter().map(|(model, _)| model.spec())).unwrap();
    let mut learner = device.learner(models.len());
    let mut curve = Vec::new();
    for step in 0..steps {
        let sequences = source.sequences(&config, blueprint.episodes, step).unwrap();
        let loads = loader.load(blueprint.batches(&sequences, &blueprint.labels(&sequences))).unwrap();
        let update = learner.update(&mut models, &loads, rate, 1.0).unwrap();
        curve.push((update.total(), update.norm));
    }
    learner.synchronise(&mut models).unwrap();
    (curve, models.into_iter().map(|(model, _)| model).collect())
}

/// The largest relative error.
fn largest(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let errors = pairs.map(|(got, wanted)| (got - wanted).abs() / wanted);
    errors.fold(0.0, |a, b| if b.is_nan() { f64::INFINITY } else { a.max(b) })
}

fn compare_training(method: &str) {
    on_gpu(|_| {
        let (steps, rate) = (60, 1e-3);
        let curve = |choice| train(&Device::choose(choice, 0).unwrap(), method, 1, steps, rate).0;
        let (gpu, again, cpu) = (curve(DeviceChoice::Cuda), curve(DeviceChoice::Cuda), curve(DeviceChoice::Cpu));
        let losses = largest(gpu.iter().zip(&cpu).map(|(g, c)| (g.0, c.0)));
        let norms = largest(gpu.iter().zip(&cpu).take(NORMS).map(|(g, c)| (g.1, c.1)));
        println!("{method}: losses {losses:.2e}, norms {norms:.2e} apart");
        assert!(losses <= CURVE_TOLERANCE, "losses are {losses} apart");
        assert!(norms <= NORM_TOLERANCE, "norms are {norms} apart");
        assert_eq!(gpu, again, "two runs on the GPU");
    });
}

#[test]
fn the_tiny_room_is_learned_as_on_the_cpu() {
    compare_training("icee");
}

#[test]
fn the_tiny_room_is_learned_with_the_papers_networks_as_on_the_cpu() {
    compare_training("icee-paper");
}

/// A joint return head, and an outcome head for each of six actions.
fn acting_spec() -> ModelSpec {
    let head = |name: &str, conditions| HeadSpec { name: name.into(), conditions, hidden: vec![64], classes: 84 };
    let action = ConditionSpec { name: "action".into(), kind: FieldKind::categorical(6) };
    ModelSpec {
        layers: 2,
        width: 128,
        attention_heads: 4,
        mlp_width: 512,
        context: 8,
        history: History::Causal,
        row_attention: false,
        fields: vec![FieldSpec::history("cell", FieldKind::categorical(1000))],
        heads: vec![head("return", vec![]), head("outcome", vec![action])],
        pool_heads: vec![],
    }
}

/// The acting rules on the GPU against the same rules on the host, from the same logits and random numbers.
#[test]
fn the_card_chooses_by_the_rules_of_the_host() {
    const ROWS: usize = 1000;
    on_gpu(|cuda| {
        let mut model = Model::new(acting_spec(), 1).unwrap();
        // Weights large enough that beliefs differ from row to row.
        let mut rng = stream(2, Purpose::Agent, 0);
        for tensor in model.layout().tensors.clone() {
            let offset = if tensor.name.ends_with(".gain") { 1.0 } else { 0.0 };
            let random = || offset + 0.3 * (rng.random::<f32>() - 0.5);
            model.weights_mut()[tensor.range].fill_with(random);
        }
        let mut network = cuda::Network::new(cuda, &model, ROWS).unwrap();
        let cells = FieldValues::Categorical((0..ROWS as u32).collect());
        let games: Vec<u32> = (0..ROWS as u32).collect();
        network.append(&games, &Tokens::new((0..=ROWS).collect(), vec![cells])).unwrap();
        let (joint, each) = (network.logits(0, &[]).unwrap(), network.logits_for_each(1).unwrap());
        let (classes, actions) = (84, 6);
        let bins = ReturnBins { low: -1.0, high: 20.0, count: classes / 2 };
        let settings = [
            (0.0, 0.0, OutcomeReading::Exactly),
            (20.0, 0.03, OutcomeReading::AtLeast),
            (1e6, 0.05, OutcomeReading::AtLeast),
        ];
        for (kappa, guard, outcome) in settings {
            let acting = Acting { kappa, guard, outcome, temperature: 0.5, ..Config::default().acting };
            let rules = Rules::new(&acting, bins);
            let tilt: Vec<f64> = (0..bins.count).map(|bin| kappa * bins.share(bin).ln()).collect();
            let mut rngs: Vec<_> = (0..ROWS as u64).map(|row| stream(1, Purpose::Agent, row)).collect();
            let draws = rngs.iter().map(|rng| {
                let mut rng = rng.clone();
                ReturnDraw { slice: None, slice_uniform: rng.random(), uniform: rng.random() }
            });
            let draws: Vec<ReturnDraw> = draws.collect();
            let drawn = network.draw_returns(0, Tilt { bins: &tilt, guard }, &draws).unwrap();
            let wanted = drawn.iter().map(|&(slice, bin)| {
                let (from, end) = (slice * bins.count as u32 + bin, (slice + 1) * bins.count as u32);
                ClassRange { from, to: if outcome == OutcomeReading::Exactly { from + 1 } else { end } }
            });
            let posterior = network.outcome_posterior(1, &wanted.collect::<Vec<_>>(), acting.temperature).unwrap();
            let (mut other, mut error) = (0, 0.0f64);
            for (row, rng) in rngs.iter_mut().enumerate() {
                let p = softmax(&joint[row * classes..][..classes]);
                let slice = rules.draw_episode_rtg(&p, rng);
                let bin = rules.draw_step_bin(&p[slice as usize * bins.count..][..bins.count], rng);
                if drawn[row] != (slice, bin) {
                    other += 1;
                    continue;
                }
                let logits = &each[row * actions * classes..][..actions * classes];
                let wanted = rules.posterior(logits, classes, slice as usize * bins.count, bin);
                for (&got, wanted) in posterior[row * actions..][..actions].iter().zip(wanted) {
                    let apart = (f64::from(got) - wanted).abs();
                    error = if apart.is_nan() { f64::INFINITY } else { error.max(apart) };
                }
            }
            let share = f64::from(other) / ROWS as f64;
            println!("tilt {kappa}: {share} other choices, p(a) {error:.1e} apart");
            assert!(share <= CHOICE_TOLERANCE, "tilt {kappa}: a share of {share} other choices");
            assert!(error <= 1e-5, "tilt {kappa}: p(a) is {error} apart");
        }
    });
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits.iter().map(|&x| f64::from(x - top).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

/// Trains for a while on the GPU, then plays the same games on both devices.
fn compare_games(method: &str) {
    const UPDATES: u64 = 1500;
    const GAMES: usize = 400;
    on_gpu(|_| {
        let device = Device::choose(DeviceChoice::Cuda, 0).unwrap();
        let (_, models) = train(&device, method, 2, UPDATES, 4e-3);
        let (config, source, _) = tiny(method);
        let model = TrainedModel { config, task: source.task(), step: UPDATES, models, log: None };
        let play = |device: &Device| {
            evaluate(device, &model, &Registry::builtin(), &EvaluationGames::new(GAMES, 0)).unwrap().1
        };
        let (gpu, again, cpu) = (play(&device), play(&device), play(&device.without_gpu()));
        let games = |returns: &Returns| (0..GAMES).map(|g| returns.game(g).to_vec()).collect::<Vec<_>>();
        assert_eq!(games(&gpu), games(&again), "two runs on the GPU");
        // The means over all episodes, game by game, are independent.
        let means = |returns: &Returns| {
            let sum = |game| returns.game(game).iter().map(|&r| f64::from(r)).sum::<f64>();
            (0..GAMES).map(|game| sum(game) / returns.episodes() as f64).collect::<Vec<f64>>()
        };
        let (on_gpu, on_cpu) = (means(&gpu), means(&cpu));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / GAMES as f64;
        let differences: Vec<f64> = on_gpu.iter().zip(&on_cpu).map(|(g, c)| g - c).collect();
        let apart = mean(&differences);
        let variance = differences.iter().map(|d| (d - apart).powi(2)).sum::<f64>() / (GAMES - 1) as f64;
        let errors = apart.abs() / (variance / GAMES as f64).sqrt().max(1e-9);
        let (on_gpu, on_cpu) = (mean(&on_gpu), mean(&on_cpu));
        println!("{method}: returns {on_gpu:.3} and {on_cpu:.3}, {errors:.1} standard errors apart");
        assert!(errors <= ERRORS, "returns {on_gpu} and {on_cpu}, {errors} standard errors apart");
    });
}

#[test]
fn games_of_the_tiny_room_end_as_on_the_cpu() {
    compare_games("icee");
}

#[test]
fn games_with_the_papers_networks_end_as_on_the_cpu() {
    compare_games("icee-paper");
}

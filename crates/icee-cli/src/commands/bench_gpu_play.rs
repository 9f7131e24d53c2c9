//! `icee bench gpu --check`, the part about acting: logits, rules and returns of games on the GPU against the CPU's.

use super::bench_gpu_cases::{fill, play_spec, random_tokens};
use super::bench_gpu_check::{Comparison, largest};
use anyhow::Result;
use icee::agent::Rules;
use icee::config::OutcomeReading;
use icee::{Acting, Blueprint, Config, Device, DeviceChoice, ReturnBins, Source, TrainedModel, evaluate, presets};
use icee_nn::batch::{FieldValues, Tokens};
use icee_nn::cpu::{self, Cache, Cpu};
use icee_nn::cuda::{self, Cuda, Outcome, ReturnDraw, Tilt};
use icee_nn::optim::{AdamConfig, AdamW};
use icee_nn::{Model, ModelSpec, Precision};
use icee_worlds::{Purpose, stream};
use rand::RngExt;

/// What bf16 arithmetic may cost: the norm of the difference of logits over their norm.
const LOGIT_TOLERANCE: f64 = 2e-2;
/// The same logits must give the same choices but for ties: the share of rows that may differ.
const CHOICE_TOLERANCE: f64 = 2e-3;
/// Updates before the tiny room is played, and games that are played.
const UPDATES: u64 = 1500;
const GAMES: usize = 400;
/// Returns may differ by this many standard errors.
const ERRORS: f64 = 4.0;

/// All comparisons of acting.
pub fn compare_acting(cpu: &Cpu, cuda: &Cuda) -> Result<Vec<Comparison>> {
    Ok(vec![
        compare_logits(cpu, cuda)?,
        compare_choices(cuda)?,
        compare_games("games of the tiny room", "icee")?,
        compare_games("games, paper's networks", "icee-paper")?,
    ])
}

/// Ragged appends, cuts and appends again; every head read each time.
fn compare_logits(cpu: &Cpu, cuda: &Cuda) -> Result<Comparison> {
    let spec = play_spec();
    let mut model = Model::new(spec.clone(), 1)?;
    fill(&mut model);
    let mut on_cpu = cpu::Network::new(cpu, &model, Precision::Single);
    let mut on_gpu = cuda::Network::new(cuda, &model, 5)?;
    let mut caches: Vec<Cache> = (0..5).map(|_| on_cpu.cache(Precision::Single)).collect();
    let (mut error, mut repeats) = (0.0, true);
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
        let mut chosen: Vec<&mut Cache> =
            caches.iter_mut().enumerate().filter(|(i, _)| sequences.contains(&(*i as u32))).map(|(_, c)| c).collect();
        let trunk = on_cpu.append(&mut chosen, &tokens)?.to_vec();
        on_gpu.append(sequences, &tokens)?;
        let rows = tokens.len() as u32;
        let conditions = [FieldValues::Categorical((0..rows).map(|i| i % 6).collect())];
        for (head, description) in spec.heads.iter().enumerate() {
            let given = &conditions[..description.conditions.len()];
            let wanted = on_cpu.logits(head, &trunk, given)?.to_vec();
            let got = on_gpu.logits(head, given)?;
            error = largest(error, distance(&got, &wanted));
            repeats &= on_gpu.logits(head, given)? == got;
            if !given.is_empty() {
                let wanted = on_cpu.logits_for_each(head, &trunk, 0, &[])?.to_vec();
                error = largest(error, distance(&on_gpu.logits_for_each(head)?, &wanted));
            }
        }
    }
    let passed = error <= LOGIT_TOLERANCE && repeats;
    let worst_tensor = "(logits, appended, cut and appended again)".into();
    Ok(Comparison {
        case: "inference with caches",
        loss_error: error,
        gradient_error: 0.0,
        worst_tensor,
        repeats,
        passed,
    })
}

fn distance(got: &[f32], wanted: &[f32]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut got.iter().zip(wanted).map(|(g, w)| f64::from(g - w)));
    difference / norm(&mut wanted.iter().map(|&w| f64::from(w)))
}

/// The acting rules on the card against the same rules on the host, from the same logits and random numbers.
fn compare_choices(cuda: &Cuda) -> Result<Comparison> {
    const ROWS: usize = 1000;
    let spec = play_spec();
    let mut model = Model::new(spec.clone(), 1)?;
    fill(&mut model);
    let (joint, outcome) = (0, 1);
    let bins = ReturnBins { low: -1.0, high: 20.0, count: spec.heads[joint].classes / 2 };
    let mut network = cuda::Network::new(cuda, &model, ROWS)?;
    let sequences: Vec<u32> = (0..ROWS as u32).collect();
    network.append(&sequences, &random_tokens(&spec, &[1; ROWS], 3))?;
    let logits = network.logits(joint, &[])?;
    let each = network.logits_for_each(outcome)?;
    let (mut differ, mut error, mut rows) = (0, 0.0, 0);
    let settings = [
        (0.0, 0.0, OutcomeReading::Exactly),
        (20.0, 0.03, OutcomeReading::AtLeast),
        (1e6, 0.05, OutcomeReading::AtLeast),
    ];
    for (kappa, guard, reading) in settings {
        let acting = Acting { kappa, guard, outcome: reading, temperature: 0.5, ..Config::default().acting };
        let rules = Rules::new(&acting, bins);
        let tilt: Vec<f64> = (0..bins.count).map(|bin| kappa * bins.share(bin).ln()).collect();
        let mut rngs: Vec<_> = (0..ROWS).map(|row| stream(1, Purpose::Agent, row as u64)).collect();
        let draws: Vec<ReturnDraw> = rngs
            .iter()
            .map(|rng| {
                let mut rng = rng.clone();
                ReturnDraw { slice: None, slice_uniform: rng.random(), uniform: rng.random() }
            })
            .collect();
        let drawn = network.draw_returns(joint, Tilt { bins: &tilt, guard }, &draws)?;
        let wanted: Vec<Outcome> = drawn
            .iter()
            .map(|&(slice, bin)| {
                let start = slice * bins.count as u32;
                let end = if reading == OutcomeReading::Exactly { start + bin + 1 } else { start + bins.count as u32 };
                Outcome { from: start + bin, to: end }
            })
            .collect();
        let posterior = network.outcome_posterior(outcome, &wanted, acting.temperature)?;
        let classes = 2 * bins.count;
        let values = posterior.len() / ROWS;
        for (row, rng) in rngs.iter_mut().enumerate() {
            let p = softmax(&logits[row * classes..][..classes]);
            let slice = rules.draw_episode_rtg(&p, rng);
            let bin = rules.draw_step_bin(&p[slice as usize * bins.count..][..bins.count], rng);
            rows += 1;
            if drawn[row] != (slice, bin) {
                differ += 1;
                continue;
            }
            let logits = &each[row * values * classes..][..values * classes];
            let expected = rules.posterior(logits, classes, slice as usize * bins.count, bin);
            for (&got, wanted) in posterior[row * values..][..values].iter().zip(expected) {
                error = largest(error, (f64::from(got) - wanted).abs());
            }
        }
    }
    let share = f64::from(differ) / f64::from(rows);
    let passed = share <= CHOICE_TOLERANCE && error <= 1e-5;
    let worst_tensor = "(share of other choices, and the largest difference of p(a))".into();
    Ok(Comparison {
        case: "acting rules",
        loss_error: share,
        gradient_error: error,
        worst_tensor,
        repeats: true,
        passed,
    })
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exps: Vec<f64> = logits.iter().map(|&x| f64::from(x - top).exp()).collect();
    let sum: f64 = exps.iter().sum();
    exps.iter().map(|e| e / sum).collect()
}

/// Trains the tiny preset for a while on the GPU, then lets it play the same games on both devices.
fn compare_games(name: &'static str, method: &str) -> Result<Comparison> {
    let config = Config::layered(&[presets::world("dark-room-tiny")?, presets::method(method)?], &[])?;
    let source = Source::of_config(&config)?;
    let blueprint = Blueprint::new(&config, &source.task())?;
    let device = Device::choose(DeviceChoice::Cuda, 0)?;
    let with_adam = |model: Model| {
        let adam = AdamW::new(model.layout(), AdamConfig::default());
        (model, adam)
    };
    let mut models: Vec<_> = blueprint.fresh_models(2)?.into_iter().map(with_adam).collect();
    let mut learner = device.learner(models.len());
    for step in 0..UPDATES {
        let sequences = source.sequences(&config, blueprint.episodes, step)?;
        let batches = blueprint.batches(&sequences, &blueprint.labels(&sequences));
        learner.update(&mut models, &batches, 4e-3, 1.0)?;
    }
    learner.synchronise(&mut models)?;
    let models = models.into_iter().map(|(model, _)| model).collect();
    let model = TrainedModel { config, task: source.task(), step: UPDATES, models };
    let (gpu, returns) = evaluate(&device, &model, GAMES, None, 0)?;
    let (_, again) = evaluate(&device, &model, GAMES, None, 0)?;
    let (cpu, on_cpu) = evaluate(&device.without_gpu(), &model, GAMES, None, 0)?;
    // The means over all episodes, game by game, are independent.
    let means = |returns: &icee_worlds::Returns| {
        let mean = |game| returns.game(game).iter().map(|&r| f64::from(r)).sum::<f64>() / returns.episodes() as f64;
        (0..GAMES).map(mean).collect::<Vec<_>>()
    };
    let differences: Vec<f64> = means(&returns).iter().zip(means(&on_cpu)).map(|(g, c)| g - c).collect();
    let mean = differences.iter().sum::<f64>() / GAMES as f64;
    let variance = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (GAMES - 1) as f64;
    let errors = mean.abs() / (variance / GAMES as f64).sqrt().max(1e-9);
    let same_games = |r: &icee_worlds::Returns| (0..GAMES).map(|g| r.game(g).to_vec()).collect::<Vec<_>>();
    let repeats = same_games(&returns) == same_games(&again);
    let worst_tensor = format!(
        "(returns {:.3} and {:.3}, {errors:.1} standard errors apart; {:.0} and {:.0} decisions/s)",
        gpu.mean(),
        cpu.mean(),
        gpu.decisions_per_second,
        cpu.decisions_per_second
    );
    let loss_error = mean.abs() / cpu.mean().abs().max(1e-3);
    let passed = errors <= ERRORS && repeats;
    Ok(Comparison { case: name, loss_error, gradient_error: 0.0, worst_tensor, repeats, passed })
}

/// Sequences of one network in lock step at a context, and how long one token of each takes: (seconds, bytes).
pub fn decode(
    cuda: &Cuda,
    spec: &ModelSpec,
    tokens: impl Fn(&[usize]) -> Tokens,
    at: usize,
    repeat: usize,
) -> Result<(f64, f64)> {
    const SEQUENCES: usize = 1000;
    let model = Model::new(spec.clone(), 0)?;
    let mut network = cuda::Network::new(cuda, &model, SEQUENCES)?;
    let sequences: Vec<u32> = (0..SEQUENCES as u32).collect();
    network.append(&sequences, &tokens(&[at; SEQUENCES]))?;
    let next = tokens(&[1; SEQUENCES]);
    let mut steps = |count: usize| -> Result<f64> {
        let start = std::time::Instant::now();
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

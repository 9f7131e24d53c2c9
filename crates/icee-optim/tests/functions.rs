//! Models of Bayesian optimisation: what they learn from against a slow literal reading, what they promise of their
//! answers, and a whole run.

use icee_bo::acquisition::Rule;
use icee_bo::belief::Belief;
use icee_bo::functions;
use icee_bo::history::thinned;
use icee_bo::pool::{Pool, Told};
use icee_bo::prior::FunctionGroup;
use icee_bo::protocol::Protocol;
use icee_bo::search::{Context, Sampler, Search};
use icee_bo::surrogate::Surrogate;
use icee_bo::surrogate_sampler::SurrogateSampler;
use icee_nn::batch::{Batch, FieldValues};
use icee_optim::{self as bo, OptimiserModel, PoolPlan, PoolSampler, ValueModel, ValuePlan, presets};
use icee_train::{Device, Limits, Problem, RunFolder, RunInfo, Silent, Trainer, train};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const SMALL: &str = "[model]\nlayers = 2\nwidth = 16\nattention_heads = 1\n\
                     [data]\npool = 70\nlongest = 20\nqueries = 30\nfunctions_per_factor = 3\n[train]\nbatch = 9";

/// A preset, or "tables": `bo-value` for tables of one to eight columns.
fn config(preset: &str, settings: &[&str]) -> bo::Config {
    let mut settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let preset = match preset {
        "tables" => {
            settings.push("world=GpTables-v0".into());
            "bo-value"
        }
        other => other,
    };
    bo::Config::layered(&[presets::find(preset).unwrap(), SMALL], &settings).unwrap()
}

fn drawn(config: &bo::Config) -> Vec<FunctionGroup> {
    config.build_prior().unwrap().sample(5, config.train.batch).unwrap()
}

/// A model with random weights, large enough for answers to differ.
fn untrained(preset: &str) -> OptimiserModel {
    let config = config(preset, &[]);
    let spec = match config.method.as_str() {
        "value" => ValuePlan::new(&config).unwrap().spec,
        _ => PoolPlan::new(&config).unwrap().spec,
    };
    let mut network = icee_nn::Model::new(spec, 3).unwrap();
    network.weights_mut().iter_mut().for_each(|w| *w *= 8.0);
    OptimiserModel { config, step: 0, network }
}

fn value_model(preset: &str) -> ValueModel {
    ValueModel::new(&Device::cpu(2).unwrap(), &untrained(preset)).unwrap()
}

fn vector(values: &FieldValues) -> &[f32] {
    let FieldValues::Vector(values) = values else { panic!("not reals") };
    values
}

/// The candidate of a group whose coordinates stand in a token's features.
fn candidate_of(group: &FunctionGroup, features: &[f32], column_size: usize) -> usize {
    let x: Vec<f32> = (0..group.dimension()).map(|column| features[column * column_size]).collect();
    group.locations().chunks_exact(group.dimension()).position(|location| location == x).unwrap()
}

#[test]
fn value_targets_are_what_a_literal_reading_gives() {
    for (preset, column_size) in [("bo-value", 11), ("tables", 12)] {
        let config = config(preset, &[]);
        let (plan, groups) = (ValuePlan::new(&config).unwrap(), drawn(&config));
        let batch: Batch = plan.batch(&groups, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        batch.check(&plan.spec).unwrap();
        let (queries, targets) = (batch.queries.as_ref().unwrap(), &batch.class_targets[0]);
        let size = plan.features.size();
        let functions = groups.iter().flat_map(|group| group.functions().map(move |values| (group, values)));
        let mut lengths = Vec::new();
        for (s, (group, values)) in functions.enumerate() {
            let (first, end) = (batch.history.offsets[s], batch.history.offsets[s + 1]);
            lengths.push(end - first);
            assert!((2..=20).contains(&(end - first)));
            let row = |fields: &[FieldValues], at: usize| {
                candidate_of(group, &vector(&fields[0])[at * size..(at + 1) * size], column_size)
            };
            let history: Vec<usize> = (first..end).map(|at| row(&batch.history.fields, at)).collect();
            let known: Vec<f64> = history.iter().map(|&candidate| f64::from(values[candidate])).collect();
            let count = known.len() as f64;
            let mean = known.iter().sum::<f64>() / count;
            let deviation = (known.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / count).sqrt();
            let deviation = if deviation < 1e-9 { 1.0 } else { deviation };
            let best = known.iter().copied().fold(f64::INFINITY, f64::min);
            for (at, y) in (first..end).zip(&known) {
                let told = &vector(&batch.history.fields[1])[2 * at..2 * at + 2];
                assert!((f64::from(told[0]) - (y - mean) / deviation).abs() < 1e-4);
                assert!((f64::from(told[1]) - (y - best) / deviation).abs() < 1e-4);
                let logarithm = 1.0 + 0.25 * (count / 64.0).ln();
                assert!((f64::from(vector(&batch.history.fields[2])[at]) - logarithm).abs() < 1e-6);
            }
            let mut seen = history.clone();
            for at in queries.offsets[s]..queries.offsets[s + 1] {
                let candidate = row(&queries.fields, at);
                assert!(!seen.contains(&candidate), "a candidate comes twice");
                seen.push(candidate);
                let z = (f64::from(values[candidate]) - mean) / deviation;
                // The last of 128 bins from −5 on whose lower edge is not above z.
                let edges = (0..128).map(|bin| -5.0 + 9.0 * f64::from(bin) / 128.0);
                let bin = edges.take_while(|edge| *edge <= z).count().saturating_sub(1);
                assert_eq!(targets.classes[at] as usize, bin, "{z}");
                assert_eq!(targets.rows[at] as usize, batch.history.len() + at);
            }
        }
        assert!(lengths.iter().any(|&length| length != lengths[0]));
        assert!((targets.scale * targets.classes.len() as f32 - 1.0).abs() < 1e-5);
    }
}

#[test]
fn pool_targets_are_what_a_literal_reading_gives() {
    for (preset, spread) in [("bo-paper", "ei"), ("bo-biased", "ei"), ("bo-exact", "ei"), ("bo-exact", "ts")] {
        let spreads = format!("data.spread={spread}");
        let config = config(preset, &["data.noisy=0", "data.stepped=0", "train.weight_clip=1e9", &spreads]);
        let (plan, groups) = (PoolPlan::new(&config).unwrap(), drawn(&config));
        let batch = plan.batch(&groups, &mut ChaCha8Rng::seed_from_u64(2)).unwrap();
        batch.check(&plan.spec).unwrap();
        let (targets, size) = (&batch.pool_targets[0], plan.features.size());
        let functions = groups.iter().flat_map(|group| group.functions().map(move |values| (group, values)));
        let mut row = 0;
        for (s, (group, values)) in functions.enumerate() {
            let tokens = batch.history.offsets[s]..batch.history.offsets[s + 1];
            // Token t tells the evaluation before decision t.
            let evaluated: Vec<usize> = (tokens.start + 1..tokens.end)
                .map(|t| candidate_of(group, &vector(&batch.history.fields[0])[t * size..(t + 1) * size], 11))
                .collect();
            let best = |t: usize| evaluated[..t].iter().map(|&c| values[c]).fold(f32::INFINITY, f32::min);
            let mut ranked: Vec<usize> = (0..values.len()).collect();
            ranked.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            let rank = |candidate: usize| ranked.iter().position(|&c| c == candidate).unwrap() as f64;
            let mut weights: Vec<(f64, f64)> = Vec::new();
            for t in 0..tokens.len() {
                let has_row = targets.rows.get(row) == Some(&((tokens.start + t) as u32));
                if preset == "bo-exact" {
                    let improvers = (0..values.len()).filter(|&c| values[c] < best(t));
                    let gain = |c: usize| if t == 0 || spread == "ts" { 1.0 } else { best(t) - values[c] };
                    let total: f32 = improvers.clone().map(gain).sum();
                    assert_eq!(has_row, improvers.clone().next().is_some());
                    if has_row {
                        let range = targets.target_offsets[row]..targets.target_offsets[row + 1];
                        assert!(improvers.clone().eq(targets.targets[range.clone()].iter().map(|&c| c as usize)));
                        for (c, p) in improvers.zip(&targets.probabilities[range]) {
                            assert!((gain(c) / total - p).abs() < 1e-5);
                        }
                    }
                } else {
                    assert!(has_row);
                    let chosen = targets.targets[row] as usize;
                    assert!(t + 1 == tokens.len() || chosen == evaluated[t]);
                    let FieldValues::Categorical(asked) = &batch.history.fields[2] else { panic!("no c̃") };
                    assert_eq!(asked[tokens.start + t] == 1, values[chosen] < best(t));
                    weights.push((rank(chosen), f64::from(targets.weights[row])));
                }
                row += usize::from(has_row);
            }
            match preset {
                "bo-biased" => assert!(weights.iter().all(|&(_, weight)| weight == 1.0)),
                "bo-paper" => {
                    // γ from two draws of different rank; then every weight by the formula.
                    let n = values.len() as f64;
                    let (low, high) = weights.iter().fold((weights[0], weights[0]), |(l, h), &w| {
                        (if w.0 < l.0 { w } else { l }, if w.0 > h.0 { w } else { h })
                    });
                    let sharpness = (high.1 / low.1).ln() * (n - 1.0) / (high.0 - low.0);
                    assert!((0.0..=10.0).contains(&sharpness));
                    let mass = |rank: f64| (sharpness * (n - 1.0 - rank) / (n - 1.0)).exp();
                    let total: f64 = (0..values.len()).map(|rank| mass(rank as f64)).sum();
                    for (rank, weight) in weights {
                        assert!((weight * mass(rank) / total * n - 1.0).abs() < 1e-3, "{rank} {weight}");
                    }
                }
                _ => {}
            }
        }
        assert_eq!(row, targets.rows.len());
    }
}

fn pool_of(size: usize, columns: usize) -> Pool {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    Pool::new((0..size * columns).map(|_| rng.random()).collect(), columns).unwrap()
}

fn told(pool: &Pool, count: usize) -> Vec<Told> {
    // Multiples of 1/64, so that scale and offset below are exact.
    let value = |candidate: usize| (40.0 * (7.0 * pool.point(candidate)[0]).sin()).round() / 64.0;
    (0..count).map(|candidate| Told { candidate, value: value(candidate) }).collect()
}

#[test]
fn scale_and_offset_of_the_values_do_not_matter() {
    let pool = pool_of(200, 2);
    let known = told(&pool, 12);
    let moved: Vec<Told> = known.iter().map(|t| Told { value: 4096.0 * t.value - 512.0, ..*t }).collect();
    let left: Vec<usize> = (12..200).collect();
    let mut model = value_model("bo-value");
    let (a, b) = (model.predict(&pool, &known, &left).unwrap(), model.predict(&pool, &moved, &left).unwrap());
    assert_ne!(a[0], a[1]);
    for (a, b) in a.iter().zip(&b) {
        assert!((b.mean() - (4096.0 * a.mean() - 512.0)).abs() < 1e-2, "{} {}", a.mean(), b.mean());
        assert!((a.below(known[3].value) - b.below(moved[3].value)).abs() < 1e-5);
    }
    let mut sampler = SurrogateSampler::new(Box::new(model), Rule::Sampled(2.0));
    for seed in 0..20 {
        let mut pick = |told: &[Told]| {
            let context = Context { pool: &pool, told, available: &left };
            sampler.ask(context, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap()
        };
        assert_eq!(pick(&known), pick(&moved));
    }
}

#[test]
fn candidates_in_chunks_or_at_once_and_in_any_pool() {
    let pool = pool_of(1500, 3);
    let known = told(&pool, 9);
    let left: Vec<usize> = (9..1500).collect();
    let mut model = value_model("tables");
    assert_eq!(model.columns(), 1..=8);
    let all = model.predict(&pool, &known, &left).unwrap();
    let parts: Vec<Belief> =
        left.chunks(77).flat_map(|part| value_model("tables").predict(&pool, &known, part).unwrap()).collect();
    assert_eq!(all, parts);
    // Another history in between is not remembered.
    model.predict(&pool, &known[..5], &left[..3]).unwrap();
    assert_eq!(model.predict(&pool, &known, &left[..3]).unwrap(), all[..3]);
    let wide = model.predict(&pool_of(20, 9), &told(&pool, 3), &[5]).unwrap_err().to_string();
    assert!(wide.contains("9 columns") && wide.contains("1 to 8"), "{wide}");
    let narrow = value_model("bo-value").predict(&pool, &known, &[20]).unwrap_err().to_string();
    assert!(narrow.contains("3 columns") && narrow.contains("reads 2"), "{narrow}");
}

#[test]
fn histories_one_by_one_or_side_by_side() {
    let pool = pool_of(100, 3);
    let known = told(&pool, 40);
    // Of any length, longer than the model takes included, and more of them than the time before.
    let histories: Vec<&[Told]> = [2, 5, 5, 40, 19].map(|count| &known[..count]).to_vec();
    let mut model = value_model("tables");
    for some in [&histories[..2], &histories[..], &histories[3..]] {
        let together = model.predict_after(&pool, some, 77).unwrap();
        let each = some.iter().map(|told| model.predict(&pool, told, &[77]).unwrap().remove(0));
        assert_eq!(together, each.collect::<Vec<_>>());
    }
    assert!(model.predict_after(&pool, &[&known[..1]], 77).is_err());
}

#[test]
fn a_long_history_is_thinned_by_the_stated_rule() {
    let pool = pool_of(300, 2);
    let known = told(&pool, 150);
    let mut model = value_model("bo-value");
    let kept: Vec<Told> = thinned(&known, model.longest_history()).into_iter().map(|at| known[at]).collect();
    assert_eq!(kept.len(), 20);
    let left: Vec<usize> = (150..300).collect();
    assert_eq!(model.predict(&pool, &known, &left).unwrap(), model.predict(&pool, &kept, &left).unwrap());
}

#[test]
fn samplers_search_whole_pools_and_survive_odd_values_and_restarts() {
    let device = Device::cpu(1).unwrap();
    let pool = pool_of(30, 2);
    for preset in ["bo-value", "bo-exact", "bo-paper"] {
        let model = untrained(preset);
        let value = |candidate: usize| [0.0, 1e300, -1e300, 7.0, 7.0][candidate % 5];
        let value = |candidate: usize| if preset == "bo-value" { value(candidate) } else { pool.point(candidate)[0] };
        let (mut sampler, mut other) = (model.sampler(&device).unwrap(), model.sampler(&device).unwrap());
        let mut search = Search::new(&pool, &mut *sampler, 5);
        for _ in 0..30 {
            let asked = search.ask().unwrap();
            let mut restarted = Search::new(&pool, &mut *other, 5);
            search.told().iter().for_each(|told| restarted.tell(told.candidate, told.value).unwrap());
            assert_eq!(asked, restarted.ask().unwrap());
            search.tell(asked, value(asked)).unwrap();
        }
    }
    let equal: Vec<Told> = (0..6).map(|candidate| Told { candidate, value: 7.0 }).collect();
    let beliefs = value_model("bo-value").predict(&pool, &equal, &[10, 11]).unwrap();
    assert!(beliefs.iter().all(|belief| belief.mean().is_finite()));
    assert!(PoolSampler::new(&device, &untrained("bo-value")).is_err());
    assert!(ValueModel::new(&device, &untrained("bo-exact")).is_err());
}

#[test]
fn batches_do_not_depend_on_the_number_of_threads() {
    for preset in ["bo-value", "tables", "bo-paper"] {
        let problem = bo::Functions::new(config(preset, &[])).unwrap();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| problem.batch(3).unwrap())
        };
        assert_eq!(with(1), with(3));
        assert_ne!(with(1), problem.batch(4).unwrap());
    }
}

/// The tiny preset, made smaller still: trained, saved, loaded and measured in one go.
#[test]
fn a_model_is_trained_loaded_and_measured() {
    let smaller = "[model]\nwidth = 32\nattention_heads = 2\n\
                   [train]\nsteps = 1000\nbatch = 32\nlr = 5e-3\nwarmup = 50\n\
                   eval_every = 0\neval_games = 96\nsave_every = 1000";
    let config = bo::Config::layered(&[presets::find("bo-tiny").unwrap(), smaller], &["seed=1".into()]).unwrap();
    let problem = bo::Functions::new(config).unwrap();
    let device = Device::cpu(1).unwrap();
    let root = std::env::temp_dir().join(format!("icee-functions-{}", std::process::id()));
    let folder = RunFolder::create(&root, &problem, &RunInfo::new(&device, None)).unwrap();
    let mut trainer = Trainer::fresh(&problem, &device).unwrap();
    let held_out = train(&mut trainer, &folder, Limits::default(), &mut Silent).unwrap().evaluation.unwrap();
    let model = OptimiserModel::load(folder.path()).unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    let metric = |name: &str| {
        let place = problem.held_out_metrics().iter().position(|known| *known == name).unwrap();
        held_out.values[place]
    };
    // It searches clearly better than chance, on functions that it never saw.
    assert!(metric("race/regret") < 0.7 * metric("race/random"), "{}", held_out.line);
    // Below a uniform guess over 128 bins.
    assert!(metric("held_out/loss") < 0.9 * 128f64.ln(), "{}", held_out.line);

    let functions = ["Branin", "SixHumpCamel"].map(|name| functions::find(name).unwrap()).to_vec();
    let protocol = Protocol { functions, trials: 2, pool: 64, initial: 4, evaluations: 14, seed: 1 };
    let (trials, best) = bo::tune(&model, 3, 0, 1, |_, all| assert_eq!(all, 6)).unwrap();
    let (again, _) = bo::tune(&model, 3, 0, 2, |_, _| {}).unwrap();
    let regrets = |trials: &[bo::PickingResult]| trials.iter().map(|trial| trial.regret).collect::<Vec<_>>();
    assert_eq!(regrets(&trials), regrets(&again), "any number of threads");
    assert!(trials.iter().all(|trial| trial.regret >= trials[best].regret && trial.last <= trial.regret));
    let none = Protocol { trials: 0, ..protocol.clone() };
    assert!(bo::evaluate(&model, &none, 1, &|_, _| {}).unwrap_err().to_string().contains("at least one trial"));
    let most = std::sync::atomic::AtomicUsize::new(0);
    let begun = |count: usize, all: usize| {
        assert!(count <= all && all == 3 * 4 + 4 + 80, "{count} of {all}");
        most.fetch_max(count, std::sync::atomic::Ordering::Relaxed);
    };
    let comparison = bo::evaluate(&model, &protocol, 1, &begun).unwrap();
    assert_eq!(most.into_inner(), 96);
    assert_eq!(comparison.reports.iter().map(|r| r.sampler).collect::<Vec<_>>(), ["icee", "gp-ei", "random"]);
    assert_eq!(comparison.against_gp_ei.len(), 14);
    for calibration in &comparison.calibration {
        assert!(calibration.beliefs > 100);
        assert!(calibration.coverage.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{calibration:?}");
    }
    // On the prior itself beliefs are honest, if rough.
    let coverage = comparison.calibration[1].coverage[1].1;
    assert!((0.6..=0.95).contains(&coverage), "80 % intervals hold {coverage}");
}

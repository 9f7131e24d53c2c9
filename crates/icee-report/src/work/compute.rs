//! Does the work, or finds that it is done.

use super::samplers::sampler;
use super::store::ResultStore;
use super::{ActingChange, Played, SearchCurve, Searched, Unit, UnitResult, Work};
use crate::{Error, Result};
use icee_base::hash::checksum;
use icee_base::stats::Estimate;
use icee_bo::functions;
use icee_bo::protocol::Protocol;
use icee_games::config::EpisodeRule;
use icee_games::{Acting, TrainedModel, evaluate};
use icee_models::catalogue::is_rival;
use icee_models::results::EpisodeRow;
use icee_models::{Found, ModelStore};
use icee_train::Device;
use icee_worlds::{Games, Reference, ReferenceAgent, Registry, Returns, Split};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

/// What work is done with.
pub struct Machine<'a> {
    /// Where models play.
    pub device: Device,
    /// The worlds that are played.
    pub registry: &'a Registry,
    /// Where models are.
    pub models: ModelStore,
    /// Where results are kept.
    pub results: ResultStore,
}

/// Told what happens.
pub trait Watcher {
    /// A piece of work begins.
    fn begins(&mut self, unit: &Unit) {
        let _ = unit;
    }

    /// It is done; `computed` is false where its result was there already.
    fn done(&mut self, unit: &Unit, computed: bool) {
        let _ = (unit, computed);
    }

    /// It cannot be done.
    fn lost(&mut self, unit: &Unit, why: &str) {
        let _ = (unit, why);
    }
}

/// What came of all the work.
#[derive(Debug, Default)]
pub struct Results {
    /// By the unit's name.
    pub outcomes: BTreeMap<String, UnitResult>,
    /// What could not be done.
    pub lost: Vec<Lost>,
    /// How many were computed now; the others were there.
    pub computed: usize,
}

/// Work that could not be done.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Lost {
    /// The unit's name.
    pub unit: String,
    /// The model that it needs.
    pub model: String,
    /// Why not, and the way out.
    pub why: String,
}

/// Does all work in order. A model that is missing is said and the rest goes on; anything else that fails stops it.
///
/// # Errors
/// Whatever fails but a missing model.
pub fn run(units: &[Unit], machine: &Machine<'_>, watcher: &mut dyn Watcher) -> Result<Results> {
    let mut results = Results::default();
    for unit in units {
        let fingerprint = match fingerprint(&unit.work, &machine.models) {
            Ok(fingerprint) => fingerprint,
            Err(Error::Models(error @ icee_models::Error::Missing { .. })) => {
                let why = error.to_string();
                watcher.lost(unit, &why);
                let model = unit.work.needs().unwrap_or_default().to_owned();
                results.lost.push(Lost { unit: unit.id.clone(), model, why });
                continue;
            }
            Err(error) => return Err(error),
        };
        let kept = machine.results.get(&unit.id, fingerprint);
        let computed = kept.is_none();
        let outcome = match kept {
            Some(outcome) => outcome,
            None => {
                watcher.begins(unit);
                let outcome = compute(&unit.work, machine)?;
                machine.results.put(&unit.id, fingerprint, &outcome)?;
                outcome
            }
        };
        results.computed += usize::from(computed);
        results.outcomes.insert(unit.id.clone(), outcome);
        watcher.done(unit, computed);
    }
    Ok(results)
}

impl Work {
    /// The model it needs.
    fn needs(&self) -> Option<&str> {
        match self {
            Work::Play { model, .. } => Some(model),
            Work::Search { sampler, .. } if !is_rival(sampler) => Some(sampler),
            _ => None,
        }
    }
}

/// A checksum of everything that a result depends on: the program, the work, the model.
fn fingerprint(work: &Work, models: &ModelStore) -> Result<u64> {
    // Another version of the program may compute otherwise.
    let settings = checksum(checksum(1, env!("CARGO_PKG_VERSION").as_bytes()), format!("{work:?}").as_bytes());
    match work.needs() {
        Some(model) => Ok(checksum(settings, &models.find(model)?.hash()?.to_le_bytes())),
        None => Ok(settings),
    }
}

fn compute(work: &Work, machine: &Machine<'_>) -> Result<UnitResult> {
    Ok(match work {
        Work::Play { model, world, change, games, seed } => {
            let model = load(&machine.models.find(model)?, world, *change)?;
            UnitResult::Played(play(machine, &model, *games, *seed)?)
        }
        Work::Reference { world, agent, games, seed } => {
            UnitResult::Played(reference(machine.registry, world, *agent, *games, *seed)?)
        }
        Work::Search { sampler, function, trials, seed } => {
            UnitResult::Searched(search(sampler, function, *trials, *seed, &machine.models)?)
        }
    })
}

fn load(found: &Found, world: &str, change: ActingChange) -> Result<TrainedModel> {
    let mut model = found.load_agent()?;
    if model.task.name != world {
        let (model, plays) = (found.name.clone(), model.task.name);
        return Err(Error::OtherWorld { model, plays, wanted: world.into() });
    }
    let acting: &mut Acting = &mut model.config.acting;
    acting.kappa = change.kappa.unwrap_or(acting.kappa);
    acting.guard = change.guard.unwrap_or(acting.guard);
    if change.always_one {
        acting.episode_rule = EpisodeRule::AlwaysOne;
    }
    Ok(model)
}

fn play(machine: &Machine<'_>, model: &TrainedModel, games: usize, seed: u64) -> Result<Played> {
    let start = Instant::now();
    let (evaluation, returns) = evaluate(&machine.device, model, machine.registry, games, None, seed)?;
    let row = |episode: &icee_games::EpisodeResult| EpisodeRow {
        episode: episode.episode,
        mean: episode.mean,
        half_width_95: episode.half_width_95,
        entropy: Some(episode.entropy),
    };
    Ok(Played {
        world: evaluation.world,
        games,
        episodes: evaluation.episodes.iter().map(row).collect(),
        overall: overall(&returns),
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn reference(registry: &Registry, world: &str, agent: Reference, games: usize, seed: u64) -> Result<Played> {
    let start = Instant::now();
    let world = registry.make(world)?;
    let mut dealt = Games::deal(&*world, games, seed, Split::Evaluation)?;
    let mut agent = ReferenceAgent::new(agent, &dealt)?;
    let returns = dealt.play(&mut agent, world.spec().episodes)?;
    Ok(Played {
        world: world.spec().id.clone(),
        games,
        episodes: rows(&returns),
        overall: overall(&returns),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The returns by episode, without entropies.
#[must_use]
pub fn rows(returns: &Returns) -> Vec<EpisodeRow> {
    let row = |episode: usize| {
        let estimate = returns.estimate(episode);
        let half_width_95 = estimate.known_half_width();
        EpisodeRow { episode: episode + 1, mean: estimate.mean, half_width_95, entropy: None }
    };
    (0..returns.episodes()).map(row).collect()
}

/// The mean over all episodes, and half the width of its interval, games being independent of each other.
fn overall(returns: &Returns) -> (f64, f64) {
    let game = |game: usize| {
        let returns = returns.game(game);
        returns.iter().map(|&r| f64::from(r)).sum::<f64>() / returns.len() as f64
    };
    let means: Vec<f64> = (0..returns.games()).map(game).collect();
    let estimate = Estimate::of(&means);
    (estimate.mean, estimate.known_half_width().unwrap_or(0.0))
}

/// Lets a sampler search pools of a function, on one thread, so that the seconds are its own.
///
/// # Errors
/// Where there is no such sampler or function, or a search fails.
pub fn search(name: &str, function: &str, trials: usize, seed: u64, models: &ModelStore) -> Result<Searched> {
    let function = functions::find(function)?;
    let protocol = Protocol { functions: vec![function], trials, seed, ..Protocol::default() };
    // One for each task and one for the report's name, all made before anything runs.
    let made: Result<Vec<_>> = (0..=trials).map(|_| sampler(name, models)).collect();
    let made = Mutex::new(made?);
    let make = || made.lock().ok().and_then(|mut made| made.pop()).expect("as many as are asked for");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| Error::output("threads", e))?;
    let report = pool.install(|| protocol.run(make))?;
    let trials = report.runs.into_iter().map(|run| SearchCurve { regret: run.regret, seconds: run.seconds }).collect();
    Ok(Searched { function: function.name.into(), initial: report.initial, trials })
}

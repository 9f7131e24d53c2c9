//! Does the work, or finds that it is done.

use super::samplers::sampler;
use super::store::{Fingerprint, Store};
use super::{ActingChange, Outcome, Played, Searched, Trial, Unit, Work};
use crate::{Error, Result};
use icee::config::EpisodeRule;
use icee::{Acting, Device, TrainedModel, evaluate};
use icee_bo::functions;
use icee_bo::protocol::Protocol;
use icee_models::results::EpisodeRow;
use icee_models::{Found, Shelf};
use icee_worlds::{Games, Reference, ReferenceAgent, Registry, Returns, Split};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

/// What work is done with.
pub struct Machine {
    /// Where models play.
    pub device: Device,
    /// Where models are.
    pub shelf: Shelf,
    /// Where results are kept.
    pub store: Store,
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
    pub outcomes: BTreeMap<String, Outcome>,
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
pub fn run(units: &[Unit], machine: &Machine, watcher: &mut dyn Watcher) -> Result<Results> {
    let mut results = Results::default();
    for unit in units {
        let fingerprint = match fingerprint(&unit.work, &machine.shelf) {
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
        let kept = machine.store.get(&unit.id, fingerprint);
        let computed = kept.is_none();
        let outcome = match kept {
            Some(outcome) => outcome,
            None => {
                watcher.begins(unit);
                let outcome = compute(&unit.work, machine)?;
                machine.store.put(&unit.id, fingerprint, &outcome)?;
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

fn is_rival(sampler: &str) -> bool {
    ["random", "gp-ei"].contains(&sampler)
}

fn fingerprint(work: &Work, shelf: &Shelf) -> Result<u64> {
    let mut fingerprint = Fingerprint::new().with(format!("{work:?}").as_bytes());
    if let Some(model) = work.needs() {
        for bytes in shelf.find(model)?.bytes()? {
            fingerprint = fingerprint.with(&bytes);
        }
    }
    Ok(fingerprint.value())
}

fn compute(work: &Work, machine: &Machine) -> Result<Outcome> {
    Ok(match work {
        Work::Play { model, world, change, games, seed } => {
            let model = load(&machine.shelf.find(model)?, world, *change)?;
            Outcome::Played(play(&machine.device, &model, *games, *seed)?)
        }
        Work::Reference { world, agent, games, seed } => Outcome::Played(reference(world, *agent, *games, *seed)?),
        Work::Search { sampler, function, trials, seed } => {
            Outcome::Searched(search(sampler, function, *trials, *seed, &machine.shelf)?)
        }
    })
}

fn load(found: &Found, world: &str, change: ActingChange) -> Result<TrainedModel> {
    let mut model = found.load()?;
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

fn play(device: &Device, model: &TrainedModel, games: usize, seed: u64) -> Result<Played> {
    let start = Instant::now();
    let (evaluation, returns) = evaluate(device, model, games, None, seed)?;
    let row = |episode: &icee::EpisodeResult| EpisodeRow {
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

fn reference(world: &str, agent: Reference, games: usize, seed: u64) -> Result<Played> {
    let start = Instant::now();
    let world = Registry::builtin().make(world)?;
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
        let summary = returns.summary(episode);
        let half_width_95 = summary.half_width_95();
        EpisodeRow { episode: episode + 1, mean: summary.mean, half_width_95, entropy: None }
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
    let estimate = icee_bo::report::estimate(&means);
    (estimate.mean, if estimate.half_width.is_finite() { estimate.half_width } else { 0.0 })
}

/// Lets a sampler search pools of a function, on one thread, so that the seconds are its own.
///
/// # Errors
/// Where there is no such sampler or function, or a search fails.
pub fn search(name: &str, function: &str, trials: usize, seed: u64, shelf: &Shelf) -> Result<Searched> {
    let function = functions::find(function)?;
    let protocol = Protocol { functions: vec![function], trials, seed, ..Protocol::default() };
    // One for each task and one for the report's name, all made before anything runs.
    let made: Result<Vec<_>> = (0..=trials).map(|_| sampler(name, shelf)).collect();
    let made = Mutex::new(made?);
    let make = || made.lock().ok().and_then(|mut made| made.pop()).expect("as many as are asked for");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| Error::output("threads", e))?;
    let report = pool.install(|| protocol.run(make))?;
    let trials = report.runs.into_iter().map(|run| Trial { regret: run.regret, seconds: run.seconds }).collect();
    Ok(Searched { function: function.name.into(), initial: report.initial, trials })
}

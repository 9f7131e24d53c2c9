//! Computes a unit of work, or reads its stored result.

use super::regret::Rewards;
use super::samplers::{samplers, table_samplers};
use super::store::{Kept, ResultStore};
use super::{ActingChange, Played, Raced, RacedRun, SearchCurve, Searched, Unit, UnitResult, Work};
use crate::{Error, Result};
use icee_base::hash::checksum;
use icee_base::stats::Estimate;
use icee_bo::functions::{self, BenchmarkFunction};
use icee_bo::protocol::Protocol;
use icee_bo::race::builtin;
use icee_bo::race::runs::PoolRun;
use icee_bo::report::Run;
use icee_games::config::EpisodeRule;
use icee_games::{Acting, EvaluationGames, TrainedModel, evaluate_steps};
use icee_models::ModelStore;
use icee_models::catalogue::is_rival;
use icee_models::results::EpisodeRow;
use icee_train::Device;
use icee_worlds::{Games, PlayedStep, Reference, ReferenceAgent, Registry, Returns, Split, World};
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

    /// Its result is there, but must not be believed; it is computed again.
    fn damaged(&mut self, unit: &Unit, why: &str) {
        let _ = (unit, why);
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
        let fingerprint = match look_up(unit, machine)? {
            Found::Lost(lost) => {
                watcher.lost(unit, &lost.why);
                results.lost.push(lost);
                continue;
            }
            Found::Kept(_, Kept::Whole(outcome)) => {
                results.outcomes.insert(unit.id.clone(), outcome);
                watcher.done(unit, false);
                continue;
            }
            Found::Kept(fingerprint, Kept::Damaged(why)) => {
                watcher.damaged(unit, &why);
                fingerprint
            }
            Found::Kept(fingerprint, Kept::Nothing) => fingerprint,
        };
        watcher.begins(unit);
        let outcome = compute(&unit.work, machine)?;
        machine.results.put(&unit.id, fingerprint, &outcome)?;
        results.computed += 1;
        results.outcomes.insert(unit.id.clone(), outcome);
        watcher.done(unit, true);
    }
    Ok(results)
}

/// Adds what was computed before of other units, where that is all of them but those whose models are missing. Says whether
/// it is; computes nothing.
///
/// # Errors
/// Where a model cannot be read.
pub fn recall(units: &[Unit], machine: &Machine<'_>, results: &mut Results) -> Result<bool> {
    let (mut outcomes, mut all_lost) = (BTreeMap::new(), Vec::new());
    for unit in units.iter().filter(|unit| !results.outcomes.contains_key(&unit.id)) {
        match look_up(unit, machine)? {
            Found::Lost(lost) => all_lost.push(lost),
            Found::Kept(_, Kept::Whole(outcome)) => _ = outcomes.insert(unit.id.clone(), outcome),
            Found::Kept(..) => return Ok(false),
        }
    }
    results.outcomes.append(&mut outcomes);
    for lost in all_lost {
        if !results.lost.contains(&lost) {
            results.lost.push(lost);
        }
    }
    Ok(true)
}

/// What is there of a piece of work.
enum Found {
    /// Its model is missing.
    Lost(Lost),
    /// Its fingerprint, and what is kept under it.
    Kept(u64, Kept),
}

fn look_up(unit: &Unit, machine: &Machine<'_>) -> Result<Found> {
    match fingerprint(PROGRAM, &unit.work, &machine.models) {
        Ok(fingerprint) => Ok(Found::Kept(fingerprint, machine.results.get(&unit.id, fingerprint))),
        Err(Error::Models(error @ icee_models::Error::Missing { .. })) => {
            let model = unit.work.needs().unwrap_or_default().to_owned();
            Ok(Found::Lost(Lost { unit: unit.id.clone(), model, why: error.to_string() }))
        }
        Err(error) => Err(error),
    }
}

impl Work {
    /// The model it needs.
    fn needs(&self) -> Option<&str> {
        match self {
            Work::Play { model, .. } => Some(model),
            Work::Search { sampler, .. } | Work::Race { sampler, .. } if !is_rival(sampler) => Some(sampler),
            _ => None,
        }
    }
}

/// The program, as far as results depend on it: its version, and a checksum of its sources that `build.rs` takes.
const PROGRAM: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("ICEE_SOURCES"));

/// A checksum of everything that a result depends on: the program, the work, the model.
fn fingerprint(program: &str, work: &Work, models: &ModelStore) -> Result<u64> {
    let settings = checksum(checksum(1, program.as_bytes()), format!("{work:?}").as_bytes());
    match work.needs() {
        Some(model) => Ok(checksum(settings, &models.find(model)?.hash()?.to_le_bytes())),
        None => Ok(settings),
    }
}

fn compute(work: &Work, machine: &Machine<'_>) -> Result<UnitResult> {
    Ok(match work {
        Work::Play { model, world, change, games, seed, regret } => {
            let model = load(&machine.models.find(model)?, world, *change)?;
            let dealt = Dealt { world: &*machine.registry.make(world)?, games: *games, seed: *seed, regret: *regret };
            UnitResult::Played(dealt.played(|watch| play(machine, &model, *games, *seed, watch))?)
        }
        Work::Reference { world, agent, games, seed, regret } => {
            let dealt = Dealt { world: &*machine.registry.make(world)?, games: *games, seed: *seed, regret: *regret };
            UnitResult::Played(dealt.played(|watch| reference(&dealt, *agent, watch))?)
        }
        Work::Search { sampler, function, trials, seed } => {
            let functions = vec![functions::find(function)?];
            let protocol = Protocol { functions, trials: *trials, seed: *seed, ..Protocol::default() };
            let searched = search(sampler, &protocol, 1, &machine.models)?;
            UnitResult::Searched(searched.into_iter().next().expect("one function was searched"))
        }
        Work::Race { sampler, table, trials } => {
            UnitResult::Raced(search_table(sampler, table, *trials, &machine.models)?)
        }
    })
}

fn load(found: &icee_models::Found, world: &str, change: ActingChange) -> Result<TrainedModel> {
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

/// Games that somebody is to play.
struct Dealt<'a> {
    world: &'a dyn World,
    games: usize,
    seed: u64,
    regret: bool,
}

/// Told of every step.
type Watch<'a> = dyn FnMut(&PlayedStep<'_>) + 'a;

impl Dealt<'_> {
    /// What comes of somebody's play, and the regret of it where that is wanted.
    fn played(&self, play: impl FnOnce(&mut Watch<'_>) -> Result<Played>) -> Result<Played> {
        if !self.regret {
            return play(&mut |_| {});
        }
        let mut rewards = Rewards::new(self.world, self.games);
        let played = play(&mut |step| rewards.see(step))?;
        let best = Rewards::of_oracle(self.world, self.games, self.seed)?;
        Ok(Played { regret: rewards.regret(&best), ..played })
    }
}

fn play(machine: &Machine<'_>, model: &TrainedModel, games: usize, seed: u64, watch: &mut Watch<'_>) -> Result<Played> {
    let start = Instant::now();
    let dealt = EvaluationGames::new(games, seed);
    let (evaluation, returns) = evaluate_steps(&machine.device, model, machine.registry, &dealt, watch)?;
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
        regret: Vec::new(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn reference(dealt: &Dealt<'_>, agent: Reference, watch: &mut Watch<'_>) -> Result<Played> {
    let start = Instant::now();
    let Dealt { world, games, seed, .. } = *dealt;
    let mut table = Games::deal(world, games, seed, Split::Evaluation)?;
    let mut agent = ReferenceAgent::new(agent, &table)?;
    let returns = table.play_watched(&mut agent, world.spec().episodes, watch)?;
    Ok(Played {
        world: world.spec().id.clone(),
        games,
        episodes: rows(&returns),
        overall: overall(&returns),
        regret: Vec::new(),
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

/// Lets a sampler search all pools of a protocol, and gives its searches function by function. Only on one thread are the
/// seconds its own.
///
/// # Errors
/// Where there is no such sampler, or a search fails.
pub fn search(name: &str, protocol: &Protocol, threads: usize, models: &ModelStore) -> Result<Vec<Searched>> {
    // One for each task and one for the report's name, all made before anything runs.
    let made = Mutex::new(samplers(name, protocol.functions.len() * protocol.trials + 1, models)?);
    let make = || made.lock().ok().and_then(|mut made| made.pop()).expect("as many as are asked for");
    let report = in_threads(threads, || protocol.run(make))??;
    let initial = report.initial;
    let of = |function: &&'static BenchmarkFunction| {
        let runs = report.runs.iter().filter(|run| run.function == function.name);
        let curve = |run: &Run| SearchCurve { regret: run.regret.clone(), seconds: run.seconds.clone() };
        Searched { function: function.name.into(), initial, trials: runs.map(curve).collect() }
    };
    Ok(protocol.functions.iter().map(of).collect())
}

/// Lets a sampler search a real table, on one thread, so that the milliseconds are its own.
fn search_table(name: &str, table: &str, trials: usize, models: &ModelStore) -> Result<Raced> {
    let mut pools = builtin::pools()?;
    pools.retain(|pool| pool.name == table);
    let made = Mutex::new(table_samplers(name, trials, models)?);
    let make = || Ok(made.lock().ok().and_then(|mut made| made.pop()).expect("as many as are asked for"));
    let runs = in_threads(1, || icee_bo::race::runs::search(&pools, trials, name, make, || ()))??;
    let run = |run: PoolRun| RacedRun { milliseconds: run.milliseconds, rows: run.rows };
    Ok(Raced { table: table.into(), runs: runs.into_iter().map(run).collect() })
}

fn in_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| Error::output("threads", e))?;
    Ok(pool.install(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_another_work_another_fingerprint() {
        let models = ModelStore::default();
        let random = |trials: usize| Work::Search { sampler: "random".into(), function: "Branin", trials, seed: 0 };
        let of = |program: &str, trials: usize| fingerprint(program, &random(trials), &models).unwrap();
        assert_eq!(of(PROGRAM, 1), of(PROGRAM, 1));
        assert_ne!(of(PROGRAM, 1), of(PROGRAM, 2));
        assert_ne!(of(PROGRAM, 1), of(env!("CARGO_PKG_VERSION"), 1), "the version alone says nothing of the sources");
    }
}

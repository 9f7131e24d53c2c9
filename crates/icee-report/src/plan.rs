//! What the report needs: every piece of work of every part, each once.

use crate::work::{ActingChange, Unit, Work};
use crate::{Error, Result};
use icee_base::names::nearest;
use icee_bo::functions;
use icee_bo::race::builtin;
use icee_models::catalogue::{self, BANDITS, CatalogueWorld, Entry, PERMUTED, WORLDS, is_rival, optimiser_model};
use icee_models::recipes;
use icee_worlds::Reference;
use std::str::FromStr;

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// One of the paper's worlds.
    World(&'static CatalogueWorld),
    /// Worlds that the paper does not have.
    Beyond,
    /// Bayesian optimisation.
    Bo,
    /// The same on tables of real experiments.
    Tables,
    /// What each piece of the method does.
    Ablations,
    /// What learning costs; it was measured before, so there is nothing to compute.
    Cost,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Games of each evaluation.
    pub games: usize,
    /// Pools of each benchmark function, and searches of each real table.
    pub trials: usize,
    /// Fixes everything.
    pub seed: u64,
    /// The parts.
    pub parts: Vec<Part>,
}

/// κ and δ that are tried on one model.
pub(crate) const KAPPAS: [f64; 5] = [0.0, 2.0, 8.0, 20.0, 80.0];
/// See [`KAPPAS`].
pub(crate) const GUARDS: [f64; 4] = [0.0, 0.02, 0.05, 0.1];
/// The agents whose histories, networks and rules are compared in the ablations.
const ABLATED: [&str; 5] = ["icee", "icee-paper", "icee-weighted", "icee-no-searchers", "icee-offline"];

impl Part {
    /// All parts, in the report's order.
    #[must_use]
    pub fn all() -> Vec<Part> {
        let others = [Part::Beyond, Part::Bo, Part::Tables, Part::Ablations, Part::Cost];
        WORLDS.iter().map(Part::World).chain(others).collect()
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Part::World(world) => world.key,
            Part::Beyond => "beyond",
            Part::Bo => "bo",
            Part::Tables => "tables",
            Part::Ablations => "ablations",
            Part::Cost => "cost",
        }
    }

    /// Its name for readers.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Part::World(world) => world.name,
            Part::Beyond => "Beyond the paper",
            Part::Bo => "Bayesian optimisation",
            Part::Tables => "Real tables",
            Part::Ablations => "Ablations",
            Part::Cost => "Cost of learning",
        }
    }
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(name: &str) -> Result<Part> {
        let all = Part::all();
        all.iter().copied().find(|part| part.name() == name).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|part| part.name()).collect();
            let nearest = nearest(name, &names).into_iter().next();
            let known = nearest.map_or(names.join(", "), |nearest| format!("{} (near: {nearest})", names.join(", ")));
            Error::UnknownPart { name: name.into(), known }
        })
    }
}

/// The name of an optimiser's work on a function.
#[must_use]
pub(crate) fn search_id(optimiser: &str, function: &str) -> String {
    format!("bo__{optimiser}__{function}")
}

/// The name of work with another κ.
#[must_use]
pub(crate) fn kappa_id(world: &CatalogueWorld, kappa: f64) -> String {
    world.model(&format!("icee-kappa-{kappa}"))
}

/// The name of work with another δ.
#[must_use]
pub(crate) fn guard_id(world: &CatalogueWorld, guard: f64) -> String {
    world.model(&format!("icee-guard-{guard}"))
}

/// Every piece of work of the parts, each once.
#[must_use]
pub fn units(options: &Options) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for part in &options.parts {
        let wanted = match part {
            Part::World(world) => world_units(world, false, options),
            Part::Beyond => beyond_units(options),
            Part::Bo => catalogue::compared_optimisers().flat_map(|entry| search_units(entry, options)).collect(),
            Part::Tables => RACERS.into_iter().flat_map(|racer| race_units(racer, options)).collect(),
            Part::Ablations => ablation_units(options),
            Part::Cost => Vec::new(),
        };
        for unit in wanted {
            if units.iter().all(|known| known.id != unit.id) {
                units.push(unit);
            }
        }
    }
    units
}

fn world_units(world: &'static CatalogueWorld, regret: bool, options: &Options) -> Vec<Unit> {
    let references = world.references().map(|(entry, agent)| reference(world, entry, agent, regret, options));
    references.chain(world.methods().map(|entry| play(world, entry, regret, options))).collect()
}

fn beyond_units(options: &Options) -> Vec<Unit> {
    let bandits = BANDITS.iter().flat_map(|bandit| world_units(bandit, true, options));
    bandits.chain(world_units(&PERMUTED, false, options)).collect()
}

fn ablation_units(options: &Options) -> Vec<Unit> {
    let mut units = Vec::new();
    for world in &WORLDS {
        let oracle = world.references().filter(|(_, agent)| *agent == Reference::Oracle);
        units.extend(oracle.map(|(entry, agent)| reference(world, entry, agent, false, options)));
        let trained = ABLATED.into_iter().filter(|key| recipes::find(&world.model(key)).is_some());
        units.extend(trained.filter_map(catalogue::entry).map(|entry| play(world, entry, false, options)));
        let change = ActingChange { always_one: true, ..ActingChange::default() };
        units.push(changed(world.model("icee-always-one"), world, change, options));
    }
    for world in WORLDS.iter().filter(|world| world.acting_ablation) {
        for kappa in KAPPAS {
            let change = ActingChange { kappa: Some(kappa), ..ActingChange::default() };
            units.push(changed(kappa_id(world, kappa), world, change, options));
        }
        for guard in GUARDS {
            let change = ActingChange { guard: Some(guard), ..ActingChange::default() };
            units.push(changed(guard_id(world, guard), world, change, options));
        }
    }
    let optimisers = catalogue::entry("random").into_iter().chain(catalogue::ablated_optimisers());
    units.extend(optimisers.flat_map(|entry| search_units(entry, options)));
    units
}

fn play(world: &'static CatalogueWorld, entry: &Entry, regret: bool, options: &Options) -> Unit {
    let id = world.model(entry.key);
    let cost = entry.agent().map_or(1.0, |recipe| recipe.cost);
    let (games, seed) = (options.games, options.seed);
    let work = Work::Play { model: id.clone(), world: world.id, change: ActingChange::default(), games, seed, regret };
    Unit { id, work, cost: cost * SECONDS_OF_A_GAME * options.games as f64 }
}

fn changed(id: String, world: &'static CatalogueWorld, change: ActingChange, options: &Options) -> Unit {
    let (games, seed) = (options.games, options.seed);
    let work = Work::Play { model: world.model("icee"), world: world.id, change, games, seed, regret: false };
    Unit { id, work, cost: SECONDS_OF_A_GAME * games as f64 }
}

fn reference(world: &'static CatalogueWorld, entry: &Entry, agent: Reference, regret: bool, options: &Options) -> Unit {
    let (games, seed) = (options.games, options.seed);
    let work = Work::Reference { world: world.id, agent, games, seed, regret };
    Unit { id: world.model(entry.key), work, cost: 0.002 * games as f64 }
}

/// Who searches for an entry: a rival by its key, else a model.
fn sampler_of(key: &str) -> String {
    if is_rival(key) { key.to_owned() } else { optimiser_model(key) }
}

fn search_units(entry: &Entry, options: &Options) -> Vec<Unit> {
    let (trials, seed) = (options.trials, options.seed);
    let sampler = sampler_of(entry.key);
    let seconds = if entry.key == "random" { 0.001 } else { SECONDS_OF_A_SEARCH };
    let unit = |function: &'static str| {
        let work = Work::Search { sampler: sampler.clone(), function, trials, seed };
        Unit { id: search_id(entry.key, function), work, cost: seconds * trials as f64 }
    };
    functions::all().iter().map(|function| unit(function.name)).collect()
}

/// Who searches real tables here; other tools have left their searches.
pub(crate) const RACERS: [&str; 2] = ["table", "gp-ei"];

/// The name of a racer's work on a real table.
#[must_use]
pub(crate) fn race_id(racer: &str, table: &str) -> String {
    format!("tables__{racer}__{table}")
}

fn race_units(racer: &str, options: &Options) -> Vec<Unit> {
    let sampler = sampler_of(racer);
    let seconds = if is_rival(racer) { 0.3 } else { SECONDS_OF_A_RACE };
    let unit = |table: &'static str| {
        let work = Work::Race { sampler: sampler.clone(), table, trials: options.trials };
        Unit { id: race_id(racer, table), work, cost: seconds * options.trials as f64 }
    };
    builtin::names().map(unit).collect()
}

/// About what one game of 1,000 steps costs a model of the default size on two cores.
const SECONDS_OF_A_GAME: f64 = 0.1;
/// About what one search costs an optimiser.
const SECONDS_OF_A_SEARCH: f64 = 1.0;
/// About what one search of a real table costs the model for tables.
const SECONDS_OF_A_RACE: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn options(parts: Vec<Part>) -> Options {
        Options { games: 100, trials: 5, seed: 0, parts }
    }

    #[test]
    fn every_model_of_the_plan_has_a_recipe_and_every_recipe_of_the_report_is_used() {
        let units = units(&options(Part::all()));
        let mut used: Vec<&str> = Vec::new();
        for unit in &units {
            let model = match &unit.work {
                Work::Play { model, .. } => model,
                Work::Search { sampler, .. } | Work::Race { sampler, .. } if sampler.contains("__") => sampler,
                _ => continue,
            };
            assert!(recipes::find(model).is_some(), "{model}");
            used.push(model);
        }
        let unused: Vec<String> =
            recipes::recipes().into_iter().map(|r| r.name).filter(|name| !used.contains(&name.as_str())).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }

    #[test]
    fn names_are_unique_and_can_be_file_names() {
        let units = units(&options(Part::all()));
        for (index, unit) in units.iter().enumerate() {
            assert!(units[..index].iter().all(|other| other.id != unit.id), "{}", unit.id);
            assert!(unit.id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{}", unit.id);
        }
    }

    #[test]
    fn parts_are_read_back() {
        for part in Part::all() {
            assert_eq!(part.name().parse::<Part>().ok(), Some(part));
        }
        let said = "dark-rom".parse::<Part>().expect_err("a typing error").to_string();
        assert!(said.contains("near: dark-room"), "{said}");
    }
}

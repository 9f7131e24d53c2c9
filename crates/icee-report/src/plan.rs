//! What the report needs: every piece of work of every part, each once.

use crate::work::{ActingChange, Unit, Work};
use crate::{Error, Result};
use icee_bo::functions;
use icee_models::recipes::{self, WORLDS};
use icee_worlds::{Reference, nearest_names};
use std::str::FromStr;

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// One of the paper's worlds, by its place in [`WORLDS`].
    World(usize),
    /// Bayesian optimisation.
    Bo,
    /// What each piece of the method does.
    Ablations,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Games of each evaluation.
    pub games: usize,
    /// Pools of each benchmark function.
    pub trials: usize,
    /// Fixes everything.
    pub seed: u64,
    /// The parts.
    pub parts: Vec<Part>,
}

/// The learned methods that every world shows.
const METHODS: [&str; 6] = ["icee", "icee-paper", "icee-biased", "ad", "ad-sorted", "mgdt"];
/// The agents of plain code beside them.
pub const REFERENCES: [Reference; 3] = [Reference::Source, Reference::Posterior, Reference::Oracle];
/// The optimisers of the paper's comparison.
pub const OPTIMISERS: [&str; 5] = ["value", "gp-ei", "paper", "biased", "random"];
/// The optimisers of the ablation.
pub const OPTIMISER_VARIANTS: [&str; 4] = ["value", "value-paper-prior", "exact", "paper"];
/// κ and δ that are tried on one model.
pub const KAPPAS: [f64; 5] = [0.0, 2.0, 8.0, 20.0, 80.0];
/// See [`KAPPAS`].
pub const GUARDS: [f64; 4] = [0.0, 0.02, 0.05, 0.1];
/// The worlds on which they are tried.
pub const TUNED_WORLDS: [usize; 2] = [0, 1];
/// The biased world's place; there the weighted head stands beside the biased one, from which only its weights differ.
pub const BIASED: usize = 3;

impl Part {
    /// All parts, in the report's order.
    #[must_use]
    pub fn all() -> Vec<Part> {
        (0..WORLDS.len()).map(Part::World).chain([Part::Bo, Part::Ablations]).collect()
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Part::World(world) => WORLDS[world].0,
            Part::Bo => "bo",
            Part::Ablations => "ablations",
        }
    }
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(name: &str) -> Result<Part> {
        let all = Part::all();
        all.iter().copied().find(|part| part.name() == name).ok_or_else(|| {
            let names: Vec<String> = all.iter().map(|part| part.name().to_owned()).collect();
            let nearest = nearest_names(name, &names).into_iter().next();
            let known = nearest.map_or(names.join(", "), |nearest| format!("{} (near: {nearest})", names.join(", ")));
            Error::UnknownPart { name: name.into(), known }
        })
    }
}

/// The name of the work of a model or agent on a world.
#[must_use]
pub fn play_id(world: usize, who: &str) -> String {
    format!("{}__{who}", WORLDS[world].0)
}

/// The name of an optimiser's work on a function.
#[must_use]
pub fn search_id(optimiser: &str, function: &str) -> String {
    format!("bo__{optimiser}__{function}")
}

/// The name of work with another κ.
#[must_use]
pub fn kappa_id(world: usize, kappa: f64) -> String {
    play_id(world, &format!("icee-kappa-{kappa}"))
}

/// The name of work with another δ.
#[must_use]
pub fn guard_id(world: usize, guard: f64) -> String {
    play_id(world, &format!("icee-guard-{guard}"))
}

/// Every piece of work of the parts, each once.
#[must_use]
pub fn units(options: &Options) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for part in &options.parts {
        let wanted = match part {
            Part::World(world) => world_units(*world, options),
            Part::Bo => OPTIMISERS.into_iter().flat_map(|optimiser| search_units(optimiser, options)).collect(),
            Part::Ablations => ablation_units(options),
        };
        for unit in wanted {
            if units.iter().all(|known| known.id != unit.id) {
                units.push(unit);
            }
        }
    }
    units
}

fn world_units(world: usize, options: &Options) -> Vec<Unit> {
    let references = REFERENCES.map(|agent| reference(world, agent, options));
    let learned = methods(world).into_iter().map(|method| play(world, method, options));
    references.into_iter().chain(learned).collect()
}

/// The learned methods that a world shows.
#[must_use]
pub fn methods(world: usize) -> Vec<&'static str> {
    let weighted = (world == BIASED).then_some("icee-weighted");
    METHODS.into_iter().chain(weighted).collect()
}

fn ablation_units(options: &Options) -> Vec<Unit> {
    let mut units = Vec::new();
    for world in 0..WORLDS.len() {
        units.push(reference(world, Reference::Oracle, options));
        let variants = ["icee", "icee-paper", "icee-weighted", "icee-no-searchers", "icee-no-novices"];
        let trained = variants.into_iter().filter(|variant| recipes::find(&play_id(world, variant)).is_some());
        units.extend(trained.map(|variant| play(world, variant, options)));
        let change = ActingChange { always_one: true, ..ActingChange::default() };
        units.push(changed(play_id(world, "icee-always-one"), world, change, options));
    }
    for world in TUNED_WORLDS {
        for kappa in KAPPAS {
            let change = ActingChange { kappa: Some(kappa), ..ActingChange::default() };
            units.push(changed(kappa_id(world, kappa), world, change, options));
        }
        for guard in GUARDS {
            let change = ActingChange { guard: Some(guard), ..ActingChange::default() };
            units.push(changed(guard_id(world, guard), world, change, options));
        }
    }
    let optimisers = ["random"].into_iter().chain(OPTIMISER_VARIANTS);
    units.extend(optimisers.flat_map(|optimiser| search_units(optimiser, options)));
    units
}

fn play(world: usize, variant: &str, options: &Options) -> Unit {
    let id = play_id(world, variant);
    let cost = match variant {
        "icee-paper" => 1.8,
        "mgdt" => 0.5,
        _ => 1.0,
    };
    let work = Work::Play {
        model: id.clone(),
        world: WORLDS[world].1,
        change: ActingChange::default(),
        games: options.games,
        seed: options.seed,
    };
    Unit { id, work, cost: cost * SECONDS_OF_A_GAME * options.games as f64 }
}

fn changed(id: String, world: usize, change: ActingChange, options: &Options) -> Unit {
    let (games, seed) = (options.games, options.seed);
    let work = Work::Play { model: play_id(world, "icee"), world: WORLDS[world].1, change, games, seed };
    Unit { id, work, cost: SECONDS_OF_A_GAME * games as f64 }
}

fn reference(world: usize, agent: Reference, options: &Options) -> Unit {
    let (games, seed) = (options.games, options.seed);
    let work = Work::Reference { world: WORLDS[world].1, agent, games, seed };
    Unit { id: play_id(world, agent.name()), work, cost: 0.002 * games as f64 }
}

fn search_units(optimiser: &str, options: &Options) -> Vec<Unit> {
    let (trials, seed) = (options.trials, options.seed);
    let (sampler, seconds) = match optimiser {
        "random" => (optimiser.to_owned(), 0.001),
        "gp-ei" => (optimiser.to_owned(), SECONDS_OF_A_GP_SEARCH),
        model => (format!("bo__{model}"), SECONDS_OF_A_SEARCH),
    };
    let unit = |function: &'static str| {
        let work = Work::Search { sampler: sampler.clone(), function, trials, seed };
        Unit { id: search_id(optimiser, function), work, cost: seconds * trials as f64 }
    };
    functions::all().iter().map(|function| unit(function.name)).collect()
}

/// About what one game of 1,000 steps costs a model of the default size on two cores.
const SECONDS_OF_A_GAME: f64 = 0.1;
/// About what one search costs a learned optimiser, and the Gaussian process.
const SECONDS_OF_A_SEARCH: f64 = 1.0;
const SECONDS_OF_A_GP_SEARCH: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn options(parts: Vec<Part>) -> Options {
        Options { games: 100, trials: 5, seed: 0, parts }
    }

    #[test]
    fn every_model_of_the_plan_has_a_recipe_and_every_recipe_of_the_paper_is_used() {
        let units = units(&options(Part::all()));
        let mut used: Vec<&str> = Vec::new();
        for unit in &units {
            let model = match &unit.work {
                Work::Play { model, .. } => model,
                Work::Search { sampler, .. } if sampler.contains("__") => sampler,
                _ => continue,
            };
            assert!(recipes::find(model).is_some(), "{model}");
            used.push(model);
        }
        let unused: Vec<String> =
            recipes::recipes().into_iter().map(|r| r.name).filter(|name| !used.contains(&name.as_str())).collect();
        // Made for studies: the paper's functions have two columns.
        assert_eq!(unused, ["bo__value-columns", "bo__value-columns-small"]);
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

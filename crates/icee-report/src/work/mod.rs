//! Units of work whose results are stored: each has a name, a fingerprint of everything its result depends on, and a result file.
//! A repeated report computes only what is missing.

mod compute;
mod regret;
mod samplers;
#[cfg(test)]
mod sources;
mod store;

pub use compute::{Lost, Machine, Results, Watcher, recall, rows, run, search};
pub use samplers::samplers;
pub use store::{Kept, ResultStore};

use icee_models::results::EpisodeRow;
use icee_worlds::Reference;
use serde::{Deserialize, Serialize};

/// A piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Its name, which is also the beginning of its file's name.
    pub id: String,
    /// What is to be done.
    pub work: Work,
    /// About how many seconds it takes on two cores; only their ratios matter, for the time that is left.
    pub cost: f64,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A trained model plays games.
    Play {
        /// The model's name.
        model: String,
        /// The world it must have been trained on.
        world: &'static str,
        /// What is changed in how it acts.
        change: ActingChange,
        /// Games, each of the world's K episodes.
        games: usize,
        /// Fixes games and choices.
        seed: u64,
        /// Whether its regret after every step is wanted, too.
        regret: bool,
    },
    /// A reference agent plays the same games.
    Reference {
        /// The world.
        world: &'static str,
        /// The agent.
        agent: Reference,
        /// Games.
        games: usize,
        /// Fixes games and choices.
        seed: u64,
        /// Whether its regret after every step is wanted, too.
        regret: bool,
    },
    /// An optimiser searches one function's pools.
    Search {
        /// A rival's name, or a model's.
        sampler: String,
        /// The function.
        function: &'static str,
        /// Pools.
        trials: usize,
        /// Fixes pools and choices.
        seed: u64,
    },
    /// An optimiser searches a table of real experiments.
    Race {
        /// A rival's name, or a model's.
        sampler: String,
        /// The table.
        table: &'static str,
        /// Searches, each from first rows of its own.
        trials: usize,
    },
}

/// Acting rules other than the model's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ActingChange {
    /// κ.
    pub kappa: Option<f64>,
    /// δ.
    pub guard: Option<f64>,
    /// c̃ = 1 in every episode.
    pub always_one: bool,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum UnitResult {
    /// Of games.
    Played(Played),
    /// Of searches.
    Searched(Searched),
    /// Of searches of a real table.
    Raced(Raced),
}

/// The returns of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// The world.
    pub world: String,
    /// Games.
    pub games: usize,
    /// Episode by episode.
    pub episodes: Vec<EpisodeRow>,
    /// The mean over all episodes, and half the width of its 95 % interval over games.
    pub overall: (f64, f64),
    /// What the oracle earned on the same games less what was earned, up to each step of a game: the mean, and half the width of
    /// its 95 % interval over games. Empty where it was not wanted.
    #[serde(default)]
    pub regret: Vec<(f64, f64)>,
    /// Seconds it took, whatever else the machine did.
    pub seconds: f64,
}

/// The searches of one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// The function.
    pub function: String,
    /// Evaluations of each search that the sampler did not choose.
    pub initial: usize,
    /// One for each trial.
    pub trials: Vec<SearchCurve>,
}

/// One search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchCurve {
    /// Best value so far minus the pool's minimum, after each evaluation.
    pub regret: Vec<f64>,
    /// Seconds spent on suggestions up to each evaluation.
    pub seconds: Vec<f64>,
}

/// The searches of one real table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Raced {
    /// The table.
    pub table: String,
    /// One for each trial.
    pub runs: Vec<RacedRun>,
}

/// One search of a real table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RacedRun {
    /// Milliseconds a suggestion.
    pub milliseconds: f64,
    /// The rows in the order in which they were tried.
    pub rows: Vec<usize>,
}

impl Unit {
    /// The command that does the same by hand.
    #[must_use]
    pub fn command(&self) -> String {
        match &self.work {
            Work::Play { model, change, games, seed, .. } => {
                let kappa = change.kappa.map_or(String::new(), |kappa| format!(" --kappa {kappa}"));
                let guard = change.guard.map_or(String::new(), |guard| format!(" --guard {guard}"));
                let rule = if change.always_one { " --episode-rule always-one" } else { "" };
                format!("icee eval {model} --games {games} --seed {seed}{kappa}{guard}{rule}")
            }
            Work::Reference { world, agent, games, seed, .. } => {
                format!("icee rollout {world} --agent {} --games {games} --seed {seed}", agent.name())
            }
            Work::Race { trials, .. } => format!("icee reproduce --only tables --trials {trials}"),
            // The protocol has no command of its own.
            Work::Search { trials, seed, .. } => format!("icee reproduce --only bo --trials {trials} --seed {seed}"),
        }
    }
}

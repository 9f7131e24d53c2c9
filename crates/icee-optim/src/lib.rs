//! Learned optimisers: which of many candidates is to be evaluated next, so that the lowest value is found soon?
//!
//! Data flows as for games. A [`PriorSpec`] gives functions; a plan turns them into batches of one network: `value`
//! learns p(y | x, H) for every candidate, the others learn which candidate to pick. [`Functions`] is what a trainer
//! gets. A trained [`ValueModel`] is a [`icee_bo::surrogate::Surrogate`], any trained [`OptimiserModel`] becomes a
//! [`icee_bo::search::Sampler`], and [`evaluate`] puts it through the paper's protocol.
//!
//! A network that has learned next to nothing, put to work:
//!
//! ```
//! use icee_bo::pool::Pool;
//! use icee_bo::search::Search;
//! use icee_optim::{Config, Functions, OptimiserModel, presets};
//! use icee_train::{Device, Limits, RunFolder, RunInfo, Silent, Trainer, train};
//!
//! let short = "[train]\nsteps = 1\nbatch = 4\neval_games = 1\n[data]\npool = 64\nlongest = 16\nqueries = 8";
//! let functions = Functions::new(Config::layered(&[presets::find("bo-tiny")?, short], &[])?)?;
//! let device = Device::cpu(1)?;
//! let root = std::env::temp_dir().join(format!("icee-optim-example-{}", std::process::id()));
//! let folder = RunFolder::create(&root, &functions, &RunInfo::new(&device, None))?;
//! train(&mut Trainer::fresh(&functions, &device)?, &folder, Limits::default(), &mut Silent)?;
//!
//! let model = OptimiserModel::load(folder.path())?;
//! let pool = Pool::new((0..40).map(|k| f64::from(k) / 39.0).collect(), 2)?;
//! let mut sampler = model.sampler(&device)?;
//! let mut search = Search::new(&pool, &mut *sampler, 0);
//! for value in [0.3, 0.1, 0.7] {
//!     let candidate = search.ask()?;
//!     search.tell(candidate, value)?;
//! }
//! assert_eq!(search.best().map(|best| best.value), Some(0.1));
//! # std::fs::remove_dir_all(root)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod calibration;
mod card;
mod cells;
mod config;
mod error;
mod evaluate;
mod features;
mod functions;
mod methods;
mod model;
mod plan;
mod pool;
mod pool_sampler;
pub mod presets;
mod prior;
mod race;
mod samplers;
mod scale;
mod table;
mod table_model;
mod tune;
mod value;
mod value_model;

pub use calibration::{Calibration, Reliability};
pub use config::{Acting, Config, DataConfig, ModelConfig, Spread};
pub use error::{Error, Result};
pub use evaluate::{OptimiserEvaluation, evaluate, regret_at};
pub use functions::Functions;
pub use methods::{METHODS, Method, Objective};
pub use model::{Meta, OptimiserModel};
pub use pool::PoolPlan;
pub use pool_sampler::PoolSampler;
pub use prior::{PRIORS, PriorSpec};
pub use race::{RACER, RaceRuns, race};
pub use table::TablePlan;
pub use table_model::TableModel;
pub use tune::{PickingResult, tune};
pub use value::ValuePlan;
pub use value_model::ValueModel;

/// The tag of functions in configs and checkpoints.
pub const KIND: &str = "functions";

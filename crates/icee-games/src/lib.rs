//! Agents that learn a new game in their context: trained offline on cheap data, they explore and exploit without a
//! gradient.
//!
//! Data flows one way. A world (or a user's log) gives episodes ([`Source`], [`Sequences`]); [`label`] gives every step the
//! returns it led to; a [`Blueprint`] turns both into batches of the networks of a [`methods::Method`]; [`Games`] is what a
//! trainer gets. A [`TrainedModel`] becomes an [`Agent`] (many games) or a [`LiveAgent`] (one environment), [`evaluate`]
//! measures it, [`tune`] picks its acting rules.
//!
//! Training, for a moment, and playing:
//!
//! ```
//! use icee_games::{Config, EvaluationGames, Games, LiveAgent, Source, TrainedModel, evaluate, presets};
//! use icee_train::{Device, Limits, RunFolder, RunInfo, Silent, Trainer, train};
//! use icee_worlds::{Observation, Registry};
//!
//! let registry = Registry::builtin();
//! let small = "[model]\nlayers = 1\nwidth = 16\nattention_heads = 1\n[train]\nsteps = 2\nbatch = 2\neval_games = 2";
//! let config = Config::layered(&[presets::world("dark-room-tiny")?, small], &[])?;
//! let source = Source::of_config(&config, &registry)?;
//! let games = Games::new(config, source)?;
//! let device = Device::cpu(1)?;
//! let root = std::env::temp_dir().join(format!("icee-games-example-{}", std::process::id()));
//! let folder = RunFolder::create(&root, &games, &RunInfo::new(&device, None))?;
//! train(&mut Trainer::fresh(&games, &device)?, &folder, Limits::default(), &mut Silent)?;
//!
//! let model = TrainedModel::load(folder.path())?;
//! let (evaluation, _) = evaluate(&device, &model, &registry, &EvaluationGames::new(4, 0))?;
//! assert_eq!(evaluation.episodes.len(), 16);
//!
//! let mut agent = LiveAgent::new(&device, &model, 0)?;
//! let action = agent.act(Observation::Discrete(12))?;
//! assert!(action < 5);
//! agent.observe(0.0, false)?;
//! # std::fs::remove_dir_all(root)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod advice;
pub mod agent;
mod blueprint;
mod card;
pub mod config;
mod error;
mod eval;
mod games;
mod heads;
mod importance;
pub mod label;
pub mod logs;
pub mod methods;
mod model;
mod novelty;
mod offline;
pub mod presets;
mod sequences;
mod source;
mod task;
mod tokens;
mod tune;

pub use agent::{Agent, Forgotten, LiveAgent, Thought};
pub use blueprint::{Blueprint, NetworkPlan};
pub use config::{Acting, Config};
pub use error::{Error, Result};
pub use eval::{
    EpisodeResult, Evaluation, EvaluationGames, evaluate, evaluate_agent, evaluate_steps, evaluate_watched,
};
pub use games::Games;
pub use heads::{GivenReturns, Head};
pub use importance::Improvement;
pub use label::{Labels, ReturnBins, Weighing};
pub use model::{LearnedLog, Meta, TrainedModel};
pub use novelty::Novelty;
pub use offline::{Difference, OfflineEvaluation, Verdict, evaluate_offline};
pub use sequences::Sequences;
pub use source::Source;
pub use task::{GameSpec, LOGS, ObservationKind};
pub use tokens::{Previous, ReturnInputs, Token, TokenFormat, TokenWriter};
pub use tune::{ActingResult, tune};

/// The tag of games in configs and checkpoints.
pub const KIND: &str = "games";

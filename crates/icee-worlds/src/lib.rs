//! Worlds with a hidden part, the data that is learned from, and the agents that bound what can be learned.
//!
//! Everything flows one way: a [`World`] and its behaviour [`Policy`] make episodes, [`collect`] writes them into a
//! flat [`SequenceBatch`]; an [`Agent`] plays [`Games`] and gives [`Returns`]. A seed fixes all of it, on any number
//! of threads.
//!
//! ```
//! use icee_worlds::{Collection, Games, Reference, ReferenceAgent, Registry, Split, collect};
//!
//! let world = Registry::builtin().make("DarkRoom-v0")?;
//!
//! // What is learned from: whole sequences of K episodes, with the probability of every action.
//! let batch = collect(&*world, &Collection::new(4, world.spec().episodes, 7))?;
//! assert_eq!(batch.steps(), 4 * 50 * 20);
//!
//! // What bounds it: an agent that knows the goal.
//! let mut games = Games::deal(&*world, 100, 7, Split::Evaluation)?;
//! let mut oracle = ReferenceAgent::new(Reference::Oracle, &games)?;
//! let returns = games.play(&mut oracle, 3)?;
//! assert!(returns.estimate(2).mean > 15.0);
//! # Ok::<(), icee_worlds::WorldError>(())
//! ```

#![forbid(unsafe_code)]

mod agent;
pub mod bandit;
mod batch;
mod collect;
pub mod conformance;
mod error;
pub mod grid;
pub mod mdp;
mod observation;
mod policy;
mod reference;
mod registry;
mod regret;
mod relabel;
mod returns;
mod returns_to_go;
mod rollout;
mod world;

pub use agent::{Agent, AgentFailure, Decision, StepOutcome, Turn};
pub use batch::SequenceBatch;
pub use collect::{Collection, MAX_STEPS, collect};
pub use error::WorldError;
pub use icee_base::random::{Purpose, StreamRng, stream};
pub use observation::{Observation, ObservationSpace, Observations};
pub use policy::{Policy, UniformPolicy, sample_action};
pub use reference::{Reference, ReferenceAgent};
pub use registry::Registry;
pub use regret::cumulative_regret;
pub use relabel::{ExpertLabels, Relabel, StepLabel};
pub use returns::Returns;
use returns_to_go::{LEAST_RETURN_TO_GO, shaped_reward};
pub use returns_to_go::{idle_price, returns_to_go};
pub use rollout::{Games, MAX_EPISODES, MAX_GAMES, PlayedStep};
pub use world::{CloneWorld, EpisodeClock, Split, Step, World, WorldSpec};

//! In-context exploration and exploitation: a transformer that is trained offline on cheap data, and then explores and
//! exploits a new game in its context, without a gradient.
//!
//! Data flows one way. A world (or a user's log) gives episodes; [`label`] gives every step the returns it led to;
//! [`Blueprint`] turns both into batches of the networks of a [`methods::Method`]; [`train`] learns and writes a
//! checkpoint. A [`TrainedModel`] becomes an [`Agent`] (many games) or a [`LiveAgent`] (one environment), [`evaluate`]
//! measures it, [`tune`] picks its acting rules. [`bo`] does the same for functions instead of games: discrete Bayesian
//! optimisation.
//!
//! A [`study::Study`] is Bayesian optimisation for users: which row of a CSV file to try next.

pub mod agent;
mod blueprint;
pub mod bo;
mod card;
pub mod config;
mod device;
mod error;
mod eval;
mod games;
pub mod label;
pub mod logs;
mod math;
pub mod methods;
mod model;
mod networks;
pub mod presets;
mod sequences;
mod source;
pub mod study;
mod task;
mod tokens;
pub mod train;
mod tune;

pub use agent::{Agent, LiveAgent, Thought};
pub use blueprint::{Blueprint, NetworkPlan};
pub use config::{Acting, Config};
pub use device::{Device, DeviceChoice};
pub use error::{Error, Result};
pub use eval::{EpisodeResult, Evaluation, evaluate, evaluate_agent};
pub use games::Games;
pub use label::{Labels, ReturnBins};
pub use model::{TrainedModel, checkpoint_in};
pub use networks::{NetworkSpec, Start};
pub use sequences::Sequences;
pub use source::Source;
pub use task::{ObservationKind, Task};
pub use tokens::{ReturnInputs, Token, TokenFormat, TokenWriter};
pub use tune::{Trial, tune, tuning_grid};

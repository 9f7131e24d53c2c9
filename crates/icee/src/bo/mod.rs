//! Discrete Bayesian optimisation by learned models: which of many candidates is to be evaluated next, so that the
//! lowest value is found soon?
//!
//! Data flows as for games. A [`PriorSpec`] gives functions; a plan turns them into batches of one network: `value`
//! learns p(y | x, H) for every candidate, the others learn which candidate to pick. [`Functions`] is what a trainer
//! gets. A trained [`ValueModel`] is a [`icee_bo::surrogate::Surrogate`], any trained [`Model`] becomes a
//! [`icee_bo::sampler::Sampler`], and [`evaluate`] puts it through the paper's protocol.

mod calibration;
mod config;
mod evaluate;
mod features;
mod functions;
mod methods;
mod model;
mod pool;
mod pool_sampler;
mod prior;
mod race;
mod scale;
mod tune;
mod value;
mod value_model;
mod value_sampler;

pub use calibration::{Calibration, Reliability};
pub use config::{Acting, Config, DataConfig, ModelConfig, Spread};
pub use evaluate::{Comparison, evaluate, regret_at};
pub use features::Features;
pub use functions::Functions;
pub use methods::{METHODS, Method, Objective};
pub(crate) use model::Meta;
pub use model::Model;
pub use pool::PoolPlan;
pub use pool_sampler::PoolSampler;
pub use prior::{PRIORS, PriorSpec, is_prior};
pub use scale::{Scale, ValueBins};
pub use tune::{Trial, tune};
pub use value::ValuePlan;
pub use value_model::ValueModel;
pub use value_sampler::ValueSampler;

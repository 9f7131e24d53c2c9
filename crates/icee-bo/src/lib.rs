//! Discrete Bayesian optimisation below the learned models: what they train on, what they are compared with, and how.

pub mod behaviour;
mod error;
pub mod functions;
pub mod gp;
pub mod gp_ei;
pub mod kernel;
pub mod linalg;
pub mod prior;
pub mod protocol;
mod quasi_newton;
mod random;
pub mod report;
pub mod sampler;

pub use error::{BoError, BoResult};

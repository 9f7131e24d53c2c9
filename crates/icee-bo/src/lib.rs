//! Discrete Bayesian optimisation below the learned models: what they train on, what they are compared with, and how.

mod error;
pub mod functions;

pub use error::{BoError, BoResult};

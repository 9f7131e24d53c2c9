//! Discrete Bayesian optimisation below the learned models: what they train on, what they are compared with, and how.
//!
//! - To train on: [`prior`] draws functions, [`behaviour`] and [`searcher`] pick candidates from them.
//! - To compare with: [`sampler`] is the ask/tell interface with random search behind it, [`gp_ei`] the Gaussian process
//!   with expected improvement, on the regression in [`gp`]; [`surrogate`] is what any model says of a candidate,
//!   [`gp_surrogate`] the Gaussian process behind it, [`remaining`] what follows for all that is left, [`history`] what
//!   models are given of a long one.
//! - How: [`functions`] are searched by [`protocol`], which gives a [`report`].

pub mod behaviour;
mod error;
pub mod functions;
pub mod gp;
pub mod gp_ei;
pub mod gp_surrogate;
pub mod history;
mod kernel;
mod linalg;
pub mod prior;
pub mod protocol;
mod quasi_newton;
pub mod random;
pub mod remaining;
pub mod report;
pub mod sampler;
pub mod searcher;
pub mod surrogate;

pub use error::{BoError, BoResult};

//! Discrete Bayesian optimisation below the learned models: what they train on, what they are compared with, and how.
//!
//! - To train on: [`prior`] draws functions, [`behaviour`] and [`searcher`] pick candidates from them.
//! - To decide: a [`surrogate`] gives each candidate of a [`pool`] a [`belief`], [`acquisition`] picks one of them,
//!   [`remaining`] says what follows for all that is left, [`history`] and [`standard`] what models are given.
//! - To compare with: [`search`] has the ask/tell interface, random search and the one search loop, [`gp_surrogate`] the
//!   Gaussian process on the regression in [`gp`], [`fresh`] new tasks of a prior.
//! - How: [`functions`] are searched by [`protocol`], which gives a [`report`].
//!
//! A Gaussian process that searches a bowl:
//!
//! ```
//! use icee_bo::gp_surrogate::gp_ei;
//! use icee_bo::pool::Pool;
//! use icee_bo::search::Search;
//!
//! let points: Vec<f64> = (0..50).map(|k| f64::from(k) / 49.0).collect();
//! let pool = Pool::new(points, 1)?;
//! let mut sampler = gp_ei();
//! let mut search = Search::new(&pool, &mut sampler, 0);
//! for _ in 0..10 {
//!     let candidate = search.ask()?;
//!     let x = pool.point(candidate)[0];
//!     search.tell(candidate, (x - 0.3) * (x - 0.3))?;
//! }
//! assert!(search.best().is_some_and(|best| best.value < 1e-3));
//! # Ok::<(), icee_bo::BoError>(())
//! ```

pub mod acquisition;
pub mod behaviour;
pub mod belief;
pub mod columns;
mod error;
mod fourier;
pub mod frame;
pub mod fresh;
pub mod functions;
pub mod gp;
pub mod gp_surrogate;
pub mod history;
mod kernel;
mod linalg;
pub mod normal;
pub mod pool;
pub mod prior;
pub mod protocol;
mod quasi_newton;
pub mod race;
pub mod remaining;
pub mod report;
pub mod search;
pub mod searcher;
pub mod standard;
pub mod surrogate;
pub mod surrogate_sampler;
pub mod tables;

pub use error::{BoError, BoResult};

//! Figures, pages and the paper's whole evaluation from trained models.
//!
//! [`plan`] lists the work, [`work`] does what is not done yet, [`chapters`] turns outcomes into figures and tables,
//! [`reproduction`] puts them on one page with everything behind it. [`figure`], [`draw`] and [`page`] serve any other
//! report as well.

pub mod animation;
pub mod chapters;
pub mod check;
pub mod draw;
mod error;
pub mod figure;
pub mod ink;
pub mod output;
pub mod page;
pub mod paper;
pub mod plan;
pub mod reproduction;
pub mod work;

pub use error::{Error, Result};

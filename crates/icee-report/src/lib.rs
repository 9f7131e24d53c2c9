//! Figures, pages and the paper's whole evaluation from trained models.
//!
//! [`plan`] lists the work, [`work`] does what is not done yet, [`chapters`] turns outcomes into figures and tables,
//! [`reproduction`] puts them on one page with everything behind it. [`figure`], [`draw`] and [`page`] serve any other
//! report as well.
//!
//! ```
//! use icee_report::figure::{Axis, Figure, Mark, Point, Series};
//! use icee_report::{draw, ink};
//!
//! let points = (1..=5).map(|k| Point { x: f64::from(k), y: f64::from(k * k), half_width: Some(0.5) }).collect();
//! let series = vec![Series::new(ink::of("icee"), Mark::Line, points)];
//! let figure = Figure::single("squares", "Squares", "k against k²", Axis::linear("k"), Axis::linear("k²"), series);
//! assert!(draw::svg_file(&figure).starts_with("<svg"));
//! assert_eq!(figure.to_csv()?.lines().count(), 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod animation;
pub mod chapters;
pub mod check;
pub mod cost;
pub mod draw;
mod error;
pub mod figure;
pub mod ink;
pub mod output;
pub mod page;
pub mod paper;
pub mod plan;
pub mod reproduction;
pub mod study;
pub mod work;

pub use error::{Error, Result};

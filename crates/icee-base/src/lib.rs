//! What every crate of this project shares.
//!
//! [`random`] gives independent streams of random numbers, [`math`] exponentials and logarithms with the same bits on every
//! machine, [`distributions`] random numbers that are not uniform, [`names`] suggestions for unknown names, [`files`] files that
//! are written whole or not at all, [`hash`] checksums, [`stats`] means with their intervals, [`table`] CSV files.
//!
//! ```
//! use icee_base::{names::nearest, random, stats::Estimate};
//! use rand::RngExt;
//!
//! let mut rng = random::path(7, &[3, 1]);
//! let drawn: Vec<f64> = (0..100).map(|_| rng.random()).collect();
//! let Estimate { mean, half_width } = Estimate::of(&drawn);
//! assert!((mean - 0.5).abs() < 2.0 * half_width);
//! assert_eq!(nearest("dark-rom", &["dark-room", "key-to-door"]), ["dark-room"]);
//! ```

#![forbid(unsafe_code)]

pub mod distributions;
pub mod files;
pub mod hash;
pub mod math;
pub mod names;
pub mod numbers;
pub mod random;
pub mod stats;
pub mod table;

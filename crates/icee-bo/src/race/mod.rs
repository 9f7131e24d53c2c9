//! A race on real tables: pools of experiments whose values are all known, searched as if they were not.
//!
//! A folder holds [`pools`]; samplers and other tools leave [`runs`] behind, from the same first rows; [`score`] compares them,
//! pool by pool, with random search.

pub mod builtin;
pub mod pools;
pub mod runs;
pub mod score;

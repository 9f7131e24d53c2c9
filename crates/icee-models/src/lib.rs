//! The trained models: which there are and how each is trained ([`recipes`]), where they lie ([`Shelf`]: folders beside
//! the repository, and the defaults inside the program), what they earned ([`results`]), how a training run becomes one
//! ([`add`]), and which of them studies use ([`study_models`]).

pub mod add;
mod error;
pub mod recipes;
pub mod results;
mod shelf;
mod studies;

pub use error::{Error, Result};
pub use recipes::Recipe;
pub use shelf::{Description, Found, Place, Shelf};
pub use studies::study_models;

/// The files of a model that is inside the program.
struct Embedded {
    name: &'static str,
    config: &'static [u8],
    tensors: &'static [u8],
    card: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

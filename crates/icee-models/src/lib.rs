//! The trained models: which there are ([`catalogue`]) and how each is trained ([`recipes`]), where they lie
//! ([`ModelStore`]: folders beside the repository, and the defaults inside the program), whether one plays games or optimises
//! functions ([`kind`]), how one is trained into a run folder ([`job`]) and what such folders say ([`runs`]), what they earned ([`results`]), how a training run becomes one ([`add`]), and which of them studies
//! use ([`study_models`]).
//!
//! ```
//! use icee_models::{Model, ModelStore};
//!
//! let found = ModelStore::default().find("dark-room__icee")?;
//! if let Model::Games(model) = found.load()? {
//!     assert_eq!(model.task.name, "DarkRoom-v0");
//! }
//! # Ok::<(), icee_models::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod add;
pub mod catalogue;
mod error;
pub mod job;
pub mod kind;
pub mod recipes;
pub mod results;
pub mod runs;
mod store;
mod studies;

pub use error::{Error, Result};
pub use kind::{Kind, Model};
pub use recipes::Recipe;
pub use store::{Description, Found, ModelStore, Place};
pub use studies::{learned_models, study_models};

/// The files of a model that is inside the program.
struct Embedded {
    name: &'static str,
    config: &'static [u8],
    tensors: &'static [u8],
    card: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

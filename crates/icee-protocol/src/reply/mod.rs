//! What studies answer. Every verb has one reply, and a reply has one shape.

mod looks;
mod rows;
mod steps;
mod summary;

pub use looks::*;
pub use rows::*;
pub use steps::*;
pub use summary::*;

//! The CPU device: kernels for every instruction set, learning, and in-context inference.

mod kernels;
mod learner;
mod memory;
mod network;
mod packed;
mod simd;
mod threads;
mod update;
mod view;

pub use learner::{Gradients, Learner, Losses};
pub use network::{Cache, CandidateSet, Network};
pub use simd::Isa;
pub use threads::Cpu;
pub(crate) use update::{AdamStep, adam_update};

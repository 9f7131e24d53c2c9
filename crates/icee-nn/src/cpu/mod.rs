//! The CPU device: kernels for every instruction set, learning, and in-context inference.

#[allow(
    clippy::undocumented_unsafe_blocks,
    clippy::needless_range_loop,
    reason = "bodies are unsafe throughout, under the contract of Simd; register tiles are indexed by constants"
)]
mod kernels;
mod learner;
mod memory;
mod network;
mod packed;
#[allow(clippy::undocumented_unsafe_blocks, reason = "every method is unsafe under the contract of Simd")]
mod simd;
mod spans;
mod threads;
mod update;
mod view;

pub use learner::{Gradients, Learner, Losses};
pub use network::{Cache, CandidateSet, Network};
pub use simd::Isa;
pub use threads::{Cpu, thread_count};
pub(crate) use update::{AdamStep, adam_update};

//! The CUDA device: learning and in-context inference on an NVIDIA GPU in bf16, with f32 master weights and f32
//! reductions.
//!
//! Nothing of CUDA is needed to build or to start a program; the driver, NVRTC and cuBLASLt are loaded when
//! [`Cuda::new`] is called. Kernels are compiled for the GPU found and kept on disk.
//!
//! # What `unsafe` relies on here
//! An `Address` is a raw pointer with a type. It comes from a `Memory`, which its owner (a [`Learner`], a [`Network`])
//! keeps until the stream is done with it, by way of `Plan`, `Arena` or `Places`; those give every buffer the shape that
//! kernels and products expect of the batch at hand, which was checked at the door and packed as its `Shape` says.
//! Functions that take addresses rely on this and are for this module alone. What uses an address (a launch, a product,
//! a clearing) is `unsafe`, and each call says which of it counts there. Copies between host and GPU are safe: they
//! check that they stay inside a `Memory`, and carry `Plain` types only.

mod acting;
mod address;
mod append_packing;
mod ceilings;
mod class_head;
mod compile;
mod device;
mod fields;
mod gemm;
mod heads;
mod kernels;
mod launch;
mod layers;
mod learner;
mod network;
mod optimiser;
mod packed;
mod packing;
mod pass;
mod places;
mod plan;
mod pool_head;
mod pool_packing;
mod records;
mod step;
mod trunk;
mod update;

pub use acting::{ClassRange, ReturnDraw, Tilt};
pub use ceilings::Ceilings;
pub use device::Cuda;
pub use learner::Learner;
pub use network::Network;
pub use packed::{Packed, Packing};
pub use places::supports;
pub use update::step_together;

//! The CUDA device: learning and in-context inference on an NVIDIA GPU in bf16, with f32 master weights and f32
//! reductions.
//!
//! Nothing of CUDA is needed to build or to start a program; the driver, NVRTC and cuBLASLt are loaded when
//! [`Cuda::new`] is called. Kernels are compiled for the card found and kept on disk.

mod acting;
mod append_packing;
mod ceilings;
mod class_head;
mod compile;
mod device;
mod fields;
mod gemm;
mod heads;
mod learner;
mod network;
mod packing;
mod pass;
mod places;
mod plan;
mod pool_head;
mod pool_packing;
mod trunk;
mod update;

pub use acting::{Outcome, ReturnDraw, Tilt};
pub use ceilings::Ceilings;
pub use device::Cuda;
pub use learner::Learner;
pub use network::Network;
pub use places::supports;
pub use update::step_together;

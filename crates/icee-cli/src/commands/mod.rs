//! One file a command.

pub mod acting;
pub mod bench;
pub mod bench_gpu;
mod bench_gpu_cases;
pub mod demo;
pub mod eval;
pub mod functions;
pub mod models;
pub mod play;
pub mod reproduce;
pub mod rollout;
pub mod train;
pub mod tune;
pub mod worlds;

/// Whether the error is only that nobody reads our output any more.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let pipe = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(pipe))
}

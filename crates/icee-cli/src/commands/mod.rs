//! One file a command.

pub mod acting;
pub mod bench;
mod bench_agent;
mod bench_engine;
pub mod bench_gpu;
mod bench_gpu_cases;
mod bench_study;
pub mod demo;
mod demo_room;
mod device;
pub mod eval;
mod eval_functions;
pub mod functions;
pub mod models;
pub mod play;
mod play_svg;
pub mod reproduce;
pub mod rollout;
pub mod study;
mod study_print;
pub mod train;
pub mod tune;
pub mod worlds;

/// Whether the error is only that nobody reads our output any more.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let pipe = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(pipe))
}

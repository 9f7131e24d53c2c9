//! The commands, one file each, some with files for their parts. Those of studies are in `study/`.

pub mod act;
pub mod acting;
pub mod bench;
mod bench_agent;
mod bench_engine;
pub mod bench_gpu;
mod bench_gpu_cases;
mod bench_study;
pub mod compare;
mod counts;
pub mod demo;
mod demo_room;
mod device;
pub mod eval;
mod eval_functions;
mod eval_logs;
mod eval_pools;
pub mod functions;
pub mod models;
pub mod play;
mod play_svg;
mod plot;
mod progress;
pub mod reproduce;
pub mod rollout;
pub mod runs;
pub mod serve;
mod stop;
pub mod train;
pub mod tune;
pub mod worlds;

/// Whether the error is only that our output was closed. Writers of CSV and JSON wrap it in errors of their own.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let csv = cause.downcast_ref::<csv::Error>().and_then(|error| match error.kind() {
            csv::ErrorKind::Io(error) => Some(error.kind()),
            _ => None,
        });
        let json = || cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        csv.or_else(json).or_else(|| cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind))
    };
    error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
}

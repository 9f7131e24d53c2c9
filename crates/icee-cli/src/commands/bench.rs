//! `icee bench`: measures speed on this machine.

use super::{bench_agent, bench_engine, bench_gpu, bench_study};
use anyhow::Result;
use clap::Subcommand;
use icee_worlds::Registry;

/// Measure speed.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// Measure training, inference, decoding and queries of the engine on the CPU.
    Engine(bench_engine::EngineArgs),
    /// Measure one decision of a live agent on one core, with a long history.
    Agent(bench_agent::AgentArgs),
    /// Measure training and decoding on an NVIDIA GPU.
    Gpu(bench_gpu::GpuArgs),
    /// Measure suggestions of `icee study` for growing tables and histories.
    Study(bench_study::StudyArgs),
}

pub fn run(command: &BenchCommand, registry: &Registry) -> Result<()> {
    match command {
        BenchCommand::Engine(args) => bench_engine::run(args),
        BenchCommand::Agent(args) => bench_agent::run(args, registry),
        BenchCommand::Gpu(args) => bench_gpu::run(args),
        BenchCommand::Study(args) => bench_study::run(args),
    }
}

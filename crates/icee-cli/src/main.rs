//! The binary `icee`: parses the command line, calls the libraries, prints. It is the only crate that prints.

mod commands;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// In-context exploration and exploitation: agents that learn a new task from its first episodes, without a gradient.
#[derive(Parser)]
#[command(name = "icee", version, about, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Args),
    Reproduce(commands::reproduce::Args),
    Models(commands::models::Args),
    /// Measure the engine's speed on this machine
    #[command(subcommand)]
    Bench(commands::bench::BenchCommand),
    Worlds(commands::worlds::Args),
    Rollout(commands::rollout::Args),
    Train(commands::train::Args),
    Eval(commands::eval::Args),
    Tune(commands::tune::Args),
    Play(commands::play::Args),
    /// Which row next? Search a CSV of candidates for the best one, in few experiments.
    #[command(subcommand)]
    Study(commands::study::StudyCommand),
    /// List the benchmark functions of Bayesian optimisation, or evaluate them.
    Functions(commands::functions::Arguments),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough (`icee worlds | head -1`).
        Err(error) if commands::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Models(args) => commands::models::run(&args),
        Command::Bench(command) => commands::bench::run(&command),
        Command::Worlds(args) => commands::worlds::run(&args),
        Command::Rollout(args) => commands::rollout::run(&args),
        Command::Train(args) => commands::train::run(&args),
        Command::Eval(args) => commands::eval::run(&args),
        Command::Tune(args) => commands::tune::run(&args),
        Command::Play(args) => commands::play::run(&args),
        Command::Study(command) => commands::study::run(&command),
        Command::Functions(arguments) => commands::functions::run(arguments),
    }
}

//! The command line of icee: parses, calls the libraries, prints. It is the only crate that prints.
//!
//! A program of one's own has every command for worlds of its own:
//!
//! ```no_run
//! use icee_worlds::Registry;
//!
//! fn main() -> std::process::ExitCode {
//!     let mut registry = Registry::builtin();
//!     # let my_world = registry.make("DarkRoom-v0").unwrap();
//!     registry.register(my_world).expect("an id of its own");
//!     icee_cli::run(&registry)
//! }
//! ```

#![forbid(unsafe_code)]

mod commands;
mod terminal;

use clap::{Parser, Subcommand};
use icee_worlds::Registry;
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

/// Runs the command line of this process, with these worlds.
#[must_use]
pub fn run(registry: &Registry) -> ExitCode {
    match dispatch(Cli::parse().command, registry) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough (`icee worlds | head -1`).
        Err(error) if commands::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::say(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command, registry: &Registry) -> anyhow::Result<()> {
    match command {
        Command::Demo(args) => commands::demo::run(&args, registry),
        Command::Reproduce(args) => commands::reproduce::run(&args, registry),
        Command::Models(args) => commands::models::run(&args),
        Command::Bench(command) => commands::bench::run(&command, registry),
        Command::Worlds(args) => commands::worlds::run(&args, registry),
        Command::Rollout(args) => commands::rollout::run(&args, registry),
        Command::Train(args) => commands::train::run(&args, registry),
        Command::Eval(args) => commands::eval::run(&args, registry),
        Command::Tune(args) => commands::tune::run(&args, registry),
        Command::Play(args) => commands::play::run(&args, registry),
        Command::Study(command) => commands::study::run(&command),
        Command::Functions(arguments) => commands::functions::run(arguments),
    }
}

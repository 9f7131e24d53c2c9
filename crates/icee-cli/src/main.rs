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
    /// List the benchmark functions of Bayesian optimisation, or evaluate them.
    Functions(commands::functions::Arguments),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Functions(arguments) => commands::functions::run(arguments),
    }
}

//! The command line of icee: parses, calls the libraries, prints. It is the only crate that prints.
//!
//! Your own program gets every command for its own worlds:
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
mod study;
mod terminal;

use clap::{Parser, Subcommand};
use icee_worlds::Registry;
use std::io::Write;
use std::process::ExitCode;
use terminal::say;

/// The exit status of mistakes on the command line.
const USAGE: u8 = 2;

/// In-context exploration and exploitation: agents that learn a new task from its first episodes, without a gradient.
#[derive(Parser)]
#[command(name = "icee", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Args),
    Reproduce(commands::reproduce::Args),
    Models(commands::models::Args),
    /// Measure speed on this machine.
    #[command(subcommand)]
    Bench(commands::bench::BenchCommand),
    Worlds(commands::worlds::Args),
    Rollout(commands::rollout::Args),
    Train(commands::train::Args),
    Runs(commands::runs::Args),
    Compare(commands::compare::Args),
    Eval(commands::eval::Args),
    Tune(commands::tune::Args),
    Play(commands::play::Args),
    Act(commands::act::Args),
    Study(study::Arguments),
    Serve(commands::serve::Args),
    /// List or evaluate the benchmark functions of Bayesian optimisation.
    Functions(commands::functions::Arguments),
}

/// Runs the command line of this process, with these worlds.
#[must_use]
pub fn run(registry: &Registry) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let done = dispatch(cli.command, registry);
    // What is still in the buffer can fail, too.
    match done.and_then(|()| Ok(std::io::stdout().flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed our output (`icee worlds | head -1`).
        Err(error) if commands::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Files are named where they are read and written; what has no name is stdout.
            let unnamed = error.chain().len() == 1 && error.is::<std::io::Error>();
            say(format_args!("error: {}{}", if unnamed { "cannot write the result: " } else { "" }, in_words(&error)));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes; some say theirs themselves.
fn in_words(error: &anyhow::Error) -> String {
    let mut causes = error.chain().map(ToString::to_string);
    let first = causes.next().unwrap_or_default();
    causes.fold(first, |text, cause| if text.ends_with(&cause) { text } else { format!("{text}: {cause}") })
}

/// Reports what is wrong with the arguments, or prints help.
fn refuse(error: &clap::Error) -> ExitCode {
    if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
        // clap does not say which.
        let words = std::env::args_os().skip(1).filter(|word| word.to_str().is_none());
        let words: Vec<String> = words.map(|word| format!("\"{}\"", word.display())).collect();
        say(format_args!("error: not UTF-8: the argument {}", words.join(", ")));
        return ExitCode::from(USAGE);
    }
    match error.print() {
        _ if error.use_stderr() => ExitCode::from(USAGE),
        Err(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => {
            say(format_args!("error: cannot write the help: {failure}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

fn dispatch(command: Command, registry: &Registry) -> anyhow::Result<()> {
    match command {
        Command::Demo(args) => commands::demo::run(&args, registry, &args.models.store()?),
        Command::Reproduce(args) => commands::reproduce::run(&args, registry, &args.models.store()?),
        Command::Models(args) => commands::models::run(&args, &args.models.store()?),
        Command::Bench(command) => commands::bench::run(&command, registry),
        Command::Worlds(args) => commands::worlds::run(&args, registry),
        Command::Rollout(args) => commands::rollout::run(&args, registry),
        Command::Train(args) => commands::train::run(&args, registry),
        Command::Runs(args) => commands::runs::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Eval(args) => commands::eval::run(&args, registry, &args.models.store()?),
        Command::Tune(args) => commands::tune::run(&args, registry, &args.models.store()?),
        Command::Play(args) => commands::play::run(&args, registry, &args.models.store()?),
        Command::Act(args) => commands::act::run(&args, &args.models.store()?),
        Command::Study(arguments) => study::run(&arguments),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Functions(arguments) => commands::functions::run(arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_said_once() {
        let io = || std::io::Error::other("full");
        let file = icee_base::files::FileError::io("a.csv".as_ref())(io());
        assert_eq!(in_words(&anyhow::Error::from(file)), "a.csv: full");
        let context = Err::<(), _>(io()).context("cannot write b.csv").unwrap_err();
        assert_eq!(in_words(&context), "cannot write b.csv: full");
    }
}

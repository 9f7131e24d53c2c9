//! The binary `icee`, with the built-in worlds.

use icee_worlds::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    icee_cli::run(&Registry::builtin())
}

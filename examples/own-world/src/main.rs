//! Every command of `icee`, for a world of one's own as well.

mod bandit;

use bandit::Bandit;
use icee_worlds::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut registry = Registry::builtin();
    registry.register(Box::new(Bandit::new())).expect("an id of its own");
    icee_cli::run(&registry)
}

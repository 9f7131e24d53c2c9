//! One file a command.

pub mod functions;

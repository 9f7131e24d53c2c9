//! What is told on stderr beside the result. It may get lost and must never be what a command fails by: `eprintln!` panics where
//! stderr is full or closed, and hours of training would go with it.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line to stderr, in one piece; that it cannot be written is no failure.
pub fn note(text: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// As `eprintln!`, but it cannot fail.
macro_rules! note {
    ($($text:tt)*) => { $crate::note::note(format_args!($($text)*)) };
}

//! What the end-to-end tests share.
#![allow(dead_code, reason = "each test file is a program of its own and uses a part")]

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Settings of a model that trains in a moment.
pub const SMALL: [&str; 5] =
    ["model.layers=1", "model.width=16", "model.attention_heads=1", "train.batch=4", "train.eval_games=4"];

/// A folder that goes when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("icee-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// A command of the binary, run in this folder.
    pub fn icee(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_icee"));
        command.args(arguments).current_dir(&self.0);
        command
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command that must succeed printed, as JSON where it is.
pub fn ok(output: Output) -> Value {
    serde_json::from_str(&said(output)).unwrap_or(Value::Null)
}

/// What a command that must succeed printed.
pub fn said(output: Output) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command that must fail complained of.
pub fn complaint(output: Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

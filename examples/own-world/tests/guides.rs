//! The guides show this crate word by word, and the commands that they give for it work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(CRATE).join(path)).unwrap()
}

/// The blocks of a language in a page.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let starts = page.match_indices(&fence).map(|(at, _)| at + fence.len());
    starts.filter_map(|start| page[start..].split("```").next()).collect()
}

#[test]
fn the_guides_code_is_the_examples_code() {
    let example = read("src/bandit.rs") + &read("src/main.rs") + &read("Cargo.toml") + &read("bandit.toml");
    let (walk, training) = (read("../../docs/adding-a-world.md"), read("../../docs/training.md"));
    let shown = [blocks(&walk, "rust"), blocks(&training, "rust")].concat();
    assert!(shown.len() >= 7, "the guides show {} pieces of code", shown.len());
    let manifests = blocks(&training, "toml").into_iter().filter(|block| block.contains("[dependencies]"));
    for block in shown.into_iter().chain(manifests) {
        assert!(example.contains(block), "not in the example:\n{block}");
    }
}

/// A folder that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn run(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_own-world")).args(words).current_dir(&self.0).output().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_command_of_the_guide_works_for_the_world() {
    let scratch = Scratch(std::env::temp_dir().join(format!("own-world-{}", std::process::id())));
    fs::create_dir_all(&scratch.0).unwrap();
    fs::copy(Path::new(CRATE).join("bandit.toml"), scratch.0.join("bandit.toml")).unwrap();
    let guide = read("../../docs/training.md");
    let mut commands = Vec::new();
    for line in blocks(&guide, "sh").concat().lines() {
        let Some(command) = line.strip_prefix("cargo run -r -- ") else { continue };
        let run = fs::read_dir(scratch.0.join("runs")).ok().and_then(|mut runs| runs.next());
        let run = run.map_or(String::new(), |run| run.unwrap().path().display().to_string());
        let command = command.replace("runs/RUN", &run).replace("--games 1000", "--games 4");
        let mut words: Vec<&str> = command.split(' ').collect();
        match words[0] {
            "train" => words.extend(["--set", "train.steps=3", "--set", "model.layers=1"]),
            "tune" => words.extend(["--games", "4"]),
            _ => {}
        }
        let output = scratch.run(&words);
        let [printed, notes] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(output.status.success(), "{command}\n{printed}{notes}");
        assert!(words[0] != "worlds" || printed.contains("Bandit-v0"), "{printed}");
        commands.push(words[0].to_string());
    }
    assert_eq!(commands, ["worlds", "rollout", "train", "eval", "tune", "play", "models"]);
    assert!(scratch.0.join("models/bandit__icee/README.md").exists());
}

//! Every block of the guide to training is run, one after another in one folder, with small networks and few games.
//! What is about a crate of one's own is tested there: `examples/own-world`.
#![cfg(unix)]

mod common;

use common::{SMALL, Scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What makes every training of the guide short, optimisers included.
const SHORT: [&str; 4] = ["train.steps=3", "data.pool=64", "data.longest=8", "data.queries=8"];

/// A fenced block of a page.
struct Block<'a> {
    language: &'a str,
    text: String,
    /// The file that the line above says it is.
    file: Option<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut above, mut inside) = (Vec::new(), "", false);
    for line in page.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), false) => {
                let file = above.strip_suffix(':').and_then(|rest| rest.rsplit('`').nth(1));
                blocks.push(Block { language, text: String::new(), file });
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => blocks.last_mut().unwrap().text += &format!("{line}\n"),
            (None, false) => {}
        }
        above = line;
    }
    blocks
}

/// The run folders, the newest first. Their names end with the time, in seconds, so the time of the file decides.
fn runs(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join("runs")) else { return Vec::new() };
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(fs::metadata(run.join("run.json")).unwrap().modified().unwrap()));
    runs
}

/// The line of the guide as it is run here: on real runs, and in a moment.
fn shortened(line: &str, folder: &Path) -> String {
    let mut line = line.split(" #").next().unwrap_or_default().trim_end().to_string();
    for (placeholder, run) in ["runs/RUN", "runs/OTHER"].iter().zip(runs(folder)) {
        line = line.replace(placeholder, run.to_str().unwrap());
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    if let Some(at) = words.iter().position(|word| *word == "--games") {
        // A log of fewer could not hold any out.
        words[at + 1] = if words[1] == "rollout" { "40" } else { "4" };
    } else if ["eval", "tune", "rollout"].contains(&words[1]) && !line.contains("--logs") {
        words.extend(["--games", "4"]);
    }
    let settings = SMALL.iter().chain(&SHORT).flat_map(|setting| ["--set", setting]);
    if words[1] == "train" && !line.contains("--resume") {
        let of_games = |setting: &&str| line.contains("bo-") || !setting.starts_with("data.");
        words.extend(settings.collect::<Vec<_>>().chunks(2).filter(|pair| of_games(&pair[1])).flatten());
    }
    words.join(" ")
}

#[test]
fn every_block_of_the_guide_to_training_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/training.md")).unwrap();
    let scratch = Scratch::new("training-guide");
    let program = Path::new(env!("CARGO_BIN_EXE_icee")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut run = 0;
    for block in blocks(&page) {
        let lines: Vec<&str> = match block.language {
            "sh" => block.text.lines().filter(|line| !line.starts_with("cargo run")).collect(),
            "console" => block.text.lines().filter_map(|line| line.strip_prefix("$ ")).collect(),
            _ => {
                if let Some(file) = block.file.filter(|file| !file.contains('/') && *file != "Cargo.toml") {
                    fs::write(scratch.0.join(file), &block.text).unwrap();
                }
                continue;
            }
        };
        for line in lines {
            let line = shortened(line, &scratch.0);
            let output =
                Command::new("sh").args(["-c", &line]).current_dir(&scratch.0).env("PATH", &path).output().unwrap();
            let [printed, notes] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
            assert!(output.status.success(), "{line}\n{printed}{notes}");
            if block.language == "console" {
                assert!(block.text.contains(&*printed), "{line}\n{printed}\nis not what the guide shows");
            }
            run += 1;
        }
    }
    assert!(run > 25, "only {run} commands were found: is the reader of the page broken?");
}

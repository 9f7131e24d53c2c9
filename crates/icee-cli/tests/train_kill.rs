//! `icee train`, killed at every call that changes a file: it goes on from there, and ends with the same bits.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;
mod support;

use common::{SMALL, Scratch, ok};
use nix::libc;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::kill_at_call;

/// What changes a file or a folder.
fn changes_files(call: i64) -> bool {
    [
        libc::SYS_open,
        libc::SYS_openat,
        libc::SYS_creat,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_pwrite64,
        libc::SYS_copy_file_range,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_ftruncate,
        libc::SYS_rename,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_link,
        libc::SYS_linkat,
        libc::SYS_unlink,
        libc::SYS_unlinkat,
        libc::SYS_mkdir,
        libc::SYS_mkdirat,
    ]
    .contains(&call)
}

fn train(scratch: &Scratch, out: &str, settings: &[&str]) -> Command {
    let mut command = scratch.icee(&["train", "dark-room-tiny", "--threads", "1", "--json", "--out", out]);
    let short = ["train.steps=2", "train.save_every=1", "train.eval_every=0", "train.batch=1", "train.eval_games=1"];
    SMALL.iter().chain(&short).chain(settings).for_each(|setting| {
        command.args(["--set", setting]);
    });
    command
}

fn resume(scratch: &Scratch, run: &Path) -> Command {
    scratch.icee(&["train", "--threads", "1", "--json", "--resume", run.to_str().unwrap()])
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// The bits that must be the same: weights, optimiser and, but for the speed, the metrics.
fn result(run: &Path) -> (Vec<u8>, Vec<u8>, Vec<String>) {
    let read = |file: &str| std::fs::read(run.join(file)).unwrap();
    let metrics = String::from_utf8(read("metrics.csv")).unwrap();
    let speed = metrics.lines().next().unwrap().split(',').position(|column| column == "tokens_per_second").unwrap();
    let without =
        |line: &str| line.split(',').enumerate().filter(|(at, _)| *at != speed).map(|(_, cell)| cell).collect();
    (read("training.safetensors"), read("checkpoint/model.safetensors"), metrics.lines().map(without).collect())
}

#[test]
fn a_run_that_is_killed_anywhere_goes_on_with_the_same_bits() {
    let scratch = Scratch::new("kill-train");
    let whole = ok(train(&scratch, "whole", &[]).output().unwrap());
    let wanted = result(&scratch.0.join(whole["run"].as_str().unwrap()));
    // One step of it, to go on from.
    let begun = ok(train(&scratch, "begun", &[]).args(["--max-minutes", "0"]).output().unwrap());
    assert_eq!(begun["step"], 1);
    let begun = scratch.0.join(begun["run"].as_str().unwrap());
    let mut kills = 0;
    for n in 0.. {
        let run = scratch.0.join(format!("run-{n}"));
        copy(&begun, &run);
        let outcome = kill_at_call(&mut resume(&scratch, &run), n, changes_files);
        if outcome.killed {
            kills += 1;
            ok(resume(&scratch, &run).output().unwrap());
            let left = [&run, &run.join("checkpoint")].map(|folder| std::fs::read_dir(folder).unwrap());
            let left = left.into_iter().flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let half = |name: &String| name.contains(".safetensors.") || name.contains(".csv.");
            assert_eq!(left.filter(half).collect::<Vec<_>>(), [""; 0], "killed at call {n}");
        } else {
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        }
        assert!(result(&run) == wanted, "killed at call {n}: {:?}", outcome.calls.last());
        std::fs::remove_dir_all(&run).unwrap();
        if !outcome.killed {
            break;
        }
    }
    assert!(kills > 20, "only {kills} calls");
}

/// Before the first save there is nothing to go on from, and that is said.
#[test]
fn a_run_that_is_killed_before_its_first_save_says_so() {
    let scratch = Scratch::new("kill-first");
    let runs = |out: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(scratch.0.join(out)).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let whole = ok(train(&scratch, "whole", &[]).output().unwrap());
    let wanted = result(&scratch.0.join(whole["run"].as_str().unwrap()));
    let config = std::fs::read(scratch.0.join(whole["run"].as_str().unwrap()).join("config.toml")).unwrap();
    let total = kill_at_call(&mut train(&scratch, "all", &[]), usize::MAX, changes_files).calls.len();
    for n in 0..total {
        let out = format!("killed-{n}");
        kill_at_call(&mut train(&scratch, &out, &[]), n, changes_files);
        let Some(run) = runs(&out).pop() else { continue };
        if let Ok(found) = std::fs::read(run.join("config.toml")) {
            assert!(found == config, "killed at call {n}: half a config.toml");
        }
        if let Ok(info) = std::fs::read(run.join("run.json")) {
            assert!(serde_json::from_slice::<serde_json::Value>(&info).is_ok(), "killed at call {n}: half a run.json");
        }
        if run.join("training.safetensors").is_file() {
            ok(resume(&scratch, &run).output().unwrap());
            assert!(result(&run) == wanted, "killed at call {n}");
        } else {
            let said = common::complaint(resume(&scratch, &run).output().unwrap());
            assert!(said.contains("saved at least once"), "{said}");
        }
    }
}

//! Every command with standard streams that are closed, full, broken or slow: no panic, no lost work, an honest exit status.
//! (`icee study` has tests of its own.)
#![cfg(target_os = "linux")]

mod common;

use common::{SMALL, Scratch, ok};
use std::fs::File;
use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A scratch folder with a trained model, and commands that print something.
fn commands(name: &str) -> (Scratch, Vec<Vec<String>>) {
    let scratch = Scratch::new(name);
    let train = |steps: &str, out: &str| {
        let mut words = ["train", "dark-room-tiny", "--threads", "1", "--out", out].map(String::from).to_vec();
        for setting in SMALL.iter().chain(&["train.eval_games=1", steps]) {
            words.extend(["--set".into(), setting.to_string()]);
        }
        words
    };
    let report = ok(run(&scratch, &train("train.steps=2", "runs")).arg("--json").output().unwrap());
    let folder = report["run"].as_str().unwrap();
    let words = |line: &str| line.replace("RUN", folder).split(' ').map(String::from).collect::<Vec<_>>();
    let lines = [
        "--help",
        "--version",
        "worlds",
        "worlds --json",
        "rollout DarkRoomTiny-v0 --games 2 --episodes 2",
        "rollout DarkRoomTiny-v0 --games 1 --episodes 1 --render",
        "functions",
        "functions eval branin 0 0",
        "functions tasks --trials 1",
        "models",
        "models card dark-room__icee",
        "models add RUN mine --force",
        "eval RUN --games 1 --episodes 2 --threads 1",
        "eval RUN --games 1 --episodes 2 --threads 1 --json",
        "tune RUN --games 1 --threads 1 --dry-run",
        "play RUN --episodes 1",
        "bench gpu",
    ];
    let mut all: Vec<Vec<String>> = lines.iter().map(|line| words(line)).collect();
    all.push(train("train.steps=3", "more"));
    all.push([train("train.steps=2", "more"), vec!["--json".into()]].concat());
    (scratch, all)
}

fn run(scratch: &Scratch, words: &[String]) -> Command {
    scratch.icee(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The exit status, where there was no panic.
fn status(words: &[String], output: &Output) -> i32 {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("panicked"), "{words:?}: {said}");
    output.status.code().unwrap_or_else(|| panic!("{words:?} ended by a signal"))
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// A pipe that nobody reads any more.
fn broken() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let (scratch, all) = commands("full-out");
    for words in &all {
        let output = run(&scratch, words).stdout(full()).output().unwrap();
        assert_eq!(status(words, &output), 1, "{words:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("error: cannot write"), "{words:?}: {said}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let scratch = Scratch::new("full-file");
    let words = ["rollout", "DarkRoomTiny-v0", "--games", "1", "--log", "/dev/full"];
    let said = common::complaint(scratch.icee(&words).output().unwrap());
    assert_eq!(said, "error: cannot write /dev/full: No space left on device (os error 28)\n");
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let (scratch, all) = commands("broken-out");
    for words in &all {
        let output = run(&scratch, words).stdout(broken()).output().unwrap();
        assert_eq!(status(words, &output), 0, "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("error"), "{words:?}");
    }
}

#[test]
fn what_is_told_beside_the_result_may_get_lost() {
    let (scratch, all) = commands("full-error");
    for words in &all {
        for stderr in [Stdio::from(full()), Stdio::from(broken())] {
            let output = run(&scratch, words).stderr(stderr).output().unwrap();
            assert_eq!(status(words, &output), 0, "{words:?}");
            assert!(!output.stdout.is_empty(), "{words:?}");
        }
        // A mistake is still one.
        let output = run(&scratch, &["eval".into(), "nothing".into()]).stderr(full()).output().unwrap();
        assert_eq!(status(words, &output), 1);
    }
}

#[test]
fn closed_streams_are_no_error() {
    let (scratch, all) = commands("closed");
    for words in &all {
        for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exec \"$0\" \"$@\" {closed}"), env!("CARGO_BIN_EXE_icee")]);
            let output = command.args(words).current_dir(&scratch.0).output().unwrap();
            assert_eq!(status(words, &output), 0, "{words:?} {closed}");
        }
    }
}

#[test]
fn slow_readers_get_everything() {
    let (scratch, all) = commands("slow");
    for words in &all {
        let mut child = run(&scratch, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let slow = |mut stream: Box<dyn Read + Send>| {
            std::thread::spawn(move || {
                let (mut all, mut piece) = (Vec::new(), vec![0; 1 << 14]);
                loop {
                    std::thread::sleep(Duration::from_millis(3));
                    match stream.read(&mut piece).unwrap() {
                        0 => return all,
                        size => all.extend_from_slice(&piece[..size]),
                    }
                }
            })
        };
        let stdout = slow(Box::new(child.stdout.take().unwrap()));
        let stderr = slow(Box::new(child.stderr.take().unwrap()));
        let output =
            Output { status: child.wait().unwrap(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() };
        assert_eq!(status(words, &output), 0, "{words:?}");
        assert!(output.stdout.ends_with(b"\n"), "{words:?}");
    }
}

//! The demo and the report where nobody listens, where the disk is full, where the reader is slow: nothing panics, and what
//! was computed is not lost.
#![cfg(target_os = "linux")]

mod common;

use common::Scratch;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

const REPORT: [&str; 7] = ["reproduce", "--only", "dark-room", "--games", "2", "--out", "report"];
const DEMO: [&str; 5] = ["demo", "--games", "2", "--trials", "1"];

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// The writing end of a pipe that nobody reads.
fn broken() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// A command's exit code, and the words that came through.
fn code(command: &mut Command, results: Stdio, words: Stdio) -> (Option<i32>, String) {
    let output = command.stdout(results).stderr(words).spawn().unwrap().wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_report_that_nobody_hears_or_reads_is_on_disk() {
    let scratch = Scratch::new("unheard");
    for (results, words, expected) in [
        (Stdio::piped(), broken(), 0),
        (Stdio::piped(), Stdio::from(full()), 0),
        (broken(), Stdio::piped(), 0),
        // That the results could not be printed is said.
        (Stdio::from(full()), Stdio::piped(), 1),
    ] {
        let (code, words) = code(&mut scratch.icee(&REPORT), results, words);
        assert!(code == Some(expected) && !words.contains("panicked"), "{code:?} {words}");
        std::fs::remove_file(scratch.file("report/index.html")).expect("the page was written before anything was said");
    }
}

#[test]
fn a_demo_that_nobody_hears_or_reads_is_on_disk() {
    let scratch = Scratch::new("unseen");
    for (results, words, expected) in [(broken(), Stdio::from(full()), 0), (Stdio::from(full()), Stdio::piped(), 1)] {
        let (code, words) = code(&mut scratch.icee(&DEMO), results, words);
        assert!(code == Some(expected) && !words.contains("panicked"), "{code:?} {words}");
        std::fs::remove_file(scratch.file("icee-demo.html")).expect("the page was written before anything was said");
    }
}

#[test]
fn a_slow_reader_gets_everything() {
    let scratch = Scratch::new("slow");
    let mut child = scratch.icee(&REPORT).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let (mut all, mut byte) = (Vec::new(), [0; 100]);
    loop {
        std::thread::sleep(Duration::from_millis(2));
        match pipe.read(&mut byte).unwrap() {
            0 => break,
            read => all.extend_from_slice(&byte[..read]),
        }
    }
    assert!(child.wait().unwrap().success());
    assert!(String::from_utf8(all).unwrap().ends_with("report/index.html\n"));
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_work() {
    let scratch = Scratch::new("nowhere");
    let output = scratch.icee(&["demo", "--out", "no/such/page.html"]).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && words.contains("there is no folder no/such"), "{words}");
    assert!(!words.contains("rooms of"), "{words}");
}

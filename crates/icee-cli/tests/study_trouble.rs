//! `icee study` where things go wrong around it: full disks, locks that are held, streams that nobody reads, files of others.
#![cfg(target_os = "linux")]

mod common;

use common::{Scratch, complaint, said};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What changes a study, and what looks at it.
const CHANGES: [&[&str]; 2] = [&["ask", "s", "--more"], &["tell", "s", "--row", "r7", "--value", "2.5"]];
const LOOKS: [&[&str]; 4] = [&["best", "s"], &["show", "s"], &["predict", "s"], &["predict", "s", "--json"]];

fn study(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = scratch.icee(&["study"]);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A folder with a study of many rows, two of which are told.
fn begun(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let mut pool = String::from("name,heat,time\n");
    (1..=2000).for_each(|k| writeln!(pool, "r{k},{},{}", k * 37 % 101, k * 53 % 89).unwrap());
    std::fs::write(scratch.0.join("pool.csv"), pool).unwrap();
    let create = ["create", "s", "--direction", "min", "--pool", "pool.csv", "--id", "name", "--sampler", "gp-ei"];
    said(study(&scratch, &create).output().unwrap());
    for (row, value) in [("r1", "1"), ("r2", "2")] {
        said(study(&scratch, &["tell", "s", "--row", row, "--value", value]).output().unwrap());
    }
    scratch
}

fn journal(scratch: &Scratch) -> PathBuf {
    scratch.0.join("studies/s.jsonl")
}

/// Names of the files in the folder of studies.
fn files(scratch: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(scratch.0.join("studies")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A command under a shell that has its own ideas of files and streams.
fn shell(scratch: &Scratch, script: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_icee")).arg("study").args(arguments);
    command.current_dir(&scratch.0).stdin(Stdio::null()).output().unwrap()
}

/// No byte can be written to any file: what a full disk is like, without one.
fn on_a_full_disk(scratch: &Scratch, arguments: &[&str]) -> Output {
    shell(scratch, "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"", arguments)
}

/// What became of a command that must come to its end by itself.
fn ended(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it waits for something");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn a_full_disk_leaves_nothing_behind_and_takes_nothing() {
    let scratch = begun("trouble-full");
    let create = ["create", "t", "--direction", "min", "--pool", "pool.csv", "--id", "name"];
    let refused = complaint(on_a_full_disk(&scratch, &create));
    assert!(refused.contains("File too large"), "{refused}");
    assert_eq!(files(&scratch), ["s.jsonl", "s.sheets"]);
    said(study(&scratch, &create).output().unwrap());
    // Half a line, and no room to put it aside: neither looking at it nor trying to write makes it worse.
    let mut text = std::fs::read(journal(&scratch)).unwrap();
    text.extend(b"{\"half");
    std::fs::write(journal(&scratch), &text).unwrap();
    for arguments in CHANGES {
        complaint(on_a_full_disk(&scratch, arguments));
    }
    for arguments in LOOKS {
        said(on_a_full_disk(&scratch, arguments));
    }
    assert_eq!(files(&scratch), ["s.jsonl", "s.sheets", "t.jsonl", "t.sheets"]);
    assert_eq!(std::fs::read(journal(&scratch)).unwrap(), text);
    // With room again it goes on.
    said(study(&scratch, CHANGES[1]).output().unwrap());
    assert_eq!(std::fs::read(scratch.0.join("studies/s.jsonl.damaged-1")).unwrap(), b"{\"half");
}

#[test]
fn a_look_waits_for_nobody_and_who_waits_says_so() {
    let scratch = begun("trouble-lock");
    let held = File::open(journal(&scratch)).unwrap();
    held.lock().unwrap();
    // Nor does it take the right to write (of which root, who has it anyway, learns nothing here).
    let allow = |file, folder| {
        std::fs::set_permissions(journal(&scratch), Permissions::from_mode(file)).unwrap();
        std::fs::set_permissions(scratch.0.join("studies"), Permissions::from_mode(folder)).unwrap();
    };
    allow(0o444, 0o555);
    for arguments in LOOKS {
        let output = ended(study(&scratch, arguments).stdout(Stdio::null()).spawn().unwrap());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    allow(0o644, 0o755);
    let mut waiting = study(&scratch, CHANGES[1]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting: another process is at work on studies/s.jsonl"), "{line}");
    held.unlock().unwrap();
    assert!(said(ended(waiting)).starts_with("recorded: 1 new"));
}

#[test]
fn a_journal_that_was_replaced_meanwhile_gets_what_is_told() {
    let scratch = begun("trouble-replaced");
    let held = File::open(journal(&scratch)).unwrap();
    held.lock().unwrap();
    let mut waiting = study(&scratch, CHANGES[1]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let copy = scratch.0.join("copy.jsonl");
    std::fs::copy(journal(&scratch), &copy).unwrap();
    std::fs::rename(&copy, journal(&scratch)).unwrap();
    drop(held);
    said(ended(waiting));
    assert!(std::fs::read_to_string(journal(&scratch)).unwrap().contains("r7"));
}

#[test]
fn names_and_cells_do_not_command_the_terminal() {
    let scratch = Scratch::new("trouble-escape");
    let mut pool = format!("na\x1b[31mme,b\x1b]0;x\x07,{}\n", "h".repeat(70_000));
    (1..=40).for_each(|k| writeln!(pool, "r\x1b[2J{k},{},{}", k * 7 % 11, k * 5 % 13).unwrap());
    std::fs::write(scratch.0.join("pool.csv"), pool).unwrap();
    let id = "na\x1b[31mme";
    for arguments in [
        &["create", "s", "--direction", "min", "--pool", "pool.csv", "--id", id, "--sampler", "gp-ei"][..],
        &["create", "t", "--direction", "min", "--pool", "pool.csv", "--sampler", "gp-ei"],
        &["ask", "s", "-n", "3"],
        &["tell", "s", "--row", "r\x1b[2J1", "--value", "1e308"],
        &["tell", "s", "--row", "r\x1b[2J2", "--value=-1e308"],
        &["ask", "s", "--more"],
        &["tell", "s", "--row", "r\x1b[2J1", "--value", "3"],
        &["tell", "s", "--row", "\x1b[2Jr1", "--value", "3"],
        &["best", "s"],
        &["show", "s"],
        &["show", "\x1b[2Js"],
    ] {
        let output = study(&scratch, arguments).output().unwrap();
        assert_ne!(output.status.code(), Some(101), "{output:?}");
        let text = [output.stdout, output.stderr].concat();
        assert!(!text.iter().any(|&byte| byte < b' ' && byte != b'\n'), "{}", String::from_utf8_lossy(&text));
        assert!(!text.windows(3).any(|part| part == b"inf"), "{}", String::from_utf8_lossy(&text));
        assert!(text.len() < 4000, "{}", text.len());
    }
}

/// All commands on streams that are closed, full, slow, or that nobody reads: no panic, nothing done that is not
/// said or found, and an exit code that tells.
#[test]
fn streams_may_fail() {
    let scratch = begun("trouble-streams");
    let mut number = 100;
    let mut commands: Vec<Vec<String>> = Vec::new();
    for arguments in CHANGES.iter().chain(&LOOKS) {
        commands.push(arguments.iter().map(ToString::to_string).collect());
    }
    commands.push(["create", "new", "--direction", "min", "--pool", "pool.csv"].map(String::from).to_vec());
    let taken = |scratch: &Scratch| std::fs::read_to_string(journal(scratch)).unwrap().lines().count();
    for command in &commands {
        for (redirect, succeeds) in [
            (">&-", true),
            ("2>&-", true),
            ("<&- >&- 2>&-", true),
            (">/dev/full", false),
            ("2>/dev/full", true),
            (">/dev/full 2>/dev/full", false),
            ("| true", true),
        ] {
            // Every time another row, and another study.
            number += 1;
            let (row, name) = (format!("r{number}"), format!("n{number}"));
            let arguments: Vec<&str> = command
                .iter()
                .map(|word| match word.as_str() {
                    "r7" => &row,
                    "new" => &name,
                    word => word,
                })
                .collect();
            let before = taken(&scratch);
            let pipe = if redirect.starts_with('|') { "\"$0\" \"$@\"; echo $? >code" } else { "\"$0\" \"$@\"" };
            let output = shell(&scratch, &format!("{{ {pipe}; }} {redirect}"), &arguments);
            let what = format!("{arguments:?} {redirect}: {output:?}");
            assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{what}");
            let code = match redirect.starts_with('|') {
                true => std::fs::read_to_string(scratch.0.join("code")).unwrap().trim().parse().unwrap(),
                false => output.status.code().unwrap(),
            };
            assert_eq!(code, i32::from(!succeeds), "{what}");
            let changed = CHANGES.iter().any(|change| change[0] == arguments[0]);
            assert_eq!(taken(&scratch), before + usize::from(changed), "{what}");
            if changed && redirect == ">/dev/full" {
                assert!(String::from_utf8_lossy(&output.stderr).contains("in the study now"), "{what}");
            }
            if arguments[0] == "create" {
                said(study(&scratch, &["show", &name]).output().unwrap());
            }
        }
    }
}

#[test]
fn a_slow_reader_gets_all_of_it_and_one_who_leaves_is_no_error() {
    let scratch = begun("trouble-slow");
    let whole = said(study(&scratch, &["predict", "s"]).output().unwrap());
    assert!(whole.len() > 1 << 17, "a pipe must not hold all of it");
    let mut child = study(&scratch, &["predict", "s"]).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let (mut slow, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = out.read(&mut part) {
        slow.extend(&part[..count]);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(String::from_utf8(slow).unwrap(), whole);
    for arguments in [&["predict", "s"][..], &["predict", "s", "--json"]] {
        let mut child = study(&scratch, arguments).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    let summary: Value =
        serde_json::from_str(&said(study(&scratch, &["show", "s", "--json"]).output().unwrap())).unwrap();
    assert_eq!(summary["told"].as_array().unwrap().len(), 2);
}

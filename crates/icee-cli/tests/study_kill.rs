//! `icee study`, killed at every system call: nothing that it said is lost, the study opens, and one goes on.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;
mod support;

use common::Scratch;
use icee_study::{Models, Repeat, SamplerKind, Study, StudyOptions};
use nix::libc;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Outcome, kill_at_syscall, run_traced, startup};

const POOL: &str = "a,b\n1,2\n2,3\n3,5\n4,1\n5,2\n6,4\n";

/// Kills a command at every system call, each time in a folder as `prepare` leaves it, and has each outcome checked.
fn kill_everywhere(name: &str, arguments: &[&str], prepare: impl Fn(&Path), check: impl Fn(&Path, &Outcome)) {
    // Prepared once and copied: a study that is forced to disk at every step takes its time.
    let template = Scratch::new(&format!("{name}-template"));
    std::fs::write(template.0.join("pool.csv"), POOL).unwrap();
    prepare(&template.0);
    let fresh = || {
        let scratch = Scratch::new(name);
        std::fs::create_dir(scratch.0.join("studies")).unwrap();
        let sheets = template.0.join("studies/s.sheets");
        let kept = sheets.is_dir().then(|| std::fs::read_dir(&sheets).unwrap()).into_iter().flatten();
        let kept: Vec<String> =
            kept.map(|file| format!("studies/s.sheets/{}", file.unwrap().file_name().to_str().unwrap())).collect();
        if !kept.is_empty() {
            std::fs::create_dir(scratch.0.join("studies/s.sheets")).unwrap();
        }
        for file in ["pool.csv", "studies/s.jsonl"].into_iter().chain(kept.iter().map(String::as_str)) {
            if template.0.join(file).exists() {
                std::fs::copy(template.0.join(file), scratch.0.join(file)).unwrap();
            }
        }
        scratch
    };
    let command = |scratch: &Scratch| -> Command { scratch.icee(arguments) };
    let scratch = fresh();
    let whole = run_traced(&mut command(&scratch));
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    check(&scratch.0, &whole);
    drop(scratch);
    let mut kills = 0;
    for n in startup(&whole.calls).. {
        let scratch = fresh();
        let outcome = kill_at_syscall(&mut command(&scratch), n);
        check(&scratch.0, &outcome);
        if !outcome.killed {
            break;
        }
        kills += 1;
    }
    assert!(kills > 10, "only {kills} system calls");
}

fn journal(folder: &Path) -> PathBuf {
    folder.join("studies/s.jsonl")
}

fn created(folder: &Path) -> Study {
    let options = StudyOptions {
        pool: folder.join("pool.csv").into(),
        sampler: Some(SamplerKind::Random),
        ..StudyOptions::default()
    };
    Study::create(&journal(folder), &options, Models::default()).unwrap()
}

fn open(folder: &Path) -> Study {
    Study::open(&journal(folder), Models::default()).unwrap()
}

/// A study with a row told and one running.
fn begun(folder: &Path) {
    let mut study = created(folder);
    study.tell("1", Some(0.5), Repeat::Refuse).unwrap();
    let running = study.ask(1, None).unwrap();
    assert_ne!(running.suggestions[0].row, 1);
}

/// The same, and a line that was cut off.
fn torn(folder: &Path) {
    begun(folder);
    let mut text = std::fs::read_to_string(journal(folder)).unwrap();
    text.push_str("{\"tell\":{\"outco");
    std::fs::write(journal(folder), text).unwrap();
}

/// The next that comes along: all of `begun` is there, and asking and telling go on.
fn goes_on(folder: &Path) {
    let mut study = open(folder);
    let before = study.summary(None);
    assert_eq!((before.told[0].row, before.told[0].value), (1, Some(0.5)));
    assert!(!before.running.is_empty() || before.told.len() > 1);
    let next = study.ask(1, None).unwrap().suggestions.remove(0).id;
    assert!(!before.running.contains(&next) && before.told.iter().all(|told| told.id != next));
    study.tell(&next, Some(1.0), Repeat::Refuse).unwrap();
    assert_eq!(open(folder).summary(None).told.len(), before.told.len() + 1);
}

#[test]
fn create_survives() {
    kill_everywhere(
        "kill-create",
        &["study", "create", "s", "--direction", "min", "--pool", "pool.csv", "--sampler", "random"],
        |_| (),
        |folder, outcome| {
            let exists = journal(folder).exists();
            assert!(exists || outcome.stdout.is_empty(), "{outcome:?}");
            let mut study = if exists { open(folder) } else { created(folder) };
            assert_eq!(study.ask(2, None).unwrap().suggestions.len(), 2);
        },
    );
}

#[test]
fn the_name_of_a_new_study_is_on_disk_before_anyone_hears_of_it() {
    let scratch = Scratch::new("kill-create-order");
    std::fs::write(scratch.0.join("pool.csv"), POOL).unwrap();
    let arguments = ["study", "create", "s", "--direction", "min", "--pool", "pool.csv", "--sampler", "random"];
    let calls = run_traced(&mut scratch.icee(&arguments)).calls;
    let linked = calls.iter().position(|call| [libc::SYS_link, libc::SYS_linkat].contains(call)).unwrap();
    let said = calls.iter().rposition(|&call| call == libc::SYS_write).unwrap();
    assert!(calls[linked..said].contains(&libc::SYS_fsync));
}

#[test]
fn a_look_takes_no_lock_and_forces_nothing_to_disk() {
    let scratch = Scratch::new("kill-look");
    std::fs::write(scratch.0.join("pool.csv"), POOL).unwrap();
    begun(&scratch.0);
    for look in ["best", "show"] {
        let outcome = run_traced(&mut scratch.icee(&["study", look, "s"]));
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let changes = [libc::SYS_flock, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_ftruncate, libc::SYS_rename];
        assert!(!outcome.calls.iter().any(|call| changes.contains(call)), "{look}");
    }
}

#[test]
fn ask_survives() {
    kill_everywhere("kill-ask", &["study", "ask", "s"], begun, |folder, outcome| {
        let running = open(folder).summary(None).running;
        if let Some(said) = outcome.stdout.strip_prefix("row ") {
            assert!(running.contains(&said.split(':').next().unwrap().to_owned()), "{outcome:?} {running:?}");
        }
        goes_on(folder);
    });
}

#[test]
fn tell_survives() {
    for (name, prepare) in [("kill-tell", begun as fn(&Path)), ("kill-tell-torn", torn)] {
        // A row that is not running.
        let arguments = ["study", "tell", "s", "--row", "6", "--value", "0.25", "--replace"];
        kill_everywhere(name, &arguments, prepare, |folder, outcome| {
            let mut study = open(folder);
            let told = study.summary(None).told.iter().any(|told| (told.row, told.value) == (6, Some(0.25)));
            assert!(told || outcome.stdout.is_empty(), "{outcome:?}");
            // Telling it again is right either way.
            let again = study.tell("6", Some(0.25), Repeat::Replace).unwrap();
            assert_eq!((again.new, again.unchanged), if told { (0, 1) } else { (1, 0) });
            drop(study);
            goes_on(folder);
        });
    }
}

//! `icee runs` and `icee compare`, on runs that the binary has trained.

use super::common::{SMALL, Scratch, complaint, ok, said};
use super::{saved_run, train};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A finished run of four updates with these settings, and its folder.
fn trained(scratch: &Scratch, settings: &[&str]) -> PathBuf {
    let settings = [&["train.steps=4", "train.eval_every=1"], settings].concat();
    let report = ok(train(&scratch.file("runs"), &settings).output().unwrap());
    PathBuf::from(report["run"].as_str().unwrap())
}

fn name(run: &Path) -> &str {
    run.file_name().unwrap().to_str().unwrap()
}

#[test]
fn runs_are_listed_with_their_state_and_damage_is_only_named() {
    let scratch = Scratch::new("runs-list");
    let said_of_none = complaint(scratch.icee(&["runs"]).output().unwrap());
    assert!(said_of_none.contains("runs: there is no such folder") && said_of_none.contains("icee train"));
    let done = trained(&scratch, &[]);
    let stopped =
        ok(train(&scratch.file("runs"), &["train.steps=9", "seed=3"]).args(["--max-minutes", "0"]).output().unwrap());
    let stopped = PathBuf::from(stopped["run"].as_str().unwrap());
    std::fs::create_dir(scratch.0.join("runs/notes")).unwrap();
    let damaged = scratch.0.join("runs/D__icee__0__20260101-000000");
    std::fs::create_dir(&damaged).unwrap();
    std::fs::write(damaged.join("config.toml"), "world = ").unwrap();
    std::fs::write(scratch.0.join("runs/a.txt"), "not even a folder").unwrap();

    let rows = ok(scratch.icee(&["runs", "--json"]).output().unwrap());
    let rows = rows.as_array().unwrap();
    let row = |run: &Path| rows.iter().find(|row| row["name"] == name(run)).unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[2]["state"], "damaged", "the oldest");
    assert_eq!(rows[3]["state"], "foreign", "of no age");
    let (finished, early) = (row(&done), row(&stopped));
    assert_eq!((&finished["state"], &finished["step"], &finished["steps"]), (&"finished".into(), &4.into(), &4.into()));
    assert_eq!(
        (&finished["world"], &finished["method"], &finished["seed"]),
        (&"DarkRoomTiny-v0".into(), &"icee".into(), &"0".into())
    );
    assert!(finished["seconds"].is_number() && finished["results"]["return/last"].is_number());
    assert_eq!((&early["state"], &early["step"], &early["seed"]), (&"stopped".into(), &1.into(), &"3".into()));

    let table = said(scratch.icee(&["runs"]).output().unwrap());
    let line = |run: &Path| table.lines().find(|line| line.starts_with(name(run))).unwrap();
    assert!(table.starts_with("run "), "{table}");
    assert!(
        line(&done).contains("4/4      finished  return ") && line(&stopped).contains("1/9      stopped"),
        "{table}"
    );
    assert!(
        line(&damaged).contains("damaged: config: ") && table.contains("notes: foreign: not a run folder"),
        "{table}"
    );
    assert!(!table.contains("a.txt"));
    let one = said(scratch.icee(&["runs", done.to_str().unwrap()]).output().unwrap());
    assert_eq!(one.lines().count(), 2, "{one}");
}

#[test]
fn a_run_that_is_at_work_is_running() {
    let scratch = Scratch::new("runs-running");
    let settings = ["train.steps=100000", "train.save_every=5", "train.eval_every=0"];
    let mut child =
        train(&scratch.file("runs"), &settings).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    saved_run(&scratch.file("runs"));
    let state = || ok(scratch.icee(&["runs", "--json"]).output().unwrap())[0]["state"].clone();
    assert_eq!(state(), "running");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(state(), "stopped", "the dead hold nothing");
}

#[test]
fn runs_are_compared_by_a_metric_that_they_have() {
    let scratch = Scratch::new("compare");
    let slow = trained(&scratch, &["train.lr=1e-4"]);
    let fast = trained(&scratch, &["train.lr=1e-2", "seed=5"]);
    let (slow, fast) = (slow.to_str().unwrap(), fast.to_str().unwrap());
    let compare = |more: &[&str]| scratch.icee(&["compare", slow, fast]).args(more).output().unwrap();

    let shown = said(compare(&[]));
    assert!(shown.starts_with("return/last by updates\n"), "{shown}");
    assert!(shown.contains(&format!("\na  {}", name(Path::new(slow)))) && shown.contains("highest"), "{shown}");
    assert!(shown.contains("seed       0       5") && shown.contains("train.lr   0.0001  0.01"), "{shown}");
    assert!(!shown.contains("train.steps") && shown.is_ascii(), "{shown}");

    let json = ok(compare(&["--metric", "loss", "--json", "--svg", "loss.svg"]));
    let keys: Vec<&str> =
        json["differing"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!((json["metric"].as_str().unwrap(), &keys[..]), ("loss", &["seed", "train.lr"][..]));
    for run in json["runs"].as_array().unwrap() {
        let curve = run["curve"].as_array().unwrap();
        assert_eq!((curve.len(), &curve[3][0], &curve[3][1]), (4, &Value::from(4), &run["last"]));
    }
    let svg = std::fs::read_to_string(scratch.0.join("loss.svg")).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.contains("loss by updates") && svg.contains("b: DarkRoomTiny-v0__icee__5__")
    );

    let refused = complaint(compare(&["--metric", "retrun/last"]));
    assert!(
        refused.contains("did you mean \"return/last\"?") && refused.contains("There are learning_rate, loss, "),
        "{refused}"
    );
    let refused = complaint(compare(&["--metric", "accuracy!"]));
    assert!(refused.contains("known are learning_rate, loss, "), "{refused}");
    let refused = complaint(scratch.icee(&["compare", slow, "runs"]).output().unwrap());
    assert!(refused.contains("runs: this is no run folder; `icee runs` lists"), "{refused}");
    let refused = complaint(scratch.icee(&["compare", slow]).output().unwrap());
    assert!(refused.contains("2 values required"), "{refused}");
}

#[test]
fn games_and_functions_have_only_the_loss_in_common() {
    let scratch = Scratch::new("compare-kinds");
    let games = trained(&scratch, &[]);
    let mut command = scratch.icee(&["train", "bo-tiny", "--threads", "1", "--json"]);
    SMALL.iter().chain(&["data.pool=64", "data.longest=8", "data.queries=8", "train.steps=2"]).for_each(|setting| {
        command.args(["--set", setting]);
    });
    let report = ok(command.output().unwrap());
    let (games, functions) = (games.to_str().unwrap(), report["run"].as_str().unwrap());
    let shown = said(scratch.icee(&["compare", games, functions]).output().unwrap());
    assert!(shown.starts_with("loss by updates\n"), "{shown}");
    let shown = said(scratch.icee(&["compare", games, functions, "--metric", "return/last"]).output().unwrap());
    assert!(shown.contains("no such metric"), "{shown}");
    assert!(said(scratch.icee(&["runs"]).output().unwrap()).contains("held-out loss "));
}

//! The optimiser for tables through the binary: trained, and raced on pools in a folder.

mod common;

use common::{Scratch, complaint, ok};
use std::process::Command;

fn icee(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_icee"));
    command.args(arguments).args(["--threads", "1"]);
    command
}

const SMALL: [&str; 10] = [
    "model.layers=1",
    "model.width=32",
    "model.attention_heads=2",
    "data.pool=64",
    "data.longest=16",
    "data.queries=8",
    "train.steps=2",
    "train.batch=2",
    "train.eval_games=1",
    "train.save_every=2",
];

fn write(scratch: &Scratch, file: &str, text: &str) {
    std::fs::write(scratch.file(file), text).unwrap();
}

#[test]
fn a_table_model_is_trained_and_races() {
    let scratch = Scratch::new("tables");
    let mut command = icee(&["train", "bo-table", "--out", &scratch.file("runs"), "--json"]);
    SMALL.iter().for_each(|setting| {
        command.args(["--set", setting]);
    });
    let report = ok(command.output().unwrap());
    let run = report["run"].as_str().unwrap();

    std::fs::create_dir_all(scratch.file("data/pools")).unwrap();
    write(&scratch, "data/pools.csv", "pool,direction\ntea,maximize\n");
    let leaves = ["green", "black", "white"];
    let rows: String = (0..24).map(|k| format!("{},{},{}\n", leaves[k % 3], 60 + 2 * k, (k * 7) % 24)).collect();
    write(&scratch, "data/pools/tea.csv", &format!("leaf,temperature,score\n{rows}"));
    write(&scratch, "data/first-rows.csv", "pool,run,row1,row2\ntea,0,3,9\ntea,1,4,24\n");
    let (data, kept, csv) = (scratch.file("data"), scratch.file("kept.tsv"), scratch.file("race.csv"));
    let seeded = icee(&["eval", run, "--pools", &data, "--seed", "1"]).output().unwrap();
    assert!(!seeded.status.success() && String::from_utf8_lossy(&seeded.stderr).contains("leave out --seed"));
    let race = ["eval", run, "--pools", &data, "--trials", "2", "--json", "--keep-runs", &kept, "--csv", &csv];
    let found = ok(icee(&race).output().unwrap());
    let methods: Vec<&str> = found["pools"].as_array().unwrap().iter().map(|p| p["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["random", "gp-ei", "icee"]);
    assert_eq!(found["pools"][2]["regret"].as_array().unwrap().len(), 24);
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 1 + 3 * 24);
    let runs = std::fs::read_to_string(&kept).unwrap();
    assert!(runs.starts_with("tea\ticee\t0\t") && runs.lines().count() == 4, "{runs}");

    // What another tool has left is read, and what does not fit is named.
    write(&scratch, "other.tsv", &runs.lines().next().unwrap().replace("icee", "guess"));
    let other = scratch.file("other.tsv");
    let both =
        ok(icee(&["eval", run, "--pools", &data, "--trials", "1", "--json", "--runs", &other]).output().unwrap());
    assert_eq!(both["pools"].as_array().unwrap().len(), 4);
    for (line, said) in [
        ("tea\tguess\t0\t1.0", "4 cells"),
        ("coffee\tguess\t0\t1.0\t3 9", "no pool \"coffee\""),
        ("tea\tguess\t0\t1.0\t3 99", "\"99\" is no row of tea"),
        ("tea\tguess\t0\t1.0\t9 3", "does not begin with the first rows"),
    ] {
        write(&scratch, "other.tsv", line);
        let complaint = complaint(icee(&["eval", run, "--pools", &data, "--runs", &other]).output().unwrap());
        assert!(complaint.contains(said), "{complaint}");
    }
    write(&scratch, "data/pools.csv", "pool,direction\ntea,up\n");
    let said = complaint(icee(&["eval", run, "--pools", &data]).output().unwrap());
    assert!(said.contains("neither minimize nor maximize"), "{said}");
    let nowhere = scratch.file("nowhere");
    let said = complaint(icee(&["eval", run, "--pools", &nowhere]).output().unwrap());
    assert!(said.contains("there is no file") && said.contains("first-rows.csv"), "{said}");
}

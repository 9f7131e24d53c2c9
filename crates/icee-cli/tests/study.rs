//! `icee study` as its users meet it: sessions, mistakes, several processes at once.

mod common;

use common::{Scratch, complaint, said};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A study command in a scratch folder.
fn study(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = scratch.icee(&["study"]);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn json(scratch: &Scratch, arguments: &[&str]) -> Value {
    ok(study(scratch, arguments).arg("--json").output().unwrap())
}

/// What a command that must succeed printed, which must be JSON.
fn ok(output: Output) -> Value {
    serde_json::from_str(&said(output)).unwrap()
}

fn pool(rows: usize) -> String {
    let mut text = String::from("name,heat,time\n");
    (1..=rows).for_each(|k| writeln!(text, "r{k},{},{}", k * 37 % 101, k * 53 % 89).unwrap());
    text
}

#[test]
fn sessions_and_mistakes() {
    trycmd::TestCases::new().case("tests/cmd/study/*.trycmd");
}

#[test]
fn many_processes_share_a_study() {
    let scratch = Scratch::new("study-many");
    std::fs::write(scratch.0.join("pool.csv"), pool(60)).unwrap();
    json(&scratch, &["create", "s", "--direction", "min", "--pool", "pool.csv", "--id", "name"]);
    for round in 0..2 {
        let tell = |k: usize| format!("r{}", 50 + 4 * round + k);
        let asks: Vec<_> =
            (0..4).map(|_| study(&scratch, &["ask", "s", "-n", "3", "--more", "--json"]).spawn().unwrap()).collect();
        let tells: Vec<_> = (0..4)
            .map(|k| study(&scratch, &["tell", "s", "--row", &tell(k), "--value", "0.5", "--json"]).spawn().unwrap())
            .collect();
        for child in asks {
            let answer = ok(child.wait_with_output().unwrap());
            assert_eq!(answer["suggestions"].as_array().unwrap().len(), 3);
        }
        for child in tells {
            assert_eq!(ok(child.wait_with_output().unwrap())["told"]["new"], 1);
        }
    }
    let journal = std::fs::read_to_string(scratch.0.join("studies/s.jsonl")).unwrap();
    let mut asked = HashSet::new();
    for line in journal.lines().skip(1) {
        let entry: Value = serde_json::from_str(line).unwrap();
        for change in entry["changes"].as_array().unwrap() {
            for row in change["ask"]["rows"].as_array().into_iter().flatten() {
                assert!(asked.insert(row["id"].as_str().unwrap().to_owned()), "suggested twice: {row}");
            }
        }
    }
    assert_eq!(asked.len(), 24);
    // A row may be told while it runs, and one that was told is not suggested.
    let summary = json(&scratch, &["show", "s"]);
    assert_eq!(
        summary["left"],
        60 - summary["told"].as_array().unwrap().len() - summary["running"].as_array().unwrap().len()
    );
    assert_eq!(summary["told"].as_array().unwrap().len(), 8);
}

#[test]
fn the_machine_readable_answers_hold_what_the_text_says() {
    let scratch = Scratch::new("study-json");
    std::fs::write(scratch.0.join("pool.csv"), pool(40)).unwrap();
    let created = json(&scratch, &["create", "s", "--pool", "pool.csv", "--id", "name", "--direction", "maximize"]);
    assert_eq!((&created["rows"], &created["sampler"]), (&40.into(), &"learned".into()));
    for (row, value) in [("r1", "1"), ("r2", "2.5"), ("r3", "-4")] {
        json(&scratch, &["tell", "s", "--row", row, "--value", value]);
    }
    let answer = json(&scratch, &["ask", "s", "--more", "-n", "2"]);
    assert_eq!(answer["best"], 2.5);
    let table = json(&scratch, &["predict", "s"]);
    let (columns, table) = (table["columns"].clone(), table["rows"].clone());
    assert_eq!((columns[0]["name"].clone(), columns[0]["cells"].as_array().unwrap().len()), ("heat".into(), 40));
    assert_eq!(table.as_array().unwrap().len(), 40);
    for suggestion in answer["suggestions"].as_array().unwrap() {
        let row = suggestion["row"].as_u64().unwrap() as usize - 1;
        assert_eq!(table[row]["id"], suggestion["id"]);
        assert_eq!(table[row]["status"], "running");
        assert_eq!(table[row]["mean"], suggestion["forecast"]["mean"]);
        let [low, mean, high] = ["low", "mean", "high"].map(|key| table[row][key].as_f64().unwrap());
        assert!(low < mean && mean < high);
    }
    let csv = study(&scratch, &["predict", "s"]).output().unwrap().stdout;
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.starts_with("id,status,value,mean,low,high,beats_best,heat,time\nr1,told,1.0,"), "{csv}");
    assert_eq!(csv.lines().count(), 41);
}

#[test]
fn a_damaged_end_is_reported_and_kept() {
    let scratch = Scratch::new("study-damaged");
    std::fs::write(scratch.0.join("pool.csv"), pool(20)).unwrap();
    json(&scratch, &["create", "s", "--direction", "min", "--pool", "pool.csv"]);
    json(&scratch, &["tell", "s", "--row", "4", "--value", "1"]);
    let journal = scratch.0.join("studies/s.jsonl");
    let mut text = std::fs::read_to_string(&journal).unwrap();
    text.push_str("{\"tell\":{\"outcomes\":[{\"row\":{\"ro");
    std::fs::write(&journal, text).unwrap();
    // Who only looks at it says so; who writes puts it aside.
    let output = study(&scratch, &["best", "s"]).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.contains("last line is incomplete"), "{complaint}");
    assert!(!scratch.0.join("studies/s.jsonl.damaged-1").exists());
    let output = study(&scratch, &["tell", "s", "--row", "5", "--value", "2"]).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.contains("studies/s.jsonl.damaged-1"), "{complaint}");
    let aside = std::fs::read_to_string(scratch.0.join("studies/s.jsonl.damaged-1")).unwrap();
    assert_eq!(aside, "{\"tell\":{\"outcomes\":[{\"row\":{\"ro");
    let output = study(&scratch, &["best", "s"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
}

/// Puts a journal that an earlier program wrote, and its pool, where `bread` is looked for.
fn old_study(scratch: &Scratch, journal: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    std::fs::create_dir_all(scratch.0.join("studies")).unwrap();
    std::fs::copy(root.join("old").join(journal), scratch.0.join("studies/bread.jsonl")).unwrap();
    std::fs::copy(root.join("cmd/study/session.in/recipes.csv"), scratch.0.join("recipes.csv")).unwrap();
}

/// A journal of the format before.
#[test]
fn an_old_journal_is_upgraded_and_goes_on() {
    let scratch = Scratch::new("study-old");
    old_study(&scratch, "bread.jsonl");
    let refused = complaint(study(&scratch, &["best", "bread"]).output().unwrap());
    assert!(refused.contains("Upgrade it: `icee study upgrade bread`."), "{refused}");
    let upgraded = json(&scratch, &["upgrade", "bread"]);
    assert_eq!((&upgraded["from"], &upgraded["sheet"]), (&5.into(), &true.into()));
    let summary = json(&scratch, &["show", "bread"]);
    assert_eq!((&summary["best"]["value"], &summary["sampler"]), (&8.0.into(), &"learned".into()));
    assert_eq!(summary["running"], Value::Array(vec!["33".into(), "17".into()]));
    assert_eq!(json(&scratch, &["ask", "bread", "--more"])["suggestions"].as_array().unwrap().len(), 1);
    assert_eq!(json(&scratch, &["undo", "bread"])["undone"]["deeds"][0]["deed"], "suggested");
}

#[test]
fn what_was_told_can_be_told_to_another_study() {
    let scratch = Scratch::new("study-export");
    std::fs::write(scratch.0.join("pool.csv"), pool(12)).unwrap();
    for name in ["one", "two"] {
        json(&scratch, &["create", name, "--direction", "max", "--pool", "pool.csv", "--id", "name"]);
    }
    json(&scratch, &["tell", "one", "--row", "r3", "--value", "0.5"]);
    json(&scratch, &["tell", "one", "--row", "r3", "--value", "0.7", "--again"]);
    json(&scratch, &["tell", "one", "--row", "r4", "--failed"]);
    json(&scratch, &["tell", "one", "--row", "r5", "--impossible"]);
    let exported = said(study(&scratch, &["export", "one"]).output().unwrap());
    assert_eq!(exported.lines().count(), 5, "{exported}");
    std::fs::write(scratch.0.join("told.csv"), exported).unwrap();
    json(&scratch, &["tell", "two", "--csv", "told.csv"]);
    let told = |name| json(&scratch, &["show", name])["told"].clone();
    assert_eq!(told("one"), told("two"));
    let names: Vec<Value> =
        json(&scratch, &["list"])["studies"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
    assert_eq!(names, ["one", "two"]);
    // Put away, and nothing is lost; damaged ones, too.
    std::fs::write(scratch.0.join("studies/two.jsonl"), "nonsense").unwrap();
    let place = json(&scratch, &["delete", "two"])["place"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_to_string(scratch.0.join(place).join("two.jsonl")).unwrap(), "nonsense");
    assert!(scratch.0.join("pool.csv").is_file());
    assert_eq!(json(&scratch, &["list"])["studies"].as_array().unwrap().len(), 1);
    let again = study(&scratch, &["delete", "two"]).output().unwrap();
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("There is no study \"two\" in studies. Studies there: one.")
    );
    json(&scratch, &["create", "two", "--direction", "max", "--pool", "pool.csv", "--id", "name"]);
}

#[test]
fn what_comes_next_is_said_where_there_are_limits_failures_or_no_rows() {
    let scratch = Scratch::new("study-next");
    let rows: String = (1..=6).map(|k| format!("{k},{},{}\n", k * 10, 6 + k % 2)).collect();
    std::fs::write(scratch.file("full.csv"), format!("heat,yield,pH\n{rows}")).unwrap();
    std::fs::write(scratch.file("some.csv"), format!("heat,yield,pH\n{rows}7,,\n8,,\n")).unwrap();
    let create = |name: &str, wishes: &[&str]| {
        let pool = format!("{name}.csv");
        let all = ["create", name, "--pool", &pool, "--value", "yield", "--direction", "max", "--also"];
        study(&scratch, &[&all[..], wishes].concat()).output().unwrap()
    };
    let printed = said(create("full", &["pH <= 8"]));
    assert!(printed.ends_with("next: icee study best full\n"), "{printed}");
    let full = complaint(study(&scratch, &["ask", "full"]).output().unwrap());
    assert!(full.contains("All 6 rows are measured. Add rows to the sheet to go on."), "{full}");
    assert!(said(create("some", &["pH <= 8"])).ends_with("next: icee study ask some\n"));
    let asked = said(study(&scratch, &["ask", "some"]).output().unwrap());
    assert!(asked.ends_with("best so far 60; no stopping estimate with constraints\n"), "{asked}");
    for (wishes, way) in [
        (&["6 <= pH <= 8"][..], "the middle as a target: \"pH = 7\""),
        (&["pH >= 6", "--also", "pH <= 8"], "use its middle as a target: \"pH = 7\""),
    ] {
        std::fs::copy(scratch.file("full.csv"), scratch.file("window.csv")).unwrap();
        let refused = complaint(create("window", wishes));
        assert!(refused.contains(way), "{refused}");
    }
    let failed = complaint(study(&scratch, &["tell", "some", "--row", "7", "--value", "Failed"]).output().unwrap());
    assert!(failed.contains("Use --failed in place of a result"), "{failed}");
}

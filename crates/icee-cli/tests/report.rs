//! Models by name, the demo and the paper's report through the binary, with stand-ins that train in a moment.

mod common;

use common::{SMALL, Scratch, complaint, ok, said};
use icee_report::check::self_contained;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A scratch folder with a stand-in for the Dark Room's model under `models/`.
fn with_model(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let mut train = scratch.icee(&["train", "dark-room", "--threads", "1", "--json", "--set", "train.steps=2"]);
    SMALL.iter().for_each(|setting| {
        train.args(["--set", setting]);
    });
    let run = ok(train.args(["--set", "train.eval_games=1"]).output().unwrap());
    let run = run["run"].as_str().unwrap();
    let eval = scratch.icee(&["eval", run, "--games", "2", "--json"]).output().unwrap();
    std::fs::write(scratch.file("eval.json"), said(eval)).unwrap();
    said(scratch.icee(&["models", "add", run, "dark-room__icee", "--eval", "eval.json"]).output().unwrap());
    scratch
}

#[test]
fn a_run_becomes_a_model_that_has_a_name() {
    let scratch = with_model("models");
    let folder = scratch.0.join("models/dark-room__icee");
    let card = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for part in
        ["# dark-room__icee: DarkRoom-v0", "icee train dark-room", "seed 0, 2 updates", "| 50 |", "training took"]
    {
        assert!(card.contains(part), "{part}: {card}");
    }
    let run = std::fs::read_dir(scratch.0.join("runs")).unwrap().next().unwrap().unwrap().path();
    let size = |path: &Path| std::fs::metadata(path.join("model.safetensors")).unwrap().len();
    assert!(size(&folder) * 10 < size(&run.join("checkpoint")) * 4, "8 bits are a quarter of 32");

    let again = scratch.icee(&["models", "add", run.to_str().unwrap(), "dark-room__icee"]).output().unwrap();
    assert!(complaint(again).contains("--force"));
    let odd = scratch.icee(&["models", "add", run.to_str().unwrap(), "../x"]).output().unwrap();
    assert!(complaint(odd).contains("not a model name"));
    said(scratch.icee(&["models", "add", run.to_str().unwrap(), "mine", "--force"]).output().unwrap());

    // A model stored anew is the same; what it earned is for a new measurement to say.
    said(scratch.icee(&["models", "add", "models/dark-room__icee", "copy"]).output().unwrap());
    let copy = scratch.0.join("models/copy");
    let weights_in = |folder: &Path| std::fs::read(folder.join("model.safetensors")).unwrap();
    assert!(weights_in(&copy) == weights_in(&folder));
    let part = |folder: &Path| {
        let card = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let (_, part) = card.split_once("## Where it comes from").unwrap();
        part.split("\n\n").next().unwrap().to_owned()
    };
    assert_eq!(part(&copy).trim_end(), part(&folder).trim_end());
    assert!(!copy.join("evaluation.csv").exists());

    let list = ok(scratch.icee(&["models", "--json"]).output().unwrap());
    let row = |name: &str| list.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!(row("dark-room__icee")["place"], "models/dark-room__icee");
    assert_eq!(row("dark-room__icee")["results"].as_array().unwrap().len(), 3);
    assert_eq!((row("mine")["world"].as_str(), row("mine")["command"].as_str()), (Some("DarkRoom-v0"), None));
    assert_eq!(row("dark-room__ad")["place"], Value::Null);
    let text = said(scratch.icee(&["models"]).output().unwrap());
    assert!(text.contains("icee train dark-room --method ad --set model.layers=3"), "{text}");
    assert!(said(scratch.icee(&["models", "card", "mine"]).output().unwrap()).contains("# mine: "));

    // By name, from here and from a folder below, it is the same as by folder.
    std::fs::create_dir_all(scratch.0.join("below")).unwrap();
    let episodes = |model: &str, below: bool| {
        let mut command = scratch.icee(&["eval", model, "--games", "2", "--json"]);
        if below {
            command.current_dir(scratch.0.join("below"));
        }
        ok(command.output().unwrap())["episodes"].clone()
    };
    let by_folder = episodes("models/dark-room__icee", false);
    assert_eq!(by_folder, episodes("dark-room__icee", false));
    assert_eq!(by_folder, episodes("dark-room__icee", true));

    let weights = || std::fs::read(folder.join("model.safetensors")).unwrap();
    let before = weights();
    let tuned = ok(scratch.icee(&["tune", "mine", "--games", "1", "--json", "--dry-run"]).output().unwrap());
    assert!(tuned.as_array().is_some_and(|rows| !rows.is_empty()));
    assert!(before == weights());
}

#[test]
fn names_that_do_not_exist_are_answered() {
    let scratch = Scratch::new("names");
    for (model, answer) in [
        ("dark-room__ad", "icee train dark-room --method ad"),
        ("dark-room__icce", "did you mean \"dark-room__icee\"?"),
        ("/nowhere/at/all", "there is no folder and no model"),
    ] {
        let complaint = complaint(scratch.icee(&["eval", model]).output().unwrap());
        assert!(complaint.contains(answer), "{model}: {complaint}");
    }
    let complaint = complaint(scratch.icee(&["reproduce", "--only", "dark-rom"]).output().unwrap());
    assert!(complaint.contains("near: dark-room"), "{complaint}");
}

#[test]
fn a_report_is_made_once_and_names_what_is_missing() {
    let scratch = with_model("report");
    let reproduce = |games: &str| {
        let arguments = ["reproduce", "--only", "dark-room", "--games", games, "--out", "report"];
        said(scratch.icee(&arguments).output().unwrap())
    };
    let first = reproduce("3");
    assert!(first.contains("5 results, 5 computed now"), "{first}");
    let missing = "missing models: dark-room__ad, dark-room__ad-sorted, dark-room__dpt, dark-room__icee-biased, dark-room__icee-offline, dark-room__icee-paper";
    assert!(first.contains(missing), "{first}");
    assert!(first.lines().any(|line| line.contains("source") && line.contains("5.13 ± 1.19")), "{first}");

    let report = scratch.0.join("report");
    let html = std::fs::read_to_string(report.join("index.html")).unwrap();
    self_contained(&html).unwrap();
    for part in ["Dark Room: mean return by episode", "8.15 ± 1.29", "Missing models", "icee eval dark-room__icee"] {
        assert!(html.contains(part), "{part}");
    }
    let results: Value = serde_json::from_slice(&std::fs::read(report.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["tables"].as_array().unwrap().len(), 21);
    assert_eq!(results["outcomes"]["dark-room__icee"]["episodes"].as_array().unwrap().len(), 50);
    let figures: Vec<String> = std::fs::read_dir(report.join("figures"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let drawn: Vec<&str> = figures.iter().filter_map(|name| name.strip_suffix(".svg")).collect();
    assert_eq!(drawn.len(), 3, "the returns, the entropy, and what learning costs: {figures:?}");
    for name in drawn {
        for end in [".csv", ".png", "-dark.png"] {
            assert!(figures.contains(&format!("{name}{end}")), "{name}{end}");
        }
        assert!(html.contains(&format!("download=\"{name}.csv\"")), "{name}");
    }
    assert!(std::fs::read_to_string(report.join("commands.txt")).unwrap().contains("icee reproduce --only dark-room"));

    assert!(reproduce("3").contains("5 results, 0 computed now"));
    // What is lost, or depends on something that changed, is computed again; nothing else is.
    let kept = std::fs::read_dir(report.join("work")).unwrap().map(|entry| entry.unwrap().path());
    std::fs::remove_file(kept.into_iter().find(|path| path.to_str().unwrap().contains("posterior")).unwrap()).unwrap();
    assert!(reproduce("3").contains("5 results, 1 computed now"));
    said(scratch.icee(&["tune", "dark-room__icee", "--games", "1"]).output().unwrap());
    assert!(reproduce("3").contains("5 results, 1 computed now"));
    assert!(reproduce("2").contains("5 results, 5 computed now"));
    assert!(reproduce("3").contains("5 results, 0 computed now"));
}

/// The files of a folder by name, but those that say how long something took.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().to_str().unwrap().into(), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn a_page_keeps_the_parts_that_were_made_before() {
    let scratch = with_model("parts");
    let reproduce = |part: &str, games: &str| {
        said(scratch.icee(&["reproduce", "--only", part, "--games", games, "--out", "report"]).output().unwrap())
    };
    let page = || std::fs::read_to_string(scratch.file("report/index.html")).unwrap();
    let (first, second) = ("Dark Room: mean return by episode", "Dark Room (Hard): mean return by episode");
    let printed = reproduce("dark-room", "3");
    assert!(printed.contains("not on the page yet: dark-room-hard, key-to-door"), "{printed}");
    assert!(page().contains(first) && !page().contains(second));
    let printed = reproduce("dark-room-hard", "3");
    assert!(
        printed.contains("not on the page yet: key-to-door, dark-room-biased, beyond, bo, tables, ablations"),
        "{printed}"
    );
    let html = page();
    self_contained(&html).unwrap();
    assert!(html.contains(first) && html.contains(second));
    let summary = html.find("<h2>Summary</h2>").unwrap();
    assert!(summary < html.find(first).unwrap(), "the summary comes first");
    for part in [
        "On this page: Dark Room, Dark Room (Hard), Cost of learning.",
        "ours is significantly higher in",
        "Not computed yet",
        "relabelled by an expert",
    ] {
        assert!(html[summary..html.find(first).unwrap()].contains(part), "{part}");
    }
    let results: Value = serde_json::from_slice(&std::fs::read(scratch.file("report/results.json")).unwrap()).unwrap();
    assert_eq!(results["parts"], serde_json::json!(["dark-room", "dark-room-hard", "cost"]));
    assert_eq!(results["tables"].as_array().unwrap().len(), 42);
    // With other settings it is another page: numbers of different games do not stand under one heading.
    reproduce("dark-room-hard", "2");
    assert!(!page().contains(first) && page().contains(second));
}

#[test]
fn a_second_report_is_the_same_to_the_last_digit_and_no_changed_figure_is_believed() {
    let scratch = with_model("again");
    let reproduce =
        || scratch.icee(&["reproduce", "--only", "dark-room", "--games", "3", "--out", "report"]).output().unwrap();
    let report = scratch.0.join("report");
    let everything = || (files(&report.join("figures")), std::fs::read(report.join("results.json")).unwrap());
    said(reproduce());
    let first = everything();
    assert!(said(reproduce()).contains("0 computed now"));
    assert!(everything() == first, "what is read back is what was computed");

    // The first digit of a mean becomes another.
    let kept = std::fs::read_dir(report.join("work")).unwrap().map(|entry| entry.unwrap().path());
    let path = kept.into_iter().find(|path| path.to_str().unwrap().contains("sweep")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let at = text.find("\"mean\":").unwrap() + 7;
    let other = if text.as_bytes()[at] == b'1' { "2" } else { "1" };
    std::fs::write(&path, format!("{}{other}{}", &text[..at], &text[at + 1..])).unwrap();
    let output = reproduce();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("its checksum does not fit what it says; computing it again"), "{words}");
    assert!(said(output).contains("1 computed now"));
    assert!(everything().0 == first.0);
}

#[test]
fn models_are_trained_for_the_report_where_that_is_asked_for() {
    let scratch = Scratch::new("anew");
    let mut command =
        scratch.icee(&["reproduce", "--only", "key-to-door", "--games", "1", "--train", "--device", "cpu"]);
    SMALL.iter().chain(&["train.steps=1", "train.eval_games=1", "train.batch=1"]).for_each(|setting| {
        command.args(["--set", setting]);
    });
    let first = said(command.output().unwrap());
    assert!(first.contains("12 results, 12 computed now") && !first.contains("missing"), "{first}");
    assert!(scratch.0.join("report/models/key-to-door__icee-paper/config.json").is_file());
    assert!(said(command.output().unwrap()).contains("12 results, 0 computed now"));
}

#[test]
fn the_demo_shows_a_room_and_a_race_and_ends_with_a_page() {
    let scratch = Scratch::new("demo");
    let text = said(scratch.icee(&["demo", "--games", "8", "--trials", "1"]).output().unwrap());
    for part in ["ICEE", "posterior sampling", "oracle", "paper: ICEE", "8.15", "GP-EI", "icee-demo.html", "icee play"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let room: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("room ")).take(11).collect();
    assert!(room.len() == 11 && room[1].contains("episode 1: return 0") && room[1].contains("episode 10: "), "{text}");
    let drawn = |sign: char| room[2..].iter().map(|line| line.matches(sign).count()).sum::<usize>();
    assert_eq!((drawn('G'), drawn('S')), (2, 2), "{text}");
    let next = text.split("next:\n").nth(1).unwrap();
    assert!(next.starts_with("  icee study create NAME --pool FILE.csv --direction max "), "{next}");
    let html = std::fs::read_to_string(scratch.file("icee-demo.html")).unwrap();
    self_contained(&html).unwrap();
    assert!(html.contains(room[2]), "the room is on the page, too");
    assert!(html.contains("Learning a new room in context") && html.contains("A race to the minimum"));
    // All functions, run by run.
    assert!(html.contains("95 % intervals over 16 runs") && text.contains("ICEE - GP-EI by run"), "{text}");
}

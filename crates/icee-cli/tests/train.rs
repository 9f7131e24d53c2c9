//! Training, acting and logs through the binary, in a small form with a fixed seed.

mod common;

use common::{SMALL, Scratch, ok};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn icee(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_icee"));
    command
        .args(arguments)
        .args(["--threads", "1"].into_iter().filter(|_| !["rollout", "play"].contains(&arguments[0])));
    command
}

fn train(out: &str, settings: &[&str]) -> Command {
    let mut command = icee(&["train", "dark-room-tiny", "--out", out, "--json"]);
    SMALL.iter().chain(settings).for_each(|setting| {
        command.args(["--set", setting]);
    });
    command
}

#[test]
fn train_then_eval_tune_and_play() {
    let scratch = Scratch::new("all");
    let report = ok(train(&scratch.file("runs"), &["train.steps=3"]).output().unwrap());
    let run = report["run"].as_str().unwrap();
    for file in
        ["config.toml", "run.json", "metrics.csv", "training.safetensors", "summary.json", "checkpoint/README.md"]
    {
        assert!(Path::new(run).join(file).is_file(), "{file}");
    }
    let name = Path::new(run).file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("DarkRoomTiny-v0__icee__0__"), "{name}");

    let csv = scratch.file("returns.csv");
    let eval = ok(icee(&["eval", run, "--games", "5", "--json", "--csv", &csv]).output().unwrap());
    assert_eq!(eval["episodes"].as_array().unwrap().len(), 16);
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 1 + 5 * 16);
    let again = ok(icee(&["eval", run, "--games", "5", "--json"]).output().unwrap());
    assert_eq!(eval["episodes"], again["episodes"]);
    let other = icee(&["eval", run, "--games", "2", "--kappa", "3", "--outcome", "exactly"]).output().unwrap();
    assert!(String::from_utf8(other.stdout).unwrap().contains("oracle"));

    let rows = ok(icee(&["tune", run, "--games", "2", "--json"]).output().unwrap());
    let chosen = rows.as_array().unwrap().iter().find(|row| row["chosen"] == true).unwrap();
    let config = std::fs::read_to_string(Path::new(run).join("checkpoint/config.json")).unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["meta"]["config"]["acting"]["kappa"], chosen["kappa"]);
    assert!(Path::new(run).join("checkpoint/model.safetensors").is_file());

    let play = icee(&["play", run, "--episodes", "2"]).output().unwrap();
    let shown = String::from_utf8(play.stdout).unwrap();
    assert!(shown.contains("asks for") && shown.contains("returns: "), "{shown}");
}

/// The run in a folder, once it has saved something.
fn saved_run(folder: &str) -> PathBuf {
    let start = Instant::now();
    loop {
        let saved = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
        if let Some(run) = saved.into_iter().find(|run| run.join("training.safetensors").is_file()) {
            return run;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "nothing was saved");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ctrl-C is SIGINT: the step is finished, all is saved, the way on is said, and resuming ends where it would have.
#[cfg(unix)]
#[test]
fn ctrl_c_saves_and_says_how_to_go_on() {
    let scratch = Scratch::new("interrupt");
    let settings = ["train.steps=400", "train.save_every=5", "train.eval_every=0"];
    let whole = ok(train(&scratch.file("whole"), &settings).output().unwrap());
    let child =
        train(&scratch.file("stopped"), &settings).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let run = saved_run(&scratch.file("stopped"));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("go on with: icee train --resume"), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["finished"], false);
    ok(icee(&["train", "--resume", run.to_str().unwrap(), "--json"]).output().unwrap());
    let bytes = |run: &Path| std::fs::read(run.join("training.safetensors")).unwrap();
    assert!(bytes(Path::new(whole["run"].as_str().unwrap())) == bytes(&run), "the weights differ");
}

#[test]
fn functions_are_learned_from_and_evaluated() {
    let scratch = Scratch::new("functions");
    let small = ["data.pool=64", "data.longest=8", "data.queries=8", "train.steps=3"];
    let mut command = icee(&["train", "bo-tiny", "--out", &scratch.file("runs"), "--json"]);
    SMALL.iter().chain(&small).for_each(|setting| {
        command.args(["--set", setting]);
    });
    let report = ok(command.output().unwrap());
    assert!(report["evaluation"]["regret"].is_number());
    let run = report["run"].as_str().unwrap();
    let name = Path::new(run).file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("GpWide-v0__value__0__"), "{name}");
    let metrics = std::fs::read_to_string(Path::new(run).join("metrics.csv")).unwrap();
    assert!(metrics.starts_with("step,learning_rate,loss,loss/trunk/value,gradient_norm,tokens_per_second,held_out/"));

    let csv = scratch.file("regret.csv");
    let eval = ok(icee(&["eval", run, "--trials", "1", "--json", "--csv", &csv]).output().unwrap());
    let samplers = eval["samplers"].as_array().unwrap();
    assert_eq!(
        samplers.iter().map(|s| s["sampler"].as_str().unwrap()).collect::<Vec<_>>(),
        ["icee", "gp-ei", "random"]
    );
    assert_eq!(samplers[0]["by_function"].as_array().unwrap().len(), 16);
    assert_eq!(eval["difference_to_gp_ei"].as_array().unwrap().len(), 55);
    assert_eq!(eval["calibration"].as_array().unwrap().len(), 2);
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 1 + 3 * 16 * 55);

    let trials = ok(icee(&["tune", run, "--games", "2", "--json"]).output().unwrap());
    let chosen: Vec<&Value> = trials.as_array().unwrap().iter().filter(|trial| trial["chosen"] == true).collect();
    assert_eq!((trials.as_array().unwrap().len(), chosen.len()), (5, 1));
    let config = std::fs::read_to_string(Path::new(run).join("checkpoint/config.json")).unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["meta"]["config"]["acting"]["sharpness"], chosen[0]["sharpness"]);

    for (arguments, answer) in [
        (&["eval", run, "--games", "2"][..], "trained on functions"),
        (&["tune", run, "--device", "cuda"], "tuned on the CPU"),
        (&["train", "bo-tiny", "--method", "icee"], "--method is for games"),
        (&["train", "bo-tiny", "--set", "data.novices=0.1"], "unknown key \"data.novices\""),
        (&["train", "bo-tny"], "did you mean \"bo-tiny\"?"),
    ] {
        let said = icee(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&said.stderr);
        assert!(said.contains(answer), "{arguments:?}: {said}");
    }
}

#[test]
fn a_missing_gpu_is_named_and_auto_goes_on_without() {
    let scratch = Scratch::new("device");
    let wide = ["train.steps=2", "model.width=32"];
    let report = ok(train(&scratch.file("runs"), &wide).args(["--device", "auto"]).output().unwrap());
    let run = report["run"].as_str().unwrap();
    let eval = ok(icee(&["eval", run, "--games", "3", "--json", "--device", "auto"]).output().unwrap());
    assert_eq!(eval["episodes"].as_array().unwrap().len(), 16);
    for command in ["eval", "tune"] {
        let output = icee(&[command, run, "--games", "2", "--device", "cuda"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || (said.contains("CUDA: ") && said.contains("use the CPU")), "{said}");
    }
}

#[test]
fn a_killed_run_goes_on_bit_for_bit() {
    let scratch = Scratch::new("kill");
    let settings = ["train.steps=400", "train.save_every=5", "train.eval_every=0"];
    let whole = ok(train(&scratch.file("whole"), &settings).output().unwrap());
    let mut child =
        train(&scratch.file("killed"), &settings).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let run = saved_run(&scratch.file("killed"));
    child.kill().unwrap();
    child.wait().unwrap();
    ok(icee(&["train", "--resume", run.to_str().unwrap(), "--json"]).output().unwrap());
    let bytes = |run: &Path| std::fs::read(run.join("training.safetensors")).unwrap();
    assert!(bytes(Path::new(whole["run"].as_str().unwrap())) == bytes(&run), "the weights differ");
}

#[test]
fn logs_are_written_and_learned_from() {
    let scratch = Scratch::new("logs");
    for name in ["log.csv", "log.jsonl"] {
        let log = scratch.file(name);
        ok(icee(&["rollout", "DarkRoomHardTiny-v0", "--games", "6", "--log", &log, "--json"]).output().unwrap());
        let report = ok(train(&scratch.file("runs"), &["train.steps=2"]).args(["--logs", &log]).output().unwrap());
        assert_eq!(report["step"], 2);
    }
    let bad = scratch.file("bad.csv");
    std::fs::write(&bad, "game,episode,step,observation,action,reward\n0,0,0,1,0,1\n0,0,5,1,0,1\n0,0,1,1,0,x\n")
        .unwrap();
    let said = train(&scratch.file("runs"), &[]).args(["--logs", &bad]).output().unwrap();
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("line 3: does not follow") && said.contains("line 4: reward"), "{said}");
}

#[test]
fn mistakes_are_answered() {
    for (arguments, answer) in [
        (&["train", "dark-rom"][..], "did you mean \"dark-room\"?"),
        (&["train", "dark-room-tiny", "--set", "train.stps=1"], "did you mean \"train.steps\"?"),
        (&["train", "dark-room-tiny", "--method", "icce"], "did you mean \"icee\"?"),
        (&["train", "--resume", "nowhere"], "no training.safetensors"),
        (&["eval", "nowhere"], "nowhere"),
    ] {
        let output = icee(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(answer), "{arguments:?}: {said}");
    }
}

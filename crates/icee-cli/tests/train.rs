//! Training, acting and logs through the binary, in a small form with a fixed seed.

mod common;
#[path = "train/runs.rs"]
mod runs;

use common::{SMALL, Scratch, complaint, ok};
use serde_json::Value;
use std::io::Write as _;
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
    // Three updates teach nothing, and what is on already is not advised.
    assert_eq!(report["verdict"]["verdict"], "no-better");
    let words = report["verdict"]["words"].as_str().unwrap();
    assert!(
        words.contains("train.steps=6") && !words.contains("tied_keys") && words.contains("condition_std"),
        "{words}"
    );

    let summary = || std::fs::read_to_string(Path::new(run).join("summary.json")).unwrap();
    let before = summary();
    assert_eq!(ok(icee(&["train", "--resume", run, "--json"]).output().unwrap())["step"], 3, "nothing is left to do");
    assert_eq!(summary(), before);

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
    assert!(shown.contains("conditions on a return of") && shown.contains("returns: "), "{shown}");
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

/// A training of some seconds, and what saves often.
const LONG: [&str; 3] = ["train.steps=400", "train.save_every=5", "train.eval_every=0"];

#[cfg(unix)]
fn signal(signal: &str, child: &std::process::Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Whether these tests were started by somebody who ignores a signal (`nohup`, a job in a script's background), and so the
/// program does, too.
#[cfg(target_os = "linux")]
fn is_ignored(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (number - 1) & 1 == 1
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(_number: u32) -> bool {
    false
}

/// Ctrl-C, `kill` and a closed terminal: the step is finished, all is saved, the way on is said, and resuming ends where it
/// would have.
#[cfg(unix)]
#[test]
fn signals_save_and_say_how_to_go_on() {
    let scratch = Scratch::new("interrupt");
    let whole = ok(train(&scratch.file("whole"), &LONG).output().unwrap());
    for (name, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        if is_ignored(number) {
            writeln!(std::io::stderr(), "{name} is ignored by whoever runs these tests: not tested").unwrap();
            continue;
        }
        // On a busy machine a training may be over before the signal is there; not every time.
        let interrupted = (0..8).find_map(|attempt| {
            let out = scratch.file(&format!("{name}{attempt}"));
            let child = train(&out, &LONG).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let run = saved_run(&out);
            signal(name, &child);
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{name}: {said}");
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            (report["finished"] == false).then_some((run, said))
        });
        let (run, said) = interrupted.unwrap_or_else(|| panic!("{name} stops nothing"));
        assert!(said.contains("to continue: icee train --resume"), "{name}: {said}");
        ok(icee(&["train", "--resume", run.to_str().unwrap(), "--json"]).output().unwrap());
        let bytes = |run: &Path| std::fs::read(run.join("training.safetensors")).unwrap();
        assert!(bytes(Path::new(whole["run"].as_str().unwrap())) == bytes(&run), "{name}: the weights differ");
    }
}

/// `nohup` ignores SIGHUP, and whoever uses it wants training to go on.
#[cfg(target_os = "linux")]
#[test]
fn an_ignored_signal_stays_ignored() {
    let scratch = Scratch::new("nohup");
    let inner = train(&scratch.file("runs"), &LONG);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    saved_run(&scratch.file("runs"));
    signal("-HUP", &child);
    assert_eq!(ok(child.wait_with_output().unwrap())["finished"], true);
}

#[test]
fn one_training_at_a_time_in_a_folder() {
    let scratch = Scratch::new("lock");
    let settings = ["train.steps=100000", "train.save_every=5", "train.eval_every=0"];
    let mut child =
        train(&scratch.file("runs"), &settings).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let run = saved_run(&scratch.file("runs"));
    let resume = ["train", "--resume", run.to_str().unwrap(), "--max-minutes", "0", "--json"];
    let said = complaint(icee(&resume).output().unwrap());
    assert!(said.contains("another training is at work"), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    // The dead hold nothing.
    ok(icee(&resume).output().unwrap());
}

#[cfg(unix)]
#[test]
fn words_that_are_no_utf_8_are_named_and_folders_need_not_be() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::new("bytes");
    let word = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let said = complaint(icee(&["train", "dark-room-tiny"]).arg("--method").arg(word).output().unwrap());
    assert!(said.contains("not UTF-8") && said.contains("caf\u{fffd}"), "{said}");
    let out = scratch.0.join(word);
    let mut command = Command::new(env!("CARGO_BIN_EXE_icee"));
    command.args(["train", "dark-room-tiny", "--threads", "1", "--set", "train.steps=1", "--json", "--out"]).arg(&out);
    SMALL.iter().for_each(|setting| {
        command.args(["--set", setting]);
    });
    assert_eq!(ok(command.output().unwrap())["step"], 1);
    let info = std::fs::read_dir(&out).unwrap().next().unwrap().unwrap().path().join("run.json");
    assert!(std::fs::read_to_string(info).unwrap().contains("caf\u{fffd}"));
    // A log is written down and found again by its name, so that one must be UTF-8.
    let log = scratch.0.join(word);
    std::fs::remove_dir_all(&out).unwrap();
    std::fs::write(&log, "game,episode,step,observation,action,reward\n0,0,0,1,0,1\n0,1,0,1,0,0\n").unwrap();
    let said = complaint(train(&scratch.file("runs"), &[]).arg("--logs").arg(&log).output().unwrap());
    assert!(said.contains("rename it") && !scratch.0.join("runs").exists(), "{said}");
}

#[test]
fn a_run_on_logs_goes_on_from_anywhere_but_not_with_another_log() {
    let scratch = Scratch::new("moved");
    let elsewhere = Scratch::new("moved-elsewhere");
    ok(scratch.icee(&["rollout", "DarkRoomHardTiny-v0", "--games", "6", "--log", "log.csv"]).output().unwrap());
    let mut command = train("runs", &["train.steps=2", "train.save_every=1"]);
    command.args(["--logs", "log.csv", "--max-minutes", "0"]).current_dir(&scratch.0);
    let run = scratch.0.join(ok(command.output().unwrap())["run"].as_str().unwrap());
    let resume = || {
        let mut command = icee(&["train", "--resume", run.to_str().unwrap(), "--max-minutes", "0", "--json"]);
        command.current_dir(&elsewhere.0).output().unwrap()
    };
    assert_eq!(ok(resume())["step"], 2, "from another folder");
    let log = scratch.0.join("log.csv");
    let text = std::fs::read_to_string(&log).unwrap();
    // One probability, so that the games look as before.
    let (all_but_one, _) = text.trim_end().rsplit_once(',').unwrap();
    std::fs::write(&log, format!("{all_but_one},0.123\n")).unwrap();
    let said = complaint(resume());
    assert!(said.contains("has changed since the run started"), "{said}");
    std::fs::remove_file(&log).unwrap();
    let said = complaint(resume());
    assert!(said.contains("log.csv") && said.contains("is missing; put it back"), "{said}");
    std::fs::write(run.join("log.csv"), text).unwrap();
    assert_eq!(ok(resume())["step"], 2, "a copy in the run folder");
}

#[test]
fn a_model_does_not_play_a_world_of_another_shape() {
    let scratch = Scratch::new("shape");
    let report = ok(train(&scratch.file("runs"), &["train.steps=1"]).output().unwrap());
    let run = report["run"].as_str().unwrap();
    let config = Path::new(run).join("checkpoint/config.json");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("DarkRoomTiny-v0", "DarkRoom-v0")).unwrap();
    for command in [&["eval", run, "--games", "1"][..], &["tune", run, "--games", "1"], &["play", run]] {
        let said = complaint(icee(command).output().unwrap());
        assert!(said.contains("DarkRoom-v0 (81 places, 5 actions) is seen or played in another way"), "{said}");
    }
}

#[test]
fn models_are_found_by_flag_and_variable_in_this_order() {
    let scratch = Scratch::new("roots");
    let report = ok(train(&scratch.file("runs"), &["train.steps=1"]).output().unwrap());
    let run = report["run"].as_str().unwrap();
    let place = |set: &dyn Fn(&mut Command)| {
        let mut command = scratch.icee(&["models", "--json"]);
        set(&mut command);
        let rows = ok(command.output().unwrap());
        let row = rows.as_array().unwrap().iter().find(|row| row["name"] == "dark-room__icee").unwrap();
        row["place"].as_str().unwrap().to_owned()
    };
    assert_eq!(place(&|_| {}), "inside the program");
    for folder in ["models", "variable", "flag"] {
        std::fs::create_dir_all(scratch.0.join(folder)).unwrap();
    }
    let mut add = scratch.icee(&["models", "add", run, "dark-room__icee"]);
    ok(add.output().unwrap());
    assert_eq!(place(&|_| {}), "models/dark-room__icee");
    let mut add = scratch.icee(&["models", "add", run, "dark-room__icee"]);
    ok(add.env("ICEE_MODELS", scratch.0.join("variable")).output().unwrap());
    ok(scratch.icee(&["models", "add", "--models", "flag", run, "dark-room__icee"]).output().unwrap());
    let variable = |command: &mut Command| {
        command.env("ICEE_MODELS", "variable");
    };
    assert_eq!(place(&variable), "variable/dark-room__icee");
    let both = |command: &mut Command| {
        command.env("ICEE_MODELS", "variable").args(["--models", "flag"]);
    };
    assert_eq!(place(&both), "flag/dark-room__icee");
    let said = complaint(scratch.icee(&["models", "--models", "nowhere"]).output().unwrap());
    assert!(said.contains("--models: there is no folder nowhere"), "{said}");
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
    assert_eq!((trials.as_array().unwrap().len(), chosen.len()), (6, 1));
    let config = std::fs::read_to_string(Path::new(run).join("checkpoint/config.json")).unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["meta"]["config"]["acting"]["sharpness"], chosen[0]["sharpness"]);

    for (arguments, answer) in [
        (&["eval", run, "--games", "2"][..], "trained on functions"),
        (&["tune", run, "--device", "cuda"], "tuned on the CPU"),
        (&["train", "bo-tiny", "--method", "icee"], "a method is for games"),
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
    // Thompson sampling draws what it believes: with which probability it takes an arm, it cannot say.
    let log = scratch.file("thompson.csv");
    let words = ["rollout", "BernoulliBanditTiny-v0", "--agent", "posterior", "--games", "1", "--log", &log, "--json"];
    ok(icee(&words).output().unwrap());
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.lines().skip(1).all(|line| line.ends_with(',')), "{text}");
    let bad = scratch.file("bad.csv");
    std::fs::write(&bad, "game,episode,step,observation,action,reward\n0,0,0,1,0,1\n0,0,5,1,0,1\n0,0,1,1,0,x\n")
        .unwrap();
    let said = train(&scratch.file("runs"), &[]).args(["--logs", &bad]).output().unwrap();
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("line 3: does not follow") && said.contains("line 4: reward"), "{said}");
}

/// A model of logs is judged by what was held out of its own log, or by all games of another one, and says which.
#[test]
fn a_model_of_logs_is_judged_by_logs() {
    let scratch = Scratch::new("judged");
    for (name, seed, games) in [("log.csv", "0", "120"), ("other.csv", "1", "7")] {
        let log = scratch.file(name);
        let rollout = ["rollout", "DarkRoomTiny-v0", "--games", games, "--seed", seed, "--log", &log, "--json"];
        ok(icee(&rollout).output().unwrap());
    }
    let (log, other) = (scratch.file("log.csv"), scratch.file("other.csv"));
    let mut command = icee(&["train", "--logs", &log, "--out", &scratch.file("runs"), "--json"]);
    SMALL.iter().chain(&["train.steps=50", "train.eval_every=10"]).for_each(|setting| {
        command.args(["--set", setting]);
    });
    // The verdict is had when the time is up, too, and stands wherever the run is looked at.
    let report = ok(command.args(["--max-minutes", "0.001"]).output().unwrap());
    let (run, checkpoint) = (report["run"].as_str().unwrap(), report["checkpoint"].as_str().unwrap());

    let judged = |arguments: &[&str]| {
        let json = ok(icee(arguments).arg("--json").output().unwrap());
        (json["games"].as_u64().unwrap(), json["held_out"].as_bool().unwrap())
    };
    assert_eq!(judged(&["eval", run]), (12, true), "a tenth of its own log");
    assert_eq!(judged(&["eval", run, "--logs", &log]), (12, true), "its own log, named");
    assert_eq!(judged(&["eval", run, "--logs", &other]), (7, false), "another one, all of it");
    assert_eq!(judged(&["eval", run, "--logs", &other, "--games", "2"]), (2, false));
    let words = |arguments: &[&str]| common::said(icee(arguments).output().unwrap());
    let own = words(&["eval", run]);
    assert!(own.starts_with("on 12 held-out tasks (") && own.contains("one action by"), "{own}");
    let others = words(&["eval", run, "--logs", &other]);
    assert!(others.starts_with("on 7 tasks of this log (") && !others.contains("held-out"), "{others}");

    assert!(others.contains("too few to compare"), "{others}");

    let verdict = report["verdict"]["verdict"].as_str().unwrap();
    let words = report["verdict"]["words"].as_str().unwrap();
    assert!(words.starts_with("on 12 held-out tasks ("), "{words}");
    assert!(words.contains("Let it play"), "a source that knows the goal: {words}");
    let summary = std::fs::read_to_string(Path::new(run).join("summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&summary).unwrap()["verdict"]["verdict"], verdict);
    let rows = ok(scratch.icee(&["runs", &scratch.file("runs"), "--json"]).output().unwrap());
    assert_eq!((&rows[0]["verdict"], &rows[0]["log"]), (&report["verdict"]["verdict"], &Value::from("log.csv")));
    let listed = common::said(scratch.icee(&["runs", &scratch.file("runs")]).output().unwrap());
    assert!(listed.contains("log.csv") && listed.contains(&verdict.replace('-', " ")), "{listed}");
    let card = std::fs::read_to_string(Path::new(checkpoint).join("README.md")).unwrap();
    assert!(card.contains(words) && card.contains("| log | log.csv, checksum"), "{card}");

    // A model and a checkpoint know their log when they see it, and hold the same games out.
    ok(scratch.icee(&["models", "add", run, "mine", "--to", &scratch.file("models")]).output().unwrap());
    let mine = scratch.file("models/mine");
    let card = std::fs::read_to_string(Path::new(&mine).join("README.md")).unwrap();
    assert!(card.contains(words), "{card}");
    for model in [checkpoint, &mine] {
        let said = complaint(icee(&["eval", model]).output().unwrap());
        assert!(said.contains("the log log.csv that this model learned from was not found; add --logs FILE"), "{said}");
        assert_eq!(judged(&["eval", model, "--logs", &log]), (12, true));
        assert_eq!(judged(&["eval", model, "--logs", &other]), (7, false));
    }
    for (arguments, answer) in [
        (&["eval", run, "--csv", "returns.csv"][..], "--csv needs a world to play in"),
        (&["eval", run, "--episodes", "3"], "--episodes needs a world to play in"),
        (&["eval", run, "--training-games"], "--training-games needs a world to play in"),
        (&["eval", run, "--seed", "1"], "--seed needs a world to play in"),
        (&["play", run], "was trained on logs and has no world; use `icee act "),
        (&["train", "--logs", &log, "--set", "data.searchers=0.5"], "data.searchers needs a world"),
    ] {
        let said = complaint(icee(arguments).output().unwrap());
        assert!(said.contains(answer), "{arguments:?}: {said}");
    }
    for method in ["dpt", "ad-sorted"] {
        let out = scratch.file(method);
        let said = complaint(icee(&["train", "--logs", &log, "--method", method, "--out", &out]).output().unwrap());
        assert!(said.contains("which a log does not have") && !Path::new(&out).exists(), "{said}");
    }

    std::fs::remove_file(&log).unwrap();
    let said = complaint(icee(&["eval", run]).output().unwrap());
    assert!(said.contains("cannot use the log of this run") && said.contains("put it back"), "{said}");
    let said = complaint(icee(&["eval", run, "--logs", &log]).output().unwrap());
    assert!(said.contains("log.csv"), "{said}");
    assert_eq!(judged(&["eval", run, "--logs", &other]), (7, false), "its own is not needed for that");
}

#[test]
fn mistakes_are_answered() {
    for (arguments, answer) in [
        (&["train", "dark-rom"][..], "did you mean \"dark-room\"?"),
        (&["train", "dark-room-tiny", "--set", "train.stps=1"], "did you mean \"train.steps\"?"),
        (&["train", "dark-room-tiny", "--method", "icce"], "did you mean \"icee\"?"),
        (&["train", "--resume", "nowhere"], "no training.safetensors"),
        (&["eval", "nowhere"], "nowhere"),
        (&["eval", "bo__value", "--trials", "0"], "at least 1"),
        (&["eval", "dark-room__icee", "--games", "0"], "at least 1"),
        (&["tune", "dark-room__icee", "--games", "0"], "at least 1"),
        (&["play", "dark-room__icee", "--episodes", "0"], "at least 1"),
        (&["rollout", "DarkRoomTiny-v0", "--episodes", "0"], "at least 1"),
        (&["train", "dark-room-tiny", "--max-minutes", "nan"], "number of minutes"),
        (&["train", "dark-room-tiny", "--set", "train.beta2=1"], "train.beta2 is 1"),
    ] {
        let output = icee(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(answer), "{arguments:?}: {said}");
    }
}

#[test]
fn more_threads_than_the_machine_can_use_are_refused() {
    for command in [
        &["train", "dark-room-tiny"][..],
        &["eval", "dark-room__icee"],
        &["eval", "bo__value"],
        &["tune", "bo__value", "--dry-run"],
    ] {
        let mut icee = Command::new(env!("CARGO_BIN_EXE_icee"));
        let said = complaint(icee.args(command).args(["--threads", "100000"]).output().unwrap());
        assert!(said.contains("could not start 100000 threads"), "{command:?}: {said}");
    }
}

//! `icee serve` and `icee study --at`: the program on both ends, beside the same study in a file.

mod common;

use common::{Scratch, complaint, ok, said};
use icee_client::Http;
use icee_protocol::{Ask, Content, Create, Face, RowId, Sheet, Show, StudyName, Tell, Transport};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A server that is killed when the test ends.
struct Served {
    process: Child,
    url: String,
}

impl Served {
    fn start(scratch: &Scratch, folder: &str) -> Served {
        Served::at(scratch, folder, "0")
    }

    fn at(scratch: &Scratch, folder: &str, port: &str) -> Served {
        let mut command = scratch.icee(&["serve", "--host", "localhost", "--port", port, "--studies", folder]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Served { process, url: line.split(' ').next().unwrap().to_owned() }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn sheet() -> String {
    let row =
        |row: usize| format!("r{row},{},{},{}\n", 150 + row % 8 * 10, 10 + row / 8 * 5, ["rye", "spelt"][row % 2]);
    "name,heat,minutes,flour\n".to_owned() + &(0..48).map(row).collect::<String>()
}

/// `icee study ...` at a server.
fn at(scratch: &Scratch, url: &str, words: &[&str]) -> Command {
    scratch.icee(&[&["study", "--at", url], words].concat())
}

#[test]
fn a_server_answers_like_a_file() {
    let scratch = Scratch::new("serve-at");
    std::fs::write(scratch.file("bread.csv"), sheet()).unwrap();
    let server = Served::start(&scratch, &scratch.file("served"));
    let here = scratch.file("here");
    let (pool, results) = (scratch.file("bread.csv"), scratch.file("results.csv"));
    std::fs::write(&results, "name,score\nr1,3\nr2,4.25\nr3,failed\n").unwrap();
    let file = |words: &[&str]| scratch.icee(&[&["study"], words, &["--dir", &here]].concat()).output().unwrap();
    let served = |words: &[&str]| at(&scratch, &server.url, words).output().unwrap();
    let create =
        ["create", "bread", "--pool", &pool, "--id", "name", "--direction", "max", "--bounds", "0..10", "--seed", "5"];
    said(file(&create));
    assert!(said(served(&create)).contains("next: icee study ask bread"));
    for words in [
        &["ask", "bread", "-n", "2"][..],
        &["ask", "bread"],
        &["tell", "bread", "--csv", &results, "--value", "score"],
        &["ask", "bread", "--more", "--where", "heat < 200"],
        &["best", "bread"],
        &["predict", "bread"],
        &["predict", "bread", "--top", "3"],
        &["why", "bread", "--row", "r9"],
        &["effects", "bread"],
        &["tell", "bread", "--row", "r4", "--value", "7.125"],
        &["tell", "bread", "--row", "r5", "--impossible"],
        &["withdraw", "bread", "--row", "r40"],
        &["forget", "bread", "--row", "r5"],
        &["undo", "bread"],
        &["goals", "bread", "--bounds", "0..20"],
        &["goals", "bread"],
        &["running", "bread"],
        &["review", "bread"],
        &["update", "bread"],
        &["export", "bread"],
        &["list"],
        &["best", "nobody"],
        &["tell", "bread", "--row", "r4", "--value", "1"],
        &["ask", "bread", "--sampler", "gpei"],
    ] {
        let (one, other) = (file(words), served(words));
        assert_eq!(one.status.code(), other.status.code(), "{words:?}: {}", String::from_utf8_lossy(&other.stderr));
        // What further commands need to reach the study is the only difference.
        let [one, other] = [one, other].map(|output| String::from_utf8(output.stdout).unwrap());
        let options = [format!(" --dir {here}"), format!(" --at {}", server.url)];
        assert_eq!(one.replace(&options[0], ""), other.replace(&options[1], ""), "{words:?}");
        let json = [words, &["--json"]].concat();
        if !matches!(words[0], "tell" | "withdraw" | "forget" | "undo" | "ask") {
            assert_eq!(
                String::from_utf8_lossy(&file(&json).stdout),
                String::from_utf8_lossy(&served(&json).stdout),
                "{words:?}"
            );
        }
    }
    let journals =
        ["here", "served"].map(|folder| std::fs::read_to_string(scratch.file(folder) + "/bread.jsonl").unwrap());
    let lines = journals.map(|journal| {
        let changes = |line: &str| serde_json::from_str::<Value>(line).unwrap()["changes"].clone();
        journal.lines().skip(1).map(changes).collect::<Vec<_>>()
    });
    assert!(lines[0].len() > 5);
    assert_eq!(lines[0], lines[1], "the same changes, but for when they were made, and with which key");
    let page = scratch.file("page.html");
    said(served(&["report", "bread", "--out", &page]));
    assert!(std::fs::read_to_string(&page).unwrap().contains("<html"));
    let asked = ok(served(&["ask", "bread", "--more", "--within", "1h", "--json"]));
    let row = asked["suggestions"][0]["id"].as_str().unwrap();
    let renewed = said(served(&["renew", "bread", "--row", row, "--within", "3h"]));
    assert_eq!(renewed, format!("reserved for 3 h: row {row}\n"));
    assert!(complaint(served(&["show", "../bread"])).contains("A study cannot be called \"../bread\""));
}

/// A server that is killed again and again, whatever it is doing, and clients that send once more what had no answer.
#[test]
fn a_server_that_is_killed_loses_nothing_and_gives_no_row_twice() {
    const WORKERS: usize = 3;
    let scratch = Scratch::new("serve-kill");
    let folder = scratch.file("served");
    let mut server = Served::start(&scratch, &folder);
    let (url, port) = (server.url.clone(), server.url.rsplit(':').next().unwrap().to_owned());
    let client = || Http::new(&url, None, Face::Plain).unwrap();
    let name: StudyName = "s".parse().unwrap();
    let sheet: String = (0..5000).map(|row| format!("{row},{}\n", row % 7)).collect();
    let made = Create {
        name: Some(name.clone()),
        sheet: Some(Sheet::Content(Content(format!("a,b\n{sheet}").into_bytes()))),
        direction: Some("max".into()),
        sampler: Some("random".into()),
        ..Create::default()
    };
    client().call(None, made).unwrap();
    let over = AtomicBool::new(false);
    let work = || {
        let (mut client, mut asked, mut told) = (client(), Vec::<u64>::new(), Vec::<(u64, f64)>::new());
        while !over.load(Ordering::Relaxed) {
            let Ok(answer) = client.call(Some(&name), Ask { more: true, ..Ask::default() }) else { continue };
            let row = answer.reply.suggestions[0].row as u64;
            asked.push(row);
            let value = row as f64 / 8.0;
            let tell = Tell { row: Some(RowId::Number(row)), value: Some(value.into()), ..Tell::default() };
            told.extend(client.call(Some(&name), tell).is_ok().then_some((row, value)));
        }
        (asked, told)
    };
    let done: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        for pause in [311, 173, 97, 239, 401] {
            std::thread::sleep(Duration::from_millis(pause));
            drop(std::mem::replace(
                &mut server,
                Served { process: Command::new("true").spawn().unwrap(), url: url.clone() },
            ));
            server = Served::at(&scratch, &folder, &port);
        }
        over.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let asked: Vec<u64> = done.iter().flat_map(|(asked, _)| asked.clone()).collect();
    assert!(asked.len() > 2 * WORKERS, "{asked:?}");
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), asked.len(), "no row is given twice");
    let summary = client().call(Some(&name), Show::default()).unwrap().reply;
    let known: HashMap<u64, &[f64]> = summary.told.iter().map(|told| (told.row as u64, &*told.values)).collect();
    for (row, value) in done.iter().flat_map(|(_, told)| told) {
        assert_eq!(known.get(row), Some(&&[*value][..]), "what was acknowledged is there, once");
    }
}

#[test]
fn a_token_is_made_where_the_server_looks_for_it() {
    let scratch = Scratch::new("serve-token-place");
    let folder = scratch.file("my studies");
    let refused = complaint(scratch.icee(&["serve", "--host", "0.0.0.0", "--studies", &folder]).output().unwrap());
    let command = refused.split('`').nth(1).unwrap();
    assert!(command.ends_with(&format!("--studies '{folder}'")), "{command}");
    // Done to the letter.
    let words = command.replace("NAME", "ada");
    let (words, place) = words.split_once(" '").unwrap();
    let words: Vec<&str> = words.split(' ').skip(1).chain([place.trim_end_matches('\'')]).collect();
    let made = scratch.icee(&words).output().unwrap();
    assert!(String::from_utf8_lossy(&made.stderr).contains(&format!("`icee serve --studies '{folder}'`")));
    said(made);
    assert!(
        said(scratch.icee(&["serve", "token", "list", "--studies", &folder]).output().unwrap()).contains("ada  admin")
    );
}

#[test]
fn tokens_come_from_the_environment() {
    let scratch = Scratch::new("serve-token");
    std::fs::write(scratch.file("bread.csv"), sheet()).unwrap();
    let (folder, pool) = (scratch.file("served"), scratch.file("bread.csv"));
    let token = |words: &[&str]| {
        said(scratch.icee(&[&["serve", "token"], words, &["--studies", &folder]].concat()).output().unwrap())
    };
    let (reader, writer) = (token(&["create", "ada", "--role", "read"]), token(&["create", "bob", "--role", "write"]));
    assert!(token(&["list"]).contains("ada  read  0 days old"));
    let server = Served::start(&scratch, &folder);
    let create = ["create", "bread", "--pool", &pool, "--direction", "max"];
    let with = |token: &str| at(&scratch, &server.url, &create).env("ICEE_TOKEN", token.trim()).output().unwrap();
    assert!(
        complaint(at(&scratch, &server.url, &create).env_remove("ICEE_TOKEN").output().unwrap())
            .contains("A token is missing. Put it into the variable ICEE_TOKEN.")
    );
    assert!(complaint(with(&reader)).contains("This needs the role write."));
    assert!(said(with(&writer)).contains("48 rows"));
    token(&["revoke", "bob"]);
    assert!(complaint(with(&writer)).contains("This token is not known."));
    let url = server.url.clone();
    drop(server);
    assert!(complaint(at(&scratch, &url, &["list"]).output().unwrap()).contains("Is a server running there?"));
}

#[test]
fn a_server_learns_that_the_sheet_has_changed() {
    let scratch = Scratch::new("serve-sheet");
    let pool = scratch.file("bread.csv");
    std::fs::write(&pool, sheet()).unwrap();
    let server = Served::start(&scratch, &scratch.file("served"));
    let served = |words: &[&str]| at(&scratch, &server.url, words).output().unwrap();
    said(served(&["create", "bread", "--pool", &pool, "--id", "name", "--direction", "max", "--sampler", "random"]));
    said(served(&["tell", "bread", "--row", "r0", "--value", "3"]));
    let update = ["update", "bread", "--pool", &pool];
    assert_eq!(said(served(&update)), "The sheet has not changed.\n");
    // A row is added, and the cells of one that was told are corrected.
    std::fs::write(&pool, sheet().replace("r0,150", "r0,155") + "r48,500,99,rye\n").unwrap();
    let refused = complaint(served(&update));
    assert!(
        refused.contains("row r0 (result 3) was edited: heat was \"150\", is \"155\".")
            && refused.contains(&format!("To keep its result: `icee study update bread --keep --at {}`.", server.url)),
        "{refused}"
    );
    assert!(said(served(&["show", "bread"])).contains("48 rows"), "what is refused changes nothing");
    let keep = [&update[..], &["--keep"]].concat();
    assert!(said(served(&keep)).contains("49 rows (1 more)"));
    let new = said(served(&["ask", "bread", "--where", "heat = 500"]));
    assert!(new.contains("r48"), "{new}");
    assert_eq!(ok(served(&["show", "bread", "--json"]))["told"][0]["cells"]["heat"], "155");
}

#[test]
fn a_study_moves_between_files_and_servers() {
    let scratch = Scratch::new("serve-move");
    std::fs::write(scratch.file("bread.csv"), sheet()).unwrap();
    let server = Served::start(&scratch, &scratch.file("served"));
    let (here, pool) = (scratch.file("here"), scratch.file("bread.csv"));
    let file = |words: &[&str]| scratch.icee(&[&["study"], words, &["--dir", &here]].concat()).output().unwrap();
    let served = |words: &[&str]| at(&scratch, &server.url, words).output().unwrap();
    said(file(&["create", "bread", "--pool", &pool, "--id", "name", "--direction", "max"]));
    said(file(&["tell", "bread", "--row", "r3", "--value", "4.5"]));
    said(file(&["ask", "bread"]));
    let (out, back) = (scratch.file("out.jsonl"), scratch.file("back.jsonl"));
    assert!(said(file(&["export", "bread", "--to", &out])).contains("and its sheet in "));
    assert!(said(served(&["import", &out, "--as", "rye"])).contains("next: icee study ask rye"));
    said(served(&["export", "rye", "--to", &back]));
    said(file(&["import", &back, "--as", "rye"]));
    let bytes = |path: &str| std::fs::read(path).unwrap();
    assert_eq!(bytes(&out), bytes(&(here.clone() + "/bread.jsonl")));
    // An imported study follows no file of another machine; nothing else changes.
    let without_path = |path: &str| {
        let changes = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("check");
            line.pointer_mut("/pool").and_then(Value::as_object_mut).and_then(|pool| pool.remove("path"));
            line
        };
        std::fs::read_to_string(path).unwrap().lines().map(changes).collect::<Vec<_>>()
    };
    for copy in [&back, &(here.clone() + "/rye.jsonl")] {
        assert_eq!(bytes(copy), bytes(&scratch.file("served/rye.jsonl")), "{copy}");
        assert_eq!(without_path(copy), without_path(&out), "{copy}");
    }
    let sheets: Vec<_> =
        std::fs::read_dir(scratch.file("back.sheets")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(sheets.len(), 1);
    assert_eq!(std::fs::read(&sheets[0]).unwrap(), bytes(&pool));
    assert_eq!(said(file(&["export", "rye"])), said(served(&["export", "rye"])));
    for (output, words) in [
        (file(&["export", "bread", "--to", &out]), "A study \"out\" exists already"),
        (file(&["export", "bread", "--to", "told.csv"]), "end in .jsonl"),
        (file(&["import", &out, "--as", "bread"]), "A study \"bread\" exists already"),
        (served(&["import", &scratch.file("none.jsonl")]), "none.jsonl"),
        (served(&["import", &pool, "--as", "x"]), "not the header of a study"),
    ] {
        let said = complaint(output);
        assert!(said.contains(words), "{said}");
    }
    // Half a line is not left behind without a word: whatever it told would be gone.
    let (cut, whole) = (scratch.file("cut.jsonl"), bytes(&out));
    std::fs::write(&cut, &whole[..whole.len() - 20]).unwrap();
    for output in [file(&["import", &cut]), served(&["import", &cut])] {
        assert!(complaint(output).contains("its last line is incomplete"));
    }
    assert!(!Path::new(&here).join("cut.jsonl").exists());
    // A sheet that has come along goes along, too.
    assert!(said(file(&["delete", "rye"])).contains("/deleted/rye-"));
    assert!(!Path::new(&here).join("rye.sheets").exists());
    said(file(&["import", &back, "--as", "rye"]));
    assert!(said(served(&["delete", "rye"])).contains("rye"));
    assert!(complaint(served(&["show", "rye"])).contains("There is no study \"rye\""));
}

/// `examples/workers/worker.sh`, three at a time, in its own words.
#[cfg(unix)]
#[test]
#[expect(clippy::print_stderr, reason = "without curl or jq you should know what was not tested")]
fn the_worker_of_the_examples_works() {
    if ["curl", "jq"].iter().any(|tool| Command::new(tool).arg("--version").output().is_err()) {
        eprintln!("skipped: worker.sh needs curl and jq");
        return;
    }
    let scratch = Scratch::new("serve-worker");
    std::fs::write(scratch.file("bread.csv"), "heat,minutes\n180,20\n200,30\n220,40\n240,50\n250,60\n260,70\n")
        .unwrap();
    let server = Served::start(&scratch, &scratch.file("served"));
    let served = |words: &[&str]| at(&scratch, &server.url, words).output().unwrap();
    let pool = scratch.file("bread.csv");
    said(served(&["create", "bread", "--pool", &pool, "--direction", "max", "--sampler", "random"]));
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workers");
    let program = Path::new(env!("CARGO_BIN_EXE_icee")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    // The hottest burns.
    let experiment = r#"read -r cells; heat=$(jq -r .heat <<<"$cells"); echo starting; [ "$heat" -lt 260 ] && echo "$((heat / 10)).5""#;
    let start = |script: &str, study: &str, experiment: &str| {
        let mut command = Command::new(Path::new(scripts).join(script));
        command.args([study, "bash", "-c", experiment]).env("PATH", &path).env("ICEE_URL", &server.url);
        command.env("PAUSE", "0.2").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let worker = |study: &str, experiment: &str| start("worker.sh", study, experiment);
    // If it prints no number, it releases its row and has not succeeded.
    let silent = complaint(worker("bread", "echo done").wait_with_output().unwrap());
    assert_eq!(silent.matches("not recorded: row").count(), 1, "{silent}");
    assert_eq!(ok(served(&["show", "bread", "--json"]))["running"], json!([]));
    // One has died with a row, which the others wait for.
    said(served(&["ask", "bread", "--more", "--within", "4s", "--by", "gone"]));
    for worker in [worker("bread", experiment), worker("bread", experiment), worker("bread", experiment)] {
        said(worker.wait_with_output().unwrap());
    }
    let study = ok(served(&["show", "bread", "--json"]));
    let told = study["told"].as_array().unwrap();
    assert_eq!((told.len(), study["best"]["value"].as_f64()), (6, Some(25.5)));
    assert_eq!(told.iter().filter(|row| row["status"] == "failed").count(), 1);
    said(served(&["forget", "bread", "--row", "1"]));
    // What is no number was no success; and half of a short time is a shorter one.
    let mut slow = worker("bread", "sleep 3; echo NaN");
    assert!(slow.wait().unwrap().success());
    let study = ok(served(&["show", "bread", "--json"]));
    assert_eq!(study["told"].as_array().unwrap().iter().filter(|row| row["status"] == "failed").count(), 2);
    assert!(complaint(worker("nobody", experiment).wait_with_output().unwrap()).contains("no study \"nobody\""));
    // The shortest one.
    said(served(&["create", "rye", "--pool", &pool, "--direction", "max", "--sampler", "random"]));
    let short = "read -r cells; jq .heat <<<\"$cells\" | tr -d '\"'";
    assert!(start("short.sh", "rye", short).wait_with_output().unwrap().status.success());
    assert_eq!(ok(served(&["show", "rye", "--json"]))["best"]["value"], json!(260.0));
}

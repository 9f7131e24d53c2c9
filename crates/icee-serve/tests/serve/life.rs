//! Studies from their beginning to their end, and beside the command line.

use crate::client::{Folder, Running, score, sheet};
use icee_models::study_models;
use icee_serve::{Role, Tokens};
use icee_study::{AskOptions, Direction, Repeat, SamplerKind, Study, StudyOptions};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub fn row(answer: &Value) -> u64 {
    answer["suggestions"][0]["row"].as_u64().unwrap()
}

#[test]
fn the_whole_life_of_a_study() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    assert_eq!(server.read("/health")["status"], "ok");
    assert_eq!(server.read("/api/studies"), json!([]));
    let surveyed = server.done("/api/survey", json!({ "sheet": "no,heat,yield\n1,5,\n2,6,\n3,7,1\n4,8,\n5,9,\n" }));
    assert_eq!(surveyed["columns"][1], json!(["heat", "number, 5 to 9"]));
    assert_eq!(
        surveyed["suspects"][1],
        json!({ "column": "yield", "reason": "is named like a result", "is_result": true })
    );
    assert_eq!(surveyed["suspects"][0]["column"], "no");
    let created = server.create("bread");
    assert_eq!((&created["rows"], &created["sampler"]), (&json!(120), &json!("gp-ei")));
    assert!(folder.0.join("bread.csv").is_file() && folder.0.join("bread.jsonl").is_file());
    server.get("/api/studies/bread/best").refused(404, "no value was told yet");
    server.get("/api/studies/bread/effects").refused(409, "too few values");
    server.get("/api/studies/bread/predict").refused(400, "a prediction needs");

    let asked = server.done("/api/studies/bread/ask", json!({ "count": 3, "within": "8h" }));
    assert_eq!(asked["suggestions"].as_array().unwrap().len(), 3);
    assert!(asked["suggestions"][0]["until"].as_u64().unwrap() > 1_700_000_000);
    let again = server.done("/api/studies/bread/ask", json!({ "where": "heat < 200" }));
    assert_eq!((&again["still_running"], row(&again)), (&json!(true), row(&asked)));
    assert!(again["notes"][0].as_str().unwrap().contains("more asks for others"));
    let first = row(&asked);
    let told = server.done("/api/studies/bread/tell", json!({ "row": first, "value": score(first) }));
    assert_eq!((&told["told"]["new"], &told["best"]["row"]), (&json!(1), &json!(first)));
    server.refused("/api/studies/bread/tell", json!({ "row": first, "value": 1 }), 409, "was told already");
    let csv = "row,value\n1,2.5\n2,failed\n3,4\n";
    assert_eq!(server.done("/api/studies/bread/tell", json!({ "csv": csv }))["told"]["new"], 3);
    let replaced = json!({ "row": "3", "value": 3.5, "replace": true });
    assert_eq!(server.done("/api/studies/bread/tell", replaced)["told"]["replaced"], 1);
    let second = asked["suggestions"][1]["id"].clone();
    assert_eq!(server.done("/api/studies/bread/withdraw", json!({ "rows": [second] }))["withdrawn"], json!([second]));
    server.refused("/api/studies/bread/withdraw", json!({ "rows": [second] }), 409, "is not running");
    assert_eq!(server.done("/api/studies/bread/forget", json!({ "rows": [2] }))["forgotten"], json!(["2"]));
    assert_eq!(server.done("/api/studies/bread/undo", json!({}))["undone"], "forgetting row 2");
    assert_eq!(server.done("/api/studies/bread/update", json!({}))["changed"], false);

    let shown = server.read("/api/studies/bread");
    assert_eq!((shown["told"].as_array().unwrap().len(), shown["running"].as_array().unwrap().len()), (4, 1));
    assert_eq!(server.read("/api/studies")[0]["told"], 4);
    let latest = server.read("/api/studies/bread?told=2");
    assert_eq!(latest["told"].as_array().unwrap()[..], shown["told"].as_array().unwrap()[2..]);
    assert_eq!((&latest["best"], &latest["notes"]), (&shown["best"], &json!(["told has the latest 2 of 4 rows"])));
    assert_eq!(server.read("/api/studies/bread?told=9"), shown);
    assert_eq!(server.read("/api/studies/bread/best")["row"], shown["best"]["row"]);
    assert_eq!(server.read("/api/studies/bread/front")[0]["row"], shown["best"]["row"]);
    assert_eq!(server.read("/api/studies/bread/predict?top=2").as_array().unwrap().len(), 2);
    assert!(server.read("/api/studies/bread/predict?sampler=gp-ei")[0]["cells"]["heat"].is_string());
    assert_eq!(server.read("/api/studies/bread/why?row=7")["row"], 7);
    assert_eq!(server.read("/api/studies/bread/effects").as_array().unwrap().len(), 3);
    let page = server.get("/api/studies/bread/report?count=2");
    assert!(page.status == 200 && page.body.contains("<html") && page.head.contains("sandbox"), "{}", page.head);
    let glance = server.get("/api/studies/bread/glance");
    assert!(
        glance.status == 200 && glance.head.contains("sandbox") && !glance.body.contains("<html"),
        "{}",
        glance.head
    );
    let at = |words: &str| glance.body.find(words).unwrap_or_else(|| panic!("no {words} in {}", glance.body));
    assert!(at("Study bread") < at("<svg") && at("<svg") < at("<th scope=\"row\">3</th><td>3.5</td>"));
    assert!(at("<th scope=\"row\">3</th>") < at("<th scope=\"row\">1</th>"));
    let told = server.get("/api/studies/bread/export");
    assert!(
        told.head.contains("content-type: text/csv")
            && told.body.lines().next() == Some("row,heat,minutes,flour,value")
    );
    assert_eq!(told.body.lines().count(), 5);
    assert_eq!(server.read("/api/studies/bread/export?format=json").as_array().unwrap().len(), 4);
    assert!(server.get("/metrics").body.contains("route=\"/api/studies/{name}/ask\",status=\"200\"} 2"));

    assert_eq!(server.send("DELETE", "/api/studies/bread", &[], b"").json()["deleted"], "bread");
    server.get("/api/studies/bread").refused(404, "there is no study \"bread\"");
    // Nothing is lost, and the name is free.
    let kept = std::fs::read_dir(folder.0.join("deleted")).unwrap().next().unwrap().unwrap().path();
    let mut kept = Study::open(&kept.join("bread.jsonl"), None, study_models().unwrap()).unwrap();
    assert_eq!(kept.why("1", None).unwrap().value, Some(2.5));
    server.create("bread");
}

#[test]
fn with_several_outcomes_no_row_is_the_best_and_columns_without_cells_take_no_room() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let rows: String = (0..9).map(|row| format!("{row},,{}\n", row * row)).collect();
    let sheet = format!("heat,later,flour\n{rows}");
    server.done("/api/studies", json!({ "name": "soup", "sheet": sheet, "direction": "max", "also": ["pH = 7.2"] }));
    for row in 1..=5 {
        let told = json!({ "row": row, "value": row * 10, "further": { "pH": 7.2 + f64::from(row) } });
        server.done("/api/studies/soup/tell", told);
    }
    server.done("/api/studies/soup/ask", json!({}));
    assert_eq!(
        (&server.read("/api/studies")[0]["best"], &server.read("/api/studies")[0]["told"]),
        (&Value::Null, &json!(5))
    );
    let page = server.get("/api/studies/soup/report?count=2").body;
    for words in ["5 rows are beaten by none", "chance to be beaten by no row", "Every experiment in the order told. "]
    {
        assert!(page.contains(words), "no {words} in {page}");
    }
    for words in ["best so far", "the best up to there", ">later</th>"] {
        assert!(!page.contains(words), "{words} in {page}");
    }
    // What is predicted stands beside the row.
    let head = "<th scope=\"col\">row</th><th scope=\"col\">value, predicted</th><th scope=\"col\">pH, predicted</th>";
    assert!(page.contains(head), "{page}");
}

#[test]
fn rows_and_values_are_those_of_the_library() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let body = json!({ "name": "served", "sheet": sheet(), "direction": "max", "seed": 11, "bounds": "-20..10" });
    let created = server.done("/api/studies", body);
    assert_eq!(created["sampler"], "icee");
    let alone = Folder::new();
    let pool = alone.0.join("served.csv");
    std::fs::write(&pool, sheet()).unwrap();
    let options = StudyOptions {
        pool,
        direction: Direction::Maximize,
        seed: 11,
        bounds: Some("-20..10".parse().unwrap()),
        ..StudyOptions::default()
    };
    let mut study = Study::create(&alone.0.join("served.jsonl"), &options, study_models().unwrap()).unwrap();
    for round in 0..5 {
        let ask = AskOptions { count: 2, ..AskOptions::default() };
        let expected = study.ask_for(&ask).unwrap();
        let answer = server.done("/api/studies/served/ask", json!({ "count": 2, "more": true }));
        assert_eq!(answer, serde_json::to_value(&expected).unwrap(), "round {round}");
        for suggestion in &expected.suggestions {
            let value = score(suggestion.row as u64);
            study.tell(&suggestion.id, value, Repeat::Refuse).unwrap();
            server.done("/api/studies/served/tell", json!({ "row": suggestion.id, "value": value }));
        }
    }
    let journals = [&folder, &alone].map(|folder| std::fs::read_to_string(folder.0.join("served.jsonl")).unwrap());
    assert_eq!(journals[0], journals[1], "the journals are the same to the last byte");
}

#[test]
fn fifty_askers_get_fifty_rows() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let rows: Vec<u64> = std::thread::scope(|scope| {
        let ask = || row(&server.done("/api/studies/bread/ask", json!({ "more": true })));
        let askers: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
        askers.into_iter().map(|asker| asker.join().unwrap()).collect()
    });
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), 50);
    assert_eq!(server.read("/api/studies/bread")["running"].as_array().unwrap().len(), 50);
}

#[test]
fn a_request_sent_twice_is_done_once_also_after_a_restart() {
    let folder = Folder::new();
    let key = |key| [("Idempotency-Key", key)];
    let (ask, more) = ("/api/studies/bread/ask", json!({ "more": true }));
    let server = Running::start(&folder.0);
    server.create("bread");
    let first = server.post_with(ask, &key("a1"), more.clone());
    assert_eq!(server.post_with(ask, &key("a1"), more.clone()).body, first.body);
    let row = row(&first.json());
    let value = json!({ "row": row, "value": 3 });
    let told = server.post_with("/api/studies/bread/tell", &key("t1"), value.clone());
    assert_eq!(told.status, 200);
    drop(server);
    let journal = std::fs::read(folder.0.join("bread.jsonl")).unwrap();
    let server = Running::start(&folder.0);
    assert_eq!(server.post_with(ask, &key("a1"), more.clone()).body, first.body);
    assert_eq!(server.post_with("/api/studies/bread/tell", &key("t1"), value.clone()).body, told.body);
    server.post_with(ask, &key("a1"), json!({ "count": 2 })).refused(409, "was used for another request");
    server.post_with(ask, &key("a b"), more.clone()).refused(400, "visible ASCII");
    // What is refused is not kept.
    server.post_with("/api/studies/bread/tell", &key("t2"), value.clone()).refused(409, "was told already");
    server.post_with("/api/studies/bread/tell", &key("t2"), json!({ "rows": 1 })).refused(400, "unknown field");
    assert_eq!(std::fs::read(folder.0.join("bread.jsonl")).unwrap(), journal, "nothing was written twice");
    assert_ne!(server.post_with(ask, &key("a2"), more).body, first.body);
}

#[test]
fn a_key_is_the_own_of_whoever_sends_it() {
    let folder = Folder::new();
    let tokens = Tokens::in_folder(&folder.0);
    let [ada, bob] = ["ada", "bob"].map(|name| format!("Bearer {}", tokens.create(name, Role::Write, 0).unwrap()));
    let server = Running::start(&folder.0);
    let send = |bearer: &str, path: &str, body: Value| {
        server.post_with(path, &[("Authorization", bearer), ("Idempotency-Key", "k")], body).json()
    };
    send(&ada, "/api/studies", json!({ "name": "bread", "sheet": sheet(), "direction": "max", "sampler": "random" }));
    let ask = |bearer: &str| row(&send(bearer, "/api/studies/bread/ask", json!({ "more": true })));
    let (first, second) = (ask(&ada), ask(&bob));
    assert_ne!(first, second, "nobody gets the answer of another");
    assert_eq!((ask(&ada), ask(&bob)), (first, second));
}

#[test]
fn nobody_undoes_what_he_has_not_seen() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    server.done("/api/studies/bread/tell", json!({ "row": 1, "value": 2 }));
    let seen = server.read("/api/studies/bread")["lines"].clone();
    assert_eq!(seen, 2);
    server.done("/api/studies/bread/tell", json!({ "row": 2, "value": 3 }));
    server.refused("/api/studies/bread/undo", json!({ "lines": seen }), 409, "has changed meanwhile");
    assert_eq!(server.done("/api/studies/bread/undo", json!({ "lines": 3 }))["undone"], "telling row 2");
    assert_eq!(server.done("/api/studies/bread/undo", json!({}))["undone"], "telling row 1");
}

#[test]
fn asking_goes_on_while_somebody_looks_far_ahead() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let sheet: String = (0..20_000).map(|row| format!("{},{}\n", row % 173, row / 173)).collect();
    let made = json!({ "name": "long", "sheet": format!("a,b\n{sheet}"), "direction": "max", "sampler": "gp-ei" });
    server.done("/api/studies", made);
    let csv: String = (1..=60).map(|row| format!("{},{}\n", row * 300, row * 37 % 19)).collect();
    server.done("/api/studies/long/tell", json!({ "csv": format!("row,value\n{csv}") }));
    server.get("/api/studies/long/report?count=51").refused(400, "1 to 50 rows ahead");
    std::thread::scope(|scope| {
        let looked = scope.spawn(|| server.read_text("/api/studies/long/report?count=50"));
        std::thread::sleep(std::time::Duration::from_millis(300));
        let ask = json!({ "more": true, "sampler": "random" });
        (0..3).for_each(|_| drop(server.done("/api/studies/long/ask", ask.clone())));
        assert!(looked.join().unwrap().contains("<html"));
    });
    assert_eq!(
        server.read("/api/studies/long")["running"].as_array().unwrap().len(),
        3,
        "who looks sees what was asked"
    );
}

#[test]
fn a_sheet_is_shown_before_there_is_a_study() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let survey = server.done("/api/survey", json!({ "sheet": sheet(), "ignore": ["minutes"] }));
    let columns = json!(["heat", "minutes", "flour"]);
    let preview = survey["preview"].as_array().unwrap();
    assert_eq!(json!(preview.iter().map(|column| &column[0]).collect::<Vec<_>>()), columns, "all are shown");
    assert_eq!(preview[2][1], json!(["rye", "wheat", "spelt", "rye", "wheat"]));
    assert_eq!(survey["columns"].as_array().unwrap().len(), 2, "and two are learned from");
}

#[test]
fn others_write_to_the_same_study_and_the_sheet_changes() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let mut lines = server.listen("/api/studies/bread/events");
    assert_eq!(lines.next().unwrap(), "data: {\"lines\":1}");
    // The command line opens a study of its own.
    let mut study = Study::open(&folder.0.join("bread.jsonl"), None, study_models().unwrap()).unwrap();
    let theirs = study.ask(1, Some(SamplerKind::Random)).unwrap().suggestions[0].row as u64;
    assert_eq!(lines.next().unwrap(), "data: {\"lines\":2}");
    let ours = row(&server.done("/api/studies/bread/ask", json!({ "more": true })));
    assert_ne!(ours, theirs);
    assert_eq!(lines.next().unwrap(), "data: {\"lines\":3}");
    study.tell(&ours.to_string(), 2.0, Repeat::Refuse).unwrap();
    assert_eq!(server.read("/api/studies/bread/best")["value"], 2.0);
    // A row is added to the sheet by hand.
    let pool = folder.0.join("bread.csv");
    std::fs::write(&pool, std::fs::read_to_string(&pool).unwrap() + "500,99,rye\n").unwrap();
    server.get("/api/studies/bread/predict").refused(409, "has changed since it was last read");
    let asked = server.done("/api/studies/bread/ask", json!({ "more": true, "where": "heat = 500" }));
    assert_eq!(row(&asked), 121);
    // Another study takes the name.
    server.send("DELETE", "/api/studies/bread", &[], b"");
    assert!(lines.any(|line| line == "data: {}"), "who listens hears that it is gone");
}

#[test]
fn every_option_of_create_arrives() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("earlier");
    for row in 1..=3 {
        server.done("/api/studies/earlier/tell", json!({ "row": row, "value": score(row) }));
    }
    let mut text = "id,a,b,c,d,price,score,purity\n".to_owned();
    (0..20).for_each(|row| {
        text += &format!("r{row},{},{},{},{},{},,\n", row + 1, row % 4, 2000 + row % 3, 7 - row % 5, 3 + row)
    });
    let body = json!({
        "name": "all", "sheet": text, "id": "id", "value": "score", "target": 5, "bounds": "0..10", "also": ["purity >= 95"],
        "cost": "price", "columns": ["a", "b", "c"], "log": ["a"], "linear": ["b"], "categories": ["c"], "sampler": "random", "seed": 3,
    });
    let made = server.done("/api/studies", body);
    assert_eq!(made["columns"][0], json!(["a", "number, 1 to 20, logarithmic"]));
    assert_eq!(made["columns"][2], json!(["c", "3 categories"]));
    assert_eq!((&made["seed"], &made["cost_column"], &made["id_column"]), (&json!(3), &json!("price"), &json!("id")));
    assert_eq!(made["goals"], json!([["score", "the nearer to 5 the better"], ["purity", "at least 95"]]));
    let tell = json!({ "row": "r3", "value": 4, "further": { "purity": 90 } });
    assert_eq!(server.done("/api/studies/all/tell", tell)["best"], Value::Null);
    server.get("/api/studies/all/best").refused(404, "no row keeps all limits yet");
    server.refused("/api/studies/all/tell", json!({ "row": "r4", "further": { "purity": 9 } }), 400, "add value");
    let like = json!({ "name": "next", "sheet": sheet(), "direction": "max", "like": "earlier" });
    let next = server.done("/api/studies", like);
    assert_eq!(
        (&next["earlier"], &next["pool"]),
        (&json!(["earlier", 3]), &json!("next.csv")),
        "and no path of the server"
    );
    let ignoring = json!({ "name": "less", "sheet": sheet(), "direction": "max", "ignore": ["flour"] });
    assert_eq!(server.done("/api/studies", ignoring)["columns"].as_array().unwrap().len(), 2);
    let binary = json!({ "name": "binary", "sheet_base64": "YSxiCjEsMgoyLDEK", "direction": "min" });
    assert_eq!(server.done("/api/studies", binary)["rows"], 2);
}

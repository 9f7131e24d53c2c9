//! Studies from their beginning to their end, and beside the command line.

use crate::client::{Folder, Running, count, notes, score, sheet};
use icee_client::Http;
use icee_protocol::{
    Amount, Ask, Best, Content, Create, Effects, Export, Face, Glance, Goals, List, Noted, Predict, ReadCells, Reply,
    Report, Request, Review, RowId, Running as InProgress, Sheet, Show, StudyName, Tell, Transport, Undo, Verb, Why,
};
use icee_serve::{Role, Tokens};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

pub fn row(answer: &Value) -> u64 {
    answer["suggestions"][0]["row"].as_u64().unwrap()
}

/// The studies of a folder as the command line sees them.
fn command_line(folder: &Path) -> icee_client::Folder {
    icee_client::Folder::new(folder, Face::Plain)
}

fn name(name: &str) -> StudyName {
    name.parse().unwrap()
}

#[test]
fn the_whole_life_of_a_study() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    assert_eq!(server.read("/health")["status"], "ok");
    assert_eq!(server.read("/api/studies")["studies"], json!([]));
    let surveyed = server.done("/api/survey", json!({ "sheet": "no,heat,yield\n1,5,\n2,6,\n3,7,1\n4,8,\n5,9,\n" }));
    assert_eq!(surveyed["summary"]["columns"][1], json!(["heat", "number, 5 to 9"]));
    let suspects = &surveyed["suspects"];
    assert_eq!((&suspects[0]["column"], &suspects[1]["column"]), (&json!("no"), &json!("yield")));
    assert_eq!(
        (&suspects[1]["grounds"]["why"], &suspects[1]["is_result"]),
        (&json!("named-like-result"), &json!(true))
    );
    let created = server.create("bread");
    assert_eq!((&created["rows"], &created["sampler"]), (&json!(120), &json!("gp-ei")));
    assert!(folder.0.join("bread.sheets").is_dir() && folder.0.join("bread.jsonl").is_file());
    let best = server.read("/api/studies/bread/best");
    assert_eq!((&best["best"], &best["has_values"]), (&Value::Null, &json!(false)));
    assert_eq!(server.read("/api/studies/bread/effects")["effects"], json!([]));
    server.get("/api/studies/bread/predict").problem(409, "too-few-results");

    let asked = server.done("/api/studies/bread/ask", json!({ "count": 3, "within": "8h" }));
    assert_eq!(count(&asked["suggestions"]), 3);
    assert!(asked["suggestions"][0]["until"].as_u64().unwrap() > 1_700_000_000);
    let again = server.done("/api/studies/bread/ask", json!({ "within": "8h" }));
    assert_eq!((&again["still_running"], row(&again)), (&json!(true), row(&asked)));
    // Another request has an answer of its own.
    let other = server.done("/api/studies/bread/ask", json!({ "where": "heat < 200" }));
    assert_eq!((&other["still_running"], notes(&other)), (&json!(false), vec!["others-running"]));
    server.done("/api/studies/bread/withdraw", json!({ "rows": [other["suggestions"][0]["id"]] }));
    let first = row(&asked);
    let told = server.done("/api/studies/bread/tell", json!({ "row": first, "value": score(first) }));
    assert_eq!((&told["told"]["new"], &told["best"]["row"]), (&json!(1), &json!(first)));
    server.problem("/api/studies/bread/tell", json!({ "row": first, "value": 1 }), 409, "already-measured");
    let csv = "row,value\n1,2.5\n2,failed\n3,4\n";
    assert_eq!(server.done("/api/studies/bread/tell", json!({ "csv": csv }))["told"]["new"], 3);
    let replaced = json!({ "row": "3", "value": "3,5", "replace": true });
    assert_eq!(server.done("/api/studies/bread/tell", replaced)["told"]["replaced"], 1);
    let second = asked["suggestions"][1]["id"].clone();
    assert_eq!(server.done("/api/studies/bread/withdraw", json!({ "rows": [second] }))["withdrawn"], json!([second]));
    server.problem("/api/studies/bread/withdraw", json!({ "rows": [second] }), 409, "not-running");
    assert_eq!(server.done("/api/studies/bread/forget", json!({ "rows": [2] }))["forgotten"], json!(["2"]));
    assert_eq!(server.read("/api/studies/bread")["last"]["deeds"], json!([{ "deed": "deleted", "rows": ["2"] }]));
    let undone = server.done("/api/studies/bread/undo", json!({}));
    assert_eq!(undone["undone"]["deeds"], json!([{ "deed": "deleted", "rows": ["2"] }]));
    assert_eq!(server.done("/api/studies/bread/update", json!({}))["changed"], false);

    let shown = server.read("/api/studies/bread");
    assert_eq!((count(&shown["told"]), count(&shown["running"])), (4, 1));
    assert_eq!(server.read("/api/studies")["studies"][0]["told"], 4);
    let latest = server.read("/api/studies/bread?told=2");
    assert_eq!(latest["told"].as_array().unwrap()[..], shown["told"].as_array().unwrap()[2..]);
    assert_eq!((&latest["best"], &latest["told_in_all"]), (&shown["best"], &json!(4)));
    assert_eq!(notes(&latest), ["part-shown"]);
    assert_eq!(server.read("/api/studies/bread?told=9"), shown);
    let best = server.read("/api/studies/bread/best");
    assert_eq!((&best["best"]["row"], &best["front"][0]["row"]), (&shown["best"]["row"], &shown["best"]["row"]));
    let predicted = server.read("/api/studies/bread/predict?top=2");
    assert_eq!((count(&predicted["rows"]), count(&predicted["columns"][0]["cells"])), (2, 2));
    assert_eq!(server.read("/api/studies/bread/predict?sampler=gp-ei")["columns"][0]["name"], "heat");
    assert_eq!(server.read("/api/studies/bread/why?row=7")["row"], 7);
    assert_eq!(count(&server.read("/api/studies/bread/effects")["effects"]), 3);
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
    assert!(server.get("/metrics").body.contains("route=\"/api/studies/{name}/ask\",status=\"200\"} 3"));

    assert_eq!(server.send("DELETE", "/api/studies/bread", &[], b"").json()["deleted"], "bread");
    server.get("/api/studies/bread").problem(404, "no-study");
    // Nothing is lost, and the name is free.
    let kept = std::fs::read_dir(folder.0.join("deleted")).unwrap().next().unwrap().unwrap().path();
    let shown = command_line(&kept).call(Some(&name("bread")), Show::default()).unwrap();
    assert_eq!(shown.reply.told.len(), 4);
    server.create("bread");
}

#[test]
fn words_are_those_of_the_face_that_asks() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    server.done("/api/studies/bread/tell", json!({ "row": 1, "value": 2 }));
    let words = |face: &str| {
        let told = json!({ "row": 1, "value": 3 });
        let answer = server.post_with("/api/studies/bread/tell", &[("Icee-Face", face)], told);
        answer.problem(409, "already-measured");
        answer.json()["error"].as_str().unwrap().to_owned()
    };
    for (face, option) in
        [("", "\"replace\": true"), ("terminal", "--replace"), ("python", "repeat=\"replace\""), ("page", "the box")]
    {
        assert!(words(face).contains(option), "{face}: {}", words(face));
    }
}

#[test]
fn studies_have_any_letters_and_their_paths_are_encoded() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("käse.v2");
    assert_eq!(server.read("/api/studies/k%C3%A4se.v2")["rows"], 120);
    assert_eq!(server.read("/api/studies")["studies"][0]["name"], "käse.v2");
}

#[test]
fn with_several_objectives_the_list_has_no_best_and_columns_without_cells_take_no_room() {
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
        (&server.read("/api/studies")["studies"][0]["best"], &server.read("/api/studies")["studies"][0]["told"]),
        (&Value::Null, &json!(5))
    );
    let page = server.get("/api/studies/soup/report?count=2").body;
    let best = server.read("/api/studies/soup/best");
    assert_eq!((&best["objectives"], count(&best["front"])), (&json!(2), 5));
    for words in ["best so far", "the best up to there", ">later</th>"] {
        assert!(!page.contains(words), "{words} in {page}");
    }
}

#[test]
fn rows_and_values_are_those_of_the_command_line() {
    let (served, alone) = (Folder::new(), Folder::new());
    let server = Running::start(&served.0);
    let mut alone = command_line(&alone.0);
    let study = name("bread");
    let create = Create {
        name: Some(study.clone()),
        sheet: Some(Sheet::Content(Content(sheet().into_bytes()))),
        direction: Some("max".into()),
        bounds: Some("-20..10".into()),
        seed: 11,
        ..Create::default()
    };
    let created = server.done("/api/studies", serde_json::to_value(&create).unwrap());
    assert_eq!(created["sampler"], "learned");
    alone.call(Some(&study), create).unwrap();
    for round in 0..5 {
        let ask = Ask { count: 2, more: true, ..Ask::default() };
        let expected = alone.call(Some(&study), ask).unwrap().reply;
        let mut answer = server.done("/api/studies/bread/ask", json!({ "count": 2, "more": true }));
        // Their words are each face's own.
        answer.as_object_mut().unwrap().remove("notes");
        assert_eq!(answer, serde_json::to_value(&expected).unwrap(), "round {round}");
        for suggestion in expected.suggestions {
            let value = score(suggestion.row as u64);
            server.done("/api/studies/bread/tell", json!({ "row": suggestion.id, "value": value }));
            let (row, value) = (Some(RowId::Text(suggestion.id)), Some(Amount::Number(value)));
            alone.call(Some(&study), Tell { row, value, ..Tell::default() }).unwrap();
        }
    }
}

#[test]
fn a_client_over_http_gets_what_a_folder_gives() {
    let (served, alone) = (Folder::new(), Folder::new());
    let server = Running::start(&served.0);
    let file = alone.0.join("results.csv");
    std::fs::write(&file, "row,value\n7,1.5\n8,failed\n9,2\n10,2.5\n11,0\n").unwrap();
    let mut folder = icee_client::Folder::new(&alone.0, Face::Terminal);
    let mut http = Http::new(&format!("http://{}", server.address), None, Face::Terminal).unwrap();
    let study = name("käse.v2");
    let tell = |row: u64, value: &str| -> Request {
        let value = Some(Amount::Text(value.into()));
        Tell { row: Some(RowId::Number(row)), value, ..Tell::default() }.into()
    };
    let requests: Vec<Request> = vec![
        Create {
            sheet: Some(Sheet::Content(Content(sheet().into_bytes()))),
            direction: Some("max".into()),
            ..Create::default()
        }
        .into(),
        Ask { count: 2, ..Ask::default() }.into(),
        tell(1, "3,5"),
        tell(1, "3,5"),
        tell(2, "many"),
        Tell { csv: Some(Sheet::Path { path: file }), ..Tell::default() }.into(),
        Best {}.into(),
        Predict { top: Some(3), sampler: None }.into(),
        Why { row: RowId::Number(5) }.into(),
        Why { row: RowId::Text("a b".into()) }.into(),
        Effects {}.into(),
        InProgress {}.into(),
        Review {}.into(),
        Goals { bounds: Some("0..9".into()), ..Goals::default() }.into(),
        Glance {}.into(),
        Report { count: 2 }.into(),
        Report { count: 0 }.into(),
        Export {}.into(),
        ReadCells {}.into(),
        List {}.into(),
        Undo { lines: Some(1) }.into(),
    ];
    for request in requests {
        let verb = request.verb();
        let about = if verb == Verb::List { None } else { Some(&study) };
        let expected = folder.send(about, request.clone()).map(without_times);
        let found = http.send(about, request).map(without_times);
        assert_eq!(found, expected, "{verb:?}");
    }
}

/// A reply as JSON, without the moments at which things were done.
fn without_times(mut noted: Noted<Reply>) -> Value {
    if let Reply::Create(summary) = &mut noted.reply
        && let Some(step) = &mut summary.last
    {
        step.at = None;
    }
    serde_json::to_value(&noted).unwrap()
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
    assert_eq!(count(&server.read("/api/studies/bread")["running"]), 50);
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
    server.post_with(ask, &key("a1"), json!({ "count": 2 })).problem(409, "key-reused");
    server.post_with(ask, &key("a b"), more.clone()).problem(400, "key-unusable");
    // What is refused is not kept.
    server.post_with("/api/studies/bread/tell", &key("t2"), value.clone()).problem(409, "already-measured");
    server.post_with("/api/studies/bread/tell", &key("t2"), json!({ "rows": 1 })).refused(400, "unknown field");
    assert_eq!(std::fs::read(folder.0.join("bread.jsonl")).unwrap(), journal, "nothing was written twice");
    assert_ne!(server.post_with(ask, &key("a2"), more).body, first.body);
}

#[test]
fn a_key_is_its_tokens_own() {
    let folder = Folder::new();
    let tokens = Tokens::in_folder(&folder.0);
    let [ada, bob] = ["ada", "bob"].map(|name| format!("Bearer {}", tokens.create(name, Role::Write, 0).unwrap()));
    let server = Running::start(&folder.0);
    let send = |bearer: &str, key: &str, path: &str, body: Value| {
        server.post_with(path, &[("Authorization", bearer), ("Idempotency-Key", key)], body).json()
    };
    send(
        &ada,
        "c",
        "/api/studies",
        json!({ "name": "bread", "sheet": sheet(), "direction": "max", "sampler": "random" }),
    );
    let ask = |bearer: &str| row(&send(bearer, "k", "/api/studies/bread/ask", json!({ "more": true })));
    let (first, second) = (ask(&ada), ask(&bob));
    assert_ne!(first, second, "no token gets the answer of another");
    assert_eq!((ask(&ada), ask(&bob)), (first, second));
}

#[test]
fn undo_is_refused_where_the_study_has_changed_since() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    server.done("/api/studies/bread/tell", json!({ "row": 1, "value": 2 }));
    let seen = server.read("/api/studies/bread")["lines"].clone();
    assert_eq!(seen, 2);
    server.done("/api/studies/bread/tell", json!({ "row": 2, "value": 3 }));
    server.problem("/api/studies/bread/undo", json!({ "lines": seen }), 409, "changed-meanwhile");
    let recorded = |row: &str| json!([{ "deed": "recorded", "rows": [row] }]);
    let undo = |body: Value| server.done("/api/studies/bread/undo", body)["undone"]["deeds"].clone();
    assert_eq!(undo(json!({ "lines": 3 })), recorded("2"));
    assert_eq!(undo(json!({})), recorded("1"));
}

#[test]
fn asking_goes_on_during_a_long_look() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let sheet: String = (0..20_000).map(|row| format!("{},{}\n", row % 173, row / 173)).collect();
    let made = json!({ "name": "long", "sheet": format!("a,b\n{sheet}"), "direction": "max", "sampler": "gp-ei" });
    server.done("/api/studies", made);
    let csv: String = (1..=60).map(|row| format!("{},{}\n", row * 300, row * 37 % 19)).collect();
    server.done("/api/studies/long/tell", json!({ "csv": format!("row,value\n{csv}") }));
    server.get("/api/studies/long/report?count=51").problem(400, "ahead");
    std::thread::scope(|scope| {
        let looked = scope.spawn(|| server.read_text("/api/studies/long/report?count=50"));
        std::thread::sleep(std::time::Duration::from_millis(300));
        let ask = json!({ "more": true, "sampler": "random" });
        (0..3).for_each(|_| drop(server.done("/api/studies/long/ask", ask.clone())));
        assert!(looked.join().unwrap().contains("<html"));
    });
    assert_eq!(count(&server.read("/api/studies/long")["running"]), 3, "a look sees what was asked meanwhile");
}

#[test]
fn a_sheet_is_shown_before_there_is_a_study() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let survey = server.done("/api/survey", json!({ "sheet": sheet(), "ignore": ["minutes"] }));
    let columns = json!(["heat", "minutes", "flour"]);
    let preview = survey["preview"].as_array().unwrap();
    assert_eq!(json!(preview.iter().map(|column| &column["name"]).collect::<Vec<_>>()), columns, "all are shown");
    assert_eq!(preview[2]["cells"], json!(["rye", "wheat", "spelt", "rye", "wheat"]));
    assert_eq!(count(&survey["summary"]["columns"]), 2, "and two are inputs");
}

#[test]
fn others_write_to_the_same_study_and_its_sheet_changes() {
    let folder = Folder::new();
    // The command line creates a study that follows a file.
    let (mut theirs, study, pool) = (command_line(&folder.0), name("bread"), folder.0.join("mine.csv"));
    std::fs::write(&pool, sheet()).unwrap();
    let create = Create {
        name: Some(study.clone()),
        sheet: Some(Sheet::Path { path: pool.clone() }),
        direction: Some("max".into()),
        sampler: Some("gp-ei".into()),
        ..Create::default()
    };
    theirs.call(Some(&study), create).unwrap();
    let server = Running::start(&folder.0);
    assert_eq!(server.read("/api/studies/bread")["pool"], "mine.csv", "and no path of the server");
    let mut lines = server.listen("/api/studies/bread/events");
    assert_eq!(lines.next().unwrap(), "data: {\"lines\":1}");
    let ask = Ask { sampler: Some("random".into()), ..Ask::default() };
    let asked = theirs.call(Some(&study), ask).unwrap().reply.suggestions[0].row as u64;
    assert_eq!(lines.next().unwrap(), "data: {\"lines\":2}");
    let ours = row(&server.done("/api/studies/bread/ask", json!({ "more": true })));
    assert_ne!(ours, asked);
    assert_eq!(lines.next().unwrap(), "data: {\"lines\":3}");
    let (row_id, value) = (Some(RowId::Number(ours)), Some(Amount::Number(2.0)));
    theirs.call(Some(&study), Tell { row: row_id, value: value.clone(), ..Tell::default() }).unwrap();
    assert_eq!(server.read("/api/studies/bread/best")["best"]["value"], 2.0);
    // A row is added to the sheet by hand: looks go on with the version that was read, and the next ask reads this one.
    std::fs::write(&pool, sheet() + "500,99,rye\n").unwrap();
    assert_eq!(count(&server.read("/api/studies/bread/cells")["columns"][0]["cells"]), 120);
    let asked = server.done("/api/studies/bread/ask", json!({ "more": true, "where": "heat = 500" }));
    assert_eq!(row(&asked), 121);
    server.problem("/api/studies/bread/update", json!({ "sheet": { "path": pool } }), 400, "path-refused");
    // Whatever is wrong with it, where it lies is not for clients.
    let edited = sheet().replacen("150,10,rye", "151,10,rye", 1);
    theirs.call(Some(&study), Tell { row: Some(RowId::Number(1)), value, ..Tell::default() }).unwrap();
    let renamed = sheet().replacen("heat", "warmth", 1);
    for (text, code) in [(Some(edited), "sheet-conflicts"), (Some(renamed), "column-gone"), (None, "sheet-gone")] {
        match text {
            Some(text) => std::fs::write(&pool, text).unwrap(),
            None => std::fs::remove_file(&pool).unwrap(),
        }
        let answer = server.post("/api/studies/bread/update", json!({}));
        assert_eq!(answer.json()["problem"]["code"], code, "{}", answer.body);
        assert!(!answer.body.contains(&folder.0.display().to_string()), "{}", answer.body);
    }
    server.send("DELETE", "/api/studies/bread", &[], b"");
    assert!(lines.any(|line| line == "data: {}"), "listeners hear that it is gone");
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
    let goals = made["goals"].as_array().unwrap().iter().map(|goal| (&goal["name"], &goal["wanted"], &goal["number"]));
    let wanted = [("score", "target", 5.0), ("purity", "at-least", 95.0)]
        .map(|(name, wanted, number)| json!([name, wanted, number]));
    assert_eq!(goals.map(|(name, wanted, number)| json!([name, wanted, number])).collect::<Vec<_>>(), wanted);
    let tell = json!({ "row": "r3", "value": 4, "further": { "purity": 90 } });
    assert_eq!(server.done("/api/studies/all/tell", tell)["best"], Value::Null);
    let best = server.read("/api/studies/all/best");
    assert_eq!((&best["best"], &best["has_values"]), (&Value::Null, &json!(true)), "no row keeps all constraints yet");
    server.problem(
        "/api/studies/all/tell",
        json!({ "row": "r4", "further": { "purity": 9 } }),
        400,
        "main-result-missing",
    );
    let like = json!({ "name": "next", "sheet": sheet(), "direction": "max", "like": "earlier" });
    let next = server.done("/api/studies", like);
    assert_eq!(
        (&next["earlier"], &next["pool"]),
        (&json!(["earlier", 3]), &Value::Null),
        "a sheet that was sent is no file"
    );
    let ignoring = json!({ "name": "less", "sheet": sheet(), "direction": "max", "ignore": ["flour"] });
    assert_eq!(count(&server.done("/api/studies", ignoring)["columns"]), 2);
    let binary = json!({ "name": "binary", "sheet": { "base64": "YSxiCjEsMgoyLDEK" }, "direction": "min" });
    assert_eq!(server.done("/api/studies", binary)["rows"], 2);
}

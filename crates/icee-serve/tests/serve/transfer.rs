//! Studies that go from one place to another, and come back as they were.

use crate::client::{Folder, Running, count, score, sheet, wide};
use crate::database::Database;
use icee_protocol::{Create, Face, Sheet, StudyName, Transport};
use icee_serve::{Limits, Place};
use serde_json::{Value, json};

/// What a study is moved with.
fn files(server: &Running, name: &str) -> Value {
    server.read(&format!("/api/studies/{name}/journal"))
}

fn named(files: &Value, name: &str) -> Value {
    let mut body = files.clone();
    body["name"] = json!(name);
    body
}

#[test]
fn a_study_goes_to_any_place_and_back_byte_for_byte() {
    let (here, there) = (Folder::new(), Folder::new());
    let one = Running::start(&here.0);
    one.create("bread");
    for row in [3, 17, 40] {
        one.done("/api/studies/bread/tell", json!({ "row": row, "value": score(row) }));
    }
    one.done("/api/studies/bread/ask", json!({ "count": 2, "within": "1h" }));
    one.done("/api/studies/bread/forget", json!({ "rows": [17] }));
    one.done("/api/studies/bread/undo", json!({}));
    let first = files(&one, "bread");
    assert_eq!(first["journal"], std::fs::read_to_string(here.0.join("bread.jsonl")).unwrap());

    let database = Database::start();
    let mut places = vec![Place::Folder(there.0.clone())];
    places.extend(database.as_ref().map(Database::place));
    for place in &places {
        let two = Running::at(place);
        let summary = two.done("/api/import", named(&first, "rye"));
        assert_eq!((count(&summary["told"]), count(&summary["running"])), (3, 2));
        assert_eq!(files(&two, "rye"), first, "{place:?}");
        // Back home, beside itself.
        let back = format!("back-{}", matches!(place, Place::Folder(_)));
        one.done("/api/import", named(&files(&two, "rye"), &back));
        let journals = [&back, "bread"].map(|name| std::fs::read(here.0.join(format!("{name}.jsonl"))).unwrap());
        assert_eq!(journals[0], journals[1]);
        // It goes on there as it would have here.
        let ask = |server: &Running, name: &str| {
            let mut answer = server.done(&format!("/api/studies/{name}/ask"), json!({ "more": true, "within": "1h" }));
            answer["suggestions"][0]["until"] = Value::Null;
            answer
        };
        assert_eq!(ask(&two, "rye"), ask(&one, &back), "{place:?}");
        two.problem("/api/import", named(&first, "rye"), 409, "study-exists");
        // A study that was imported can be deleted with its sheets, and imported again.
        assert_eq!(two.send("DELETE", "/api/studies/rye", &[], b"").status, 200);
        two.done("/api/import", named(&first, "rye"));
    }
}

#[test]
fn a_sheet_that_comes_along_takes_the_place_of_the_one_before() {
    let folder = Folder::new();
    let database = Database::start();
    let mut places = vec![Place::Folder(folder.0.clone())];
    places.extend(database.as_ref().map(Database::place));
    for place in &places {
        let server = Running::at(place);
        // Of a database there are more servers, and some have the study open.
        let other = matches!(place, Place::Postgres(_)).then(|| Running::at(place));
        let other = other.as_ref().unwrap_or(&server);
        server.create("bread");
        server.done("/api/import", named(&files(&server, "bread"), "rye"));
        for study in ["bread", "rye"] {
            let path = format!("/api/studies/{study}");
            let post = |what: &str, body: Value| server.done(&format!("{path}/{what}"), body);
            post("tell", json!({ "row": 3, "value": 7.5 }));
            other.read(&format!("{path}/cells"));
            let before = files(&server, study);
            // The row that was told is gone: nothing changes, neither here nor for others.
            let gone = "heat,minutes,flour\n1,2,rye\n2,3,spelt\n";
            server.problem(&format!("{path}/update"), json!({ "sheet": gone }), 409, "sheet-conflicts");
            server.refused(&format!("{path}/update"), json!({ "sheet": "" }), 400, "empty");
            assert_eq!((files(&server, study), files(other, study)), (before.clone(), before));
            let longer = sheet() + "500,99,rye\n";
            let change = post("update", json!({ "sheet": longer }));
            assert_eq!((&change["rows"], &change["changed"]), (&json!(121), &json!(true)));
            assert_eq!(post("update", json!({ "sheet": longer }))["changed"], false);
            for server in [&server, other] {
                assert_eq!(server.read(&path)["rows"], 121);
                assert_eq!(
                    server.read(&format!("{path}/journal"))["sheets"].as_array().unwrap().last().unwrap(),
                    &json!(longer)
                );
                assert_eq!(server.read(&format!("{path}/cells"))["columns"][0]["cells"][120], "500");
            }
            let asked = other.done(&format!("{path}/ask"), json!({ "more": true, "where": "heat = 500" }));
            assert_eq!(asked["suggestions"][0]["row"], 121);
            // Back again, in base64.
            other.done(&format!("{path}/withdraw"), json!({ "rows": [121] }));
            let text = "aGVhdCxtaW51dGVzLGZsb3VyCjE3MCwxMCxzcGVsdAoyLDMscnllCg==";
            assert_eq!(post("update", json!({ "sheet": { "base64": text } }))["rows"], 2);
            assert_eq!(other.read(&format!("{path}/best"))["best"]["row"], 1);
        }
    }
}

#[test]
fn a_sheet_elsewhere_is_not_written_to() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let (pool, bread) = (elsewhere.0.join("mine.csv"), "bread".parse::<StudyName>().unwrap());
    std::fs::write(&pool, "a\n1\n2\n").unwrap();
    let create = Create {
        name: Some(bread.clone()),
        sheet: Some(Sheet::Path { path: pool.clone() }),
        direction: Some("max".into()),
        ..Create::default()
    };
    icee_client::Folder::new(&folder.0, Face::Plain).call(Some(&bread), create).unwrap();
    let server = Running::start(&folder.0);
    let longer = json!({ "sheet": "a\n1\n2\n3\n" });
    server.problem("/api/studies/bread/update", longer, 400, "sheet-is-file");
    assert_eq!(std::fs::read_to_string(&pool).unwrap(), "a\n1\n2\n");
}

#[test]
fn what_is_not_sound_is_not_imported() {
    let folder = Folder::new();
    let database = Database::start();
    let mut places = vec![Place::Folder(folder.0.clone())];
    places.extend(database.as_ref().map(Database::place));
    for place in &places {
        let server = Running::at(place);
        server.create("bread");
        server.done("/api/studies/bread/tell", json!({ "row": 3, "value": 7.5 }));
        server.done("/api/studies/bread/tell", json!({ "row": 4, "value": 2 }));
        let good = files(&server, "bread");
        let journal = good["journal"].as_str().unwrap();
        let changed = |field: &str, value: Value| {
            let mut body = named(&good, "rye");
            body[field] = value;
            body
        };
        for (body, words) in [
            (changed("journal", json!(journal.replace("7.5", "8.5"))), "checksum"),
            (changed("journal", json!(&journal[..journal.len() - 5])), "incomplete"),
            (changed("journal", json!("")), "empty"),
            (changed("journal", json!("no journal\n")), "not the header of a study"),
            (changed("sheets", json!(["a\n1\n"])), ""),
            (changed("sheets", json!([])), ""),
            (changed("name", json!("../rye")), "cannot be called"),
            (changed("name", Value::Null), "needs a name"),
        ] {
            server.refused("/api/import", body, 400, words);
        }
        let studies = server.read("/api/studies");
        assert_eq!(count(&studies["studies"]), 1, "{studies}");
        server.done("/api/import", named(&good, "rye"));
    }
    let small = Folder::new();
    let server = Running::with(&small.0, Limits { body: 100, ..wide() });
    server.refused("/api/import", json!({ "name": "rye", "journal": "x".repeat(200) }), 413, "at most 100 bytes");
    assert_eq!(server.read("/api/studies")["studies"], json!([]));
}

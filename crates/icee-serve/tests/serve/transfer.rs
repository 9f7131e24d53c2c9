//! Studies that go from one place to another, and come back as they were.

use crate::client::{Folder, Running, score, wide};
use crate::database::Database;
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
        assert_eq!((summary["told"].as_array().unwrap().len(), summary["running"].as_array().unwrap().len()), (3, 2));
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
        two.refused("/api/import", named(&first, "rye"), 409, "already");
        // A study that was brought can be put away with its sheet, and brought once more.
        assert_eq!(two.send("DELETE", "/api/studies/rye", &[], b"").status, 200);
        two.done("/api/import", named(&first, "rye"));
    }
}

#[test]
fn what_is_not_sound_is_not_taken_in() {
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
            (changed("sheet", json!("a\n1\n")), "the sheet is not the one"),
            (changed("sheet", Value::Null), "give the sheet"),
            (changed("name", json!("../rye")), "cannot be the name"),
            (changed("name", Value::Null), "name is missing"),
        ] {
            server.refused("/api/import", body, 400, words);
        }
        let names = server.read("/api/studies");
        assert_eq!(names.as_array().unwrap().len(), 1, "{names}");
        server.done("/api/import", named(&good, "rye"));
    }
    let small = Folder::new();
    let server = Running::with(&small.0, Limits { body: 100, ..wide() });
    server.refused("/api/import", json!({ "name": "rye", "journal": "x".repeat(200) }), 413, "at most 100 bytes");
    assert_eq!(server.read("/api/studies"), json!([]));
}

//! Rows that somebody has: for how long, who may say so, and what is told late.

use crate::client::{Folder, Running, count, notes, sheet};
use crate::life::row;
use icee_serve::{Role, Tokens};
use serde_json::{Value, json};

#[test]
fn rows_are_lent_and_given_back() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let ask = |body| server.done("/api/studies/bread/ask", body);
    let first = row(&ask(json!({ "within": "1s" })));
    let renewed = server.done("/api/studies/bread/renew", json!({ "rows": [first], "within": "1h" }));
    assert_eq!(renewed["renewed"], json!([first.to_string()]));
    let second = row(&ask(json!({ "within": "1s", "more": true })));
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let third = ask(json!({ "more": true }));
    assert_eq!((notes(&third), &third["notes"][0]["rows"]), (vec!["expired"], &json!([second.to_string()])));
    let running = server.read("/api/studies/bread")["running"].clone();
    assert!(running.as_array().unwrap().contains(&json!(first.to_string())), "the one that was renewed is still lent");
    // A late answer counts.
    let late = server.done("/api/studies/bread/tell", json!({ "row": second, "value": 1.5 }));
    assert_eq!(late["told"]["new"], 1);
    server.problem("/api/studies/bread/renew", json!({ "rows": [second], "within": "1h" }), 409, "not-running");
    server.problem("/api/studies/bread/renew", json!({ "rows": [first], "within": "soon" }), 400, "not-a-time");
}

#[test]
fn leases_are_their_holders_and_late_answers_are_kept() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server
        .done("/api/studies", json!({ "name": "two", "sheet": "a\n1\n2\n", "direction": "max", "sampler": "random" }));
    let post = |what: &str, body: Value| server.done(&format!("/api/studies/two/{what}"), body);
    post("ask", json!({ "by": "carl", "more": true }));
    let first = row(&post("ask", json!({ "by": "ada", "more": true, "within": "1s" })));
    // Her time is up, and somebody else has the row.
    let has_it = loop {
        let answer = server.post("/api/studies/two/ask", json!({ "by": "bob", "more": true, "within": "1h" }));
        if answer.status == 200 {
            break answer.json();
        }
    };
    assert_eq!(row(&has_it), first);
    let until = has_it["suggestions"][0]["until"].as_u64().unwrap();
    for what in ["renew", "withdraw"] {
        let body = match what {
            "renew" => json!({ "rows": [first], "within": "2h", "by": "ada" }),
            _ => json!({ "rows": [first], "by": "ada" }),
        };
        server.problem(&format!("/api/studies/two/{what}"), body, 409, "held-by-other");
    }
    post("renew", json!({ "rows": [first], "within": "1m", "by": "bob" }));
    let running = server.read("/api/studies/two/running");
    let bobs = running["running"].as_array().unwrap().iter().find(|row| row["by"] == "bob").unwrap();
    assert!(bobs["until"].as_u64().unwrap() >= until, "more time is never less");
    // Both have measured it, and both count.
    let tell = |by: &str, value: f64| json!({ "row": first, "value": value, "by": by });
    assert_eq!(post("tell", tell("bob", 2.0))["told"]["new"], 1);
    server.problem("/api/studies/two/tell", tell("bob", 2.0), 409, "already-measured");
    let late = post("tell", tell("ada", 3.0));
    assert_eq!(late["told"]["again"], 1);
    assert_eq!(notes(&late), ["late-replicate"]);
    server.problem("/api/studies/two/tell", tell("ada", 3.0), 409, "already-measured");
    let other = 3 - first;
    assert_eq!(post("withdraw", json!({ "rows": [other], "by": "carl" }))["withdrawn"], json!([other.to_string()]));
    // Whoever is late first does not end the work of whoever has the row now.
    let dora = post("ask", json!({ "by": "dora", "more": true, "within": "1s", "where": format!("a = {other}") }));
    assert_eq!(row(&dora), other);
    let again = json!({ "by": "emil", "more": true, "within": "1h", "where": format!("a = {other}") });
    while server.post("/api/studies/two/ask", again.clone()).status != 200 {}
    let tell = |by: &str, value: f64| json!({ "row": other, "value": value, "by": by });
    assert_eq!(post("tell", tell("dora", 5.0))["told"]["new"], 1);
    assert_eq!(server.read("/api/studies/two/running")["running"][0]["by"], "emil");
    assert_eq!(post("tell", tell("emil", 6.0))["told"]["again"], 1);
    server.problem("/api/studies/two/tell", tell("dora", 5.0), 409, "already-measured");
    // And so it is for whoever reads the journal from its beginning.
    drop(server);
    let server = Running::start(&folder.0);
    let told = server.read("/api/studies/two")["told"].clone();
    let values = |row: u64| told.as_array().unwrap().iter().find(|told| told["row"] == row).unwrap()["values"].clone();
    assert_eq!((values(first), values(other)), (json!([2.0, 3.0]), json!([5.0, 6.0])));
    assert_eq!(server.read("/api/studies/two/running")["running"], json!([]));
}

/// A study called two, of the rows x and y.
fn two_named_rows(server: &Running) {
    let made =
        json!({ "name": "two", "id": "id", "sheet": "id,a\nx,1\ny,2\n", "direction": "max", "sampler": "random" });
    server.done("/api/studies", made);
}

#[test]
fn what_another_tells_ends_nobodys_lease_for_good() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    two_named_rows(&server);
    let post = |what: &str, body: Value| server.done(&format!("/api/studies/two/{what}"), body);
    let asked = post("ask", json!({ "by": "ada", "more": true, "within": "1h" }));
    let id = asked["suggestions"][0]["id"].clone();
    let tell = |by: &str, value: f64| json!({ "row": id, "value": value, "by": by });
    assert_eq!(post("tell", tell("bob", 2.0))["told"]["new"], 1);
    assert_eq!(
        server.read("/api/studies/two/running")["running"],
        json!([]),
        "it is known now, and nobody need wait for it"
    );
    server.problem("/api/studies/two/tell", tell("bob", 2.0), 409, "already-measured");
    // Her rows are at other places by now.
    post("update", json!({ "sheet": "id,a\nz,3\ny,2\nx,1\n" }));
    let late = post("tell", tell("ada", 3.0));
    assert!(late["told"]["again"] == 1 && notes(&late) == ["late-replicate"], "{late}");
    server.problem("/api/studies/two/tell", tell("ada", 3.0), 409, "already-measured");
    // Whoever tells what is his, or says nothing of himself, ends it.
    for by in [json!("carl"), Value::Null] {
        let asked = post("ask", json!({ "by": "carl", "more": true, "within": "1h" }));
        let tell = json!({ "row": asked["suggestions"][0]["id"], "value": 1, "by": by });
        assert_eq!(post("tell", tell.clone())["told"]["new"], 1);
        server.problem(
            "/api/studies/two/tell",
            json!({ "by": "carl", "row": tell["row"], "value": 1 }),
            409,
            "already-measured",
        );
    }
}

#[test]
fn a_sheet_that_changes_keeps_who_is_late() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    two_named_rows(&server);
    let post = |what: &str, body: Value| server.done(&format!("/api/studies/two/{what}"), body);
    let asked = post("ask", json!({ "by": "ada", "more": true, "within": "1s", "where": "a = 1" }));
    assert_eq!(asked["suggestions"][0]["id"], "x");
    std::thread::sleep(std::time::Duration::from_millis(2100));
    post("ask", json!({ "by": "bob", "more": true, "within": "1h", "where": "a = 2" }));
    assert_eq!(count(&server.read("/api/studies/two/running")["running"]), 1, "hers was given back");
    post("update", json!({ "sheet": "id,a\nz,3\ny,2\nx,1\n" }));
    post("tell", json!({ "row": "x", "value": 1, "replace": false, "by": "carl" }));
    drop(server);
    let server = Running::start(&folder.0);
    let late = server.done("/api/studies/two/tell", json!({ "row": "x", "value": 2, "by": "ada" }));
    assert_eq!(late["told"]["again"], 1, "{late}");
}

#[test]
fn everybody_sees_who_has_which_row_and_asking_again_repeats_ones_own() {
    let folder = Folder::new();
    let tokens = Tokens::in_folder(&folder.0);
    let [ada, bob] = ["ada", "bob"].map(|name| tokens.create(name, Role::Write, 0).unwrap());
    let server = Running::start(&folder.0);
    let as_one = |token: &str, path: &str, body: Value| {
        let token = format!("Bearer {token}");
        server.post_with(path, &[("Authorization", &token)], body).json()
    };
    let made = json!({ "name": "bread", "sheet": sheet(), "direction": "max", "sampler": "gp-ei" });
    as_one(&ada, "/api/studies", made);
    let ask = |token: &str, body: Value| as_one(token, "/api/studies/bread/ask", body)["suggestions"][0].clone();
    let (first, second) = (ask(&ada, json!({ "within": "1h" })), ask(&bob, json!({})));
    assert_ne!(first["id"], second["id"], "rows that somebody else has are not repeated");
    assert_eq!(ask(&ada, json!({ "within": "1h" }))["id"], first["id"]);
    let third = ask(&ada, json!({ "by": " the robot ", "more": true }));
    let bearer = format!("Bearer {bob}");
    let read = |path: &str| server.send("GET", path, &[("Authorization", &bearer)], b"").json();
    let renew = |body: Value| as_one(&bob, "/api/studies/bread/renew", body);
    assert!(renew(json!({ "rows": [first["id"]], "within": "2h", "by": "ada" }))["error"].is_null());
    assert!(renew(json!({ "rows": [second["id"]], "within": "2h" }))["error"].is_null());
    let running = read("/api/studies/bread/running");
    let who = |row: &Value| (row["id"].clone(), row["by"].clone());
    let names = [(&first, "ada"), (&second, "bob"), (&third, "the robot")];
    let names = names.map(|(row, name)| (row["id"].clone(), json!(name)));
    let running: Vec<_> = running["running"].as_array().unwrap().iter().map(who).collect();
    assert_eq!(running, names, "a reservation that was extended is its owner's still");
    let long = json!({ "by": "x".repeat(65) });
    assert_eq!(as_one(&ada, "/api/studies/bread/ask", long)["problem"]["code"], "person-name");
    // A look back has a step for every value.
    as_one(&ada, "/api/studies/bread/tell", json!({ "row": first["id"], "value": 3.5 }));
    let review = read("/api/studies/bread/review");
    assert_eq!((&review["steps"][0]["value"], &review["steps"][0]["best"]), (&json!(3.5), &json!(3.5)));
}

#[test]
fn who_has_a_row_by_its_token_keeps_it_from_others() {
    let folder = Folder::new();
    let tokens = Tokens::in_folder(&folder.0);
    let [ada, bob] = ["ada", "bob"].map(|name| format!("Bearer {}", tokens.create(name, Role::Write, 0).unwrap()));
    let server = Running::start(&folder.0);
    let post = |token: &str, path: &str, body: Value| {
        server.post_with(&format!("/api/studies{path}"), &[("Authorization", token)], body)
    };
    post(&ada, "", json!({ "name": "bread", "sheet": sheet(), "direction": "max", "sampler": "random" }));
    let row = post(&bob, "/bread/ask", json!({ "within": "1h" })).json()["suggestions"][0]["row"].clone();
    post(&ada, "/bread/withdraw", json!({ "rows": [row] })).problem(409, "held-by-other");
    post(&ada, "/bread/renew", json!({ "rows": [row], "within": "2h" })).problem(409, "held-by-other");
    assert_eq!(post(&bob, "/bread/renew", json!({ "rows": [row], "within": "2h" })).status, 200);
    // Somebody has to clean up, and says so.
    assert_eq!(post(&ada, "/bread/withdraw", json!({ "rows": [row], "by": "bob" })).status, 200);
}

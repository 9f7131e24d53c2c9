//! Studies in a real PostgreSQL: the suite of all storages, servers that share it, and a database that goes away.

use crate::client::{Folder, Running, count, score, sheet};
use crate::database::Database;
use icee_protocol::Result;
use icee_serve::{Place, Role};
use icee_study::{Home, KeptSheet, Storage, conformance};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A home behind a box.
struct Boxed(Box<dyn Home>);

impl Home for Boxed {
    fn name(&self) -> String {
        self.0.name()
    }

    fn folder(&self) -> Option<PathBuf> {
        self.0.folder()
    }

    fn create(&self, lines: &[String], sheets: &[KeptSheet]) -> Result<()> {
        self.0.create(lines, sheets)
    }

    fn open(&self) -> Result<Box<dyn Storage>> {
        self.0.open()
    }
}

fn conforms(place: &Place) {
    let studies = place.studies().unwrap();
    let mut number = 0;
    let fresh = || {
        number += 1;
        Boxed(studies.home(&format!("study-{number}").parse().unwrap()).unwrap())
    };
    conformance::check(fresh).unwrap_or_else(|violation| panic!("{violation}"));
    drop(studies);
    icee_serve::conformance::check(place).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn every_place_of_studies_conforms() {
    let folder = Folder::new();
    conforms(&Place::Folder(folder.0.clone()));
    if let Some(database) = Database::start() {
        conforms(&database.place());
    }
}

#[test]
fn servers_share_studies_keys_and_tokens() {
    let Some(database) = Database::start() else { return };
    let place = database.place();
    let (one, two) = (Running::at(&place), Running::at(&place));
    one.create("bread");
    let again = json!({ "name": "bread", "sheet": "a\n1\n2\n", "direction": "maximize" });
    two.problem("/api/studies", again, 409, "study-exists");
    // Of rows that many ask for at two servers none is given twice.
    let servers = [&one, &two];
    let rows: Vec<u64> = std::thread::scope(|scope| {
        let ask = |at: usize| {
            let server = servers[at % 2];
            move || {
                server.done("/api/studies/bread/ask", json!({ "more": true }))["suggestions"][0]["row"]
                    .as_u64()
                    .unwrap()
            }
        };
        let asking: Vec<_> = (0..20).map(|at| scope.spawn(ask(at))).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), 20);
    // Told there, known here; and what was sent to one is answered by the other, once.
    let told = json!({ "row": rows[0], "value": score(rows[0]) });
    let key = [("Idempotency-Key", "k1")];
    let first = one.post_with("/api/studies/bread/tell", &key, told.clone());
    let again = two.post_with("/api/studies/bread/tell", &key, told);
    assert_eq!((first.status, first.body), (again.status, again.body));
    assert_eq!(two.read("/api/studies/bread/best")["best"]["row"], rows[0]);
    two.post_with("/api/studies/bread/tell", &key, json!({ "row": 1, "value": 1 })).problem(409, "key-reused");
    one.done("/api/studies/bread/tell", json!({ "row": rows[1], "value": score(rows[1]) }));
    let like = json!({ "name": "cake", "like": "bread", "direction": "maximize", "sheet": sheet(), "value": null });
    assert_eq!(two.done("/api/studies", like)["rows"], 120);
    assert_eq!(count(&one.read("/api/studies")["studies"]), 2);

    // A token made elsewhere counts at once, and so does its end.
    let secret = place.tokens().unwrap().create("ada", Role::Admin, 0).unwrap();
    one.get("/api/studies").refused(401, "A token is missing");
    let bearer = format!("Bearer {secret}");
    let header = [("Authorization", &*bearer)];
    assert_eq!(two.send("GET", "/api/studies", &header, b"").status, 200);
    assert_eq!(two.send("DELETE", "/api/studies/bread", &header, b"").status, 200);
    one.send("GET", "/api/studies/bread", &header, b"").problem(404, "no-study");
    place.tokens().unwrap().revoke("ada").unwrap();
    one.send("GET", "/api/studies", &header, b"").refused(401, "No valid tokens exist");
    two.get("/api/studies").refused(401, "Ask the administrator");
}

#[test]
fn tables_are_made_once_and_newer_ones_are_not_touched() {
    let Some(database) = Database::start() else { return };
    let place = database.place();
    place.tokens().unwrap().create("ada", Role::Read, 0).unwrap();
    place.tokens().unwrap().revoke("ada").unwrap();
    assert!(place.tokens().unwrap().are_required().unwrap(), "that there was a token is known");
    assert_eq!(database.sql("SELECT number FROM icee.migrations"), "1\n");
    database.sql("INSERT INTO icee.migrations (number) VALUES (99)");
    assert!(place.tokens().err().unwrap().to_string().contains("99"));
}

#[test]
fn every_version_of_a_sheet_is_kept_once() {
    let Some(database) = Database::start() else { return };
    let server = Running::at(&database.place());
    server.create("bread");
    for rows in 1..=3 {
        let sheet = sheet() + &"500,99,rye\n".repeat(rows);
        for changed in [true, false] {
            assert_eq!(server.done("/api/studies/bread/update", json!({ "sheet": sheet }))["changed"], changed);
        }
    }
    assert_eq!(database.sql("SELECT count(*) FROM icee.sheets"), "4\n");
    let hashed = "SELECT bool_and(hash = encode(sha256(bytes), 'hex')) FROM icee.sheets";
    assert_eq!(database.sql(hashed), "t\n");
}

#[test]
fn a_database_that_goes_away_is_waited_for_and_nothing_is_lost() {
    let Some(mut database) = Database::start() else { return };
    let server = Running::at(&database.place());
    server.create("bread");
    let mut told = 0;
    for round in 0..3 {
        let asked = server.done("/api/studies/bread/ask", json!({ "more": true }));
        let row = asked["suggestions"][0]["row"].as_u64().unwrap();
        server.done("/api/studies/bread/tell", json!({ "row": row, "value": score(row) }));
        told += 1;
        database.crash();
        let away = server.post("/api/studies/bread/ask", json!({ "more": true }));
        assert!(away.head.to_lowercase().contains("retry-after"), "{}", away.head);
        away.problem(503, "unavailable");
        assert!(!away.body.contains("icee-serve-"), "where the database is, is not for clients: {}", away.body);
        assert_eq!(server.get("/health").status, 200);
        database.run();
        assert_eq!(count(&server.read("/api/studies/bread")["told"]), told, "round {round}");
    }
}

#[test]
fn metrics_are_read_while_the_database_is_away() {
    let Some(mut database) = Database::start() else { return };
    let bearer =
        |name: &str| format!("Bearer {}", database.place().tokens().unwrap().create(name, Role::Read, 0).unwrap());
    let (ada, bob) = (bearer("ada"), bearer("bob"));
    let server = Running::at(&database.place());
    let status = |path: &str, bearer: &str| server.send("GET", path, &[("Authorization", bearer)], b"").status;
    assert_eq!(status("/metrics", &ada), 200);
    database.crash();
    // A token that was valid a moment ago; of others nothing is known, and of studies nothing can be.
    assert_eq!((status("/metrics", &ada), status("/metrics", &bob), status("/api/studies", &ada)), (200, 503, 503));
    database.run();
}

#[test]
fn a_list_leaves_studies_open_that_are() {
    let Some(database) = Database::start() else { return };
    let server = Running::at(&database.place());
    server.create("bread");
    let before = server.read("/api/studies/bread/cells");
    // If the sheet were read again, it would be seen here.
    database.sql("UPDATE icee.sheets SET bytes = 'gone'");
    for _ in 0..2 {
        assert_eq!(server.read("/api/studies")["studies"][0]["rows"], 120);
        assert_eq!(server.read("/api/studies/bread/cells"), before);
    }
}

/// The lock of a study for a moment, as another server has it.
fn locked_for(database: &Database, study: u32, seconds: f64) {
    database.sql(&format!("SELECT pg_advisory_lock(1768121701, {study}); SELECT pg_sleep({seconds})"));
}

#[test]
fn a_sheet_that_another_server_updates_meanwhile_stays() {
    let Some(database) = Database::start() else { return };
    let place = database.place();
    let (one, two) = (Running::at(&place), Running::at(&place));
    one.create("bread");
    let pause = |seconds| std::thread::sleep(std::time::Duration::from_millis(seconds));
    for round in 0..2 {
        for server in [&one, &two] {
            server.done("/api/studies/bread/ask", json!({ "more": true }));
        }
        let sheet = sheet() + &"500,99,rye\n".repeat(round) + "510,99,rye\n";
        std::thread::scope(|scope| {
            // Both wait, and the server that is asked has read the old sheet.
            scope.spawn(|| locked_for(&database, 1, 0.8));
            pause(200);
            let updated = scope.spawn(|| two.done("/api/studies/bread/update", json!({ "sheet": sheet })));
            pause(300);
            let body = json!({ "more": true, "where": "heat = 510 or heat < 200" });
            let one = &one;
            let asked = scope.spawn(move || one.done("/api/studies/bread/ask", body));
            assert_eq!(updated.join().unwrap()["rows"], 121 + round, "round {round}");
            asked.join().unwrap();
        });
        assert_eq!(database.sql("SELECT count(*) FROM icee.sheets"), format!("{}\n", round + 2));
        let last = json!({ "more": true, "where": "heat = 510" });
        assert_eq!(one.done("/api/studies/bread/ask", last.clone())["suggestions"][0]["row"], 121 + round);
        let row = json!({ "rows": [121 + round] });
        two.done("/api/studies/bread/withdraw", row);
    }
    // Nor is another study taken for the one that was open.
    std::thread::scope(|scope| {
        scope.spawn(|| locked_for(&database, 1, 0.8));
        pause(200);
        let deleted = scope.spawn(|| {
            assert_eq!(two.send("DELETE", "/api/studies/bread", &[], b"").status, 200);
            two.create("bread");
        });
        pause(300);
        let asked = scope.spawn(|| one.post("/api/studies/bread/ask", json!({ "more": true })));
        deleted.join().unwrap();
        assert!([200, 404].contains(&asked.join().unwrap().status));
    });
    one.done("/api/studies/bread/ask", json!({ "more": true }));
}

#[test]
fn waiting_for_a_study_keeps_nobody_from_the_others() {
    let Some(database) = Database::start() else { return };
    let server = Running::at(&database.place());
    let names: Vec<String> = (0..20).map(|at| format!("s{at}")).collect();
    let small = |name: &str| json!({ "name": name, "sheet": "a\n1\n2\n3\n", "direction": "max", "sampler": "random" });
    names.iter().for_each(|name| drop(server.done("/api/studies", small(name))));
    server.done("/api/studies", small("free"));
    let begun = std::time::Instant::now();
    std::thread::scope(|scope| {
        let all: String = (1..=20).map(|study| format!("SELECT pg_advisory_lock(1768121701, {study});")).collect();
        scope.spawn(|| database.sql(&(all + "SELECT pg_sleep(6)")));
        std::thread::sleep(std::time::Duration::from_millis(500));
        let asked = |name: &String| server.done(&format!("/api/studies/{name}/ask"), json!({ "more": true }));
        let waiting: Vec<_> = names.iter().map(|name| scope.spawn(move || asked(name))).collect();
        std::thread::sleep(std::time::Duration::from_millis(500));
        let looked = std::time::Instant::now();
        server.read("/api/studies/free");
        server.read("/api/studies/s3");
        assert!(looked.elapsed().as_secs() < 2, "{:?}", looked.elapsed());
        server.done("/api/studies/free/ask", json!({ "more": true }));
        assert!(begun.elapsed().as_secs() < 6, "another study does not wait for these");
        waiting.into_iter().for_each(|one| drop(one.join().unwrap()));
    });
}

#[test]
fn reservations_begin_when_the_waiting_ends() {
    let Some(database) = Database::start() else { return };
    let server = Running::at(&database.place());
    server.create("bread");
    let asked = std::thread::scope(|scope| {
        scope.spawn(|| locked_for(&database, 1, 2.5));
        std::thread::sleep(std::time::Duration::from_millis(300));
        server.done("/api/studies/bread/ask", json!({ "more": true, "within": "2s" }))
    });
    let now = database.sql("SELECT extract(epoch FROM clock_timestamp())::bigint").trim().parse::<u64>().unwrap();
    assert!(asked["suggestions"][0]["until"].as_u64().unwrap() > now, "{asked}");
}

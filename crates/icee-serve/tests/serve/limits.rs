//! What is too much.

use crate::client::{Folder, Running, wide};
use icee_client::Http;
use icee_protocol::{Best, Content, Delete, Face, Problem, Sheet, StudyName, Tell, Transport};
use icee_serve::{Limits, Role, Tokens};
use serde_json::json;
use std::time::Duration;

#[test]
fn bodies_rates_and_times_have_limits() {
    let folder = Folder::new();
    {
        let server = Running::with(&folder.0, Limits { body: 10_000, ..wide() });
        server.create("bread");
        let large = json!({ "csv": "x".repeat(20_000) });
        server.refused("/api/studies/bread/tell", large, 413, "at most 10000 bytes");
        let json = [("Content-Type", "application/json")];
        for broken in
            [&b"{"[..], b"[]", b"\xff\xfe", b"{\"row\":1}x", b"null", b"{\"row\":[1]}", b"{\"value\":1e999,\"row\":1}"]
        {
            server.send("POST", "/api/studies/bread/tell", &json, broken).refused(400, "");
        }
        let key = "k".repeat(129);
        server
            .post_with("/api/studies/bread/ask", &[("Idempotency-Key", &key)], json!({}))
            .problem(400, "key-unusable");
    }
    {
        let server = Running::with(&folder.0, Limits { rate: 0.001, burst: 3.0, ..wide() });
        (0..3).for_each(|_| drop(server.read("/api/studies/bread")));
        let late = server.get("/api/studies/bread");
        late.refused(429, "Too many requests");
        // A thousandth of a request a second: in a quarter of an hour and more.
        let wait = late.head.split("retry-after: ").nth(1).unwrap().split('\r').next().unwrap().parse::<u64>().unwrap();
        assert!((900..=1000).contains(&wait), "{wait}");
        server.get("/metrics").refused(429, "Too many requests");
        server.read("/health");
    }
    {
        let server = Running::with(&folder.0, Limits { time: Duration::from_millis(50), ..wide() });
        // Somebody else is at work on the study.
        let journal = std::fs::OpenOptions::new().append(true).open(folder.0.join("bread.jsonl")).unwrap();
        journal.lock().unwrap();
        let ask = || server.post_with("/api/studies/bread/ask", &[("Idempotency-Key", "late")], json!({}));
        ask().refused(503, "with the same Idempotency-Key");
        journal.unlock().unwrap();
        let answered = loop {
            match ask() {
                late if late.status == 503 => {}
                answered => break answered,
            }
        };
        assert_eq!((answered.status, crate::client::count(&server.read("/api/studies/bread")["running"])), (200, 1));
    }
    let server = Running::with(&folder.0, Limits { concurrent: 0, streams: 0, ..wide() });
    server.get("/api/studies/bread").refused(503, "busy");
    server.get("/api/studies/bread/events").refused(503, "0 streams of events is the most at once");
}

#[test]
fn running_requests_end_before_the_server_does() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let mut lines = server.listen("/api/studies/bread/events");
    lines.next().unwrap();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.post("/api/studies/bread/ask", json!({ "count": 20 })));
        // Until it has arrived.
        while server.get("/metrics").body.contains("icee_requests_running 0") && !asked.is_finished() {}
        server.stopper().stop();
        assert_eq!(asked.join().unwrap().status, 200);
    });
    assert_eq!(lines.next(), None, "streams end");
}

#[test]
fn half_a_request_keeps_no_server_from_ending() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let mut half = std::net::TcpStream::connect(server.address).unwrap();
    std::io::Write::write_all(&mut half, b"GET /health HTTP/1.1\r\nHost: ").unwrap();
    // One that was answered, and says nothing more.
    server.read("/health");
    let begun = std::time::Instant::now();
    drop(server);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn one_token_leaves_room_for_others() {
    let folder = Folder::new();
    let tokens = Tokens::in_folder(&folder.0);
    let [ada, bob] = ["ada", "bob"].map(|name| format!("Bearer {}", tokens.create(name, Role::Write, 0).unwrap()));
    let server = Running::with(&folder.0, Limits { streams: 2, ..wide() });
    let made = json!({ "name": "bread", "sheet": "a\n1\n2\n", "direction": "max", "sampler": "random" });
    assert_eq!(server.post_with("/api/studies", &[("Authorization", &ada)], made).status, 201);
    let events = |bearer: &str| server.listen_with("/api/studies/bread/events", &[("Authorization", bearer)]);
    let mut adas = events(&ada);
    assert!(adas.next().is_some());
    let refused = server.send("GET", "/api/studies/bread/events", &[("Authorization", &ada)], b"");
    refused.refused(503, "The token \"ada\" has 1 streams of events already");
    assert!(events(&bob).next().is_some());
}

#[test]
fn a_body_that_does_not_come_keeps_nobody_waiting() {
    let folder = Folder::new();
    let server = Running::with(&folder.0, Limits { concurrent: 1, bodies: 1, ..wide() });
    server.create("bread");
    let mut slow = std::net::TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /api/studies/bread/tell HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{{",
        server.address
    );
    std::io::Write::write_all(&mut slow, head.as_bytes()).unwrap();
    // The body of a look says nothing, and is not waited for.
    let mut look = std::net::TcpStream::connect(server.address).unwrap();
    let head = head.replace("POST /api/studies/bread/tell", "GET /api/studies/bread");
    std::io::Write::write_all(&mut look, head.as_bytes()).unwrap();
    let mut status = [0; 12];
    std::io::Read::read_exact(&mut look, &mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    server.done("/api/studies/bread/tell", json!({ "row": 1, "value": 2 }));
}

/// A client of a server.
fn http(server: &Running, token: Option<&str>) -> Http {
    Http::new(&format!("http://{}", server.address), token.map(str::to_owned), Face::Plain).unwrap()
}

#[test]
fn a_client_that_is_refused_early_reads_why_though_it_is_still_sending() {
    let folder = Folder::new();
    let server = Running::with(&folder.0, Limits { body: 8 << 20, ..wide() });
    // More than any buffer on the way takes.
    let large = "x".repeat(30 << 20).into_bytes();
    let bread: StudyName = "bread".parse().unwrap();
    let said = |token: Option<&str>| {
        let mut client = http(&server, token);
        let csv = Some(Sheet::Content(Content(large.clone())));
        client.call(Some(&bread), Tell { csv, ..Tell::default() }).unwrap_err().to_string()
    };
    assert!(said(None).contains("at most 8388608 bytes"), "{}", said(None));
    let tokens = Tokens::in_folder(&folder.0);
    tokens.create("ada", Role::Read, 0).unwrap();
    assert!(said(Some("icee_wrong")).contains("This token is not known"), "{}", said(Some("icee_wrong")));
    // A client that waits to be told to send it is not told to.
    let mut polite = std::net::TcpStream::connect(server.address).unwrap();
    let head = "POST /api/studies HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n";
    std::io::Write::write_all(&mut polite, head.as_bytes()).unwrap();
    let mut status = [0; 12];
    std::io::Read::read_exact(&mut polite, &mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 401");
}

#[test]
fn strangers_spend_nothing_of_those_who_have_a_token() {
    let folder = Folder::new();
    let ada = format!("Bearer {}", Tokens::in_folder(&folder.0).create("ada", Role::Read, 0).unwrap());
    let server = Running::with(&folder.0, Limits { rate: 0.001, burst: 2.0, ..wide() });
    let send = |token: &str| server.send("GET", "/api/studies", &[("Authorization", token)], b"").status;
    // All come from one address, as they do behind a proxy. It is worth twenty clients.
    let wrong: Vec<u16> = (0..50).map(|_| send("Bearer icee_wrong")).collect();
    assert_eq!((wrong[0], wrong[49], server.get("/api/studies").status), (401, 429, 429));
    assert_eq!([&ada, &ada, &ada].map(|token| send(token)), [200, 200, 429]);
}

#[test]
fn errors_are_short_whatever_was_sent() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let answer = server.post("/api/studies/bread/tell", json!({ "row": "ä".repeat(100_000), "value": 1 }));
    assert!(answer.status == 400 && answer.body.len() < 3000, "{}", answer.body.len());
}

#[test]
fn small_bodies_make_no_endless_work() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let names = |count: usize| (0..count).map(|at| format!("c{at}")).collect::<Vec<_>>();
    let sheet = |count: usize| {
        let row = |row: usize| (0..count).map(|at| ((at + row) % 7).to_string()).collect::<Vec<_>>().join(",");
        format!("{}\n{}\n{}\n{}\n", names(count).join(","), row(1), row(2), row(3))
    };
    let make = |body: serde_json::Value| {
        let mut all = json!({ "name": "wide", "direction": "max", "sampler": "random" });
        body.as_object().unwrap().iter().for_each(|(name, value)| all[name] = value.clone());
        all
    };
    let wide = make(json!({ "sheet": sheet(16_385) }));
    server.refused("/api/studies", wide.clone(), 400, "16385 columns");
    server.refused("/api/survey", wide, 400, "16385 columns");
    let also: Vec<String> = (0..100_000).map(|at| format!("o{at} min")).collect();
    server.problem("/api/studies", make(json!({ "sheet": sheet(3), "also": also })), 400, "too-many-goals");
    // With a look at all others for each of them, these would take minutes.
    let all = names(16_384);
    let most = make(json!({ "sheet": sheet(16_384), "linear": all, "columns": all }));
    server.refused("/api/survey", most, 400, "1024");
    let many: Vec<String> = (0..1_000_000).map(|at| format!("c{at}")).collect();
    server.problem("/api/survey", make(json!({ "sheet": sheet(3), "log": many })), 400, "table");
    // With a look at each value for every row, or at all rows for every row, these would, too.
    let rows: Vec<usize> = (1..=50_000).collect();
    let lines: String = rows.iter().map(|row| format!("{row},{row}.5\n")).collect();
    server.done("/api/studies", make(json!({ "sheet": format!("a,b\n{lines}"), "id": "a" })));
    let begun = std::time::Instant::now();
    let values = |count: usize| (0..count).map(|at| format!("{at}.25")).collect::<Vec<_>>();
    let ask = |condition: String| json!({ "where": condition, "more": true });
    let path = "/api/studies/wide/ask";
    server.problem(path, ask(format!("b in ({})", values(100_000).join(","))), 400, "condition");
    server.problem(path, ask(format!("b in ({})", values(1000).join(","))), 400, "none-satisfies");
    let each: Vec<String> = values(1000).iter().map(|value| format!("b = {value}")).collect();
    server.problem(path, ask(each.join(" or ")), 400, "none-satisfies");
    server.problem(path, json!({ "same": vec!["b"; 100_000], "more": true }), 400, "same-twice");
    server.problem("/api/studies/wide/renew", json!({ "rows": rows, "within": "1h" }), 409, "rows");
    server.problem("/api/studies/wide/withdraw", json!({ "rows": rows }), 409, "rows");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_client_waits_as_long_as_the_server_is_busy() {
    let folder = Folder::new();
    // Thirty requests and more at three a second: longer than a client waits without an answer.
    let server = Running::with(&folder.0, Limits { rate: 3.0, burst: 2.0, ..wide() });
    server.create("bread");
    let bread: StudyName = "bread".parse().unwrap();
    std::thread::scope(|scope| {
        let look = || http(&server, None).call(Some(&bread), Best {}).map(drop);
        let all: Vec<_> = (0..33).map(|_| scope.spawn(look)).collect();
        all.into_iter().for_each(|one| one.join().unwrap().unwrap());
    });
}

#[test]
fn a_study_whose_deletion_was_not_heard_of_is_deleted() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answers =
        ["", "HTTP/1.1 404 Not Found\r\nContent-Length: 17\r\nConnection: close\r\n\r\n{\"error\":\"none\"} "];
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for answer in [answers[0], answers[1], answers[1]] {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
                std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
            }
        });
        let (mut client, bread) = (Http::new(&url, None, Face::Plain).unwrap(), "bread".parse::<StudyName>().unwrap());
        assert_eq!(client.call(Some(&bread), Delete {}).unwrap().reply.deleted, "bread");
        let refused = client.call(Some(&bread), Delete {}).unwrap_err();
        assert_eq!(refused, Problem::Refused { status: 404, fault: "none".into() });
    });
}

#[test]
fn a_server_that_is_to_end_waits_for_the_longest_request() {
    let limits = Limits { time: Duration::from_secs(3600), ..wide() };
    assert!(limits.grace() > limits.time);
}

#[test]
fn a_client_that_waits_for_room_for_a_body_is_told_to_come_again() {
    let folder = Folder::new();
    let server = Running::with(&folder.0, Limits { bodies: 1, time: Duration::from_secs(2), ..wide() });
    server.create("bread");
    let head = format!(
        "POST /api/studies/bread/tell HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{{",
        server.address
    );
    // The first has the place for two seconds, and then the second.
    let slow = [0, 1].map(|_| {
        let mut slow = std::net::TcpStream::connect(server.address).unwrap();
        std::io::Write::write_all(&mut slow, head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        slow
    });
    let third =
        server.post("/api/studies/bread/tell", json!({ "csv": format!("row,value\n1,2\n{}", "\n".repeat(100_000)) }));
    assert!(third.head.contains("retry-after"), "{}", third.head);
    third.refused(503, "Too many large bodies");
    drop(slow);
}

#[test]
fn studies_that_are_open_are_counted() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let open = |count: usize| {
        let text = server.get("/metrics").body;
        assert!(text.contains(&format!("\nicee_studies_open {count}\n")), "{text}");
    };
    server.create("bread");
    server.get("/api/studies/nobody").problem(404, "no-study");
    open(0);
    server.read("/api/studies/bread");
    open(1);
    // Once for looks, once for changes.
    server.done("/api/studies/bread/ask", json!({}));
    open(2);
    server.read("/api/studies");
    open(2);
}

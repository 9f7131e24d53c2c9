//! Who may do what, and what may come.

use crate::client::{Folder, Running, sheet, wide};
use icee_serve::{Options, Place, Role, Server, Tokens};
use serde_json::{Value, json};

fn openapi(server: &Running) -> serde_json::Map<String, Value> {
    server.read("/openapi.json")["paths"].as_object().unwrap().clone()
}

/// A schema of the description, where another one refers to it.
fn resolved(description: &Value, schema: &Value) -> Value {
    match schema["$ref"].as_str() {
        Some(path) => resolved(description, description.pointer(path.trim_start_matches('#')).unwrap()),
        None => schema.clone(),
    }
}

#[test]
fn roles_allow_what_they_say() {
    let folder = Folder::new();
    let tokens = Tokens::in_folder(&folder.0);
    let [reader, writer, admin] =
        [Role::Read, Role::Write, Role::Admin].map(|role| tokens.create(role.name(), role, 0).unwrap());
    let server = Running::start(&folder.0);
    let with =
        |token: &str| [("Authorization", format!("Bearer {token}")), ("Content-Type", "application/json".into())];
    let send = |token: &str, method: &str, path: &str, body: Value| {
        let headers = with(token);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        server.send(method, path, &headers, body.to_string().as_bytes())
    };
    let made = json!({ "name": "bread", "sheet": sheet(), "direction": "max", "sampler": "random" });
    let path = "/api/studies/bread";
    server.get("/api/studies").refused(401, "Authorization: Bearer TOKEN");
    assert!(server.get("/api/studies").head.contains("www-authenticate: bearer"));
    send("icee_wrong", "GET", "/api/studies", json!({})).refused(401, "not known");
    send(&reader, "POST", "/api/studies", made.clone()).refused(403, "needs the role write");
    assert_eq!(send(&writer, "POST", "/api/studies", made).status, 201);
    assert_eq!(send(&reader, "GET", path, json!({})).status, 200);
    send(&reader, "POST", &format!("{path}/ask"), json!({})).refused(403, "The token \"read\" has the role read");
    send(&writer, "DELETE", path, json!({})).refused(403, "needs the role admin");
    tokens.revoke("write").unwrap();
    send(&writer, "GET", path, json!({})).refused(401, "revoked");
    assert_eq!(send(&admin, "DELETE", path, json!({})).status, 200);
    assert_eq!((server.get("/health").status, server.get("/metrics").status), (200, 401));
    // Every route but those for everybody asks.
    for (path, methods) in openapi(&server) {
        for (method, operation) in methods.as_object().unwrap() {
            let answer = server.send(&method.to_uppercase(), &path.replace("{name}", "x"), &[], b"");
            assert_eq!(answer.status == 401, operation.get("security").is_some(), "{method} {path}");
        }
    }
}

#[test]
fn where_there_were_tokens_nobody_is_let_in_without_one() {
    let folder = Folder::new();
    let tokens = Tokens::in_folder(&folder.0);
    tokens.create("ada", Role::Admin, 0).unwrap();
    let server = Running::start(&folder.0);
    server.get("/api/studies").refused(401, "A token is missing");
    tokens.revoke("ada").unwrap();
    server.get("/api/studies").refused(401, "Ask the administrator");
    std::fs::remove_file(folder.0.join("tokens.json")).unwrap();
    server.get("/api/studies").refused(401, "No valid tokens exist");
    drop(server);
    // Nor by another server of the same folder.
    let server = Running::start(&folder.0);
    server.get("/api/studies").refused(401, "No valid tokens exist");
    let bearer = format!("Bearer {}", tokens.create("ada", Role::Read, 0).unwrap());
    assert_eq!(server.send("GET", "/api/studies", &[("Authorization", &bearer)], b"").status, 200);
}

#[test]
fn without_a_token_only_this_machine_is_served() {
    let folder = Folder::new();
    let bind = |address: &str| {
        let options =
            Options { store: Place::Folder(folder.0.clone()), address: address.parse().unwrap(), limits: wide() };
        Server::bind(&options, |_| ())
    };
    let refused = bind("0.0.0.0:0").err().unwrap().to_string();
    assert!(refused.contains("there is no token"), "{refused}");
    let server = Running::start(&folder.0);
    let taken = bind("127.0.0.1:0").err().unwrap().to_string();
    assert!(taken.contains("Another server uses"), "{taken}");
    server.send("GET", "/api/studies", &[("Host", "evil.example")], b"").refused(403, "only as localhost");
    server
        .send("GET", "/api/studies", &[("Host", "localhost"), ("Host", "localhost")], b"")
        .refused(400, "given twice");
    drop(server);
    Tokens::in_folder(&folder.0).create("ada", Role::Read, 0).unwrap();
    assert!(bind("0.0.0.0:0").is_ok());
}

#[test]
fn pages_of_other_sites_write_nothing() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let json = ("Content-Type", "application/json");
    let ask = |headers: &[(&str, &str)]| server.send("POST", "/api/studies/bread/ask", headers, b"{}");
    ask(&[json, ("Origin", "https://evil.example")]).refused(403, "another site");
    ask(&[json, ("Origin", "null")]).refused(403, "another site");
    ask(&[json, ("Sec-Fetch-Site", "cross-site")]).refused(403, "another site");
    ask(&[json, ("Sec-Fetch-Site", "same-site")]).refused(403, "another site");
    let look = |path: &str| server.send("GET", path, &[("Sec-Fetch-Site", "cross-site")], b"").status;
    assert_eq!(["/api/studies", "/metrics", "/", "/health"].map(look), [403, 403, 200, 200]);
    ask(&[("Content-Type", "text/plain")]).refused(415, "Content-Type: application/json");
    ask(&[]).refused(415, "Content-Type: application/json");
    server
        .send("DELETE", "/api/studies/bread", &[("Origin", "https://evil.example")], b"")
        .refused(403, "another site");
    assert_eq!(server.read("/api/studies/bread")["running"], json!([]));
    assert_eq!(ask(&[json, ("Origin", &format!("http://{}", server.address))]).status, 200);
    for answer in [server.get("/health"), server.get("/nowhere"), server.get("/api/studies/bread"), ask(&[])] {
        for header in
            ["content-security-policy: default-src 'none'", "x-content-type-options: nosniff", "x-frame-options: deny"]
        {
            assert!(answer.head.contains(header), "{header}\n{}", answer.head);
        }
        assert!(!answer.head.contains("access-control-allow"));
    }
}

#[test]
fn names_lead_nowhere_else() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("secret.jsonl"), "{}\n").unwrap();
    let studies = folder.0.join("studies");
    let server = Running::start(&studies);
    let long = "x".repeat(65);
    for name in ["../secret", "a/b", "%2e%2e", "", &long, ".", "..", ".a", "a.", "a\u{0}b", "con"] {
        let body = json!({ "name": name, "sheet": sheet(), "direction": "max" });
        server.problem("/api/studies", body, 400, "name-unusable");
        let like = json!({ "name": "ok", "sheet": sheet(), "direction": "max", "like": name });
        server.problem("/api/studies", like, 400, "name-unusable");
    }
    for path in ["..%2fsecret", "%2e%2e%2fsecret", "%2e%2e", &long, ".a", "%00", "%ff", "..", "a%2Fb"] {
        server.get(&format!("/api/studies/{path}")).refused(400, "");
    }
    for path in ["../secret", "", "a/b", "secret/"] {
        server.get(&format!("/api/studies/{path}")).refused(404, "There is nothing at this address");
    }
    server.get("/api/studies/secret").problem(404, "no-study");
    server.send("DELETE", "/api/studies", &[], b"").refused(405, "DELETE cannot be used here");
    let left: Vec<_> = std::fs::read_dir(&studies).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, [".serve.lock"], "what was refused has left nothing behind");
}

#[test]
fn problems_have_codes_and_leave_nothing_behind() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let make = |body: Value| {
        let mut all = json!({ "name": "other", "sheet": sheet(), "direction": "max" });
        body.as_object().unwrap().iter().for_each(|(name, value)| all[name] = value.clone());
        all
    };
    for (body, status, code) in [
        (make(json!({ "name": "bread" })), 409, "study-exists"),
        (make(json!({ "name": null })), 400, "name-missing"),
        (make(json!({ "direction": null })), 400, "direction-missing"),
        (make(json!({ "direction": "sideways" })), 400, "not-a-direction"),
        (make(json!({ "target": 1 })), 400, "direction-and-target"),
        (make(json!({ "bounds": "5" })), 400, "not-a-range"),
        (make(json!({ "also": ["purity"] })), 400, "not-a-goal"),
        (make(json!({ "sampler": "gpei" })), 400, "unknown"),
        (make(json!({ "id": "nam" })), 400, "table"),
        (make(json!({ "log": ["heat"], "linear": ["heat"] })), 400, "scale-twice"),
        (make(json!({ "sheet": "a,b\n1\n" })), 400, "table"),
        (make(json!({ "sheet": null })), 400, "sheet-missing"),
        (make(json!({ "sheet": { "path": "/etc/passwd" } })), 400, "path-refused"),
        (make(json!({ "sheet": { "base64": "?" } })), 400, "refused"),
        (make(json!({ "colour": 1 })), 400, "refused"),
    ] {
        server.problem("/api/studies", body, status, code);
    }
    server.refused("/api/studies", make(json!({ "colour": 1 })), 400, "unknown field `colour`");
    let like = server.post("/api/studies", make(json!({ "like": "nobody" })));
    assert!((400..500).contains(&like.status), "{}", like.body);
    let left = std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.contains("other")).collect();
    assert_eq!(left, [""; 0], "a study that was not created leaves nothing");
    server.problem("/api/survey", json!({ "sheet": "a,b\n1\n" }), 400, "table");
    let path = "/api/studies/bread";
    for (what, body, status, code) in [
        ("ask", json!({ "count": 0 }), 400, "count"),
        ("ask", json!({ "where": "heat <" }), 400, "condition"),
        ("ask", json!({ "within": "1y" }), 400, "not-a-time"),
        ("tell", json!({}), 400, "row-and-file"),
        ("tell", json!({ "row": 1 }), 400, "which-result"),
        ("tell", json!({ "row": 999, "value": 1 }), 400, "row-unknown"),
        ("tell", json!({ "row": 1, "value": 1, "failed": true }), 400, "which-result"),
        ("tell", json!({ "row": 1, "value": 1, "further": { "x": 1 } }), 400, "unknown"),
        ("tell", json!({ "csv": "row,value\n1,abc\n" }), 400, "table"),
        ("withdraw", json!({ "rows": [] }), 400, "no-rows"),
        ("forget", json!({ "rows": [1] }), 400, "nothing-to-forget"),
        ("undo", json!({}), 409, "nothing-to-undo"),
        ("goals", json!({}), 400, "nothing-to-change"),
    ] {
        server.problem(&format!("{path}/{what}"), body, status, code);
    }
    let all: Vec<String> = (1..=120).map(|row| format!("{row},1")).collect();
    server.done(&format!("{path}/tell"), json!({ "csv": format!("row,value\n{}\n", all.join("\n")) }));
    server.problem(&format!("{path}/ask"), json!({}), 409, "none-left");
    server.get(&format!("{path}/why?row=x")).problem(400, "row-unknown");
    server.get(&format!("{path}/why")).refused(400, "missing field `row`");
    server.get(&format!("{path}/predict?top=x")).refused(400, "query");
    server.get(&format!("{path}/predict?top=1&top=2")).refused(400, "twice");
    std::fs::write(folder.0.join("bread.jsonl"), "{\"x\":1}\n").unwrap();
    let damaged = server.get(path);
    damaged.refused(500, "bread");
    assert!(!damaged.body.contains(&folder.0.display().to_string()), "no path of the server: {}", damaged.body);
    assert_eq!(server.read("/api/studies")["studies"][0]["rows"], 0, "the list goes on without it");
}

#[test]
fn the_description_has_the_fields_that_are_read() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let description = server.read("/openapi.json");
    for (path, methods) in description["paths"].as_object().unwrap() {
        let real = path.replace("{name}", "bread");
        for (method, operation) in methods.as_object().unwrap() {
            let documented: Vec<String> = match &operation["requestBody"] {
                Value::Null => {
                    let query = operation["parameters"].as_array().into_iter().flatten();
                    let query = query.filter(|parameter| parameter["in"] == "query");
                    query.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
                }
                body => {
                    let schema = resolved(&description, &body["content"]["application/json"]["schema"]);
                    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
                }
            };
            let answer = match method.as_str() {
                "post" => server.post(&real, json!({ "no-such-field": 1 })),
                // Routes that are no verbs may not look at it.
                "get" if !documented.is_empty() => server.get(&format!("{real}?no-such-field=1")),
                _ => continue,
            };
            let said = answer.json()["error"].as_str().unwrap_or_default().to_owned();
            assert!(answer.status == 400 && said.contains("unknown field `no-such-field`"), "{method} {path}: {said}");
            // "unknown field `x`, expected one of `a`, `b`", or "there are no fields".
            let mut read: Vec<&str> = said.split('`').skip(3).step_by(2).collect();
            let mut documented: Vec<&str> = documented.iter().map(String::as_str).collect();
            read.sort_unstable();
            documented.sort_unstable();
            assert_eq!(read, documented, "{method} {path}");
        }
    }
}

#[test]
fn answers_have_the_fields_that_are_described() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let rows: String = (1..=20).map(|row| format!("{row},{row}\n")).collect();
    server.done("/api/studies/bread/tell", json!({ "csv": format!("row,value\n{rows}") }));
    let description = server.read("/openapi.json");
    let mut seen = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        let schema =
            resolved(&description, &methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]);
        let Some(properties) = schema["properties"].as_object() else { continue };
        // That of a study has to say which row.
        let answer = server.read(&path.replace("{name}", "bread").replace("/why", "/why?row=1"));
        for name in answer.as_object().unwrap().keys() {
            assert!(properties.contains_key(name), "{path}: {name}");
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(answer.get(name.as_str().unwrap()).is_some(), "{path}: {name}");
        }
        seen += 1;
    }
    assert!(seen > 9, "{seen}");
    let ask = resolved(&description, &json!({ "$ref": "#/components/schemas/Ask" }));
    assert_eq!(ask["properties"]["count"]["maximum"], 1000);
    server.problem("/api/studies/bread/ask", json!({ "count": 1001 }), 400, "count");
    // Values without names are no request, though they could be read as one.
    server.refused("/api/studies/bread/ask", json!([2, null, true]), 400, "JSON object");
    let negative = json!({ "row": -1, "value": 1 });
    server.refused("/api/studies/bread/tell", negative, 400, "a row is its id, or its number from 1");
}

#[test]
fn every_route_is_described_and_everything_described_is_a_route() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let described = openapi(&server);
    for (path, methods) in &described {
        let real = path.replace("{name}", "nobody");
        for method in ["get", "post", "delete", "put", "patch"] {
            let json = [("Content-Type", "application/json")];
            let answer = server.send(&method.to_uppercase(), &real, &json, b"{}");
            let words = answer.body;
            if let Some(operation) = methods.get(method) {
                assert!(
                    operation["responses"].get(answer.status.to_string()).is_some(),
                    "{method} {path}: {}",
                    answer.status
                );
            }
            let none = words.contains("/openapi.json lists all routes");
            assert_eq!(none, methods.get(method).is_none(), "{method} {path}: {words}");
        }
    }
    let operations = described.values().flat_map(|methods| methods.as_object().unwrap().values());
    let mut ids: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.contains(&"post_studies_name_ask") && ids.windows(2).all(|two| two[0] != two[1]), "{ids:?}");
    // What was counted is labelled by routes of the table alone, whatever was sent.
    for line in server.get("/metrics").body.lines().filter(|line| line.contains("route=\"")) {
        let route = line.split("route=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert!(route == "-" || described.contains_key(route), "{line}");
    }
}

#[test]
fn every_request_is_logged_and_no_secret_is() {
    let folder = Folder::new();
    let secret = Tokens::in_folder(&folder.0).create("ada", Role::Read, 0).unwrap();
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = std::sync::Arc::clone(&log);
    let server = Running::logged(&folder.0, wide(), move |event| {
        heard.lock().unwrap().push(serde_json::to_value(event).unwrap());
    });
    server.send("GET", "/api/studies", &[("Authorization", &format!("Bearer {secret}"))], b"");
    server.get("/nowhere");
    drop(server);
    let log = log.lock().unwrap();
    let events: Vec<&str> = log.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["started", "request", "request", "stopping", "stopped"]);
    assert_eq!(
        (&log[1]["user"], &log[1]["status"], &log[1]["route"]),
        (&json!("ada"), &json!(200), &json!("/api/studies"))
    );
    assert_eq!((&log[2]["status"], &log[2]["route"], &log[2]["path"]), (&json!(404), &json!("-"), &json!("/nowhere")));
    assert!(!format!("{log:?}").contains(&secret[5..]), "and no token");
}

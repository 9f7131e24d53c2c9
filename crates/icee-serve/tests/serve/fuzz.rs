//! Whatever comes: names that would lead elsewhere, bodies and queries that make no sense.

use crate::client::{Folder, Running, sheet};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// So many of each.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Any JSON.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0u64..10).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop_oneof![
            Just("1h"),
            Just("heat < 200"),
            Just("flour"),
            Just("heat"),
            Just("random"),
            Just("row,value\n1,2\n"),
            Just("max")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map("[a-z]{0,3}", inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A body that has a chance: fields that some request has, with anything in them; or any bytes at all.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let names = [
        "row",
        "rows",
        "value",
        "further",
        "failed",
        "impossible",
        "csv",
        "column",
        "replace",
        "again",
        "count",
        "where",
        "more",
        "same",
        "within",
        "name",
        "sheet",
        "sheets",
        "direction",
        "target",
        "bounds",
        "also",
        "id",
        "columns",
        "log",
        "categories",
        "seed",
        "by",
        "keep",
        "journal",
        "ignore",
        "linear",
        "like",
        "cost",
        "value",
        "sampler",
        "accept_model",
    ];
    let known = btree_map(prop::sample::select(names.to_vec()), anything(), 0..4);
    prop_oneof![
        4 => known.prop_map(|map| serde_json::to_vec(&map).unwrap()),
        1 => anything().prop_map(|value| value.to_string().into_bytes()),
        1 => vec(any::<u8>(), 0..64),
    ]
}

/// A sound body for every kind of request.
fn sound() -> Vec<Value> {
    let sheet = "a,b\n1,2\n2,3\n3,x\n";
    vec![
        json!({ "count": 2, "where": "heat < 200 and flour != rye", "more": true, "same": ["flour"], "within": "8h", "by": "ada" }),
        json!({ "row": 3, "value": 1.5, "further": {}, "replace": true, "by": "ada" }),
        json!({ "csv": "row,value\n1,2\n2,failed\n", "again": true, "column": "value" }),
        json!({ "rows": [1, "2"], "within": "90m", "by": "ada" }),
        json!({ "rows": [3, "4"] }),
        json!({ "sheet": sheet, "keep": true, "replace": true }),
        json!({ "sheet": { "base64": "YSxiCjEsMgoyLDEK" } }),
        json!({ "name": "other", "journal": "{\"icee_study\":6}\n", "sheets": [sheet] }),
        json!({ "bounds": "0..10", "also": ["p >= 1"] }),
        json!({
            "name": "new", "sheet": sheet, "direction": "max", "bounds": "0..10", "also": ["p >= 1", "q min"], "log": ["a"],
            "categories": ["b"], "sampler": "random", "seed": 3, "like": "bread"
        }),
        json!({ "name": "goal", "sheet": sheet, "target": 5, "id": "a", "columns": ["b"], "value": "a", "cost": "a" }),
    ]
}

/// A sound body with some of its bytes changed, taken out or put in.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let sound: Vec<Vec<u8>> = sound().iter().map(|body| body.to_string().into_bytes()).collect();
    (prop::sample::select(sound), vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..6)).prop_map(
        |(mut body, changes)| {
            for (at, byte, change) in changes {
                if body.is_empty() {
                    break;
                }
                let at = at.index(body.len());
                match change {
                    0 => body[at] = byte,
                    1 => drop(body.remove(at)),
                    _ => body.insert(at, byte),
                }
            }
            body
        },
    )
}

/// A sound body with other values in some of its fields: JSON still, and nearly what it should be.
fn exchanged() -> impl Strategy<Value = Vec<u8>> {
    let values = prop_oneof![
        2 => anything(),
        1 => prop::sample::select(vec!["", "\u{0}", "1e999", "-0", "NaN", "a,a\n1,1\n", "a\n", "PK\u{3}\u{4}", "..", "a >", "9999999999d"])
            .prop_map(Value::from),
        1 => prop::sample::select(vec![u64::MAX, 0, 1 << 53, 100_000]).prop_map(Value::from),
    ];
    (prop::sample::select(sound()), vec((any::<prop::sample::Index>(), values, any::<bool>()), 1..3)).prop_map(
        |(mut body, changes)| {
            for (at, value, in_list) in changes {
                let fields = body.as_object_mut().unwrap();
                let name = fields.keys().nth(at.index(fields.len())).unwrap().clone();
                match fields.get_mut(&name) {
                    Some(Value::Array(list)) if in_list => list.push(value),
                    _ => drop(fields.insert(name, value)),
                }
            }
            body.to_string().into_bytes()
        },
    )
}

/// The paths of all routes with a method.
fn paths(server: &Running, method: &str) -> Vec<String> {
    let all = server.read("/openapi.json")["paths"].as_object().unwrap().clone();
    let some = all.into_iter().filter(|(_, methods)| methods.get(method).is_some());
    some.map(|(path, _)| path.replace("{name}", "bread")).collect()
}

#[test]
fn no_body_is_a_mistake_of_the_server() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let path = prop::sample::select(paths(&server, "post"));
    proptest!(cases(800), |(path in path, body in prop_oneof![body(), mutated(), exchanged()])| {
        let answer = server.send("POST", &path, &[("Content-Type", "application/json")], &body);
        prop_assert!(matches!(answer.status, 200 | 201 | 400 | 409), "{} {}: {}", path, answer.status, answer.body);
        prop_assert!(serde_json::from_str::<Value>(&answer.body).is_ok());
    });
}

#[test]
fn no_query_or_key_is_a_mistake_of_the_server() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    server.create("bread");
    let looks = paths(&server, "get").into_iter().filter(|path| !path.ends_with("/events")).collect::<Vec<_>>();
    let query = prop_oneof![
        "[ -~&&[^#]]{0,30}",
        (prop::sample::select(vec!["top", "row", "count", "told", "sampler"]), "[!-~&&[^#&]]{0,8}")
            .prop_map(|(name, value)| format!("{name}={value}")),
    ];
    proptest!(cases(300), |(path in prop::sample::select(looks), query in query, key in "[!-~]{0,140}")| {
        let query = query.replace(' ', "+");
        let answer = server.send("GET", &format!("{path}?{query}"), &[("Idempotency-Key", &key)], b"");
        prop_assert!((200..500).contains(&answer.status), "{} {} {}: {}", path, query, answer.status, answer.body);
    });
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let folder = Folder::new();
    let studies = folder.0.join("studies");
    let server = Running::start(&studies);
    let part = prop_oneof![
        Just("..".to_owned()),
        Just("/".to_owned()),
        Just("\\".to_owned()),
        Just("\0".to_owned()),
        Just("%2e%2e%2f".to_owned()),
        Just("C:".to_owned()),
        Just("~".to_owned()),
        Just("CON".to_owned()),
        Just(".jsonl".to_owned()),
        "[a-zA-Z0-9_-]{1,40}",
        "\\PC{0,6}",
    ];
    proptest!(cases(200), |(name in vec(part, 1..4).prop_map(|parts| parts.concat()))| {
        let body = json!({ "name": name, "sheet": sheet(), "direction": "max", "sampler": "random" });
        let status = server.post("/api/studies", body).status;
        prop_assert!(matches!(status, 201 | 400 | 409), "{}: {}", name, status);
        let usable = name.parse::<icee_protocol::StudyName>().is_ok();
        prop_assert!(usable || status == 400, "{}", name);
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let found = server.get(&format!("/api/studies/{encoded}/best")).status;
        prop_assert!(matches!(found, 200 | 400 | 404), "{}: {}", name, found);
        let outside: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
        prop_assert_eq!(outside, ["studies"]);
        for file in std::fs::read_dir(&studies).unwrap() {
            let file = file.unwrap();
            let known = [".jsonl", ".sheets", ".lock"].iter().any(|ending| file.file_name().to_string_lossy().ends_with(ending));
            prop_assert!(known, "{:?}", file.file_name());
        }
    });
}

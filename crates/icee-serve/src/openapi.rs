//! The description of all routes for programs (OpenAPI 3.1), from the table that the router comes from and the
//! protocol's schemas.

use crate::room::Watch;
use crate::routes::{EVENTS, JSON, METRICS, ROUTES, Route, Work};
use icee_protocol::{Method, Refusal, StudyName, Verb};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Where schemas lie.
const SCHEMAS: &str = "/components/schemas/";
/// Characters of a key.
const LONGEST_KEY: usize = 128;

/// The description.
pub fn description() -> Value {
    let mut generator = generator();
    let mut paths = Map::new();
    for route in ROUTES.iter() {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.name().to_lowercase()] = operation(route, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "icee serve",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Which row of a table of candidates to try next: studies for a team.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": generator.take_definitions(true),
        },
    })
}

/// The fields of a query that are numbers.
pub fn numbers(work: Work) -> Vec<String> {
    let mut generator = generator();
    let fields = fields(work, &mut generator);
    let is_number = |schema: &Value| match &schema["type"] {
        Value::Array(types) => types.contains(&json!("integer")),
        one => one == "integer",
    };
    fields.into_iter().filter(|field| is_number(&field.schema)).map(|field| field.name).collect()
}

/// A field of a query.
struct Field {
    name: String,
    schema: Value,
    required: bool,
}

fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = SCHEMAS.into();
        settings.meta_schema = None;
    });
    settings.into_generator()
}

/// The schemas of a route's request and reply, if it has some.
fn schemas(work: Work, generator: &mut SchemaGenerator) -> (Option<Schema>, Option<Schema>) {
    match work {
        Work::Verb(verb) => {
            let (request, reply) = verb.schemas(generator);
            (Some(request), Some(reply))
        }
        Work::Game => (Some(generator.subschema_for::<Watch>()), None),
        _ => (None, None),
    }
}

/// A schema itself, if this is a reference.
fn resolved(schema: Option<Schema>, generator: &SchemaGenerator) -> Value {
    let Some(schema) = schema else { return Value::Null };
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let known = name.and_then(|name| generator.definitions().get(name));
    known.cloned().unwrap_or_else(|| schema.to_value())
}

fn fields(work: Work, generator: &mut SchemaGenerator) -> Vec<Field> {
    let request = schemas(work, generator).0;
    let request = resolved(request, generator);
    let required = |name: &str| request["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
    let properties = request["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, schema)| Field { name: name.clone(), schema: schema.clone(), required: required(name) })
        .collect()
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let (request, reply) = schemas(route.work, generator);
    let about = about(route.work, &resolved(request.clone(), generator));
    let (summary, more) = about.split_once("\n\n").unwrap_or((&about, ""));
    let role = route.role.map(|role| format!("Needs the role {role}."));
    let texts: Vec<&str> =
        [more, role.as_deref().unwrap_or_default()].into_iter().filter(|text| !text.is_empty()).collect();
    let mut operation = json!({
        "operationId": id(route),
        "summary": summary,
        "description": texts.join("\n\n"),
        "parameters": parameters(route, generator),
        "responses": responses(route, reply, generator),
    });
    if route.method == Method::Post {
        operation["requestBody"] = json!({ "required": true, "content": { JSON: { "schema": request } } });
    }
    if route.role.is_some() {
        operation["security"] = json!([{ "token": [] }]);
    }
    operation
}

fn parameters(route: &Route, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut parameters = Vec::new();
    if route.path.contains("{name}") {
        let schema = generator.subschema_for::<StudyName>();
        parameters.push(json!({ "name": "name", "in": "path", "required": true, "schema": schema }));
    }
    if route.verb().is_some_and(Verb::changes) {
        let about = "A request that is sent again with the same key is done once, and gets the same answer.";
        let schema = json!({ "type": "string", "pattern": format!("^[!-~]{{1,{LONGEST_KEY}}}$") });
        parameters.push(json!({ "name": "Idempotency-Key", "in": "header", "description": about, "schema": schema }));
    }
    if route.method == Method::Get {
        parameters.extend(fields(route.work, generator).into_iter().map(|Field { name, mut schema, required }| {
            let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            json!({ "name": name, "in": "query", "description": about, "required": required, "schema": schema })
        }));
    }
    parameters
}

/// What a route does, in words.
fn about(work: Work, request: &Value) -> String {
    match work {
        Work::Verb(_) => request["description"].as_str().unwrap_or_default(),
        Work::Health => "Whether the server lives.",
        Work::Description => "This description of all routes.",
        Work::Metrics => "Counts and times, for Prometheus.",
        Work::Events => "A message whenever the study has changed: its number of lines.",
        Work::Rooms => "List the rooms in which an agent can be watched.",
        Work::Game => "Watch an agent play a room: its steps one by one, with what it predicts for every cell.",
    }
    .to_owned()
}

fn responses(route: &Route, reply: Option<Schema>, generator: &mut SchemaGenerator) -> Value {
    let done = if matches!(route.verb(), Some(Verb::Create | Verb::Import)) { "201" } else { "200" };
    let text = json!({ "type": "string" });
    let (kind, schema) = match (route.work, reply) {
        (Work::Verb(verb), reply) => match verb.document() {
            Some(kind) => (kind, text),
            None => (JSON, json!(reply)),
        },
        (Work::Metrics, _) => (METRICS, text),
        (Work::Events | Work::Game, _) => (EVENTS, text),
        (Work::Rooms, _) => (JSON, json!({ "type": "array" })),
        (Work::Health | Work::Description, _) => (JSON, json!({ "type": "object" })),
    };
    let kind = kind.split(';').next().unwrap_or_default();
    let mut responses = json!({ done: { "description": "Done.", "content": { kind: { "schema": schema } } } });
    for (status, about, again) in refusals(route) {
        responses[status] = refusal(about, again, generator);
    }
    responses["default"] = refusal("Not done.", false, generator);
    responses
}

/// The refusals of a request to a route: the status, the reason, and whether it says when to retry.
fn refusals(route: &Route) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let (posts, asks) = (route.method == Method::Post, route.role.is_some());
    [
        ("400", "The request makes no sense.", true, false),
        ("401", "The token is missing or not known.", asks, false),
        ("403", "The token's role does not allow it, or a page of another site sends it.", asks, false),
        ("404", "There is no such study.", route.path.contains("{name}"), false),
        ("408", "The body did not arrive in time.", posts, false),
        ("409", "It does not fit the study as it stands, or what exists already.", route.verb().is_some(), false),
        ("413", "The body is too large.", posts, false),
        ("415", "The body is not declared as JSON.", posts, false),
        ("429", "Too many requests.", route.is_limited(), true),
        ("503", "The server is busy, or its database is temporarily not available.", route.is_limited(), true),
    ]
    .into_iter()
    .filter_map(|(status, about, may_be, again)| may_be.then_some((status, about, again)))
}

fn refusal(about: &str, again: bool, generator: &mut SchemaGenerator) -> Value {
    let schema = generator.subschema_for::<Refusal>();
    let mut refusal = json!({ "description": about, "content": { JSON: { "schema": schema } } });
    if again {
        let seconds = json!({ "type": "integer", "minimum": 1 });
        refusal["headers"] =
            json!({ "Retry-After": { "description": "Seconds after which to try again.", "schema": seconds } });
    }
    refusal
}

/// The name of a route in programs: its method and path, such as post_studies_name_ask.
fn id(route: &Route) -> String {
    let path = route.path.strip_prefix("/api").unwrap_or(route.path);
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(route.method.name().to_lowercase()).chain(words.map(str::to_owned)).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_says_what_it_does_and_every_reference_leads_somewhere() {
        let description = description();
        for (path, methods) in description["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                assert!(operation["summary"].as_str().is_some_and(|words| words.ends_with('.')), "{path} {operation}");
            }
        }
        let text = description.to_string();
        let schemas = description["components"]["schemas"].as_object().unwrap();
        let names = text.split("\"$ref\":\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        for name in names {
            let known = name.strip_prefix("#").and_then(|path| path.strip_prefix(SCHEMAS));
            assert!(known.is_some_and(|name| schemas.contains_key(name)), "{name}");
        }
    }

    #[test]
    fn numbers_in_queries_are_known() {
        assert_eq!(numbers(Work::Verb(Verb::Predict)), ["top"]);
        assert_eq!(numbers(Work::Verb(Verb::Why)), [""; 0]);
        assert_eq!(numbers(Work::Game).len(), 3);
    }
}

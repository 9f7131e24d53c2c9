//! The description of all routes for machines (OpenAPI 3.1), from the table that the router comes from.

use crate::fields::{Field, Holds};
use crate::keys;
use crate::routes::{Answers, JSON, ROUTES, Route, Verb, Work};
use icee_study::SamplerKind;
use serde_json::{Map, Value, json};

/// The description.
pub fn description() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.name().to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "icee serve",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Which row next? Studies for a team. Answers are the JSON of the command line.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": {
                "Error": {
                    "type": "object",
                    "properties": { "error": { "type": "string", "description": "What is wrong, and the way out." } },
                    "required": ["error"],
                },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut parameters = Vec::new();
    if route.path.contains("{name}") {
        let schema = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" });
        parameters.push(json!({ "name": "name", "in": "path", "required": true, "schema": schema }));
    }
    if matches!(route.work, Work::Once(_)) {
        let about = "Sent again with the same key, a request is not done again: it gets the same answer.";
        let schema = json!({ "type": "string", "pattern": format!("^[!-~]{{1,{}}}$", keys::LONGEST_KEY) });
        parameters.push(json!({ "name": "Idempotency-Key", "in": "header", "description": about, "schema": schema }));
    }
    let mut operation = json!({ "operationId": id(route), "summary": route.about, "responses": responses(route) });
    if route.verb == Verb::Get {
        parameters.extend(route.fields.iter().map(|field| {
            let Field { name, about, required, .. } = field;
            json!({ "name": name, "in": "query", "description": about, "required": required, "schema": schema(field.holds) })
        }));
    } else if route.verb == Verb::Post {
        operation["requestBody"] = json!({ "required": true, "content": { JSON: { "schema": body(route.fields) } } });
    }
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some(role) = route.role {
        operation["security"] = json!([{ "token": [] }]);
        operation["description"] = json!(format!("Needs the role {role}."));
    }
    operation
}

fn responses(route: &Route) -> Value {
    let done = if matches!(route.work, Work::Create | Work::Import) { "201" } else { "200" };
    let (kind, schema) = match route.answers {
        Answers::Object => (JSON, json!({ "type": "object" })),
        Answers::List => (JSON, json!({ "type": "array" })),
        Answers::Either => (JSON, json!({ "type": ["object", "array"] })),
        Answers::Text(kind) => (kind.split(';').next().unwrap_or_default(), json!({ "type": "string" })),
    };
    let mut responses = json!({ done: { "description": "Done.", "content": { kind: { "schema": schema } } } });
    for (status, about, again) in refusals(route) {
        responses[status] = refusal(about, again);
    }
    responses["default"] = refusal("Not done.", false);
    responses
}

/// How a request to a route may be refused: the status, why, and whether it says when to come again.
fn refusals(route: &Route) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let (posts, asks) = (route.verb == Verb::Post, route.role.is_some());
    let fits = matches!(route.work, Work::Create | Work::Import | Work::Once(_) | Work::Study(_));
    [
        ("400", "The request makes no sense.", true, false),
        ("401", "There is no token, or none that is known.", asks, false),
        ("403", "The token's role does not allow it, or a page of another site asks.", asks, false),
        ("404", "There is no such study.", route.path.contains("{name}"), false),
        ("408", "The body did not arrive in time.", posts, false),
        ("409", "It does not fit the study as it stands, or what is there already.", fits, false),
        ("413", "The body is too large.", posts, false),
        ("415", "The body is not said to be JSON.", posts, false),
        ("429", "Too many requests.", route.is_limited(), true),
        ("503", "Not for now: the server is busy, or the database away.", route.is_limited(), true),
    ]
    .into_iter()
    .filter_map(|(status, about, may_be, again)| may_be.then_some((status, about, again)))
}

fn refusal(about: &str, again: bool) -> Value {
    let error = json!({ "schema": { "$ref": "#/components/schemas/Error" } });
    let mut refusal = json!({ "description": about, "content": { JSON: error } });
    if again {
        let seconds = json!({ "type": "integer", "minimum": 1 });
        refusal["headers"] =
            json!({ "Retry-After": { "description": "Seconds after which to try again.", "schema": seconds } });
    }
    refusal
}

/// What programs call a route: its method and path, such as post_studies_name_ask.
fn id(route: &Route) -> String {
    let path = route.path.strip_prefix("/api").unwrap_or(route.path);
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(route.verb.name().to_lowercase()).chain(words.map(str::to_owned)).collect::<Vec<_>>().join("_")
}

fn body(fields: &[Field]) -> Value {
    let property = |field: &Field| {
        let mut property = schema(field.holds);
        property["description"] = json!(field.about);
        (field.name.to_owned(), property)
    };
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let properties: Map<String, Value> = fields.iter().map(property).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn schema(holds: Holds) -> Value {
    match holds {
        Holds::Text => json!({ "type": "string" }),
        Holds::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Holds::Row => json!({ "type": ["string", "integer"] }),
        Holds::Rows => json!({ "type": "array", "items": schema(Holds::Row), "minItems": 1 }),
        Holds::Number => json!({ "type": "number" }),
        Holds::Count => json!({ "type": "integer", "minimum": 0 }),
        Holds::UpTo(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        Holds::OneOf(words) => json!({ "type": "string", "enum": words }),
        Holds::Sampler => json!({ "type": "string", "enum": SamplerKind::ALL.map(SamplerKind::name) }),
        Holds::Flag => json!({ "type": "boolean", "default": false }),
        Holds::Numbers => json!({ "type": "object", "additionalProperties": { "type": "number" } }),
    }
}

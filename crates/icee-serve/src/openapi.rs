//! The description of all routes for machines (OpenAPI 3.1), from the table that the router comes from.

use crate::fields::{Field, Holds};
use crate::routes::{JSON, ROUTES, Route, Verb, Work};
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
        let schema = json!({ "type": "string", "maxLength": crate::keys::LONGEST_KEY });
        parameters.push(json!({ "name": "Idempotency-Key", "in": "header", "description": about, "schema": schema }));
    }
    let mut operation = json!({ "summary": route.about, "responses": responses(route) });
    if route.verb == Verb::Get {
        parameters.extend(route.fields.iter().map(|field| {
            let Field { name, about, required, .. } = field;
            json!({ "name": name, "in": "query", "description": about, "required": required, "schema": schema(field.holds) })
        }));
    } else if route.verb == Verb::Post {
        operation["requestBody"] = json!({ "content": { JSON: { "schema": body(route.fields) } } });
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
    let kind = route.answers.split(';').next().unwrap_or_default();
    let error = json!({ "schema": { "$ref": "#/components/schemas/Error" } });
    json!({
        done: { "description": "Done.", "content": { kind: {} } },
        "default": { "description": "Not done.", "content": { JSON: error } },
    })
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
        Holds::Flag => json!({ "type": "boolean", "default": false }),
        Holds::Numbers => json!({ "type": "object", "additionalProperties": { "type": "number" } }),
    }
}

//! HTTP requests in the protocol's terms: which verb of which study with which fields, and from which client.

use crate::failure::Failure;
use crate::routes::Route;
use axum::extract::Query;
use axum::http::{HeaderMap, Uri};
use icee_client::{FACE, KEY};
use icee_protocol::{Face, Method, Problem, Reader, Request, StudyName, Verb};
use serde_json::{Map, Value};

/// A request of a verb.
pub struct Incoming {
    /// The verb.
    pub verb: Verb,
    /// The fields.
    pub request: Request,
    /// The study: named by the path, or by the request for a new one.
    pub study: Option<StudyName>,
    /// The name of the token.
    pub who: Option<String>,
    /// Its idempotency key, if it has one.
    pub key: Option<String>,
    /// The reader of the answer.
    pub reader: Reader,
}

/// The parts of an HTTP request that matter.
pub struct Parts<'a> {
    /// The study in the path.
    pub study: Option<StudyName>,
    /// The query, after the question mark.
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}

impl Incoming {
    /// Parses a request of a verb. A large body may take a while.
    ///
    /// # Errors
    /// If it cannot be parsed.
    pub fn read(route: &Route, verb: Verb, who: Option<String>, parts: Parts<'_>) -> Result<Incoming, Failure> {
        let Parts { study, uri, headers, body } = parts;
        let (mut fields, what) = match route.method {
            Method::Get => (query(uri, &route.numbers)?, "query"),
            Method::Post => (object(body)?, "body"),
            Method::Delete => (Value::Object(Map::new()), "body"),
        };
        // Otherwise an invalid name would be reported like a missing comma.
        if let (false, Some(name)) = (verb.is_of_study(), fields.get("name").and_then(Value::as_str)) {
            name.parse::<StudyName>()?;
        }
        if let (Verb::Import, Some(bundle)) = (verb, fields.as_object_mut()) {
            // As it was exported by another server.
            bundle.remove("notes");
        }
        let wrong = |error: serde_json::Error| Failure::bad(format!("The {what} is not as expected: {error}"));
        let request = verb.request(fields).map_err(wrong)?;
        let named = match &request {
            Request::Create(create) => Some(&create.name),
            Request::Import(import) => Some(&import.name),
            _ => None,
        };
        let study = match named {
            Some(name) => Some(name.clone().ok_or(Problem::NameMissing)?),
            None => study,
        };
        // Whether it is a valid key is checked by the handler.
        let key = headers.get(KEY).map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
        let reader = Reader::at(face(headers), study.as_ref().map(StudyName::as_str));
        Ok(Incoming { verb, request, study, who, key, reader })
    }
}

/// The face that the words are for.
pub fn face(headers: &HeaderMap) -> Face {
    headers.get(FACE).and_then(|face| face.to_str().ok()).and_then(Face::named).unwrap_or(Face::Http)
}

/// The body's JSON object; an empty body counts as `{}`.
fn object(body: &[u8]) -> Result<Value, Failure> {
    let text: &[u8] = if body.is_empty() { b"{}" } else { body };
    // A bare list of values would parse, too, and depend on the present order of the fields.
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(Failure::bad("The body is not as expected: it is no JSON object, {\"field\": value}."));
    }
    serde_json::from_slice(text).map_err(|error| Failure::bad(format!("The body is not as expected: {error}")))
}

/// The query as JSON; these fields are numbers.
pub fn query(uri: &Uri, numbers: &[String]) -> Result<Value, Failure> {
    let wrong = |fault: String| Failure::bad(format!("The query is not as expected: {fault}"));
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|error| wrong(error.body_text()))?;
    let mut fields = Map::new();
    for (name, text) in pairs {
        let value = match numbers.contains(&name) {
            true => {
                let number: Result<u64, _> = text.parse();
                Value::from(number.map_err(|_| wrong(format!("{name} is not a whole number: \"{text}\"")))?)
            }
            false => Value::String(text),
        };
        if fields.insert(name.clone(), value).is_some() {
            return Err(wrong(format!("\"{name}\" is given twice")));
        }
    }
    Ok(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_objects_and_bodies_must_be() {
        let numbers = ["top".to_owned()];
        let of = |uri: &str| query(&uri.parse().unwrap(), &numbers);
        assert_eq!(of("/x?top=7&row=7&a=b%20c").unwrap(), serde_json::json!({ "top": 7, "row": "7", "a": "b c" }));
        assert!(of("/x?top=-1").unwrap_err().words().contains("top is not a whole number"));
        assert!(of("/x?a=1&a=2").unwrap_err().words().contains("given twice"));
        assert_eq!((object(b"").unwrap(), object(b" {}").unwrap()), (serde_json::json!({}), serde_json::json!({})));
        assert!(object(b"[1]").is_err() && object(b"{").is_err());
    }
}

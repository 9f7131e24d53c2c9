//! A request when all is known of it, and its answer.

use crate::failure::Failure;
use crate::name::StudyName;
use crate::routes::JSON;
use crate::wire::{NOTES, Noted, ascii, sheet_bytes};
use axum::body::Bytes;
use axum::extract::Query;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use icee_study::check_unpacked;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::{SystemTime, UNIX_EPOCH};

/// A request.
pub struct Call {
    /// The study's name, where the path has one.
    pub name: Option<StudyName>,
    /// What came with it.
    pub body: Bytes,
    /// Where it went, for what stands behind the question mark.
    pub uri: Uri,
    /// Who asks: the name of the token.
    pub user: Option<String>,
    /// The beginning of the paths of all files here, which is not for clients.
    pub folder: String,
    /// Bytes that a workbook may unpack to.
    pub unpacked: u64,
}

impl Call {
    /// What the body says; nothing is as good as `{}`.
    ///
    /// # Errors
    /// Where it says something else.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let text: &[u8] = if self.body.is_empty() { b"{}" } else { &self.body };
        // A list of the values alone would be read, too, and mean whatever the order of the fields is today.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err(Failure::bad("the body is not what it should be: a JSON object, {\"field\": value}"));
        }
        serde_json::from_slice(text)
            .map_err(|error| Failure::bad(format!("the body is not what it should be: {error}")))
    }

    /// A sheet that came along, as text or in base64.
    ///
    /// # Errors
    /// Where there is not one of both, or it unpacks to too much.
    pub fn sheet(&self, text: Option<&str>, base64: Option<&str>) -> Result<Vec<u8>, Failure> {
        let bytes = sheet_bytes(text, base64).map_err(Failure::bad)?;
        check_unpacked(&bytes, self.unpacked)?;
        Ok(bytes)
    }

    /// What stands behind the question mark.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn query<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        query(&self.uri)
    }

    /// Words for clients: where the folder lies on the server is not for them.
    pub fn tidy(&self, words: &str) -> String {
        words.replace(&self.folder, "")
    }

    /// The same of many.
    pub fn tidy_all(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|words| self.tidy(words)).collect()
    }

    /// The study's name.
    ///
    /// # Errors
    /// Where the path has none, which no route allows.
    pub fn name(&self) -> Result<&StudyName, Failure> {
        self.name.as_ref().ok_or_else(|| Failure::internal("the route has no name of a study"))
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its type.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
    /// What the command line says beside it, where the text itself has no place for that.
    pub notes: Vec<String>,
}

/// What becomes of a request.
pub type Done = Result<Reply, Failure>;

impl Reply {
    /// An answer of this type.
    pub fn of(kind: &'static str, text: String) -> Reply {
        Reply { status: StatusCode::OK, kind, text, notes: vec![] }
    }

    /// JSON as the command line prints it.
    ///
    /// # Errors
    /// Where it cannot be written as JSON, which would be a mistake of ours.
    pub fn json(value: &impl Serialize) -> Done {
        let text = serde_json::to_string_pretty(value).map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Reply::of(JSON, text + "\n"))
    }

    /// The same with notes in the header [`NOTES`]: lists have no place for them.
    pub fn beside(self, notes: Vec<String>) -> Reply {
        Reply { notes, ..self }
    }

    /// The same of an object, with what the command line says beside it.
    ///
    /// # Errors
    /// As [`Reply::json`].
    pub fn noted(value: impl Serialize, notes: Vec<String>) -> Done {
        Reply::json(&Noted { value, notes })
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = (self.status, [(header::CONTENT_TYPE, self.kind)], self.text).into_response();
        if !self.notes.is_empty()
            && let Ok(notes) = HeaderValue::from_str(&ascii(&serde_json::json!(self.notes).to_string()))
        {
            response.headers_mut().insert(NOTES, notes);
        }
        response
    }
}

/// What stands behind the question mark.
///
/// # Errors
/// Where it is something else.
pub fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Failure> {
    let Query(found) = Query::try_from_uri(uri)
        .map_err(|error| Failure::bad(format!("the query is not what it should be: {}", error.body_text())))?;
    Ok(found)
}

/// Seconds since 1970, by this machine's clock.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

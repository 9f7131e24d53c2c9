//! What goes wrong, as an answer: a status and the words of the command line.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use icee_base::files::FileError;
use icee_base::table::TableError;
use icee_study::Error;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error as Words;

/// Bytes of an error's words.
const MOST_WORDS: usize = 2048;

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The status of the answer.
    pub status: StatusCode,
    /// What is wrong, and the way out.
    pub words: String,
    /// Seconds after which it is worth trying again.
    pub retry: Option<u64>,
}

impl Failure {
    /// A failure of this status.
    pub fn new(status: StatusCode, words: impl Into<String>) -> Failure {
        Failure { status, words: words.into(), retry: None }
    }

    /// The request makes no sense.
    pub fn bad(words: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, words)
    }

    /// It makes sense, but not as the study stands.
    pub fn conflict(words: impl Into<String>) -> Failure {
        Failure::new(StatusCode::CONFLICT, words)
    }

    /// There is no such thing.
    pub fn missing(words: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, words)
    }

    /// What is wrong where studies are kept: the client has not done it.
    pub fn stored(error: Error) -> Failure {
        match error {
            Error::Unavailable { .. } | Error::Busy(_) => Failure::from(error),
            error => Failure::internal(error.to_string()),
        }
    }

    /// The server could not do it.
    pub fn internal(words: impl Into<String>) -> Failure {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, words)
    }

    /// The same, for now.
    pub fn busy(status: StatusCode, words: impl Into<String>) -> Failure {
        Failure { retry: Some(1), ..Failure::new(status, words) }
    }

    /// Too much was asked for; it may be asked again after some time.
    pub fn too_fast(rate: f64, wait: Duration) -> Failure {
        let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
        let words = format!("too many requests; at most {rate} a second in the long run");
        Failure { retry: Some(seconds), ..Failure::new(StatusCode::TOO_MANY_REQUESTS, words) }
    }

    /// The same in few enough words: what is wrong may have been said of a very long cell.
    pub fn in_short(mut self) -> Failure {
        if self.words.len() > MOST_WORDS {
            let end = (0..=MOST_WORDS).rev().find(|end| self.words.is_char_boundary(*end));
            self.words.truncate(end.unwrap_or_default());
            self.words.push('…');
        }
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let words = error.to_string();
        if matches!(error, Error::Unavailable { .. } | Error::Busy(_)) {
            return Failure::busy(StatusCode::SERVICE_UNAVAILABLE, words);
        }
        let status = match &error {
            Error::Conflict(_) | Error::OtherModel { .. } => StatusCode::CONFLICT,
            Error::File(FileError::Io { .. }) | Error::Table(TableError::File(FileError::Io { .. })) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Error::Stored { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        Failure::new(status, words)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        Failure::internal(error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.words }).to_string() + "\n";
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        if let Some(seconds) = self.retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Why there is no server, or no token.
#[derive(Debug, Words)]
#[non_exhaustive]
pub enum ServeError {
    /// A file that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// An address that cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Address {
        /// Which.
        address: std::net::SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Others could reach it, and nobody would be asked who they are.
    #[error(
        "{address} can be reached from other machines, and there is no token yet; create one with `{command}`, or listen on 127.0.0.1"
    )]
    Open {
        /// Where they could.
        address: std::net::SocketAddr,
        /// What makes a token.
        command: String,
    },
    /// Another server is at work on the folder.
    #[error("another server is at work on {}; stop it, or serve another folder with --studies DIR", .0.display())]
    Taken(PathBuf),
    /// A database that cannot be used as it was said.
    #[error("{0}")]
    Store(String),
    /// Where studies are kept, something is wrong.
    #[error(transparent)]
    Kept(#[from] Error),
    /// A token that cannot be made or found.
    #[error("{0}")]
    Token(String),
    /// What the system refuses.
    #[error("the server cannot run: {0}")]
    Io(#[from] std::io::Error),
}

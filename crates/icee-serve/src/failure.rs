//! Failures as answers: a problem with its status, in words for the face that asked.

use crate::shown::shown;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use icee_base::files::FileError;
use icee_protocol::{Kind, Problem, Reader, Refusal, render};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error as Words;

/// Bytes of an error's words.
const MOST_WORDS: usize = 2048;

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The status of the answer.
    pub status: StatusCode,
    /// The problem.
    pub problem: Box<Problem>,
    /// Seconds after which a retry may succeed.
    pub retry: Option<u64>,
}

impl Failure {
    /// A problem of the server, rather than of a study.
    pub fn new(status: StatusCode, fault: impl Into<String>) -> Failure {
        let problem = Problem::Refused { status: status.as_u16(), fault: fault.into() };
        Failure { status, problem: Box::new(problem), retry: None }
    }

    /// The request makes no sense.
    pub fn bad(fault: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, fault)
    }

    /// There is no such resource.
    pub fn missing(fault: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, fault)
    }

    /// The server has too much to do.
    pub fn busy(fault: impl Into<String>) -> Failure {
        Failure { retry: Some(1), ..Failure::new(StatusCode::SERVICE_UNAVAILABLE, fault) }
    }

    /// Too many requests; the client may retry after some time.
    pub fn too_fast(rate: f64, wait: Duration) -> Failure {
        let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
        let fault = format!("Too many requests: at most {rate} per second on average. Try again in {seconds} s.");
        Failure { retry: Some(seconds), ..Failure::new(StatusCode::TOO_MANY_REQUESTS, fault) }
    }

    /// The program has made a mistake.
    pub fn internal(fault: impl Into<String>) -> Failure {
        Problem::Bug { fault: fault.into() }.into()
    }

    /// A problem of the store: the client has not caused it.
    pub fn stored(problem: Problem) -> Failure {
        let failure = Failure::from(problem);
        match failure.status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::NOT_FOUND => failure,
            _ => Failure { status: StatusCode::INTERNAL_SERVER_ERROR, ..failure },
        }
    }

    /// In words for the log, with all details.
    pub fn words(&self) -> String {
        in_short(self.problem.to_string())
    }

    /// As clients see it, in words for this reader.
    pub fn refusal(&self, reader: &Reader, hidden: Option<&str>) -> Refusal {
        let problem = shown(&*self.problem, hidden);
        let problem = problem.unwrap_or_else(|| Problem::Bug { fault: "an error that cannot be written".into() });
        Refusal { error: in_short(render::problem(&problem, reader)), problem }
    }

    /// The answer.
    pub fn response(&self, reader: &Reader, hidden: Option<&str>) -> Response {
        // It is made of texts and numbers, which can always be written.
        let body = serde_json::to_string(&self.refusal(reader, hidden)).unwrap_or_default() + "\n";
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

/// Words that are not too long: an error may list many rows.
fn in_short(mut words: String) -> String {
    if words.len() > MOST_WORDS {
        let end = (0..=MOST_WORDS).rev().find(|end| words.is_char_boundary(*end));
        words.truncate(end.unwrap_or_default());
        words.push('…');
    }
    words
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        let status = match (&problem, problem.kind()) {
            (Problem::Refused { status, .. }, _) => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            (_, Kind::Bad) => StatusCode::BAD_REQUEST,
            (_, Kind::Unauthorized) => StatusCode::UNAUTHORIZED,
            (_, Kind::Forbidden) => StatusCode::FORBIDDEN,
            (_, Kind::Missing) => StatusCode::NOT_FOUND,
            (_, Kind::Conflict | Kind::Exists) => StatusCode::CONFLICT,
            (_, Kind::Busy) => StatusCode::SERVICE_UNAVAILABLE,
            (_, Kind::Internal) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let retry = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        Failure { status, problem: Box::new(problem), retry }
    }
}

/// Why there is no server, or no token.
#[derive(Debug, Words)]
#[non_exhaustive]
pub enum ServeError {
    /// An unusable file.
    #[error(transparent)]
    File(#[from] FileError),
    /// An address on which the server cannot listen.
    #[error("Cannot listen on {address}: {source}")]
    Address {
        /// The address.
        address: std::net::SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// Others could reach it without a token.
    #[error("Other machines can reach {address}, and there is no token. Create one, or listen on 127.0.0.1.")]
    Open {
        /// The address.
        address: std::net::SocketAddr,
    },
    /// Another server has the folder.
    #[error("Another server uses {}. Stop it, or serve another folder.", .0.display())]
    Taken(PathBuf),
    /// An unusable database.
    #[error("{0}")]
    Store(String),
    /// A problem of the store.
    #[error(transparent)]
    Kept(#[from] Problem),
    /// A token that cannot be made or found.
    #[error("{0}")]
    Token(String),
    /// A refusal of the system.
    #[error("The server cannot run: {0}")]
    Io(#[from] std::io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_follow_from_problems() {
        let status = |problem: Problem| Failure::from(problem).status.as_u16();
        let file = |io| Problem::File { path: "/srv/a.csv".into(), fault: "x".into(), io };
        assert_eq!((status(file(false)), status(file(true)), status(Problem::NothingToUndo)), (400, 500, 409));
        assert_eq!(status(Problem::StudyExists { name: "a".into() }), 409);
        assert_eq!(status(Problem::Refused { status: 415, fault: "x".into() }), 415);
        assert_eq!(Failure::stored(file(false)).status.as_u16(), 500);
        let busy = Failure::from(Problem::Busy { what: "x".into() });
        assert_eq!((busy.status.as_u16(), busy.retry), (503, Some(1)));
    }
}

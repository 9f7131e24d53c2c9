//! A server over HTTP.

use icee_protocol::{Face, Noted, Problem, Reply, Request, Result, StudyName, Transport};

/// The header with the notes of a reply that is a document, as a JSON list.
pub const NOTES: &str = "icee-notes";
/// The header that says for which face words are wanted ([`Face::name`]).
pub const FACE: &str = "icee-face";
/// The header with which a request may be sent twice and is done once.
pub const KEY: &str = "idempotency-key";
/// The variable that has the token.
pub const TOKEN: &str = "ICEE_TOKEN";

/// The studies of a server.
pub struct Http {
    url: String,
    face: Face,
}

impl Http {
    /// Those of the server at this address, with a token if it asks for one. Nothing is sent yet.
    ///
    /// # Errors
    /// Where the address or the token cannot be one.
    pub fn new(url: &str, token: Option<String>, face: Face) -> Result<Http> {
        let _ = token;
        Ok(Http { url: url.to_owned(), face })
    }

    /// The host to which the token goes unencrypted, over a network.
    pub fn unencrypted(&self) -> Option<&str> {
        None
    }
}

impl Transport for Http {
    fn send(&mut self, _: Option<&StudyName>, _: Request) -> Result<Noted<Reply>> {
        Err(Problem::Bug { fault: format!("not there yet for {}", self.face.name()) })
    }

    fn place(&self) -> String {
        self.url.clone()
    }
}

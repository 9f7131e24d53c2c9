//! Requests that may be sent twice: with an `Idempotency-Key`, the second time gets the answer of the first, and writes nothing.
//!
//! Where keys are kept is a [`Ledger`](crate::store::Ledger)'s business. That a request has begun is durable before the study is written to,
//! with the number of lines that its journal had: where it has no more of them after the server was killed, nothing was done.
//! Otherwise it is known that nobody knows, and a retry is told so instead of being done a second time.

use crate::failure::Failure;
use crate::tokens::hex;
use sha2::{Digest, Sha256};

/// How long a key is kept, in seconds.
pub const LONGEST_KEPT: u64 = 24 * 3600;
/// Bytes of requests and answers of one study that are kept in any case, the latest ones: a few minutes of 200 workers that do nothing but
/// ask and tell. Clients give up earlier.
pub const KEPT_BYTES: u64 = 64 << 20;
/// Bytes of an answer that is kept.
pub const LONGEST_ANSWER: usize = 256 << 10;
/// Characters of a key.
pub const LONGEST_KEY: usize = 128;

/// A request that came with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// The key.
    pub key: String,
    /// The name of the token that it came with, whose own the key is; nothing without one.
    pub token: String,
    /// A checksum of what was asked for.
    pub request: String,
}

/// What is known of a request that comes with a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing: it is to be done.
    New,
    /// It was done, and this was the answer.
    Done(String),
}

impl Keyed {
    /// A request to a route.
    pub fn new(key: &str, token: Option<&str>, route: &str, body: &[u8]) -> Keyed {
        let mut hash = Sha256::new();
        hash.update((route.len() as u64).to_le_bytes());
        hash.update(route.as_bytes());
        hash.update(body);
        Keyed { key: key.into(), token: token.unwrap_or_default().into(), request: hex(&hash.finalize()) }
    }

    /// What it gets where its key is known: whether it is the same request, and what was answered to that.
    ///
    /// # Errors
    /// Where the key was used for another request, its answer was not kept, or nobody knows what became of it.
    pub fn known(&self, same: bool, answer: Option<String>) -> Result<Known, Failure> {
        let key = &self.key;
        match answer {
            _ if !same => Err(Failure::conflict(format!(
                "the Idempotency-Key \"{key}\" was used for another request; take a new one"
            ))),
            Some(answer) if answer.is_empty() => Err(Failure::conflict(format!(
                "the request \"{key}\" was done, and its answer was too long to be kept; look at the study"
            ))),
            Some(answer) => Ok(Known::Done(answer)),
            None => Err(Failure::conflict(format!(
                "nobody knows whether the request \"{key}\" was done: the server was stopped, or failed, in the middle of it; look \
                 at the study, then send it with a new Idempotency-Key if need be"
            ))),
        }
    }
}

/// A key, if it can be one.
///
/// # Errors
/// Where it cannot.
pub fn check(key: &str) -> Result<&str, Failure> {
    let sound = (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    if sound { Ok(key) } else { Err(wrong()) }
}

/// Said of what is no key.
pub fn wrong() -> Failure {
    Failure::bad(format!("an Idempotency-Key has 1 to {LONGEST_KEY} visible ASCII characters; a UUID is a good one"))
}

/// What is kept of an answer: all of it, or nothing.
pub fn kept(answer: &str) -> &str {
    if answer.len() > LONGEST_ANSWER { "" } else { answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_plain_and_requests_differ_by_route_and_body() {
        assert!(check("a b").is_err() && check("").is_err() && check("0-f").is_ok());
        assert!(check(&"k".repeat(LONGEST_KEY)).is_ok() && check(&"k".repeat(LONGEST_KEY + 1)).is_err());
        let request = |route, body: &[u8]| Keyed::new("k", None, route, body).request;
        assert_ne!(request("a", b"bc"), request("ab", b"c"));
        assert_eq!((kept("x"), kept(&"x".repeat(LONGEST_ANSWER + 1))), ("x", ""));
    }
}

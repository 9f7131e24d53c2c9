//! The other end: a client that asks a server, waits where it is busy, and sends what may have been lost once more.

use crate::name::StudyName;
use crate::tokens::hex;
use crate::wire::{KEY, NOTES, Noted, Refused};
use rand::TryRng;
use rand::rngs::SysRng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::cell::Cell;
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime};
use thiserror::Error;
use ureq::http::{Response, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, RequestExt, http};

/// For how long a request is sent again where nobody answers: nobody may be there.
const UNANSWERED: Duration = Duration::from_secs(8);
/// The same where a server has too much to do, or its database is away: it says that it is worth waiting for.
const BUSY: Duration = Duration::from_secs(180);
/// The pause after the first failure; it doubles with each.
const PAUSE: Duration = Duration::from_millis(250);
/// What it grows to.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// How long one answer may take; servers give up earlier.
const PATIENCE: Duration = Duration::from_secs(3700);
/// Bytes of an answer, at most: beliefs of a million rows.
const MOST_BYTES: u64 = 1 << 30;

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No address of a server.
    #[error("{0}")]
    Address(String),
    /// The server has said no.
    #[error("{words}")]
    Refused {
        /// The status of its answer.
        status: u16,
        /// Its words.
        words: String,
    },
    /// Nobody is there, or the connection broke.
    #[error("no answer from {url}: {problem}; is `icee serve` running there?")]
    Unreachable {
        /// The server.
        url: String,
        /// What happened.
        problem: String,
    },
    /// The server is not known to be the one that was meant, or does not encrypt.
    #[error("no encrypted connection to {url}: {problem}")]
    Encryption {
        /// The server.
        url: String,
        /// What is wrong, and what helps.
        problem: String,
    },
    /// The answer makes no sense.
    #[error("{url} does not answer like icee serve: {problem}; is it another program, or of another version?")]
    Strange {
        /// The server.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// An answer's text, and what was said beside it.
struct Answer {
    text: String,
    notes: Vec<String>,
}

/// A client of one server.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    url: String,
    token: Option<String>,
    exposes_token: bool,
}

impl Client {
    /// A client of the server at an address such as `http://127.0.0.1:8642`, with a token if it wants one.
    ///
    /// # Errors
    /// Where that is no address, or one that this program cannot speak to.
    pub fn new(url: &str, token: Option<String>) -> Result<Client, ClientError> {
        let wrong = |words: &str| ClientError::Address(format!("\"{url}\" {words}"));
        let uri = url.parse::<http::Uri>().ok().filter(|uri| uri.host().is_some() && uri.query().is_none());
        let (uri, encrypts) = match uri.as_ref().and_then(|uri| Some((uri, uri.scheme_str()?))) {
            Some((uri, "http")) => (uri, false),
            Some((uri, "https")) => (uri, true),
            _ => return Err(wrong("is no address of a server; write http://HOST:PORT or https://HOST")),
        };
        if token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(ClientError::Address("the token has characters that no token has".into()));
        }
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
        let config = config.timeout_connect(Some(Duration::from_secs(10))).max_redirects(0).proxy(None);
        // Roots are read from files, so only where they are needed.
        let tls = if encrypts { TlsConfig::builder().root_certs(roots()?).build() } else { TlsConfig::default() };
        let exposes_token = token.is_some() && !encrypts && !uri.host().is_some_and(is_local);
        let url = uri.to_string().trim_end_matches('/').to_owned();
        Ok(Client { agent: config.tls_config(tls).build().new_agent(), url, token, exposes_token })
    }

    /// Where the server is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether the token travels to another machine unencrypted.
    pub fn exposes_token(&self) -> bool {
        self.exposes_token
    }

    /// The path of something of a study.
    ///
    /// # Errors
    /// Where no study on a server has such a name.
    pub fn path(name: &str, what: &str) -> Result<String, ClientError> {
        let name = StudyName::new(name);
        let name = name.map_err(|failure| ClientError::Refused { status: 400, words: failure.words })?;
        let slash = if what.is_empty() { "" } else { "/" };
        Ok(format!("/api/studies/{}{slash}{what}", name.as_str()))
    }

    /// Looks at something; with what is to be said beside it.
    ///
    /// # Errors
    /// Where the server refuses, cannot be reached, or answers something else.
    pub fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<(T, Vec<String>), ClientError> {
        let answer = self.look(path, query)?;
        Ok((self.parsed(&answer.text)?, answer.notes))
    }

    /// The same of what is no JSON.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn text(&self, path: &str, query: &impl Serialize) -> Result<(String, Vec<String>), ClientError> {
        let Answer { text, notes } = self.look(path, query)?;
        Ok((text, notes))
    }

    /// Does something, once, however often it has to be sent.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClientError> {
        let mut key = [0; 16];
        let random = |error| ClientError::Address(format!("the system gives no random numbers: {error}"));
        SysRng.try_fill_bytes(&mut key).map_err(random)?;
        let body = serde_json::to_vec(body).map_err(|error| self.strange(error))?;
        let request = self.request("POST", path).header(header::CONTENT_TYPE, "application/json");
        let request = request.header(KEY, hex(&key)).body(body).map_err(|error| self.strange(error))?;
        let answer = self.patiently(|| self.agent.run(request.clone()))?;
        self.parsed(&answer.text)
    }

    /// The same of an answer that has its notes inside.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn post_noted<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<(T, Vec<String>), ClientError> {
        let Noted { value, notes } = self.post(path, body)?;
        Ok((value, notes))
    }

    /// Takes something away.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn delete(&self, path: &str) -> Result<(), ClientError> {
        let request = self.request("DELETE", path).body(()).map_err(|error| self.strange(error))?;
        let sent = Cell::new(0);
        let answer = self.patiently(|| {
            sent.set(sent.get() + 1);
            request.clone().with_agent(&self.agent).run()
        });
        match answer {
            // The answer to the first time was lost.
            Err(ClientError::Refused { status: 404, .. }) if sent.get() > 1 => Ok(()),
            answer => answer.map(drop),
        }
    }

    fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let request = http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    fn look(&self, path: &str, query: &impl Serialize) -> Result<Answer, ClientError> {
        let query = serde_json::to_value(query).map_err(|error| self.strange(error))?;
        let said = query.as_object().into_iter().flatten().filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) => Some(format!("{name}={}", encoded(text))),
            other => Some(format!("{name}={}", encoded(&other.to_string()))),
        });
        let said: Vec<String> = said.collect();
        let path = if said.is_empty() { path.to_owned() } else { format!("{path}?{}", said.join("&")) };
        let request = self.request("GET", &path).body(()).map_err(|error| self.strange(error))?;
        self.patiently(|| request.clone().with_agent(&self.agent).run())
    }

    /// Sends a request until there is an answer, or it has been tried often enough.
    fn patiently(&self, send: impl Fn() -> Result<Response<Body>, ureq::Error>) -> Result<Answer, ClientError> {
        let begun = Instant::now();
        let mut pause = PAUSE;
        loop {
            let (retry, patience, error) = match send().and_then(read) {
                Ok((200..300, _, answer)) => return Ok(answer),
                Ok((status, retry, answer)) => {
                    let words = match serde_json::from_str::<Refused>(&answer.text) {
                        Ok(Refused { error }) => error,
                        Err(_) => return Err(self.strange(format!("status {status}"))),
                    };
                    (retry, BUSY, ClientError::Refused { status, words })
                }
                Err(error) => {
                    let url = self.url.clone();
                    // Neither a certificate nor a protocol is another one in a moment.
                    if let Some(problem) = encryption_problem(&error) {
                        return Err(ClientError::Encryption { url, problem });
                    }
                    let problem = error.to_string();
                    (Some(Duration::ZERO), UNANSWERED, ClientError::Unreachable { url, problem })
                }
            };
            match retry.map(|retry| wait(retry, pause, SysRng.try_next_u32().unwrap_or(0))) {
                Some(wait) if begun.elapsed() + wait < patience => std::thread::sleep(wait),
                _ => return Err(error),
            }
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }

    fn parsed<T: DeserializeOwned>(&self, text: &str) -> Result<T, ClientError> {
        serde_json::from_str(text).map_err(|error| self.strange(error))
    }

    fn strange(&self, problem: impl ToString) -> ClientError {
        ClientError::Strange { url: self.url.clone(), problem: problem.to_string() }
    }
}

/// How long to wait before a request is sent again: as long as the server wants, and some time by chance, so that not all come back at once
/// who were sent away at once.
fn wait(retry: Duration, pause: Duration, random: u32) -> Duration {
    let share = f64::from(random) / f64::from(u32::MAX);
    retry.max(pause / 2) + pause.mul_f64(share)
}

/// The status of an answer, after what time to try again if at all, and what it says.
fn read(mut response: Response<Body>) -> Result<(u16, Option<Duration>, Answer), ureq::Error> {
    let status = response.status().as_u16();
    let value = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry = value("retry-after").map(|after| pause_until(after, SystemTime::now()));
    let notes = value(NOTES).and_then(|notes| serde_json::from_str(notes).ok()).unwrap_or_default();
    let text = response.body_mut().with_config().limit(MOST_BYTES).read_to_string()?;
    Ok((status, retry, Answer { text, notes }))
}

/// How long to wait, as `Retry-After` says it: in seconds, or until when. Nobody waits longer than [`BUSY`].
fn pause_until(after: &str, now: SystemTime) -> Duration {
    let seconds = after.parse().ok().map(Duration::from_secs);
    let date = || httpdate::parse_http_date(after).ok().map(|date| date.duration_since(now).unwrap_or_default());
    seconds.or_else(date).unwrap_or(Duration::from_secs(1)).min(BUSY)
}

/// Whose certificates are good: what `SSL_CERT_FILE` names, or else what this machine trusts, or else (containers often have nothing) what
/// browsers trust.
fn roots() -> Result<RootCerts, ClientError> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).into());
    }
    // Whoever names authorities does not mean others.
    if ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().all(|name| std::env::var_os(name).is_none()) {
        return Ok(RootCerts::WebPki);
    }
    let problem = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
    let words = format!("SSL_CERT_FILE has no certificate{problem}; name a PEM file, or unset it");
    Err(ClientError::Address(words))
}

/// What is wrong with the encryption, if that is what went wrong, and what helps.
fn encryption_problem(error: &ureq::Error) -> Option<String> {
    let error = match error {
        ureq::Error::Rustls(error) => error,
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref()?,
        _ => return None,
    };
    let help = match error {
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => {
            "; if its authority is your own, set SSL_CERT_FILE to the authority's certificate (a PEM file)"
        }
        rustls::Error::InvalidMessage(_) => "; if it does not speak TLS, write http://",
        _ => "",
    };
    Some(format!("{error}{help}"))
}

/// Whether a host, as it stands in an address, is this machine.
fn is_local(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    // `::ffff:127.0.0.1` is 127.0.0.1, and `::ffff:10.0.0.5` is not.
    address.map_or(host.eq_ignore_ascii_case("localhost"), |address| address.to_canonical().is_loopback())
}

/// A text as it stands behind a question mark.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_sent_away_waits_as_told_and_not_all_the_same() {
        let second = Duration::from_secs(1);
        assert_eq!((wait(second, PAUSE, 0), wait(second, PAUSE, u32::MAX)), (second, second + PAUSE));
        assert_eq!((wait(Duration::ZERO, PAUSE, 0), wait(Duration::ZERO, PAUSE, u32::MAX)), (PAUSE / 2, 3 * PAUSE / 2));
    }

    #[test]
    fn addresses_are_checked_before_anything_is_sent() {
        let words = |url: &str| Client::new(url, None).unwrap_err().to_string();
        for wrong in
            ["", "a.example", "ftp://a.example", "http://", "http://a b", "http://a?x=1", "https://", "https://a?x"]
        {
            assert!(words(wrong).contains("write http://HOST:PORT or https://HOST"), "{wrong}");
        }
        assert_eq!(Client::new("http://a:1/x/", None).unwrap().url(), "http://a:1/x");
        assert_eq!(Client::new("HTTPS://a/x/", None).unwrap().url(), "https://a/x");
        assert!(Client::new("http://a:1", Some("a\nb".into())).is_err());
        assert_eq!(Client::path("bread", "ask").unwrap(), "/api/studies/bread/ask");
        assert!(Client::path("../x", "ask").unwrap_err().to_string().contains("cannot be the name"));
        assert_eq!(encoded("a b/ä"), "a%20b%2F%C3%A4");
    }

    #[test]
    fn a_pause_is_given_in_seconds_or_until_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let pause = |after: &str| pause_until(after, now).as_secs();
        assert_eq!((pause("0"), pause("7"), pause("soon"), pause("-1")), (0, 7, 1, 1));
        assert_eq!((pause("Sun, 06 Nov 1994 08:49:40 GMT"), pause("Sun, 06 Nov 1994 08:49:30 GMT")), (3, 0));
        assert_eq!((pause("Sat, 06 Nov 2094 08:49:40 GMT"), pause("18446744073709551615")), (180, 180));
    }

    #[test]
    fn a_token_is_exposed_on_the_way_to_another_machine() {
        let exposes = |url: &str| Client::new(url, Some("t".into())).unwrap().exposes_token();
        for local in ["localhost", "LocalHost:1", "127.0.0.1", "127.8.9.1:2", "[::1]:3", "[::ffff:127.0.0.1]"] {
            assert!(!exposes(&format!("http://{local}")), "{local}");
        }
        for other in ["a", "10.0.0.5", "[::ffff:10.0.0.5]:1", "[::2]", "[::]", "localhost.example", "127.0.0.1.example"]
        {
            assert!(exposes(&format!("http://{other}")), "{other}");
            assert!(!exposes(&format!("https://{other}")), "{other}");
        }
        assert!(!Client::new("http://a", None).unwrap().exposes_token());
    }
}

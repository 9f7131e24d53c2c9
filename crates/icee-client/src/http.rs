//! A server over HTTP: a client that waits if the server is busy, and sends requests again that may have been lost.

use crate::tls;
use icee_base::files::{FileError, read_regular};
use icee_protocol::{
    Content, Face, Gone, Method, Noted, Problem, Reader, Reply, Request, Result, Sheet, StudyName, Transport, Verb,
    render,
};
use rand::TryRng;
use rand::rngs::SysRng;
use serde_json::Value;
use std::time::{Duration, Instant, SystemTime};
use ureq::http::{Response, header};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body, http};

/// The header with the notes of a reply that is a document, as a JSON list.
pub const NOTES: &str = "icee-notes";
/// The header that names the face that words are for ([`Face::name`]).
pub const FACE: &str = "icee-face";
/// The header with the key by which a request is done once, even if it is sent twice.
pub const KEY: &str = "idempotency-key";
/// The variable that has the token.
pub const TOKEN: &str = "ICEE_TOKEN";

/// How long a request is repeated without an answer: perhaps no server runs there.
const UNANSWERED: Duration = Duration::from_secs(8);
/// The same if a server is busy, or its database is away: its answer says that waiting helps.
const BUSY: Duration = Duration::from_secs(180);
/// The pause after the first failure; it doubles with each.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// How long one answer may take; servers time out earlier.
const PATIENCE: Duration = Duration::from_secs(3700);
/// Bytes of an answer, at most: predictions of a million rows.
const MOST_ANSWER: u64 = 1 << 30;
/// Bytes of a sheet, at most: servers refuse more.
const MOST_SHEET: u64 = 1 << 30;

/// The studies of a server.
#[derive(Clone, Debug)]
pub struct Http {
    agent: Agent,
    url: String,
    token: Option<String>,
    face: Face,
    /// The host to which the token is sent unencrypted.
    unencrypted: Option<String>,
}

/// An answer of a server.
struct Answer {
    status: u16,
    /// When to retry, if at all.
    retry: Option<Duration>,
    /// The notes of a document, as JSON.
    notes: String,
    text: String,
}

/// A request as HTTP has it.
struct Message {
    method: Method,
    path: String,
    body: Vec<u8>,
    key: Option<String>,
}

impl Http {
    /// The studies of the server at this address, with a token if it requires one. Nothing is sent yet.
    ///
    /// # Errors
    /// If the address or the token is invalid.
    pub fn new(url: &str, token: Option<String>, face: Face) -> Result<Http> {
        let wrong = || {
            let fault = format!("\"{url}\" is not the address of a server. Write http://HOST:PORT or https://HOST.");
            Problem::Address { fault }
        };
        let uri = url.parse::<http::Uri>().ok().filter(|uri| uri.query().is_none()).ok_or_else(wrong)?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let encrypts = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        if token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(Problem::Address { fault: "The token has characters that no token has.".into() });
        }
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
        let config = config.timeout_connect(Some(Duration::from_secs(10))).max_redirects(0).proxy(None);
        // Certificates are read from files, so only if they are needed.
        let tls = if encrypts { TlsConfig::builder().root_certs(tls::roots()?).build() } else { TlsConfig::default() };
        let unencrypted = (token.is_some() && !encrypts && !tls::is_local(host)).then(|| host.to_owned());
        let url = uri.to_string().trim_end_matches('/').to_owned();
        Ok(Http { agent: config.tls_config(tls).build().new_agent(), url, token, face, unencrypted })
    }

    /// The host to which the token is sent unencrypted, over a network.
    pub fn unencrypted(&self) -> Option<&str> {
        self.unencrypted.as_deref()
    }

    fn message(&self, study: Option<&StudyName>, mut request: Request) -> Result<Message> {
        let verb = request.verb();
        name(&mut request, study);
        read_sheets(&mut request)?;
        let (method, path) = verb.route();
        let path = match study {
            Some(study) => path.replace("{name}", &encoded(study.as_str())),
            None if verb.is_of_study() => return Err(Problem::NameMissing),
            None => path.to_owned(),
        };
        // An enum is an object with one field: what is asked, under the name of its verb.
        let asked = serde_json::to_value(&request).map_err(|error| self.strange(error))?;
        let asked = match asked {
            Value::Object(fields) => fields.into_iter().next().map(|(_, asked)| asked).unwrap_or_default(),
            _ => Value::Null,
        };
        let (path, body) = match method {
            Method::Get => (path + &query(&asked), vec![]),
            Method::Post => (path, serde_json::to_vec(&asked).map_err(|error| self.strange(error))?),
            Method::Delete => (path, vec![]),
        };
        let key = if verb.changes() { Some(new_key()?) } else { None };
        Ok(Message { method, path, body, key })
    }

    fn send_once(&self, message: &Message) -> std::result::Result<Answer, ureq::Error> {
        let Message { method, path, body, key } = message;
        let mut request = http::Request::builder().method(method.name()).uri(format!("{}{path}", self.url));
        request = request.header(FACE, self.face.name());
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(key) = key {
            request = request.header(KEY, key);
        }
        match method {
            Method::Post => {
                let request = request.header(header::CONTENT_TYPE, "application/json");
                read(self.agent.run(request.body(body.as_slice())?)?)
            }
            _ => read(self.agent.run(request.body(())?)?),
        }
    }

    /// Sends a request until there is an answer, or it was tried often enough; returns how often that was.
    fn patiently(&self, message: &Message) -> (usize, Result<Answer>) {
        let (begun, mut pause, mut sent) = (Instant::now(), PAUSE, 0);
        loop {
            sent += 1;
            let (retry, patience, problem) = match self.send_once(message) {
                Ok(answer) if (200..300).contains(&answer.status) => return (sent, Ok(answer)),
                Ok(answer) => (answer.retry, BUSY, self.refused(&answer)),
                Err(error) => match tls::problem(&error) {
                    // Neither a certificate nor a protocol changes in a moment.
                    Some(fault) => return (sent, Err(self.unencryptable(&fault))),
                    None => {
                        let problem = Problem::Unreachable { place: self.url.clone(), fault: error.to_string() };
                        (Some(Duration::ZERO), UNANSWERED, problem)
                    }
                },
            };
            match retry.map(|retry| wait(retry, pause, SysRng.try_next_u32().unwrap_or(0))) {
                Some(wait) if begun.elapsed() + wait < patience => std::thread::sleep(wait),
                _ => return (sent, Err(problem)),
            }
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }

    /// The problem of an invalid answer.
    fn refused(&self, Answer { status, text, .. }: &Answer) -> Problem {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        let known = said.get("problem").and_then(|problem| serde_json::from_value(problem.clone()).ok());
        // From a server of another version, say.
        let words = said.get("error").and_then(Value::as_str);
        let other = words.map(|words| Problem::Refused { status: *status, fault: words.to_owned() });
        known.or(other).unwrap_or_else(|| self.strange(format!("status {status}")))
    }

    fn reply(&self, verb: Verb, answer: Answer, reader: &Reader) -> Result<Noted<Reply>> {
        let mut noted = if verb.document().is_some() {
            let notes = serde_json::from_str(&answer.notes).unwrap_or_default();
            let reply = Reply::of_document(verb, answer.text);
            Noted { reply: reply.ok_or_else(|| self.strange("no document"))?, notes }
        } else {
            verb.reply(&answer.text).map_err(|error| self.strange(error))?
        };
        noted.notes.iter_mut().for_each(|said| said.words = render::note(&said.what, reader));
        Ok(noted)
    }

    fn unencryptable(&self, fault: &str) -> Problem {
        Problem::Address { fault: format!("No encrypted connection to {}: {fault}", self.url) }
    }

    fn strange(&self, fault: impl ToString) -> Problem {
        Problem::Strange { place: self.url.clone(), fault: fault.to_string() }
    }
}

impl Transport for Http {
    fn send(&mut self, study: Option<&StudyName>, request: Request) -> Result<Noted<Reply>> {
        let verb = request.verb();
        let message = self.message(study, request)?;
        let (sent, answer) = self.patiently(&message);
        match (answer, study) {
            (Ok(answer), _) => self.reply(verb, answer, &Reader::at(self.face, study.map(StudyName::as_str))),
            // The answer to the first time was lost.
            (Err(Problem::NoStudy { .. } | Problem::Refused { status: 404, .. }), Some(study))
                if verb == Verb::Delete && sent > 1 =>
            {
                Ok(Noted { reply: Reply::Delete(Gone { deleted: study.to_string(), place: None }), notes: vec![] })
            }
            (Err(problem), _) => Err(problem),
        }
    }

    fn place(&self) -> String {
        self.url.clone()
    }
}

/// A new study's name is in the body.
fn name(request: &mut Request, study: Option<&StudyName>) {
    let name = match request {
        Request::Create(create) => &mut create.name,
        Request::Import(import) => &mut import.name,
        _ => return,
    };
    if name.is_none() {
        *name = study.cloned();
    }
}

/// Reads the sheets that a request names, because servers read no paths.
fn read_sheets(request: &mut Request) -> Result<()> {
    let sheet = match request {
        Request::Create(create) => &mut create.sheet,
        Request::Survey(survey) => &mut survey.0.sheet,
        Request::Update(update) => &mut update.sheet,
        Request::Tell(tell) => &mut tell.csv,
        _ => return Ok(()),
    };
    if let Some(Sheet::Path { path }) = sheet {
        let name = path.display().to_string();
        let bytes = read_regular(path, MOST_SHEET).map_err(|error| match error {
            FileError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Problem::FileMissing { path: name.clone() }
            }
            FileError::Io { source, .. } => Problem::File { path: name.clone(), fault: source.to_string(), io: true },
            FileError::Content { problem, .. } => Problem::File { path: name.clone(), fault: problem, io: false },
        })?;
        let large = || Problem::File { path: name.clone(), fault: "It is too large to be sent.".into(), io: false };
        *sheet = Some(Sheet::Content(Content(bytes.ok_or_else(large)?)));
    }
    Ok(())
}

/// A new, unique key.
fn new_key() -> Result<String> {
    let mut key = [0; 16];
    let none = |error| Problem::Bug { fault: format!("the system gives no random numbers: {error}") };
    SysRng.try_fill_bytes(&mut key).map_err(none)?;
    Ok(key.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// How long to wait before a request is repeated: as long as the server asks for, and a random time, so that clients
/// that were refused together do not come back together.
fn wait(retry: Duration, pause: Duration, random: u32) -> Duration {
    let share = f64::from(random) / f64::from(u32::MAX);
    retry.max(pause / 2) + pause.mul_f64(share)
}

fn read(mut response: Response<Body>) -> std::result::Result<Answer, ureq::Error> {
    let status = response.status().as_u16();
    let value = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry = value("retry-after").map(|after| pause_until(after, SystemTime::now()));
    let notes = value(NOTES).unwrap_or("[]").to_owned();
    let text = response.body_mut().with_config().limit(MOST_ANSWER).read_to_string()?;
    Ok(Answer { status, retry, notes, text })
}

/// The wait that `Retry-After` asks for: in seconds, or until a date. No longer than [`BUSY`].
fn pause_until(after: &str, now: SystemTime) -> Duration {
    let seconds = after.parse().ok().map(Duration::from_secs);
    let date = || httpdate::parse_http_date(after).ok().map(|date| date.duration_since(now).unwrap_or_default());
    seconds.or_else(date).unwrap_or(Duration::from_secs(1)).min(BUSY)
}

/// The query with its question mark.
fn query(asked: &Value) -> String {
    let said = asked.as_object().into_iter().flatten().filter_map(|(name, value)| match value {
        Value::Null => None,
        Value::String(text) => Some(format!("{name}={}", encoded(text))),
        other => Some(format!("{name}={}", encoded(&other.to_string()))),
    });
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!("?{}", said.join("&")) }
}

/// A text as it is encoded in an address.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::{Ask, Create, Delete, Predict, RowId, Show, Why};

    fn http(url: &str) -> Result<Http> {
        Http::new(url, Some("t".into()), Face::Plain)
    }

    #[test]
    fn pauses_are_at_least_as_asked_and_not_all_the_same() {
        let second = Duration::from_secs(1);
        assert_eq!((wait(second, PAUSE, 0), wait(second, PAUSE, u32::MAX)), (second, second + PAUSE));
        assert_eq!((wait(Duration::ZERO, PAUSE, 0), wait(Duration::ZERO, PAUSE, u32::MAX)), (PAUSE / 2, 3 * PAUSE / 2));
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
    fn addresses_are_checked_before_anything_is_sent() {
        for wrong in
            ["", "a.example", "ftp://a.example", "http://", "http://a b", "http://a?x=1", "https://", "https://a?x"]
        {
            assert_eq!(http(wrong).unwrap_err().code(), "address", "{wrong}");
        }
        assert_eq!(http("http://a:1/x/").unwrap().place(), "http://a:1/x");
        assert_eq!(http("HTTPS://a/x/").unwrap().place(), "https://a/x");
        assert!(Http::new("http://a:1", Some("a\nb".into()), Face::Plain).is_err());
        assert_eq!(http("http://10.0.0.5:1").unwrap().unencrypted(), Some("10.0.0.5"));
        assert_eq!(Http::new("http://10.0.0.5", None, Face::Plain).unwrap().unencrypted(), None);
        for safe in ["https://10.0.0.5", "http://localhost:1", "http://[::1]:1"] {
            assert_eq!(http(safe).unwrap().unencrypted(), None, "{safe}");
        }
    }

    #[test]
    fn requests_are_paths_queries_and_bodies() {
        let (http, name) = (http("http://a").unwrap(), "käse.v2".parse::<StudyName>().unwrap());
        let message = |request: Request| http.message(Some(&name), request).unwrap();
        let ask = message(Ask { count: 2, ..Ask::default() }.into());
        assert_eq!((ask.path.as_str(), ask.body.as_slice()), ("/api/studies/k%C3%A4se.v2/ask", &br#"{"count":2}"#[..]));
        assert!(ask.key.as_ref().is_some_and(|key| key.len() == 32) && ask.key != message(Ask::default().into()).key);
        let why = message(Why { row: RowId::Text("a b/ä".into()) }.into());
        assert_eq!((why.path.as_str(), why.key), ("/api/studies/k%C3%A4se.v2/why?row=a%20b%2F%C3%A4", None));
        let predict = message(Predict { top: Some(3), sampler: None }.into());
        assert!(predict.path.ends_with("/predict?top=3") && predict.body.is_empty());
        assert_eq!(message(Delete {}.into()).method, Method::Delete);
        let create = message(Create::default().into());
        assert!(
            String::from_utf8(create.body).unwrap().contains("\"name\":\"käse.v2\"") && create.path == "/api/studies"
        );
        assert_eq!(http.message(None, Show::default().into()).err(), Some(Problem::NameMissing));
    }

    #[test]
    fn sheets_are_read_before_they_are_sent() {
        let http = http("http://a").unwrap();
        let path = std::env::temp_dir().join(format!("icee-client-{}.csv", std::process::id()));
        let create = Create { sheet: Some(Sheet::Path { path: path.clone() }), ..Create::default() };
        let missing = http.message(None, create.clone().into()).err();
        assert_eq!(missing, Some(Problem::FileMissing { path: path.display().to_string() }));
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        let body = http.message(None, create.into()).unwrap().body;
        assert!(String::from_utf8(body).unwrap().contains(r#""sheet":"a,b\n1,2\n""#));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_refusal_is_its_problem_or_at_least_its_words() {
        let http = http("http://a").unwrap();
        let refused =
            |text: &str| http.refused(&Answer { status: 409, retry: None, notes: String::new(), text: text.into() });
        let known = r#"{"error":"words","problem":{"code":"no-study","name":"a","place":null,"known":[]}}"#;
        assert_eq!(refused(known).code(), "no-study");
        let newer = r#"{"error":"words","problem":{"code":"of-tomorrow"}}"#;
        assert_eq!(refused(newer), Problem::Refused { status: 409, fault: "words".into() });
        assert_eq!(refused("<html>").code(), "strange");
    }
}

//! The state that all requests share, and the way of each: admitted, read, done, answered, counted.

use crate::admission::Admission;
use crate::answer::Answer;
use crate::auth;
use crate::drain;
use crate::events;
use crate::failure::Failure;
use crate::handle;
use crate::limits::Limits;
use crate::log::{Event, Log};
use crate::metrics::Metrics;
use crate::openapi;
use crate::pages::PageFile;
use crate::quotas::{Held, Quotas, What};
use crate::registry::Registry;
use crate::request::{self, Incoming};
use crate::room;
use crate::routes::{EVENTS, HTML, METRICS, Route, Work};
use crate::store::{Stamp, Store};
use crate::tokens::Tokens;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path as Named, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use icee_protocol::{Method, Reader, StudyName, Verb};
use percent_encoding::percent_decode_str;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// Bytes of a small body: as many of them may arrive at once as there are connections.
const SMALL: usize = 64 << 10;

/// Whether the server is about to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// It runs.
    #[default]
    No,
    /// It stops after all requests.
    Soon,
    /// It stops now.
    Now,
}

/// The state that all requests share.
pub struct App {
    pub registry: Registry,
    pub metrics: Metrics,
    pub limits: Limits,
    pub quotas: Quotas,
    pub ending: watch::Receiver<Ending>,
    pub admission: Admission,
    log: Log,
}

impl App {
    /// No request has come yet.
    pub fn new(
        store: Box<dyn Store>,
        tokens: Tokens,
        local: bool,
        limits: Limits,
        ending: watch::Receiver<Ending>,
        log: Log,
    ) -> App {
        App {
            registry: Registry::new(store),
            metrics: Metrics::default(),
            quotas: Quotas::new(&limits),
            admission: Admission::new(tokens, local, &limits),
            limits,
            ending,
            log,
        }
    }

    /// Logs an event.
    pub fn say(&self, event: &Event) {
        (self.log)(event);
    }

    /// The state of a study, known without opening it.
    ///
    /// # Errors
    /// If there is none, or that cannot be known.
    pub async fn require(self: &Arc<App>, name: &StudyName) -> Result<Stamp, Failure> {
        let (app, name) = (Arc::clone(self), name.clone());
        aside(move || app.registry.require(&name)).await
    }

    /// Answers a request to a route.
    pub async fn handle(self: Arc<App>, route: &'static Route, client: SocketAddr, request: Request) -> Response {
        let (started, path) = (Instant::now(), request.uri().path().to_owned());
        let reader = self.reader(route, &request);
        let (request, remainder) = drain::lend(request);
        let (user, admitted) = self.admission.enter(route, client.ip(), request.headers(), started).await;
        let answer = match admitted {
            Ok(()) => self.answer(route, user.as_deref(), request).await,
            Err(failure) => {
                drop(request);
                Err(failure)
            }
        };
        if answer.is_err() {
            remainder.read(self.limits.body).await;
        }
        let (response, error) = self.shown(answer, &reader);
        self.finish((route.method.name(), route.path), started, (client, user, path), (response, error))
    }

    /// Answers a request for a file of a page.
    pub fn show(&self, file: &'static PageFile, client: SocketAddr) -> Response {
        let asked = (client, None, file.path.to_owned());
        self.finish((Method::Get.name(), file.path), Instant::now(), asked, (file.response(), None))
    }

    /// Answers a request to an unknown route.
    pub fn refuse(&self, client: SocketAddr, request: &Request, failure: Failure) -> Response {
        let path = request.uri().path().to_owned();
        let shown = self.shown(Err(failure), &Reader::at(request::face(request.headers()), None));
        self.finish(("-", "-"), Instant::now(), (client, None, path), shown)
    }

    /// The reader of the answer.
    fn reader(&self, route: &Route, request: &Request) -> Reader {
        let study = route.path.contains("{name}").then(|| request.uri().path().split('/').nth(3)).flatten();
        let study = study.and_then(|name| percent_decode_str(name).decode_utf8().ok()?.parse::<StudyName>().ok());
        Reader::at(request::face(request.headers()), study.as_ref().map(StudyName::as_str))
    }

    /// An answer, or a problem: for the client, and in words for the log.
    fn shown(&self, answer: Result<Response, Failure>, reader: &Reader) -> (Response, Option<String>) {
        match answer {
            Ok(response) => (response, None),
            Err(failure) => (failure.response(reader, self.registry.store().hidden()), Some(failure.words())),
        }
    }

    /// Security headers, and the counts and log lines of every request.
    fn finish(
        &self,
        (method, route): (&'static str, &'static str),
        started: Instant,
        (client, user, path): (SocketAddr, Option<String>, String),
        (mut response, error): (Response, Option<String>),
    ) -> Response {
        let (status, took) = (response.status().as_u16(), started.elapsed());
        let headers = response.headers_mut();
        // The report of a study has its style and pictures inside, and no script. Pages say themselves what they may
        // do.
        let policy = match headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == HTML) {
            true => {
                "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; \
                 base-uri 'none'; form-action 'none'; sandbox"
            }
            false => "default-src 'none'; frame-ancestors 'none'; sandbox",
        };
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
        for (name, value) in [
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-store"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == EVENTS) {
            // Proxies that buffer answers (nginx) would delay messages.
            headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        }
        self.metrics.count(method, route, status, took);
        self.say(&Event::Request {
            method,
            route,
            path,
            status,
            seconds: took.as_secs_f64(),
            client: client.ip().to_string(),
            user,
            error,
        });
        response
    }

    async fn answer(
        self: &Arc<App>,
        route: &'static Route,
        user: Option<&str>,
        request: Request,
    ) -> Result<Response, Failure> {
        auth::one_host(request.headers())?;
        auth::same_site(route.method, route.role.is_none(), request.headers())?;
        let answer = match route.work {
            Work::Verb(verb) => self.verb(route, verb, user, request).await?,
            Work::Health => Answer::json(&json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))?,
            Work::Description => Answer::json(&openapi::description())?,
            Work::Metrics => Answer::text(METRICS, self.metrics_text()),
            Work::Rooms => aside(room::list).await?,
            Work::Events => {
                let (mut parts, _) = request.into_parts();
                let name = name_in(&mut parts).await?;
                return events::stream(Arc::clone(self), route, name, user, parts.headers).await;
            }
            Work::Game => return room::stream(Arc::clone(self), route, user, request.uri()).await,
        };
        Ok(answer.into_response())
    }

    fn metrics_text(&self) -> String {
        self.metrics.text(&[
            ("icee_studies_open", "Studies that are open.", self.registry.count()),
            ("icee_requests_running", "Requests in progress.", self.quotas.taken(What::Requests)),
        ])
    }

    /// Answers a request of the protocol.
    async fn verb(
        self: &Arc<App>,
        route: &'static Route,
        verb: Verb,
        user: Option<&str>,
        request: Request,
    ) -> Result<Answer, Failure> {
        // Until it is complete, only requests with large bodies have to wait for it.
        let full = |_| Failure::busy("Too many large bodies are coming in. Try again in a moment.");
        let room = tokio::time::timeout(self.limits.time, self.room(route, user, request.headers())).await;
        let room = room.map_err(full)??;
        let slow = |_| Failure::new(StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time.");
        let (parts, body) = tokio::time::timeout(self.limits.time, self.read(route, request)).await.map_err(slow)??;
        let held = (self.quotas.take(What::Requests, user)?, room);
        let late = |_| {
            let seconds = self.limits.time.as_secs_f64();
            Failure::busy(format!(
                "No answer within {seconds} s. The request may still be done: \
                 send it again with the same Idempotency-Key."
            ))
        };
        let work = async {
            let incoming = incoming(route, verb, user, parts, body).await?;
            handle::run(self, incoming, held).await
        };
        tokio::time::timeout(self.limits.time, work).await.map_err(late)?
    }

    /// A quota for a request's body, if it needs one.
    async fn room(&self, route: &Route, user: Option<&str>, headers: &HeaderMap) -> Result<Option<Held>, Failure> {
        let length = auth::text(headers, &header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
        match length {
            _ if route.method != Method::Post => Ok(None),
            Some(0..=SMALL) => Ok(None),
            _ => self.quotas.wait(What::Bodies, user).await.map(Some),
        }
    }

    /// Reads a request's body; only that of a POST counts.
    async fn read(&self, route: &Route, request: Request) -> Result<(Parts, Bytes), Failure> {
        let (parts, body) = request.into_parts();
        if route.method != Method::Post {
            return Ok((parts, Bytes::new()));
        }
        let body = Bytes::from_request(Request::from_parts(parts.clone(), body), &()).await;
        let body = body.map_err(|refused| match refused.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let fault = format!("The body is too large: at most {} bytes are accepted.", self.limits.body);
                Failure::new(StatusCode::PAYLOAD_TOO_LARGE, fault)
            }
            _ => Failure::bad("The body is incomplete."),
        })?;
        Ok((parts, body))
    }
}

/// A request of the protocol. A large body takes a while to read.
async fn incoming(
    route: &'static Route,
    verb: Verb,
    user: Option<&str>,
    mut parts: Parts,
    body: Bytes,
) -> Result<Incoming, Failure> {
    let study = if verb.is_of_study() { Some(name_in(&mut parts).await?) } else { None };
    let who = user.map(str::to_owned);
    let (size, read) = (body.len(), move || {
        let parts = request::Parts { study, uri: &parts.uri, headers: &parts.headers, body: &body };
        Incoming::read(route, verb, who, parts)
    });
    if size > SMALL { aside(read).await } else { read() }
}

/// Does slow work on a blocking thread.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let bug = |_| Failure::internal("a request has panicked");
    tokio::task::spawn_blocking(work).await.map_err(bug)?
}

/// The name of the study in a request's path.
async fn name_in(parts: &mut Parts) -> Result<StudyName, Failure> {
    let Named(name) = Named::<String>::from_request_parts(parts, &())
        .await
        .map_err(|refused| Failure::bad(format!("The path is not as expected: {}", refused.body_text())))?;
    Ok(name.parse::<StudyName>()?)
}

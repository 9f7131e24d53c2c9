//! What all requests share, and the way of each: let in, read, done when it is its turn, answered, counted.

use crate::call::{Call, Done, Reply, now};
use crate::create;
use crate::door::Door;
use crate::events;
use crate::failure::Failure;
use crate::fields::{Create, Import};
use crate::guard;
use crate::keys::{self, Keyed, Known};
use crate::limits::Limits;
use crate::log::{Event, Log};
use crate::metrics::Metrics;
use crate::name::StudyName;
use crate::pages::PageFile;
use crate::places::{Held, Places, What};
use crate::registry::{For, Open, Registry};
use crate::rest;
use crate::room;
use crate::routes::{EVENTS, HTML, JSON, Route, Verb, Work};
use crate::store::Store;
use crate::tokens::{Stamp, Tokens};
use crate::transfer;
use crate::wire::{Deleted, KEY};
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path as Named, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// Bytes of a body that is small: as many of them may come in as there are connections.
const SMALL: usize = 64 << 10;

/// How many times as large as a body a workbook may be when it is unpacked.
const UNPACKED: u64 = 8;

/// How far the server is from its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// It runs.
    #[default]
    No,
    /// It ends when all requests have.
    Soon,
    /// It ends now.
    Now,
}

/// What all requests share.
pub struct App {
    pub registry: Registry,
    pub metrics: Metrics,
    pub limits: Limits,
    pub places: Places,
    pub ending: watch::Receiver<Ending>,
    pub door: Door,
    log: Log,
}

impl App {
    /// Nothing has been asked yet.
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
            places: Places::new(&limits),
            door: Door::new(tokens, local, &limits),
            limits,
            ending,
            log,
        }
    }

    /// Says what happens.
    pub fn say(&self, event: &Event) {
        (self.log)(event);
    }

    /// What the paths of all files begin with.
    fn folder(&self) -> String {
        format!("{}{}", self.registry.store().scratch().display(), std::path::MAIN_SEPARATOR)
    }

    /// What is wrong, in words for clients: where folder and database are is not for them, nor what the database says.
    pub fn for_clients(&self, failure: &Failure) -> String {
        let words = failure.words.replace(&self.folder(), "");
        match self.registry.store().hidden() {
            Some(hidden) if words.contains(hidden) => match failure.status {
                StatusCode::SERVICE_UNAVAILABLE => "the database cannot be reached; try again in a moment".into(),
                status if status.is_server_error() => "the database cannot be used; the server's log says why".into(),
                _ => words.replace(hidden, "the database"),
            },
            _ => words,
        }
    }

    /// What a study looks like from outside.
    ///
    /// # Errors
    /// Where there is none, or that cannot be known.
    pub async fn require(self: &Arc<App>, name: &StudyName) -> Result<Stamp, Failure> {
        let (app, name) = (Arc::clone(self), name.clone());
        aside(move || app.registry.require(&name)).await
    }

    /// Answers a request to a route.
    pub async fn handle(self: Arc<App>, route: &'static Route, client: SocketAddr, request: Request) -> Response {
        let (started, path) = (Instant::now(), request.uri().path().to_owned());
        let (request, rest) = rest::lend(request);
        let (user, entered) = self.door.enter(route, client.ip(), request.headers(), started).await;
        let answer = match entered {
            Ok(()) => self.answer(route, user.as_deref(), request).await,
            Err(failure) => {
                drop(request);
                Err(failure)
            }
        };
        if answer.is_err() {
            rest.read(self.limits.body).await;
        }
        let (response, error) = match answer.map_err(Failure::in_short) {
            Ok(response) => (response, None),
            Err(failure) => {
                let shown = Failure { words: self.for_clients(&failure), ..failure.clone() };
                (shown.into_response(), Some(failure.words))
            }
        };
        self.finish((route.verb.name(), route.path), started, (client, user, path), (response, error))
    }

    /// Answers a request for a file of a page.
    pub fn show(&self, file: &'static PageFile, client: SocketAddr) -> Response {
        let asked = (client, None, file.path.to_owned());
        self.finish((Verb::Get.name(), file.path), Instant::now(), asked, (file.response(), None))
    }

    /// Answers a request to no route.
    pub fn refuse(&self, client: SocketAddr, request: &Request, failure: Failure) -> Response {
        let path = request.uri().path().to_owned();
        let words = failure.words.clone();
        self.finish(("-", "-"), Instant::now(), (client, None, path), (failure.into_response(), Some(words)))
    }

    /// Headers that keep browsers from being too clever, and what is counted and said of every request.
    fn finish(
        &self,
        (method, route): (&'static str, &'static str),
        started: Instant,
        (client, user, path): (SocketAddr, Option<String>, String),
        (mut response, error): (Response, Option<String>),
    ) -> Response {
        let (status, took) = (response.status().as_u16(), started.elapsed());
        let headers = response.headers_mut();
        // The report of a study has its style and pictures inside, and no script. Pages say themselves what they may do.
        let policy = match headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == HTML) {
            true => {
                "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; \
                 form-action 'none'; sandbox"
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
            // Proxies that collect answers (nginx) would keep messages back.
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
        guard::one_host(request.headers())?;
        guard::same_site(route.verb, route.role.is_none(), request.headers())?;
        match route.work {
            Work::Now(work) => return work(self).map(IntoResponse::into_response),
            Work::Events => {
                let (mut parts, _) = request.into_parts();
                let name = name_in(&mut parts).await?;
                return events::stream(Arc::clone(self), route, name, user, parts.headers).await;
            }
            Work::Game => return room::stream(Arc::clone(self), user, request.uri()).await,
            _ => {}
        }
        // Until all of it has come nobody else has to wait, but for those with large bodies.
        let full =
            |_| Failure::busy(StatusCode::SERVICE_UNAVAILABLE, "too many large bodies come in; try again in a moment");
        let room = tokio::time::timeout(self.limits.time, self.room(route, user, request.headers())).await;
        let room = room.map_err(full)??;
        let slow = |_| Failure::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time");
        let (parts, body) = tokio::time::timeout(self.limits.time, self.read(route, request)).await.map_err(slow)??;
        let place = self.places.take(What::Requests, user)?;
        let late = |_| {
            let words = format!(
                "there was no answer within {} seconds, and it may still be done; with an Idempotency-Key the same request gets its \
                 answer later",
                self.limits.time.as_secs_f64()
            );
            Failure::busy(StatusCode::SERVICE_UNAVAILABLE, words)
        };
        let work = self.work(route, user, (parts, body), (place, room));
        tokio::time::timeout(self.limits.time, work).await.map_err(late)?.map(IntoResponse::into_response)
    }

    /// A place for a request's body, if it needs one.
    async fn room(&self, route: &Route, user: Option<&str>, headers: &HeaderMap) -> Result<Option<Held>, Failure> {
        let length = guard::text(headers, &header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
        match length {
            _ if route.verb != Verb::Post => Ok(None),
            Some(0..=SMALL) => Ok(None),
            _ => self.places.wait(What::Bodies, user).await.map(Some),
        }
    }

    /// Reads a request's body; only that of a POST says anything.
    async fn read(&self, route: &Route, request: Request) -> Result<(Parts, Bytes), Failure> {
        let (parts, body) = request.into_parts();
        if route.verb != Verb::Post {
            return Ok((parts, Bytes::new()));
        }
        let body = Bytes::from_request(Request::from_parts(parts.clone(), body), &()).await;
        let body = body.map_err(|refused| match refused.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let words = format!("the body is too large; at most {} bytes are taken", self.limits.body);
                Failure::new(StatusCode::PAYLOAD_TOO_LARGE, words)
            }
            _ => Failure::bad("the body did not arrive whole"),
        })?;
        Ok((parts, body))
    }

    /// Does the work of a request on a thread that may take its time. Its places go along: work that nobody waits for any more counts
    /// as well.
    async fn work(
        self: &Arc<App>,
        route: &'static Route,
        user: Option<&str>,
        (mut parts, body): (Parts, Bytes),
        places: (Held, Option<Held>),
    ) -> Done {
        let name = if route.path.contains("{name}") { Some(name_in(&mut parts).await?) } else { None };
        let key = match parts.headers.get(KEY) {
            Some(key) => Some(key.to_str().map_err(|_| keys::wrong()).and_then(keys::check)?.to_owned()),
            None => None,
        };
        let (uri, user) = (parts.uri, user.map(str::to_owned));
        let unpacked = (self.limits.body as u64).saturating_mul(UNPACKED);
        let call = Call { name, body, uri, user, folder: self.folder(), unpacked };
        // It may be long, and to take it apart takes a while.
        let (mut call, new) = match route.work {
            Work::Create | Work::Import => aside(move || New::of(route, call)).await?,
            _ => (call, None),
        };
        if let Some(new) = &new {
            let missing = || Failure::bad("name is missing: what is the study called?");
            call.name = Some(StudyName::new(new.name().ok_or_else(missing)?)?);
        }
        let mut place = match &call.name {
            Some(name) => {
                // Of studies that do not exist nothing is kept.
                if new.is_none() {
                    self.require(name).await?;
                }
                let what = if matches!(route.work, Work::Study(_)) { For::Looks } else { For::Changes };
                Some(self.registry.turn(name, what).await)
            }
            None => None,
        };
        // Of sheets few are taken apart at once. Whoever waits here has his turn already, and holds up nobody else's study. Those who have
        // yet to wait for other servers do so first.
        let sheet = match route.work {
            Work::Once(_) => None,
            _ if route.reads_sheet() => Some(self.places.wait(What::Sheets, None).await?),
            _ => None,
        };
        let app = Arc::clone(self);
        let work = move || {
            let _places = (places, sheet);
            match (&call.name, place.as_deref_mut(), new) {
                (Some(name), Some(place), Some(new)) => {
                    *place = None;
                    new.make(app.registry.store(), name, &call)
                }
                (Some(name), Some(place), None) => app.with_study(route, name, place, &call, key.as_deref()),
                _ => match route.work {
                    Work::Server(work) => work(&app, &call),
                    _ => Err(Failure::internal("the route has no name of a study")),
                },
            }
        };
        aside(work).await
    }

    fn with_study(
        &self,
        route: &Route,
        name: &StudyName,
        place: &mut Option<Open>,
        call: &Call,
        key: Option<&str>,
    ) -> Done {
        // Whoever finds the sheet not read yet reads it.
        let room = |open: &Open| match route.reads_sheet() || !open.study.is_loaded() {
            true => self.places.wait_here(What::Sheets).map(Some),
            false => Ok(None),
        };
        match route.work {
            Work::Delete => {
                *place = None;
                self.registry.require(name)?;
                self.registry.store().put_away(name, now())?;
                Reply::json(&Deleted { deleted: name.as_str().to_owned() })
            }
            Work::Study(work) => self.registry.with(name, place, For::Looks, |open| {
                let _room = room(open)?;
                work(open, call)
            }),
            Work::Once(work) => self.registry.with(name, place, For::Changes, |open| {
                let _room = room(open)?;
                once(route, open, call, key, work)
            }),
            Work::Create | Work::Import | Work::Now(_) | Work::Server(_) | Work::Events | Work::Game => {
                Err(Failure::internal("the route is about no study"))
            }
        }
    }
}

/// What a new study is made of.
enum New {
    Created(Box<Create>),
    Imported(Box<Import>),
}

impl New {
    /// What a request says, in the place of its body.
    fn of(route: &Route, mut call: Call) -> Result<(Call, Option<New>), Failure> {
        let new = match route.work {
            Work::Create => New::Created(Box::new(call.body()?)),
            _ => New::Imported(Box::new(call.body()?)),
        };
        call.body = Bytes::new();
        Ok((call, Some(new)))
    }

    fn name(&self) -> Option<&str> {
        match self {
            New::Created(wanted) => wanted.name.as_deref(),
            New::Imported(wanted) => wanted.name.as_deref(),
        }
    }

    fn make(self, store: &dyn Store, name: &StudyName, call: &Call) -> Done {
        match self {
            New::Created(wanted) => create::create(store, name, &wanted, call),
            New::Imported(wanted) => transfer::import(store, name, *wanted, call),
        }
    }
}

/// Does work that takes a while on a thread that has it.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let bug = |_| Failure::internal("the server has made a mistake; please report what was asked for");
    tokio::task::spawn_blocking(work).await.map_err(bug)?
}

/// Does a request, or finds the answer that it had when it was sent before.
fn once(route: &Route, open: &mut Open, call: &Call, key: Option<&str>, work: fn(&mut Open, &Call) -> Done) -> Done {
    let Some(key) = key else { return work(open, call) };
    let keyed = Keyed::new(key, call.user.as_deref(), route.path, &call.body);
    match open.ledger.begin(&keyed, open.now, open.study.lines())? {
        Known::Done(text) => return Ok(Reply::of(JSON, text)),
        Known::New => {}
    }
    let done = work(open, call);
    // Where this cannot be written the answer is right all the same, and whoever sends it again is told that nobody knows.
    let _ = match &done {
        Ok(reply) => open.ledger.end(&keyed, Some(&reply.text)),
        Err(failure) if !failure.status.is_server_error() => open.ledger.end(&keyed, None),
        Err(_) => Ok(()),
    };
    done
}

/// The name of the study in a request's path.
async fn name_in(parts: &mut Parts) -> Result<StudyName, Failure> {
    let Named(name) = Named::<String>::from_request_parts(parts, &())
        .await
        .map_err(|refused| Failure::bad(format!("the path is not what it should be: {}", refused.body_text())))?;
    StudyName::new(&name)
}

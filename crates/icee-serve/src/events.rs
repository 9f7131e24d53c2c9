//! Server-sent events: a message whenever a study has changed. The store is watched, so that lines of other
//! processes count, too.

use crate::app::{App, Ending, aside};
use crate::failure::Failure;
use crate::quotas::{Held, What};
use crate::registry::Purpose;
use crate::request;
use crate::routes::Route;
use crate::store::Stamp;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use icee_protocol::{Reader, StudyName};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// How often the store is checked.
const PAUSE: Duration = Duration::from_millis(500);
/// How often something is sent even if nothing has changed, so that proxies keep the stream open.
const ALIVE: Duration = Duration::from_secs(15);

/// A client of the stream.
struct Listener {
    app: Arc<App>,
    route: &'static Route,
    name: StudyName,
    /// Its token, which may be revoked meanwhile.
    headers: HeaderMap,
    seen: Option<Stamp>,
    lines: Option<u64>,
    over: bool,
    _place: Held,
}

/// The stream of a study's changes, which begins with its present state.
///
/// # Errors
/// If there is no such study, or there are too many streams.
pub async fn stream(
    app: Arc<App>,
    route: &'static Route,
    name: StudyName,
    user: Option<&str>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let place = app.quotas.take(What::Streams, user)?;
    app.require(&name).await?;
    let listener = Listener { app, route, name, headers, seen: None, lines: None, over: false, _place: place };
    let messages = unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<Event, Infallible>(event), listener))
    });
    Ok(Sse::new(messages).keep_alive(KeepAlive::new().interval(ALIVE)).into_response())
}

impl Listener {
    /// Waits for the next change; none if the stream has ended.
    async fn next(&mut self) -> Option<Event> {
        let mut ending = self.app.ending.clone();
        while !self.over {
            if *ending.borrow_and_update() != Ending::No {
                return None;
            }
            match self.app.admission.admit(self.route, &self.headers).await {
                // While tokens cannot be read, no messages are sent either.
                Err(failure) if failure.retry.is_some() => {}
                Err(_) => return None,
                Ok(_) => {}
            }
            let (app, name) = (Arc::clone(&self.app), self.name.clone());
            let stamp = match aside(move || app.registry.store().stamp(&name).map_err(Failure::stored)).await {
                Ok(None) => {
                    self.over = true;
                    return Some(Event::default().event("deleted").data("{}"));
                }
                Ok(stamp) => stamp,
                // Temporarily not available; perhaps in a moment.
                Err(_) => self.seen,
            };
            if stamp != self.seen {
                self.seen = stamp;
                match self.count().await {
                    Ok(lines) if self.lines != Some(lines) => {
                        self.lines = Some(lines);
                        let data = json!({ "lines": lines }).to_string();
                        return Some(Event::default().event("change").id(lines.to_string()).data(data));
                    }
                    Ok(_) => {}
                    Err(failure) => {
                        self.over = true;
                        let reader = Reader::at(request::face(&self.headers), Some(self.name.as_str()));
                        let refusal = failure.refusal(&reader, self.app.registry.store().hidden());
                        return Some(Event::default().event("error").data(json!(refusal).to_string()));
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                _ = ending.changed() => {}
            }
        }
        None
    }

    /// The number of lines of the study now.
    async fn count(&self) -> Result<u64, Failure> {
        let (app, name) = (Arc::clone(&self.app), self.name.clone());
        let mut slot = app.registry.turn(&name, Purpose::Look).await;
        aside(move || app.registry.with(&name, &mut slot, Purpose::Look, |open| Ok(open.study.lines()))).await
    }
}

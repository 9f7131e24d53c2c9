//! Every route, once: the verbs of the protocol, and the few others. The router, the roles, the description for
//! programs and the labels of the metrics all come from this table.

use crate::openapi;
use icee_protocol::{Method, Role, Verb};
use std::sync::LazyLock;

/// What a route does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A verb of the protocol.
    Verb(Verb),
    /// Reports that the server is alive.
    Health,
    /// Describes all routes.
    Description,
    /// Metrics.
    Metrics,
    /// Messages whenever a study changes.
    Events,
    /// Lists the rooms.
    Rooms,
    /// Messages of a game, step by step.
    Game,
}

/// A route.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// Its path, with `{name}` for the study's name.
    pub path: &'static str,
    /// The required role; none if the route is public.
    pub role: Option<Role>,
    /// What it does.
    pub work: Work,
    /// The fields of its query that are numbers.
    pub numbers: Vec<String>,
}

impl Route {
    /// Whether rates apply. Health checks must also work when the server is busy.
    pub fn is_limited(&self) -> bool {
        self.work != Work::Health
    }

    /// The verb, if it is one.
    pub fn verb(&self) -> Option<Verb> {
        match self.work {
            Work::Verb(verb) => Some(verb),
            _ => None,
        }
    }
}

/// Types of answers.
pub const JSON: &str = "application/json";
pub const HTML: &str = "text/html; charset=utf-8";
pub const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
pub const EVENTS: &str = "text/event-stream";

/// The routes that are not verbs: path, role, work.
const OTHERS: [(&str, Option<Role>, Work); 6] = [
    ("/health", None, Work::Health),
    ("/openapi.json", None, Work::Description),
    ("/metrics", Some(Role::Read), Work::Metrics),
    ("/api/studies/{name}/events", Some(Role::Read), Work::Events),
    ("/api/rooms", Some(Role::Read), Work::Rooms),
    ("/api/room", Some(Role::Read), Work::Game),
];

/// All of them.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let verbs = Verb::ALL.iter().map(|&verb| {
        let (method, path) = verb.route();
        (method, path, Some(verb.role()), Work::Verb(verb))
    });
    let others = OTHERS.into_iter().map(|(path, role, work)| (Method::Get, path, role, work));
    let route = |(method, path, role, work)| {
        let numbers = if method == Method::Get { openapi::numbers(work) } else { vec![] };
        Route { method, path, role, work, numbers }
    };
    others.chain(verbs).map(route).collect()
});

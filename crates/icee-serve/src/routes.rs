//! Every route, once: the router, the roles, the description for machines and the labels of the metrics all come from this table.

use crate::app::App;
use crate::call::{Call, Done};
use crate::fields::{self, Field};
use crate::registry::Open;
use crate::tokens::Role;
use crate::{change, look, room, transfer};
use Answers::{Either, List, Object, Text};
use Role::{Admin, Read, Write};
use Verb::{Delete, Get, Post};

/// Who does the work of a route, and with what.
#[derive(Clone, Copy)]
pub enum Work {
    /// It is known at once.
    Now(fn(&App) -> Done),
    /// It takes a while, and no study in particular.
    Server(fn(&App, &Call) -> Done),
    /// A new study, whose name is in the request.
    Create,
    /// The same of one that comes from elsewhere.
    Import,
    /// With a study, when it is one's turn.
    Study(fn(&mut Open, &Call) -> Done),
    /// The same; the answer is kept for whoever sends the request once more with the same key.
    Once(fn(&mut Open, &Call) -> Done),
    /// A study goes.
    Delete,
    /// Messages, as long as the client listens.
    Events,
    /// Messages of a game, step by step.
    Game,
}

/// The methods that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Look.
    Get,
    /// Do.
    Post,
    /// Delete.
    Delete,
}

impl Verb {
    /// As requests have it.
    pub fn name(self) -> &'static str {
        match self {
            Get => "GET",
            Post => "POST",
            Delete => "DELETE",
        }
    }
}

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// A JSON object.
    Object,
    /// A JSON list.
    List,
    /// A JSON object or list.
    Either,
    /// A text of this type.
    Text(&'static str),
}

/// A route.
#[derive(Clone, Copy)]
pub struct Route {
    /// The method.
    pub verb: Verb,
    /// Its path, with `{name}` for the study's name.
    pub path: &'static str,
    /// Who may; everybody, where there is none.
    pub role: Option<Role>,
    /// What it does.
    pub about: &'static str,
    /// What may be said: in the body of a POST, behind the question mark of a GET.
    pub fields: &'static [Field],
    /// What its answer is.
    pub answers: Answers,
    /// Who does it.
    pub work: Work,
}

impl Route {
    /// Whether rates are for it. Whether the server lives must be known also when it is busy.
    pub fn is_limited(&self) -> bool {
        self.path != HEALTH
    }

    /// Whether a sheet is taken apart, which takes time and space.
    pub fn reads_sheet(&self) -> bool {
        self.fields.iter().any(|field| field.name == "sheet_base64")
    }
}

/// Types of answers.
pub const JSON: &str = "application/json";
pub const CSV: &str = "text/csv; charset=utf-8";
pub const HTML: &str = "text/html; charset=utf-8";
pub const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
pub const EVENTS: &str = "text/event-stream";

const NO: &[Field] = &[];
const HEALTH: &str = "/health";

const fn route(
    (verb, path): (Verb, &'static str),
    role: Option<Role>,
    (fields, answers): (&'static [Field], Answers),
    work: Work,
    about: &'static str,
) -> Route {
    Route { verb, path, role, about, fields, answers, work }
}

/// All of them.
pub const ROUTES: &[Route] = &[
    route((Get, HEALTH), None, (NO, Object), Work::Now(look::health), "Whether the server lives."),
    route((Get, "/openapi.json"), None, (NO, Object), Work::Now(look::openapi), "This description of all routes."),
    route(
        (Get, "/metrics"),
        Some(Read),
        (NO, Text(METRICS)),
        Work::Now(look::metrics),
        "Counts and times, for Prometheus.",
    ),
    route(
        (Get, "/api/studies"),
        Some(Read),
        (NO, List),
        Work::Server(look::list),
        "All studies: rows, told, running, left, best.",
    ),
    route(
        (Post, "/api/studies"),
        Some(Write),
        (fields::CREATE, Object),
        Work::Create,
        "Start a study of the rows of a sheet.",
    ),
    route(
        (Post, "/api/import"),
        Some(Write),
        (fields::IMPORT, Object),
        Work::Import,
        "Take in a study from elsewhere, its journal and its sheet, without a change.",
    ),
    route(
        (Post, "/api/survey"),
        Some(Write),
        (fields::SURVEY, Object),
        Work::Server(look::survey),
        "What is understood of a sheet's columns; nothing is kept.",
    ),
    route(
        (Get, "/api/studies/{name}"),
        Some(Read),
        (fields::SHOW, Object),
        Work::Study(look::show),
        "The study: its columns, all that was told, what is running.",
    ),
    route(
        (Delete, "/api/studies/{name}"),
        Some(Admin),
        (NO, Object),
        Work::Delete,
        "Put the study away, from where it can be taken back; its name is free again.",
    ),
    route(
        (Post, "/api/studies/{name}/ask"),
        Some(Write),
        (fields::ASK, Object),
        Work::Once(change::ask),
        "Which rows to try next.",
    ),
    route(
        (Post, "/api/studies/{name}/tell"),
        Some(Write),
        (fields::TELL, Object),
        Work::Once(change::tell),
        "What came out, of a row or of many.",
    ),
    route(
        (Post, "/api/studies/{name}/renew"),
        Some(Write),
        (fields::RENEW, Object),
        Work::Once(change::renew),
        "More time for rows that are running.",
    ),
    route(
        (Post, "/api/studies/{name}/update"),
        Some(Write),
        (fields::UPDATE, Object),
        Work::Once(change::update),
        "Take in what has changed in the sheet: the one that comes along, or the one on the server.",
    ),
    route(
        (Post, "/api/studies/{name}/withdraw"),
        Some(Write),
        (fields::WITHDRAW, Object),
        Work::Once(change::withdraw),
        "Take back rows that were asked for and will not be tried.",
    ),
    route(
        (Post, "/api/studies/{name}/forget"),
        Some(Write),
        (fields::ROWS, Object),
        Work::Once(change::forget),
        "Forget what was told of rows by mistake.",
    ),
    route(
        (Post, "/api/studies/{name}/undo"),
        Some(Write),
        (fields::UNDO, Object),
        Work::Once(change::undo),
        "Take back the last thing that was asked, told, taken in or taken back.",
    ),
    route(
        (Get, "/api/studies/{name}/best"),
        Some(Read),
        (NO, Either),
        Work::Study(look::best),
        "The best row told so far; with several objectives, the front.",
    ),
    route(
        (Get, "/api/studies/{name}/front"),
        Some(Read),
        (NO, List),
        Work::Study(look::front),
        "The rows told that are beaten by none.",
    ),
    route(
        (Get, "/api/studies/{name}/predict"),
        Some(Read),
        (fields::PREDICT, List),
        Work::Study(look::predict),
        "What is believed of every row.",
    ),
    route(
        (Get, "/api/studies/{name}/why"),
        Some(Read),
        (fields::WHY, Object),
        Work::Study(look::why),
        "What speaks for a row.",
    ),
    route(
        (Get, "/api/studies/{name}/effects"),
        Some(Read),
        (NO, List),
        Work::Study(look::effects),
        "What each column does.",
    ),
    route(
        (Get, "/api/studies/{name}/running"),
        Some(Read),
        (NO, List),
        Work::Study(look::running),
        "The rows that are being tried, by whom, until when, and what is believed of them.",
    ),
    route(
        (Get, "/api/studies/{name}/review"),
        Some(Read),
        (NO, Object),
        Work::Study(look::review),
        "A look back: the best so far, and what would have been predicted of each row before it was told.",
    ),
    route(
        (Get, "/api/studies/{name}/glance"),
        Some(Read),
        (NO, Text(HTML)),
        Work::Study(look::glance),
        "The study at a glance, a piece of HTML: where it stands, a picture, the rows told last.",
    ),
    route(
        (Get, "/api/studies/{name}/report"),
        Some(Read),
        (fields::REPORT, Text(HTML)),
        Work::Study(look::report),
        "A page about the study.",
    ),
    route(
        (Get, "/api/studies/{name}/export"),
        Some(Read),
        (fields::EXPORT, Text(CSV)),
        Work::Study(look::export),
        "What was told, in the form that tell reads.",
    ),
    route(
        (Get, "/api/studies/{name}/cells"),
        Some(Read),
        (NO, List),
        Work::Study(look::cells),
        "The cells of all rows, column by column: a list of names, each with a list of texts.",
    ),
    route(
        (Get, "/api/studies/{name}/journal"),
        Some(Read),
        (NO, Object),
        Work::Study(transfer::journal),
        "The study itself, its journal and its sheet, for /api/import elsewhere.",
    ),
    route(
        (Get, "/api/studies/{name}/events"),
        Some(Read),
        (NO, Text(EVENTS)),
        Work::Events,
        "A message whenever the study has changed: its number of lines.",
    ),
    route(
        (Get, "/api/rooms"),
        Some(Read),
        (NO, List),
        Work::Server(room::list),
        "The rooms in which an agent can be watched.",
    ),
    route(
        (Get, "/api/room"),
        Some(Read),
        (room::WATCH, Text(EVENTS)),
        Work::Game,
        "An agent plays a room: its steps one by one, with what it believes of every cell.",
    ),
];

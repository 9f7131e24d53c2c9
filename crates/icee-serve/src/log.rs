//! Events for the administrator's log. The library reports them, and prints nothing.

use serde::Serialize;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// The server listens.
    Started {
        /// Where.
        address: String,
        /// Where studies are kept.
        studies: String,
        /// Whether tokens are asked for.
        tokens: bool,
    },
    /// A request was answered.
    Request {
        /// GET, POST or DELETE; `-` where there is no such route.
        method: &'static str,
        /// The route, of the table; `-` where there is none.
        route: &'static str,
        /// The path, as the client has it.
        path: String,
        /// The status of the answer.
        status: u16,
        /// How long it took.
        seconds: f64,
        /// The client's address.
        client: String,
        /// The name of its token.
        #[serde(skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// What was wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The server was asked to stop, and lets running requests end.
    Stopping {
        /// How many.
        running: usize,
    },
    /// The server has stopped.
    Stopped {
        /// Whether all requests had ended.
        clean: bool,
    },
}

/// Who hears of it, from any thread.
pub type Log = Box<dyn Fn(&Event) + Send + Sync>;

//! Events for the administrator's log. The library reports them, and prints nothing.

use serde::Serialize;

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// The server listens.
    Started {
        /// Its address.
        address: String,
        /// Where its studies are kept.
        studies: String,
        /// Whether tokens are required.
        tokens: bool,
    },
    /// A request was answered.
    Request {
        /// GET, POST or DELETE; `-` where there is no such route.
        method: &'static str,
        /// The route, as in the table; `-` if there is none.
        route: &'static str,
        /// The path, as the client sent it.
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
        /// The problem.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The server was asked to stop, and finishes the requests in progress.
    Stopping {
        /// The number of requests.
        running: usize,
    },
    /// The server has stopped.
    Stopped {
        /// Whether all requests had ended.
        clean: bool,
    },
}

/// The receiver of events, from any thread.
pub type Log = Box<dyn Fn(&Event) + Send + Sync>;

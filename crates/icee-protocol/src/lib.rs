//! What is asked of a study and what it answers.
//!
//! Every face (command line, server, Python, page) speaks this protocol: a [`Request`] goes to a study, a [`Reply`] or a
//! [`Problem`] comes back, and [`Note`]s lie beside a reply. All of them are data with stable names; [`render`] alone turns
//! problems and notes into words, for the face that shows them.
//!
//! ```text
//! face ─► Request ─► Transport ─► handler ─► Reply + notes, or Problem ─► render::words ─► face
//! ```
//!
//! One table ([`Verb`]) has every verb: its request, its reply, who may use it and its path on a server. A verb that is added
//! there does not compile until every face prints it.
//!
//! The types are counterparts of what studies keep, never the journal's own: either can change without the other.

#![forbid(unsafe_code)]

mod content;
mod name;
mod note;
mod problem;
pub mod render;
mod reply;
mod request;
mod transport;
mod verb;

pub use content::{Amount, Cells, Content, RowId, Sheet, Texts};
pub use name::StudyName;
pub use note::{Emptied, FewerMeasured, Grounds, LeftOut, Lonely, Mixed, Note, Said, Suspicion};
pub use problem::{
    CellChange, ColumnRole, Conflict, EarlierMismatch, Kind, LineProblem, Misfit, Problem, Refusal, RowProblem,
    shortened,
};
pub use render::{Face, Locale, Reader};
pub use reply::*;
pub use request::*;
pub use transport::{Key, Noted, Transport};
pub use verb::{Call, Method, Reply, Request, Role, Verb};

/// The result of a request.
pub type Result<T> = std::result::Result<T, Problem>;

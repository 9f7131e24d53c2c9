//! Studies wherever they are: two [`Transport`]s, a folder of journals and a server over HTTP.
//!
//! ```no_run
//! use icee_client::Folder;
//! use icee_protocol::{Ask, Face, StudyName, Transport};
//!
//! let mut studies = Folder::new("studies", Face::Plain);
//! let bread: StudyName = "bread".parse()?;
//! let answer = studies.call(Some(&bread), Ask::default())?;
//! println!("row {}", answer.reply.suggestions[0].id);
//! # Ok::<(), icee_protocol::Problem>(())
//! ```
//!
//! [`Transport`]: icee_protocol::Transport

#![forbid(unsafe_code)]

mod folder;
mod http;
mod tls;

pub use folder::{Folder, read_bundle, upgrade, write_bundle};
pub use http::{FACE, Http, KEY, NOTES, TOKEN};
pub use icee_study::Upgraded;

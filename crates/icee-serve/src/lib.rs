//! Studies for a team, over HTTP.
//!
//! A [`Server`] serves studies from a [`Place`]: a folder, the same journals and sheets as the command line's, so both
//! can be used on one study at the same time; or a PostgreSQL database, which several servers share. Requests and
//! replies are those of `icee-protocol`.
//!
//! ```text
//! admission (rates, tokens, roles) ─► quotas ─► request ─► handle ─► registry: a turn with a study ─► icee_study::handle
//!                                                                        │
//!                                               store: studies, turns among servers, tokens
//! ```
//!
//! One table (`routes.rs`) has every route: the router, the roles and the description for machines come from it.

#![forbid(unsafe_code)]

mod admission;
mod answer;
mod app;
mod auth;
mod clock;
pub mod conformance;
mod connection;
mod drain;
mod events;
mod failure;
mod handle;
mod limits;
mod listen;
mod locks;
mod log;
mod metrics;
mod openapi;
mod pages;
mod quotas;
mod registry;
mod request;
mod room;
mod routes;
mod server;
mod shown;
mod store;
mod token_file;
mod tokens;

pub use answer::ascii;
pub use failure::ServeError;
pub use icee_protocol::Role;
pub use limits::Limits;
pub use log::Event;
pub use server::{Options, Server, Stopper};
pub use store::Place;
pub use tokens::{Token, Tokens};

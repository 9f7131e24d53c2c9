//! Studies for a team, over HTTP.
//!
//! A [`Server`] serves studies from a [`Place`]: a folder, the same journals and sheets as the command line's, so both can be used on one
//! study at the same time; or a PostgreSQL database, which several servers share. Answers are the JSON of the command line.
//!
//! ```text
//! request ─► guard (token, role, site) ─► limits ─► call ─► registry: one's turn with a study ─► change, look ─► reply
//!                                                                │
//!                                  store: studies, whose turn it is, what was answered before, tokens
//! ```
//!
//! One table (`routes.rs`) has every route: the router, the roles and the description for machines come from it.

#![forbid(unsafe_code)]

mod app;
mod call;
mod change;
mod client;
pub mod conformance;
mod connection;
mod counts;
mod create;
mod door;
mod events;
mod failure;
mod fields;
mod guard;
mod keys;
mod limits;
mod listen;
mod locks;
mod log;
mod look;
mod metrics;
mod name;
mod openapi;
mod pages;
mod places;
mod registry;
mod rest;
mod room;
mod routes;
mod server;
mod store;
mod token_file;
mod tokens;
mod transfer;
pub mod wire;

pub use client::{Client, ClientError};
pub use failure::ServeError;
pub use limits::Limits;
pub use log::Event;
pub use server::{Options, Server, Stopper};
pub use store::Place;
pub use tokens::{Role, Token, Tokens};

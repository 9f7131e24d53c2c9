//! The server over real connections: whole lives of studies, who may do what, and what does not break it.

mod client;
mod database;
mod divergence;
mod fuzz;
mod leases;
mod life;
mod limits;
mod postgres;
mod requests;
mod room;
mod safety;
mod sites;
mod tls;
mod transfer;

//! `icee serve`: the studies of a folder for a team, over HTTP.

use crate::study::{now, write_json};
use crate::terminal::{printable, say};
use anyhow::anyhow;
use clap::{Args as ClapArgs, Subcommand};
use icee_serve::{Limits, Options, Place, Role, ServeError, Server};
use serde::Serialize;
use std::io::{Write, stdout};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Serve studies over HTTP: a page in the browser, and an API for workers.
///
/// The studies are those of `icee study` in the same folder; you can use both at the same time. Replies are the JSON of
/// `icee study ... --json`; /openapi.json describes every route.
///
/// By default only this machine can reach the server, and no token is needed. Before you let other machines in (--host), create a token
/// (`icee serve token create`) and put a proxy with TLS in front. Each request is one line of JSON on stderr. Ctrl-C waits for open
/// requests.
#[derive(ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  icee serve\n  icee serve token create ada --role write\n  icee serve --host 0.0.0.0 --port 8080 --studies /srv/studies\n  icee serve --store postgres://icee@db/icee"
)]
pub struct Args {
    #[command(subcommand)]
    command: Option<ServeCommand>,
    /// Listen on this address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = host)]
    host: IpAddr,
    /// Listen on this port; 0 takes any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 8642)]
    port: u16,
    #[command(flatten)]
    place: PlaceArgs,
    /// Largest request in MiB; a sheet must fit in.
    #[arg(long, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    most_body: u16,
    /// Longest time for a reply, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    most_time: u64,
    /// Most requests at the same time.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096))]
    most_concurrent: u16,
    /// Most requests of one client a second; bursts may be four times as many.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    most_rate: u32,
}

/// What `icee serve` does beside serving.
#[derive(Subcommand)]
enum ServeCommand {
    /// Create, list and revoke tokens.
    #[command(subcommand)]
    Token(TokenCommand),
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Create a token and print it, once.
    ///
    /// Only its checksum is kept. As soon as there is one token, every request needs one.
    #[command(after_help = "Example:\n  icee serve token create ada --role write")]
    Create {
        /// The person or program that uses it.
        name: String,
        /// What it allows: read (look), write (also change), admin (also delete).
        #[arg(long, value_name = "ROLE")]
        role: Role,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Print the names, roles and ages of all tokens.
    List {
        #[command(flatten)]
        place: PlaceArgs,
        /// Print JSON for machines.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token: it is refused from the next request on.
    Revoke {
        /// Its name.
        name: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

#[derive(ClapArgs)]
struct PlaceArgs {
    /// The folder of studies.
    #[arg(long, value_name = "DIR", default_value = "studies")]
    studies: PathBuf,
    /// Keep the studies in PostgreSQL: postgres://USER@HOST/DATABASE.
    ///
    /// Several servers may share a database. The variable PGPASSWORD has the password.
    #[arg(long, value_name = "URL", conflicts_with = "studies")]
    store: Option<Place>,
}

impl PlaceArgs {
    fn place(&self) -> Place {
        self.store.clone().unwrap_or_else(|| Place::Folder(self.studies.clone()))
    }
}

/// A line of the list of tokens.
#[derive(Serialize)]
struct Line {
    name: String,
    role: Role,
    created: u64,
}

/// A line of the log.
#[derive(Serialize)]
struct Logged<'a> {
    /// Seconds since 1970.
    at: f64,
    #[serde(flatten)]
    event: &'a icee_serve::Event,
}

/// An address by itself or by its name; of several that of IPv4, which is what the name is taken for elsewhere.
fn host(text: &str) -> Result<IpAddr, String> {
    let found = (text, 0).to_socket_addrs().map_err(|error| error.to_string())?.map(|address| address.ip());
    let found: Vec<IpAddr> = found.collect();
    let first = found.iter().find(|ip| ip.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| format!("{text} has no address"))
}

/// Runs `icee serve`.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.command {
        Some(ServeCommand::Token(command)) => token(command),
        None => serve(args),
    }
}

fn serve(args: &Args) -> anyhow::Result<()> {
    let rate = f64::from(args.most_rate);
    let limits = Limits {
        body: usize::from(args.most_body) << 20,
        time: Duration::from_secs(args.most_time),
        concurrent: usize::from(args.most_concurrent),
        rate,
        burst: 4.0 * rate,
        ..Limits::default()
    };
    let address = SocketAddr::new(args.host, args.port);
    let place = args.place.place();
    let bound = Server::bind(&Options { store: place.clone(), address, limits }, log);
    let server = bound.map_err(|error| match error {
        ServeError::Open { .. } => anyhow!("{error} A token: `{}`", token_command(&place, Role::Admin)),
        error => error.into(),
    })?;
    server.stop_on_signals()?;
    let mut out = stdout().lock();
    writeln!(out, "http://{} serves {}; Ctrl-C ends it", server.address(), printable(&server.store()))?;
    out.flush()?;
    drop(out);
    Ok(server.run()?)
}

/// The options that lead to a place.
fn options_of(place: &Place) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,~".contains(c);
    let shown = place.to_string();
    let word = match !shown.is_empty() && shown.chars().all(plain) {
        true => shown,
        false => format!("'{}'", shown.replace('\'', r"'\''")),
    };
    match place {
        Place::Folder(_) => format!("--studies {word}"),
        Place::Postgres(_) => format!("--store {word}"),
    }
}

/// The command that creates a token for a server of a place.
fn token_command(place: &Place, role: Role) -> String {
    format!("icee serve token create NAME --role {role} {}", options_of(place))
}

/// One JSON line for everything that happens.
fn log(event: &icee_serve::Event) {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    if let Ok(line) = serde_json::to_string(&Logged { at, event }) {
        say(icee_serve::ascii(&line));
    }
}

fn token(command: &TokenCommand) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    match command {
        TokenCommand::Create { name, role, place } => {
            let text = place.place().tokens()?.create(name, *role, now())?;
            writeln!(out, "{text}")?;
            say("note: keep it; it is shown this once. Send it as the header Authorization: Bearer TOKEN");
            say(format_args!(
                "note: it is for the server that runs as `icee serve {}`",
                printable(&options_of(&place.place()))
            ));
        }
        TokenCommand::List { place, json } => {
            let line = |token: icee_serve::Token| Line { name: token.name, role: token.role, created: token.created };
            let lines: Vec<Line> = place.place().tokens()?.all()?.into_iter().map(line).collect();
            if *json {
                return write_json(&mut out, &lines);
            }
            if lines.is_empty() {
                let command = token_command(&place.place(), Role::Write);
                writeln!(out, "no tokens yet; `{}` makes one", printable(&command))?;
            }
            for Line { name, role, created } in &lines {
                let days = now().saturating_sub(*created) / 86_400;
                writeln!(out, "{}  {role}  {days} days old", printable(name))?;
            }
        }
        TokenCommand::Revoke { name, place } => {
            place.place().tokens()?.revoke(name)?;
            writeln!(out, "revoked: {}", printable(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_word_of_a_command_line() {
        let options = |text: &str| options_of(&text.parse().unwrap());
        assert_eq!(options("/srv/x"), "--studies /srv/x");
        assert_eq!(options("it's"), r"--studies 'it'\''s'");
        assert_eq!(options("postgres://icee:a@db/icee"), "--store postgres://icee@db/icee");
    }
}

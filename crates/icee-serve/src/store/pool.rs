//! Connections to a database: a few, shared, and made anew after they were lost.

use super::{migrate, tls};
use crate::failure::ServeError;
use icee_protocol::{Problem, Result};
use postgres::config::Host;
use postgres::error::SqlState;
use postgres::{Client, Config};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Connections of one server, at most.
const MOST: usize = 16;
/// How many of them turns with studies may take, which keep theirs as long as they last: the others are for looks and
/// tokens.
const MOST_TURNS: usize = 12;
/// How long to wait for one of them.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a new one may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long what was sent may go without a sign of life.
const SILENCE: Duration = Duration::from_secs(30);
/// How often both ends make sure that the other is there while nothing is sent: first after this time, then every so
/// often, so often.
const ALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);
/// Acknowledged changes are on disk, whatever the database's default. Lost connections are noticed. And
/// nothing takes for ever: five minutes are enough for the largest body that a server takes.
const SETTINGS: &str = "SET synchronous_commit = on; SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; \
                        SET tcp_keepalives_count = 3; SET statement_timeout = '5min'";

/// The connections.
pub struct Pool {
    config: Config,
    tls: MakeRustlsConnect,
    name: String,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Client>,
    /// In use.
    out: usize,
    /// Those of them that turns have.
    turns: usize,
}

/// A connection in use; it returns to the pool when this is dropped.
pub struct Connection {
    client: Option<Client>,
    pool: Arc<Pool>,
    turn: bool,
}

impl Connection {
    /// The connection itself.
    ///
    /// # Errors
    /// Where it was given up.
    pub fn client(&mut self) -> Result<&mut Client> {
        let name = &self.pool.name;
        let lost = || Problem::Unavailable { name: name.clone(), fault: "the connection was lost".into() };
        self.client.as_mut().ok_or_else(lost)
    }

    /// Ends it, and with it all its locks.
    pub fn give_up(&mut self) {
        self.client = None;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.out -= 1;
        state.turns -= usize::from(self.turn);
        state.idle.extend(self.client.take().filter(|client| !client.is_closed()));
        // Only a share of those that wait may have it.
        self.pool.freed.notify_all();
    }
}

impl Pool {
    /// Connections to the database at an address, none of them made yet.
    ///
    /// # Errors
    /// Where that is no address, or one that this program cannot speak to.
    pub fn new(url: &str) -> std::result::Result<Arc<Pool>, ServeError> {
        // The address may have a password, so it is not repeated.
        let wrong = |problem| ServeError::Store(format!("The address of the database cannot be used: {problem}"));
        let (mut config, tls) = tls::parse(url).map_err(wrong)?;
        if config.get_password().is_none()
            && let Ok(password) = std::env::var("PGPASSWORD")
        {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECTING);
        }
        let (idle, interval, retries) = ALIVE;
        config.keepalives_idle(idle).keepalives_interval(interval).keepalives_retries(retries);
        config.application_name("icee serve").tcp_user_timeout(SILENCE);
        let host = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(host) => host.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let host: Vec<String> = host.collect();
        let name = format!("the database {} at {}", config.get_dbname().unwrap_or("of the user"), host.join(", "));
        Ok(Arc::new(Pool { config, tls, name, state: Mutex::default(), freed: Condvar::new() }))
    }

    /// Makes the tables, where they are not there yet.
    ///
    /// # Errors
    /// Where the database cannot be reached, refuses, or is newer than this program.
    pub fn prepare(self: &Arc<Pool>) -> std::result::Result<(), ServeError> {
        let mut connection = self.take()?;
        let newest = migrate::apply(connection.client()?).map_err(|error| self.wrong(&error))?;
        match migrate::is_newer(newest) {
            true => Err(ServeError::Store(format!(
                "The tables of {} are of a newer version ({newest}). Use that version.",
                self.name
            ))),
            false => Ok(()),
        }
    }

    /// The database's name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection, if need be a new one.
    ///
    /// # Errors
    /// Where all are in use for too long, or the database cannot be reached.
    pub fn take(self: &Arc<Pool>) -> Result<Connection> {
        self.take_within(PATIENCE, false)
    }

    /// The same for a turn with a study.
    ///
    /// # Errors
    /// As [`Pool::take`].
    pub fn take_for_turn(self: &Arc<Pool>, patience: Duration) -> Result<Connection> {
        self.take_within(patience, true)
    }

    fn take_within(self: &Arc<Pool>, patience: Duration, turn: bool) -> Result<Connection> {
        let is_full = |state: &mut State| state.out >= MOST || turn && state.turns >= MOST_TURNS;
        let waited = self.freed.wait_timeout_while(self.state(), patience, is_full);
        let (mut state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            return Err(Problem::Busy { what: "All connections to the database are in use".into() });
        }
        state.out += 1;
        state.turns += usize::from(turn);
        let client = state.idle.pop();
        drop(state);
        let mut connection = Connection { client, pool: Arc::clone(self), turn };
        if connection.client.is_none() {
            let mut client = self.config.connect(self.tls.clone()).map_err(|error| self.wrong(&error))?;
            client.batch_execute(SETTINGS).map_err(|error| self.wrong(&error))?;
            connection.client = Some(client);
        }
        Ok(connection)
    }

    /// Does something that may be done twice: if an old connection turns out to be dead, with a new one.
    ///
    /// # Errors
    /// Where that does not help, or the work says so.
    pub fn with<T>(
        self: &Arc<Pool>,
        mut work: impl FnMut(&mut Client) -> std::result::Result<T, postgres::Error>,
    ) -> Result<T> {
        let mut connection = self.take()?;
        match work(connection.client()?) {
            Ok(done) => Ok(done),
            Err(error) if is_lost(&error) => {
                drop(connection);
                self.forget_idle();
                work(self.take()?.client()?).map_err(|error| self.wrong(&error))
            }
            Err(error) => Err(self.wrong(&error)),
        }
    }

    /// Drops connections that are not in use: if one is dead, the others are, too.
    pub fn forget_idle(&self) {
        let idle = std::mem::take(&mut self.state().idle);
        drop(idle);
    }

    /// The problem that an error is; whether it is worth trying again is its kind.
    pub fn wrong(&self, error: &postgres::Error) -> Problem {
        match error.code() {
            _ if is_lost(error) => self.unavailable(in_words(error)),
            Some(code) if PASSING.contains(code) => Problem::Busy { what: "The database took too long".into() },
            _ => Problem::Stored { name: self.name.clone(), fault: in_words(error) },
        }
    }

    /// The problem of a temporary failure.
    pub fn unavailable(&self, fault: String) -> Problem {
        Problem::Unavailable { name: self.name.clone(), fault }
    }
}

/// Errors that the database reports because others are at work there.
const PASSING: [SqlState; 3] =
    [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED];

/// Whether the connection is broken, or the database is stopping or not running yet.
pub fn is_lost(error: &postgres::Error) -> bool {
    let passing = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::TOO_MANY_CONNECTIONS,
        &SqlState::IDLE_SESSION_TIMEOUT,
    ];
    match error.code() {
        Some(code) => passing.contains(&code) || code.code().starts_with("08"),
        None => true,
    }
}

/// An error with all its causes.
pub fn in_words(error: &postgres::Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        words = format!("{words}: {inner}");
        source = inner.source();
    }
    words
}

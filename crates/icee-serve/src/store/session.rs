//! A session with a database: one connection, which has the lock of a study, and over which everything is written.
//!
//! The lock is the connection's. If the connection is lost, the lock goes to others, and nothing more can be written
//! over it: a server that was cut off can do no harm.

use super::migrate::LOCKS;
use super::pool::{Connection, Pool, is_lost};
use icee_protocol::{Problem, Result};
use postgres::Client;
use postgres::error::SqlState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a wait in the database lasts before the connection is returned for others.
const SLICE: Duration = Duration::from_secs(1);
/// The same if the wait is to be reported; zero would be for ever.
const LEAST: Duration = Duration::from_millis(1);
/// Practically for ever.
const LONGEST: Duration = Duration::from_secs(1 << 32);

/// The session of a storage with a database.
pub struct Session {
    pool: Arc<Pool>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// None while nothing is locked, or where it was lost.
    connection: Option<Connection>,
    /// A server has the lock for a whole request, and its study takes it again inside.
    locks: usize,
    /// The owner of the lock.
    study: i32,
}

impl Session {
    /// A session without a connection yet.
    pub fn new(pool: &Arc<Pool>) -> Arc<Session> {
        Arc::new(Session { pool: Arc::clone(pool), held: Mutex::default() })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lost(&self) -> Problem {
        self.pool.unavailable("the connection was lost".into())
    }

    /// Waits for the lock of a study, and calls `waiting` if that takes longer than `first`; gives up after `most`, if
    /// it is given.
    ///
    /// The database serves those that wait in the order in which they came. But waiting there takes a connection, so
    /// that is returned every second, for requests whose studies are free.
    ///
    /// # Errors
    /// If it is not available; then it is not held.
    pub fn lock(&self, study: i32, first: Duration, waiting: &dyn Fn(), most: Option<Duration>) -> Result<()> {
        let mut held = self.held();
        if held.locks > 0 {
            if held.connection.is_none() {
                return Err(self.lost());
            }
            if held.study != study {
                let fault = "Another study has taken the name meanwhile. Look at it before you repeat the request.";
                return Err(Problem::Refused { status: 409, fault: fault.into() });
            }
            held.locks += 1;
            return Ok(());
        }
        let (begun, mut said, mut lost) = (Instant::now(), false, false);
        loop {
            let left = most.map_or(LONGEST, |most| most.saturating_sub(begun.elapsed()));
            let mut connection = self.pool.take_for_turn(left.max(SLICE))?;
            let until_said = if said { SLICE } else { first.saturating_sub(begun.elapsed()) };
            let error = match locked(connection.client()?, study, until_said.clamp(LEAST, SLICE)) {
                Ok(()) => {
                    *held = Held { connection: Some(connection), locks: 1, study };
                    return Ok(());
                }
                Err(error) => error,
            };
            if is_late(&error) {
                drop(connection);
                if most.is_some_and(|most| begun.elapsed() >= most) {
                    return Err(Problem::Busy {
                        what: "Another server has been working on the study for too long".into(),
                    });
                }
                if !said && begun.elapsed() >= first {
                    waiting();
                    said = true;
                }
                continue;
            }
            connection.give_up();
            drop(connection);
            // An old connection may have died; a new one says whether the database is there.
            if lost || !is_lost(&error) {
                return Err(self.pool.wrong(&error));
            }
            self.pool.forget_idle();
            lost = true;
        }
    }

    /// Releases the lock, after as many calls as there were to `lock`.
    pub fn unlock(&self) {
        let mut held = self.held();
        held.locks = held.locks.saturating_sub(1);
        if held.locks > 0 {
            return;
        }
        if let Some(mut connection) = held.connection.take() {
            let freed =
                connection.client().is_ok_and(|client| client.batch_execute("SELECT pg_advisory_unlock_all()").is_ok());
            if !freed {
                connection.give_up();
            }
        }
    }

    /// Does something that may be done twice: over the connection that has the lock, or any.
    ///
    /// # Errors
    /// Where it cannot be done.
    pub fn read<T>(&self, work: impl FnMut(&mut Client) -> std::result::Result<T, postgres::Error>) -> Result<T> {
        if self.held().locks > 0 { self.write(work) } else { self.pool.with(work) }
    }

    /// Writes something under the lock, or not at all.
    ///
    /// # Errors
    /// Where the lock is not held any more, or the work says so.
    pub fn write<T>(&self, mut work: impl FnMut(&mut Client) -> std::result::Result<T, postgres::Error>) -> Result<T> {
        let mut held = self.held();
        let Some(connection) = &mut held.connection else { return Err(self.lost()) };
        let done = work(connection.client()?);
        if done.as_ref().is_err_and(is_lost) {
            connection.give_up();
            held.connection = None;
            self.pool.forget_idle();
        }
        done.map_err(|error| self.pool.wrong(&error))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Left in the middle: the lock must not go back to the pool.
        if let Some(connection) = &mut self.held().connection {
            connection.give_up();
        }
    }
}

/// Locks a study. The timeout counts until the end of these two statements, not for later ones of the connection.
fn locked(client: &mut Client, study: i32, patience: Duration) -> std::result::Result<(), postgres::Error> {
    client.batch_execute(&format!(
        "SET LOCAL lock_timeout = {}; SELECT pg_advisory_lock({LOCKS}, {study})",
        patience.as_millis()
    ))
}

fn is_late(error: &postgres::Error) -> bool {
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

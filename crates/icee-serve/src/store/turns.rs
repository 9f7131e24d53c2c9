//! Turns with a study, among the servers that share it.

use super::session::Session;
use crate::clock::now;
use icee_protocol::Result;
use postgres::types::Type;
use std::sync::Arc;
use std::time::Duration;

/// How long a server waits for its turn before it gives up temporarily.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Turns with a study. A server does one request at a time that changes the study, from [`Turns::begin`] to
/// [`Turns::end`], and so do all servers together.
pub trait Turns: Send {
    /// Waits for a turn. Answers the time where the study is kept, in seconds since 1970; none where the name is
    /// another study's by now: then the turn has not begun, and the study has to be opened again.
    ///
    /// # Errors
    /// If it takes too long, or the place cannot be reached.
    fn begin(&mut self) -> Result<Option<u64>>;

    /// Ends the turn.
    fn end(&mut self);
}

/// Turns where there is one server only.
pub struct Alone;

impl Turns for Alone {
    fn begin(&mut self) -> Result<Option<u64>> {
        Ok(Some(now()))
    }

    fn end(&mut self) {}
}

/// Turns among the servers of a database.
pub struct Shared {
    pub session: Arc<Session>,
    pub study: i32,
    /// The study's name when it was opened.
    pub name: String,
}

impl Turns for Shared {
    fn begin(&mut self) -> Result<Option<u64>> {
        self.session.lock(self.study, PATIENCE, &|| (), Some(PATIENCE))?;
        let (study, name) = (self.study, &self.name);
        let row = self.session.write(|client| {
            let sql = "SELECT extract(epoch FROM clock_timestamp())::bigint FROM icee.studies \
                       WHERE name = $1 AND id = $2 AND deleted IS NULL";
            client.query_typed_opt(sql, &[(name, Type::TEXT), (&study, Type::INT4)])
        });
        if !matches!(row, Ok(Some(_))) {
            self.end();
        }
        Ok(row?.map(|row| row.get::<_, i64>(0).unsigned_abs()))
    }

    fn end(&mut self) {
        self.session.unlock();
    }
}

//! A study in a database: numbered lines of text, under a lock of its own.

use super::pool::Pool;
use super::seat::Seat;
use icee_study::storage::{News, PATIENCE, Position};
use icee_study::{Error, Home, Result, Storage};
use postgres::error::SqlState;
use postgres::types::Type;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a study is in a database, or will be.
pub struct InDatabase {
    pub pool: Arc<Pool>,
    /// What it is called there.
    pub study: String,
    /// The place of whoever opens it; by default each has one of his own.
    pub seat: Option<Arc<Seat>>,
    /// Where its sheet lies on this machine.
    pub sheet: Option<PathBuf>,
    /// The folder of a sheet that a new study is made of, how its name ends, and its bytes.
    pub draft: Option<(PathBuf, String, Vec<u8>)>,
}

/// The number of the study of a name.
pub const NUMBER: &str = "SELECT id FROM icee.studies WHERE name = $1 AND deleted IS NULL";

impl Home for InDatabase {
    fn name(&self) -> String {
        format!("study {} in {}", self.study, self.pool.name())
    }

    fn folder(&self) -> Option<PathBuf> {
        self.draft.as_ref().map(|(folder, ..)| folder.clone())
    }

    fn sheet(&self) -> Option<PathBuf> {
        self.sheet.clone()
    }

    fn create(&self, lines: &[String]) -> Result<()> {
        let mut connection = self.pool.take()?;
        // Creating is not tried twice; so it does not begin with a connection that may be dead.
        if connection.client()?.is_valid(PATIENCE).is_err() {
            drop(connection);
            self.pool.forget_idle();
            connection = self.pool.take()?;
        }
        let mut create = || -> std::result::Result<(), CreateError> {
            let mut work = connection.client()?.transaction()?;
            let id: i32 =
                work.query_one("INSERT INTO icee.studies (name) VALUES ($1) RETURNING id", &[&self.study])?.get(0);
            if let Some((_, ending, bytes)) = &self.draft {
                work.execute(
                    "INSERT INTO icee.sheets (study, ending, bytes) VALUES ($1, $2, $3)",
                    &[&id, ending, bytes],
                )?;
            }
            work.execute(
                "INSERT INTO icee.lines (study, seq, line) SELECT $1, seq, line FROM unnest($2::text[]) WITH ORDINALITY AS new (line, seq)",
                &[&id, &lines],
            )?;
            Ok(work.commit()?)
        };
        create().map_err(|error| match error {
            CreateError::Database(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                Error::Conflict(format!("{} exists already; choose another name", self.name()))
            }
            CreateError::Database(error) => self.pool.wrong(&error),
            CreateError::Pool(error) => error,
        })
    }

    fn open(&self) -> Result<Box<dyn Storage>> {
        let found = self.pool.with(|client| client.query_typed_opt(NUMBER, &[(&self.study, Type::TEXT)]))?;
        let none = || Error::Stored { name: self.name(), problem: "there is no study; create it first".into() };
        let id = found.ok_or_else(none)?.get(0);
        let seat = self.seat.clone().unwrap_or_else(|| Seat::new(&self.pool));
        let (name, study) = (self.name(), self.study.clone());
        Ok(Box::new(Lines { name, study, seat, id, at: Position::default(), locked: false }))
    }
}

enum CreateError {
    Database(postgres::Error),
    Pool(Error),
}

impl From<postgres::Error> for CreateError {
    fn from(error: postgres::Error) -> CreateError {
        CreateError::Database(error)
    }
}

impl From<Error> for CreateError {
    fn from(error: Error) -> CreateError {
        CreateError::Pool(error)
    }
}

/// A study that was opened.
struct Lines {
    name: String,
    study: String,
    seat: Arc<Seat>,
    id: i32,
    at: Position,
    locked: bool,
}

impl Lines {
    fn stored(&self, problem: impl Into<String>) -> Error {
        Error::Stored { name: self.name.clone(), problem: problem.into() }
    }

    fn free(&mut self) {
        if std::mem::take(&mut self.locked) {
            self.seat.unlock();
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.free();
    }
}

impl Storage for Lines {
    fn position(&self) -> Position {
        self.at
    }

    fn lock(&mut self, waiting: &dyn Fn()) -> Result<()> {
        loop {
            self.seat.lock(self.id, PATIENCE, waiting, None)?;
            self.locked = true;
            // While we waited, the study may have been put away, and another one have taken its name.
            let study = &self.study;
            let found = self.seat.read(|client| client.query_typed_opt(NUMBER, &[(study, Type::TEXT)]));
            let found = found.map(|row| row.map(|row| row.get::<_, i32>(0)));
            if matches!(found, Ok(Some(id)) if id == self.id) {
                return Ok(());
            }
            self.free();
            self.id = found?.ok_or_else(|| self.stored("there is no study any more; it was deleted"))?;
            self.at = Position::default();
        }
    }

    fn unlock(&mut self) -> Result<()> {
        self.free();
        Ok(())
    }

    fn read(&mut self) -> Result<News> {
        let (id, known) = (self.id, self.at.lines);
        let from = i64::try_from(known).unwrap_or(i64::MAX);
        let rows = self.seat.read(|client| {
            let sql = "SELECT seq, line FROM icee.lines WHERE study = $1 AND seq > $2 ORDER BY seq";
            client.query_typed(sql, &[(&id, Type::INT4), (&from, Type::INT8)])
        })?;
        let mut lines = Vec::with_capacity(rows.len());
        for (row, expected) in rows.iter().zip(known + 1..) {
            if u64::try_from(row.get::<_, i64>(0)).ok() != Some(expected) {
                return Err(
                    self.stored(format!("line {expected} is missing; nothing was changed, put back a sound copy"))
                );
            }
            lines.push(row.get(1));
        }
        let mark = if known + lines.len() as u64 == 0 { [0; 2] } else { [u64::from(id.unsigned_abs()), 0] };
        let end = Position { lines: known + lines.len() as u64, mark };
        Ok(News { lines, torn: vec![], end })
    }

    fn accept(&mut self, news: &News) {
        self.at = news.end;
    }

    fn rewind(&mut self) {
        self.at = Position::default();
    }

    fn append(&mut self, line: &str) -> Result<()> {
        let seq = i64::try_from(self.at.lines + 1).map_err(|_| self.stored("it is too long"))?;
        if !self.locked {
            return Err(self.stored("who appends holds the lock"));
        }
        let id = self.id;
        // The number is taken if somebody else has written; then this is refused.
        self.seat.write(|client| {
            let sql = "INSERT INTO icee.lines (study, seq, line) VALUES ($1, $2, $3)";
            client.execute_typed(sql, &[(&id, Type::INT4), (&seq, Type::INT8), (&line, Type::TEXT)])
        })?;
        self.at = Position { lines: self.at.lines + 1, mark: [u64::from(id.unsigned_abs()), 0] };
        Ok(())
    }
}

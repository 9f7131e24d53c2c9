//! A study in a database: numbered lines of text under a lock, and the sheets that it was read from.

use super::pool::Pool;
use super::session::Session;
use icee_protocol::{Problem, Result, StudyName};
use icee_study::storage::{News, PATIENCE, Position};
use icee_study::{Home, KeptSheet, Storage};
use postgres::error::SqlState;
use postgres::types::Type;
use std::sync::Arc;

/// Where a study is in a database, or will be.
pub struct InDatabase {
    pub pool: Arc<Pool>,
    pub study: StudyName,
    /// The session of the server that opens it; by default each has its own.
    pub session: Option<Arc<Session>>,
}

/// The number of the study of a name.
pub const NUMBER: &str = "SELECT id FROM icee.studies WHERE name = $1 AND deleted IS NULL";
const KEEP: &str =
    "INSERT INTO icee.sheets (study, hash, bytes) VALUES ($1, $2, $3) ON CONFLICT (study, hash) DO NOTHING";

impl Home for InDatabase {
    fn name(&self) -> String {
        format!("study {}", self.study)
    }

    fn create(&self, lines: &[String], sheets: &[KeptSheet]) -> Result<()> {
        let mut connection = self.pool.take()?;
        // Creating is not tried twice; so it does not begin with a connection that may be dead.
        if connection.client()?.is_valid(PATIENCE).is_err() {
            drop(connection);
            self.pool.forget_idle();
            connection = self.pool.take()?;
        }
        create(connection.client()?, self.study.as_str(), lines, sheets).map_err(|error| {
            match error.code() == Some(&SqlState::UNIQUE_VIOLATION) {
                true => Problem::StudyExists { name: self.study.to_string() },
                false => self.pool.wrong(&error),
            }
        })
    }

    fn open(&self) -> Result<Box<dyn Storage>> {
        let study = self.study.as_str();
        let found = self.pool.with(|client| client.query_typed_opt(NUMBER, &[(&study, Type::TEXT)]))?;
        let id = found.ok_or_else(|| missing(&self.study))?.get(0);
        let session = self.session.clone().unwrap_or_else(|| Session::new(&self.pool));
        let (name, study) = (self.name(), self.study.clone());
        Ok(Box::new(Lines { name, study, session, id, at: Position::default(), locked: false }))
    }
}

/// Creates a study, all of it at once.
fn create(
    client: &mut postgres::Client,
    study: &str,
    lines: &[String],
    sheets: &[KeptSheet],
) -> std::result::Result<(), postgres::Error> {
    let mut work = client.transaction()?;
    let id: i32 = work.query_one("INSERT INTO icee.studies (name) VALUES ($1) RETURNING id", &[&study])?.get(0);
    for KeptSheet { hash, bytes } in sheets {
        work.execute(KEEP, &[&id, hash, bytes])?;
    }
    let all = "INSERT INTO icee.lines (study, seq, line) \
               SELECT $1, seq, line FROM unnest($2::text[]) WITH ORDINALITY AS new (line, seq)";
    work.execute(all, &[&id, &lines])?;
    work.commit()
}

/// There is no such study.
pub fn missing(name: &StudyName) -> Problem {
    Problem::NoStudy { name: name.to_string(), place: None, known: vec![] }
}

/// A study that was opened.
struct Lines {
    name: String,
    study: StudyName,
    session: Arc<Session>,
    id: i32,
    at: Position,
    locked: bool,
}

impl Lines {
    fn stored(&self, fault: impl Into<String>) -> Problem {
        Problem::Stored { name: self.name.clone(), fault: fault.into() }
    }

    fn free(&mut self) {
        if std::mem::take(&mut self.locked) {
            self.session.unlock();
        }
    }

    /// What the storage knows a study by.
    fn mark(&self) -> [u64; 2] {
        [u64::from(self.id.unsigned_abs()), 0]
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
            self.session.lock(self.id, PATIENCE, waiting, None)?;
            self.locked = true;
            // Meanwhile the study may have been deleted, and another one have taken its name.
            let study = self.study.as_str();
            let found = self.session.read(|client| client.query_typed_opt(NUMBER, &[(&study, Type::TEXT)]));
            let found = found.map(|row| row.map(|row| row.get::<_, i32>(0)));
            if matches!(found, Ok(Some(id)) if id == self.id) {
                return Ok(());
            }
            self.free();
            self.id = found?.ok_or_else(|| missing(&self.study))?;
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
        let rows = self.session.read(|client| {
            let sql = "SELECT seq, line FROM icee.lines WHERE study = $1 AND seq > $2 ORDER BY seq";
            client.query_typed(sql, &[(&id, Type::INT4), (&from, Type::INT8)])
        })?;
        let mut lines = Vec::with_capacity(rows.len());
        for (row, expected) in rows.iter().zip(known + 1..) {
            if u64::try_from(row.get::<_, i64>(0)).ok() != Some(expected) {
                return Err(self.stored(format!("Line {expected} is missing. Nothing was changed; restore a backup.")));
            }
            lines.push(row.get(1));
        }
        let count = known + lines.len() as u64;
        let mark = if count == 0 { [0; 2] } else { self.mark() };
        Ok(News { lines, torn: vec![], end: Position { lines: count, mark } })
    }

    fn accept(&mut self, news: &News) {
        self.at = news.end;
    }

    fn rewind(&mut self) {
        self.at = Position::default();
    }

    fn append(&mut self, line: &str) -> Result<()> {
        let seq = i64::try_from(self.at.lines + 1).map_err(|_| self.stored("The study is too long."))?;
        if !self.locked {
            return Err(self.stored("A line was appended without the lock."));
        }
        let id = self.id;
        // The number is taken if another process has written; then this is refused.
        self.session.write(|client| {
            let sql = "INSERT INTO icee.lines (study, seq, line) VALUES ($1, $2, $3)";
            client.execute_typed(sql, &[(&id, Type::INT4), (&seq, Type::INT8), (&line, Type::TEXT)])
        })?;
        self.at = Position { lines: self.at.lines + 1, mark: self.mark() };
        Ok(())
    }

    fn keep(&mut self, sheet: &KeptSheet) -> Result<()> {
        let (id, KeptSheet { hash, bytes }) = (self.id, sheet);
        let kept = self
            .session
            .read(|client| client.execute_typed(KEEP, &[(&id, Type::INT4), (hash, Type::TEXT), (bytes, Type::BYTEA)]));
        kept.map(drop)
    }

    fn kept(&mut self, hash: &str) -> Result<Option<Vec<u8>>> {
        let id = self.id;
        let row = self.session.read(|client| {
            let sql = "SELECT bytes FROM icee.sheets WHERE study = $1 AND hash = $2";
            client.query_typed_opt(sql, &[(&id, Type::INT4), (&hash, Type::TEXT)])
        })?;
        let Some(sheet) = row.map(|row| KeptSheet { hash: hash.to_owned(), bytes: row.get(0) }) else {
            return Ok(None);
        };
        match sheet.is_sound() {
            true => Ok(Some(sheet.bytes)),
            false => Err(self.stored(format!("The sheet {hash} is damaged. Restore a backup."))),
        }
    }

    fn drop_kept(&mut self, hash: &str) -> Result<()> {
        let id = self.id;
        let dropped = self.session.read(|client| {
            let sql = "DELETE FROM icee.sheets WHERE study = $1 AND hash = $2";
            client.execute_typed(sql, &[(&id, Type::INT4), (&hash, Type::TEXT)])
        });
        dropped.map(drop)
    }
}

//! A PostgreSQL database of studies, which several servers share.

use super::pool::Pool;
use super::session::Session;
use super::storage::{self, missing};
use super::turns::{self, Turns};
use super::{Stamp, Store, tokens};
use crate::failure::ServeError;
use crate::tokens::Tokens;
use icee_protocol::{Result, StudyName};
use icee_study::Home;
use postgres::types::Type;
use std::sync::Arc;

/// The database.
pub struct Database {
    pool: Arc<Pool>,
}

impl Database {
    /// Connects, and makes the tables if need be.
    ///
    /// # Errors
    /// Where the database cannot be reached or used.
    pub fn open(url: &str) -> std::result::Result<Database, ServeError> {
        let pool = Pool::new(url)?;
        pool.prepare()?;
        Ok(Database { pool })
    }

    fn number(&self, name: &StudyName) -> Result<i32> {
        let text = name.as_str();
        let found = self.pool.with(|client| client.query_typed_opt(storage::NUMBER, &[(&text, Type::TEXT)]))?;
        Ok(found.ok_or_else(|| missing(name))?.get(0))
    }

    fn home_with(&self, name: &StudyName, session: Option<Arc<Session>>) -> Box<dyn Home> {
        Box::new(storage::InDatabase { pool: Arc::clone(&self.pool), study: name.clone(), session })
    }
}

impl icee_study::Place for Database {
    fn names(&self) -> Result<Vec<StudyName>> {
        let sql = "SELECT name FROM icee.studies WHERE deleted IS NULL";
        let rows = self.pool.with(|client| client.query_typed(sql, &[]))?;
        let mut names: Vec<StudyName> = rows.iter().filter_map(|row| row.get::<_, &str>(0).parse().ok()).collect();
        names.sort();
        Ok(names)
    }

    fn exists(&self, name: &StudyName) -> Result<bool> {
        Ok(self.stamp(name)?.is_some())
    }

    fn home(&self, name: &StudyName) -> Result<Box<dyn Home>> {
        Ok(self.home_with(name, None))
    }

    fn put_away(&self, name: &StudyName, now: u64) -> Result<Option<String>> {
        let (id, now) = (self.number(name)?, i64::try_from(now).unwrap_or(i64::MAX));
        let session = Session::new(&self.pool);
        session.lock(id, turns::PATIENCE, &|| (), Some(turns::PATIENCE))?;
        let gone = session.write(|client| {
            let sql = "UPDATE icee.studies SET deleted = $2 WHERE id = $1 AND deleted IS NULL";
            client.execute_typed(sql, &[(&id, Type::INT4), (&now, Type::INT8)])
        });
        session.unlock();
        gone.map(|_| None)
    }
}

impl Store for Database {
    fn name(&self) -> String {
        self.pool.name().to_owned()
    }

    fn hidden(&self) -> Option<&str> {
        Some(self.pool.name())
    }

    fn tokens(&self) -> Tokens {
        Tokens::new(Box::new(tokens::InDatabase(Arc::clone(&self.pool))))
    }

    fn stamp(&self, name: &StudyName) -> Result<Option<Stamp>> {
        let sql = "SELECT id, coalesce((SELECT max(seq) FROM icee.lines WHERE study = id), 0) FROM icee.studies \
                   WHERE name = $1 AND deleted IS NULL";
        let name = name.as_str();
        let row = self.pool.with(|client| client.query_typed_opt(sql, &[(&name, Type::TEXT)]))?;
        let stamp = |row: postgres::Row| {
            Stamp::numbered(u64::from(row.get::<_, i32>(0).unsigned_abs()), row.get::<_, i64>(1).unsigned_abs())
        };
        Ok(row.map(stamp))
    }

    fn open(&self, name: &StudyName) -> Result<(Box<dyn Home>, Box<dyn Turns>)> {
        let (study, session) = (self.number(name)?, Session::new(&self.pool));
        let home = self.home_with(name, Some(Arc::clone(&session)));
        Ok((home, Box::new(turns::Shared { session, study, name: name.to_string() })))
    }
}

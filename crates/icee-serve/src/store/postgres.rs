//! A PostgreSQL database of studies, which several servers share.
//!
//! Sheets are in the database, too. Whoever needs one has it as a file in a folder of the moment, under the study's number.

use super::pool::Pool;
use super::seat::Seat;
use super::{Draft, Ledger, Sheet, Store, ledger, lines, tokens};
use crate::failure::{Failure, ServeError};
use crate::name::StudyName;
use crate::tokens::{Stamp, Tokens};
use icee_base::files::{FileError, write_atomically};
use icee_study::memory::journal_of;
use icee_study::{Error, Home, Result};
use postgres::types::Type;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Folders of this process so far.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// The database.
pub struct Database {
    pool: Arc<Pool>,
    scratch: PathBuf,
}

impl Database {
    /// Connects, and makes the tables if need be.
    ///
    /// # Errors
    /// Where the database cannot be reached or used.
    pub fn open(url: &str) -> std::result::Result<Database, ServeError> {
        let pool = Pool::new(url)?;
        pool.prepare()?;
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let scratch = std::env::temp_dir().join(format!("icee-serve-sheets-{}-{number}", std::process::id()));
        // Left by a process of the same number that was killed.
        let _ = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir_all(&scratch).map_err(FileError::io(&scratch))?;
        Ok(Database { pool, scratch })
    }

    /// The tokens of a database, for whoever needs nothing else of it.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn tokens(url: &str) -> std::result::Result<Tokens, ServeError> {
        let pool = Pool::new(url)?;
        pool.prepare()?;
        Ok(Tokens::new(Box::new(tokens::InDatabase(pool))))
    }

    /// A home for a study that has no sheet of its own.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn home(url: &str, name: &StudyName) -> std::result::Result<Box<dyn Home>, ServeError> {
        let pool = Pool::new(url)?;
        pool.prepare()?;
        let study = name.as_str().to_owned();
        Ok(Box::new(lines::InDatabase { pool, study, seat: None, sheet: None, draft: None }))
    }

    fn number(&self, name: &StudyName) -> Result<i32> {
        let name = name.as_str();
        let found = self.pool.with(|client| client.query_typed_opt(lines::NUMBER, &[(&name, Type::TEXT)]))?;
        let none = || Error::Study(format!("there is no study \"{name}\" any more"));
        Ok(found.ok_or_else(none)?.get(0))
    }

    /// A study's sheet as a file, and its folder.
    fn sheet(&self, name: &StudyName, id: i32) -> Result<(PathBuf, PathBuf)> {
        let folder = self.scratch.join(id.to_string());
        std::fs::create_dir_all(&folder).map_err(FileError::io(&folder))?;
        let row = self.pool.with(|client| {
            client.query_typed_opt("SELECT ending, bytes FROM icee.sheets WHERE study = $1", &[(&id, Type::INT4)])
        })?;
        let missing = || Error::Stored {
            name: self.pool.name().into(),
            problem: format!("the sheet of {} is missing", name.as_str()),
        };
        let row = row.ok_or_else(missing)?;
        let (ending, bytes): (String, &[u8]) = (row.get(0), row.get(1));
        let path = name.file(&folder, &format!("sheet.{ending}"));
        write_atomically(&path, bytes)?;
        Ok((path, folder))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
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

    fn scratch(&self) -> &Path {
        &self.scratch
    }

    fn names(&self) -> Result<Vec<StudyName>> {
        let sql = "SELECT name FROM icee.studies WHERE deleted IS NULL";
        let rows = self.pool.with(|client| client.query_typed(sql, &[]))?;
        let mut names: Vec<StudyName> = rows.iter().filter_map(|row| StudyName::new(row.get(0)).ok()).collect();
        names.sort();
        Ok(names)
    }

    fn stamp(&self, name: &StudyName) -> Result<Option<Stamp>> {
        let sql = "SELECT id, coalesce((SELECT max(seq) FROM icee.lines WHERE study = id), 0) FROM icee.studies \
                   WHERE name = $1 AND deleted IS NULL";
        let name = name.as_str();
        let row = self.pool.with(|client| client.query_typed_opt(sql, &[(&name, Type::TEXT)]))?;
        Ok(row.map(|row| {
            Stamp::numbered(row.get::<_, i32>(0).unsigned_abs().into(), row.get::<_, i64>(1).unsigned_abs())
        }))
    }

    fn seat(&self, name: &StudyName) -> Result<(Box<dyn Home>, Box<dyn Ledger>)> {
        let id = self.number(name)?;
        let (sheet, _) = self.sheet(name, id)?;
        let (pool, seat) = (Arc::clone(&self.pool), Seat::new(&self.pool));
        let ledger = ledger::InDatabase::new(Arc::clone(&seat), id);
        let study = name.as_str().to_owned();
        let home = lines::InDatabase { pool, study, seat: Some(seat), sheet: Some(sheet), draft: None };
        Ok((Box::new(home), Box::new(ledger)))
    }

    fn draft(&self, name: &StudyName, ending: &str, sheet: &[u8]) -> std::result::Result<Draft, Failure> {
        let folder = self.scratch.join("new");
        std::fs::create_dir_all(&folder).map_err(FileError::io(&folder))?;
        let file = Sheet::write(name.file(&folder, ending), sheet)?;
        let kind = ending.rsplit('.').next().unwrap_or(ending).to_owned();
        let (pool, study) = (Arc::clone(&self.pool), name.as_str().to_owned());
        let draft = Some((folder, kind, sheet.to_vec()));
        let home = Box::new(lines::InDatabase { pool, study, seat: None, sheet: None, draft });
        Ok(Draft { sheet: file, stays: false, home })
    }

    fn like(&self, name: &StudyName) -> Result<Option<PathBuf>> {
        if self.stamp(name)?.is_none() {
            return Ok(None);
        }
        let id = self.number(name)?;
        let (_, folder) = self.sheet(name, id)?;
        let rows = self.pool.with(|client| {
            client.query_typed("SELECT line FROM icee.lines WHERE study = $1 ORDER BY seq", &[(&id, Type::INT4)])
        })?;
        let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let journal = name.journal(&folder);
        write_atomically(&journal, journal_of(&lines).as_bytes())?;
        Ok(Some(journal))
    }

    fn put_away(&self, name: &StudyName, now: u64) -> Result<()> {
        let (id, now) = (self.number(name)?, i64::try_from(now).unwrap_or(i64::MAX));
        let seat = Seat::new(&self.pool);
        let mut turn = ledger::InDatabase::new(Arc::clone(&seat), id);
        turn.begin_turn()?;
        let gone = seat.write(|client| {
            let sql = "UPDATE icee.studies SET deleted = $2 WHERE id = $1 AND deleted IS NULL";
            client.execute_typed(sql, &[(&id, Type::INT4), (&now, Type::INT8)])
        });
        turn.end_turn();
        gone.map(|_| ())
    }
}

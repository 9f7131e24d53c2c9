//! A PostgreSQL database of studies, which several servers share.
//!
//! Sheets are in the database, too. Whoever needs one has it as a file in a folder of the moment, under the study's number.

use super::pool::Pool;
use super::seat::Seat;
use super::{Draft, Ledger, Sheet, Store, ledger, lines, tokens};
use crate::failure::{Failure, ServeError};
use crate::locks;
use crate::name::StudyName;
use crate::tokens::{Stamp, Tokens, hex};
use icee_base::files::{FileError, folder_of, write_atomically};
use icee_study::memory::journal_of;
use icee_study::{Error, Home, Result};
use postgres::types::Type;
use rand::TryRng;
use rand::rngs::SysRng;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the name of a folder of the moment begins with, and the file in it that shows that its server lives.
const FOLDER: &str = "icee-serve-";
const ALIVE: &str = "alive";

/// The database.
pub struct Database {
    pool: Arc<Pool>,
    scratch: PathBuf,
    /// Locked as long as the server lives.
    _alive: File,
}

impl Database {
    /// Connects, and makes the tables if need be.
    ///
    /// # Errors
    /// Where the database cannot be reached or used.
    pub fn open(url: &str) -> std::result::Result<Database, ServeError> {
        let pool = Pool::new(url)?;
        pool.prepare()?;
        let (scratch, alive) = private_folder()?;
        remove_left_folders(&scratch);
        Ok(Database { pool, scratch, _alive: alive })
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

    /// A study's sheet as a file, and which version of it that is. What is there already is not fetched again, so that studies that are open
    /// go on.
    fn sheet(&self, name: &StudyName, id: i32) -> Result<(PathBuf, i32)> {
        let missing = || Error::Stored {
            name: self.pool.name().into(),
            problem: format!("the sheet of {} is missing", name.as_str()),
        };
        let sql = "SELECT version, ending FROM icee.sheets WHERE study = $1";
        let known = self.pool.with(|client| client.query_typed_opt(sql, &[(&id, Type::INT4)]))?.ok_or_else(missing)?;
        let place = |row: &postgres::Row| -> Result<(PathBuf, i32)> {
            let version = row.get(0);
            let folder = ledger::sheet_folder(&self.scratch, id, version)?;
            Ok((name.file(&folder, &format!("sheet.{}", row.get::<_, &str>(1))), version))
        };
        let (path, version) = place(&known)?;
        if path.is_file() {
            return Ok((path, version));
        }
        let sql = "SELECT version, ending, bytes FROM icee.sheets WHERE study = $1";
        let row = self.pool.with(|client| client.query_typed_opt(sql, &[(&id, Type::INT4)]))?.ok_or_else(missing)?;
        // Somebody may have replaced it meanwhile.
        let (path, version) = place(&row)?;
        write_atomically(&path, row.get(2))?;
        Ok((path, version))
    }
}

/// A folder for one's own eyes, whose name nobody can guess: other users of this machine write to the same folder of temporary ones.
///
/// A file in it is locked as long as its server lives.
fn private_folder() -> std::result::Result<(PathBuf, File), ServeError> {
    loop {
        let mut random = [0; 16];
        SysRng.try_fill_bytes(&mut random).map_err(|error| ServeError::Store(format!("no random numbers: {error}")))?;
        let folder = std::env::temp_dir().join(format!("{FOLDER}{}", hex(&random)));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(FileError::io(&folder))?;
        let alive = locks::open(&folder.join(ALIVE))?;
        // Another server may have taken it for one that was left, a moment ago.
        if alive.try_lock().is_ok() && folder.join(ALIVE).is_file() {
            return Ok((folder, alive));
        }
    }
}

/// Removes the folders of servers that were killed: our own, whose lock nobody holds.
fn remove_left_folders(ours: &Path) {
    #[cfg(unix)]
    let owner =
        |path: &Path| std::fs::symlink_metadata(path).ok().map(|known| std::os::unix::fs::MetadataExt::uid(&known));
    #[cfg(not(unix))]
    let owner = |path: &Path| path.is_dir().then_some(());
    for folder in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let path = folder.path();
        let name = folder.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(FOLDER)).unwrap_or_default();
        let is_left = random.len() == 32
            && random.bytes().all(|byte| byte.is_ascii_hexdigit())
            && owner(&path) == owner(ours)
            && path.join(ALIVE).is_file();
        if is_left && locks::open(&path.join(ALIVE)).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(path);
        }
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
        let sql = "SELECT id, coalesce((SELECT max(seq) FROM icee.lines WHERE study = id), 0), \
                   coalesce((SELECT version FROM icee.sheets WHERE study = id), 0) FROM icee.studies \
                   WHERE name = $1 AND deleted IS NULL";
        let name = name.as_str();
        let row = self.pool.with(|client| client.query_typed_opt(sql, &[(&name, Type::TEXT)]))?;
        Ok(row.map(|row| {
            // With another sheet it is another study, as far as those go who have it open.
            let [id, version] = [0, 2].map(|at| u64::from(row.get::<_, i32>(at).unsigned_abs()));
            Stamp::numbered(id << 32 | version, row.get::<_, i64>(1).unsigned_abs())
        }))
    }

    fn seat(&self, name: &StudyName) -> Result<(Box<dyn Home>, Box<dyn Ledger>)> {
        let id = self.number(name)?;
        let (sheet, version) = self.sheet(name, id)?;
        let (pool, seat) = (Arc::clone(&self.pool), Seat::new(&self.pool));
        let study = name.as_str().to_owned();
        let ledger = ledger::InDatabase::new(Arc::clone(&seat), id, (study.clone(), version), &self.scratch);
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
        let (sheet, _) = self.sheet(name, id)?;
        let rows = self.pool.with(|client| {
            client.query_typed("SELECT line FROM icee.lines WHERE study = $1 ORDER BY seq", &[(&id, Type::INT4)])
        })?;
        let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let journal = name.journal(&folder_of(&sheet));
        write_atomically(&journal, journal_of(&lines).as_bytes())?;
        Ok(Some(journal))
    }

    fn put_away(&self, name: &StudyName, now: u64) -> Result<()> {
        let (id, now) = (self.number(name)?, i64::try_from(now).unwrap_or(i64::MAX));
        let seat = Seat::new(&self.pool);
        ledger::wait(&seat, id)?;
        let gone = seat.write(|client| {
            let sql = "UPDATE icee.studies SET deleted = $2 WHERE id = $1 AND deleted IS NULL";
            client.execute_typed(sql, &[(&id, Type::INT4), (&now, Type::INT8)])
        });
        seat.unlock();
        ledger::remove_sheets(&self.scratch, id, i32::MAX);
        gone.map(|_| ())
    }
}

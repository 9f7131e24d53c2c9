//! Turns and keys of requests in a database: good for all servers.

use super::seat::Seat;
use super::{Ledger, ending_of};
use crate::failure::Failure;
use crate::keys::{KEPT_BYTES, Keyed, Known, LONGEST_KEPT, kept};
use icee_base::files::{FileError, write_atomically};
use icee_study::Result;
use postgres::types::Type;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long one waits for one's turn before it is given up for now.
const PATIENCE: Duration = Duration::from_secs(60);
/// Every how many requests with keys those that are too many are forgotten.
const TIDIED: u64 = 1024;
/// Bytes of a key beside its answer, roughly.
const BESIDE: i64 = 256;

/// The keys of a study.
pub struct InDatabase {
    seat: Arc<Seat>,
    study: i32,
    /// What the study was called when it was opened, and the version of its sheet.
    opened: (String, i32),
    /// The folder of the moment for sheets.
    scratch: PathBuf,
    /// Requests with keys that were begun here.
    begun: u64,
}

impl InDatabase {
    /// Those of a study, for one who has this place and has opened it under this name with this version of its sheet.
    pub fn new(seat: Arc<Seat>, study: i32, opened: (String, i32), scratch: &Path) -> InDatabase {
        InDatabase { seat, study, opened, scratch: scratch.to_owned(), begun: 0 }
    }

    /// What time it is there, if the study is the one that was opened, with the sheet that it had then. Only in one's turn: so it stays.
    fn still(&self) -> Result<Option<u64>> {
        let (study, (name, version)) = (self.study, &self.opened);
        let row = self.seat.write(|client| {
            let sql = "SELECT extract(epoch FROM clock_timestamp())::bigint FROM icee.studies WHERE name = $1 AND id = $2 \
                       AND deleted IS NULL AND $3 = coalesce((SELECT version FROM icee.sheets WHERE study = id), 0)";
            client.query_typed_opt(sql, &[(name, Type::TEXT), (&study, Type::INT4), (version, Type::INT4)])
        })?;
        Ok(row.map(|row| row.get::<_, i64>(0).unsigned_abs()))
    }

    /// Forgets keys that are too old, whatever their study: it may never be asked anything again. Of this study's, the latest are kept
    /// that are not too many bytes.
    fn tidy(&self, old: i64) -> Result<()> {
        let (study, most) = (self.study, number(KEPT_BYTES));
        self.seat.write(|client| {
            client.execute_typed("DELETE FROM icee.keys WHERE at < $1", &[(&old, Type::INT8)])?;
            let sql = "DELETE FROM icee.keys WHERE study = $1 AND (token, key) IN (SELECT token, key FROM \
                       (SELECT token, key, sum($3 + coalesce(octet_length(answer), 0)) OVER (ORDER BY at DESC, lines DESC, token, key) \
                       AS bytes FROM icee.keys WHERE study = $1) AS counted WHERE bytes > $2)";
            client.execute_typed(sql, &[(&study, Type::INT4), (&most, Type::INT8), (&BESIDE, Type::INT8)])
        })?;
        Ok(())
    }
}

impl Ledger for InDatabase {
    fn begin_turn(&mut self) -> Result<Option<u64>> {
        wait(&self.seat, self.study)?;
        let still = self.still();
        if !matches!(still, Ok(Some(_))) {
            self.end_turn();
        }
        still
    }

    fn end_turn(&mut self) {
        self.seat.unlock();
    }

    fn settle(&mut self, lines: u64) -> Result<()> {
        let (study, lines) = (self.study, number(lines));
        self.seat.write(|client| {
            let sql = "DELETE FROM icee.keys WHERE study = $1 AND lines = $2 AND answer IS NULL";
            client.execute_typed(sql, &[(&study, Type::INT4), (&lines, Type::INT8)])
        })?;
        Ok(())
    }

    fn begin(&mut self, keyed: &Keyed, now: u64, lines: u64) -> std::result::Result<Known, Failure> {
        let (study, count) = (self.study, number(lines));
        let (now, old) = (number(now), number(now.saturating_sub(LONGEST_KEPT)));
        if self.begun.is_multiple_of(TIDIED) {
            // It can wait, and must keep nobody from asking: several servers may do it at the same time.
            let _ = self.tidy(old);
        }
        self.begun += 1;
        let Keyed { key, token, request } = keyed;
        let known = self.seat.write(|client| {
            // Those without a token are everybody's: there were none then.
            let sql = "SELECT request, answer FROM icee.keys WHERE study = $1 AND token IN ($2, '') AND key = $3 AND at >= $4 \
                       ORDER BY token DESC LIMIT 1";
            client.query_typed_opt(
                sql,
                &[(&study, Type::INT4), (token, Type::TEXT), (key, Type::TEXT), (&old, Type::INT8)],
            )
        })?;
        if let Some(known) = known {
            let (first, answer): (String, Option<String>) = (known.get(0), known.get(1));
            return keyed.known(first == *request, answer);
        }
        self.seat.write(|client| {
            let sql = "INSERT INTO icee.keys (study, token, key, at, request, lines) VALUES ($1, $2, $3, $4, $5, $6) \
                       ON CONFLICT (study, token, key) \
                       DO UPDATE SET at = excluded.at, request = excluded.request, lines = excluded.lines, answer = NULL";
            client.execute_typed(
                sql,
                &[
                    (&study, Type::INT4),
                    (token, Type::TEXT),
                    (key, Type::TEXT),
                    (&now, Type::INT8),
                    (request, Type::TEXT),
                    (&count, Type::INT8),
                ],
            )
        })?;
        Ok(Known::New)
    }

    fn end(&mut self, keyed: &Keyed, answer: Option<&str>) -> Result<()> {
        let (study, Keyed { key, token, .. }) = (self.study, keyed);
        self.seat.write(|client| match answer.map(kept) {
            Some(answer) => client.execute_typed(
                "UPDATE icee.keys SET answer = $4 WHERE study = $1 AND token = $2 AND key = $3",
                &[(&study, Type::INT4), (token, Type::TEXT), (key, Type::TEXT), (&answer, Type::TEXT)],
            ),
            None => client.execute_typed(
                "DELETE FROM icee.keys WHERE study = $1 AND token = $2 AND key = $3",
                &[(&study, Type::INT4), (token, Type::TEXT), (key, Type::TEXT)],
            ),
        })?;
        Ok(())
    }

    fn put_sheet(&mut self, sheet: &[u8], place: &Path) -> Result<PathBuf> {
        let (study, ending) = (self.study, ending_of(sheet));
        let row = self.seat.write(|client| {
            let sql = "UPDATE icee.sheets SET bytes = $2, ending = $3, version = version + 1 \
                       WHERE study = $1 AND (bytes <> $2 OR ending <> $3) RETURNING version";
            client.query_typed_opt(sql, &[(&study, Type::INT4), (&sheet, Type::BYTEA), (&ending, Type::TEXT)])
        })?;
        // It is the same.
        let Some(row) = row else { return Ok(place.to_owned()) };
        let name = format!("{}.{ending}", place.file_stem().unwrap_or_default().display());
        self.opened.1 = row.get(0);
        let place = sheet_folder(&self.scratch, study, self.opened.1)?.join(name);
        write_atomically(&place, sheet)?;
        Ok(place)
    }
}

/// Waits for one's turn with a study.
pub fn wait(seat: &Seat, study: i32) -> Result<()> {
    seat.lock(study, PATIENCE, &|| (), Some(PATIENCE))
}

/// The folder of a study's sheet: each of its versions has one, so that whoever reads the one before can go on. Older ones go.
pub fn sheet_folder(scratch: &Path, study: i32, version: i32) -> Result<PathBuf> {
    let folder = scratch.join(format!("{study}-{version}"));
    if !folder.is_dir() {
        std::fs::create_dir_all(&folder).map_err(FileError::io(&folder))?;
        remove_sheets(scratch, study, version - 1);
    }
    Ok(folder)
}

/// Removes the folders of a study's sheets of versions before one.
pub fn remove_sheets(scratch: &Path, study: i32, before: i32) {
    for folder in std::fs::read_dir(scratch).into_iter().flatten().flatten() {
        let name = folder.file_name();
        let version = name.to_str().and_then(|name| name.strip_prefix(&format!("{study}-"))?.parse::<i32>().ok());
        if version.is_some_and(|version| version < before) {
            // If it stays, it is only in the way until the server ends.
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

//! The tables of a database: numbered files of SQL, each applied once, by one server at a time.

use postgres::{Client, Error};

/// All of them, in their order; the first has number 1.
const MIGRATIONS: [&str; 1] = [include_str!("../../migrations/0001-studies.sql")];
/// The first number of locks on studies, and the only one of that on the tables.
pub const LOCKS: i32 = 0x6963_6565;
const TABLES: i64 = 0x6963_6565_5f73_716c;

/// Brings the tables up to what this program needs, and gives the number of the newest migration there.
///
/// # Errors
/// Where the database refuses; then it is as it was.
pub fn apply(client: &mut Client) -> Result<usize, Error> {
    let mut work = client.transaction()?;
    // Until the end of the transaction, however long another server takes for it.
    work.batch_execute(&format!(
        "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({TABLES}); CREATE SCHEMA IF NOT EXISTS icee; \
         CREATE TABLE IF NOT EXISTS icee.migrations (number integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
    ))?;
    let newest: i32 = work.query_one("SELECT coalesce(max(number), 0) FROM icee.migrations", &[])?.get(0);
    let newest = usize::try_from(newest).unwrap_or(0);
    for (at, sql) in MIGRATIONS.iter().enumerate().skip(newest) {
        work.batch_execute(sql)?;
        work.batch_execute(&format!("INSERT INTO icee.migrations (number) VALUES ({})", at + 1))?;
    }
    work.commit()?;
    Ok(newest.max(MIGRATIONS.len()))
}

/// Whether a database is newer than this program.
pub fn is_newer(newest: usize) -> bool {
    newest > MIGRATIONS.len()
}

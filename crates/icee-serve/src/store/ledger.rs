//! Turns and keys of requests in a database: good for all servers.

use super::Ledger;
use super::seat::Seat;
use crate::failure::Failure;
use crate::keys::{Keys, Known, LONGEST_KEPT, MOST_KEYS};
use icee_study::Result;
use postgres::types::Type;
use std::sync::Arc;
use std::time::Duration;

/// How long one waits for one's turn before it is given up for now.
const PATIENCE: Duration = Duration::from_secs(60);
/// Every how many requests keys that are too many are forgotten.
const TIDIED: u64 = 64;

/// The keys of a study.
pub struct InDatabase {
    pub seat: Arc<Seat>,
    pub study: i32,
}

impl Ledger for InDatabase {
    fn begin_turn(&mut self) -> Result<()> {
        self.seat.lock(self.study, PATIENCE, &|| (), Some(Duration::from_millis(1)))
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

    fn begin(&mut self, key: &str, request: &str, now: u64, lines: u64) -> std::result::Result<Known, Failure> {
        let (study, count) = (self.study, number(lines));
        let (now, old) = (number(now), number(now.saturating_sub(LONGEST_KEPT)));
        if lines.is_multiple_of(TIDIED) {
            let most = number(MOST_KEYS as u64);
            self.seat.write(|client| {
                let sql = "DELETE FROM icee.keys WHERE study = $1 AND (at < $2 OR key IN \
                           (SELECT key FROM icee.keys WHERE study = $1 ORDER BY at DESC OFFSET $3))";
                client.execute_typed(sql, &[(&study, Type::INT4), (&old, Type::INT8), (&most, Type::INT8)])
            })?;
        }
        let known = self.seat.write(|client| {
            let sql = "SELECT request, answer FROM icee.keys WHERE study = $1 AND key = $2 AND at >= $3";
            client.query_typed_opt(sql, &[(&study, Type::INT4), (&key, Type::TEXT), (&old, Type::INT8)])
        })?;
        if let Some(known) = known {
            let (first, answer): (String, Option<String>) = (known.get(0), known.get(1));
            return Keys::known(key, first == request, answer);
        }
        self.seat.write(|client| {
            let sql = "INSERT INTO icee.keys (study, key, at, request, lines) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (study, key) \
                       DO UPDATE SET at = excluded.at, request = excluded.request, lines = excluded.lines, answer = NULL";
            client.execute_typed(
                sql,
                &[
                    (&study, Type::INT4),
                    (&key, Type::TEXT),
                    (&now, Type::INT8),
                    (&request, Type::TEXT),
                    (&count, Type::INT8),
                ],
            )
        })?;
        Ok(Known::New)
    }

    fn end(&mut self, key: &str, answer: Option<&str>) -> Result<()> {
        let study = self.study;
        self.seat.write(|client| match answer {
            Some(answer) => client.execute_typed(
                "UPDATE icee.keys SET answer = $3 WHERE study = $1 AND key = $2",
                &[(&study, Type::INT4), (&key, Type::TEXT), (&answer, Type::TEXT)],
            ),
            None => client.execute_typed(
                "DELETE FROM icee.keys WHERE study = $1 AND key = $2",
                &[(&study, Type::INT4), (&key, Type::TEXT)],
            ),
        })?;
        Ok(())
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

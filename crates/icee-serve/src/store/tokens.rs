//! Tokens in a database, for all its servers. That there ever was one is kept apart from them: after the last one was
//! revoked, every request still needs a token.

use super::pool::Pool;
use crate::tokens::{Kept, Token};
use icee_protocol::{Problem, Result};
use postgres::error::SqlState;
use postgres::types::Type;
use std::sync::Arc;

/// The tokens of a database.
pub struct InDatabase(pub Arc<Pool>);

impl Kept for InDatabase {
    fn all(&self) -> Result<Vec<Token>> {
        let sql = "SELECT name, role, hash, created FROM icee.tokens ORDER BY created, name";
        let rows = self.0.with(|client| client.query_typed(sql, &[]))?;
        let token = |row: &postgres::Row| {
            let wrong = |problem: Problem| Problem::Stored { name: self.0.name().into(), fault: problem.to_string() };
            let role = row.get::<_, &str>(1).parse().map_err(wrong)?;
            Ok(Token::kept(row.get(0), role, row.get(2), row.get::<_, i64>(3).unsigned_abs()))
        };
        rows.iter().map(token).collect()
    }

    fn ever(&self) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT FROM icee.asked) OR EXISTS (SELECT FROM icee.tokens)";
        let row = self.0.with(|client| client.query_typed_one(sql, &[]))?;
        Ok(row.get(0))
    }

    fn add(&self, token: Token) -> Result<bool> {
        let (role, hash, created) = (token.role.name(), token.hash(), i64::try_from(token.created).unwrap_or(i64::MAX));
        let mut connection = self.0.take()?;
        let added = connection.client()?.execute_typed(
            "WITH asked AS (INSERT INTO icee.asked (since) SELECT $4 WHERE NOT EXISTS (SELECT FROM icee.asked)) \
             INSERT INTO icee.tokens (name, role, hash, created) VALUES ($1, $2, $3, $4)",
            &[(&token.name, Type::TEXT), (&role, Type::TEXT), (&hash, Type::TEXT), (&created, Type::INT8)],
        );
        match added {
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(false),
            added => added.map(|_| true).map_err(|error| self.0.wrong(&error)),
        }
    }

    fn remove(&self, name: &str) -> Result<()> {
        let sql = "DELETE FROM icee.tokens WHERE name = $1";
        self.0.with(|client| client.execute_typed(sql, &[(&name, Type::TEXT)]))?;
        Ok(())
    }
}

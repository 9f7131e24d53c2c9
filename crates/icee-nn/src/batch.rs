//! What the engine reads: ragged batches, flat in memory, with no padding anywhere.
//!
//! A batch has *rows*: all history tokens of all sequences one after another, then all query tokens likewise. Targets
//! name rows.

use crate::spec::{FieldKind, FieldSpec, ModelSpec};
use crate::{Error, Result};
use std::fmt::{self, Display};

/// The most columns of a table.
pub const MAX_COLUMNS: usize = 128;

/// One field's values for consecutive tokens or rows.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValues {
    /// One value a token.
    Categorical(Vec<u32>),
    /// `size` reals a token, token after token.
    Vector(Vec<f32>),
}

/// Tokens of several sequences, one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    /// Sequence s has tokens `offsets[s]..offsets[s + 1]`; starts at 0, one more entry than sequences.
    pub offsets: Vec<usize>,
    /// Values of each field that these tokens carry, in the model's order.
    pub fields: Vec<FieldValues>,
    /// Where tokens are cells: table t has the sequences `tables[t]..tables[t + 1]` as columns, all of the same length, so
    /// that the cells of a row have the same place in each. Empty otherwise.
    pub tables: Vec<usize>,
}

/// The cells of one table: that of row r in column c is token `first + c · rows + r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub first: usize,
    pub rows: usize,
    pub columns: usize,
}

/// Weighted cross-entropy targets of one class head: loss = scale · Σ weight · −log p(class).
#[derive(Clone, Debug, PartialEq)]
pub struct ClassTargets {
    /// Which class head.
    pub head: usize,
    /// Rows that have a target, strictly increasing.
    pub rows: Vec<u32>,
    /// Values of the head's conditions for these rows.
    pub conditions: Vec<FieldValues>,
    /// The target class of each row.
    pub classes: Vec<u32>,
    /// The weight of each row.
    pub weights: Vec<f32>,
    /// Multiplies the sum; 1 / number of rows gives the mean.
    pub scale: f32,
}

/// Candidates that pool heads score.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pools {
    /// Pool p has candidates `offsets[p]..offsets[p + 1]`; starts at 0.
    pub offsets: Vec<usize>,
    /// The candidates' values of the pool head's field, candidate after candidate.
    pub candidates: Vec<f32>,
}

/// Cross-entropy targets of one pool head, each a distribution over its pool's candidates:
/// loss = scale · Σ weight · Σ_c p(c) · −log softmax(score)(c).
#[derive(Clone, Debug, PartialEq)]
pub struct PoolTargets {
    /// Which pool head.
    pub head: usize,
    /// The candidates.
    pub pools: Pools,
    /// Rows that have a target, strictly increasing.
    pub rows: Vec<u32>,
    /// The pool each row scores, never decreasing.
    pub row_pools: Vec<u32>,
    /// Row i has the targets `target_offsets[i]..target_offsets[i + 1]`.
    pub target_offsets: Vec<usize>,
    /// Target candidates, numbered within their pool.
    pub targets: Vec<u32>,
    /// Their probabilities, summing to one for each row.
    pub probabilities: Vec<f32>,
    /// The weight of each row.
    pub weights: Vec<f32>,
    /// Multiplies the sum.
    pub scale: f32,
}

/// One batch to learn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// History tokens.
    pub history: Tokens,
    /// Query tokens of the same sequences.
    pub queries: Option<Tokens>,
    /// Targets of class heads.
    pub class_targets: Vec<ClassTargets>,
    /// Targets of pool heads.
    pub pool_targets: Vec<PoolTargets>,
}

impl FieldValues {
    /// Checks the number and the range of the values against a field's or condition's kind.
    pub(crate) fn check(&self, what: impl Display, kind: FieldKind, tokens: usize) -> Result<()> {
        let fail = |message: String| Err(Error::Batch(format!("{what}: {message}")));
        match (self, kind) {
            (FieldValues::Categorical(values), FieldKind::Categorical { size }) => {
                if values.len() != tokens {
                    return fail(format!("{} values for {tokens} tokens", values.len()));
                }
                match first_beyond(values, size) {
                    Some(at) => fail(format!("value {} at token {at} is not below {size}", values[at])),
                    None => Ok(()),
                }
            }
            (FieldValues::Vector(values), FieldKind::Vector { size, .. }) => {
                if tokens.checked_mul(size) != Some(values.len()) {
                    return fail(format!("{} numbers for {tokens} tokens of {size}", values.len()));
                }
                match first_infinite(values) {
                    Some(at) => fail(format!("{} at token {}", values[at], at / size)),
                    None => Ok(()),
                }
            }
            (FieldValues::Categorical(_), FieldKind::Vector { .. }) => fail("expected reals, got categories".into()),
            (FieldValues::Vector(_), FieldKind::Categorical { .. }) => fail("expected categories, got reals".into()),
        }
    }
}

impl Tokens {
    /// Tokens of several sequences that are no tables.
    pub fn new(offsets: Vec<usize>, fields: Vec<FieldValues>) -> Tokens {
        Tokens { offsets, fields, tables: Vec::new() }
    }

    /// Tokens of one sequence.
    pub fn single(count: usize, fields: Vec<FieldValues>) -> Tokens {
        Tokens::new(vec![0, count], fields)
    }

    /// The tables' cells, as grids.
    pub(crate) fn grids(&self) -> impl Iterator<Item = Grid> {
        self.tables.windows(2).filter(|table| table[0] < table[1]).map(|table| Grid {
            first: self.offsets[table[0]],
            rows: self.offsets[table[0] + 1] - self.offsets[table[0]],
            columns: table[1] - table[0],
        })
    }

    /// Number of sequences.
    pub fn sequences(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Number of tokens in all sequences.
    pub fn len(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks offsets, tables and fields against the model's fields that these tokens carry.
    pub(crate) fn check<'a>(
        &self,
        what: &str,
        spec: &ModelSpec,
        fields: impl Iterator<Item = &'a FieldSpec> + Clone,
    ) -> Result<()> {
        check_offsets(what, &self.offsets)?;
        self.check_tables(what, spec)?;
        let count = fields.clone().count();
        if self.fields.len() != count {
            let message = format!("{what}: {} fields given, the model has {count}", self.fields.len());
            return Err(Error::Batch(message));
        }
        for (values, field) in self.fields.iter().zip(fields) {
            values.check(format_args!("{what}, field `{}`", field.name), field.kind, self.len())?;
        }
        Ok(())
    }
}

impl Tokens {
    fn check_tables(&self, what: &str, spec: &ModelSpec) -> Result<()> {
        let fail = |message: String| Err(Error::Batch(format!("{what}: {message}")));
        if !spec.row_attention {
            return match self.tables.is_empty() {
                true => Ok(()),
                false => fail("tables were given to a model without row attention".into()),
            };
        }
        check_offsets(format_args!("{what}: tables"), &self.tables)?;
        if self.tables.last() != Some(&self.sequences()) {
            return fail(format!("the tables must have all {} sequences as columns", self.sequences()));
        }
        for (t, table) in self.tables.windows(2).enumerate() {
            if table[1] - table[0] > MAX_COLUMNS {
                return fail(format!("table {t} has more than {MAX_COLUMNS} columns"));
            }
            let lengths = self.offsets[table[0]..=table[1]].windows(2).map(|w| w[1] - w[0]);
            if lengths.clone().any(|length| Some(length) != lengths.clone().next()) {
                return fail(format!("the columns of table {t} differ in length"));
            }
        }
        Ok(())
    }
}

impl Batch {
    /// Rows of history and query tokens together.
    pub fn rows(&self) -> usize {
        self.history.len() + self.queries.as_ref().map_or(0, Tokens::len)
    }

    /// Checks everything against the model, so that the engine can rely on it.
    pub fn check(&self, spec: &ModelSpec) -> Result<()> {
        self.history.check("history", spec, spec.fields.iter().filter(|f| f.on_history()))?;
        check_context("history", &self.history.offsets, spec.context)?;
        if let Some(queries) = &self.queries {
            let mut fields = spec.fields.iter().filter(|f| f.on_query());
            queries.check("queries", spec, fields.clone())?;
            if fields.next().is_none() {
                return Err(Error::Batch("the model has no field on query tokens".into()));
            }
            if queries.sequences() != self.history.sequences() {
                let (q, h) = (queries.sequences(), self.history.sequences());
                return Err(Error::Batch(format!("queries of {q} sequences, histories of {h}")));
            }
            if queries.tables != self.history.tables {
                return Err(Error::Batch("the tables of queries and histories differ".into()));
            }
        }
        let rows = self.rows();
        for targets in &self.class_targets {
            targets.check(spec, rows)?;
        }
        for targets in &self.pool_targets {
            targets.check(spec, rows)?;
        }
        Ok(())
    }
}

impl ClassTargets {
    fn check(&self, spec: &ModelSpec, batch_rows: usize) -> Result<()> {
        let Some(head) = spec.heads.get(self.head) else {
            return Err(Error::Batch(format!("class head {} of {}", self.head, spec.heads.len())));
        };
        let what = Of("targets of head", &head.name);
        let count = self.rows.len();
        check_rows(what, &self.rows, batch_rows)?;
        check_weights(what, &self.weights, count, self.scale)?;
        check_below(format_args!("{what}: class"), &self.classes, count, head.classes)?;
        if self.conditions.len() != head.conditions.len() {
            let (got, has) = (self.conditions.len(), head.conditions.len());
            return Err(Error::Batch(format!("{what}: {got} conditions given, the head has {has}")));
        }
        for (values, condition) in self.conditions.iter().zip(&head.conditions) {
            values.check(format_args!("{what}, condition `{}`", condition.name), condition.kind, count)?;
        }
        Ok(())
    }
}

impl Pools {
    /// Checks the candidates against the kind of their field.
    pub(crate) fn check(&self, what: impl Display, kind: FieldKind) -> Result<()> {
        check_offsets(format_args!("{what}: pools"), &self.offsets)?;
        if self.offsets.windows(2).any(|w| w[0] == w[1]) {
            return Err(Error::Batch(format!("{what}: a pool without candidates")));
        }
        let FieldKind::Vector { size, .. } = kind else { unreachable!("checked with the description") };
        let candidates = *self.offsets.last().expect("checked");
        if candidates.checked_mul(size) != Some(self.candidates.len()) || self.candidates.iter().any(|v| !v.is_finite())
        {
            return Err(Error::Batch(format!("{what}: candidates must be {candidates} × {size} finite numbers")));
        }
        Ok(())
    }
}

impl PoolTargets {
    fn check(&self, spec: &ModelSpec, batch_rows: usize) -> Result<()> {
        let Some(head) = spec.pool_heads.get(self.head) else {
            return Err(Error::Batch(format!("pool head {} of {}", self.head, spec.pool_heads.len())));
        };
        let what = Of("targets of pool head", &head.name);
        let field = spec.fields.iter().find(|f| f.name == head.candidate).expect("checked with the description");
        self.pools.check(what, field.kind)?;
        let count = self.rows.len();
        check_rows(what, &self.rows, batch_rows)?;
        check_weights(what, &self.weights, count, self.scale)?;
        check_below(format_args!("{what}: pool"), &self.row_pools, count, self.pools.offsets.len() - 1)?;
        if !self.row_pools.is_sorted() {
            return Err(Error::Batch(format!("{what}: rows must be grouped by pool, in order")));
        }
        check_offsets(format_args!("{what}: target offsets"), &self.target_offsets)?;
        let targets = *self.target_offsets.last().expect("checked");
        if self.target_offsets.len() != count + 1
            || self.targets.len() != targets
            || self.probabilities.len() != targets
        {
            return Err(Error::Batch(format!("{what}: target offsets, targets and probabilities do not fit")));
        }
        for (i, &pool) in self.row_pools.iter().enumerate() {
            let size = self.pools.offsets[pool as usize + 1] - self.pools.offsets[pool as usize];
            let range = self.target_offsets[i]..self.target_offsets[i + 1];
            if self.targets[range.clone()].iter().any(|&t| t as usize >= size) {
                return Err(Error::Batch(format!("{what}: a target of row {i} is outside its pool")));
            }
            let probabilities = &self.probabilities[range];
            let total: f32 = probabilities.iter().sum();
            // Written so that NaN is refused too.
            let sound = probabilities.iter().all(|&p| p >= 0.0) && (total - 1.0).abs() <= 1e-3;
            if !sound {
                return Err(Error::Batch(format!("{what}: row {i}'s probabilities must be at least 0 and sum to 1")));
            }
        }
        Ok(())
    }
}

/// Names a thing in an error without allocating before there is one.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a>(pub &'a str, pub &'a str);

impl Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.0, self.1)
    }
}

/// The first value that is not below a bound. Looks for the largest first: that has no branch, and most batches are
/// sound.
fn first_beyond(values: &[u32], bound: usize) -> Option<usize> {
    let largest = values.iter().copied().max()?;
    (largest as usize >= bound).then(|| values.iter().position(|&v| v as usize >= bound)).flatten()
}

/// The first value that is not a finite number, found likewise.
fn first_infinite(values: &[f32]) -> Option<usize> {
    let magnitude = |v: &f32| v.to_bits() & (u32::MAX >> 1);
    let largest = values.iter().map(magnitude).max()?;
    (largest >= f32::INFINITY.to_bits()).then(|| values.iter().position(|v| !v.is_finite())).flatten()
}

fn check_offsets(what: impl Display, offsets: &[usize]) -> Result<()> {
    if offsets.first() != Some(&0) || !offsets.is_sorted() {
        return Err(Error::Batch(format!("{what}: offsets must start at 0 and never decrease")));
    }
    Ok(())
}

fn check_context(what: impl Display, offsets: &[usize], context: usize) -> Result<()> {
    match offsets.windows(2).position(|w| w[1] - w[0] > context) {
        Some(s) => {
            let length = offsets[s + 1] - offsets[s];
            Err(Error::Batch(format!("{what}: sequence {s} has {length} tokens, the model's context is {context}")))
        }
        None => Ok(()),
    }
}

fn check_rows(what: impl Display, rows: &[u32], batch_rows: usize) -> Result<()> {
    let increasing = rows.iter().zip(rows.iter().skip(1)).fold(true, |so_far, (a, b)| so_far & (a < b));
    if !increasing || rows.last().is_some_and(|&last| last as usize >= batch_rows) {
        return Err(Error::Batch(format!("{what}: rows must increase strictly and stay below {batch_rows}")));
    }
    Ok(())
}

fn check_weights(what: impl Display, weights: &[f32], count: usize, scale: f32) -> Result<()> {
    if weights.len() != count || first_infinite(weights).is_some() || !scale.is_finite() {
        return Err(Error::Batch(format!("{what}: needs {count} finite weights and a finite scale")));
    }
    Ok(())
}

fn check_below(what: impl Display, values: &[u32], count: usize, bound: usize) -> Result<()> {
    if values.len() != count {
        return Err(Error::Batch(format!("{what}: {} values for {count} rows", values.len())));
    }
    match first_beyond(values, bound) {
        Some(at) => Err(Error::Batch(format!("{what} {} of row {at} is not below {bound}", values[at]))),
        None => Ok(()),
    }
}

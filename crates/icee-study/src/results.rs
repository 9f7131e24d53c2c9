//! A file of results, which may be the sheet of candidates itself: which outcome each line holds, and of which row.

use crate::Result;
use crate::encode::Encoder;
use crate::record::{Header, Measured, Outcome};
use icee_base::table::{Row, Table, is_missing};

/// The column of values where none is named.
pub const VALUE: &str = "value";
/// The column of row numbers, where rows have no ids.
pub const ROW: &str = "row";
/// What stands in place of a value where the experiment failed, and where it cannot be made.
pub const FAILED: &str = "failed";
/// See [`FAILED`].
pub const IMPOSSIBLE: &str = "impossible";

/// A line that holds an outcome.
pub struct Line {
    /// Its number in the file.
    pub number: usize,
    pub row: Named,
    pub measured: Measured,
}

/// How a line says which row it is about.
pub enum Named {
    /// By its id, or its number.
    Id(String),
    /// By what stands in the columns that are learned from ([`Encoder::key`]).
    Cells(u64),
}

/// Reads the lines in whose column `value` something stands.
///
/// # Errors
/// Where a column is missing, or with every line whose value makes no sense.
pub fn read(table: &mut Table, header: &Header, value: &str) -> Result<Vec<Line>> {
    let value_place = table.column(value)?;
    let named = |table: &Table, name: &str| table.header().iter().any(|column| column == name);
    let id = match &header.id {
        Some(id) if named(table, id) => Some(table.column(id)?),
        None if named(table, ROW) && !header.columns.iter().any(|column| column.name == ROW) => {
            Some(table.column(ROW)?)
        }
        _ => None,
    };
    let missing: Vec<&str> =
        header.columns.iter().map(|column| column.name.as_str()).filter(|name| !named(table, name)).collect();
    if id.is_none() && !missing.is_empty() {
        let id = header.id.as_deref().unwrap_or(ROW);
        let problem = format!(
            "line 1: nothing says which row a line is about: there is no column \"{id}\", nor {} to find rows by their cells",
            missing.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
        );
        return Err(table.broken(vec![problem]).into());
    }
    let encoder = if id.is_none() { Some(Encoder::new(table, &header.columns)?) } else { None };
    let further = header.further.iter().map(|further| table.column(&further.name));
    let columns = Columns { value: value_place, further: further.collect::<std::result::Result<_, _>>()? };
    let mut lines = Vec::new();
    table.scan(|table, row| {
        if let Some(measured) = columns.measured(table, row)? {
            let named = match &encoder {
                Some(encoder) => Named::Cells(encoder.key(table, row)),
                None => Named::Id(id.map_or_else(String::new, |id| row.cell(id).to_owned())),
            };
            lines.push(Line { number: row.line, row: named, measured });
        }
        Ok(())
    })?;
    Ok(lines)
}

/// Where the outcomes of an experiment stand.
#[derive(Debug)]
pub struct Columns {
    /// The one that the study is about.
    pub value: usize,
    /// The further ones, in the order of the header.
    pub further: Vec<usize>,
}

impl Columns {
    /// What stands in a line; nothing where the cell of the value is empty.
    pub fn measured(&self, table: &Table, row: &Row<'_>) -> std::result::Result<Option<Measured>, String> {
        let Some(found) = outcome(table, row, self.value)? else { return Ok(None) };
        let number = |&place: &usize| match outcome(table, row, place)? {
            None => Ok(None),
            Some(Outcome::Value(value)) => Ok(Some(value)),
            Some(_) => {
                Err(format!("column {} ({}): a number is needed beside a value", place + 1, table.header()[place]))
            }
        };
        let further = match found {
            Outcome::Value(_) => self.further.iter().map(number).collect::<std::result::Result<_, _>>()?,
            // There is nothing to measure.
            Outcome::Failed | Outcome::Impossible => vec![],
        };
        Ok(Some(Measured { outcome: found, further }))
    }
}

/// What stands in a line's cell of values; nothing where it is empty.
fn outcome(table: &Table, row: &Row<'_>, place: usize) -> std::result::Result<Option<Outcome>, String> {
    let (text, name) = (row.cell(place), &table.header()[place]);
    match table.number(text) {
        Some(number) => Ok(Some(Outcome::Value(number))),
        None if text.eq_ignore_ascii_case(FAILED) => Ok(Some(Outcome::Failed)),
        None if text.eq_ignore_ascii_case(IMPOSSIBLE) => Ok(Some(Outcome::Impossible)),
        None if is_missing(text) => Ok(None),
        None => Err(format!(
            "column {} ({name}): \"{text}\" is not a finite number, nor the word {FAILED} or {IMPOSSIBLE}",
            place + 1
        )),
    }
}

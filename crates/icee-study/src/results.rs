//! A file of results, which may be the sheet of candidates itself: which outcome each line has, and of which row.

use crate::encode::Encoder;
use crate::error::{OrProblem, Result};
use crate::record::{Header, Measured};
use crate::units;
use crate::values::Columns;
use icee_base::table::Table;
use icee_protocol::Note;

/// The default column of results, unless an input column of the sheet has that name.
pub const VALUE: &str = "value";
const OTHER_VALUE: &str = "result";

/// The default column of results otherwise.
pub fn value_column(is_learned: impl Fn(&str) -> bool) -> &'static str {
    if is_learned(VALUE) { OTHER_VALUE } else { VALUE }
}

/// The column of row numbers, where rows have no ids: the first of these that is none of the sheet's own.
const ROWS: [&str; 3] = ["row", "row_number", "row_of_the_sheet"];

/// The name of the column of row numbers beside the columns of a sheet, in all files that are written and read.
pub fn row_column(is_taken: impl Fn(&str) -> bool) -> &'static str {
    ROWS.into_iter().find(|name| !is_taken(name)).unwrap_or(ROWS[ROWS.len() - 1])
}

/// A line with an outcome.
pub struct Line {
    /// Its number in the file.
    pub number: usize,
    pub row: Named,
    pub measured: Measured,
    /// What the line says of the row, beside its name.
    pub cells: Vec<Said>,
}

/// How a line names its row.
pub enum Named {
    /// By its id, or its number.
    Id(String),
    /// By its input cells ([`Encoder::key`]).
    Cells(u64),
}

/// An input cell.
pub struct Said {
    pub column: String,
    pub cell: String,
    /// The number in it, in the file's notation.
    pub number: Option<f64>,
}

/// Reads the lines with something in the column `value`, and the notes about how they were read. Rows without ids have
/// their numbers in the column `row`.
///
/// # Errors
/// If a column is missing, or with every line whose result cannot be read.
pub fn read(table: &mut Table, header: &Header, value: &str, row: &str) -> Result<(Vec<Line>, Vec<Note>)> {
    let named = |table: &Table, name: &str| table.header().iter().any(|column| column == name);
    let names = header.id.as_deref().unwrap_or(row);
    let id = if named(table, names) { Some(table.column(names).or_problem()?) } else { None };
    let missing: Vec<&str> =
        header.columns.iter().map(|column| column.name.as_str()).filter(|name| !named(table, name)).collect();
    if id.is_none() && !missing.is_empty() {
        let near = table.header().iter().find(|name| name.eq_ignore_ascii_case(names));
        let near = near.map_or_else(String::new, |near| format!(" Or rename \"{near}\" to \"{names}\"."));
        let problem = format!(
            "line 1: no column says which row each line is about. Add a column \"{names}\", or the missing inputs: {}.{near}",
            missing.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
        );
        return Err(table.broken(vec![problem])).or_problem();
    }
    let encoder = if id.is_none() { Some(Encoder::new(table, &header.columns)?) } else { None };
    let further = header.further.iter().map(|further| further.name.as_str());
    let mut columns = Columns::new(table, std::iter::once(value).chain(further))?;
    // Cells that rows are found by cannot differ from them.
    let beside = header.columns.iter().filter(|_| id.is_some());
    let beside: Vec<_> = beside.filter_map(|column| Some((table.column(&column.name).ok()?, column))).collect();
    let mut lines = Vec::new();
    let scanned = table.scan(|table, row| {
        if let Some(measured) = columns.measured(table, row)? {
            let named = match &encoder {
                Some(encoder) => Named::Cells(encoder.key(table, row)),
                None => Named::Id(id.map_or_else(String::new, |id| row.cell(id).to_owned())),
            };
            let cells = beside.iter().map(|(place, column)| {
                let (cell, column, unit) = (row.cell(*place).to_owned(), column.name.clone(), column.code.unit());
                Said { number: units::number(table, &cell, unit), column, cell }
            });
            lines.push(Line { number: row.line, row: named, measured, cells: cells.collect() });
        }
        Ok(())
    });
    scanned.or_problem()?;
    let notes = columns.finish(table)?;
    Ok((lines, notes))
}

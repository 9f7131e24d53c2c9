//! A file of results, which may be the sheet of candidates itself: which outcome each line holds, and of which row.

use crate::Result;
use crate::encode::Encoder;
use crate::record::{Header, Outcome};
use crate::units::{Cell, Trouble, Units};
use icee_base::table::{Row, Table};

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
    pub outcome: Outcome,
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
    let mut values = ValueColumn::new(table, value)?;
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
    let mut lines = Vec::new();
    table.scan(|table, row| {
        if let Some(outcome) = values.outcome(table, row)? {
            let named = match &encoder {
                Some(encoder) => Named::Cells(encoder.key(table, row)),
                None => Named::Id(id.map_or_else(String::new, |id| row.cell(id).to_owned())),
            };
            lines.push(Line { number: row.line, row: named, outcome });
        }
        Ok(())
    })?;
    values.finish(table)?;
    Ok(lines)
}

/// The column of values of a file, whose numbers have one unit or none.
pub struct ValueColumn<'a> {
    place: usize,
    name: &'a str,
    units: Units,
}

impl<'a> ValueColumn<'a> {
    /// The column of that name.
    ///
    /// # Errors
    /// Where there is none.
    pub fn new(table: &Table, name: &'a str) -> Result<ValueColumn<'a>> {
        Ok(ValueColumn { place: table.column(name)?, name, units: Units::default() })
    }

    /// What stands in the cell of the next line; nothing where it is empty.
    ///
    /// # Errors
    /// Where it makes no sense, or has another unit than a line above.
    pub fn outcome(&mut self, table: &Table, row: &Row<'_>) -> std::result::Result<Option<Outcome>, String> {
        let text = row.cell(self.place);
        let wrong = |problem: String| format!("column {} ({}): {problem}", self.place + 1, self.name);
        let cell = Cell::read(table, text);
        self.units.see(row.line, text, &cell);
        match cell {
            Cell::Number(number) => Ok(Some(Outcome::Value(number))),
            Cell::Quantity(number, unit) => match self.units.common() {
                Err(Trouble::Differ(first, _)) if first.unit != unit.text => Err(wrong(format!(
                    "\"{text}\" is in {}, and \"{}\" in line {} is in {}; all values must have one unit",
                    unit.text, first.cell, first.line, first.unit
                ))),
                _ => Ok(Some(Outcome::Value(number))),
            },
            Cell::Missing => Ok(None),
            Cell::Word if text.eq_ignore_ascii_case(FAILED) => Ok(Some(Outcome::Failed)),
            Cell::Word if text.eq_ignore_ascii_case(IMPOSSIBLE) => Ok(Some(Outcome::Impossible)),
            Cell::Word => {
                Err(wrong(format!("\"{text}\" is not a finite number, nor the word {FAILED} or {IMPOSSIBLE}")))
            }
        }
    }

    /// Checks, after the last line, that what followed the numbers was a unit: `7B` among numbers is a slip.
    ///
    /// # Errors
    /// Where it was none.
    pub fn finish(self, table: &Table) -> Result<()> {
        let Err(Trouble::Doubtful(sight, plain)) = self.units.common() else { return Ok(()) };
        let problem = format!(
            "line {}: column {} ({}): \"{}\" is a number and a letter, and line {plain} has a number alone; if the letter is a unit, \
             leave a blank before it",
            sight.line,
            self.place + 1,
            self.name,
            sight.cell
        );
        Err(table.broken(vec![problem]).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn outcomes(cells: &[&str]) -> std::result::Result<Vec<Outcome>, String> {
        let text = format!("row;got\n1;{}\n", cells.join("\n1;"));
        let mut table = Table::of_bytes(Path::new("got.csv"), text.into()).unwrap();
        let mut values = ValueColumn::new(&table, "got").unwrap();
        let mut found = Vec::new();
        let scanned = table.scan(|table, row| {
            found.extend(values.outcome(table, row)?);
            Ok(())
        });
        scanned.map_err(|error| error.to_string())?;
        values.finish(&table).map_err(|error| error.to_string())?;
        Ok(found)
    }

    #[test]
    fn values_may_have_one_unit() {
        let [a, b] = [Outcome::Value(85.0), Outcome::Value(1.5)];
        assert_eq!(outcomes(&["85 %", "", "1,5%", "failed"]).unwrap(), [a, b, Outcome::Failed]);
        assert_eq!(outcomes(&["85", "1,5 %"]).unwrap(), [a, b]);
        assert_eq!(outcomes(&["85C", "1,5C"]).unwrap(), [a, b]);
        for (cells, said) in [
            (
                &["85 %", "3 g", "4 %", "5 g"][..],
                "line 3: column 2 (got): \"3 g\" is in g, and \"85 %\" in line 2 is in %",
            ),
            (&["85 %", "3 g", "4 %", "5 g"], "\n  line 5: "),
            (&["85", "7B", "1"], "line 3: column 2 (got): \"7B\" is a number and a letter, and line 2 has"),
            (&["85", "3 of 4"], "line 3: column 2 (got): \"3 of 4\" is not a finite number"),
        ] {
            let error = outcomes(cells).unwrap_err();
            assert!(error.contains(said) && !error.contains("line 4"), "{error}");
        }
    }
}

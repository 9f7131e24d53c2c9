//! A file of results, which may be the sheet of candidates itself: which outcome each line holds, and of which row.

use crate::Result;
use crate::encode::Encoder;
use crate::record::{Header, Measured, Outcome};
use crate::survey::is_grouped;
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
    let further = header.further.iter().map(|further| further.name.as_str());
    let mut columns = Columns::new(table, std::iter::once(value).chain(further))?;
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
    columns.finish(table)?;
    Ok(lines)
}

/// The columns in which the outcomes of an experiment stand.
pub struct Columns {
    value: Option<ValueColumn>,
    /// None where a file does not have it: what is not there was not measured.
    further: Vec<Option<ValueColumn>>,
    /// Lines that have further outcomes and no value yet.
    pub waiting: usize,
}

impl Columns {
    /// The columns of these names: of the value that the study is about, and of the further ones in the order of the header.
    ///
    /// # Errors
    /// Where there is no column of the value.
    pub fn new<'a>(table: &Table, mut names: impl Iterator<Item = &'a str>) -> Result<Columns> {
        let value = names.next().map(|name| ValueColumn::new(table, name)).transpose()?;
        let known = |name: &str| table.header().iter().any(|column| column == name);
        let further = names.map(|name| known(name).then(|| ValueColumn::new(table, name)).transpose());
        Ok(Columns { value, further: further.collect::<Result<_>>()?, waiting: 0 })
    }

    /// What stands in the next line; nothing where the cell of the value is empty.
    ///
    /// # Errors
    /// Where something makes no sense.
    pub fn measured(&mut self, table: &Table, row: &Row<'_>) -> std::result::Result<Option<Measured>, String> {
        let Some(value) = &mut self.value else { return Ok(None) };
        let Some(outcome) = value.outcome(table, row)? else {
            let cell = |column: &mut ValueColumn| Ok(column.outcome(table, row)?.is_some());
            let mut cells =
                self.further.iter_mut().flatten().map(cell).collect::<std::result::Result<Vec<_>, String>>()?;
            cells.retain(|filled| *filled);
            self.waiting += usize::from(!cells.is_empty());
            return Ok(None);
        };
        if !matches!(outcome, Outcome::Value(_)) {
            // There is nothing to measure.
            return Ok(Some(outcome.into()));
        }
        let number = |column: &mut Option<ValueColumn>| {
            let Some(column) = column else { return Ok(None) };
            match column.outcome(table, row)? {
                None => Ok(None),
                Some(Outcome::Value(value)) => Ok(Some(value)),
                Some(_) => Err(column.wrong("a number is needed beside a value")),
            }
        };
        let further = self.further.iter_mut().map(number).collect::<std::result::Result<_, _>>()?;
        Ok(Some(Measured { outcome, further }))
    }

    /// Checks, after the last line, that what followed the numbers were units.
    ///
    /// # Errors
    /// Where one was none.
    pub fn finish(self, table: &Table) -> Result<()> {
        self.value.into_iter().chain(self.further.into_iter().flatten()).try_for_each(|column| column.finish(table))
    }
}

/// A column of values, whose numbers have one unit or none.
struct ValueColumn {
    place: usize,
    name: String,
    units: Units,
    /// The first number with a decimal comma, and the first that may be thousands beside such numbers: 1.250.
    comma: Option<String>,
    grouped: Option<(usize, String)>,
}

impl ValueColumn {
    fn new(table: &Table, name: &str) -> Result<ValueColumn> {
        Ok(ValueColumn {
            place: table.column(name)?,
            name: name.to_owned(),
            units: Units::default(),
            comma: None,
            grouped: None,
        })
    }

    fn wrong(&self, problem: &str) -> String {
        format!("column {} ({}): {problem}", self.place + 1, self.name)
    }

    /// What stands in the cell of the next line; nothing where it is empty.
    fn outcome(&mut self, table: &Table, row: &Row<'_>) -> std::result::Result<Option<Outcome>, String> {
        let text = row.cell(self.place);
        let cell = Cell::read(table, text);
        self.units.see(row.line, text, &cell);
        if self.comma.is_none() && matches!(cell, Cell::Number(_) | Cell::Quantity(..)) && text.contains(',') {
            self.comma = Some(text.to_owned());
        }
        if self.grouped.is_none() && table.has_decimal_commas() && is_grouped(text) {
            self.grouped = Some((row.line, text.to_owned()));
        }
        match cell {
            Cell::Number(number) => Ok(Some(Outcome::Value(number))),
            Cell::Quantity(number, unit) => match self.units.common() {
                Err(Trouble::Differ(first, _)) if first.unit != unit.text => Err(self.wrong(&format!(
                    "\"{text}\" is in {}, and \"{}\" in line {} is in {}; all values must have one unit",
                    unit.text, first.cell, first.line, first.unit
                ))),
                _ => Ok(Some(Outcome::Value(number))),
            },
            Cell::Missing => Ok(None),
            Cell::Word if text.eq_ignore_ascii_case(FAILED) => Ok(Some(Outcome::Failed)),
            Cell::Word if text.eq_ignore_ascii_case(IMPOSSIBLE) => Ok(Some(Outcome::Impossible)),
            Cell::Word => {
                Err(self.wrong(&format!(
                    "\"{text}\" is not a finite number, nor the word {FAILED} or {IMPOSSIBLE}; where nothing is known yet, leave the cell empty"
                )))
            }
        }
    }

    /// Checks, after the last line, that what followed the numbers was a unit: `7B` among numbers is a slip.
    fn finish(self, table: &Table) -> Result<()> {
        if let (Some(comma), Some((line, grouped))) = (&self.comma, &self.grouped) {
            let problem = format!(
                "line {line}: column {} ({}): \"{grouped}\" may be {} or {}, because \"{comma}\" has a decimal comma; write the one that is meant",
                self.place + 1,
                self.name,
                grouped.replace('.', ""),
                grouped.replace('.', ",")
            );
            return Err(table.broken(vec![problem]).into());
        }
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
            (&["41,2", "1.250"], "line 3: column 2 (got): \"1.250\" may be 1250 or 1,250, because \"41,2\" has"),
            (&["85", "3 of 4"], "line 3: column 2 (got): \"3 of 4\" is not a finite number"),
        ] {
            let error = outcomes(cells).unwrap_err();
            assert!(error.contains(said) && !error.contains("line 4"), "{error}");
        }
    }
}

//! The columns of outcomes, and the meaning of their cells. One cell does not always show what it means: units
//! and notations are those of the whole column.

use crate::error::{OrProblem, Result};
use crate::record::{Measured, Outcome};
use crate::survey::{is_foreign_quantity, is_grouped};
use crate::units::{Cell, Trouble, Units};
use icee_base::table::{Row, Table};
use icee_protocol::Note;

/// The words for an experiment that failed, and for one that is impossible.
pub const FAILED: &str = "failed";
/// See [`FAILED`].
pub const IMPOSSIBLE: &str = "impossible";
/// This unit is also a factor: 60 % may be written as 0.6 or as 60.
const PERCENT: &str = "%";
/// Words for a missing value, beside those of every table; as results they are refused.
const NOTHING: [&str; 8] = ["-", "–", "—", "?", "n.d.", "nd", "n.b.", "missing"];
/// Signs of limits, and of inexact numbers.
const LIMITS: &str = "<>≤≥";
const ABOUT: &str = "~≈±";

/// The columns with the outcomes of an experiment.
pub struct Columns {
    value: Option<ValueColumn>,
    /// None if a file does not have it: then it was not measured.
    further: Vec<Option<ValueColumn>>,
    /// Lines that have further outcomes and no main result yet.
    waiting: usize,
    /// The first number of the file with a decimal comma, and its line.
    comma: Option<(usize, String)>,
}

impl Columns {
    /// The columns of these names: of the main result, and of the further ones in the order of the header.
    ///
    /// # Errors
    /// If there is no column of the main result.
    pub fn new<'a>(table: &Table, mut names: impl Iterator<Item = &'a str>) -> Result<Columns> {
        let value = names.next().map(|name| ValueColumn::new(table, name)).transpose()?;
        let known = |name: &str| table.header().iter().any(|column| column == name);
        let further = names.map(|name| known(name).then(|| ValueColumn::new(table, name)).transpose());
        Ok(Columns { value, further: further.collect::<Result<_>>()?, waiting: 0, comma: None })
    }

    /// The outcome in the next line; none if the cell of the main result is empty.
    ///
    /// # Errors
    /// If a cell cannot be read.
    pub fn measured(&mut self, table: &Table, row: &Row<'_>) -> std::result::Result<Option<Measured>, String> {
        let Some(value) = &mut self.value else { return Ok(None) };
        if self.comma.is_none() && table.has_decimal_commas() {
            let mut cells = (0..table.header().len()).map(|column| row.cell(column));
            let comma = cells.find(|cell| {
                cell.contains(',') && matches!(Cell::read(table, cell), Cell::Number(_) | Cell::Quantity(..))
            });
            self.comma = comma.map(|cell| (row.line, cell.to_owned()));
        }
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
                Some(_) => Err(column.wrong("a further result is a number. Enter a number, or leave the cell empty.")),
            }
        };
        let further = self.further.iter_mut().map(number).collect::<std::result::Result<_, _>>()?;
        Ok(Some(Measured { outcome, further }))
    }

    /// Checks, after the last line, that the numbers of a column are written alike; returns the notes.
    ///
    /// # Errors
    /// If they are not.
    pub fn finish(self, table: &Table) -> Result<Vec<Note>> {
        let mut notes = Vec::new();
        notes.extend((self.waiting > 0).then_some(Note::Waiting { rows: self.waiting }));
        for column in self.value.iter().chain(self.further.iter().flatten()) {
            column.check(self.comma.as_ref()).map_err(|problem| table.broken(vec![problem])).or_problem()?;
            notes.extend(column.doubts());
        }
        Ok(notes)
    }
}

/// A column of results, whose numbers have one unit or none.
struct ValueColumn {
    place: usize,
    name: String,
    units: Units,
    /// The first number that may be thousands, such as 1.250, and how many numbers there are of that kind and in all.
    grouped: Option<(usize, String)>,
    count_grouped: usize,
    numbers: usize,
}

impl ValueColumn {
    fn new(table: &Table, name: &str) -> Result<ValueColumn> {
        let (place, name) = (table.column(name).or_problem()?, name.to_owned());
        Ok(ValueColumn { place, name, units: Units::default(), grouped: None, count_grouped: 0, numbers: 0 })
    }

    fn wrong(&self, problem: &str) -> String {
        format!("column {} ({}): {problem}", self.place + 1, self.name)
    }

    /// The outcome in the cell of the next line; none if it is empty.
    fn outcome(&mut self, table: &Table, row: &Row<'_>) -> std::result::Result<Option<Outcome>, String> {
        let text = row.cell(self.place);
        let cell = Cell::read(table, text);
        self.units.see(row.line, text, &cell);
        if matches!(cell, Cell::Number(_) | Cell::Quantity(..)) {
            self.numbers += 1;
            // Without its unit.
            let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            if table.has_decimal_commas() && is_grouped(number) {
                self.count_grouped += 1;
                self.grouped.get_or_insert_with(|| (row.line, number.to_owned()));
            }
        }
        match cell {
            Cell::Number(number) => Ok(Some(Outcome::Value(number))),
            Cell::Quantity(number, unit) => match self.units.common() {
                Err(Trouble::Differ(first, _)) if first.unit != unit.text => Err(self.wrong(&format!(
                    "\"{text}\" is in {}, but \"{}\" in line {} is in {}. Give all results in one unit.",
                    unit.text, first.cell, first.line, first.unit
                ))),
                _ => Ok(Some(Outcome::Value(number))),
            },
            Cell::Missing => Ok(None),
            Cell::Word if text.eq_ignore_ascii_case(FAILED) => Ok(Some(Outcome::Failed)),
            Cell::Word if text.eq_ignore_ascii_case(IMPOSSIBLE) => Ok(Some(Outcome::Impossible)),
            Cell::Word => Err(self.wrong(&no_value(table, text))),
        }
    }

    /// Checks that its numbers are written alike: another notation may mean another number. `comma` is a number of the
    /// file, of this column or another, with a decimal comma.
    fn check(&self, comma: Option<&(usize, String)>) -> std::result::Result<(), String> {
        if let (Some((at, comma)), Some((line, grouped))) = (comma, &self.grouped) {
            return Err(format!(
                "line {line}: {}",
                self.wrong(&format!(
                    "\"{grouped}\" may mean {} or {}, because \"{comma}\" in line {at} has a decimal comma. Write the one you mean.",
                    grouped.replace('.', ""),
                    grouped.replace('.', ",")
                ))
            ));
        }
        match (self.units.common(), self.units.plain()) {
            (Err(Trouble::Doubtful(sight, plain)), _) => Err(format!(
                "line {}: {}",
                sight.line,
                self.wrong(&format!(
                    "\"{}\" is a number and a letter, but line {plain} has a number alone. If the letter is a unit, put a space before it.",
                    sight.cell
                ))
            )),
            (Ok(Some(PERCENT)), Some((line, plain))) => {
                let first = self.units.first().map_or_else(String::new, |first| {
                    format!("\"{}\" in line {} is in %", first.cell, first.line)
                });
                let problem = format!("{first}, so \"{plain}\" may be in % or a share of 1. Write all results alike.");
                Err(format!("line {line}: {}", self.wrong(&problem)))
            }
            _ => Ok(()),
        }
    }

    /// The notes on how its numbers were read if another way is possible, but not likely.
    fn doubts(&self) -> Vec<Note> {
        let mut doubts = Vec::new();
        if let (Ok(Some(unit)), Some((line, plain))) = (self.units.common(), self.units.plain()) {
            let (column, unit, cell) = (self.name.clone(), unit.to_owned(), plain.to_owned());
            doubts.push(Note::UnitAssumed { column, unit, cell, line: *line });
        }
        if let Some((line, grouped)) = self.grouped.as_ref().filter(|_| self.count_grouped == self.numbers) {
            let (column, example) = (self.name.clone(), Some((grouped.clone(), *line)));
            doubts.push(Note::DecimalPoint { column, example, created: false });
        }
        doubts
    }
}

/// Why a text is not a result, and what to enter instead.
fn no_value(table: &Table, text: &str) -> String {
    let lower = text.to_lowercase();
    if NOTHING.contains(&lower.as_str()) {
        return format!(
            "\"{text}\" is not a number. Leave the cell empty if nothing was measured. Enter {FAILED} if the experiment failed."
        );
    }
    let begins = |signs: &str| text.starts_with(|c| signs.contains(c));
    if begins(LIMITS) {
        let limit = text.trim_start_matches(|c: char| LIMITS.contains(c) || c == '=' || c.is_whitespace());
        return format!("\"{text}\" is not a number. Enter {limit} (the limit) instead.");
    }
    if begins(ABOUT) || text.contains(['±', '~']) {
        return format!("\"{text}\" is not a number. Enter the number alone, without its uncertainty.");
    }
    if is_foreign_quantity(text) {
        let here = if table.has_decimal_commas() { "1200,5 or 1200.5" } else { "1200.5" };
        return format!(
            "\"{text}\" is a number in another notation. Write it like {here} in this file, without thousands separators."
        );
    }
    format!(
        "\"{text}\" is not a number. Enter a number, {FAILED} or {IMPOSSIBLE}. Leave the cell empty if there is no result yet."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The outcomes of a column of a file, and the notes.
    fn noted(cells: &[&str], other: &str) -> std::result::Result<(Vec<Outcome>, Vec<Note>), String> {
        let text = format!("row;other;got\n1;{other};{}\n", cells.join("\n1;1;"));
        let mut table = Table::of_bytes(Path::new("got.csv"), text.into()).unwrap();
        let mut columns = Columns::new(&table, ["got"].into_iter()).unwrap();
        let mut found = Vec::new();
        let scanned = table.scan(|table, row| {
            found.extend(columns.measured(table, row)?.map(|measured| measured.outcome));
            Ok(())
        });
        scanned.map_err(|error| error.to_string())?;
        let notes = columns.finish(&table).map_err(|error| error.to_string())?;
        Ok((found, notes))
    }

    fn outcomes(cells: &[&str]) -> std::result::Result<Vec<Outcome>, String> {
        noted(cells, "1").map(|(found, _)| found)
    }

    #[test]
    fn values_may_have_one_unit() {
        let [a, b] = [Outcome::Value(85.0), Outcome::Value(1.5)];
        assert_eq!(outcomes(&["85 %", "", "1,5%", "failed"]).unwrap(), [a, b, Outcome::Failed]);
        assert_eq!(outcomes(&["85C", "1,5C"]).unwrap(), [a, b]);
        for (cells, said) in [
            (
                &["85 %", "3 g", "4 %", "5 g"][..],
                "line 3: column 3 (got): \"3 g\" is in g, but \"85 %\" in line 2 is in %",
            ),
            (&["85 %", "3 g", "4 %", "5 g"], "\n  line 5: "),
            (&["85", "7B", "1"], "line 3: column 3 (got): \"7B\" is a number and a letter, but line 2 has"),
            (&["85", "3 of 4"], "line 3: column 3 (got): \"3 of 4\" is not a number. Enter"),
            // 0.6 may be 60 % or less than one.
            (
                &["50 %", "0,6"],
                "line 3: column 3 (got): \"50 %\" in line 2 is in %, so \"0,6\" may be in % or a share of 1",
            ),
        ] {
            let error = outcomes(cells).unwrap_err();
            assert!(error.contains(said) && !error.contains("line 4"), "{error}");
        }
        // A number beside grams is almost certainly in grams, but the file does not say so.
        let (values, notes) = noted(&["85 g", "1,5"], "1").unwrap();
        assert_eq!(values, [a, b]);
        let assumed = Note::UnitAssumed { column: "got".into(), unit: "g".into(), cell: "1,5".into(), line: 3 };
        assert_eq!(notes, [assumed]);
    }

    #[test]
    fn points_that_may_separate_thousands_are_asked_about() {
        let both = noted(&["41,2", "1.250"], "1").unwrap_err();
        let said =
            "line 3: column 3 (got): \"1.250\" may mean 1250 or 1,250, because \"41,2\" in line 2 has a decimal comma";
        assert!(both.contains(said), "{both}");
        assert!(noted(&["1.250 g", "2"], "0,5").unwrap_err().contains("because \"0,5\" in line 2 has"));
        let (values, notes) = noted(&["1.250", "2.500"], "0.5").unwrap();
        assert_eq!(values[0], Outcome::Value(1.25));
        let point = Note::DecimalPoint { column: "got".into(), example: Some(("1.250".into(), 2)), created: false };
        assert_eq!(notes, [point]);
        assert!(noted(&["1.250", "2.5"], "0.5").unwrap().1.is_empty());
    }

    #[test]
    fn what_is_no_value_is_answered_with_what_to_write() {
        for (cell, said) in [
            ("<0.1", "Enter 0.1 (the limit)"),
            ("≥ 5 g", "Enter 5 g (the limit)"),
            ("n.d.", "Leave the cell empty if nothing was measured. Enter failed if"),
            ("-", "Leave the cell empty if nothing"),
            ("~6", "Enter the number alone"),
            ("5 ± 0.1", "Enter the number alone"),
            ("1.234,5", "in another notation. Write it like 1200,5 or 1200.5"),
            ("1'200", "in another notation"),
            ("tried twice", "Enter a number, failed or impossible."),
        ] {
            let error = outcomes(&[cell]).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let mut table = Table::of_bytes(Path::new("got.tsv"), "got\ta\n3,2\t1\n".into()).unwrap();
        let mut columns = Columns::new(&table, ["got"].into_iter()).unwrap();
        let error = table.scan(|table, row| columns.measured(table, row).map(drop)).unwrap_err().to_string();
        assert!(error.contains("\"3,2\" is a number in another notation. Write it like 1200.5 in"), "{error}");
    }
}

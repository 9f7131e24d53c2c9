//! What an earlier study of such rows has found, for a new one to begin with.

use crate::encode::{Code, Column};
use crate::goals::Direction;
use crate::models::Models;
use crate::record::{Earlier, EarlierRow};
use crate::study::{Study, not_loaded};
use crate::{Error, Result};
use icee_base::table::Table;
use std::path::Path;

/// Rows that are taken over, the latest; models take no more than some hundreds.
const MOST: usize = 1000;

impl Earlier {
    /// The rows with a value of the study in a file, by the columns of a new one that looks for values in a direction; and what
    /// should be known of them.
    ///
    /// # Errors
    /// Where it cannot be read, has no value, or its columns do not match.
    pub(crate) fn of_study(path: &Path, columns: &[Column], direction: Direction) -> Result<(Earlier, Option<String>)> {
        let name = path.file_stem().map_or_else(String::new, |name| name.display().to_string());
        let mut study = Study::open(path, None, Models::default())?;
        let gone = |error: Error| Error::Study(format!("the sheet of the earlier study {name}: {error}"));
        if !study.pool.exists() {
            let pool = study.pool.display();
            return Err(Error::Study(format!("the sheet of the earlier study {name}, {pool}, is gone; put it back")));
        }
        study.load().map_err(gone)?;
        let known = &study.header.columns;
        let mut problems = Vec::new();
        for Column { name, code } in columns {
            match known.iter().find(|other| other.name == *name).map(|other| &other.code) {
                None => problems.push(format!("it has not learned from a column \"{name}\"")),
                Some(other) if is_number(other) != is_number(code) => {
                    let [there, here] = [other, code].map(|code| if is_number(code) { "numbers" } else { "words" });
                    problems.push(format!("its column \"{name}\" has {there}, not {here}"));
                }
                Some(other) if other.unit() != code.unit() => {
                    let [there, here] = [other, code].map(|code| code.unit().unwrap_or("no unit"));
                    problems.push(format!("its column \"{name}\" is in {there}, not in {here}"));
                }
                Some(_) => {}
            }
        }
        if !problems.is_empty() {
            return Err(Error::Study(format!(
                "the earlier study {name} does not match this sheet: {}; use --columns to leave columns out",
                problems.join("; ")
            )));
        }
        let Some(sheet) = &study.rows else { return Err(not_loaded()) };
        let told = study.trials.told.iter().filter_map(|trial| Some((trial.row, trial.value()?)));
        let rows = told.map(|(row, value)| {
            let cells = sheet.cells(row).0;
            let cell = |Column { name, code }: &Column| match cells.iter().find(|(other, _)| other == name) {
                Some((_, cell)) if is_number(code) => sheet.plain(cell, code.unit()),
                Some((_, cell)) => cell.clone(),
                None => String::new(),
            };
            EarlierRow { cells: columns.iter().map(cell).collect(), value }
        });
        let mut rows: Vec<EarlierRow> = rows.collect();
        rows.drain(..rows.len().saturating_sub(MOST));
        if rows.len() < 2 {
            return Err(Error::Study(format!("the earlier study {name} has no two values to learn from")));
        }
        let wanted = |direction| if direction == Direction::Maximize { "high" } else { "low" };
        let opposed = matches!(
            (study.header.direction, direction),
            (Direction::Maximize, Direction::Minimize) | (Direction::Minimize, Direction::Maximize)
        );
        let note = opposed.then(|| {
            let [there, here] = [study.header.direction, direction].map(wanted);
            format!("the earlier study {name} looks for {there} values, this one for {here} ones; its values are taken as they are")
        });
        Ok((Earlier { study: name, rows }, note))
    }

    /// Its rows as a table of these columns.
    pub(crate) fn table(&self, columns: &[Column]) -> Result<Table> {
        let name = format!("the earlier study {}", self.study);
        let wrong = |error: &dyn std::fmt::Display| Error::Study(format!("{name} cannot be read: {error}"));
        if self.rows.iter().any(|row| row.cells.len() != columns.len() || !row.value.is_finite()) {
            return Err(wrong(&"its rows do not fit the columns"));
        }
        let mut text = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
        text.write_record(columns.iter().map(|column| &column.name)).map_err(|error| wrong(&error))?;
        for row in &self.rows {
            text.write_record(&row.cells).map_err(|error| wrong(&error))?;
        }
        let bytes = text.into_inner().map_err(|error| wrong(&error))?;
        Ok(Table::of_bytes(Path::new(&name), bytes)?)
    }
}

fn is_number(code: &Code) -> bool {
    matches!(code, Code::Number { .. })
}

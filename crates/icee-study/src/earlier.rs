//! The results of an earlier study with such rows, for a new one to begin with.

use crate::create::Like;
use crate::encode::{Code, Column};
use crate::error::{OrProblem, Result, stored};
use crate::goals::Direction;
use crate::models::Models;
use crate::record::{Earlier, EarlierRow};
use crate::study::Study;
use icee_base::table::Table;
use icee_protocol::{EarlierMismatch, Note, Problem};
use std::path::Path;

/// Rows that are copied, the latest; models use no more than some hundreds.
const MOST: usize = 1000;

impl Earlier {
    /// The rows with a result of an earlier study, by the input columns of a new one with a given direction; and the
    /// notes.
    ///
    /// # Errors
    /// If it cannot be read, has fewer than two results, or its columns do not match.
    pub(crate) fn of_study(like: &Like, columns: &[Column], direction: Direction) -> Result<(Earlier, Option<Note>)> {
        let name = like.name.clone();
        let unreadable = |problem| Problem::EarlierUnreadable { study: like.name.clone(), problem: Box::new(problem) };
        let mut study = Study::open_in(&*like.home, Models::default()).map_err(unreadable)?;
        study.load().map_err(unreadable)?;
        let mismatches = mismatches(&study.header.columns, columns);
        if !mismatches.is_empty() {
            return Err(Problem::Earlier { study: name, mismatches });
        }
        let sheet = study.loaded()?;
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
            return Err(Problem::EarlierEmpty { study: name });
        }
        let high_there = match (study.header.direction, direction) {
            (Direction::Maximize, Direction::Minimize) => Some(true),
            (Direction::Minimize, Direction::Maximize) => Some(false),
            _ => None,
        };
        let note = high_there.map(|high_there| Note::EarlierOpposed { study: name.clone(), high_there });
        Ok((Earlier { study: name, rows }, note))
    }

    /// Its rows as a table of these columns.
    pub(crate) fn table(&self, columns: &[Column]) -> Result<Table> {
        let name = format!("the earlier study {}", self.study);
        let wrong = |error: &dyn std::fmt::Display| stored(&name, format!("it cannot be read: {error}"));
        if self.rows.iter().any(|row| row.cells.len() != columns.len() || !row.value.is_finite()) {
            return Err(wrong(&"its rows do not fit the columns"));
        }
        let mut text = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
        text.write_record(columns.iter().map(|column| &column.name)).map_err(|error| wrong(&error))?;
        for row in &self.rows {
            text.write_record(&row.cells).map_err(|error| wrong(&error))?;
        }
        let bytes = text.into_inner().map_err(|error| wrong(&error))?;
        Table::of_bytes(Path::new(&name), bytes).or_problem()
    }
}

/// Why the input columns of an earlier study are not those of a new one.
fn mismatches(known: &[Column], columns: &[Column]) -> Vec<EarlierMismatch> {
    let mismatch = |Column { name, code }: &Column| {
        let column = name.clone();
        let Some(other) = known.iter().find(|other| other.name == *name).map(|other| &other.code) else {
            return Some(EarlierMismatch::NoColumn { column });
        };
        if is_number(other) != is_number(code) {
            return Some(EarlierMismatch::Type { column, numbers_here: is_number(code) });
        }
        let [there, here] = [other, code].map(|code| code.unit().map(str::to_owned));
        (there != here).then_some(EarlierMismatch::Unit { column, there, here })
    };
    columns.iter().filter_map(mismatch).collect()
}

fn is_number(code: &Code) -> bool {
    matches!(code, Code::Number { .. })
}

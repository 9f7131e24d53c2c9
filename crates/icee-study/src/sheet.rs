//! The sheet as people keep it: rows are added, sorted and filled in while the study goes on.
//!
//! The journal identifies the sheet, and every version that was imported is kept beside it. If the file has changed,
//! the rows with a result or in progress are found in the new one, by their ids or their cells, and one line of the
//! journal records where they are now and which results were filled in. Looks use the kept version, not the file.

use crate::drift::Drift;
use crate::encode::{Code, Column, Scale};
use crate::error::{OrProblem, Result, shown};
use crate::formats;
use crate::record::{Entry, Header, RowName, SheetFile, ToldValue};
use crate::rows::{Place, Rows, check_ids, contents, relative_to};
use crate::storage::KeptSheet;
use crate::study::Study;
use crate::survey::survey;
use crate::tell::{Repeat, Report, Source};
use crate::trials::Trials;
use crate::units;
use icee_base::table::{Table, TableError, is_missing};
use icee_protocol::{CellChange, Conflict, Note, Problem, Updated, shortened};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The rows with a result or in progress, in the new sheet.
#[derive(Default)]
struct Moved {
    /// Where each was and is, by number from one.
    places: Vec<[usize; 2]>,
    /// The results of rows that have other cells now.
    kept: Vec<ToldValue>,
    /// Rows that have other cells now and were suggested as they were.
    withdrawn: Vec<RowName>,
    /// The same of both as notes.
    notes: Vec<Note>,
}

/// How measured rows with other cells are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Corrected {
    /// They are refused.
    #[default]
    Refuse,
    /// Their cells were corrected: they keep their results. Rows in progress are released.
    Keep,
}

/// A sheet that replaces the present one.
#[derive(Clone, Debug)]
pub enum NewSheet {
    /// The file that the study follows from now on.
    File(PathBuf),
    /// Its bytes, if it is in no file.
    Bytes(Vec<u8>),
}

/// The sheet as it is now.
struct Found {
    bytes: Vec<u8>,
    /// The file that the study follows, from the journal's folder.
    path: Option<PathBuf>,
    /// Its name in messages.
    name: PathBuf,
}

impl Study {
    /// Updates the study from its sheet: rows added, removed or sorted otherwise, and results filled in. Corrected
    /// results need [`Repeat::Replace`], and corrected rows [`Corrected::Keep`]. A given sheet replaces the present
    /// one.
    ///
    /// # Errors
    /// Where a measured row or one in progress is gone or has changed, or the sheet cannot be used; then nothing changes.
    pub fn update(&mut self, repeat: Repeat, corrected: Corrected, new: Option<NewSheet>) -> Result<Updated> {
        self.refresh()?;
        let rows = self.header.pool.rows;
        let unchanged = Updated { rows_before: rows, rows, ..Updated::default() };
        let Some(found) = self.found(new)? else { return Ok(unchanged) };
        Ok(self.alone(|study| study.update_alone(repeat, corrected, found))?.0)
    }

    /// The same from a kept version, wherever it was: also if another file had the same text.
    pub(crate) fn update_from_kept(&mut self, repeat: Repeat, corrected: Corrected, bytes: Vec<u8>) -> Result<Updated> {
        let found = Found { bytes, path: None, name: self.sheet_name() };
        let updated = self.alone(|study| {
            study.header.pool.path = Some(PathBuf::from("elsewhere"));
            study.update_alone(repeat, corrected, found)
        });
        Ok(updated?.0)
    }

    /// The sheet to read, if it may differ from the present one.
    fn found(&self, new: Option<NewSheet>) -> Result<Option<Found>> {
        match new {
            Some(NewSheet::Bytes(bytes)) => match self.sheet_path() {
                Some(path) => Err(Problem::SheetIsFile { path: shown(&path) }),
                None => Ok(Some(Found { bytes, path: None, name: self.sheet_name() })),
            },
            Some(NewSheet::File(file)) => {
                let bytes = formats::read_bytes(&file)?;
                let path = Some(relative_to(self.folder.as_deref(), &file)?);
                Ok(Some(Found { bytes, path, name: file }))
            }
            None => {
                let Some(bytes) = self.read_file()? else { return Ok(None) };
                Ok(Some(Found { bytes, path: self.header.pool.path.clone(), name: self.sheet_name() }))
            }
        }
    }

    /// Updates the study if its file has changed: a line of its own, whether or not the request succeeds. A missing
    /// file is only noted, because the sheet is kept.
    pub(crate) fn follow_sheet(&mut self) -> Result<()> {
        self.follow_sheet_known(false)
    }

    /// The same before rows are named. If rows are known by their numbers and those have just changed, a number
    /// may mean the old row or the new one, so the request is refused.
    pub(crate) fn follow_sheet_known(&mut self, named: bool) -> Result<()> {
        self.refresh()?;
        let found = match self.found(None) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(()),
            Err(problem) => {
                self.notes.push(Note::Unread { problem: Box::new(problem) });
                return Ok(());
            }
        };
        let hash = crate::storage::digest(&found.bytes);
        if self.header.pool.hash.as_ref() == Some(&hash) || self.same_text.as_ref() == Some(&hash) {
            return Ok(());
        }
        let origin = std::mem::take(&mut self.origin);
        self.origin.at = origin.at;
        let updated = self.alone(|study| study.update_alone(Repeat::Refuse, Corrected::Refuse, found));
        self.origin = origin;
        let (change, moved) = updated?;
        if !change.changed {
            self.same_text = Some(hash);
            return Ok(());
        }
        let Updated { rows_before, rows, told, .. } = change;
        self.notes.push(Note::SheetUpdated { rows_before, rows, told });
        match moved.into_iter().find(|[was, is]| was != is) {
            Some([was, is]) if named && self.header.id.is_none() => {
                Err(Problem::NumbersMoved { sheet: shown(&self.sheet_name()), was, is })
            }
            _ => Ok(()),
        }
    }

    /// The same under the lock; returns where measured rows and those in progress are now.
    fn update_alone(
        &mut self,
        repeat: Repeat,
        corrected: Corrected,
        found: Found,
    ) -> Result<(Updated, Vec<[usize; 2]>)> {
        let before = self.header.pool.rows;
        let Found { bytes, path, name } = found;
        let sheet = KeptSheet::new(bytes);
        let mut table = formats::table(&name, sheet.bytes.clone())?;
        let moved_only = path != self.header.pool.path;
        if contents(&table).fingerprint == self.header.pool.fingerprint && !moved_only {
            let unchanged = Updated { rows_before: before, rows: before, ..Updated::default() };
            return Ok((unchanged, vec![]));
        }
        self.try_to_load();
        let (columns, footers) = recoded(&mut table, &self.header.columns)?;
        for column in [&self.header.value, &self.header.id, &self.header.cost].into_iter().flatten() {
            table.column(column).map_err(renamed)?;
        }
        if let Some(id) = &self.header.id {
            let column = table.column(id).or_problem()?;
            check_ids(&mut table, column)?;
        }
        let others = self.header.others(&table);
        let pool = SheetFile { path, hash: Some(sheet.hash.clone()), others, ..contents(&table) };
        let header = Header { pool: pool.clone(), columns: columns.clone(), ..self.header.clone() };
        let mut rows = Rows::encode(table, &header)?;
        let Moved { places: moved, kept, withdrawn, notes } = self.moved(&mut rows, corrected, &name)?;
        // Results are compared with those of the rows at their new places.
        let entry =
            |outcomes| Entry::Sheet { pool: pool.clone(), columns: columns.clone(), moved: moved.clone(), outcomes };
        let mut after = self.trials.clone();
        let withdrawn = (!withdrawn.is_empty()).then_some(Entry::Withdraw { rows: withdrawn });
        withdrawn.iter().for_each(|entry| after.take_in(entry.clone(), None));
        after.take_in(entry(kept.clone()), None);
        let (lines, said) = rows.outcomes()?;
        let found = Report::of_lines(lines.into_iter(), Source::Sheet);
        let (outcomes, told) = after
            .checked(&found, repeat, &header.goals())
            .map_err(|problems| Problem::of_lines(shown(&name), problems))?;
        self.notes.extend(notes);
        self.notes.extend(said);
        self.notes.extend(after.doubts(&outcomes, |row| rows.cells(row - 1), true));
        let drift = Drift { before: &self.header, now: &header, trials: &after, found: &found, sheet: rows.header() };
        self.notes.extend(drift.notes());
        self.notes.extend(footers.into_iter().filter(|_| header.pool.rows > before));
        withdrawn.into_iter().try_for_each(|entry| self.change(entry))?;
        self.change_sheet(entry([kept, outcomes].concat()), sheet)?;
        self.rows = Some(rows);
        let change = Updated { changed: true, rows_before: before, rows: header.pool.rows, told };
        Ok((change, moved))
    }

    /// Where measured rows and those in progress are now.
    fn moved(&self, rows: &mut Rows, corrected: Corrected, sheet: &Path) -> Result<Moved> {
        let told = self.trials.told.iter().map(|trial| (&trial.name, Some(&trial.known)));
        let running = self.trials.running().map(|running| (&running.name, None));
        let all: Vec<_> = told.chain(running).collect();
        let names: Vec<&RowName> = all.iter().map(|(name, ..)| *name).collect();
        let (mut moved, mut seen, mut conflicts) = (Moved::default(), HashSet::new(), Vec::new());
        for (place, (name, known)) in rows.places(&names)?.into_iter().zip(all) {
            let described = known.map(|known| known.describe());
            let (changes, now) = match place {
                Place::Changed(row) => self.edited(name, rows, row),
                _ => (vec![], None),
            };
            match (place, corrected, known) {
                // A row in progress may also have a result.
                (Place::At(row), ..) => moved.places.extend(seen.insert(name.row).then_some([name.row, row + 1])),
                (Place::Changed(row), Corrected::Keep, Some(known)) => {
                    moved.places.extend(seen.insert(name.row).then_some([name.row, row + 1]));
                    moved.kept.extend(Report::of_corrected(rows.name(row), known));
                    moved.notes.push(Note::RowKept { row: name.shown(), known: known.describe(), changes, now });
                }
                (Place::Changed(_), Corrected::Keep, None) => {
                    moved.withdrawn.push(name.clone());
                    moved.notes.push(Note::RowReleased { row: name.shown(), changes, now });
                }
                (Place::Changed(_) | Place::Gone, ..) => conflicts.push(Conflict {
                    row: name.shown(),
                    known: described,
                    gone: place == Place::Gone,
                    changes,
                    now,
                    has_id: self.header.id.is_some(),
                    has_results: self.header.value.is_some(),
                }),
            }
        }
        // Rows with an expired reservation are found too, so that a late result can still be recorded.
        let late: Vec<&RowName> = self.trials.late_rows().collect();
        let mut ends: HashSet<usize> = moved.places.iter().map(|[_, is]| *is).collect();
        for (place, name) in rows.places(&late)?.into_iter().zip(late) {
            if let Place::At(row) = place
                && seen.insert(name.row)
                && ends.insert(row + 1)
            {
                moved.places.push([name.row, row + 1]);
            }
        }
        moved.notes = shortened(moved.notes).0;
        if conflicts.is_empty() {
            return Ok(moved);
        }
        let (conflicts, more) = shortened(conflicts);
        Err(Problem::SheetConflicts { sheet: shown(sheet), conflicts, more })
    }

    /// The changes in a row: column by column if the earlier sheet is at hand, otherwise its present cells.
    fn edited(&self, name: &RowName, rows: &Rows, row: usize) -> (Vec<CellChange>, Option<String>) {
        let now = rows.cells(row);
        let before = self.cells(name.row);
        let was = |column: &String| before.0.iter().find(|(name, _)| name == column).map(|(_, cell)| cell);
        let learned = |column: &String| self.header.columns.iter().any(|known| known.name == *column);
        let other = now.0.iter().filter(|(column, _)| learned(column));
        let change = |(column, cell): &(String, String)| {
            let was = was(column).filter(|was| *was != cell)?.clone();
            Some(CellChange { column: column.clone(), was, is: cell.clone() })
        };
        let changes: Vec<CellChange> = other.filter_map(change).collect();
        let now = changes.is_empty().then(|| now.in_short());
        (changes, now)
    }
}

/// The note about rows that are the same experiment as others.
pub(crate) fn repeated(rows: &Rows) -> Option<Note> {
    let again = || rows.first_of_each().iter().enumerate().filter(|(row, first)| row != *first);
    let (row, first) = again().next()?;
    Some(Note::EqualRows { row: row + 1, first: first + 1, rows: again().count() })
}

/// The results in a new study's sheet, and the notes about how they were read.
pub(crate) fn first_outcomes(rows: &mut Rows, header: &Header, file: &Path) -> Result<(Vec<ToldValue>, Vec<Note>)> {
    let (lines, said) = rows.outcomes()?;
    let found = Report::of_lines(lines.into_iter(), Source::Sheet);
    let told = Trials::new(header).checked(&found, Repeat::Refuse, &header.goals());
    told.map(|(outcomes, _)| (outcomes, said)).map_err(|problems| Problem::of_lines(shown(file), problems))
}

/// The codes of the same columns in a changed sheet: with other ends and words, but numbers stay numbers and scales
/// stay. And the lines that may not be rows.
fn recoded(table: &mut Table, columns: &[Column]) -> Result<(Vec<Column>, Vec<Note>)> {
    let place = |column: &Column| table.column(&column.name).map_err(renamed);
    let places: Vec<usize> = columns.iter().map(place).collect::<Result<_>>()?;
    let kept = |Column { name, code }: &Column| {
        let scale = matches!(code, Code::Category { .. }).then_some(Scale::Categories);
        scale.map(|scale| (name.clone(), scale))
    };
    let scales: Vec<(String, Scale)> = columns.iter().filter_map(kept).collect();
    let survey = survey(table, &places, &scales)?;
    let mut recoded = Vec::new();
    for Column { name, code } in columns {
        let found = survey.columns.iter().find(|column| column.name == *name).map(|column| &column.code);
        let code = match (code, found) {
            (Code::Number { unit: Some(before), .. }, Some(Code::Number { unit: Some(unit), .. }))
                if unit != before =>
            {
                let fault = format!("column \"{name}\" was in {before} and is in {unit} now. Correct the cells.");
                return Err(table.broken(vec![fault])).or_problem();
            }
            (Code::Number { log, unit: before, .. }, Some(Code::Number { low, high, missing, unit, .. })) => {
                let unit = unit.clone().or_else(|| before.clone());
                Code::Number { low: *low, high: *high, log: *log && *low > 0.0, missing: *missing, unit }
            }
            (Code::Category { .. }, Some(found @ Code::Category { .. })) => found.clone(),
            // All of its cells are the same now, or it is a column of names.
            (code, None) => code.clone(),
            (Code::Number { unit, .. }, Some(Code::Category { .. })) => {
                return Err(words_among_numbers(table, name, unit.as_deref())?).or_problem();
            }
            // It was declared a category.
            (Code::Category { .. }, Some(Code::Number { .. })) => code.clone(),
        };
        recoded.push(Column { name: name.clone(), code });
    }
    Ok((recoded, survey.footers))
}

/// The problem of a missing column.
fn renamed(error: TableError) -> Problem {
    let fault = match error {
        // Not every face may see where the file is.
        TableError::Content { problems, .. } => problems.join(" ").trim_end_matches('.').to_owned(),
        error => error.to_string(),
    };
    Problem::ColumnGone { fault }
}

/// The error of a column that had numbers and has words now, line by line.
fn words_among_numbers(table: &mut Table, name: &str, unit: Option<&str>) -> Result<TableError> {
    let place = table.column(name).or_problem()?;
    let words = table.scan(|table, row| {
        let cell = row.cell(place);
        match is_missing(cell) || units::number(table, cell, unit).is_some() {
            true => Ok(()),
            false => Err(format!("column \"{name}\" has numbers, but \"{cell}\" is not a number. Correct the cell.")),
        }
    });
    Ok(words.err().unwrap_or_else(|| table.broken(vec![format!("column \"{name}\" had numbers and has words now.")])))
}

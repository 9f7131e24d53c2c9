//! The sheet as people keep it: rows are added, sorted and filled in while the study goes on.
//!
//! The journal says what the sheet was. Where it has changed, the rows that have an outcome or a suggestion are looked up in
//! the new one, by their ids or their cells, and one line of the journal says where they are now and what was filled in.

use crate::drift::Drift;
use crate::encode::{Code, Column, Scale};
use crate::formats;
use crate::record::{Entry, Header, PoolFile, RowName, ToldValue};
use crate::rows::{Place, Rows, check_ids, contents, pool_file, read_pool};
use crate::study::{Study, not_loaded, shown};
use crate::survey::survey;
use crate::tell::{Repeat, Report, Source, TellSummary, shortened};
use crate::trials::Trials;
use crate::{Error, Result, units};
use icee_base::table::{Table, TableError, is_missing};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What was taken in of a sheet that has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetChange {
    /// Whether the file is another one than before.
    pub changed: bool,
    /// Rows before.
    pub rows_before: usize,
    /// Rows now.
    pub rows: usize,
    /// What was filled in.
    pub told: TellSummary,
}

/// A sheet that is to take the place of the one that was read before.
struct NewSheet<'a> {
    bytes: &'a [u8],
    /// Puts it somewhere, given where the one before lies; says where.
    put: &'a mut dyn FnMut(&Path) -> Result<PathBuf>,
}

/// What becomes of the rows that were told or suggested.
#[derive(Default)]
struct Moved {
    /// Where each was and is, by number from one.
    places: Vec<[usize; 2]>,
    /// What is known of rows that have other cells now.
    kept: Vec<ToldValue>,
    /// Rows that have other cells now and were suggested as they were.
    withdrawn: Vec<RowName>,
    /// The same of both in words.
    said: Vec<String>,
}

/// What is done with rows that were told and have other cells now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Corrected {
    /// They are refused.
    #[default]
    Refuse,
    /// Their cells were corrected: they keep what was told of them. Where they were only suggested, they are not any more.
    Keep,
}

impl Study {
    /// Takes in what has changed in the sheet since it was last read: rows added, removed or sorted otherwise, and values filled
    /// in. Corrected values need [`Repeat::Replace`], and corrected rows [`Corrected::Keep`].
    ///
    /// # Errors
    /// Where a row that was told or suggested is gone or has changed, or the sheet cannot be used; then nothing changes.
    pub fn update(&mut self, repeat: Repeat, corrected: Corrected) -> Result<SheetChange> {
        Ok(self.alone(|study| study.update_alone(repeat, corrected, None))?.0)
    }

    /// The same of a sheet at hand, which takes the place of the one that was read before. When all is well with it, and before the
    /// journal says so, `put` puts it where it is to lie, and says where that is: who dies in between leaves a sheet that the next ask
    /// takes in.
    ///
    /// # Errors
    /// As [`Study::update`], and where it cannot be put there.
    pub fn update_to(
        &mut self,
        sheet: &[u8],
        repeat: Repeat,
        corrected: Corrected,
        put: &mut dyn FnMut(&Path) -> Result<PathBuf>,
    ) -> Result<SheetChange> {
        Ok(self.alone(|study| study.update_alone(repeat, corrected, Some(NewSheet { bytes: sheet, put })))?.0)
    }

    /// Puts a new sheet where it is to lie.
    fn put(&mut self, sheet: Option<NewSheet<'_>>) -> Result<()> {
        if let Some(NewSheet { put, .. }) = sheet {
            let place = put(&self.pool)?;
            self.elsewhere |= place != self.pool;
            self.pool = place;
        }
        Ok(())
    }

    /// The same under the lock, and where rows that were told or suggested are now.
    fn update_alone(
        &mut self,
        repeat: Repeat,
        corrected: Corrected,
        new: Option<NewSheet<'_>>,
    ) -> Result<(SheetChange, Vec<[usize; 2]>)> {
        let before = self.header.pool.rows;
        let given = |new: &NewSheet<'_>| formats::table(&self.pool, new.bytes.to_vec());
        let known = match &new {
            Some(new) => Rows::of(given(new)?, &self.header)?,
            None => Rows::load(&self.pool, &self.header)?,
        };
        if let Some(rows) = known {
            // The file may be another one all the same.
            self.put(new)?;
            self.rows = Some(rows);
            let unchanged = SheetChange { rows_before: before, rows: before, ..SheetChange::default() };
            return Ok((unchanged, vec![]));
        }
        let mut table = new.as_ref().map_or_else(|| read_pool(&self.pool), given)?;
        let (columns, footers) = recoded(&mut table, &self.header.columns)?;
        for name in [&self.header.value, &self.header.id, &self.header.cost].into_iter().flatten() {
            table.column(name).map_err(renamed)?;
        }
        if let Some(id) = &self.header.id {
            let column = table.column(id)?;
            check_ids(&mut table, column)?;
        }
        let pool = match new {
            None if !self.copied => pool_file(&table, self.folder.as_deref())?,
            // Wherever it will lie, or lies for a moment.
            _ => PoolFile { path: self.header.pool.path.clone(), ..contents(&table) },
        };
        let pool = PoolFile { others: Some(self.header.others(&table)), ..pool };
        let header = Header { pool: pool.clone(), columns: columns.clone(), ..self.header.clone() };
        let mut rows = Rows::encode(table, &header)?;
        let Moved { places: moved, kept, withdrawn, said: corrections } = self.moved(&mut rows, corrected)?;
        // Outcomes are compared with what is known of the rows at their new places.
        let sheet =
            |outcomes| Entry::Sheet { pool: pool.clone(), columns: columns.clone(), moved: moved.clone(), outcomes };
        let withdrawn = (!withdrawn.is_empty()).then_some(Entry::Withdraw { rows: withdrawn });
        let mut after = self.trials.clone();
        withdrawn.iter().for_each(|entry| after.take_in(entry.clone()));
        after.take_in(sheet(kept.clone()));
        let (lines, said) = rows.outcomes()?;
        let found = Report::of_lines(lines.into_iter(), Source::Sheet);
        let (outcomes, told) =
            after.checked(&found, repeat, &header.goals()).map_err(|problems| self.broken_sheet(problems))?;
        let way = "mend the sheet, and undo takes it back";
        self.notes.extend(corrections);
        self.notes.extend(said);
        self.notes.extend(after.doubts(&outcomes, |row| rows.cells(row - 1), way));
        let drift = Drift { before: &self.header, now: &header, trials: &after, found: &found, sheet: rows.header() };
        self.notes.extend(drift.notes());
        self.notes.extend(footers.into_iter().filter(|_| header.pool.rows > before));
        self.put(new)?;
        withdrawn.into_iter().try_for_each(|entry| self.record(entry))?;
        self.record(sheet([kept, outcomes].concat()))?;
        self.rows = Some(rows);
        let change = SheetChange { changed: true, rows_before: before, rows: header.pool.rows, told };
        Ok((change, moved))
    }

    /// Where the rows that were told or suggested are now.
    fn moved(&self, rows: &mut Rows, corrected: Corrected) -> Result<Moved> {
        let told = self.trials.told.iter().map(|trial| (&trial.name, Some(&trial.known)));
        let running = self.trials.running().map(|running| (&running.name, None));
        let all: Vec<_> = told.chain(running).collect();
        if self.header.id.is_none() && all.iter().any(|(name, ..)| name.key.is_none()) {
            return Err(Error::Study(format!(
                "{} has changed, and this study is from a version that did not note down what stands in a row; put the old file \
                 back, or create a new study of the sheet and tell that what is known",
                self.pool.display()
            )));
        }
        let names: Vec<&RowName> = all.iter().map(|(name, ..)| *name).collect();
        let (mut moved, mut seen, mut problems) = (Moved::default(), HashSet::new(), Vec::new());
        let study = self.called();
        for (place, (name, known)) in rows.places(&names)?.into_iter().zip(all) {
            let was = known.map_or("asked for".to_owned(), |known| format!("told ({})", known.describe()));
            let way = if known.is_some() { "icee study forget" } else { "icee study withdraw" };
            match (place, corrected, known) {
                // A row that is measured again is both told and running.
                (Place::At(row), ..) => moved.places.extend(seen.insert(name.row).then_some([name.row, row + 1])),
                (Place::Changed(row), Corrected::Keep, Some(known)) => {
                    moved.places.extend(seen.insert(name.row).then_some([name.row, row + 1]));
                    moved.kept.extend(Report::of_corrected(rows.name(row), known));
                    let changes = self.changes(name, rows, row);
                    moved.said.push(format!("{} keeps what was told of it ({}); {changes}", shown(name), known.describe()));
                }
                (Place::Changed(row), Corrected::Keep, None) => {
                    moved.withdrawn.push(name.clone());
                    let changes = self.changes(name, rows, row);
                    moved.said.push(format!("{} was asked for and is not any more; {changes}", shown(name)));
                }
                (Place::Changed(row), Corrected::Refuse, None) => problems.push(format!(
                    "{} was {was} and has other cells now ({}); give it back first: `{way} {study} --row {}`",
                    shown(name),
                    self.changes(name, rows, row),
                    name.shown()
                )),
                (Place::Changed(row), Corrected::Refuse, Some(_)) => problems.push(format!(
                    "{} was {was} and has other cells now ({}); `icee study update {study} --keep` keeps what is known of it, `{way}` drops it",
                    shown(name),
                    self.changes(name, rows, row)
                )),
                (Place::Gone, ..) if self.header.id.is_some() => {
                    problems.push(format!("{} was {was} and is gone; put it back, or drop it with `{way}`", shown(name)));
                }
                (Place::Gone, ..) => {
                    // Which row it has become nobody can say.
                    let keep = if corrected == Corrected::Keep { "; --keep needs one" } else { "" };
                    let again = if self.header.value.is_some() && known.is_some() {
                        "; where it was corrected, its result is taken in again from the sheet"
                    } else {
                        ""
                    };
                    problems.push(format!(
                        "{} was {was} and no row has its cells any more: without an id column, rows are found by what stands in the columns that are \
                         learned from{keep}. Put it back, or drop it with `{way} {study} --row {}`{again}",
                        shown(name),
                        name.row
                    ));
                }
            }
        }
        // Where a row stands now with which somebody is late, so that he can tell what came out of it.
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
        moved.said = shortened(moved.said);
        if problems.is_empty() { Ok(moved) } else { Err(self.broken_sheet(shortened(problems))) }
    }

    /// What is different in a row: column by column where the sheet from before is still at hand, and otherwise what stands there now.
    fn changes(&self, name: &RowName, rows: &Rows, row: usize) -> String {
        let now = rows.cells(row);
        let before = self.cells(name.row);
        let was = |column: &String| before.0.iter().find(|(name, _)| name == column).map(|(_, cell)| cell);
        let learned = |column: &String| self.header.columns.iter().any(|known| known.name == *column);
        let other = now.0.iter().filter(|(column, _)| learned(column));
        let other =
            other.filter_map(|(column, cell)| was(column).filter(|was| *was != cell).map(|was| (column, was, cell)));
        let changes: Vec<String> =
            other.map(|(column, was, is)| format!("{column} was \"{was}\" and is \"{is}\"")).collect();
        if changes.is_empty() { format!("now {}", now.in_short()) } else { changes.join(", ") }
    }

    fn broken_sheet(&self, problems: Vec<String>) -> Error {
        TableError::Content { path: self.pool.clone(), problems }.into()
    }

    /// Takes in what others wrote, reads the pool, and takes in what has changed in it. By way of the lock, so that who may not
    /// write hears of it now and not in the end. Says where rows that were told or suggested are now, if that was found out.
    pub(crate) fn load_and_update(&mut self) -> Result<Vec<[usize; 2]>> {
        self.alone(|_| Ok(()))?;
        if self.rows.is_some() {
            return Ok(vec![]);
        }
        self.rows = Rows::load(&self.pool, &self.header)?;
        let mut moved = vec![];
        if self.rows.is_none() {
            let (change, places) = self.alone(|study| study.update_alone(Repeat::Refuse, Corrected::Refuse, None))?;
            self.notes.push(format!("{} has changed: {change}", self.pool.display()));
            moved = places;
        }
        self.rows.as_ref().map(|_| moved).ok_or_else(not_loaded)
    }
}

impl std::fmt::Display for SheetChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TellSummary { new, again, replaced, .. } = self.told;
        write!(f, "{} rows", self.rows)?;
        match self.rows.cmp(&self.rows_before) {
            std::cmp::Ordering::Greater => write!(f, " ({} more)", self.rows - self.rows_before)?,
            std::cmp::Ordering::Less => write!(f, " ({} fewer)", self.rows_before - self.rows)?,
            std::cmp::Ordering::Equal => {}
        }
        let parts = [(new, "told"), (again, "told again"), (replaced, "replaced")];
        for (count, what) in parts.iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}

/// Where the sheet lies, by what stands in the journal.
pub(crate) fn place(folder: Option<&Path>, header: &Header) -> PathBuf {
    let path = &header.pool.path;
    folder.map_or_else(|| path.clone(), |folder| folder.join(path))
}

/// Said where rows are the same experiment as others.
pub(crate) fn repeated(rows: &Rows) -> Option<String> {
    let again = || rows.first_of_each().iter().enumerate().filter(|(row, first)| row != *first);
    let (row, first) = again().next()?;
    let others = match again().count() {
        1 => String::new(),
        more => format!(", and so on ({more} rows)"),
    };
    Some(format!(
        "row {} has the same cells as row {}{others} in all columns that are learned from: they count as one experiment. Where they \
         are not, create the study with --id COLUMN",
        row + 1,
        first + 1
    ))
}

/// What a new study is told by its sheet, and what should be known of how that was read.
pub(crate) fn first_outcomes(rows: &mut Rows, header: &Header, path: &Path) -> Result<(Vec<ToldValue>, Vec<String>)> {
    let (lines, said) = rows.outcomes()?;
    let found = Report::of_lines(lines.into_iter(), Source::Sheet);
    let told = Trials::new(header).checked(&found, Repeat::Refuse, &header.goals());
    let broken = |problems| TableError::Content { path: path.to_owned(), problems }.into();
    told.map(|(outcomes, _)| (outcomes, said)).map_err(broken)
}

/// The codes of the same columns in a sheet that has changed: other ends and words, but numbers stay numbers and scales
/// what they were. And the lines that may be no rows.
fn recoded(table: &mut Table, columns: &[Column]) -> Result<(Vec<Column>, Vec<String>)> {
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
                let problem = format!("column \"{name}\" was in {before} and is in {unit} now; mend the cells");
                return Err(table.broken(vec![problem]).into());
            }
            (Code::Number { log, unit: before, .. }, Some(Code::Number { low, high, missing, unit, .. })) => {
                let unit = unit.clone().or_else(|| before.clone());
                Code::Number { low: *low, high: *high, log: *log && *low > 0.0, missing: *missing, unit }
            }
            (Code::Category { .. }, Some(found @ Code::Category { .. })) => found.clone(),
            // All of its cells are the same now, or it is a column of names.
            (code, None) => code.clone(),
            (Code::Number { unit, .. }, Some(Code::Category { .. })) => {
                return Err(words_among_numbers(table, name, unit.as_deref())?.into());
            }
            // It was asked to be categories.
            (Code::Category { .. }, Some(Code::Number { .. })) => code.clone(),
        };
        recoded.push(Column { name: name.clone(), code });
    }
    Ok((recoded, survey.footers))
}

/// Said of a column that is not there any more.
fn renamed(error: TableError) -> Error {
    Error::Study(format!("{error}; a study keeps its columns, so rename it back"))
}

/// Said of a column that had numbers and has words now, line by line.
fn words_among_numbers(table: &mut Table, name: &str, unit: Option<&str>) -> Result<TableError> {
    let place = table.column(name)?;
    let words = table.scan(|table, row| {
        let cell = row.cell(place);
        match is_missing(cell) || units::number(table, cell, unit).is_some() {
            true => Ok(()),
            false => Err(format!("column \"{name}\" has numbers, and \"{cell}\" is none; mend the cell")),
        }
    });
    Ok(words.err().unwrap_or_else(|| table.broken(vec![format!("column \"{name}\" had numbers and has words now")])))
}

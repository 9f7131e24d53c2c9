//! The rows of a study's pool: its file, checked against the journal, and the points of the rows.

use crate::condition::{Condition, UnknownWord};
use crate::encode::{Column, Encoder, cell_key};
use crate::error::{OrProblem, Result, stored};
use crate::record::{Header, Measured, RowName, SheetFile};
use crate::results::{Line, Named, Said};
use crate::units::{self, Cell};
use crate::values::Columns;
use icee_base::files::{FileError, folder_of};
use icee_base::names::nearest;
use icee_base::table::{Table, is_missing};
use icee_bo::columns::Words;
use icee_bo::pool::Pool;
use icee_protocol::{Cells, Note, Problem};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Rows among which a mistyped id is looked for.
const SEARCHED: usize = 10_000;
/// Unknown ids for which that is done; an error shows no more of them.
const HINTS: usize = 20;
/// Bytes of an id with which it is done: the work grows with the square of the length.
const HINTED_LENGTH: usize = 200;
/// How many columns can be asked to have the same cells.
const MOST_SAME: usize = 256;

/// Numbers that differ by no more than this share are the same, written by another program.
const SAME: f64 = 1e-12;

/// The column that says which rows are an earlier study's; no sheet has one of this name.
const CAMPAIGN: &str = "\u{0}campaign";

/// A pool in memory.
#[derive(Debug)]
pub struct Rows {
    table: Table,
    /// The rows as points; behind them those of an earlier study, which are marked.
    pub points: Pool,
    id: Option<usize>,
    /// The columns in which outcomes are filled in, if there are any: the main one first.
    results: Vec<String>,
    /// The cost of each row, if costs count.
    pub costs: Option<Vec<f64>>,
    /// The columns' units, where they are known.
    units: HashMap<usize, String>,
    /// A key of each row's cells ([`Encoder::key`]).
    keys: Vec<u64>,
    /// For each row the first with the same cells, which stands for all of them; itself where a column names the rows.
    first: Vec<usize>,
    /// The row of each id, once one was looked up.
    by_id: Option<HashMap<String, usize>>,
}

/// An outcome in a sheet, with its row and line.
pub type Found = (RowName, usize, Measured);

/// Where a known row is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this place, unchanged.
    At(usize),
    /// At this place, with other cells.
    Changed(usize),
    /// Not in the sheet.
    Gone,
}

impl Rows {
    /// The rows of a sheet; `None` if it is not the one in the journal.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn of(table: Table, header: &Header) -> Result<Option<Rows>> {
        if fingerprint(&table) != header.pool.fingerprint || table.bytes() != header.pool.bytes {
            return Ok(None);
        }
        Rows::encode(table, header).map(Some)
    }

    /// The outcome in each row's cell of results, if there is one, and the notes about how they were read.
    ///
    /// # Errors
    /// With every line whose result cannot be read.
    pub fn outcomes(&mut self) -> Result<(Vec<Found>, Vec<Note>)> {
        let mut columns = Columns::new(&self.table, self.results.iter().map(String::as_str))?;
        let mut found = Vec::new();
        let scanned = self.table.scan(|table, row| {
            found.extend(columns.measured(table, row)?.map(|measured| (row.index, row.line, measured)));
            Ok(())
        });
        scanned.or_problem()?;
        let notes = columns.finish(&self.table)?;
        let named = found.into_iter().map(|(row, line, measured)| (self.name(self.first[row]), line, measured));
        Ok((named.collect(), notes))
    }

    /// Checks a line's cells against its row; if either is empty, nothing is wrong.
    ///
    /// # Errors
    /// With the column and both cells, in words.
    pub fn check_cells(&self, row: &RowName, said: &[Said]) -> Result<()> {
        let here = if said.is_empty() { vec![] } else { self.table.cells(row.row - 1) };
        for Said { column, cell, number } in said {
            let Some(place) = self.table.header().iter().position(|name| name == column) else { continue };
            let unit = self.units.get(&place).map(String::as_str);
            let is_same = match (units::number(&self.table, &here[place], unit), number) {
                // Spreadsheets keep fifteen digits.
                (Some(here), Some(number)) => (here - number).abs() <= SAME * here.abs().max(number.abs()),
                _ => false,
            };
            // Exported files have numbers as they are in the sheet, whatever the notation.
            if !is_same && here[place] != *cell && !is_missing(cell) && !is_missing(&here[place]) {
                let (column, here, there) = (column.clone(), here[place].clone(), cell.clone());
                return Err(Problem::CellsDiffer { row: row.shown(), column, here, there });
            }
        }
        Ok(())
    }

    /// The names of the sheet's columns.
    pub fn header(&self) -> &[String] {
        self.table.header()
    }

    /// A key of each row's cells in some columns, however numbers are written: the same if the cells are the same.
    ///
    /// # Errors
    /// Where there is no such column, or the table cannot be read any more.
    pub fn settings(&mut self, columns: &[String]) -> Result<Vec<u64>> {
        let mut places: Vec<usize> = Vec::new();
        for name in columns.iter().take(MOST_SAME + 1) {
            let place = self.table.column(name).or_problem()?;
            if places.contains(&place) {
                return Err(Problem::SameTwice { column: name.clone() });
            }
            places.push(place);
        }
        if places.len() > MOST_SAME {
            return Err(Problem::SameTooMany { most: MOST_SAME });
        }
        let mut settings = Vec::with_capacity(self.keys.len());
        let units = &self.units;
        let scanned = self.table.scan(|table, row| {
            let key =
                |key, &place: &usize| cell_key(key, table, row.cell(place), units.get(&place).map(String::as_str));
            settings.push(places.iter().fold(0, key));
            Ok(())
        });
        scanned.or_problem().map(|()| settings)
    }

    /// For each row the first with the same cells, which stands for all of them; itself where a column names the rows.
    pub fn first_of_each(&self) -> &[usize] {
        &self.first
    }

    /// The place of each known row, found by its id or else by its cells.
    ///
    /// # Errors
    /// Where the table cannot be read any more.
    pub fn places(&mut self, names: &[&RowName]) -> Result<Vec<Place>> {
        let mut known: HashMap<String, usize> = HashMap::new();
        let labels = if self.id.is_some() { self.ids()? } else { self.keys.iter().copied().map(hex).collect() };
        for (row, label) in labels.into_iter().enumerate() {
            known.entry(label).or_insert(row);
        }
        let place = |name: &&RowName| {
            let label = if self.id.is_some() { &name.id } else { &name.key };
            match label.as_ref().and_then(|label| known.get(label)) {
                None => Place::Gone,
                Some(&row) if name.key.is_none() || name.key == Some(hex(self.keys[row])) => Place::At(row),
                Some(&row) => Place::Changed(row),
            }
        };
        Ok(names.iter().map(place).collect())
    }

    /// The rows of a table whose codes are known.
    ///
    /// # Errors
    /// Where they do not fit each other.
    pub fn encode(mut table: Table, header: &Header) -> Result<Rows> {
        let place = |name: &Option<String>| name.as_deref().map(|name| table.column(name).or_problem()).transpose();
        let (id, cost) = (place(&header.id)?, place(&header.cost)?);
        // If the result is filled in here, so are all further ones.
        let results = header.value.iter().chain(header.further.iter().map(|further| &further.name));
        let results: Vec<String> = if header.value.is_some() { results.cloned().collect() } else { vec![] };
        let encoder = Encoder::new(&table, &header.columns)?;
        let (mut points, mut keys, mut cells) = (Vec::new(), Vec::new(), Encoder::cells(&header.columns));
        let mut mark = header.earlier.as_ref().map(|_| Words::new(CAMPAIGN));
        let mut costs = cost.map(|_| Vec::new());
        let scanned = table.scan(|table, row| {
            if let (Some(cost), Some(costs)) = (cost, &mut costs) {
                costs.push(
                    price(table, row.cell(cost))
                        .map_err(|problem| format!("column {} ({}): {problem}", cost + 1, table.header()[cost]))?,
                );
            }
            keys.push(encoder.key(table, row));
            encoder.encode(table, row, &mut points);
            encoder.collect(table, row, &mut cells);
            if let Some(mark) = &mut mark {
                points.push(0.0);
                mark.push(Some("now"));
            }
            Ok(())
        });
        scanned.or_problem()?;
        let rows = table.rows();
        if let (Some(earlier), Some(mark)) = (&header.earlier, &mut mark) {
            let mut table = earlier.table(&header.columns)?;
            let encoder = Encoder::new(&table, &header.columns)?;
            let scanned = table.scan(|table, row| {
                encoder.encode(table, row, &mut points);
                encoder.collect(table, row, &mut cells);
                points.push(1.0);
                mark.push(Some("earlier"));
                Ok(())
            });
            scanned.or_problem()?;
        }
        if rows != header.pool.rows {
            return Err(stored("sheet", format!("it has {rows} rows, not {}", header.pool.rows)));
        }
        let unit = |column: &Column| Some((table.column(&column.name).ok()?, column.code.unit()?.to_owned()));
        let units = header.columns.iter().filter_map(unit).collect();
        let widths = header.columns.iter().map(|column| column.code.width()).chain(mark.as_ref().map(|_| 1)).collect();
        let columns = cells.finish().into_iter().chain(mark.map(Words::finish)).collect();
        let dimension = encoder.dimension() + usize::from(header.earlier.is_some());
        let points = Pool::new(points, dimension).and_then(|points| points.with_widths(widths)?.with_columns(columns));
        let points = points.or_problem()?;
        let mut places: HashMap<u64, usize> = HashMap::with_capacity(keys.len());
        let mut first_with = |(row, key): (usize, &u64)| *places.entry(*key).or_insert(row);
        let first = match id {
            Some(_) => (0..keys.len()).collect(),
            None => keys.iter().enumerate().map(&mut first_with).collect(),
        };
        Ok(Rows { table, points, id, results, costs, units, keys, first, by_id: None })
    }

    /// The user's name for a row.
    pub fn name(&self, row: usize) -> RowName {
        let id = self.id.map(|column| self.table.cells(row).swap_remove(column));
        RowName { row: row + 1, id, key: self.keys.get(row).copied().map(hex) }
    }

    /// Marks the rows whose cells equal those of an earlier row, or of one that is marked already: they are the same
    /// experiment. Where a column names the rows, every row is one of its own.
    pub fn mark_repeated(&self, taken: &mut [bool]) {
        let mut seen = vec![false; self.first.len()];
        self.first.iter().zip(&*taken).filter(|(_, taken)| **taken).for_each(|(&first, _)| seen[first] = true);
        for (&first, taken) in self.first.iter().zip(taken).filter(|(_, taken)| !**taken) {
            *taken = std::mem::replace(&mut seen[first], true);
        }
    }

    /// Marks the rows that do not satisfy a condition.
    ///
    /// # Errors
    /// Where the condition makes no sense, or the table cannot be read any more.
    pub fn exclude(&mut self, condition: &str, taken: &mut [bool]) -> Result<()> {
        let condition = Condition::parse(condition, &self.table, &self.units)?;
        let scanned = self.table.scan(|table, row| {
            taken[row.index] |= !condition.holds(table, row);
            Ok(())
        });
        scanned.or_problem()
    }

    /// A text of a condition that does not occur in its column: a reason why no row may satisfy it.
    ///
    /// # Errors
    /// As [`Rows::exclude`].
    pub fn unknown_word(&mut self, condition: &str) -> Result<Option<UnknownWord>> {
        Condition::parse(condition, &self.table, &self.units)?.unknown_word(&mut self.table)
    }

    /// The first two rows with each of these keys, as far as there are that many.
    fn first_two_with(&self, wanted: impl Iterator<Item = u64>) -> HashMap<u64, [Option<usize>; 2]> {
        let mut found: HashMap<u64, [Option<usize>; 2]> = wanted.map(|key| (key, [None; 2])).collect();
        for (row, key) in self.keys.iter().enumerate() {
            if let Some(free) = found.get_mut(key).and_then(|places| places.iter_mut().find(|place| place.is_none())) {
                *free = Some(row);
            }
        }
        found
    }

    /// The row of each line, or what is wrong with it.
    ///
    /// # Errors
    /// Where the table cannot be read any more.
    pub fn find_all(&mut self, lines: &[Line]) -> Result<Vec<Result<RowName>>> {
        let ids: Vec<&str> = lines
            .iter()
            .filter_map(|line| if let Named::Id(id) = &line.row { Some(id.as_str()) } else { None })
            .collect();
        // A file names its rows in one way: all lines by their ids, or all by their cells.
        if !ids.is_empty() {
            return self.find(&ids);
        }
        let keys = lines.iter().filter_map(|line| if let Named::Cells(key) = line.row { Some(key) } else { None });
        let found = self.first_two_with(keys.clone());
        let find = |key| match (found.get(&key).copied().unwrap_or_default(), self.id) {
            // Rows with names are experiments of their own, however alike they are.
            ([Some(row), Some(other)], Some(id)) => Err(Problem::RowsAlike {
                row: self.name(row).shown(),
                other: self.name(other).shown(),
                column: self.table.header()[id].clone(),
            }),
            ([Some(row), _], _) => Ok(self.name(row)),
            ([None, _], _) => Err(Problem::NoRowWithCells),
        };
        Ok(keys.map(find).collect())
    }

    /// The names of all rows, in their order.
    ///
    /// # Errors
    /// Where the table cannot be read any more.
    pub fn ids(&mut self) -> Result<Vec<String>> {
        let Some(column) = self.id else { return Ok((1..=self.keys.len()).map(|row| row.to_string()).collect()) };
        let mut ids = Vec::with_capacity(self.keys.len());
        let scanned = self.table.scan(|_, row| {
            ids.push(row.cell(column).to_owned());
            Ok(())
        });
        scanned.or_problem().map(|()| ids)
    }

    /// A row's cells; without the id, the results and columns without a name.
    pub fn cells(&self, row: usize) -> Cells {
        let cells = self.table.header().iter().cloned().zip(self.table.cells(row)).enumerate();
        let hidden = |column: usize, name: &String| self.id == Some(column) || self.results.contains(name);
        let shown = cells.filter(|(column, (name, _))| !hidden(*column, name) && !name.is_empty());
        Cells(shown.map(|(_, cell)| cell).collect())
    }

    /// A cell of numbers as other tables read it: with a decimal point, and without the unit.
    pub fn plain(&self, cell: &str, unit: Option<&str>) -> String {
        units::number(&self.table, cell, unit).map_or_else(|| cell.to_owned(), |number| number.to_string())
    }

    /// The row of each id, or what is wrong with it.
    ///
    /// # Errors
    /// Where the table cannot be read any more.
    pub fn find(&mut self, ids: &[&str]) -> Result<Vec<Result<RowName>>> {
        let size = self.keys.len();
        let Some(column) = self.id else {
            let number = |id: &&str| id.trim().parse::<usize>().ok().filter(|row| (1..=size).contains(row));
            let numbered = |id: &&str| match number(id) {
                Some(row) => Ok(self.name(self.first[row - 1])),
                None => Err(Problem::RowUnknown {
                    row: (*id).to_owned(),
                    rows: size,
                    column: None,
                    nearest: None,
                    example: None,
                }),
            };
            return Ok(ids.iter().map(numbered).collect());
        };
        let by_id = match self.by_id.take() {
            Some(by_id) => by_id,
            None => self.ids()?.into_iter().zip(0..).collect(),
        };
        let found: Vec<Option<usize>> = ids.iter().map(|id| by_id.get(id.trim()).copied()).collect();
        self.by_id = Some(by_id);
        let mut known = if found.contains(&None) { self.ids()? } else { vec![] };
        known.truncate(SEARCHED);
        known.retain(|id| id.len() <= HINTED_LENGTH);
        let header = &self.table.header()[column];
        let mut hints = 0;
        let mut hint = |id: &str| {
            hints += 1;
            let wanted = hints <= HINTS && id.len() <= HINTED_LENGTH;
            let near = if wanted { nearest(id, &known) } else { vec![] };
            near.first().map(|near| (*near).to_owned())
        };
        let mut unknown = |id: &str| Problem::RowUnknown {
            row: id.to_owned(),
            rows: size,
            column: Some(header.clone()),
            nearest: hint(id),
            example: known.first().cloned(),
        };
        let resolve =
            |(id, place): (&&str, Option<usize>)| place.map(|index| self.name(index)).ok_or_else(|| unknown(id));
        Ok(ids.iter().zip(found).map(resolve).collect())
    }
}

/// The cost in a cell, or why there is none.
fn price(table: &Table, cell: &str) -> std::result::Result<f64, String> {
    match Cell::read(table, cell) {
        Cell::Number(price) | Cell::Quantity(price, _) if price > 0.0 => Ok(price),
        _ => Err(format!("\"{cell}\" is not a cost. Enter a number above 0.")),
    }
}

/// Checks that all rows have ids, and that the ids differ.
///
/// # Errors
/// With every line that has none, or one that another line has.
pub fn check_ids(table: &mut Table, column: usize) -> Result<()> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let name = table.header()[column].clone();
    let scanned = table.scan(|_, row| {
        let id = row.cell(column);
        if id.is_empty() {
            return Err(format!("column {} ({name}): the id is missing. Enter one.", column + 1));
        }
        match seen.get(id) {
            None => {
                seen.insert(id.to_owned(), row.line);
                Ok(())
            }
            Some(line) => Err(format!(
                "column {} ({name}): the id \"{id}\" is in line {line} already. Enter another one.",
                column + 1
            )),
        }
    });
    scanned.or_problem()
}

/// The path of a sheet as the journal records it, relative to the study's folder if it has one.
pub fn relative_to(folder: Option<&Path>, file: &Path) -> Result<PathBuf> {
    let absolute = file.canonicalize().map_err(FileError::io(file)).or_problem()?;
    Ok(folder.map_or_else(|| absolute.clone(), |folder| relative(&real(folder), &absolute)))
}

/// What shows that a sheet has changed, wherever it is.
pub fn contents(table: &Table) -> SheetFile {
    SheetFile {
        path: None,
        bytes: table.bytes(),
        rows: table.rows(),
        fingerprint: fingerprint(table),
        hash: None,
        others: vec![],
    }
}

/// A folder's path without links and detours, also where the folder is still to be made.
fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| match folder.file_name() {
        Some(name) => real(&folder_of(folder)).join(name),
        None => folder.to_owned(),
    })
}

fn fingerprint(table: &Table) -> String {
    hex(table.fingerprint())
}

/// A checksum as journals have it.
fn hex(checksum: u64) -> String {
    format!("{checksum:016x}")
}

/// The path from a folder to a file, so that both can be moved together; the file's own path if they share no folder.
fn relative(folder: &Path, file: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (folder.components().collect(), file.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if shared < 2 {
        return file.to_owned();
    }
    let up = std::iter::repeat_n(std::path::Component::ParentDir, from.len() - shared);
    up.chain(to[shared..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_and_its_pool_can_move_together() {
        let way = |folder: &str, file: &str| relative(Path::new(folder), Path::new(file)).display().to_string();
        assert_eq!(way("/home/me/lab/studies", "/home/me/lab/pool.csv"), "../pool.csv");
        assert_eq!(way("/home/me/lab", "/home/me/lab/data/pool.csv"), "data/pool.csv");
        assert_eq!(way("/home/me", "/data/pool.csv"), "/data/pool.csv");
    }
}

//! A sheet's rows in the making: cells come one after the other, and become a line of text for each row. A reader sees
//! the content of merged cells in each of their rows; the file has it in the first alone.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Rows and columns of a sheet: no program makes more.
const MOST_ROWS: u32 = 1 << 20;
const MOST_COLUMNS: u32 = 1 << 14;

/// The name of a cell: B7.
pub fn name_of(row: u32, column: u32) -> String {
    let (mut letters, mut rest) = (Vec::new(), u64::from(column) + 1);
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect::<String>() + &(u64::from(row) + 1).to_string()
}

/// A sheet's rows in the making, in the order of their cells; their width is known in the end.
pub struct Grid {
    /// Bytes of text, at most.
    most: u64,
    text: String,
    /// Where each row's text ends, and how many cells it has so far.
    ends: Vec<(usize, u32)>,
    /// The first column with a cell, and the first row.
    first: Option<[u32; 2]>,
    /// Merged cells of several rows: their last row by the first cell.
    merged: HashMap<(u32, u32), u32>,
    /// Those that the last row may be in, by their column.
    open: BTreeMap<u32, Merged>,
    /// The first of those that were copied into further rows, and how many there are.
    filled: Option<(String, usize)>,
}

/// Merged cells.
struct Merged {
    first_row: u32,
    last_row: u32,
    /// Where their text is.
    text: Range<usize>,
    /// Whether it was copied into more than the first row.
    is_filled: bool,
}

type Pushed = Result<(), &'static str>;

impl Grid {
    /// Rows in the making; `regions` are merged, from the first cell to the last.
    pub fn new(most: u64, regions: impl Iterator<Item = [(u32, u32); 2]>) -> Grid {
        let high = regions.filter(|[start, end]| start.0 < end.0).map(|[start, end]| (start, end.0));
        let merged = high.collect();
        let (text, open) = (String::new(), BTreeMap::new());
        Grid { most, text, ends: vec![], first: None, merged, open, filled: None }
    }

    /// Whether no cell has content.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a cell.
    pub fn push(&mut self, row: u32, column: u32, cell: &str) -> Pushed {
        let cell = cell.trim();
        if cell.is_empty() {
            return Ok(());
        }
        if row >= MOST_ROWS || column >= MOST_COLUMNS {
            return Err("is outside the limits of a sheet. Save the workbook again.");
        }
        if row as usize >= self.ends.len() {
            self.close_row(row)?;
            self.ends.resize(row as usize + 1, (self.text.len(), 0));
        }
        let is_next = self.ends.last().is_some_and(|(_, cells)| *cells <= column);
        if self.ends.len() != row as usize + 1 || !is_next {
            return Err("is out of order. Open the file and save it again.");
        }
        self.fill(column)?;
        let text = self.write(column, |text| push_cell(text, cell))?;
        let [first_column, first_row] = self.first.unwrap_or([column, row]);
        self.first = Some([first_column.min(column), first_row]);
        // In the first row they are a title, or names above others.
        if let Some(last_row) = self.merged.remove(&(row, column)).filter(|_| row > first_row) {
            self.open.insert(column, Merged { first_row: row, last_row, text, is_filled: false });
        }
        Ok(())
    }

    /// Writes the content of merged cells into the last row, up to a column. Rows without other content stay empty.
    fn fill(&mut self, column: u32) -> Pushed {
        let Some(&(_, from)) = self.ends.last() else { return Ok(()) };
        let row = self.ends.len() as u32 - 1;
        let here = self.open.range(from.min(column)..column).filter(|(_, merged)| merged.first_row < row);
        let here: Vec<(u32, Range<usize>)> = here.map(|(&column, merged)| (column, merged.text.clone())).collect();
        for (column, range) in here {
            self.write(column, |text| text.extend_from_within(range))?;
            if let Some(merged) = self.open.get_mut(&column).filter(|merged| !merged.is_filled) {
                merged.is_filled = true;
                let [start, end] = [merged.first_row, merged.last_row].map(|row| name_of(row, column));
                self.filled.get_or_insert_with(|| (format!("{start}:{end}"), 0)).1 += 1;
            }
        }
        Ok(())
    }

    /// Ends the last row; merged cells that do not reach the next one are dropped.
    fn close_row(&mut self, next: u32) -> Pushed {
        self.fill(MOST_COLUMNS)?;
        self.open.retain(|_, merged| merged.last_row >= next);
        Ok(())
    }

    /// Writes a cell of the last row, and returns where its text is.
    fn write(&mut self, column: u32, write: impl FnOnce(&mut String)) -> Result<Range<usize>, &'static str> {
        let Some((end, cells)) = self.ends.last_mut() else { return Ok(0..0) };
        let gap = if *cells == 0 { column } else { column + 1 - *cells };
        self.text.extend(std::iter::repeat_n(',', gap as usize));
        let start = self.text.len();
        write(&mut self.text);
        (*end, *cells) = (self.text.len(), column + 1);
        match self.text.len() as u64 > self.most {
            true => Err("exceeds the size limit. Save the sheet as CSV."),
            false => Ok(start..self.text.len()),
        }
    }

    /// The text, all rows equally long, and the remark about merged cells; `None` if it is too long.
    pub fn finish(mut self) -> Option<(String, Option<String>)> {
        self.close_row(MOST_ROWS).ok()?;
        let width = self.ends.iter().map(|(_, cells)| *cells).max().unwrap_or_default();
        let missing = |cells: u32| if cells == 0 { 0 } else { (width - cells) as usize };
        let length = self.text.len() + self.ends.iter().map(|(_, cells)| 1 + missing(*cells)).sum::<usize>();
        if length as u64 > self.most {
            return None;
        }
        let mut text = String::with_capacity(length);
        let mut start = 0;
        for (end, cells) in self.ends {
            if cells > 0 {
                // Empty columns before the first are only commas.
                let unused = self.first.map_or(0, |[column, _]| column) as usize;
                text.push_str(self.text.get(start + unused..end).unwrap_or_default());
                text.extend(std::iter::repeat_n(',', missing(cells)));
            }
            text.push('\n');
            start = end;
        }
        let filled = self.filled.map(|(first, count)| {
            let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            format!("The content of merged cells ({first}{more}) is read in each of their rows.")
        });
        Some((text, filled))
    }
}

/// Appends a cell, in quotes if it contains separators.
fn push_cell(text: &mut String, cell: &str) {
    let quoted = cell.contains([',', ';', '\t', '"']);
    text.extend(quoted.then_some('"'));
    let mut before = ' ';
    for c in cell.chars() {
        match c {
            '"' => text.push_str("\"\""),
            '\n' if before == '\r' => {}
            '\r' | '\n' => text.push(' '),
            c => text.push(c),
        }
        before = c;
    }
    text.extend(quoted.then_some('"'));
}

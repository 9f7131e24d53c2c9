//! Lines below a sheet's rows that are not rows: means, totals, remarks.

use icee_protocol::Note;
use std::collections::VecDeque;

/// Rows at the end that are looked at.
const LAST: usize = 5;
/// Columns that a remark fills, at most, and columns of a sheet in which that is odd.
const REMARK: usize = 2;
const COLUMNS: usize = 3;
/// The share of cells that other rows have.
const FULL: f64 = 0.9;
/// Words at the beginning of a line that sums up those above.
const SUMS: [&str; 14] = [
    "total",
    "totals",
    "sum",
    "mean",
    "average",
    "avg",
    "median",
    "stdev",
    "std",
    "mittelwert",
    "mittel",
    "durchschnitt",
    "summe",
    "gesamt",
];
/// Characters of a line that a note shows.
const SHOWN: usize = 30;

/// What the rows look like, and the last of them.
#[derive(Default)]
pub struct Tail {
    last: VecDeque<Seen>,
    /// Rows above those, their non-empty cells, and whether any begins like a sum.
    rows: usize,
    filled: usize,
    has_sums: bool,
}

struct Seen {
    line: usize,
    first: String,
    filled: usize,
    is_sum: bool,
}

impl Tail {
    /// Takes note of the next row: its first non-empty cell, and in how many of the input columns it has one.
    pub fn see(&mut self, line: usize, first: &str, filled: usize) {
        if self.last.len() == LAST
            && let Some(above) = self.last.pop_front()
        {
            self.rows += 1;
            self.filled += above.filled;
            self.has_sums |= above.is_sum;
        }
        let word = first.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
        let is_sum = SUMS.iter().any(|sum| word.to_lowercase() == *sum);
        self.last.push_back(Seen { line, first: first.chars().take(SHOWN).collect(), filled, is_sum });
    }

    /// The rows that are perhaps none, of a sheet with so many input columns.
    pub fn doubts(&self, columns: usize) -> Vec<Note> {
        if self.rows == 0 {
            return vec![];
        }
        let are_full = self.filled as f64 >= FULL * (self.rows * columns) as f64;
        let is_remark =
            |seen: &Seen| are_full && columns >= COLUMNS && seen.filled <= REMARK && 2 * seen.filled <= columns;
        let odd = self.last.iter().filter(|seen| is_remark(seen) || (seen.is_sum && !self.has_sums));
        odd.map(|Seen { line, first, .. }| Note::Footer { line: *line, text: first.clone() }).collect()
    }
}

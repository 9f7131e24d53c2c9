//! A table as networks see it, cell by cell: one token a cell, column after column, and the value as one more column.
//!
//! - A number is its place between the lowest and the highest of its column and its place in their order, each with sines and
//!   cosines; a category is a code of its own; a flag says which, or that the cell is missing.
//! - Every cell carries its column's code. Codes are drawn from keys (what a column or a level is known by), and columns come in
//!   the order of their keys: where a column stands in the table, and how many levels there are, says nothing.
//! - A result is its standard score, its distance to the best and its rank; of an asked one only the question is seen.

use crate::features::{WAVES, history_size, waves};
use crate::scale::Scale;
use icee_base::math::normals;
use icee_base::random;
use icee_bo::columns::{Column, ColumnKind};
use icee_bo::pool::Told;
use icee_nn::batch::{FieldValues, Tokens};

/// Numbers of a code.
const CODE: usize = 16;

// Where each part of a cell's numbers begins.
const PLACE: usize = 0;
const ORDER: usize = PLACE + WAVES;
const LEVEL: usize = ORDER + WAVES;
const KIND: usize = LEVEL + CODE;
const COLUMN: usize = KIND + 6;
const VALUE: usize = COLUMN + CODE;
const SCORE: usize = VALUE + 3;
const HISTORY: usize = SCORE + WAVES;
/// Numbers of a cell.
pub(crate) const SIZE: usize = HISTORY + 1;

/// What the flags of a cell say.
#[derive(Clone, Copy)]
enum Flag {
    Number,
    Grid,
    Category,
    Missing,
    Told,
    Asked,
}

/// The standard score at which a value's waves begin and end.
const SCORES: (f64, f64) = (-5.0, 5.0);

/// Streams of codes, apart from all others.
const CODES: u64 = 0x636f_6465;

/// The columns of a table with their codes, in the order in which they are read.
pub(crate) struct Cells<'a> {
    columns: Vec<Coded<'a>>,
}

struct Coded<'a> {
    column: &'a Column,
    code: [f32; CODE],
    levels: Vec<[f32; CODE]>,
}

fn code(path: &[u64]) -> [f32; CODE] {
    let drawn = normals(&mut random::path(CODES, path), CODE);
    std::array::from_fn(|at| drawn[at] as f32)
}

impl<'a> Cells<'a> {
    pub fn new(columns: &'a [Column]) -> Self {
        let mut coded: Vec<Coded<'a>> = columns
            .iter()
            .map(|column| Coded {
                column,
                code: code(&[column.key()]),
                levels: column.level_keys().iter().map(|&level| code(&[column.key(), level])).collect(),
            })
            .collect();
        coded.sort_by_key(|coded| coded.column.key());
        Self { columns: coded }
    }

    /// The columns of tokens: the table's, and the value's.
    pub fn sequences(&self) -> usize {
        self.columns.len() + 1
    }

    /// Appends the cells of these rows, column after column, without their values.
    fn write(&self, rows: impl Iterator<Item = usize> + Clone, out: &mut Vec<f32>) {
        for coded in &self.columns {
            for row in rows.clone() {
                let cell = blank(out);
                cell[COLUMN..COLUMN + CODE].copy_from_slice(&coded.code);
                let x = coded.column.cells()[row];
                let flag = match coded.column.kind() {
                    _ if x.is_nan() => Flag::Missing,
                    ColumnKind::Category => {
                        cell[LEVEL..LEVEL + CODE].copy_from_slice(&coded.levels[x as usize]);
                        Flag::Category
                    }
                    kind => {
                        cell[PLACE..PLACE + WAVES].copy_from_slice(&waves(f64::from(x)));
                        cell[ORDER..ORDER + WAVES].copy_from_slice(&waves(f64::from(coded.column.position(row))));
                        if kind == ColumnKind::Grid { Flag::Grid } else { Flag::Number }
                    }
                };
                cell[KIND + flag as usize] = 1.0;
            }
        }
    }

    /// Appends the measured rows of a table with their values.
    pub fn write_told(&self, told: &[Told], scale: &Scale, tokens: &mut TableTokens) {
        self.write(told.iter().map(|told| told.candidate), &mut tokens.cells);
        let size = history_size(told.len());
        let mut sorted: Vec<f64> = told.iter().map(|told| told.value).collect();
        sorted.sort_by(f64::total_cmp);
        for &Told { value, .. } in told {
            let cell = blank(&mut tokens.cells);
            cell[KIND + Flag::Told as usize] = 1.0;
            let below = sorted.partition_point(|&other| other < value);
            let within = sorted.partition_point(|&other| other <= value);
            let rank = (below + within) as f64 / (2 * sorted.len()) as f64 - 0.5;
            let [score, distance] = scale.inputs(value);
            cell[VALUE..VALUE + 3].copy_from_slice(&[score, distance, rank as f32]);
            let (low, high) = SCORES;
            let place = (f64::from(score).clamp(low, high) - low) / (high - low);
            cell[SCORE..SCORE + WAVES].copy_from_slice(&waves(place));
            cell[HISTORY] = size;
        }
        tokens.end_table(self.sequences(), told.len());
    }

    /// Appends asked rows, of a table of which `told` values were told.
    pub fn write_asked(&self, rows: &[usize], told: usize, tokens: &mut TableTokens) {
        self.write(rows.iter().copied(), &mut tokens.cells);
        let size = history_size(told);
        for _ in rows {
            let cell = blank(&mut tokens.cells);
            cell[KIND + Flag::Asked as usize] = 1.0;
            cell[HISTORY] = size;
        }
        tokens.end_table(self.sequences(), rows.len());
    }
}

/// A cell of zeros.
fn blank(out: &mut Vec<f32>) -> &mut [f32] {
    let start = out.len();
    out.resize(start + SIZE, 0.0);
    &mut out[start..]
}

/// Tokens of tables being written.
#[derive(Clone, Debug)]
pub(crate) struct TableTokens {
    offsets: Vec<usize>,
    tables: Vec<usize>,
    cells: Vec<f32>,
}

impl Default for TableTokens {
    fn default() -> Self {
        Self { offsets: vec![0], tables: vec![0], cells: Vec::new() }
    }
}

impl TableTokens {
    fn end_table(&mut self, columns: usize, rows: usize) {
        let start = self.len();
        self.offsets.extend((1..=columns).map(|column| start + column * rows));
        self.tables.push(self.offsets.len() - 1);
    }

    /// Tokens so far.
    pub fn len(&self) -> usize {
        self.offsets[self.offsets.len() - 1]
    }

    /// Appends other tables.
    pub fn extend(&mut self, other: &TableTokens) {
        let (tokens, sequences) = (self.len(), self.offsets.len() - 1);
        self.offsets.extend(other.offsets[1..].iter().map(|offset| tokens + offset));
        self.tables.extend(other.tables[1..].iter().map(|table| sequences + table));
        self.cells.extend_from_slice(&other.cells);
    }

    /// All tokens.
    pub fn finish(self) -> Tokens {
        Tokens { offsets: self.offsets, fields: vec![FieldValues::Vector(self.cells)], tables: self.tables }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let levels = [0, 1, 0, 2].map(Some);
        vec![
            Column::numbers(9, &[1.0, 2.0, f64::NAN, 3.0]),
            Column::categories(4, vec![70, 71, 72], levels),
            Column::numbers(7, &[0.0, 0.0, 5.0, 10.0]),
        ]
    }

    #[test]
    fn cells_by_hand() {
        let columns = columns();
        let cells = Cells::new(&columns);
        let mut tokens = TableTokens::default();
        let told = [(0, 3.0), (1, 1.0)].map(|(candidate, value)| Told { candidate, value });
        cells.write_told(&told, &Scale::of([3.0, 1.0].into_iter()), &mut tokens);
        cells.write_asked(&[2, 3, 1], 2, &mut tokens);
        let tokens = tokens.finish();
        assert_eq!(tokens.tables, [0, 4, 8]);
        assert_eq!(tokens.offsets, [0, 2, 4, 6, 8, 11, 14, 17, 20]);
        let FieldValues::Vector(numbers) = &tokens.fields[0] else { panic!() };
        let cell = |token: usize| &numbers[token * SIZE..][..SIZE];
        // In the order of their keys: the category, then the numbers.
        assert_eq!(cell(0)[KIND..KIND + 6], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(cell(0)[COLUMN..COLUMN + CODE], cell(1)[COLUMN..COLUMN + CODE]);
        assert_ne!(cell(0)[LEVEL..LEVEL + CODE], cell(1)[LEVEL..LEVEL + CODE]);
        assert_eq!(cell(8)[LEVEL..LEVEL + CODE], cell(0)[LEVEL..LEVEL + CODE], "rows 0 and 2 have the same level");
        assert_eq!((cell(4)[PLACE], cell(5)[PLACE], cell(5)[ORDER]), (0.0, 0.5, 0.5));
        assert_eq!(cell(14)[KIND + Flag::Missing as usize], 1.0);
        assert_eq!(cell(6)[VALUE..VALUE + 3], [1.0, 2.0, 0.25]);
        assert_eq!(cell(7)[VALUE..VALUE + 3], [-1.0, 0.0, -0.25]);
        assert_eq!(cell(17)[KIND..KIND + 6], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(cell(17)[PLACE..KIND].iter().chain(&cell(17)[COLUMN..HISTORY]).all(|&x| x == 0.0));
    }

    #[test]
    fn the_order_of_columns_changes_nothing() {
        let (plain, mut turned) = (columns(), columns());
        turned.reverse();
        let write = |columns: &[Column]| {
            let mut tokens = TableTokens::default();
            Cells::new(columns).write_asked(&[0, 1, 2, 3], 5, &mut tokens);
            tokens.finish()
        };
        let bits = |tokens: Tokens| match &tokens.fields[0] {
            FieldValues::Vector(x) => x.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            FieldValues::Categorical(_) => panic!(),
        };
        assert_eq!(bits(write(&plain)), bits(write(&turned)));
    }
}

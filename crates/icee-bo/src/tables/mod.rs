//! Tables as people have them, with values as experiments give them: what a learned optimiser for real tables is
//! trained on.
//!
//! A design says which rows there are ([`columns`]: numbers, grids, categories, gaps), a surface what is true of each, a
//! response what is measured. Histories are by chance or by a search that sees only what it was told, so they give nothing away
//! of what has not been seen.

pub mod columns;
mod design;
mod factors;
mod fourier;
mod response;
mod surface;

use crate::searcher;
use columns::{Column, ColumnKind};
use design::Raw;
use factors::Factor;
use icee_base::random;
use rand::seq::index;
use rand::{Rng, RngExt};
use response::Response;
use std::ops::RangeInclusive;

/// Share of columns that do not matter.
const IRRELEVANT: f64 = 0.2;
/// Share of histories in which rows are measured again.
const REPEATED: f64 = 0.08;
/// Rows of a history by chance before a search begins.
const STARTS: RangeInclusive<usize> = 1..=10;
/// How much more a search may look at one column than at another.
const ATTENTION: RangeInclusive<f64> = 0.35..=2.0;

/// One table with one function.
#[derive(Debug, Clone)]
pub struct TableTask {
    /// Its columns, each with a cell for every row.
    pub columns: Vec<Column>,
    /// A measurement of every row; lower is better.
    pub values: Vec<f64>,
    response: Response,
}

/// One measurement of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Which row.
    pub row: usize,
    /// What was found.
    pub value: f64,
}

impl TableTask {
    /// Draws a table of so many columns and up to so many rows, and a function.
    pub fn draw<R: Rng>(columns: usize, rows: usize, rng: &mut R) -> Self {
        let raw = design::draw(columns, rows, rng);
        let mut columns: Vec<Column> = raw.iter().map(Raw::column).collect();
        let rows = columns[0].cells().len();
        loop {
            let mut matter: Vec<&Raw> = raw.iter().filter(|_| !rng.random_bool(IRRELEVANT)).collect();
            if matter.is_empty() {
                matter.push(&raw[rng.random_range(0..raw.len())]);
            }
            let factors: Vec<Factor> = matter.into_iter().map(|raw| Factor::draw(raw, rng)).collect();
            let response = Response::draw(surface::draw(&factors, rows, rng), rng);
            let values: Vec<f64> = (0..rows).map(|row| response.measure(row, rng)).collect();
            // A function that is the same everywhere teaches nothing.
            if values.iter().any(|&value| value != values[0]) {
                design::lose_cells(&mut columns, rng);
                return Self { columns, values, response };
            }
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.values.len()
    }

    /// `count` measurements in the order in which they were made: by chance, or by a search.
    pub fn history<R: Rng>(&self, count: usize, searched: f64, rng: &mut R) -> Vec<Measured> {
        let rows = if rng.random_bool(searched) {
            self.searched(count, rng)
        } else {
            index::sample(rng, self.rows(), count.min(self.rows())).into_vec()
        };
        let mut made: Vec<Measured> = rows.into_iter().map(|row| Measured { row, value: self.values[row] }).collect();
        if rng.random_bool(REPEATED) {
            let share = rng.random_range(0.05..0.5);
            for at in 1..made.len() {
                if rng.random_bool(share) {
                    let row = made[rng.random_range(0..at)].row;
                    made[at] = Measured { row, value: self.response.measure(row, rng) };
                }
            }
        }
        made
    }

    fn searched<R: Rng>(&self, count: usize, rng: &mut R) -> Vec<usize> {
        let (locations, dimension) = self.locations(rng);
        let values: Vec<f32> = self.values.iter().map(|&value| value as f32).collect();
        let starts = rng.random_range(STARTS);
        searcher::search_from(&locations, dimension, &values, starts, count, rng)
    }

    /// Rows as points between which a search measures distance: each column counts as much as it is drawn to, whatever is true.
    pub fn locations<R: Rng>(&self, rng: &mut R) -> (Vec<f32>, usize) {
        let even = rng.random_bool(0.5);
        let widths: Vec<usize> = self.columns.iter().map(width).collect();
        let dimension: usize = widths.iter().sum();
        // A search takes lengths to grow with the root of the dimension; a category is one column, whatever its code.
        let stretch = (dimension as f64 / self.columns.len() as f64).sqrt();
        let mut locations = vec![0.0_f32; self.rows() * dimension];
        let mut at = 0;
        for (column, width) in self.columns.iter().zip(widths) {
            let weight = stretch * if even { 1.0 } else { crate::prior::log_uniform(ATTENTION, rng) };
            for (row, (&cell, &position)) in column.cells().iter().zip(column.positions()).enumerate() {
                let place = &mut locations[row * dimension + at..][..width];
                match column.kind() {
                    _ if cell.is_nan() => place.fill(0.3 * weight as f32),
                    ColumnKind::Category => place[cell as usize] = 0.6 * weight as f32,
                    _ => place[0] = weight as f32 * 0.5 * (cell + position),
                }
            }
            at += width;
        }
        (locations, dimension)
    }
}

fn width(column: &Column) -> usize {
    match column.kind() {
        ColumnKind::Category => {
            column.cells().iter().filter(|x| !x.is_nan()).fold(0.0_f32, |m, &x| m.max(x)) as usize + 1
        }
        _ => 1,
    }
}

/// The task number `index` under a seed.
pub fn task(seed: u64, index: u64, columns: usize, rows: usize) -> (TableTask, random::StreamRng) {
    let mut rng = random::path(seed, &[index]);
    (TableTask::draw(columns, rows, &mut rng), rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_finite_searchable_and_fixed_by_their_seed() {
        let (mut found, mut chance, mut repeated) = (0.0, 0.0, 0);
        for number in 0..200 {
            let (task, mut rng) = task(5, number, 1 + number as usize % 10, 120);
            assert!(task.values.iter().all(|value| value.is_finite()));
            let history = task.history(30, 1.0, &mut rng);
            assert!(!history.is_empty() && history.len() <= 30);
            let mut rows: Vec<usize> = history.iter().map(|m| m.row).collect();
            rows.sort_unstable();
            rows.dedup();
            repeated += usize::from(rows.len() < history.len());
            let lowest = |made: &[Measured]| made.iter().map(|m| m.value).fold(f64::INFINITY, f64::min);
            let spread = {
                let mean = task.values.iter().sum::<f64>() / task.rows() as f64;
                (task.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / task.rows() as f64).sqrt()
            };
            found += lowest(&history) / spread;
            chance += lowest(&task.history(30, 0.0, &mut rng)) / spread;
        }
        assert!(found < chance, "{found} {chance}");
        assert!((3..60).contains(&repeated), "{repeated}");
        let bits = |number| task(5, number, 4, 80).0.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(1), bits(1));
        assert_ne!(bits(1), bits(2));
    }
}

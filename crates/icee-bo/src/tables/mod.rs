//! Tables as people have them, with values as experiments give them: what a learned optimiser for real tables is
//! trained on.
//!
//! A design makes the rows ([`columns`](crate::columns): numbers, grids, categories, missing values), a surface their
//! true results, a response the measured ones. Histories are at random or by a search that sees only its own results,
//! so they reveal nothing of other rows.

mod design;
mod factors;
mod response;
mod surface;

use crate::columns::{Column, ColumnKind};
use crate::error::BoResult;
use crate::pool::{Pool, Told};
use crate::prior::wide_by_waves;
use crate::search::SearchTask;
use crate::searcher;

use design::Raw;
use factors::Factor;
use icee_base::random;
use rand::seq::index;
use rand::{Rng, RngExt};
use response::Response;
use std::ops::RangeInclusive;

/// Share of columns that do not matter.
const IRRELEVANT: f64 = 0.2;
/// Of the paper's kind of functions, those whose components add up over the columns.
const ADDITIVE: f64 = 0.3;
/// Share of histories in which rows are measured again.
const REPEATED: f64 = 0.08;
/// Rows of a history at random before a search begins.
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

impl TableTask {
    /// Draws a table of so many columns and up to so many rows, and a function.
    pub fn draw<R: Rng>(columns: usize, rows: usize, rng: &mut R) -> Self {
        if rng.random_bool(plain_share(columns)) {
            return Self::plain(columns, rows, rng);
        }
        let raw = design::draw(columns, rows, rng);
        let mut columns: Vec<Column> = raw.iter().map(|raw| raw.column(rng)).collect();
        let rows = raw[0].rows();
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

    /// A function of a few numbers, each of which matters, as in simulations and benchmarks.
    fn plain<R: Rng>(dimension: usize, rows: usize, rng: &mut R) -> Self {
        let locations: Vec<f64> = (0..rows * dimension).map(|_| rng.random()).collect();
        let column = |at: usize| locations.iter().skip(at).step_by(dimension).copied().collect::<Vec<_>>();
        let columns = (0..dimension).map(|at| Column::numbers(rng.next_u64(), &column(at))).collect();
        let response = Response::plain(wide_by_waves(&locations, dimension, ADDITIVE, rng), rng);
        let values = (0..rows).map(|row| response.measure(row, rng)).collect();
        Self { columns, values, response }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.values.len()
    }

    /// `count` measurements in the order in which they were made: at random, or by a search.
    pub fn history<R: Rng>(&self, count: usize, searched: f64, rng: &mut R) -> Vec<Told> {
        let rows = if rng.random_bool(searched) {
            self.searched(count, rng)
        } else {
            index::sample(rng, self.rows(), count.min(self.rows())).into_vec()
        };
        let mut made: Vec<Told> =
            rows.into_iter().map(|row| Told { candidate: row, value: self.values[row] }).collect();
        if rng.random_bool(REPEATED) {
            let share = rng.random_range(0.05..0.5);
            for at in 1..made.len() {
                if rng.random_bool(share) {
                    let row = made[rng.random_range(0..at)].candidate;
                    made[at] = Told { candidate: row, value: self.response.measure(row, rng) };
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
            for (row, &cell) in column.cells().iter().enumerate() {
                let place = &mut locations[row * dimension + at..][..width];
                match column.kind() {
                    _ if cell.is_nan() => place.fill(0.3 * weight as f32),
                    ColumnKind::Category => place[cell as usize] = 0.6 * weight as f32,
                    _ => place[0] = weight as f32 * 0.5 * (cell + column.position(row)),
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

/// Evaluations of a search, the first rows at random included; rows of the smallest and the largest pool that is searched, as
/// people's have.
const EVALUATIONS: usize = 55;
const INITIAL: usize = 5;
const POOLS: RangeInclusive<f64> = 74.0..=4000.0;

/// How many columns a table has: mostly three to eight.
pub fn draw_columns<R: Rng>(rng: &mut R) -> usize {
    match rng.random_range(0..40) {
        0..2 => 1,
        2..11 => 2,
        11..35 => rng.random_range(3..=8),
        35..39 => rng.random_range(9..=14),
        _ => rng.random_range(15..=40),
    }
}

/// Share of tables that are plain functions of numbers.
fn plain_share(columns: usize) -> f64 {
    match columns {
        1 => 0.5,
        2 => 0.7,
        3..=6 => 0.12,
        _ => 0.0,
    }
}

/// `count` tables to search, fixed by the seed, with pools of the sizes that people's have.
///
/// # Errors
/// None but the pool's own.
pub fn search_tasks(count: usize, seed: u64) -> BoResult<Vec<SearchTask>> {
    let one = |number: usize| {
        let mut rng = random::path(seed, &[number as u64]);
        let columns = draw_columns(&mut rng).min(8);
        let rows = crate::prior::log_uniform(POOLS, &mut rng) as usize;
        let task = TableTask::draw(columns, rows, &mut rng);
        let evaluations = EVALUATIONS.min(task.rows() / 2).max(INITIAL + 1);
        Ok(SearchTask {
            initial: index::sample(&mut rng, task.rows(), INITIAL).into_vec(),
            pool: Pool::of_columns(task.columns)?,
            values: task.values,
            evaluations,
            seed: rng.next_u64(),
        })
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_finite_searchable_and_fixed_by_their_seed() {
        let (mut found, mut chance, mut repeated) = (0.0, 0.0, 0);
        for number in 0..200 {
            let mut rng = random::path(5, &[number]);
            let task = TableTask::draw(1 + number as usize % 10, 120, &mut rng);
            assert!(task.values.iter().all(|value| value.is_finite()));
            let history = task.history(30, 1.0, &mut rng);
            assert!(!history.is_empty() && history.len() <= 30);
            let mut rows: Vec<usize> = history.iter().map(|told| told.candidate).collect();
            rows.sort_unstable();
            rows.dedup();
            repeated += usize::from(rows.len() < history.len());
            let lowest = |made: &[Told]| made.iter().map(|m| m.value).fold(f64::INFINITY, f64::min);
            let spread = {
                let mean = task.values.iter().sum::<f64>() / task.rows() as f64;
                (task.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / task.rows() as f64).sqrt()
            };
            found += lowest(&history) / spread;
            chance += lowest(&task.history(30, 0.0, &mut rng)) / spread;
        }
        assert!(found < chance, "{found} {chance}");
        assert!((3..60).contains(&repeated), "{repeated}");
        let tasks = search_tasks(6, 5).unwrap();
        assert_eq!(
            tasks[..4].iter().map(|t| &t.values).collect::<Vec<_>>(),
            search_tasks(4, 5).unwrap().iter().map(|t| &t.values).collect::<Vec<_>>()
        );
        assert_ne!(tasks[0].values, search_tasks(1, 6).unwrap()[0].values);
    }
}

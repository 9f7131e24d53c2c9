//! Where candidates lie: uniformly in [0, 1]^d, or as in the tables that people bring.
//!
//! A table has continuous columns (even or crowded at one end), grids of a few levels, categories written as one column
//! of ones and zeros for each, and columns that do not matter. Rows that come twice are dropped, so a table of few
//! combinations is a small pool.

use super::covariance::log_uniform;
use crate::error::{BoError, BoResult};
use rand::seq::index;
use rand::{Rng, RngExt};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Share of tables whose columns are all even.
const PLAIN_SHARE: f64 = 0.5;
/// Exponents that crowd a column at one end, log-uniform.
const CROWDING: RangeInclusive<f64> = 0.3..=3.5;
/// Levels of a grid, and of a category.
const GRID_LEVELS: RangeInclusive<usize> = 2..=12;
const CATEGORIES: RangeInclusive<usize> = 2..=5;
/// A table with fewer different rows is drawn again.
pub(super) const LEAST_ROWS: usize = 48;

/// Where the candidates of a group of functions lie.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// The number of columns.
    pub(super) dimension: usize,
    /// [rows, dimension].
    pub(super) locations: Vec<f64>,
    /// The columns that the functions depend on, ascending.
    pub(super) relevant: Vec<usize>,
}

/// What people call a column: one of the table's, or one for each category.
#[derive(Debug, Clone, Copy)]
enum Factor {
    Even,
    Crowded(f64),
    Grid(usize),
    Category(usize),
}

impl Factor {
    fn draw<R: Rng>(rng: &mut R) -> Self {
        match rng.random_range(0..4) {
            0 => Self::Even,
            1 => Self::Crowded(log_uniform(CROWDING, rng)),
            2 => Self::Grid(rng.random_range(GRID_LEVELS)),
            _ => Self::Category(rng.random_range(CATEGORIES)),
        }
    }

    fn width(self) -> usize {
        if let Self::Category(levels) = self { levels } else { 1 }
    }

    fn fill<R: Rng>(self, cells: &mut [f64], rng: &mut R) {
        match self {
            Self::Even => cells[0] = rng.random(),
            Self::Crowded(power) => cells[0] = icee_base::math::power(rng.random::<f64>(), power),
            Self::Grid(levels) => cells[0] = rng.random_range(0..levels) as f64 / (levels - 1) as f64,
            Self::Category(levels) => cells[rng.random_range(0..levels)] = 1.0,
        }
    }
}

impl Table {
    /// `rows` rows of even columns, all of which matter.
    pub(super) fn even<R: Rng>(dimension: usize, rows: usize, rng: &mut R) -> Self {
        let locations = (0..rows * dimension).map(|_| rng.random()).collect();
        Self { dimension, locations, relevant: (0..dimension).collect() }
    }

    /// Up to `rows` different rows of one to `most` columns.
    pub(super) fn mixed<R: Rng>(most: usize, rows: usize, rng: &mut R) -> BoResult<Self> {
        // One table in two is plain and always has enough rows, so this ends.
        for _ in 0..1000 {
            let table = Self::mixed_once(most, rows, rng);
            if table.locations.len() / table.dimension >= LEAST_ROWS.min(rows) {
                return Ok(table);
            }
        }
        Err(BoError::setting("the number of columns", most, "one of which tables of different rows can be drawn"))
    }

    fn mixed_once<R: Rng>(most: usize, rows: usize, rng: &mut R) -> Self {
        let dimension = rng.random_range(1..=most);
        let plain = rng.random_bool(PLAIN_SHARE);
        let mut factors = Vec::new();
        let mut used = 0;
        while used < dimension {
            let factor = if plain { Factor::Even } else { Factor::draw(rng) };
            if used + factor.width() <= dimension {
                used += factor.width();
                factors.push(factor);
            }
        }
        let mut locations = Vec::with_capacity(rows * dimension);
        let mut seen = HashSet::new();
        let mut row = vec![0.0; dimension];
        for _ in 0..rows {
            row.fill(0.0);
            let mut at = 0;
            for factor in &factors {
                factor.fill(&mut row[at..at + factor.width()], rng);
                at += factor.width();
            }
            if seen.insert(row.iter().map(|x| x.to_bits()).collect::<Vec<_>>()) {
                locations.extend_from_slice(&row);
            }
        }
        let matter = rng.random_range(1..=factors.len());
        let mut chosen = index::sample(rng, factors.len(), matter).into_vec();
        chosen.sort_unstable();
        let starts: Vec<usize> = factors
            .iter()
            .scan(0, |at, factor| {
                *at += factor.width();
                Some(*at - factor.width())
            })
            .collect();
        let relevant = chosen.into_iter().flat_map(|k| starts[k]..starts[k] + factors[k].width()).collect();
        Self { dimension, locations, relevant }
    }

    /// The columns that matter, [rows, relevant].
    pub(super) fn relevant_locations(&self) -> Vec<f64> {
        let rows = self.locations.chunks_exact(self.dimension);
        rows.flat_map(|row| self.relevant.iter().map(|&column| row[column])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::random;

    #[test]
    fn mixed_tables_have_different_rows_in_the_unit_cube() {
        let (mut columns, mut part, mut small) = ([0; 9], 0, 0);
        for seed in 0..400 {
            let table = Table::mixed(8, 100, &mut random::path(seed, &[])).unwrap();
            let rows: Vec<&[f64]> = table.locations.chunks_exact(table.dimension).collect();
            assert!((LEAST_ROWS..=100).contains(&rows.len()));
            assert!(table.locations.iter().all(|x| (0.0..=1.0).contains(x)));
            for (i, row) in rows.iter().enumerate() {
                assert!(!rows[..i].contains(row));
            }
            assert!(table.relevant.is_sorted() && table.relevant.iter().all(|&c| c < table.dimension));
            assert_eq!(table.relevant_locations().len(), rows.len() * table.relevant.len());
            columns[table.dimension] += 1;
            part += usize::from(table.relevant.len() < table.dimension);
            small += usize::from(rows.len() < 100);
        }
        assert!(columns[1..].iter().all(|&count| count > 20), "{columns:?}");
        assert!(part > 100 && small > 0, "{part} {small}");
    }
}

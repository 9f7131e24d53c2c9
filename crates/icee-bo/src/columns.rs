//! A table's columns: numbers, ordered grids and categories, any of whose cells may be missing.

use crate::frame::{Frame, Order};
use icee_base::hash::checksum;
use std::collections::HashMap;

/// What a column's cells are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers between 0 and 1, of which there are many.
    Number,
    /// Numbers between 0 and 1, of which there are few: a grid.
    Grid,
    /// The numbers of levels that have no order.
    Category,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    kind: ColumnKind,
    key: u64,
    cells: Vec<f32>,
    order: Order,
    level_keys: Vec<u64>,
}

impl Column {
    /// A column of numbers: scaled to [0, 1] by the lowest and the highest; NaN is missing. The key is what it is known by,
    /// such as a checksum of its name: where it stands among the others means nothing.
    pub fn numbers(key: u64, numbers: &[f64]) -> Self {
        Self::placed(key, &Frame::of(numbers), numbers)
    }

    /// A column of numbers whose frame of reference is given: what a row is then depends on no other row.
    pub fn placed(key: u64, frame: &Frame, numbers: &[f64]) -> Self {
        let (kind, order) = (frame.kind(), frame.order().clone());
        Self { kind, key, cells: frame.cells(numbers), order, level_keys: Vec::new() }
    }

    /// A column of categories, by the number of each row's level, where it is not missing; and the key of each level.
    pub fn categories(key: u64, level_keys: Vec<u64>, levels: impl IntoIterator<Item = Option<usize>>) -> Self {
        let cells: Vec<f32> = levels.into_iter().map(|level| level.map_or(f32::NAN, |level| level as f32)).collect();
        Self { kind: ColumnKind::Category, key, cells, order: Order::Even, level_keys }
    }

    /// The key of a column or a level that has a name.
    pub fn key_of(name: &str) -> u64 {
        checksum(0, name.as_bytes())
    }

    /// What it is known by.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// What each level of a category is known by.
    pub fn level_keys(&self) -> &[u64] {
        &self.level_keys
    }

    /// What its cells are.
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// The number in [0, 1] or the level of each row; NaN where it is missing.
    pub fn cells(&self) -> &[f32] {
        &self.cells
    }

    /// Where a row stands in the order of the column's numbers, in [0, 1]: among the different ones of a grid, or among all
    /// rows. NaN where it is missing, the level of a category.
    pub fn position(&self, row: usize) -> f32 {
        let x = self.cells[row];
        if x.is_nan() || self.kind == ColumnKind::Category {
            return x;
        }
        self.order.position(x)
    }

    /// Forgets a row's cell.
    pub(crate) fn lose(&mut self, row: usize) {
        self.cells[row] = f32::NAN;
    }
}

/// A column of words in the making, row after row.
#[derive(Debug, Clone)]
pub struct Words {
    key: u64,
    level_keys: Vec<u64>,
    places: HashMap<String, usize>,
    levels: Vec<Option<usize>>,
}

impl Words {
    /// A column of this name without rows.
    pub fn new(name: &str) -> Self {
        Self { key: Column::key_of(name), level_keys: Vec::new(), places: HashMap::new(), levels: Vec::new() }
    }

    /// The next row's word, where it is not missing.
    pub fn push(&mut self, word: Option<&str>) {
        let level = word.map(|word| {
            self.places.get(word).copied().unwrap_or_else(|| {
                self.level_keys.push(Column::key_of(word));
                self.places.insert(word.to_owned(), self.level_keys.len() - 1);
                self.level_keys.len() - 1
            })
        });
        self.levels.push(level);
    }

    /// The column.
    pub fn finish(self) -> Column {
        Column::categories(self.key, self.level_keys, self.levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_and_ranked() {
        let grid = Column::numbers(1, &[1.0, 10.0, f64::NAN, 100.0, 10.0]);
        assert_eq!(grid.kind(), ColumnKind::Grid);
        assert_eq!([grid.cells()[0], grid.cells()[3]], [0.0, 1.0]);
        assert!((grid.cells()[1] - 1.0 / 11.0).abs() < 1e-6 && grid.cells()[2].is_nan());
        assert_eq!([0, 1, 3, 4].map(|row| grid.position(row)), [0.0, 0.5, 1.0, 0.5]);
        let many: Vec<f64> = (0..40).map(|k| f64::from(k * k)).collect();
        let number = Column::numbers(1, &many);
        assert_eq!(number.kind(), ColumnKind::Number);
        assert!((number.position(10) - 10.0 / 39.0).abs() < 1e-6);
        assert_eq!(Column::numbers(1, &[7.0, 7.0]).cells(), [0.5, 0.5]);
        let long: Vec<f64> = (0..50_000).map(|k| f64::from(k * 7919 % 50_000)).collect();
        let long = Column::numbers(1, &long);
        let off = |row: usize| (long.position(row) - long.cells()[row]).abs();
        assert!((0..50_000).all(|row| off(row) < 0.03), "of very many rows some stand for all");
        assert!(Column::numbers(1, &[f64::NAN]).cells()[0].is_nan());
    }
}

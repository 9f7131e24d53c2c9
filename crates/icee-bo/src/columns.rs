//! A table's columns: numbers, ordered grids and categories, any of whose cells may be missing.

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

/// The most different numbers of a grid.
const GRID_LEVELS: usize = 16;

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    kind: ColumnKind,
    key: u64,
    cells: Vec<f32>,
    positions: Vec<f32>,
    level_keys: Vec<u64>,
}

impl Column {
    /// A column of numbers: scaled to [0, 1] by the lowest and the highest; NaN is missing. The key is what it is known by,
    /// such as a checksum of its name: where it stands among the others means nothing.
    pub fn numbers(key: u64, numbers: &[f64]) -> Self {
        let present = || numbers.iter().copied().filter(|x| x.is_finite());
        let (low, high) = present().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let scaled = |x: f64| if high > low { (x - low) / (high - low) } else { 0.5 };
        let cells: Vec<f32> =
            numbers.iter().map(|&x| if x.is_finite() { scaled(x) as f32 } else { f32::NAN }).collect();
        let mut all: Vec<f32> = cells.iter().copied().filter(|x| x.is_finite()).collect();
        all.sort_by(f32::total_cmp);
        let mut levels = all.clone();
        levels.dedup();
        let kind = if levels.len() <= GRID_LEVELS { ColumnKind::Grid } else { ColumnKind::Number };
        // Where a cell stands among the different numbers of a grid, or among all rows.
        let ranks = if kind == ColumnKind::Grid { &levels } else { &all };
        let position = |x: f32| {
            let (below, within) = (ranks.partition_point(|&r| r < x), ranks.partition_point(|&r| r <= x));
            if ranks.len() < 2 { 0.5 } else { (below + within - 1) as f32 / (2 * (ranks.len() - 1)) as f32 }
        };
        let positions = cells.iter().map(|&x| if x.is_finite() { position(x) } else { f32::NAN }).collect();
        Self { kind, key, cells, positions, level_keys: Vec::new() }
    }

    /// A column of categories, by the number of each row's level, where it is not missing; and the key of each level.
    pub fn categories(key: u64, level_keys: Vec<u64>, levels: impl IntoIterator<Item = Option<usize>>) -> Self {
        let cells: Vec<f32> = levels.into_iter().map(|level| level.map_or(f32::NAN, |level| level as f32)).collect();
        Self { kind: ColumnKind::Category, key, positions: cells.clone(), cells, level_keys }
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

    /// Where each row stands in the order of the column's numbers, in [0, 1]; of categories the level.
    pub fn positions(&self) -> &[f32] {
        &self.positions
    }

    /// Forgets a row's cell.
    pub(crate) fn lose(&mut self, row: usize) {
        (self.cells[row], self.positions[row]) = (f32::NAN, f32::NAN);
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
        assert_eq!([0, 1, 3, 4].map(|row| grid.positions()[row]), [0.0, 0.5, 1.0, 0.5]);
        let many: Vec<f64> = (0..40).map(|k| f64::from(k * k)).collect();
        let number = Column::numbers(1, &many);
        assert_eq!(number.kind(), ColumnKind::Number);
        assert!((number.positions()[10] - 10.0 / 39.0).abs() < 1e-6);
        assert_eq!(Column::numbers(1, &[7.0, 7.0]).cells(), [0.5, 0.5]);
        assert!(Column::numbers(1, &[f64::NAN]).cells()[0].is_nan());
    }
}

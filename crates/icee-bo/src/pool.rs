//! Candidates and what is known of them.

use crate::columns::{Column, ColumnKind};
use crate::error::{BoError, BoResult};
use crate::kernel::count_points;
use std::sync::OnceLock;

/// Candidates: locations ([size, dimension], row-major, scaled to [0, 1]) for models that measure distance, and the
/// columns of a table for models that read cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    dimension: usize,
    points: Vec<f64>,
    /// The coordinates of each column.
    widths: Vec<usize>,
    columns: OnceLock<Vec<Column>>,
}

impl Pool {
    /// A pool of at least one candidate with finite coordinates.
    pub fn new(points: Vec<f64>, dimension: usize) -> BoResult<Self> {
        if count_points("the pool", &points, dimension)? == 0 {
            return Err(BoError::setting("the number of candidates", 0, "at least 1"));
        }
        Ok(Self { dimension, points, widths: vec![1; dimension], columns: OnceLock::new() })
    }

    /// A table: numbers are one coordinate each, categories one for each level; what is missing lies in the middle.
    ///
    /// # Errors
    /// Where there is no row, or columns differ in length.
    pub fn of_columns(columns: Vec<Column>) -> BoResult<Self> {
        let size = columns.first().map_or(0, |column| column.cells().len());
        let widths: Vec<usize> = columns.iter().map(coordinates).collect();
        let dimension = widths.iter().sum();
        let mut points = Vec::with_capacity(size * dimension);
        for row in 0..size {
            for column in &columns {
                let cell = column.cells().get(row).copied().unwrap_or(f32::NAN);
                match (column.kind(), cell.is_nan()) {
                    (ColumnKind::Category, _) => {
                        points.extend((0..coordinates(column)).map(|level| f64::from(u8::from(level as f32 == cell))));
                    }
                    (_, true) => points.push(0.5),
                    (_, false) => points.push(f64::from(cell)),
                }
            }
        }
        Self::new(points, dimension)?.with_widths(widths)?.with_columns(columns)
    }

    /// The same candidates, of which so many coordinates each belong to one column.
    ///
    /// # Errors
    /// Where they are not as many as there are.
    pub fn with_widths(self, widths: Vec<usize>) -> BoResult<Self> {
        let found = widths.iter().sum();
        if found != self.dimension {
            return Err(BoError::Size { what: "the columns' coordinates", found, expected: self.dimension });
        }
        Ok(Self { widths, ..self })
    }

    /// The same candidates as rows of a table.
    ///
    /// # Errors
    /// Where a column has another number of rows.
    pub fn with_columns(self, columns: Vec<Column>) -> BoResult<Self> {
        if let Some(other) = columns.iter().find(|column| column.cells().len() != self.size()) {
            let rows = other.cells().len();
            return Err(BoError::setting("the rows of a column", rows, "as many as there are candidates"));
        }
        Ok(Self { columns: columns.into(), ..self })
    }

    /// The candidates as rows of a table: its own columns or, where it has none, its coordinates as numbers.
    pub fn columns(&self) -> &[Column] {
        self.columns.get_or_init(|| {
            let coordinate =
                |at: usize| self.points.iter().skip(at).step_by(self.dimension).copied().collect::<Vec<_>>();
            (0..self.dimension).map(|at| Column::numbers(at as u64, &coordinate(at))).collect()
        })
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The coordinates of each column.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }

    /// The number of candidates.
    pub fn size(&self) -> usize {
        self.points.len() / self.dimension
    }

    /// The coordinates of one candidate.
    pub fn point(&self, candidate: usize) -> &[f64] {
        &self.points[candidate * self.dimension..(candidate + 1) * self.dimension]
    }

    /// The coordinates of several candidates, one after another.
    pub fn gather(&self, candidates: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let candidates = candidates.into_iter();
        let mut points = Vec::with_capacity(candidates.size_hint().0 * self.dimension);
        candidates.for_each(|candidate| points.extend_from_slice(self.point(candidate)));
        points
    }
}

/// Coordinates that a column becomes.
fn coordinates(column: &Column) -> usize {
    if column.kind() == ColumnKind::Category { column.level_keys().len() } else { 1 }
}

/// One evaluated candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Told {
    /// Its position in the pool.
    pub candidate: usize,
    /// Its value; lower is better.
    pub value: f64,
}

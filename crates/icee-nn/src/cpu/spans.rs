//! Tables cut into spans of rows: the tasks of the attention among the cells of a row, in learning and in inference.

use super::kernels::cells::CellRows;
use super::view::View;
use crate::batch::{Grid, Tokens};
use std::ops::Range;

/// Rows of a table that one task treats.
const SPAN: usize = 32;

/// Some rows of one table: `grid.first` is the first of them in the first column.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    grid: Grid,
    rows: usize,
}

impl Span {
    /// Appends the spans of all tables; their first token is number `base`.
    pub fn cut(tokens: &Tokens, base: usize, spans: &mut Vec<Span>) {
        for grid in tokens.grids() {
            for start in (0..grid.rows).step_by(SPAN) {
                let rows = SPAN.min(grid.rows - start);
                spans.push(Span { grid: Grid { first: base + grid.first + start, ..grid }, rows });
            }
        }
    }

    /// A whole table that lies at the front of its buffers.
    pub fn whole(columns: usize, rows: usize) -> Span {
        Span { grid: Grid { first: 0, rows, columns }, rows }
    }

    /// Its queries, keys and values.
    pub fn cells(&self, view: &View<'_>, query: &[f32], key_value: &[f32]) -> CellRows {
        let width = view.spec.width;
        let (query, key_value) = (&query[self.range(width)], &key_value[self.range(2 * width)]);
        self.cells_at(view, query.as_ptr(), key_value.as_ptr())
    }

    /// The same, where its first cell's are at these places.
    pub fn cells_at(&self, view: &View<'_>, query: *const f32, key_value: *const f32) -> CellRows {
        CellRows {
            rows: self.rows,
            columns: self.grid.columns,
            stride: self.grid.rows,
            heads: view.spec.attention_heads,
            head_width: view.spec.head_width(),
            query,
            key_value,
        }
    }

    /// Where its numbers begin and those of its last cell end in a buffer of `by` numbers a token.
    pub fn range(&self, by: usize) -> Range<usize> {
        let grid = self.grid;
        grid.first * by..(grid.first + (grid.columns - 1) * grid.rows + self.rows) * by
    }
}

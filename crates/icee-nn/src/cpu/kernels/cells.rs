//! Attention among the cells of a row, and its gradient: a few keys, each seen by a few queries, for very many rows.
//!
//! Tiles of 64 keys would be mostly empty here. Lanes run along the head's dimensions instead, and a score is a sum across
//! lanes. Rows are independent, so any cut of them gives the same bits.

use super::attention::query_scale;
use super::elementwise::exp2;
use crate::batch::MAX_COLUMNS;
use crate::cpu::simd::{LANES, Simd, kernel};

/// Some rows of one table. The cell of row r in column c is token `c · stride + r` from where the pointers point; a token has
/// `width` queries and outputs, and `2 · width` keys and values.
#[derive(Clone, Copy)]
pub(crate) struct CellRows {
    pub rows: usize,
    pub columns: usize,
    pub stride: usize,
    pub heads: usize,
    pub head_width: usize,
    pub query: *const f32,
    pub key_value: *const f32,
}

impl CellRows {
    fn width(&self) -> usize {
        self.heads * self.head_width
    }

    /// From where the pointers point to one head's part of a cell, in numbers of one width.
    fn at(&self, row: usize, column: usize) -> usize {
        (column * self.stride + row) * self.width()
    }
}

type Line = [f32; MAX_COLUMNS];

/// Σ a · b over one head.
#[inline(always)]
unsafe fn dot<S: Simd>(a: *const f32, b: *const f32, width: usize) -> f32 {
    unsafe {
        let mut sum = S::splat(0.0);
        for at in (0..width).step_by(LANES) {
            sum = S::fma(S::load(a.add(at)), S::load(b.add(at)), sum);
        }
        S::sum(sum)
    }
}

/// What one query's cell attends to, summing to one; `keys` are `step` apart.
#[inline(always)]
unsafe fn weights<S: Simd>(c: &CellRows, query: *const f32, keys: *const f32, step: usize, line: &mut Line) {
    unsafe {
        let scale = query_scale(c.head_width);
        let groups = c.columns.div_ceil(LANES);
        for (k, score) in line[..c.columns].iter_mut().enumerate() {
            *score = dot::<S>(query, keys.add(k * step), c.head_width) * scale;
        }
        line[c.columns..groups * LANES].fill(f32::NEG_INFINITY);
        let mut top = S::splat(f32::NEG_INFINITY);
        for g in 0..groups {
            top = S::max(top, S::load(line.as_ptr().add(g * LANES)));
        }
        let top = S::splat(S::largest(top));
        let mut sum = S::splat(0.0);
        for g in 0..groups {
            let at = line.as_mut_ptr().add(g * LANES);
            let seen = c.columns - g * LANES;
            let p = S::first(seen.min(LANES), exp2::<S>(S::sub(S::load(at), top)), S::splat(0.0));
            S::store(at, p);
            sum = S::add(sum, p);
        }
        let inverse = S::splat(1.0 / S::sum(sum));
        for g in 0..groups {
            let at = line.as_mut_ptr().add(g * LANES);
            S::store(at, S::mul(S::load(at), inverse));
        }
    }
}

/// to = Σ_k weights[k] · from[k · step] over one head.
#[inline(always)]
unsafe fn mix<S: Simd>(c: &CellRows, weights: &Line, from: *const f32, step: usize, to: *mut f32) {
    unsafe {
        for at in (0..c.head_width).step_by(LANES) {
            let mut sum = S::splat(0.0);
            for (k, &weight) in weights[..c.columns].iter().enumerate() {
                sum = S::fma(S::splat(weight), S::load(from.add(k * step + at)), sum);
            }
            S::store(to.add(at), sum);
        }
    }
}

#[inline(always)]
unsafe fn forward_body<S: Simd>(c: &CellRows, out: *mut f32) {
    assert!(c.columns <= MAX_COLUMNS && c.head_width.is_multiple_of(LANES));
    let mut line: Line = [0.0; MAX_COLUMNS];
    let step = 2 * c.stride * c.width();
    unsafe {
        for row in 0..c.rows {
            for head in (0..c.width()).step_by(c.head_width) {
                let keys = c.key_value.add(2 * c.at(row, 0) + head);
                for column in 0..c.columns {
                    let at = c.at(row, column) + head;
                    weights::<S>(c, c.query.add(at), keys, step, &mut line);
                    mix::<S>(c, &line, keys.add(c.width()), step, out.add(at));
                }
            }
        }
    }
}

kernel! {
    /// Attention of every cell to all cells of its row; `out` lies as the queries do.
    ///
    /// # Safety
    /// The pointers must be good for all cells of the rows, and no one else may touch these rows' outputs.
    pub(crate) unsafe fn attend_cells(cells: &CellRows, out: *mut f32) = forward_body
}

/// Where the gradients of [`CellRows`] go; all lie as what they are gradients of.
#[derive(Clone, Copy)]
pub(crate) struct CellGradients {
    /// dL/d(out).
    pub dout: *const f32,
    pub dquery: *mut f32,
    pub dkey_value: *mut f32,
}

/// to += weight · from over one head.
#[inline(always)]
unsafe fn add_scaled<S: Simd>(weight: f32, from: *const f32, width: usize, to: *mut f32) {
    unsafe {
        for at in (0..width).step_by(LANES) {
            S::store(to.add(at), S::fma(S::splat(weight), S::load(from.add(at)), S::load(to.add(at))));
        }
    }
}

/// With P = softmax(S): dV = Pᵀ dO, dP = dO Vᵀ, dS = P ∘ (dP − rowsum(P ∘ dP)), dQ = dS K, dK = dSᵀ Q.
#[inline(always)]
unsafe fn backward_body<S: Simd>(c: &CellRows, g: &CellGradients) {
    assert!(c.columns <= MAX_COLUMNS && c.head_width.is_multiple_of(LANES));
    let (mut line, mut scores): (Line, Line) = ([0.0; MAX_COLUMNS], [0.0; MAX_COLUMNS]);
    let (step, width, head_width) = (2 * c.stride * c.width(), c.width(), c.head_width);
    let scale = 1.0 / (head_width as f32).sqrt();
    unsafe {
        for row in 0..c.rows {
            for head in (0..width).step_by(head_width) {
                let first = 2 * c.at(row, 0) + head;
                let (keys, dkeys) = (c.key_value.add(first), g.dkey_value.add(first));
                for k in 0..c.columns {
                    for at in (0..head_width).step_by(LANES) {
                        S::store(dkeys.add(k * step + at), S::splat(0.0));
                        S::store(dkeys.add(k * step + width + at), S::splat(0.0));
                    }
                }
                for column in 0..c.columns {
                    let at = c.at(row, column) + head;
                    let (query, dout) = (c.query.add(at), g.dout.add(at));
                    weights::<S>(c, query, keys, step, &mut line);
                    let mut delta = 0.0;
                    for k in 0..c.columns {
                        scores[k] = dot::<S>(dout, keys.add(k * step + width), head_width);
                        delta = line[k].mul_add(scores[k], delta);
                    }
                    for k in 0..c.columns {
                        scores[k] = line[k] * (scores[k] - delta) * scale;
                        add_scaled::<S>(scores[k], query, head_width, dkeys.add(k * step));
                        add_scaled::<S>(line[k], dout, head_width, dkeys.add(k * step + width));
                    }
                    mix::<S>(c, &scores, keys, step, g.dquery.add(at));
                }
            }
        }
    }
}

kernel! {
    /// The gradient of [`attend_cells`].
    ///
    /// # Safety
    /// As there, for the gradients, too.
    pub(crate) unsafe fn attend_cells_backward(cells: &CellRows, gradients: &CellGradients) = backward_body
}

//! Weights laid out for the product kernel: panels of 64 columns, each row of a panel contiguous.

use super::kernels::elementwise::widen;
use super::kernels::matmul::{Element, Left, Out, Right, product_panel, product_panel_f16};
use super::simd::{Isa, LANES};
use half::f16;
use std::cell::RefCell;

/// Columns of a panel.
pub(crate) const PANEL: usize = 64;

/// A matrix [depth, columns] in panels; columns are padded with zeros to a multiple of sixteen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed<E> {
    depth: usize,
    columns: usize,
    data: Vec<E>,
}

/// Half-precision bits; what is too large for them becomes the largest, not infinity.
pub(crate) fn half_bits(x: f32) -> u16 {
    f16::from_f32(x.clamp(f16::MIN.to_f32(), f16::MAX.to_f32())).to_bits()
}

fn padded(columns: usize) -> usize {
    columns.next_multiple_of(LANES)
}

impl<E: Element> Packed<E> {
    /// Packs `element(k, j)` for every row k and column j.
    fn fill(&mut self, depth: usize, columns: usize, element: impl Fn(usize, usize) -> E) {
        (self.depth, self.columns) = (depth, columns);
        self.data.resize(depth * padded(columns), E::default());
        for start in (0..columns).step_by(PANEL) {
            let width = PANEL.min(padded(columns) - start);
            let panel = &mut self.data[start * depth..(start + width) * depth];
            for (k, row) in panel.chunks_exact_mut(width).enumerate() {
                for (j, value) in row.iter_mut().enumerate() {
                    *value = if start + j < columns { element(k, start + j) } else { E::default() };
                }
            }
        }
    }

    /// Offset and row length of the panel that starts at `column`.
    fn panel(&self, column: usize) -> (*const E, usize) {
        let width = PANEL.min(padded(self.columns) - column);
        (self.data[column * self.depth..].as_ptr(), width)
    }
}

impl Packed<f32> {
    /// Packs a row-major matrix [depth, columns].
    pub fn pack(&mut self, weight: &[f32], depth: usize, columns: usize) {
        self.fill(depth, columns, |k, j| weight[k * columns + j]);
    }

    /// Packs the transpose of a row-major matrix [columns, depth].
    pub fn pack_transposed(&mut self, weight: &[f32], depth: usize, columns: usize) {
        self.fill(depth, columns, |k, j| weight[j * depth + k]);
    }
}

impl Packed<u16> {
    /// Packs a row-major matrix, rounded to half precision.
    pub fn pack(&mut self, weight: &[f32], depth: usize, columns: usize) {
        self.fill(depth, columns, |k, j| half_bits(weight[k * columns + j]));
    }
}

/// A packed matrix of either precision.
#[derive(Clone, Debug)]
pub(crate) enum Weights {
    Single(Packed<f32>),
    Half(Packed<u16>),
}

impl Weights {
    /// out = (bias + x · W) + add, for `rows` rows; see [`product`].
    pub fn product(
        &self,
        isa: Isa,
        rows: usize,
        x: &[f32],
        bias: Option<&[f32]>,
        add: Option<&[f32]>,
        out: &mut [f32],
    ) {
        match self {
            Weights::Single(w) => product(isa, w, rows, x, bias, add, out),
            Weights::Half(w) => half_product(isa, w, rows, x, bias, add, out),
        }
    }
}

/// out[r, j] = (bias[j] + Σ_k x[r, k] · W[k, j]) + add[r, j]; x is [rows, depth], out and add are [rows, columns].
pub(crate) fn product(
    isa: Isa,
    w: &Packed<f32>,
    rows: usize,
    x: &[f32],
    bias: Option<&[f32]>,
    add: Option<&[f32]>,
    out: &mut [f32],
) {
    each_panel(w, rows, x, bias, add, out, |columns, a, b, out| {
        // SAFETY: `each_panel` checked all lengths.
        unsafe { product_panel(isa, rows, w.depth, columns, a, b, out) }
    });
}

fn half_product(
    isa: Isa,
    w: &Packed<u16>,
    rows: usize,
    x: &[f32],
    bias: Option<&[f32]>,
    add: Option<&[f32]>,
    out: &mut [f32],
) {
    if rows <= FEW_ROWS {
        each_panel(w, rows, x, bias, add, out, |columns, a, b, out| {
            // SAFETY: `each_panel` checked all lengths.
            unsafe { product_panel_f16(isa, rows, w.depth, columns, a, b, out) }
        });
        return;
    }
    WIDENED.with_borrow_mut(|panel| {
        each_panel(w, rows, x, bias, add, out, |columns, a, b, out| {
            let len = w.depth * b.step;
            panel.resize(len, 0.0);
            // SAFETY: `each_panel` checked all lengths; a panel has `depth` rows of `step` elements.
            unsafe {
                widen(isa, std::slice::from_raw_parts(b.ptr, len), panel);
                let b = Right { ptr: panel.as_ptr(), step: b.step, vector: b.vector };
                product_panel(isa, rows, w.depth, columns, a, b, out);
            }
        });
    });
}

/// Up to this many rows a half-precision panel is widened as it is read; for more it is widened once.
const FEW_ROWS: usize = 6;

thread_local! {
    static WIDENED: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// Calls `panel(columns, left, right, out)` for each panel of W, after checking every length.
fn each_panel<E: Element>(
    w: &Packed<E>,
    rows: usize,
    x: &[f32],
    bias: Option<&[f32]>,
    add: Option<&[f32]>,
    out: &mut [f32],
    mut panel: impl FnMut(usize, Left, Right<E>, Out),
) {
    assert!(x.len() >= rows * w.depth && out.len() >= rows * w.columns);
    assert!(bias.is_none_or(|b| b.len() >= w.columns) && add.is_none_or(|a| a.len() >= rows * w.columns));
    let offset = |s: Option<&[f32]>, by: usize| s.map_or(std::ptr::null(), |s| s[by.min(s.len())..].as_ptr());
    if rows == 0 {
        return;
    }
    for start in (0..w.columns).step_by(PANEL) {
        let (ptr, width) = w.panel(start);
        let left = Left { ptr: x.as_ptr(), row: w.depth, step: 1 };
        let right = Right { ptr, step: width, vector: LANES };
        let out =
            Out { ptr: out[start..].as_mut_ptr(), row: w.columns, start: offset(bias, start), add: offset(add, start) };
        panel(PANEL.min(w.columns - start), left, right, out);
    }
}

//! Matrix products. One register tile serves all of them: linear layers, their two gradients, and the products
//! inside attention.
//!
//! C[r, j] = Σ_k A[r, k] · B[k, j], summed over k in order with fused multiply-adds, whatever the tile it falls in.
//! A is read one element at a time (any strides, so a transposed A costs nothing); B is read sixteen columns at a time.

use crate::cpu::simd::{LANES, Simd, kernel};

/// Rows of a register tile.
pub(crate) const TILE_ROWS: usize = 6;

/// What the right-hand side is stored as.
pub(crate) trait Element: Copy + Default + Send + Sync + 'static {
    /// Loads sixteen elements, widened to f32.
    unsafe fn load<S: Simd>(p: *const Self) -> S::F;
}

impl Element for f32 {
    #[inline(always)]
    unsafe fn load<S: Simd>(p: *const f32) -> S::F {
        unsafe { S::load(p) }
    }
}

/// Bits of an IEEE half-precision number.
impl Element for u16 {
    #[inline(always)]
    unsafe fn load<S: Simd>(p: *const u16) -> S::F {
        unsafe { S::load_f16(p) }
    }
}

/// The left-hand side: element (r, k) lies at `ptr + r · row + k · step`.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub ptr: *const f32,
    pub row: usize,
    pub step: usize,
}

/// The right-hand side: the sixteen columns of vector v in row k lie at `ptr + k · step + v · vector`.
#[derive(Clone, Copy)]
pub(crate) struct Right<E> {
    pub ptr: *const E,
    pub step: usize,
    pub vector: usize,
}

/// Where the sum starts and what is added at the end: out[r, j] = (start[j] + Σ …) + add[r, j]; either may be null.
#[derive(Clone, Copy)]
pub(crate) struct Out {
    pub ptr: *mut f32,
    pub row: usize,
    pub start: *const f32,
    pub add: *const f32,
}

/// One register tile: MR rows, NV vectors of sixteen columns.
#[inline(always)]
pub(crate) unsafe fn tile<S: Simd, E: Element, const MR: usize, const NV: usize>(
    depth: usize,
    a: Left,
    b: Right<E>,
    mut sums: [[S::F; NV]; MR],
) -> [[S::F; NV]; MR] {
    unsafe {
        let (mut a_ptr, mut b_ptr) = (a.ptr, b.ptr);
        for _ in 0..depth {
            let mut columns = [S::splat(0.0); NV];
            for v in 0..NV {
                columns[v] = E::load::<S>(b_ptr.add(v * b.vector));
            }
            for r in 0..MR {
                let left = S::splat(*a_ptr.add(r * a.row));
                for v in 0..NV {
                    sums[r][v] = S::fma(left, columns[v], sums[r][v]);
                }
            }
            // Behind the last step these may point past the end; they are not read there.
            a_ptr = a_ptr.wrapping_add(a.step);
            b_ptr = b_ptr.wrapping_add(b.step);
        }
        sums
    }
}

/// A tile with its start, its addend and its store. Unless `FULL`, only the first `columns` columns are touched.
#[inline(always)]
unsafe fn finished_tile<S: Simd, E: Element, const MR: usize, const NV: usize, const FULL: bool>(
    depth: usize,
    columns: usize,
    a: Left,
    b: Right<E>,
    out: Out,
) {
    unsafe {
        let valid = |v: usize| if FULL { LANES } else { columns.saturating_sub(v * LANES) };
        let mut sums = [[S::splat(0.0); NV]; MR];
        if !out.start.is_null() {
            for v in 0..NV {
                let start = S::load_first(valid(v), out.start.add(v * LANES));
                for row in &mut sums {
                    row[v] = start;
                }
            }
        }
        let mut sums = tile::<S, E, MR, NV>(depth, a, b, sums);
        if !out.add.is_null() {
            for (r, row) in sums.iter_mut().enumerate() {
                for (v, sum) in row.iter_mut().enumerate() {
                    *sum = S::add(*sum, S::load_first(valid(v), out.add.add(r * out.row + v * LANES)));
                }
            }
        }
        for (r, row) in sums.iter().enumerate() {
            for (v, &sum) in row.iter().enumerate() {
                S::store_first(valid(v), out.ptr.add(r * out.row + v * LANES), sum);
            }
        }
    }
}

/// Chooses between whole vectors and a ragged last one.
#[inline(always)]
unsafe fn fitted_tile<S: Simd, E: Element, const MR: usize, const NV: usize>(
    depth: usize,
    columns: usize,
    a: Left,
    b: Right<E>,
    out: Out,
) {
    unsafe {
        if columns >= NV * LANES {
            finished_tile::<S, E, MR, NV, true>(depth, columns, a, b, out);
        } else {
            finished_tile::<S, E, MR, NV, false>(depth, columns, a, b, out);
        }
    }
}

/// MR rows times up to 64 columns.
#[inline(always)]
unsafe fn row_block<S: Simd, E: Element, const MR: usize>(
    depth: usize,
    columns: usize,
    a: Left,
    b: Right<E>,
    out: Out,
) {
    unsafe {
        let vectors = columns.div_ceil(LANES);
        if S::WIDE || MR == 1 {
            match vectors {
                1 => fitted_tile::<S, E, MR, 1>(depth, columns, a, b, out),
                2 => fitted_tile::<S, E, MR, 2>(depth, columns, a, b, out),
                3 => fitted_tile::<S, E, MR, 3>(depth, columns, a, b, out),
                _ => fitted_tile::<S, E, MR, 4>(depth, columns, a, b, out),
            }
            return;
        }
        for v in 0..vectors {
            let offset = |p: *const f32| if p.is_null() { p } else { p.add(v * LANES) };
            let b = Right { ptr: b.ptr.add(v * b.vector), ..b };
            let out = Out { ptr: out.ptr.add(v * LANES), start: offset(out.start), add: offset(out.add), ..out };
            fitted_tile::<S, E, MR, 1>(depth, columns - v * LANES, a, b, out);
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn panel<S: Simd, E: Element>(
    rows: usize,
    depth: usize,
    columns: usize,
    a: Left,
    b: Right<E>,
    out: Out,
) {
    unsafe {
        let mut r = 0;
        while r < rows {
            let a = Left { ptr: a.ptr.add(r * a.row), ..a };
            let add = if out.add.is_null() { out.add } else { out.add.add(r * out.row) };
            let out = Out { ptr: out.ptr.add(r * out.row), add, ..out };
            match rows - r {
                1 => row_block::<S, E, 1>(depth, columns, a, b, out),
                2 => row_block::<S, E, 2>(depth, columns, a, b, out),
                3 => row_block::<S, E, 3>(depth, columns, a, b, out),
                4 => row_block::<S, E, 4>(depth, columns, a, b, out),
                5 => row_block::<S, E, 5>(depth, columns, a, b, out),
                _ => row_block::<S, E, TILE_ROWS>(depth, columns, a, b, out),
            }
            r += TILE_ROWS;
        }
    }
}

#[inline(always)]
unsafe fn panel_f32<S: Simd>(rows: usize, depth: usize, columns: usize, a: Left, b: Right<f32>, out: Out) {
    unsafe { panel::<S, f32>(rows, depth, columns, a, b, out) }
}

#[inline(always)]
unsafe fn panel_f16<S: Simd>(rows: usize, depth: usize, columns: usize, a: Left, b: Right<u16>, out: Out) {
    unsafe { panel::<S, u16>(rows, depth, columns, a, b, out) }
}

kernel! {
    /// Up to 64 columns of a product, any number of rows.
    ///
    /// # Safety
    /// All pointers must be valid for `rows`, `depth` and `columns` (B padded to a multiple of sixteen columns).
    pub(crate) unsafe fn product_panel(
        rows: usize, depth: usize, columns: usize, a: Left, b: Right<f32>, out: Out,
    ) = panel_f32
}

kernel! {
    /// As [`product_panel`], with a half-precision right-hand side.
    ///
    /// # Safety
    /// As [`product_panel`].
    pub(crate) unsafe fn product_panel_f16(
        rows: usize, depth: usize, columns: usize, a: Left, b: Right<u16>, out: Out,
    ) = panel_f16
}

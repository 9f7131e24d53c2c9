//! The gradient of attention, one head of one sequence at a time, in tiles of 48 rows × 64 keys: probabilities are
//! computed anew from the saved row statistics, so there is never a rows × keys matrix here either.
//!
//! With S the scores, P = softmax(S), O = P V and D = rowsum(dO ∘ O):
//! dV = Pᵀ dO, dP = dO Vᵀ, dS = P ∘ (dP − D), dQ = dS K, dK = dSᵀ Q.

use super::attention::{KEYS, MAX_HEAD, Visible};
use super::elementwise::exp2;
use super::matmul::{Left, Out, Right, product_panel};
use crate::cpu::simd::{LANES, Simd, kernel};

/// Rows of a tile.
const ROWS: usize = 48;

/// One head's keys and values: all that its rows may see. Each array is contiguous.
pub(crate) struct Keys<'a> {
    pub count: usize,
    pub head_width: usize,
    /// Keys row by row, [count][head width].
    pub keys: &'a [f32],
    /// Keys transposed in tiles, as in the forward pass.
    pub keys_transposed: &'a [f32],
    /// Values transposed likewise.
    pub values_transposed: &'a [f32],
    /// Gradients, [count][head width], added to. Those of the keys are with respect to scaled queries.
    pub dkeys: &'a mut [f32],
    pub dvalues: &'a mut [f32],
}

/// Some rows of one head. Each array is contiguous.
pub(crate) struct Rows<'a> {
    pub visible: Visible,
    /// Queries, scaled as in the forward pass, [rows][head width].
    pub query: &'a [f32],
    /// dO, [rows][head width].
    pub dout: &'a [f32],
    /// (highest score, 1 / sum) of each row.
    pub stats: &'a [[f32; 2]],
    /// D of each row.
    pub delta: &'a [f32],
    /// dS K, [rows][head width], added to.
    pub dquery: &'a mut [f32],
}

/// out[r] += A B for `columns` that may exceed one panel. The products are called, not inlined: five copies of them made this the one
/// kernel that took most of the time to compile the crate.
#[inline(always)]
unsafe fn add_product<S: Simd>(rows: usize, depth: usize, columns: usize, a: Left, b: *const f32, out: *mut f32) {
    unsafe {
        for start in (0..columns).step_by(KEYS) {
            let right = Right { ptr: b.add(start), step: columns, vector: LANES };
            let to = out.add(start);
            let out = Out { ptr: to, row: columns, start: std::ptr::null(), add: to };
            product_panel(S::ISA, rows, depth, KEYS.min(columns - start), a, right, out);
        }
    }
}

/// tile[r][k] = x[r] · y[k] for the first `groups` × 16 of a tile's transposed keys y.
#[inline(always)]
unsafe fn scores<S: Simd>(rows: usize, width: usize, groups: usize, x: *const f32, y: *const f32, tile: *mut f32) {
    unsafe {
        let a = Left { ptr: x, row: width, step: 1 };
        let b = Right { ptr: y, step: KEYS, vector: LANES };
        let out = Out { ptr: tile, row: KEYS, start: std::ptr::null(), add: std::ptr::null() };
        product_panel(S::ISA, rows, width, groups * LANES, a, b, out);
    }
}

#[inline(always)]
unsafe fn backward<S: Simd>(k: &mut Keys<'_>, q: &mut Rows<'_>) {
    let width = k.head_width;
    let rows = q.stats.len();
    assert!(width <= MAX_HEAD && width.is_multiple_of(LANES));
    assert!(rows == 0 || q.visible.keys(rows - 1) <= k.count);
    assert!(q.delta.len() == rows && [q.query.len(), q.dout.len(), q.dquery.len()].iter().all(|&n| n >= rows * width));
    let tiled = k.count.next_multiple_of(KEYS) * width;
    assert!(k.keys_transposed.len() >= tiled && k.values_transposed.len() >= tiled);
    assert!([k.keys.len(), k.dkeys.len(), k.dvalues.len()].iter().all(|&n| n >= k.count * width));
    let mut probabilities = [0.0f32; ROWS * KEYS];
    let mut dscores = [0.0f32; ROWS * KEYS];
    let (p, ds) = (probabilities.as_mut_ptr(), dscores.as_mut_ptr());
    unsafe {
        for tile in (0..k.count).step_by(KEYS) {
            let mut row = match q.visible {
                Visible::Causal { first } => (tile + 1).saturating_sub(first),
                Visible::All(_) => 0,
            };
            while row < rows {
                let block = ROWS.min(rows - row);
                let keys = (q.visible.keys(row + block - 1) - tile).min(KEYS);
                let groups = keys.div_ceil(LANES);
                let query = q.query.as_ptr().add(row * width);
                let dout = q.dout.as_ptr().add(row * width);
                scores::<S>(block, width, groups, query, k.keys_transposed.as_ptr().add(tile * width), p);
                scores::<S>(block, width, groups, dout, k.values_transposed.as_ptr().add(tile * width), ds);
                for r in 0..block {
                    let [highest, inverse] = q.stats[row + r];
                    let delta = S::splat(q.delta[row + r]);
                    let seen = q.visible.keys(row + r).saturating_sub(tile);
                    for g in 0..groups {
                        let at = r * KEYS + g * LANES;
                        let e = exp2::<S>(S::sub(S::load(p.add(at)), S::splat(highest)));
                        let e = S::mul(e, S::splat(inverse));
                        let e = S::first(seen.saturating_sub(g * LANES), e, S::splat(0.0));
                        S::store(p.add(at), e);
                        S::store(ds.add(at), S::mul(e, S::sub(S::load(ds.add(at)), delta)));
                    }
                }
                let transposed = |ptr: *mut f32| Left { ptr, row: 1, step: KEYS };
                let at = tile * width;
                add_product::<S>(keys, block, width, transposed(p), dout, k.dvalues.as_mut_ptr().add(at));
                add_product::<S>(keys, block, width, transposed(ds), query, k.dkeys.as_mut_ptr().add(at));
                let a = Left { ptr: ds, row: KEYS, step: 1 };
                let to = q.dquery.as_mut_ptr().add(row * width);
                add_product::<S>(block, keys, width, a, k.keys.as_ptr().add(at), to);
                row += ROWS;
            }
        }
    }
}

kernel! {
    /// Adds one head's gradients; see the module.
    ///
    /// # Safety
    /// None beyond the instruction set: all lengths are checked.
    pub(crate) unsafe fn attend_backward(keys: &mut Keys<'_>, rows: &mut Rows<'_>) = backward
}

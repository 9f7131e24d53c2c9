//! Attention of some rows over the keys of one sequence, one head, in tiles of 64 keys: softmax is kept online, so
//! there is never a rows × keys matrix.
//!
//! A tile's keys lie transposed, [dimension][64 keys], so that a score needs no sum across lanes; its values lie row
//! by row. Both are read from front to back. Each row's result depends on its own query and on the tiles it sees, always cut at
//! multiples of 64 keys: not on the rows computed beside it. That is why token by token, a whole sequence at once,
//! and any chunk of queries agree to the last bit.

use super::elementwise::{LOG2_E, exp2};
use super::matmul::{Element, Left, Right, tile};
use crate::cpu::simd::{LANES, Simd, kernel};
use std::mem::MaybeUninit;

/// Keys of a tile.
pub(crate) const KEYS: usize = 64;
/// Rows computed side by side.
const ROWS: usize = 6;
/// Groups of sixteen keys in a tile.
const GROUPS: usize = KEYS / LANES;

/// The widest head.
pub(crate) const MAX_HEAD: usize = crate::spec::MAX_HEAD_WIDTH;

/// Where one tile's 64 keys and values of one head lie.
#[derive(Clone, Copy)]
pub(crate) struct KeyTile<E> {
    /// [head width][64 keys].
    pub keys: *const E,
    /// [64 keys][head width].
    pub values: *const E,
}

/// How many keys each row sees.
#[derive(Clone, Copy)]
pub(crate) enum Visible {
    /// Row r sees the first `first + r` keys.
    Causal { first: usize },
    /// Every row sees this many.
    All(usize),
}

impl Visible {
    #[inline(always)]
    pub fn keys(self, row: usize) -> usize {
        match self {
            Visible::Causal { first } => first + row,
            Visible::All(keys) => keys,
        }
    }
}

/// Rows of one head: `rows` queries at `query + r · stride`, outputs likewise.
#[derive(Clone, Copy)]
pub(crate) struct HeadRows {
    pub rows: usize,
    pub head_width: usize,
    pub visible: Visible,
    pub query: *const f32,
    pub query_stride: usize,
    pub out: *mut f32,
    pub out_stride: usize,
    /// For the backward pass: (highest score, 1 / sum) of each row; may be null.
    pub stats: *mut [f32; 2],
}

/// Queries are scaled so that scores are exponents of two.
pub(crate) fn query_scale(head_width: usize) -> f32 {
    LOG2_E / (head_width as f32).sqrt()
}

/// Scores of R rows against the first `groups` × 16 keys of a tile, into `scores` [R][64].
#[inline(always)]
unsafe fn score_rows<S: Simd, E: Element, const R: usize>(
    query: *const f32,
    head_width: usize,
    keys: *const E,
    groups: usize,
    scores: &mut [[f32; KEYS]; ROWS],
) {
    #[inline(always)]
    unsafe fn groups_of<S: Simd, E: Element, const R: usize, const G: usize>(
        query: *const f32,
        head_width: usize,
        keys: *const E,
        first: usize,
        scores: &mut [[f32; KEYS]; ROWS],
    ) {
        unsafe {
            let a = Left { ptr: query, row: head_width, step: 1 };
            let b = Right { ptr: keys.add(first * LANES), step: KEYS, vector: LANES };
            let sums = tile::<S, E, R, G>(head_width, a, b, [[S::splat(0.0); G]; R]);
            for (r, row) in sums.iter().enumerate() {
                for (g, &value) in row.iter().enumerate() {
                    S::store(scores[r].as_mut_ptr().add((first + g) * LANES), value);
                }
            }
        }
    }
    unsafe {
        if S::WIDE || R == 1 {
            match groups {
                1 => groups_of::<S, E, R, 1>(query, head_width, keys, 0, scores),
                2 => groups_of::<S, E, R, 2>(query, head_width, keys, 0, scores),
                3 => groups_of::<S, E, R, 3>(query, head_width, keys, 0, scores),
                _ => groups_of::<S, E, R, 4>(query, head_width, keys, 0, scores),
            }
        } else {
            for g in 0..groups {
                groups_of::<S, E, R, 1>(query, head_width, keys, g, scores);
            }
        }
    }
}

/// out[r] = out[r] · rescale[r] + Σ_k weights[r][k] · values[k], over the first `keys` values.
#[inline(always)]
unsafe fn mix_values<S: Simd, E: Element, const R: usize>(
    weights: &[[f32; KEYS]; ROWS],
    keys: usize,
    values: *const E,
    head_width: usize,
    rescale: &[f32; ROWS],
    out: *mut f32,
) {
    #[inline(always)]
    unsafe fn vectors<S: Simd, E: Element, const R: usize, const V: usize>(
        weights: &[[f32; KEYS]; ROWS],
        keys: usize,
        values: *const E,
        head_width: usize,
        rescale: &[f32; ROWS],
        out: *mut f32,
    ) {
        unsafe {
            let mut sums = [[S::splat(0.0); V]; R];
            for r in 0..R {
                for v in 0..V {
                    let old = S::load(out.add(r * head_width + v * LANES));
                    sums[r][v] = S::mul(old, S::splat(rescale[r]));
                }
            }
            let a = Left { ptr: weights[0].as_ptr(), row: KEYS, step: 1 };
            let b = Right { ptr: values, step: head_width, vector: LANES };
            let sums = tile::<S, E, R, V>(keys, a, b, sums);
            for r in 0..R {
                for v in 0..V {
                    S::store(out.add(r * head_width + v * LANES), sums[r][v]);
                }
            }
        }
    }
    unsafe {
        let mut v = 0;
        let total = head_width / LANES;
        while v < total {
            let (values, out) = (values.add(v * LANES), out.add(v * LANES));
            if (S::WIDE || R == 1) && total - v >= 2 {
                vectors::<S, E, R, 2>(weights, keys, values, head_width, rescale, out);
                v += 2;
            } else {
                vectors::<S, E, R, 1>(weights, keys, values, head_width, rescale, out);
                v += 1;
            }
        }
    }
}

/// R rows, starting at `row`, over all tiles they see.
#[inline(always)]
unsafe fn row_block<S: Simd, E: Element, const R: usize>(h: &HeadRows, tiles: &[KeyTile<E>], row: usize) {
    unsafe {
        let width = h.head_width;
        // Only the first R · width elements are used; they are written before they are read.
        let mut query = [const { MaybeUninit::<f32>::uninit() }; ROWS * MAX_HEAD];
        let mut mixed = [const { MaybeUninit::<f32>::uninit() }; ROWS * MAX_HEAD];
        let (query, mixed) = (query.as_mut_ptr().cast::<f32>(), mixed.as_mut_ptr().cast::<f32>());
        let scale = S::splat(query_scale(width));
        for r in 0..R {
            let from = h.query.add((row + r) * h.query_stride);
            for at in (0..width).step_by(LANES) {
                S::store(query.add(r * width + at), S::mul(S::load(from.add(at)), scale));
                S::store(mixed.add(r * width + at), S::splat(0.0));
            }
        }
        let mut highest = [f32::NEG_INFINITY; ROWS];
        let mut sums = [S::splat(0.0); R];
        let mut scores = [[0.0f32; KEYS]; ROWS];
        let longest = (0..R).map(|r| h.visible.keys(row + r)).max().unwrap_or(0);
        for (t, key_tile) in tiles.iter().enumerate().take(longest.div_ceil(KEYS)) {
            let keys = KEYS.min(longest - t * KEYS);
            let groups = keys.div_ceil(LANES);
            score_rows::<S, E, R>(query, width, key_tile.keys, groups, &mut scores);
            let mut rescale = [1.0f32; ROWS];
            for r in 0..R {
                let seen = h.visible.keys(row + r).saturating_sub(t * KEYS).min(KEYS);
                let line = scores[r].as_mut_ptr();
                if seen == 0 {
                    for g in 0..groups {
                        S::store(line.add(g * LANES), S::splat(0.0));
                    }
                    continue;
                }
                let hidden = S::splat(f32::NEG_INFINITY);
                let mut top = hidden;
                if seen == KEYS {
                    for g in 0..GROUPS {
                        top = S::max(top, S::load(line.add(g * LANES)));
                    }
                } else {
                    for g in 0..groups {
                        let s = S::load(line.add(g * LANES));
                        top = S::max(top, S::first(seen.saturating_sub(g * LANES), s, hidden));
                    }
                }
                let top = S::largest(top).max(highest[r]);
                if top > highest[r] {
                    rescale[r] = if highest[r] == f32::NEG_INFINITY { 0.0 } else { exp2_one::<S>(highest[r] - top) };
                    highest[r] = top;
                }
                let mut sum = S::mul(sums[r], S::splat(rescale[r]));
                if seen == KEYS {
                    for g in 0..GROUPS {
                        let s = S::load(line.add(g * LANES));
                        let p = exp2::<S>(S::sub(s, S::splat(top)));
                        S::store(line.add(g * LANES), p);
                        sum = S::add(sum, p);
                    }
                } else {
                    for g in 0..groups {
                        let s = S::load(line.add(g * LANES));
                        let p = exp2::<S>(S::sub(s, S::splat(top)));
                        let p = S::first(seen.saturating_sub(g * LANES), p, S::splat(0.0));
                        S::store(line.add(g * LANES), p);
                        sum = S::add(sum, p);
                    }
                }
                sums[r] = sum;
            }
            mix_values::<S, E, R>(&scores, keys, key_tile.values, width, &rescale, mixed);
        }
        for r in 0..R {
            let sum = S::sum(sums[r]);
            // A row that sees nothing attends to nothing.
            let inverse = if sum > 0.0 { 1.0 / sum } else { 0.0 };
            let to = h.out.add((row + r) * h.out_stride);
            for at in (0..width).step_by(LANES) {
                let value = S::load(mixed.add(r * width + at));
                S::store(to.add(at), S::mul(value, S::splat(inverse)));
            }
            if !h.stats.is_null() {
                *h.stats.add(row + r) = [highest[r], inverse];
            }
        }
    }
}

/// 2ˣ of one number, by the same operations as sixteen.
#[inline(always)]
unsafe fn exp2_one<S: Simd>(x: f32) -> f32 {
    unsafe { S::largest(exp2::<S>(S::splat(x))) }
}

#[inline(always)]
unsafe fn attend<S: Simd, E: Element>(h: &HeadRows, tiles: &[KeyTile<E>]) {
    assert!(h.head_width <= MAX_HEAD && h.head_width.is_multiple_of(LANES));
    assert!(h.rows == 0 || h.visible.keys(h.rows - 1) <= tiles.len() * KEYS);
    unsafe {
        let mut row = 0;
        while row < h.rows {
            match h.rows - row {
                1 => row_block::<S, E, 1>(h, tiles, row),
                2 => row_block::<S, E, 2>(h, tiles, row),
                3 => row_block::<S, E, 3>(h, tiles, row),
                4 => row_block::<S, E, 4>(h, tiles, row),
                5 => row_block::<S, E, 5>(h, tiles, row),
                _ => row_block::<S, E, ROWS>(h, tiles, row),
            }
            row += ROWS;
        }
    }
}

#[inline(always)]
unsafe fn attend_f32<S: Simd>(rows: &HeadRows, tiles: &[KeyTile<f32>]) {
    unsafe { attend::<S, f32>(rows, tiles) }
}

#[inline(always)]
unsafe fn attend_f16<S: Simd>(rows: &HeadRows, tiles: &[KeyTile<u16>]) {
    unsafe { attend::<S, u16>(rows, tiles) }
}

kernel! {
    /// Attention of one head's rows over f32 tiles.
    ///
    /// # Safety
    /// The pointers must be valid for the rows, the head width and the keys they see.
    pub(crate) unsafe fn attend_single(rows: &HeadRows, tiles: &[KeyTile<f32>]) = attend_f32
}

kernel! {
    /// Attention of one head's rows over half-precision tiles.
    ///
    /// # Safety
    /// As [`attend_single`].
    pub(crate) unsafe fn attend_half(rows: &HeadRows, tiles: &[KeyTile<u16>]) = attend_f16
}

/// Elements of `count` keys of one head, rounded up to whole tiles.
pub(crate) fn tiled_len(count: usize, head_width: usize) -> usize {
    count.next_multiple_of(KEYS) * head_width
}

/// Transposes rows into key tiles: out[tile][dimension][64], zero beyond the last row.
pub(crate) fn transpose_keys(rows: usize, x: &[f32], stride: usize, head_width: usize, out: &mut [f32]) {
    let empty = [0.0; MAX_HEAD];
    for (t, tile) in out[..tiled_len(rows, head_width)].chunks_exact_mut(KEYS * head_width).enumerate() {
        for group in 0..GROUPS {
            let lanes: [&[f32]; LANES] = std::array::from_fn(|lane| match t * KEYS + group * LANES + lane {
                row if row < rows => &x[row * stride..][..head_width],
                _ => &empty[..head_width],
            });
            for (d, line) in tile.as_chunks_mut::<KEYS>().0.iter_mut().enumerate() {
                for (value, lane) in line[group * LANES..][..LANES].iter_mut().zip(&lanes) {
                    *value = lane[d];
                }
            }
        }
    }
}

/// Copies rows of one head next to each other.
pub(crate) fn gather_rows(rows: usize, x: &[f32], stride: usize, head_width: usize, out: &mut [f32]) {
    for r in 0..rows {
        out[r * head_width..][..head_width].copy_from_slice(&x[r * stride..][..head_width]);
    }
}

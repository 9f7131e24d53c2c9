//! Attention in training: (sequence, head) pairs as tasks, each with its keys and values gathered into its worker's
//! space.

use super::Workers;
use super::state::{Back, RowMap, Saved};
use crate::cpu::kernels::attention::{
    HeadRows, KEYS, KeyTile, Visible, attend_single, gather_rows, query_scale, tiled_len, transpose_keys,
};
use crate::cpu::kernels::attention_backward::{Keys, Rows, attend_backward};
use crate::cpu::kernels::elementwise::{Strided, row_products, scale_rows};
use crate::cpu::memory::reserve;
use crate::cpu::simd::Isa;
use crate::cpu::threads::{Cpu, Shared};
use crate::cpu::view::View;
use crate::spec::History;

/// What the rows of a sequence's history see.
fn history_visible(history: History, count: usize) -> Visible {
    match history {
        History::Causal => Visible::Causal { first: 1 },
        History::Set => Visible::All(count),
    }
}

pub(super) fn attention_forward(cpu: &Cpu, view: &View<'_>, map: RowMap<'_>, workers: &mut Workers, saved: &mut Saved) {
    let (width, heads, head_width) = (view.spec.width, view.spec.attention_heads, view.spec.head_width());
    let total_rows = map.rows();
    let (attended, stats) = (Shared::new(&mut saved.attended), Shared::new(&mut saved.attention_stats));
    let attention = Shared::new(&mut workers.attention);
    let (query, key_value) = (&saved.entrance.query, &saved.entrance.key_value);
    cpu.each(map.history.sequences() * heads, |task, worker| {
        let (s, head) = (task / heads, task % heads);
        let (history, queries) = map.sequence(s);
        let (count, at) = (history.len(), head * head_width);
        // SAFETY: a worker runs one task at a time.
        let space = unsafe { &mut attention.get(worker..worker + 1)[0] };
        let len = tiled_len(count, head_width);
        reserve(&mut space.keys_transposed, len);
        reserve(&mut space.values, len);
        if count > 0 {
            let key_rows = &key_value[history.start * 2 * width + at..];
            transpose_keys(count, key_rows, 2 * width, head_width, &mut space.keys_transposed);
            gather_rows(count, &key_rows[width..], 2 * width, head_width, &mut space.values);
        }
        space.tiles.clear();
        for start in (0..count).step_by(KEYS) {
            let keys = space.keys_transposed[start * head_width..].as_ptr();
            space.tiles.push(KeyTile { keys, values: space.values[start * head_width..].as_ptr() });
        }
        for (rows, visible) in [(history, history_visible(view.spec.history, count)), (queries, Visible::All(count))] {
            if rows.is_empty() {
                continue;
            }
            let wide = rows.start * width + at..(rows.end - 1) * width + at + head_width;
            let rows = HeadRows {
                rows: rows.len(),
                head_width,
                visible,
                query: query[wide.clone()].as_ptr(),
                query_stride: width,
                out: attended.pointer(wide),
                out_stride: width,
                stats: stats.pointer(head * total_rows + rows.start..head * total_rows + rows.end),
            };
            // SAFETY: each task writes its own rows' columns of its own head; all ranges were checked.
            unsafe { attend_single(view.isa, &rows, &space.tiles) }
        }
    });
}

pub(super) fn attention_backward(
    cpu: &Cpu,
    view: &View<'_>,
    map: RowMap<'_>,
    workers: &mut Workers,
    saved: &Saved,
    back: &mut Back,
) {
    let (width, heads, head_width) = (view.spec.width, view.spec.attention_heads, view.spec.head_width());
    let total_rows = map.rows();
    let (dquery, dkey_value) = (Shared::new(&mut back.dquery), Shared::new(&mut back.dkey_value));
    let attention = Shared::new(&mut workers.attention);
    let dattended = &back.dattended;
    cpu.each(map.history.sequences() * heads, |task, worker| {
        let (s, head) = (task / heads, task % heads);
        let (history, queries) = map.sequence(s);
        let (count, at) = (history.len(), head * head_width);
        // SAFETY: a worker runs one task at a time.
        let space = unsafe { &mut attention.get(worker..worker + 1)[0] };
        space.reserve_backward(count, history.len().max(queries.len()), head_width);
        if count > 0 {
            let key_rows = &saved.entrance.key_value[history.start * 2 * width + at..];
            transpose_keys(count, key_rows, 2 * width, head_width, &mut space.keys_transposed);
            transpose_keys(count, &key_rows[width..], 2 * width, head_width, &mut space.values_transposed);
            gather_rows(count, key_rows, 2 * width, head_width, &mut space.keys);
        }
        space.dkeys[..count * head_width].fill(0.0);
        space.dvalues[..count * head_width].fill(0.0);
        for (rows, visible) in
            [(history.clone(), history_visible(view.spec.history, count)), (queries, Visible::All(count))]
        {
            if rows.is_empty() {
                continue;
            }
            let (n, from) = (rows.len(), rows.start * width + at);
            let strided =
                |x: &[f32]| Strided { ptr: x[from..(rows.end - 1) * width + at + head_width].as_ptr(), stride: width };
            gather_rows(n, &dattended[from..], width, head_width, &mut space.dout);
            let query = Strided { ptr: space.query[..n * head_width].as_mut_ptr(), stride: head_width };
            // SAFETY: all ranges were checked; the instruction set was detected.
            unsafe {
                scale_rows(view.isa, n, head_width, strided(&saved.entrance.query), query_scale(head_width), query);
                row_products(view.isa, head_width, strided(&saved.attended), &space.dout, &mut space.delta[..n]);
            }
            space.dquery[..n * head_width].fill(0.0);
            let mut keys = Keys {
                count,
                head_width,
                keys: &space.keys,
                keys_transposed: &space.keys_transposed,
                values_transposed: &space.values_transposed,
                dkeys: &mut space.dkeys,
                dvalues: &mut space.dvalues,
            };
            let stats = head * total_rows;
            let mut row_set = Rows {
                visible,
                query: &space.query,
                dout: &space.dout,
                stats: &saved.attention_stats[stats + rows.start..stats + rows.end],
                delta: &space.delta[..n],
                dquery: &mut space.dquery,
            };
            // SAFETY: the kernel checks lengths; the instruction set was detected.
            unsafe { attend_backward(view.isa, &mut keys, &mut row_set) }
            let unscale = 1.0 / (head_width as f32).sqrt();
            scatter(view.isa, n, head_width, &space.dquery, unscale, &dquery, from, width);
        }
        // Scaled queries carry log₂ e / √d; keys' gradients need 1 / √d.
        let to = history.start * 2 * width + at;
        scatter(view.isa, count, head_width, &space.dkeys, std::f32::consts::LN_2, &dkey_value, to, 2 * width);
        scatter(view.isa, count, head_width, &space.dvalues, 1.0, &dkey_value, to + width, 2 * width);
    });
}

/// to[start + r · stride ..] = x[r] · scale for each row of one head; other tasks own the columns between.
#[allow(clippy::too_many_arguments)]
fn scatter(
    isa: Isa,
    rows: usize,
    head_width: usize,
    x: &[f32],
    scale: f32,
    to: &Shared<'_, f32>,
    start: usize,
    stride: usize,
) {
    if rows == 0 {
        return;
    }
    let from = Strided { ptr: x[..rows * head_width].as_ptr(), stride: head_width };
    let to = Strided { ptr: to.pointer(start..start + (rows - 1) * stride + head_width), stride };
    // SAFETY: both ranges were checked, and a task owns its head's columns of its sequence's rows.
    unsafe { scale_rows(isa, rows, head_width, from, scale, to) }
}

//! The trunk in training: forward with everything saved that the backward pass needs, and the backward pass.
//!
//! Rows are the history tokens, then the query tokens; chunks of rows never mix the two, because query rows have no
//! keys and values.

use super::attention::{attention_backward, attention_forward};
use super::gradients::{LayerGradient, add_layer_gradients};
use super::rows;
use super::state::{Back, Entrance, RowMap, Saved};
use super::{Context, Gradients, Workers};
use crate::cpu::kernels::elementwise::{add, gelu_backward, layer_norm_backward};
use crate::cpu::memory::{Buffer, reserve};
use crate::cpu::packed::{Packed, product};
use crate::cpu::spans::Span;
use crate::cpu::threads::{Cpu, Shared, scaled};
use crate::cpu::view::{AfterAttention, Scratch, View};
use crate::layout::{Attention, Block, Layout, LinearId, Norm};
use std::ops::Range;

/// An entrance that chunks write side by side.
struct SharedEntrance<'a> {
    stats: Shared<'a, [f32; 2]>,
    query: Shared<'a, f32>,
    key_value: Shared<'a, f32>,
}

impl Entrance {
    fn shared(&mut self) -> SharedEntrance<'_> {
        SharedEntrance {
            stats: Shared::new(&mut self.stats),
            query: Shared::new(&mut self.query),
            key_value: Shared::new(&mut self.key_value),
        }
    }
}

impl SharedEntrance<'_> {
    /// Norm, queries and, for rows that are `seen`, keys and values before an attention.
    ///
    /// # Safety
    /// Rows must not overlap between tasks that run at the same time.
    unsafe fn enter(
        &self,
        view: &View<'_>,
        attention: &Attention,
        rows: Range<usize>,
        seen: bool,
        x: &[f32],
        scratch: &mut Scratch,
    ) {
        let width = view.spec.width;
        // SAFETY: the caller's contract.
        let (key_value, query, stats) = unsafe {
            let key_value = seen.then(|| self.key_value.get(scaled(&rows, 2 * width)));
            (key_value, self.query.get(scaled(&rows, width)), self.stats.get(rows))
        };
        view.before_attention(attention, x, stats, query, key_value, scratch);
    }
}

impl Saved {
    /// What the block's first attention is entered by.
    fn door(&mut self, block: &Block) -> &mut Entrance {
        if block.rows.is_some() { &mut self.rows.entrance } else { &mut self.entrance }
    }
}

/// The trunk's buffers, kept from step to step.
#[derive(Default)]
pub(crate) struct Trunk {
    /// One a block; without a backward pass, one for all.
    blocks: Vec<Saved>,
    /// The residual stream before each block and behind the last, [rows, width] each; without a backward pass, two in turn.
    streams: Vec<Buffer<f32>>,
    last_stats: Buffer<[f32; 2]>,
    /// The batch's tables, cut for the attention among the cells of a row.
    spans: Vec<Span>,
    /// The trunk's output, [rows, width].
    pub out: Buffer<f32>,
    /// dL/d(out), [rows, width].
    pub dout: Buffer<f32>,
    back: Back,
}

impl Trunk {
    fn reserve(&mut self, view: &View<'_>, map: RowMap<'_>, backward: bool) {
        let (rows, width) = (map.rows(), view.spec.width);
        let blocks = if backward { view.spec.layers } else { 1 };
        if self.blocks.len() < blocks {
            self.blocks.resize_with(blocks, Saved::default);
            self.streams.resize_with(blocks + 1, Buffer::default);
        }
        for stream in &mut self.streams[..=blocks] {
            stream.reserve(rows * width);
        }
        for b in &mut self.blocks[..blocks] {
            for buffer in [&mut b.entrance.query, &mut b.attended, &mut b.middle] {
                buffer.reserve(rows * width);
            }
            b.entrance.key_value.reserve(map.history.len() * 2 * width);
            if view.spec.row_attention {
                for buffer in [&mut b.rows.entrance.query, &mut b.rows.attended, &mut b.rows.after] {
                    buffer.reserve(rows * width);
                }
                b.rows.entrance.key_value.reserve(rows * 2 * width);
                b.rows.entrance.stats.reserve(rows);
            }
            b.hidden.reserve(rows * view.spec.mlp_width);
            b.entrance.stats.reserve(rows);
            b.stats2.reserve(rows);
            b.attention_stats.reserve(rows * view.spec.attention_heads);
        }
        for buffer in [&mut self.out, &mut self.dout] {
            buffer.reserve(rows * width);
        }
        self.last_stats.reserve(rows);
        if !backward {
            return;
        }
        let b = &mut self.back;
        for buffer in [
            &mut b.dnext,
            &mut b.dmiddle,
            &mut b.dprevious,
            &mut b.normed1,
            &mut b.normed2,
            &mut b.dattended,
            &mut b.dquery,
        ] {
            buffer.reserve(rows * width);
        }
        let seen = if view.spec.row_attention { rows } else { map.history.len() };
        b.dkey_value.reserve(seen * 2 * width);
        b.dhidden.reserve(rows * view.spec.mlp_width);
        b.activated.reserve(rows * view.spec.mlp_width);
        b.norm_parts.reserve(map.chunks() * 2 * width);
    }

    /// From tokens to the trunk's output, saving what the backward pass needs.
    ///
    /// A chunk goes from behind one attention to the next one's queries, keys and values in one piece: its rows stay in
    /// the cache, and threads meet only around attention.
    pub fn forward(&mut self, cpu: &Cpu, view: &View<'_>, map: RowMap<'_>, workers: &mut Workers, backward: bool) {
        self.reserve(view, map, backward);
        self.spans.clear();
        Span::cut(map.history, 0, &mut self.spans);
        if let Some(queries) = map.queries {
            Span::cut(queries, map.history.len(), &mut self.spans);
        }
        let width = view.spec.width;
        let Layout { history_fields, query_fields, .. } = view.layout;
        {
            let x = Shared::new(&mut self.streams[0]);
            let first = &view.layout.blocks[0];
            let into = self.blocks[0].door(first).shared();
            let scratch = Shared::new(&mut workers.scratch);
            cpu.each(map.chunks(), |c, worker| {
                let (rows, is_history) = map.chunk(c);
                // SAFETY: chunks are disjoint, and a worker runs one task at a time.
                let (x, scratch) = unsafe { (x.get(scaled(&rows, width)), &mut scratch.get(worker..worker + 1)[0]) };
                match map.queries {
                    Some(queries) if !is_history => {
                        let start = rows.start - map.history.len();
                        view.embed(query_fields, &queries.fields, start, rows.len(), x, scratch);
                    }
                    _ => view.embed(history_fields, &map.history.fields, rows.start, rows.len(), x, scratch),
                }
                // SAFETY: as above.
                unsafe {
                    into.enter(view, first.first_attention(), rows, is_history || first.rows.is_some(), x, scratch)
                }
            });
        }
        for layer in 0..view.spec.layers {
            let (from, to) = if backward { (layer, layer + 1) } else { (layer % 2, (layer + 1) % 2) };
            let at = if backward { layer } else { 0 };
            if let Some(rows) = &view.layout.blocks[layer].rows {
                self.attend_rows(cpu, view, map, workers, (rows, layer), (from, at));
            }
            attention_forward(cpu, view, map, workers, &mut self.blocks[at]);
            self.behind_attention(cpu, view, map, workers, layer, (from, to), backward);
        }
    }

    /// A block's attention among the cells of a row, from stream `from` into its other attention.
    fn attend_rows(
        &mut self,
        cpu: &Cpu,
        view: &View<'_>,
        map: RowMap<'_>,
        workers: &mut Workers,
        (attention, layer): (&Attention, usize),
        (from, at): (usize, usize),
    ) {
        let width = view.spec.width;
        let Saved { rows: saved, entrance, .. } = &mut self.blocks[at];
        let doors = (&saved.entrance.query[..], &saved.entrance.key_value[..]);
        rows::attend(cpu, view, &self.spans, doors, &mut saved.attended);
        let (x, attended, after) = (&self.streams[from], &saved.attended, Shared::new(&mut saved.after));
        let (into, scratch) = (entrance.shared(), Shared::new(&mut workers.scratch));
        cpu.each(map.chunks(), |c, worker| {
            let (rows, is_history) = map.chunk(c);
            let wide = scaled(&rows, width);
            // SAFETY: chunks are disjoint, and a worker runs one task at a time.
            unsafe {
                let (after, scratch) = (after.get(wide.clone()), &mut scratch.get(worker..worker + 1)[0]);
                view.linear(attention.project, rows.len(), &attended[wide.clone()], Some(&x[wide]), after);
                into.enter(view, &view.layout.blocks[layer].attention, rows, is_history, after, scratch);
            }
        });
    }

    /// One block from its attention on, from stream `from` to stream `to`, and into the next block or out of the trunk.
    #[allow(clippy::too_many_arguments)]
    fn behind_attention(
        &mut self,
        cpu: &Cpu,
        view: &View<'_>,
        map: RowMap<'_>,
        workers: &mut Workers,
        layer: usize,
        (from, to): (usize, usize),
        backward: bool,
    ) {
        let (width, mlp) = (view.spec.width, view.spec.mlp_width);
        let block = &view.layout.blocks[layer];
        let last = layer + 1 == view.spec.layers;
        let at = if backward { layer } else { 0 };
        let next_at = if backward && !last { layer + 1 } else { at };
        // Taken out for the time being: without a backward pass it is this block's own, which attention is done with.
        let next_block = view.layout.blocks.get(layer + 1).unwrap_or(block);
        let mut entrance = std::mem::take(self.blocks[next_at].door(next_block));
        {
            let saved = &mut self.blocks[at];
            let [x, next] = self.streams.get_disjoint_mut([from, to]).expect("two streams");
            let x = if block.rows.is_some() { &saved.rows.after } else { &*x };
            let (attended, stats) = (&saved.attended, Shared::new(&mut saved.stats2));
            let (middle, hidden, next) =
                (Shared::new(&mut saved.middle), Shared::new(&mut saved.hidden), Shared::new(next));
            let (out, last_stats) = (Shared::new(&mut self.out), Shared::new(&mut self.last_stats));
            let (into, scratch) = (entrance.shared(), Shared::new(&mut workers.scratch));
            cpu.each(map.chunks(), |c, worker| {
                let (rows, is_history) = map.chunk(c);
                let wide = scaled(&rows, width);
                // SAFETY: chunks are disjoint, and a worker runs one task at a time.
                unsafe {
                    let scratch = &mut scratch.get(worker..worker + 1)[0];
                    let next = next.get(wide.clone());
                    let io = AfterAttention {
                        x: &x[wide.clone()],
                        attended: &attended[wide.clone()],
                        middle: middle.get(wide.clone()),
                        stats: stats.get(rows.clone()),
                        hidden: hidden.get(scaled(&rows, mlp)),
                        next,
                    };
                    view.after_attention(block, io, scratch);
                    let next = &*next;
                    if last {
                        view.norm(&view.layout.norm, next, out.get(wide), last_stats.get(rows));
                    } else {
                        let seen = is_history || next_block.rows.is_some();
                        into.enter(view, next_block.first_attention(), rows, seen, next, scratch);
                    }
                }
            });
        }
        *self.blocks[next_at].door(next_block) = entrance;
    }

    /// From dL/d(out) to dL/d(tokens), which stays in the returned buffer [rows, width]; weight gradients are added.
    pub fn backward(
        &mut self,
        cpu: &Cpu,
        view: &View<'_>,
        transposed: &[Packed<f32>],
        map: RowMap<'_>,
        workers: &mut Workers,
        gradients: &mut Gradients,
    ) -> &[f32] {
        let (rows, width) = (map.rows(), view.spec.width);
        self.back.dnext[..rows * width].fill(0.0);
        {
            let (dnext, normed) = (Shared::new(&mut self.back.dnext), Shared::new(&mut self.back.normed1));
            let parts = Shared::new(&mut self.back.norm_parts);
            let (x, dout, stats) = (&self.streams[view.spec.layers], &self.dout, &self.last_stats);
            cpu.each(map.chunks(), |c, _| {
                let (rows, _) = map.chunk(c);
                let wide = scaled(&rows, width);
                // SAFETY: chunks are disjoint.
                unsafe {
                    let to =
                        (dnext.get(wide.clone()), normed.get(wide.clone()), parts.get(scaled(&(c..c + 1), 2 * width)));
                    norm_backward(view, &view.layout.norm, &x[wide.clone()], &stats[rows], &dout[wide], to);
                }
            });
        }
        add_norm_parts(view, &view.layout.norm, map, &self.back.norm_parts, gradients);
        for layer in (0..view.spec.layers).rev() {
            self.backward_block(cpu, view, transposed, map, workers, gradients, layer);
        }
        &self.back.dnext[..rows * width]
    }

    #[allow(clippy::too_many_arguments)]
    fn backward_block(
        &mut self,
        cpu: &Cpu,
        view: &View<'_>,
        transposed: &[Packed<f32>],
        map: RowMap<'_>,
        workers: &mut Workers,
        gradients: &mut Gradients,
        layer_index: usize,
    ) {
        let (width, mlp) = (view.spec.width, view.spec.mlp_width);
        let block = &view.layout.blocks[layer_index];
        let (saved, back) = (&self.blocks[layer_index], &mut self.back);
        let stream = if block.rows.is_some() { &saved.rows.after } else { &self.streams[layer_index] };
        let product = |id: LinearId, rows: usize, x: &[f32], add: Option<&[f32]>, out: &mut [f32]| {
            product(view.isa, &transposed[id.0], rows, x, None, add, out);
        };
        {
            let (dmiddle, dhidden) = (Shared::new(&mut back.dmiddle), Shared::new(&mut back.dhidden));
            let (activated, normed) = (Shared::new(&mut back.activated), Shared::new(&mut back.normed2));
            let (dattended, parts) = (Shared::new(&mut back.dattended), Shared::new(&mut back.norm_parts));
            let scratch = Shared::new(&mut workers.scratch);
            let dnext = &back.dnext;
            cpu.each(map.chunks(), |c, worker| {
                let (rows, _) = map.chunk(c);
                let (wide, tall) = (scaled(&rows, width), scaled(&rows, mlp));
                let count = rows.len();
                // SAFETY: chunks are disjoint, and a worker runs one task at a time.
                unsafe {
                    let dhidden = dhidden.get(tall.clone());
                    product(block.mlp_out, count, &dnext[wide.clone()], None, dhidden);
                    gelu_backward(view.isa, &saved.hidden[tall.clone()], dhidden, activated.get(tall));
                    let dnormed = &mut scratch.get(worker..worker + 1)[0].normed;
                    reserve(dnormed, wide.len());
                    let dnormed = &mut dnormed[..wide.len()];
                    product(block.mlp_in, count, dhidden, None, dnormed);
                    let dmiddle = dmiddle.get(wide.clone());
                    dmiddle.copy_from_slice(&dnext[wide.clone()]);
                    let (x, stats) = (&saved.middle[wide.clone()], &saved.stats2[rows]);
                    let parts = parts.get(scaled(&(c..c + 1), 2 * width));
                    norm_backward(view, &block.norm2, x, stats, dnormed, (dmiddle, normed.get(wide.clone()), parts));
                    product(block.attention.project, count, dmiddle, None, dattended.get(wide));
                }
            });
        }
        add_norm_parts(view, &block.norm2, map, &back.norm_parts, gradients);
        let layer = |id, x, dy| LayerGradient { id, x, dy, rows: map.rows() };
        let layers = [
            layer(block.mlp_out, &back.activated[..], &back.dnext[..]),
            layer(block.mlp_in, &back.normed2, &back.dhidden),
        ];
        add_layer_gradients(cpu, view.layout, &layers, &mut gradients.values, &mut workers.panels);
        attention_backward(cpu, view, map, workers, saved, back);
        let context = Context { cpu, view: *view, transposed };
        let own = (&block.attention, &saved.entrance, &saved.attended[..]);
        before_attention_backward(&context, map, own, &stream[..], map.history.len(), back, workers, gradients);
        if let Some(attention) = &block.rows {
            let rows = &saved.rows;
            // The gradient of the stream behind this attention is where that behind the other one was.
            std::mem::swap(&mut back.dmiddle, &mut back.dnext);
            {
                let (dmiddle, dattended) = (&back.dmiddle, Shared::new(&mut back.dattended));
                cpu.each(map.chunks(), |c, _| {
                    let (chunk, _) = map.chunk(c);
                    let wide = scaled(&chunk, width);
                    // SAFETY: chunks are disjoint.
                    let dattended = unsafe { dattended.get(wide.clone()) };
                    product(attention.project, chunk.len(), &dmiddle[wide], None, dattended);
                });
            }
            let doors = (&rows.entrance.query[..], &rows.entrance.key_value[..]);
            let into = (&mut back.dquery[..], &mut back.dkey_value[..]);
            rows::attend_backward(cpu, view, &self.spans, doors, &back.dattended, into);
            let own = (attention, &rows.entrance, &rows.attended[..]);
            before_attention_backward(
                &context,
                map,
                own,
                &self.streams[layer_index],
                map.rows(),
                back,
                workers,
                gradients,
            );
        }
    }
}

/// From the gradients of queries, keys and values to that of the stream `x` before their norm, which goes into `dnext`; that of
/// the stream behind the attention is in `dmiddle`. The first `seen` rows have keys and values.
#[allow(clippy::too_many_arguments)]
fn before_attention_backward(
    Context { cpu, view, transposed }: &Context<'_>,
    map: RowMap<'_>,
    (attention, entrance, attended): (&Attention, &Entrance, &[f32]),
    x: &[f32],
    seen: usize,
    back: &mut Back,
    workers: &mut Workers,
    gradients: &mut Gradients,
) {
    let width = view.spec.width;
    let product = |id: LinearId, rows: usize, x: &[f32], add: Option<&[f32]>, out: &mut [f32]| {
        product(view.isa, &transposed[id.0], rows, x, None, add, out);
    };
    {
        let (dprevious, normed) = (Shared::new(&mut back.dprevious), Shared::new(&mut back.normed1));
        let (parts, scratch) = (Shared::new(&mut back.norm_parts), Shared::new(&mut workers.scratch));
        let (dmiddle, dquery, dkey_value) = (&back.dmiddle, &back.dquery, &back.dkey_value);
        cpu.each(map.chunks(), |c, worker| {
            let (rows, _) = map.chunk(c);
            let wide = scaled(&rows, width);
            // SAFETY: chunks are disjoint, and a worker runs one task at a time.
            unsafe {
                let scratch = &mut scratch.get(worker..worker + 1)[0];
                reserve(&mut scratch.normed, wide.len());
                reserve(&mut scratch.hidden, wide.len());
                let mut dnormed = &mut scratch.normed[..wide.len()];
                product(attention.query, rows.len(), &dquery[wide.clone()], None, dnormed);
                // No chunk is half seen: those of history and of queries do not mix.
                if rows.end <= seen {
                    let sum = &mut scratch.hidden[..wide.len()];
                    product(attention.key_value, rows.len(), &dkey_value[scaled(&rows, 2 * width)], Some(dnormed), sum);
                    dnormed = sum;
                }
                let dprevious = dprevious.get(wide.clone());
                dprevious.copy_from_slice(&dmiddle[wide.clone()]);
                let (x, stats) = (&x[wide.clone()], &entrance.stats[rows]);
                let parts = parts.get(scaled(&(c..c + 1), 2 * width));
                norm_backward(view, &attention.norm, x, stats, dnormed, (dprevious, normed.get(wide), parts));
            }
        });
    }
    add_norm_parts(view, &attention.norm, map, &back.norm_parts, gradients);
    let layer = |id, x, dy, rows| LayerGradient { id, x, dy, rows };
    let layers = [
        layer(attention.project, attended, &back.dmiddle[..], map.rows()),
        layer(attention.query, &back.normed1, &back.dquery, map.rows()),
        layer(attention.key_value, &back.normed1, &back.dkey_value, seen),
    ];
    add_layer_gradients(cpu, view.layout, &layers, &mut gradients.values, &mut workers.panels);
    std::mem::swap(&mut back.dnext, &mut back.dprevious);
}

/// Adds dL/dx into the first of `to`; the others receive the norm's output anew and dL/d(gain, bias).
fn norm_backward(
    view: &View<'_>,
    norm: &Norm,
    x: &[f32],
    stats: &[[f32; 2]],
    dnormed: &[f32],
    (dx, normed, parts): (&mut [f32], &mut [f32], &mut [f32]),
) {
    let (gain, bias) = (&view.weights[norm.gain.clone()], &view.weights[norm.bias.clone()]);
    parts.fill(0.0);
    let (dgain, dbias) = parts.split_at_mut(gain.len());
    // SAFETY: the kernel checks lengths; the instruction set was detected.
    unsafe { layer_norm_backward(view.isa, x, stats, gain, bias, dnormed, dx, normed, dgain, dbias) }
}

/// Adds all chunks' norm gradients, in order.
fn add_norm_parts(view: &View<'_>, norm: &Norm, map: RowMap<'_>, parts: &[f32], gradients: &mut Gradients) {
    let width = view.spec.width;
    for part in parts.chunks_exact(2 * width).take(map.chunks()) {
        // SAFETY: the kernel checks lengths; the instruction set was detected.
        unsafe {
            add(view.isa, &part[..width], &mut gradients.values[norm.gain.clone()]);
            add(view.isa, &part[width..], &mut gradients.values[norm.bias.clone()]);
        }
    }
}

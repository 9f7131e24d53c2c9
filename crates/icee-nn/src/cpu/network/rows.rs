//! Rows on their way through the blocks, against the keys and values of their sequences.

use super::cache::{Cache, Shape, write_token};
use super::heads::HeadSpace;
use super::{Cut, Network, PageTable, Served, each};
use crate::batch::Tokens;
use crate::cpu::kernels::attention::{HeadRows, KeyTile, Visible};
use crate::cpu::memory::{Buffer, reserve};
use crate::cpu::threads::{Shared, scaled};
use crate::cpu::view::{AfterAttention, Scratch, View};
use crate::spec::History;
use std::ops::Range;

/// Buffers over rows.
#[derive(Default)]
pub(super) struct RowBuffers {
    x: Buffer<f32>,
    next: Buffer<f32>,
    query: Buffer<f32>,
    key_value: Buffer<f32>,
    attended: Buffer<f32>,
    pub(super) out: Buffer<f32>,
}

/// One thread's space.
#[derive(Default)]
pub(super) struct Worker {
    pub(super) scratch: Scratch,
    rows: RowBuffers,
    middle: Vec<f32>,
    hidden: Vec<f32>,
    pub(super) single_tiles: Vec<KeyTile<f32>>,
    pub(super) half_tiles: Vec<KeyTile<u16>>,
    pub(super) heads: HeadSpace,
}

// SAFETY: tiles are pointers made anew by each task.
unsafe impl Send for Worker {}

impl Worker {
    /// The part of a block behind attention, from the stream `x` to the stream `next`.
    fn after_attention(&mut self, view: &View<'_>, layer: usize, x: &[f32], attended: &[f32], next: &mut [f32]) {
        let rows = x.len() / view.spec.width;
        reserve(&mut self.middle, x.len());
        reserve(&mut self.hidden, rows * view.spec.mlp_width);
        let mut stats = std::mem::take(&mut self.scratch.stats);
        reserve(&mut stats, rows);
        let io = AfterAttention {
            x,
            attended,
            middle: &mut self.middle[..attended.len()],
            stats: &mut stats[..rows],
            hidden: &mut self.hidden[..rows * view.spec.mlp_width],
            next,
        };
        view.after_attention(&view.layout.blocks[layer], io, &mut self.scratch);
        self.scratch.stats = stats;
    }
}

/// The rows of an append, shared by its tasks.
struct Append<'a, E> {
    view: View<'a>,
    tokens: &'a Tokens,
    /// Each sequence's length before the append.
    starts: &'a [usize],
    pages: &'a PageTable<E>,
    workers: Shared<'a, Worker>,
    /// The residual stream before and behind the block at hand: even blocks read the first.
    streams: [Shared<'a, f32>; 2],
    query: Shared<'a, f32>,
    key_value: Shared<'a, f32>,
    attended: Shared<'a, f32>,
    out: Shared<'a, f32>,
}

impl<E: Served> Append<'_, E> {
    /// # Safety (all methods)
    /// Chunks of rows, and (sequence, head) pairs, must not overlap between tasks that run at the same time, and a
    /// worker must run one task at a time.
    #[allow(clippy::mut_from_ref)]
    unsafe fn worker(&self, index: usize) -> &mut Worker {
        // SAFETY: the caller's contract.
        unsafe { &mut self.workers.get(index..index + 1)[0] }
    }

    unsafe fn embed(&self, rows: Range<usize>, worker: usize) {
        // SAFETY: the caller's contract.
        let (x, worker) = unsafe { (self.streams[0].get(scaled(&rows, self.view.spec.width)), self.worker(worker)) };
        let fields = &self.view.layout.history_fields;
        self.view.embed(fields, &self.tokens.fields, rows.start, rows.len(), x, &mut worker.scratch);
    }

    unsafe fn before_attention(&self, layer: usize, rows: Range<usize>, worker: usize) {
        let wide = scaled(&rows, self.view.spec.width);
        // SAFETY: the caller's contract.
        let (x, query, key_value, scratch) = unsafe {
            let key_value = self.key_value.get(wide.start * 2..wide.end * 2);
            let x = self.streams[layer % 2].get(wide.clone());
            (x, self.query.get(wide), key_value, &mut self.worker(worker).scratch)
        };
        let mut stats = std::mem::take(&mut scratch.stats);
        reserve(&mut stats, rows.len());
        let block = &self.view.layout.blocks[layer];
        self.view.before_attention(block, x, &mut stats[..rows.len()], query, Some(key_value), scratch);
        scratch.stats = stats;
    }

    /// Stores one head's new keys and values of a sequence, then lets its rows attend.
    unsafe fn attend(&self, layer: usize, s: usize, head: usize, worker: usize) {
        let spec = self.view.spec;
        let (width, head_width, shape) = (spec.width, spec.head_width(), Shape::of(spec));
        let rows = self.tokens.offsets[s]..self.tokens.offsets[s + 1];
        if rows.is_empty() {
            return;
        }
        let at = head * head_width;
        for (i, row) in rows.clone().enumerate() {
            let from = row * 2 * width + at;
            // SAFETY: the caller's contract; the positions were made by the caches' `extend`.
            unsafe {
                let key = self.key_value.get(from..from + head_width);
                let value = self.key_value.get(from + width..from + width + head_width);
                write_token(self.view.isa, shape, self.pages.of(s), (layer, head), self.starts[s] + i, key, value);
            }
        }
        // SAFETY: the caller's contract.
        let tiles = E::tiles(unsafe { self.worker(worker) });
        self.pages.fill_tiles(s, shape, layer, head, tiles);
        let wide = rows.start * width + at..(rows.end - 1) * width + at + head_width;
        let visible = match spec.history {
            History::Causal => Visible::Causal { first: self.starts[s] + 1 },
            History::Set => Visible::All(rows.len()),
        };
        let rows = HeadRows {
            rows: rows.len(),
            head_width,
            visible,
            query: self.query.pointer(wide.clone()),
            query_stride: width,
            out: self.attended.pointer(wide),
            out_stride: width,
            stats: std::ptr::null_mut(),
        };
        // SAFETY: the caller's contract; the pages hold all tokens that the rows see.
        unsafe { E::attend(self.view.isa, &rows, tiles) }
    }

    unsafe fn after_attention(&self, layer: usize, rows: Range<usize>, worker: usize) {
        let wide = scaled(&rows, self.view.spec.width);
        // SAFETY: the caller's contract.
        unsafe {
            let (x, next) =
                (self.streams[layer % 2].get(wide.clone()), self.streams[(layer + 1) % 2].get(wide.clone()));
            self.worker(worker).after_attention(&self.view, layer, x, self.attended.get(wide), next);
        }
    }

    unsafe fn finish(&self, rows: Range<usize>, worker: usize) {
        let wide = scaled(&rows, self.view.spec.width);
        // SAFETY: the caller's contract.
        let (x, out, worker) = unsafe {
            let x = self.streams[self.view.spec.layers % 2].get(wide.clone());
            (x, self.out.get(wide), self.worker(worker))
        };
        reserve(&mut worker.scratch.stats, rows.len());
        self.view.norm(&self.view.layout.norm, x, out, &mut worker.scratch.stats[..rows.len()]);
    }
}

impl Network {
    pub(super) fn append_rows<E: Served>(&mut self, pages: &PageTable<E>, starts: &[usize], tokens: &Tokens) {
        let cpu = self.cpu.clone();
        let view = Self::view(&cpu, &self.model, &self.packed);
        let (total, width, heads) = (tokens.len(), view.spec.width, view.spec.attention_heads);
        let buffers = &mut self.rows;
        for buffer in [&mut buffers.x, &mut buffers.next, &mut buffers.query, &mut buffers.attended, &mut buffers.out] {
            buffer.reserve(total * width);
        }
        buffers.key_value.reserve(total * 2 * width);
        let append = Append {
            view,
            tokens,
            starts,
            pages,
            workers: Shared::new(&mut self.workers),
            streams: [Shared::new(&mut buffers.x), Shared::new(&mut buffers.next)],
            query: Shared::new(&mut buffers.query),
            key_value: Shared::new(&mut buffers.key_value),
            attended: Shared::new(&mut buffers.attended),
            out: Shared::new(&mut buffers.out),
        };
        // Few rows are done sooner than threads are woken. Rows are independent, so the cut does not matter.
        let parallel = total * width * width > 1 << 18;
        let cut = Cut::new(total, if parallel { cpu.threads() } else { 1 });
        let each_chunk = |task: &(dyn Fn(Range<usize>, usize) + Sync)| {
            each(&cpu, parallel, cut.chunks, |c, worker| task(cut.chunk(c), worker));
        };
        let work = || {
            // SAFETY: in all calls, chunks and (sequence, head) pairs are disjoint; regions follow one another.
            each_chunk(&|rows, worker| unsafe {
                append.embed(rows.clone(), worker);
                append.before_attention(0, rows, worker);
            });
            for layer in 0..view.spec.layers {
                each(&cpu, parallel, starts.len() * heads, |task, worker| {
                    // SAFETY: as above.
                    unsafe { append.attend(layer, task / heads, task % heads, worker) }
                });
                // SAFETY: as above.
                each_chunk(&|rows, worker| unsafe {
                    append.after_attention(layer, rows.clone(), worker);
                    if layer + 1 < view.spec.layers {
                        append.before_attention(layer + 1, rows, worker);
                    } else {
                        append.finish(rows, worker);
                    }
                });
            }
        };
        if parallel { cpu.run(work) } else { work() }
    }

    /// Queries see nothing but their history, so a chunk goes through all blocks as one task.
    pub(super) fn query_rows<E: Served>(&mut self, pages: &PageTable<E>, caches: &[&Cache], tokens: &Tokens) {
        let cpu = self.cpu.clone();
        let view = Self::view(&cpu, &self.model, &self.packed);
        let (spec, width) = (view.spec, view.spec.width);
        let (heads, head_width, shape) = (spec.attention_heads, spec.head_width(), Shape::of(spec));
        self.rows.out.reserve(tokens.len() * width);
        let mut tasks = Vec::new();
        for s in 0..caches.len() {
            let first = tokens.offsets[s];
            // Several sequences are work enough for all threads without cutting each of them finely.
            let threads = if caches.len() < cpu.threads() { cpu.threads() } else { 1 };
            let cut = Cut::new(tokens.offsets[s + 1] - first, threads);
            tasks.extend((0..cut.chunks).map(|c| cut.chunk(c)).map(|part| (s, first + part.start..first + part.end)));
        }
        let (workers, out) = (Shared::new(&mut self.workers), Shared::new(&mut self.rows.out));
        each(&cpu, tasks.len() > 1, tasks.len(), |t, worker| {
            let (s, rows) = (tasks[t].0, tasks[t].1.clone());
            let (count, size) = (rows.len(), rows.len() * width);
            // SAFETY: tasks have disjoint rows, and a worker runs one task at a time.
            let (worker, out) = unsafe { (&mut workers.get(worker..worker + 1)[0], out.get(scaled(&rows, width))) };
            let mut b = std::mem::take(&mut worker.rows);
            for buffer in [&mut b.x, &mut b.next, &mut b.query, &mut b.attended] {
                buffer.reserve(size);
            }
            let mut stats = std::mem::take(&mut worker.scratch.stats);
            reserve(&mut stats, count);
            let fields = &view.layout.query_fields;
            view.embed(fields, &tokens.fields, rows.start, count, &mut b.x[..size], &mut worker.scratch);
            for (layer, block) in view.layout.blocks.iter().enumerate() {
                let (x, query) = (&b.x[..size], &mut b.query[..size]);
                view.before_attention(block, x, &mut stats[..count], query, None, &mut worker.scratch);
                for head in 0..heads {
                    let tiles = E::tiles(worker);
                    pages.fill_tiles(s, shape, layer, head, tiles);
                    let at = head * head_width;
                    let head_rows = HeadRows {
                        rows: count,
                        head_width,
                        visible: Visible::All(caches[s].len()),
                        query: b.query[at..size].as_ptr(),
                        query_stride: width,
                        out: b.attended[at..size].as_mut_ptr(),
                        out_stride: width,
                        stats: std::ptr::null_mut(),
                    };
                    // SAFETY: the buffers have `count` rows of `width`; the pages hold the cache's tokens.
                    unsafe { E::attend(view.isa, &head_rows, tiles) }
                }
                worker.after_attention(&view, layer, &b.x[..size], &b.attended[..size], &mut b.next[..size]);
                std::mem::swap(&mut b.x, &mut b.next);
            }
            view.norm(&view.layout.norm, &b.x[..size], out, &mut stats[..count]);
            worker.scratch.stats = stats;
            worker.rows = b;
        });
    }
}

//! Rows on their way through the blocks, against the keys and values of their sequences.

use super::cache::{Cache, Shape, write_token};
use super::heads::HeadSpace;
use super::{Answers, Cut, Network, PageTable, Served, each};
use crate::batch::Tokens;
use crate::cpu::kernels::attention::{HeadRows, KeyTile, Visible};
use crate::cpu::kernels::cells::attend_cells;
use crate::cpu::memory::{Buffer, reserve};
use crate::cpu::spans::Span;
use crate::cpu::threads::{Shared, scaled};
use crate::cpu::view::{AfterAttention, Scratch, View};
use crate::layout::Attention;
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

    unsafe fn before_attention(&self, layer: usize, attention: &Attention, rows: Range<usize>, worker: usize) {
        let wide = scaled(&rows, self.view.spec.width);
        // SAFETY: the caller's contract.
        let (x, query, key_value, scratch) = unsafe {
            let key_value = self.key_value.get(wide.start * 2..wide.end * 2);
            let x = self.streams[layer % 2].get(wide.clone());
            (x, self.query.get(wide), key_value, &mut self.worker(worker).scratch)
        };
        let mut stats = std::mem::take(&mut scratch.stats);
        reserve(&mut stats, rows.len());
        self.view.before_attention(attention, x, &mut stats[..rows.len()], query, Some(key_value), scratch);
        scratch.stats = stats;
    }

    /// Lets the cells of some rows attend to each other.
    unsafe fn attend_rows(&self, span: &Span) {
        let (one, two) = (span.range(self.view.spec.width), span.range(2 * self.view.spec.width));
        let (query, key_value) = (self.query.pointer(one.clone()), self.key_value.pointer(two));
        let cells = span.cells_at(&self.view, query, key_value);
        // SAFETY: the caller's contract; all ranges were checked.
        unsafe { attend_cells(self.view.isa, &cells, self.attended.pointer(one)) }
    }

    /// From behind the attention among the cells of a row to the other one of the block.
    unsafe fn between(&self, layer: usize, rows: Range<usize>, worker: usize) {
        let (wide, block) = (scaled(&rows, self.view.spec.width), &self.view.layout.blocks[layer]);
        if let Some(attention) = &block.rows {
            // SAFETY: the caller's contract.
            let (x, attended, middle) = unsafe {
                let x = self.streams[layer % 2].get(wide.clone());
                (x, self.attended.get(wide.clone()), &mut self.worker(worker).middle)
            };
            reserve(middle, wide.len());
            self.view.linear(attention.project, rows.len(), attended, Some(x), middle);
            x.copy_from_slice(&middle[..wide.len()]);
        }
        // SAFETY: the caller's contract.
        unsafe { self.before_attention(layer, &block.attention, rows, worker) }
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
        let mut spans = Vec::new();
        Span::cut(tokens, 0, &mut spans);
        let work = || {
            // SAFETY: in all calls, chunks and (sequence, head) pairs are disjoint; regions follow one another.
            each_chunk(&|rows, worker| unsafe {
                append.embed(rows.clone(), worker);
                append.before_attention(0, view.layout.blocks[0].first_attention(), rows, worker);
            });
            for (layer, block) in view.layout.blocks.iter().enumerate() {
                if block.rows.is_some() {
                    // SAFETY: as above; spans share no cell.
                    each(&cpu, parallel, spans.len(), |span, _| unsafe { append.attend_rows(&spans[span]) });
                    // SAFETY: as above.
                    each_chunk(&|rows, worker| unsafe { append.between(layer, rows, worker) });
                }
                each(&cpu, parallel, starts.len() * heads, |task, worker| {
                    // SAFETY: as above.
                    unsafe { append.attend(layer, task / heads, task % heads, worker) }
                });
                // SAFETY: as above.
                each_chunk(&|rows, worker| unsafe {
                    append.after_attention(layer, rows.clone(), worker);
                    match view.layout.blocks.get(layer + 1) {
                        Some(next) => append.before_attention(layer + 1, next.first_attention(), rows, worker),
                        None => append.finish(rows, worker),
                    }
                });
            }
        };
        if parallel { cpu.run(work) } else { work() }
    }

    /// Queries see nothing but their history, and of a table the cells of their row; so a piece of rows goes through all
    /// blocks as one task.
    pub(super) fn query_rows<E: Served>(
        &mut self,
        pages: &PageTable<E>,
        caches: &[&Cache],
        tokens: &Tokens,
        answers: Answers,
    ) {
        let cpu = self.cpu.clone();
        let view = Self::view(&cpu, &self.model, &self.packed);
        let width = view.spec.width;
        self.rows.out.reserve(tokens.len() * width);
        let pieces = Piece::cut(tokens, cpu.threads(), answers);
        let (workers, out) = (Shared::new(&mut self.workers), Shared::new(&mut self.rows.out));
        each(&cpu, pieces.len() > 1, pieces.len(), |t, worker| {
            let piece = &pieces[t];
            // SAFETY: a worker runs one task at a time.
            let worker = unsafe { &mut workers.get(worker..worker + 1)[0] };
            worker.query(&view, pages, caches, tokens, piece);
            let mut stats = std::mem::take(&mut worker.scratch.stats);
            let count = piece.rows.len();
            for column in piece.wanted..piece.columns {
                let x = &worker.rows.x[column * count * width..(column + 1) * count * width];
                // SAFETY: pieces share no token.
                let out = unsafe { out.get(scaled(&piece.answers(tokens, column), width)) };
                view.norm(&view.layout.norm, x, out, &mut stats[..count]);
            }
            worker.scratch.stats = stats;
        });
    }
}

/// Some query rows: those of one sequence, or of all columns of a table.
struct Piece {
    first: usize,
    columns: usize,
    /// Within each sequence.
    rows: Range<usize>,
    /// The first column whose answers are wanted.
    wanted: usize,
    /// Where the table's answers begin, in rows, if only those of its last column are wanted.
    place: Option<usize>,
}

impl Piece {
    fn cut(tokens: &Tokens, threads: usize, answers: Answers) -> Vec<Piece> {
        let alone: Vec<usize>;
        let tables = if tokens.tables.is_empty() {
            alone = (0..=tokens.sequences()).collect();
            &alone
        } else {
            &tokens.tables
        };
        // Several sequences are work enough for all threads without cutting each of them finely.
        let threads = if tables.len() <= threads { threads } else { 1 };
        let (mut pieces, mut before) = (Vec::new(), 0);
        for table in tables.windows(2).filter(|table| table[0] < table[1]) {
            let (first, columns) = (table[0], table[1] - table[0]);
            let (wanted, place) = match answers {
                Answers::All => (0, None),
                Answers::LastColumns => (columns - 1, Some(before)),
            };
            let rows = tokens.offsets[first + 1] - tokens.offsets[first];
            let cut = Cut::of(rows, columns, threads);
            let piece = |c: usize| Piece { first, columns, rows: cut.chunk(c), wanted, place };
            pieces.extend((0..cut.chunks).map(piece));
            before += rows;
        }
        pieces
    }

    /// The tokens of one column.
    fn tokens(&self, tokens: &Tokens, column: usize) -> Range<usize> {
        let first = tokens.offsets[self.first + column];
        first + self.rows.start..first + self.rows.end
    }

    /// Where the answers of one column go, in rows.
    fn answers(&self, tokens: &Tokens, column: usize) -> Range<usize> {
        match self.place {
            Some(place) => place + self.rows.start..place + self.rows.end,
            None => self.tokens(tokens, column),
        }
    }
}

impl Worker {
    /// Takes query rows through all blocks; the stream behind the last stays in `rows.x`, column after column, for those that are
    /// wanted.
    fn query<E: Served>(
        &mut self,
        view: &View<'_>,
        pages: &PageTable<E>,
        caches: &[&Cache],
        tokens: &Tokens,
        piece: &Piece,
    ) {
        let (spec, width, count) = (view.spec, view.spec.width, piece.rows.len());
        let (head_width, shape) = (spec.head_width(), Shape::of(spec));
        let (all, size) = (piece.columns * count, piece.columns * count * width);
        let mut b = std::mem::take(&mut self.rows);
        for buffer in [&mut b.x, &mut b.next, &mut b.query, &mut b.attended] {
            buffer.reserve(size);
        }
        let mut stats = std::mem::take(&mut self.scratch.stats);
        reserve(&mut stats, all);
        for (column, x) in b.x[..size].chunks_exact_mut(count * width).enumerate() {
            let start = piece.tokens(tokens, column).start;
            view.embed(&view.layout.query_fields, &tokens.fields, start, count, x, &mut self.scratch);
        }
        for (layer, block) in view.layout.blocks.iter().enumerate() {
            if let Some(attention) = &block.rows {
                b.key_value.reserve(2 * size);
                let (query, key_value) = (&mut b.query[..size], &mut b.key_value[..2 * size]);
                let doors = (&mut stats[..all], &mut *query, Some(&mut *key_value));
                view.before_attention(attention, &b.x[..size], doors.0, doors.1, doors.2, &mut self.scratch);
                let cells = Span::whole(piece.columns, count).cells(view, query, key_value);
                // SAFETY: the buffers have `count` rows of all columns.
                unsafe { attend_cells(view.isa, &cells, b.attended[..size].as_mut_ptr()) }
                view.linear(attention.project, all, &b.attended[..size], Some(&b.x[..size]), &mut b.next[..size]);
                std::mem::swap(&mut b.x, &mut b.next);
            }
            // From here on columns do not meet again before the next block.
            let from = if layer + 1 == spec.layers { piece.wanted } else { 0 };
            let part = from * count * width..size;
            let (x, query) = (&b.x[part.clone()], &mut b.query[part.clone()]);
            view.before_attention(&block.attention, x, &mut stats[from * count..all], query, None, &mut self.scratch);
            for column in from..piece.columns {
                let s = piece.first + column;
                for head in 0..spec.attention_heads {
                    let tiles = E::tiles(self);
                    pages.fill_tiles(s, shape, layer, head, tiles);
                    let own = column * count * width + head * head_width..(column + 1) * count * width;
                    let head_rows = HeadRows {
                        rows: count,
                        head_width,
                        visible: Visible::All(caches[s].len()),
                        query: b.query[own.clone()].as_ptr(),
                        query_stride: width,
                        out: b.attended[own].as_mut_ptr(),
                        out_stride: width,
                        stats: std::ptr::null_mut(),
                    };
                    // SAFETY: the buffers have `count` rows of `width` for each column; the pages hold the cache's tokens.
                    unsafe { E::attend(view.isa, &head_rows, tiles) }
                }
            }
            let (x, attended) = (&b.x[part.clone()], &b.attended[part.clone()]);
            self.after_attention(view, layer, x, attended, &mut b.next[part]);
            std::mem::swap(&mut b.x, &mut b.next);
        }
        self.scratch.stats = stats;
        self.rows = b;
    }
}

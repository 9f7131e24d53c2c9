//! In-context inference: append tokens to sequences, put queries to them, read the heads.
//!
//! Each row's result depends only on its own sequence. So a batch agrees bit for bit with its sequences one by one, a
//! sequence appended token by token with the same sequence at once, and queries in chunks with all of them together.

mod cache;
mod heads;

pub use cache::Cache;
pub use heads::CandidateSet;

use super::kernels::attention::{HeadRows, KeyTile, Visible};
use super::packed::{Packed, Weights};
use super::memory::reserve;
use super::threads::{Cpu, Shared, chunk};
use super::view::{AfterAttention, CHUNK, Scratch, View};
use crate::batch::Tokens;
use crate::spec::{FieldSpec, History};
use crate::{Error, Model, Precision, Result};
use cache::{Shape, Stored, write_token};
use std::ops::Range;

/// A model made ready for inference on a CPU, with the space it needs.
pub struct Network {
    cpu: Cpu,
    model: Model,
    packed: Vec<Weights>,
    rows: RowBuffers,
    workers: Vec<Worker>,
    single_pages: PageTable<f32>,
    half_pages: PageTable<u16>,
    head_out: Vec<f32>,
}

/// Buffers over all rows of an append.
#[derive(Default)]
struct RowBuffers {
    x: Vec<f32>,
    query: Vec<f32>,
    key_value: Vec<f32>,
    attended: Vec<f32>,
    out: Vec<f32>,
}

/// One thread's space.
#[derive(Default)]
struct Worker {
    scratch: Scratch,
    rows: RowBuffers,
    middle: Vec<f32>,
    hidden: Vec<f32>,
    next: Vec<f32>,
    single_tiles: Vec<KeyTile<f32>>,
    half_tiles: Vec<KeyTile<u16>>,
    heads: heads::HeadSpace,
}

// SAFETY: tiles are pointers made anew by each task.
unsafe impl Send for Worker {}

/// Page pointers of all caches of a call.
struct PageTable<E> {
    pointers: Vec<*mut E>,
    /// Sequence s has `starts[s]..starts[s + 1]`.
    starts: Vec<usize>,
}

impl<E> Default for PageTable<E> {
    fn default() -> Self {
        PageTable { pointers: Vec::new(), starts: vec![0] }
    }
}

// SAFETY: the pointers are used within one call that holds the caches.
unsafe impl<E> Send for PageTable<E> {}
// SAFETY: as above.
unsafe impl<E> Sync for PageTable<E> {}

impl<E: Stored> PageTable<E> {
    fn clear(&mut self) {
        self.pointers.clear();
        self.starts.truncate(1);
    }

    fn of(&self, sequence: usize) -> &[*mut E] {
        &self.pointers[self.starts[sequence]..self.starts[sequence + 1]]
    }

    fn fill_tiles(&self, sequence: usize, shape: Shape, layer: usize, head: usize, tiles: &mut Vec<KeyTile<E>>) {
        tiles.clear();
        for &page in self.of(sequence) {
            // SAFETY: a page has room for every block, head and tile.
            tiles.extend((0..shape.page_tiles).map(|tile| unsafe {
                let (keys, values) = (shape.keys_at(layer, head, tile), shape.values_at(layer, head, tile));
                KeyTile { keys: page.add(keys), values: page.add(values) }
            }));
        }
    }
}

/// Which of a worker's tile lists and a network's page tables serve an element type.
trait Served: Stored {
    fn tiles(worker: &mut Worker) -> &mut Vec<KeyTile<Self>>;
}

impl Served for f32 {
    fn tiles(worker: &mut Worker) -> &mut Vec<KeyTile<f32>> {
        &mut worker.single_tiles
    }
}

impl Served for u16 {
    fn tiles(worker: &mut Worker) -> &mut Vec<KeyTile<u16>> {
        &mut worker.half_tiles
    }
}

fn scaled(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start * by..range.end * by
}

impl Network {
    /// Makes a model ready, its weights stored in the given precision.
    pub fn new(cpu: &Cpu, model: &Model, weights: Precision) -> Network {
        let layout = model.layout();
        let packed = layout.linears.iter().map(|linear| {
            let values = &model.weights()[linear.weight.clone()];
            match weights {
                Precision::Single => {
                    let mut packed = Packed::<f32>::default();
                    packed.pack(values, linear.inputs, linear.outputs);
                    Weights::Single(packed)
                }
                Precision::Half => {
                    let mut packed = Packed::<u16>::default();
                    packed.pack(values, linear.inputs, linear.outputs);
                    Weights::Half(packed)
                }
            }
        });
        let mut workers = Vec::new();
        workers.resize_with(cpu.threads(), Worker::default);
        Network {
            cpu: cpu.clone(),
            packed: packed.collect(),
            model: model.clone(),
            rows: RowBuffers::default(),
            workers,
            single_pages: PageTable::default(),
            half_pages: PageTable::default(),
            head_out: Vec::new(),
        }
    }

    /// The model it was made from.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// An empty cache for one sequence.
    pub fn cache(&self, precision: Precision) -> Cache {
        Cache::new(Shape::of(self.model.spec()), precision)
    }

    fn view<'a>(cpu: &Cpu, model: &'a Model, packed: &'a [Weights]) -> View<'a> {
        View { spec: model.spec(), layout: model.layout(), weights: model.weights(), packed, isa: cpu.isa() }
    }

    /// Appends tokens, any number to each sequence, and returns the trunk's output for them, [tokens, width].
    ///
    /// A model of sets sees all tokens of a sequence at once: its cache must be empty.
    pub fn append(&mut self, caches: &mut [&mut Cache], tokens: &Tokens) -> Result<&[f32]> {
        let spec = self.model.spec();
        tokens.check("history", spec.fields.iter().filter(|f| f.on_history()))?;
        check_caches(spec, caches.iter().map(|c| &**c), tokens)?;
        for (s, (cache, span)) in caches.iter().zip(tokens.offsets.windows(2)).enumerate() {
            let count = span[1] - span[0];
            if count > cache.room() {
                let (has, context) = (cache.len(), spec.context);
                let message = format!("sequence {s} has {has} tokens; {count} more pass the model's context {context}");
                return Err(Error::Cache(message));
            }
            if spec.history == History::Set && count > 0 && !cache.is_empty() {
                let message = format!("sequence {s} is a set: truncate it to 0, then append all its tokens at once");
                return Err(Error::Cache(message));
            }
        }
        let precision = caches.first().map_or(Precision::Single, |c| c.precision());
        let starts: Vec<usize> = caches.iter().map(|c| c.len()).collect();
        for (cache, span) in caches.iter_mut().zip(tokens.offsets.windows(2)) {
            cache.extend(span[1] - span[0]);
        }
        match precision {
            Precision::Single => {
                let mut pages = std::mem::take(&mut self.single_pages);
                pages.clear();
                for cache in caches.iter_mut() {
                    f32::write_pointers(cache, &mut pages.pointers);
                    pages.starts.push(pages.pointers.len());
                }
                self.append_rows(&pages, &starts, tokens);
                self.single_pages = pages;
            }
            Precision::Half => {
                let mut pages = std::mem::take(&mut self.half_pages);
                pages.clear();
                for cache in caches.iter_mut() {
                    u16::write_pointers(cache, &mut pages.pointers);
                    pages.starts.push(pages.pointers.len());
                }
                self.append_rows(&pages, &starts, tokens);
                self.half_pages = pages;
            }
        }
        Ok(&self.rows.out[..tokens.len() * self.model.spec().width])
    }

    fn append_rows<E: Served>(&mut self, pages: &PageTable<E>, starts: &[usize], tokens: &Tokens) {
        let cpu = self.cpu.clone();
        let view = Self::view(&cpu, &self.model, &self.packed);
        let (spec, total, width) = (view.spec, tokens.len(), view.spec.width);
        let (heads, head_width, shape) = (spec.attention_heads, spec.head_width(), Shape::of(spec));
        let buffers = &mut self.rows;
        for buffer in [&mut buffers.x, &mut buffers.query, &mut buffers.attended, &mut buffers.out] {
            reserve(buffer, total * width);
        }
        reserve(&mut buffers.key_value, total * 2 * width);
        // Few rows are done sooner than threads are woken. Rows are independent, so the cut does not matter.
        let parallel = total * width * width > 1 << 18;
        let size = if parallel { chunk_size(total, cpu.threads()) } else { CHUNK };
        let chunks = total.div_ceil(size);
        let fields = &view.layout.history_fields;
        let workers = Shared::new(&mut self.workers);
        let (x, query) = (Shared::new(&mut buffers.x), Shared::new(&mut buffers.query));
        let (key_value, attended) = (Shared::new(&mut buffers.key_value), Shared::new(&mut buffers.attended));
        let out = Shared::new(&mut buffers.out);
        // SAFETY (every block below): chunks of rows, and (sequence, head) pairs, are disjoint; a worker runs one task
        // at a time; regions run one after another.
        let work = || {
            each(&cpu, parallel, chunks, |c, worker| unsafe {
                let rows = chunk(c, size, total);
                let scratch = &mut workers.get(worker..worker + 1)[0].scratch;
                view.embed(fields, &tokens.fields, rows.start, rows.len(), x.get(scaled(&rows, width)), scratch);
            });
            for (layer, block) in view.layout.blocks.iter().enumerate() {
                each(&cpu, parallel, chunks, |c, worker| unsafe {
                    let rows = chunk(c, size, total);
                    let scratch = &mut workers.get(worker..worker + 1)[0].scratch;
                    let mut stats = std::mem::take(&mut scratch.stats);
                    reserve(&mut stats, rows.len());
                    let (x, query) = (x.get(scaled(&rows, width)), query.get(scaled(&rows, width)));
                    let key_value = key_value.get(scaled(&rows, 2 * width));
                    view.before_attention(block, x, &mut stats[..rows.len()], query, Some(key_value), scratch);
                    scratch.stats = stats;
                });
                each(&cpu, parallel, starts.len() * heads, |task, worker| unsafe {
                    let (s, head) = (task / heads, task % heads);
                    let rows = tokens.offsets[s]..tokens.offsets[s + 1];
                    if rows.is_empty() {
                        return;
                    }
                    let at = head * head_width;
                    for (i, row) in rows.clone().enumerate() {
                        let from = row * 2 * width + at;
                        let key = key_value.get(from..from + head_width);
                        let value = key_value.get(from + width..from + width + head_width);
                        write_token(shape, pages.of(s), (layer, head), starts[s] + i, key, value);
                    }
                    let tiles = E::tiles(&mut workers.get(worker..worker + 1)[0]);
                    pages.fill_tiles(s, shape, layer, head, tiles);
                    let wide = rows.start * width + at..(rows.end - 1) * width + at + head_width;
                    let visible = match spec.history {
                        History::Causal => Visible::Causal { first: starts[s] + 1 },
                        History::Set => Visible::All(rows.len()),
                    };
                    let rows = HeadRows {
                        rows: rows.len(),
                        head_width,
                        visible,
                        query: query.pointer(wide.clone()),
                        query_stride: width,
                        out: attended.pointer(wide),
                        out_stride: width,
                        stats: std::ptr::null_mut(),
                    };
                    E::attend(view.isa, &rows, tiles);
                });
                each(&cpu, parallel, chunks, |c, worker| unsafe {
                    let rows = chunk(c, size, total);
                    let worker = &mut workers.get(worker..worker + 1)[0];
                    let (x, attended) = (x.get(scaled(&rows, width)), attended.get(scaled(&rows, width)));
                    worker.after_attention(&view, layer, x, attended);
                });
            }
            each(&cpu, parallel, chunks, |c, worker| unsafe {
                let rows = chunk(c, size, total);
                let stats = &mut workers.get(worker..worker + 1)[0].scratch.stats;
                reserve(stats, rows.len());
                let (x, out) = (x.get(scaled(&rows, width)), out.get(scaled(&rows, width)));
                view.norm(&view.layout.norm, x, out, &mut stats[..rows.len()]);
            });
        };
        if parallel { cpu.run(work) } else { work() }
    }

    /// Puts query tokens to the sequences' histories, which stay as they are; returns the trunk's output for them,
    /// [tokens, width].
    pub fn query(&mut self, caches: &[&Cache], tokens: &Tokens) -> Result<&[f32]> {
        let spec = self.model.spec();
        if !spec.fields.iter().any(FieldSpec::on_query) {
            return Err(Error::Cache("the model has no field on query tokens".into()));
        }
        tokens.check("queries", spec.fields.iter().filter(|f| f.on_query()))?;
        check_caches(spec, caches.iter().copied(), tokens)?;
        match caches.first().map_or(Precision::Single, |c| c.precision()) {
            Precision::Single => {
                let mut pages = std::mem::take(&mut self.single_pages);
                pages.clear();
                for cache in caches {
                    f32::read_pointers(cache, &mut pages.pointers);
                    pages.starts.push(pages.pointers.len());
                }
                self.query_rows(&pages, caches, tokens);
                self.single_pages = pages;
            }
            Precision::Half => {
                let mut pages = std::mem::take(&mut self.half_pages);
                pages.clear();
                for cache in caches {
                    u16::read_pointers(cache, &mut pages.pointers);
                    pages.starts.push(pages.pointers.len());
                }
                self.query_rows(&pages, caches, tokens);
                self.half_pages = pages;
            }
        }
        Ok(&self.rows.out[..tokens.len() * self.model.spec().width])
    }

    /// Queries see nothing but their history, so a chunk goes through all blocks as one task.
    fn query_rows<E: Served>(&mut self, pages: &PageTable<E>, caches: &[&Cache], tokens: &Tokens) {
        let cpu = self.cpu.clone();
        let view = Self::view(&cpu, &self.model, &self.packed);
        let (spec, width) = (view.spec, view.spec.width);
        let (heads, head_width, shape) = (spec.attention_heads, spec.head_width(), Shape::of(spec));
        reserve(&mut self.rows.out, tokens.len() * width);
        let fields = &view.layout.query_fields;
        let size = chunk_size(tokens.len(), cpu.threads());
        let mut tasks = Vec::new();
        for s in 0..caches.len() {
            let rows = tokens.offsets[s]..tokens.offsets[s + 1];
            tasks.extend((0..rows.len().div_ceil(size)).map(|c| {
                let part = chunk(c, size, rows.len());
                (s, rows.start + part.start..rows.start + part.end)
            }));
        }
        let (workers, out) = (Shared::new(&mut self.workers), Shared::new(&mut self.rows.out));
        each(&cpu, tasks.len() > 1, tasks.len(), |t, worker| {
            let (s, rows) = (tasks[t].0, tasks[t].1.clone());
            let (count, size) = (rows.len(), rows.len() * width);
            // SAFETY: tasks have disjoint rows, and a worker runs one task at a time.
            let worker = unsafe { &mut workers.get(worker..worker + 1)[0] };
            let mut b = std::mem::take(&mut worker.rows);
            for buffer in [&mut b.x, &mut b.query, &mut b.attended] {
                reserve(buffer, size);
            }
            let mut stats = std::mem::take(&mut worker.scratch.stats);
            reserve(&mut stats, count);
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
                worker.scratch.stats = std::mem::take(&mut stats);
                worker.after_attention(&view, layer, &mut b.x[..size], &b.attended[..size]);
                stats = std::mem::take(&mut worker.scratch.stats);
            }
            // SAFETY: as above.
            let out = unsafe { out.get(scaled(&rows, width)) };
            view.norm(&view.layout.norm, &b.x[..size], out, &mut stats[..count]);
            worker.scratch.stats = stats;
            worker.rows = b;
        });
    }
}

impl Worker {
    /// The part of a block behind attention, with the stream updated in place.
    fn after_attention(&mut self, view: &View<'_>, layer: usize, x: &mut [f32], attended: &[f32]) {
        let rows = x.len() / view.spec.width;
        reserve(&mut self.middle, x.len());
        reserve(&mut self.hidden, rows * view.spec.mlp_width);
        reserve(&mut self.next, x.len());
        let mut stats = std::mem::take(&mut self.scratch.stats);
        reserve(&mut stats, rows);
        let io = AfterAttention {
            x,
            attended,
            middle: &mut self.middle[..attended.len()],
            stats: &mut stats[..rows],
            hidden: &mut self.hidden[..rows * view.spec.mlp_width],
            next: &mut self.next[..attended.len()],
        };
        view.after_attention(&view.layout.blocks[layer], io, &mut self.scratch);
        x.copy_from_slice(&self.next[..attended.len()]);
        self.scratch.stats = stats;
    }
}

/// Rows of a chunk such that all threads get the same number of chunks; a multiple of the product's row tile.
fn chunk_size(rows: usize, threads: usize) -> usize {
    let chunks = rows.div_ceil(CHUNK).next_multiple_of(threads).max(1);
    rows.div_ceil(chunks).next_multiple_of(6).clamp(6, CHUNK)
}

fn each(cpu: &Cpu, parallel: bool, count: usize, task: impl Fn(usize, usize) + Sync + Send) {
    if parallel { cpu.each(count, task) } else { (0..count).for_each(|i| task(i, 0)) }
}

fn check_caches<'a>(
    spec: &crate::ModelSpec,
    caches: impl ExactSizeIterator<Item = &'a Cache> + Clone,
    tokens: &Tokens,
) -> Result<()> {
    if caches.len() != tokens.sequences() {
        let message = format!("{} caches for tokens of {} sequences", caches.len(), tokens.sequences());
        return Err(Error::Cache(message));
    }
    let precision = caches.clone().next().map(Cache::precision);
    for (s, cache) in caches.enumerate() {
        if cache.shape() != Shape::of(spec) {
            return Err(Error::Cache(format!("cache {s} was made for another model")));
        }
        if Some(cache.precision()) != precision {
            return Err(Error::Cache(format!("cache {s} has another precision than the first")));
        }
    }
    Ok(())
}

//! In-context inference: append tokens to sequences, put queries to them, read the heads.
//!
//! Each row's result depends only on its own sequence. So a batch agrees bit for bit with its sequences one by one, a
//! sequence appended token by token with the same sequence at once, and queries in chunks with all of them together.

mod cache;
mod heads;
mod rows;

pub use cache::Cache;
pub use heads::CandidateSet;

use super::kernels::attention::KeyTile;
use super::kernels::matmul::TILE_ROWS;
use super::packed::{Packed, Weights};
use super::threads::Cpu;
use super::view::{CHUNK, View};
use crate::batch::Tokens;
use crate::spec::{FieldSpec, History, ModelSpec};
use crate::{Error, Model, Precision, Result};
use cache::{Shape, Stored};
use rows::{RowBuffers, Worker};
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
    /// Gathers the pages of each cache with `pointers`.
    fn gather<C>(&mut self, caches: impl Iterator<Item = C>, pointers: impl Fn(C, &mut Vec<*mut E>)) {
        self.pointers.clear();
        self.starts.truncate(1);
        for cache in caches {
            pointers(cache, &mut self.pointers);
            self.starts.push(self.pointers.len());
        }
    }

    fn of(&self, sequence: usize) -> &[*mut E] {
        &self.pointers[self.starts[sequence]..self.starts[sequence + 1]]
    }

    fn fill_tiles(&self, sequence: usize, shape: Shape, layer: usize, head: usize, tiles: &mut Vec<KeyTile<E>>) {
        tiles.clear();
        for &page in self.of(sequence) {
            tiles.extend((0..shape.page_tiles).map(|tile| {
                let (keys, values) = (shape.keys_at(layer, head, tile), shape.values_at(layer, head, tile));
                // SAFETY: a page has room for every block, head and tile.
                unsafe { KeyTile { keys: page.add(keys), values: page.add(values) } }
            }));
        }
    }
}

/// Where a network and its workers keep what depends on the caches' precision.
trait Served: Stored {
    fn table(network: &mut Network) -> &mut PageTable<Self>;
    fn tiles(worker: &mut Worker) -> &mut Vec<KeyTile<Self>>;
}

impl Served for f32 {
    fn table(network: &mut Network) -> &mut PageTable<f32> {
        &mut network.single_pages
    }
    fn tiles(worker: &mut Worker) -> &mut Vec<KeyTile<f32>> {
        &mut worker.single_tiles
    }
}

impl Served for u16 {
    fn table(network: &mut Network) -> &mut PageTable<u16> {
        &mut network.half_pages
    }
    fn tiles(worker: &mut Worker) -> &mut Vec<KeyTile<u16>> {
        &mut worker.half_tiles
    }
}

impl Network {
    /// Makes a model ready, its weights stored in the given precision.
    pub fn new(cpu: &Cpu, model: &Model, weights: Precision) -> Network {
        let packed = model.layout().linears.iter().map(|linear| {
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
        tokens.check("history", spec, spec.fields.iter().filter(|f| f.on_history()))?;
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
        match caches.first().map(|c| c.precision()) {
            Some(Precision::Half) => self.append_as::<u16>(caches, tokens),
            _ => self.append_as::<f32>(caches, tokens),
        }
        Ok(&self.rows.out[..tokens.len() * self.model.spec().width])
    }

    fn append_as<E: Served>(&mut self, caches: &mut [&mut Cache], tokens: &Tokens) {
        let starts: Vec<usize> = caches.iter().map(|c| c.len()).collect();
        for (cache, span) in caches.iter_mut().zip(tokens.offsets.windows(2)) {
            cache.extend(span[1] - span[0]);
        }
        let mut pages = std::mem::take(E::table(self));
        pages.gather(caches.iter_mut(), |cache, out| E::write_pointers(cache, out));
        self.append_rows(&pages, &starts, tokens);
        *E::table(self) = pages;
    }

    /// Puts query tokens to the sequences' histories, which stay as they are; returns the trunk's output for them,
    /// [tokens, width].
    pub fn query(&mut self, caches: &[&Cache], tokens: &Tokens) -> Result<&[f32]> {
        self.ask(caches, tokens, Answers::All)?;
        Ok(&self.rows.out[..tokens.len() * self.model.spec().width])
    }

    /// As [`Network::query`] for the last column of every table alone, [rows of all tables, width]: the same bits, with a block
    /// less to do for all other columns.
    pub fn query_last_columns(&mut self, caches: &[&Cache], tokens: &Tokens) -> Result<&[f32]> {
        self.ask(caches, tokens, Answers::LastColumns)?;
        let rows: usize = tokens.grids().map(|grid| grid.rows).sum();
        Ok(&self.rows.out[..rows * self.model.spec().width])
    }

    fn ask(&mut self, caches: &[&Cache], tokens: &Tokens, answers: Answers) -> Result<()> {
        let spec = self.model.spec();
        if answers == Answers::LastColumns && !spec.row_attention {
            return Err(Error::Cache("only tables have a last column".into()));
        }
        if !spec.fields.iter().any(FieldSpec::on_query) {
            return Err(Error::Cache("the model has no field on query tokens".into()));
        }
        tokens.check("queries", spec, spec.fields.iter().filter(|f| f.on_query()))?;
        check_caches(spec, caches.iter().copied(), tokens)?;
        match caches.first().map(|c| c.precision()) {
            Some(Precision::Half) => self.query_as::<u16>(caches, tokens, answers),
            _ => self.query_as::<f32>(caches, tokens, answers),
        }
        Ok(())
    }

    fn query_as<E: Served>(&mut self, caches: &[&Cache], tokens: &Tokens, answers: Answers) {
        let mut pages = std::mem::take(E::table(self));
        pages.gather(caches.iter(), |cache, out| E::read_pointers(cache, out));
        self.query_rows(&pages, caches, tokens, answers);
        *E::table(self) = pages;
    }
}

/// Which query tokens' outputs are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    All,
    /// Those of the last column of every table.
    LastColumns,
}

/// Rows cut into chunks: as many for each thread, of the same size but for one row tile of the product.
#[derive(Clone, Copy)]
struct Cut {
    rows: usize,
    chunks: usize,
}

impl Cut {
    /// At most [`CHUNK`] rows a chunk, and none without rows.
    fn new(rows: usize, threads: usize) -> Cut {
        Cut::of(rows, 1, threads)
    }

    /// The same for rows of several tokens each.
    fn of(rows: usize, columns: usize, threads: usize) -> Cut {
        let most = (CHUNK / columns).max(2 * TILE_ROWS);
        let chunks = rows.div_ceil(most).next_multiple_of(threads);
        Cut { rows, chunks: chunks.min(rows.div_ceil(TILE_ROWS)) }
    }

    fn chunk(self, index: usize) -> Range<usize> {
        let tiles = self.rows.div_ceil(TILE_ROWS);
        let edge = |index: usize| (index * tiles / self.chunks * TILE_ROWS).min(self.rows);
        edge(index)..edge(index + 1)
    }
}

/// As [`Cpu::each`], or on the calling thread.
fn each(cpu: &Cpu, parallel: bool, count: usize, task: impl Fn(usize, usize) + Sync + Send) {
    if parallel { cpu.each(count, task) } else { (0..count).for_each(|i| task(i, 0)) }
}

fn check_caches<'a>(
    spec: &ModelSpec,
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

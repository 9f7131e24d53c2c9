//! Key-value caches: what a sequence's history left behind in every block, one cache a sequence.
//!
//! A cache is a list of pages. A page holds, for every block and head, tiles of 64 tokens as the attention kernel reads
//! them: keys transposed, then values. Pages are shared between forks and copied when written to.

use crate::Precision;
use crate::cpu::kernels::attention::{HeadRows, KEYS, KeyTile, MAX_HEAD, attend_half, attend_single};
use crate::cpu::kernels::elementwise::narrow;
use crate::cpu::kernels::matmul::Element;
use crate::cpu::memory::{Buffer, Plain};
use crate::cpu::simd::Isa;
use crate::spec::{History, ModelSpec};
use std::sync::Arc;

/// Tiles of a page at most. Long pages make long runs of memory, which a CPU fetches ahead by itself.
const MAX_PAGE_TILES: usize = 8;

/// The sizes that a cache shares with its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub layers: usize,
    pub heads: usize,
    pub head_width: usize,
    pub context: usize,
    pub history: History,
    /// Tiles of a page.
    pub page_tiles: usize,
}

impl Shape {
    pub fn of(spec: &ModelSpec) -> Shape {
        Shape {
            layers: spec.layers,
            heads: spec.attention_heads,
            head_width: spec.head_width(),
            context: spec.context,
            history: spec.history,
            page_tiles: spec.context.div_ceil(KEYS).min(MAX_PAGE_TILES),
        }
    }

    /// Tokens of a page.
    fn page_tokens(&self) -> usize {
        self.page_tiles * KEYS
    }

    /// Elements of a page.
    fn page(&self) -> usize {
        self.layers * self.heads * 2 * self.page_tokens() * self.head_width
    }

    /// Where a block's head has the keys of a tile in a page; the tile's values follow.
    pub fn keys_at(&self, layer: usize, head: usize, tile: usize) -> usize {
        ((layer * self.heads + head) * self.page_tiles + tile) * 2 * KEYS * self.head_width
    }

    /// Where it has the tile's values.
    pub fn values_at(&self, layer: usize, head: usize, tile: usize) -> usize {
        self.keys_at(layer, head, tile) + KEYS * self.head_width
    }
}

/// One sequence's keys and values.
#[derive(Clone, Debug)]
pub struct Cache {
    shape: Shape,
    pages: Pages,
    len: usize,
}

#[derive(Clone, Debug)]
enum Pages {
    Single(Vec<Arc<Buffer<f32>>>),
    Half(Vec<Arc<Buffer<u16>>>),
}

impl Cache {
    pub(crate) fn new(shape: Shape, precision: Precision) -> Cache {
        let pages = match precision {
            Precision::Single => Pages::Single(Vec::new()),
            Precision::Half => Pages::Half(Vec::new()),
        };
        Cache { shape, pages, len: 0 }
    }

    /// Tokens it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Tokens it can still take.
    pub fn room(&self) -> usize {
        self.shape.context - self.len
    }

    /// Forgets all tokens from `len` on; does nothing if there are none.
    ///
    /// In a set every token has seen every other, so no part of one can be kept: it forgets all of it.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.len = if self.shape.history == History::Set { 0 } else { len };
        let pages = self.len.div_ceil(self.shape.page_tokens());
        match &mut self.pages {
            Pages::Single(list) => list.truncate(pages),
            Pages::Half(list) => list.truncate(pages),
        }
    }

    /// A second cache with the same history; both grow independently, and share memory until they do.
    pub fn fork(&self) -> Cache {
        self.clone()
    }

    /// Bytes of its pages (shared ones counted in each fork).
    pub fn bytes(&self) -> usize {
        match &self.pages {
            Pages::Single(list) => list.len() * self.shape.page() * 4,
            Pages::Half(list) => list.len() * self.shape.page() * 2,
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn precision(&self) -> Precision {
        match self.pages {
            Pages::Single(_) => Precision::Single,
            Pages::Half(_) => Precision::Half,
        }
    }

    /// Makes room for `count` more tokens, owns the pages they fall into, and counts them in. Their keys and values
    /// are written through the pointers of [`Cache::page_pointers`].
    pub(crate) fn extend(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let first = self.len / self.shape.page_tokens();
        self.len += count;
        let (pages, size) = (self.len.div_ceil(self.shape.page_tokens()), self.shape.page());
        match &mut self.pages {
            Pages::Single(list) => own(list, first, pages, size),
            Pages::Half(list) => own(list, first, pages, size),
        }
    }
}

fn own<E: Plain>(list: &mut Vec<Arc<Buffer<E>>>, first: usize, pages: usize, size: usize) {
    for page in list.iter_mut().skip(first) {
        Arc::make_mut(page);
    }
    while list.len() < pages {
        list.push(Arc::new(Buffer::zeros(size)));
    }
}

/// What a cache may store its numbers as.
pub(crate) trait Stored: Element {
    /// Stores numbers, a multiple of sixteen of them.
    fn store(isa: Isa, x: &[f32], out: &mut [Self]);

    /// Appends a cache's page pointers, good for reading until the cache changes.
    fn read_pointers(cache: &Cache, out: &mut Vec<*mut Self>);

    /// Appends a cache's page pointers; those that [`Cache::extend`] made its own may be written.
    fn write_pointers(cache: &mut Cache, out: &mut Vec<*mut Self>);

    /// Attention over tiles of this kind.
    ///
    /// # Safety
    /// As the kernels'.
    unsafe fn attend(isa: Isa, rows: &HeadRows, tiles: &[KeyTile<Self>]);
}

fn read_list<E: Plain>(list: &[Arc<Buffer<E>>], out: &mut Vec<*mut E>) {
    out.extend(list.iter().map(|page| page.as_ptr().cast_mut()));
}

fn write_list<E: Plain>(list: &mut [Arc<Buffer<E>>], out: &mut Vec<*mut E>) {
    out.extend(list.iter_mut().map(|page| match Arc::get_mut(page) {
        Some(own) => own.as_mut_ptr(),
        None => page.as_ptr().cast_mut(),
    }));
}

impl Stored for f32 {
    fn store(_: Isa, x: &[f32], out: &mut [f32]) {
        out.copy_from_slice(x);
    }
    fn read_pointers(cache: &Cache, out: &mut Vec<*mut f32>) {
        if let Pages::Single(list) = &cache.pages {
            read_list(list, out);
        }
    }
    fn write_pointers(cache: &mut Cache, out: &mut Vec<*mut f32>) {
        if let Pages::Single(list) = &mut cache.pages {
            write_list(list, out);
        }
    }
    unsafe fn attend(isa: Isa, rows: &HeadRows, tiles: &[KeyTile<f32>]) {
        // SAFETY: the caller's contract.
        unsafe { attend_single(isa, rows, tiles) }
    }
}

impl Stored for u16 {
    fn store(isa: Isa, x: &[f32], out: &mut [u16]) {
        // SAFETY: the kernel checks lengths; the instruction set was detected.
        unsafe { narrow(isa, x, out) }
    }
    fn read_pointers(cache: &Cache, out: &mut Vec<*mut u16>) {
        if let Pages::Half(list) = &cache.pages {
            read_list(list, out);
        }
    }
    fn write_pointers(cache: &mut Cache, out: &mut Vec<*mut u16>) {
        if let Pages::Half(list) = &mut cache.pages {
            write_list(list, out);
        }
    }
    unsafe fn attend(isa: Isa, rows: &HeadRows, tiles: &[KeyTile<u16>]) {
        // SAFETY: the caller's contract.
        unsafe { attend_half(isa, rows, tiles) }
    }
}

/// Writes the key and value that a token at `position` has in one block's head.
///
/// # Safety
/// `pages` must hold the cache's writable pointers, the position must lie in the range made by its last
/// [`Cache::extend`], and no other task may touch this block's head meanwhile.
pub(crate) unsafe fn write_token<E: Stored>(
    isa: Isa,
    shape: Shape,
    pages: &[*mut E],
    (layer, head): (usize, usize),
    position: usize,
    key: &[f32],
    value: &[f32],
) {
    let page_tokens = shape.page_tokens();
    let (page, slot, width) = (pages[position / page_tokens], position % KEYS, shape.head_width);
    let tile = position % page_tokens / KEYS;
    let mut stored_key = [E::default(); MAX_HEAD];
    E::store(isa, &key[..width], &mut stored_key[..width]);
    // SAFETY: the caller's contract; a page has room for every block and head.
    unsafe {
        let keys = page.add(shape.keys_at(layer, head, tile) + slot);
        for (d, &k) in stored_key[..width].iter().enumerate() {
            *keys.add(d * KEYS) = k;
        }
        let values = page.add(shape.values_at(layer, head, tile) + slot * width);
        E::store(isa, &value[..width], std::slice::from_raw_parts_mut(values, width));
    }
}

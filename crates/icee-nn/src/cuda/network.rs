//! In-context inference on the GPU, many sequences in lock step: keys and values stay on the GPU, one cache a
//! sequence, and so does the trunk's output of the tokens appended last, which the heads then read.

use super::address::Address;
use super::append_packing::{AppendShape, pack_append};
use super::device::{Cuda, Memory, Staging};
use super::fields::embed;
use super::gemm::Products;
use super::kernels::{Kernels, Stats, StoreKeys};
use super::layers::{elements, round};
use super::pass::Pass;
use super::places::Places;
use super::plan::{Arena, MlpBuffers};
use super::records::int;
use crate::batch::Tokens;
use crate::spec::{FieldSpec, History};
use crate::{Error, Layout, Model, ModelSpec, Result};
use half::bf16;

/// Plans of products that are kept; numbers of sequences come and go.
const MAX_PLANS: usize = 4096;

/// A model made ready for inference on a GPU, with caches for a number of sequences.
pub struct Network {
    pub(super) cuda: Cuda,
    pub(super) kernels: Kernels,
    pub(super) products: Products,
    pub(super) spec: ModelSpec,
    pub(super) places: Places,
    pub(super) weights: Memory,
    weights16: Memory,
    /// [sequences, layers, context, 2 · width]: keys, then values.
    caches: Memory,
    sequences: usize,
    /// Tokens of each sequence.
    lengths: Vec<usize>,
    arena: Option<Memory>,
    /// Space of heads, beside the trunk's.
    pub(super) head_arena: Option<Memory>,
    batch: Option<Memory>,
    staging: Option<Staging>,
    pub(super) words: Vec<u32>,
    /// The trunk's output of the last rows, [rows, width], and how many there are: with room, and without.
    pub(super) out: Address<bf16>,
    pub(super) rows: usize,
    pub(super) real_rows: usize,
}

/// Buffers of one pass through the trunk; the same for every block.
#[derive(Default)]
struct Buffers {
    stream: Address<f32>,
    other: Address<f32>,
    stats: Address<Stats>,
    normed: Address<bf16>,
    qkv: Address<bf16>,
    attended: Address<bf16>,
    before: Address<bf16>,
    after: Address<bf16>,
    delta: Address<bf16>,
    out: Address<bf16>,
    mlps: Vec<MlpBuffers>,
}

impl Network {
    /// Copies a model to the GPU and makes empty caches for `sequences` sequences of the model's context.
    pub fn new(cuda: &Cuda, model: &Model, sequences: usize) -> Result<Network> {
        let spec = model.spec().clone();
        if spec.row_attention {
            return Err(Error::Cuda("models of table cells run on the CPU; on a GPU they can only be trained".into()));
        }
        let places = Places::new(&spec, &Layout::new(&spec))?;
        let kernels = Kernels::new(cuda, spec.width, spec.head_width())?;
        let weights = cuda.allocate("the model", 4 * places.len)?;
        let weights16 = cuda.allocate("the model", 2 * places.len)?;
        cuda.write(&weights, &places.to_device(model.weights()))?;
        round(cuda, &kernels, weights.start(), weights16.start(), places.len)?;
        let bytes = sequences.checked_mul(cache_lines(&spec)).and_then(|lines| lines.checked_mul(4 * spec.width));
        let Some(bytes) = bytes else {
            return Err(Error::Cuda(format!("caches of {sequences} sequences are larger than any memory")));
        };
        Ok(Network {
            caches: cuda.allocate(&format!("a cache for each of {sequences} sequences"), bytes)?,
            products: Products::new(cuda)?,
            cuda: cuda.clone(),
            kernels,
            spec,
            places,
            weights,
            weights16,
            sequences,
            lengths: vec![0; sequences],
            arena: None,
            head_arena: None,
            batch: None,
            staging: None,
            words: Vec::new(),
            out: Address::NONE,
            rows: 0,
            real_rows: 0,
        })
    }

    /// Forgets all tokens of a sequence from `len` on. In a set every token has seen every other: it forgets all.
    pub fn truncate(&mut self, sequence: usize, len: usize) {
        if len < self.lengths[sequence] {
            self.lengths[sequence] = if self.spec.history == History::Set { 0 } else { len };
        }
    }

    /// Appends tokens to some sequences (ascending), any number to each; the trunk's output for them stays on the GPU
    /// for the heads. Returns at once.
    ///
    /// A model of sets sees all tokens of a sequence at once: its cache must be empty.
    pub fn append(&mut self, sequences: &[u32], tokens: &Tokens) -> Result<()> {
        let fields = self.spec.fields.iter().filter(|f: &&FieldSpec| f.on_history());
        tokens.check("history", &self.spec, fields)?;
        self.check_sequences(sequences, tokens)?;
        self.cuda.bind()?;
        let starts: Vec<usize> = sequences.iter().map(|&s| self.lengths[s as usize]).collect();
        let lines = cache_lines(&self.spec);
        let slots: Vec<usize> = sequences.iter().map(|&s| s as usize * lines).collect();
        let shape = pack_append(&self.spec, &self.places, tokens, &slots, &starts, &mut self.words);
        let buffers = self.prepare(&shape)?;
        let batch = self.send_words()?;
        if self.products.plans() > MAX_PLANS {
            self.products.forget();
        }
        let caches = self.caches.start();
        forward(&mut self.pass(batch), &shape, &buffers, caches)?;
        (self.out, self.rows, self.real_rows) = (buffers.out, shape.tokens.rows, tokens.len());
        for (&sequence, span) in sequences.iter().zip(tokens.offsets.windows(2)) {
            self.lengths[sequence as usize] += span[1] - span[0];
        }
        Ok(())
    }

    fn check_sequences(&self, sequences: &[u32], tokens: &Tokens) -> Result<()> {
        let fail = |message: String| Err(Error::Cache(message));
        if sequences.len() != tokens.sequences() {
            return fail(format!("{} caches for tokens of {} sequences", sequences.len(), tokens.sequences()));
        }
        let ascending = sequences.windows(2).all(|w| w[0] < w[1]);
        if !ascending || sequences.last().is_some_and(|&s| s as usize >= self.sequences) {
            return fail(format!("sequences must ascend and stay below {}", self.sequences));
        }
        for (&s, span) in sequences.iter().zip(tokens.offsets.windows(2)) {
            let (has, count, context) = (self.lengths[s as usize], span[1] - span[0], self.spec.context);
            if has + count > context {
                return fail(format!("sequence {s} has {has} tokens; {count} more pass the model's context {context}"));
            }
            if self.spec.history == History::Set && count > 0 && has > 0 {
                return fail(format!("sequence {s} is a set: truncate it to 0, then append all its tokens at once"));
            }
        }
        Ok(())
    }

    /// What kernels read, with the words that were sent last.
    pub(super) fn pass(&mut self, batch: Address<i32>) -> Pass<'_> {
        Pass {
            cuda: &self.cuda,
            kernels: &self.kernels,
            products: &mut self.products,
            spec: &self.spec,
            places: &self.places,
            weights: self.weights.start(),
            weights16: self.weights16.start(),
            batch,
        }
    }

    /// Sends `words` to the GPU and says where they are.
    pub(super) fn send_words(&mut self) -> Result<Address<i32>> {
        let words = self.words.len().max(1);
        if self.batch.as_ref().is_none_or(|batch| batch.bytes < 4 * words) {
            self.batch = None;
            self.batch = Some(self.cuda.allocate("tokens", 8 * words)?);
        }
        if self.staging.as_ref().is_none_or(|staging| staging.words() < words) {
            self.staging = None;
            self.staging = Some(Staging::new(&self.cuda, 2 * words)?);
        }
        let (batch, staging) = (self.batch.as_ref().expect("just made"), self.staging.as_mut().expect("just made"));
        if !self.words.is_empty() {
            staging.send(&[&self.words], batch)?;
        }
        Ok(batch.start())
    }

    fn prepare(&mut self, shape: &AppendShape) -> Result<Buffers> {
        let bytes = lay_out(&self.spec, &self.places, shape, 0).1;
        if self.arena.as_ref().is_none_or(|arena| arena.bytes < bytes) {
            self.arena = None;
            self.arena = Some(self.cuda.allocate("tokens of all sequences", bytes)?);
        }
        let base = self.arena.as_ref().map_or(0, |arena| arena.start::<u8>().bits());
        Ok(lay_out(&self.spec, &self.places, shape, base).0)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Memory must not go while kernels use it.
        let _ = self.cuda.synchronize();
    }
}

/// Lines of one sequence's cache.
fn cache_lines(spec: &ModelSpec) -> usize {
    spec.layers * spec.context
}

fn lay_out(spec: &ModelSpec, places: &Places, shape: &AppendShape, base: u64) -> (Buffers, usize) {
    let (rows, width, mlp) = (shape.tokens.rows, spec.width, spec.mlp_width);
    let mut a = Arena { next: base };
    let buffers = Buffers {
        stream: a.take(rows * width),
        other: a.take(rows * width),
        stats: a.take(rows),
        normed: a.take(rows * width),
        qkv: a.take(3 * rows * width),
        attended: a.take(rows * width),
        before: a.take(rows * mlp),
        after: a.take(rows * mlp),
        delta: a.take(rows * width),
        out: a.take(rows * width),
        mlps: shape.tokens.mlps.iter().map(|m| a.mlp(&places.mlps[m.mlp], rows)).collect(),
    };
    (buffers, (a.next - base) as usize)
}

/// From tokens to the trunk's output; their keys and values go into the caches.
fn forward(s: &mut Pass<'_>, shape: &AppendShape, b: &Buffers, caches: Address<bf16>) -> Result<()> {
    let (places, spec, rows) = (s.places, s.spec, shape.tokens.rows);
    embed(s, &shape.tokens, &b.mlps, b.stream)?;
    let line = 2 * spec.width;
    // The stream moves from one buffer to the other whenever something is added to it.
    let (mut stream, mut other) = (b.stream, b.other);
    for (l, place) in places.blocks.iter().enumerate() {
        let delta = if l > 0 { b.delta } else { Address::NONE };
        s.norm(rows, (stream, delta, other), place.attention.norm, (b.normed, b.stats))?;
        if l > 0 {
            (stream, other) = (other, stream);
        }
        s.linear(rows, place.attention.qkv, b.normed, b.qkv)?;
        let cache = caches.plus(l * spec.context * line);
        let arguments = StoreKeys { qkv: b.qkv, lines: s.section(shape.lines), cache, rows: int(rows) };
        // SAFETY: each row has a line of its own in its sequence's cache, or none; a thread for eight numbers of it.
        unsafe { s.cuda.launch(&s.kernels.store_keys, elements(rows * line / 8), arguments) }?;
        s.attention(rows, shape.row_tiles, b.qkv, (cache, line), (b.attended, Address::NONE))?;
        s.linear(rows, place.attention.project, b.attended, b.delta)?;
        s.norm(rows, (stream, b.delta, other), place.norm2, (b.normed, b.stats))?;
        (stream, other) = (other, stream);
        s.linear_gelu(rows, place.mlp_in, b.normed, b.before, b.after)?;
        s.linear(rows, place.mlp_out, b.after, b.delta)?;
    }
    s.norm(rows, (stream, b.delta, other), places.norm, (b.out, b.stats))
}

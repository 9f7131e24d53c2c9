//! Where each tensor lies in a model's one flat list of numbers, and how it is initialised.
//!
//! Linear weights are stored input-major, [in, out], so that a product runs along contiguous outputs.

use crate::spec::{FieldKind, ModelSpec};
use rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use std::ops::Range;

/// nanoGPT's standard deviation of initial weights.
const INIT_STD: f32 = 0.02;

/// One named tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorInfo {
    /// Its name in the checkpoint.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Where it lies in the flat list.
    pub range: Range<usize>,
    /// Whether weight decay applies (matrices and embeddings: yes; biases and norms: no).
    pub decays: bool,
    init: Init,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Init {
    Zeros,
    Ones,
    Normal(f32),
}

/// A linear layer: index into [`Layout::linears`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearId(pub usize);

/// A linear layer's tensors.
#[derive(Clone, Debug)]
pub struct Linear {
    /// [inputs, outputs].
    pub weight: Range<usize>,
    /// [outputs]; none where another term of the same sum has one.
    pub bias: Option<Range<usize>>,
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
}

/// A LayerNorm's tensors.
#[derive(Clone, Debug)]
pub struct Norm {
    /// [width].
    pub gain: Range<usize>,
    /// [width].
    pub bias: Range<usize>,
}

/// One attention with what comes before and behind it.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Before it.
    pub norm: Norm,
    /// Queries: width → width.
    pub query: LinearId,
    /// Keys, then values: width → 2 · width.
    pub key_value: LinearId,
    /// Its output projection.
    pub project: LinearId,
}

/// One transformer block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Attention among the cells of a row, where tokens are cells.
    pub rows: Option<Attention>,
    /// Attention to the sequence's history.
    pub attention: Attention,
    /// Before the MLP.
    pub norm2: Norm,
    /// width → mlp_width.
    pub mlp_in: LinearId,
    /// mlp_width → width.
    pub mlp_out: LinearId,
}

impl Block {
    /// The attention that the block begins with.
    pub fn first_attention(&self) -> &Attention {
        self.rows.as_ref().unwrap_or(&self.attention)
    }
}

/// How a field or condition is embedded.
#[derive(Clone, Debug)]
pub enum Embedding {
    /// A table [values, outputs].
    Table(Range<usize>),
    /// A linear projection.
    Linear(LinearId),
    /// Linear, GELU, linear.
    Mlp(LinearId, LinearId),
}

/// A class head: first layer split into a part on the trunk and one a condition, then further layers.
#[derive(Clone, Debug)]
pub struct HeadLayout {
    /// Trunk → first layer.
    pub trunk: LinearId,
    /// Each condition → first layer, added.
    pub conditions: Vec<Embedding>,
    /// The layers after the first, each behind a GELU.
    pub layers: Vec<LinearId>,
}

/// A pool head: first layer split into a part on the trunk and one on the candidate, then further layers.
#[derive(Clone, Debug)]
pub struct PoolHeadLayout {
    /// Trunk → first layer.
    pub trunk: LinearId,
    /// The field whose embedding a candidate has.
    pub field: usize,
    /// Candidate embedding → first layer, added.
    pub candidate: LinearId,
    /// The layers after the first, each behind a GELU; the last gives one score.
    pub layers: Vec<LinearId>,
}

/// The typed table of contents of a model's numbers.
#[derive(Clone, Debug)]
pub struct Layout {
    /// All tensors in order.
    pub tensors: Vec<TensorInfo>,
    /// All linear layers.
    pub linears: Vec<Linear>,
    /// One embedding a field.
    pub fields: Vec<Embedding>,
    /// The fields of history tokens.
    pub history_fields: Vec<usize>,
    /// The fields of query tokens.
    pub query_fields: Vec<usize>,
    /// The transformer blocks.
    pub blocks: Vec<Block>,
    /// The norm behind the last block.
    pub norm: Norm,
    /// Class heads.
    pub heads: Vec<HeadLayout>,
    /// Pool heads.
    pub pool_heads: Vec<PoolHeadLayout>,
}

impl Layout {
    /// The layout of a checked description.
    pub(crate) fn new(spec: &ModelSpec) -> Layout {
        let mut b = Builder::default();
        let width = spec.width;
        let fields = spec.fields.iter().map(|f| b.embedding(&format!("field.{}", f.name), f.kind, width, true));
        let fields = fields.collect();
        // nanoGPT: projections into the residual stream start smaller, so that its variance does not grow with depth.
        let residual_std = INIT_STD / (2.0 * spec.layers as f32).sqrt();
        let blocks = (0..spec.layers).map(|i| {
            let name = |part: &str| format!("block.{i}.{part}");
            let mut attention = |norm: &str, part: &str| Attention {
                norm: b.norm(&name(norm), width),
                query: b.linear(&name(&format!("{part}query")), width, width, true, INIT_STD),
                key_value: b.linear(&name(&format!("{part}key_value")), width, 2 * width, true, INIT_STD),
                project: b.linear(&name(&format!("{part}project")), width, width, true, residual_std),
            };
            Block {
                rows: spec.row_attention.then(|| attention("rows.norm", "rows.")),
                attention: attention("norm1", ""),
                norm2: b.norm(&name("norm2"), width),
                mlp_in: b.linear(&name("mlp_in"), width, spec.mlp_width, true, INIT_STD),
                mlp_out: b.linear(&name("mlp_out"), spec.mlp_width, width, true, residual_std),
            }
        });
        let blocks = blocks.collect();
        let norm = b.norm("norm", width);
        let heads = spec.heads.iter().map(|head| {
            let name = format!("head.{}", head.name);
            let sizes = [&head.hidden[..], &[head.classes]].concat();
            HeadLayout {
                trunk: b.linear(&format!("{name}.trunk"), width, sizes[0], true, INIT_STD),
                conditions: head
                    .conditions
                    .iter()
                    .map(|c| b.embedding(&format!("{name}.condition.{}", c.name), c.kind, sizes[0], false))
                    .collect(),
                layers: b.stack(&name, &sizes),
            }
        });
        let heads = heads.collect();
        let pool_heads = spec.pool_heads.iter().map(|head| {
            let name = format!("pool.{}", head.name);
            let sizes = [&head.hidden[..], &[1]].concat();
            PoolHeadLayout {
                trunk: b.linear(&format!("{name}.trunk"), width, sizes[0], true, INIT_STD),
                field: spec.fields.iter().position(|f| f.name == head.candidate).expect("checked"),
                candidate: b.linear(&format!("{name}.candidate"), width, sizes[0], false, INIT_STD),
                layers: b.stack(&name, &sizes),
            }
        });
        let pool_heads = pool_heads.collect();
        Layout {
            tensors: b.tensors,
            linears: b.linears,
            fields,
            history_fields: spec.history_fields(),
            query_fields: spec.query_fields(),
            blocks,
            norm,
            heads,
            pool_heads,
        }
    }

    /// Numbers in all tensors together.
    pub fn len(&self) -> usize {
        self.tensors.last().map_or(0, |t| t.range.end)
    }

    /// Whether there is no tensor (never, for a checked description).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The linear layer behind an id.
    pub fn linear(&self, id: LinearId) -> &Linear {
        &self.linears[id.0]
    }

    /// Fresh weights: nanoGPT's initialisation, fixed by the seed.
    pub fn init(&self, seed: u64) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut weights = Vec::with_capacity(self.len());
        for tensor in &self.tensors {
            let count = tensor.range.len();
            match tensor.init {
                Init::Zeros => weights.extend(std::iter::repeat_n(0.0, count)),
                Init::Ones => weights.extend(std::iter::repeat_n(1.0, count)),
                Init::Normal(std) => weights.extend((0..count).map(|_| std * normal(&mut rng))),
            }
        }
        weights
    }
}

/// A draw with mean 0 and variance 1: twelve uniform numbers less six. Normal enough for a start, and made of whole
/// numbers, so the same on every machine, which the logarithm of an exact normal draw is not.
fn normal(rng: &mut ChaCha8Rng) -> f32 {
    let sum: i64 = (0..12).map(|_| i64::from(rng.next_u32())).sum();
    ((sum - (6 << 32)) as f64 / (1u64 << 32) as f64) as f32
}

#[derive(Default)]
struct Builder {
    tensors: Vec<TensorInfo>,
    linears: Vec<Linear>,
}

impl Builder {
    fn tensor(&mut self, name: String, shape: &[usize], init: Init) -> Range<usize> {
        let start = self.tensors.last().map_or(0, |t| t.range.end);
        let range = start..start + shape.iter().product::<usize>();
        let decays = shape.len() > 1;
        self.tensors.push(TensorInfo { name, shape: shape.to_vec(), range: range.clone(), decays, init });
        range
    }

    fn linear(&mut self, name: &str, inputs: usize, outputs: usize, bias: bool, std: f32) -> LinearId {
        let weight = self.tensor(format!("{name}.weight"), &[inputs, outputs], Init::Normal(std));
        let bias = bias.then(|| self.tensor(format!("{name}.bias"), &[outputs], Init::Zeros));
        self.linears.push(Linear { weight, bias, inputs, outputs });
        LinearId(self.linears.len() - 1)
    }

    /// Layers from sizes[0] to sizes[1], from there to sizes[2], and so on.
    fn stack(&mut self, name: &str, sizes: &[usize]) -> Vec<LinearId> {
        let pairs = sizes.windows(2).enumerate();
        pairs.map(|(i, w)| self.linear(&format!("{name}.layer.{i}"), w[0], w[1], true, INIT_STD)).collect()
    }

    fn norm(&mut self, name: &str, width: usize) -> Norm {
        Norm {
            gain: self.tensor(format!("{name}.gain"), &[width], Init::Ones),
            bias: self.tensor(format!("{name}.bias"), &[width], Init::Zeros),
        }
    }

    fn embedding(&mut self, name: &str, kind: FieldKind, outputs: usize, bias: bool) -> Embedding {
        match kind {
            FieldKind::Categorical { size } => {
                Embedding::Table(self.tensor(format!("{name}.table"), &[size, outputs], Init::Normal(INIT_STD)))
            }
            FieldKind::Vector { size, hidden: None } => {
                Embedding::Linear(self.linear(name, size, outputs, bias, INIT_STD))
            }
            FieldKind::Vector { size, hidden: Some(hidden) } => Embedding::Mlp(
                self.linear(&format!("{name}.in"), size, hidden, true, INIT_STD),
                self.linear(&format!("{name}.out"), hidden, outputs, bias, INIT_STD),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_draws_have_mean_zero_and_variance_one() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let draws: Vec<f64> = (0..100_000).map(|_| f64::from(normal(&mut rng))).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|z| z * z).sum::<f64>() / 1e5;
        let beyond_two = draws.iter().filter(|z| z.abs() > 2.0).count() as f64 / 1e5;
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        assert!((beyond_two - 0.0455).abs() < 0.006, "{beyond_two}");
    }
}

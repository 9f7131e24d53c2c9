//! Where each tensor lies on the device. It differs from the host's layout: queries, keys and values are one matrix,
//! all fields of a sum lie side by side, outputs are padded to what products like, and tensors are aligned.

use super::records::{Field, int};
use crate::layout::{Attention, Embedding, Layout, Linear, LinearId, Norm};
use crate::spec::ModelSpec;
use crate::{Error, Result};
use std::ops::Range;

/// Tensors start at multiples of this many numbers: 256 bytes in bf16.
const ALIGNMENT: usize = 128;
/// Outputs of a layer are a multiple of this: 16 bytes in bf16.
const GRAIN: usize = 8;

/// A linear layer on the device; offsets in numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinearPlace {
    pub weight: usize,
    pub bias: usize,
    pub inputs: usize,
    /// Padded with zeros.
    pub outputs: usize,
}

/// A LayerNorm on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormPlace {
    pub gain: usize,
    pub bias: usize,
}

/// One field or condition of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldPlace {
    /// Number of reals; none for a category.
    pub size: Option<usize>,
    pub has_bias: bool,
    pub weight: usize,
    /// Its first line in the group.
    pub feature: usize,
}

impl FieldPlace {
    /// The kernels' description, for values that lie at a word of the batch.
    pub fn record(&self, values: usize) -> Field {
        Field {
            size: self.size.map_or(-1, int),
            has_bias: i32::from(self.has_bias),
            values: int(values),
            weight: int(self.weight),
            feature: int(self.feature),
        }
    }
}

/// Embeddings that are summed: one matrix [features, columns], with a line for each category, real and bias.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub weight: usize,
    pub features: usize,
    pub columns: usize,
    pub fields: Vec<FieldPlace>,
}

impl Group {
    /// One of its vector fields as a group of its own.
    fn only(&self, field: usize) -> Group {
        let place = FieldPlace { feature: 0, ..self.fields[field] };
        let features = place.size.unwrap_or(0) + usize::from(place.has_bias);
        Group { weight: place.weight, features, columns: self.columns, fields: vec![place] }
    }
}

/// A field's MLP on the device. Its second layer's bias is a line of the fields' group, and all that the group has of it.
#[derive(Clone, Debug)]
pub(super) struct MlpPlace {
    pub field: usize,
    /// Reals → hidden layer: a group of one.
    pub hidden: Group,
    /// Hidden layer → width.
    pub out: LinearPlace,
}

/// One attention on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttentionPlace {
    pub norm: NormPlace,
    /// width → 3 · width: queries, keys, values.
    pub qkv: LinearPlace,
    pub project: LinearPlace,
}

/// One transformer block on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPlace {
    /// Attention among the cells of a row, where tokens are cells.
    pub rows: Option<AttentionPlace>,
    pub attention: AttentionPlace,
    pub norm2: NormPlace,
    pub mlp_in: LinearPlace,
    pub mlp_out: LinearPlace,
}

/// A class head on the device.
#[derive(Clone, Debug)]
pub(super) struct HeadPlace {
    pub conditions: Group,
    /// The first layer on the trunk, then the layers behind it.
    pub layers: Vec<LinearPlace>,
}

/// A pool head on the device.
#[derive(Clone, Debug)]
pub(super) struct PoolPlace {
    /// The MLP of the field whose embedding candidates have, where it has one.
    pub mlp: Option<usize>,
    /// That field's own lines, as a group of one.
    pub embedding: Group,
    /// The first layer's part on the trunk and its part on the candidates, which has no bias.
    pub trunk: LinearPlace,
    pub candidate: LinearPlace,
    /// The layers between hidden layers.
    pub layers: Vec<LinearPlace>,
    /// The last hidden layer → one score; not padded.
    pub last: LinearPlace,
}

struct CopyRun {
    host: usize,
    device: usize,
    lines: usize,
    columns: usize,
    stride: usize,
}

/// The whole device layout of one model.
pub(super) struct Places {
    pub len: usize,
    pub fields: Group,
    pub mlps: Vec<MlpPlace>,
    pub blocks: Vec<BlockPlace>,
    pub norm: NormPlace,
    pub heads: Vec<HeadPlace>,
    pub pool_heads: Vec<PoolPlace>,
    /// Whether weight decay applies to each number.
    pub decays: Vec<u8>,
    copies: Vec<CopyRun>,
}

/// Whether the kernels can do a model of this description.
///
/// # Errors
/// [`Error::Cuda`] with what of it they cannot.
pub fn supports(spec: &ModelSpec) -> Result<()> {
    let unsupported = |what: String| Err(Error::Cuda(format!("{what}; use the CPU for this model")));
    if !matches!(spec.head_width(), 16 | 32 | 64) {
        return unsupported(format!("attention heads of width {}, supported are 16, 32 and 64", spec.head_width()));
    }
    if spec.width > 1024 || !spec.width.is_multiple_of(32) {
        return unsupported(format!("width {}, supported are multiples of 32 up to 1024", spec.width));
    }
    Ok(())
}

impl Places {
    /// The device layout of a checked description, or what of it this device cannot do.
    pub fn new(spec: &ModelSpec, layout: &Layout) -> Result<Places> {
        supports(spec)?;
        let mut b = Builder { layout, len: 0, copies: Vec::new() };
        let width = spec.width;
        let fields = b.group(&layout.fields, width);
        let mlps = layout.fields.iter().enumerate().filter_map(|(f, embedding)| match embedding {
            Embedding::Mlp(first, second) => Some(b.mlp(f, *first, *second, fields.fields[f].weight)),
            _ => None,
        });
        let mlps: Vec<MlpPlace> = mlps.collect();
        let blocks = layout.blocks.iter().map(|block| {
            let rows = block.rows.as_ref().map(|rows| b.attention(rows, width));
            let attention = b.attention(&block.attention, width);
            let norm2 = b.norm(&block.norm2, width);
            let (mlp_in, mlp_out) = (b.linear(block.mlp_in), b.linear(block.mlp_out));
            BlockPlace { rows, attention, norm2, mlp_in, mlp_out }
        });
        let blocks = blocks.collect();
        let norm = b.norm(&layout.norm, width);
        let heads = layout.heads.iter().map(|head| {
            let mut layers = vec![b.linear(head.trunk)];
            let conditions = b.group(&head.conditions, layers[0].outputs);
            layers.extend(head.layers.iter().map(|&id| b.linear(id)));
            HeadPlace { conditions, layers }
        });
        let heads = heads.collect();
        let pool_heads = layout.pool_heads.iter().map(|head| {
            let (last, between) = head.layers.split_last().expect("a pool head has a last layer");
            PoolPlace {
                mlp: mlps.iter().position(|mlp| mlp.field == head.field),
                embedding: fields.only(head.field),
                trunk: b.linear(head.trunk),
                candidate: b.linear(head.candidate),
                layers: between.iter().map(|&id| b.linear(id)).collect(),
                last: b.score_layer(*last),
            }
        });
        let pool_heads = pool_heads.collect();
        let (len, copies) = (b.len, b.copies);
        let mut decays = vec![0; len];
        for tensor in layout.tensors.iter().filter(|t| t.decays) {
            for copy in copies.iter().filter(|c| tensor.range.contains(&c.host)) {
                for line in 0..copy.lines {
                    decays[copy.device + line * copy.stride..][..copy.columns].fill(1);
                }
            }
        }
        Ok(Places { len, fields, mlps, blocks, norm, heads, pool_heads, decays, copies })
    }

    /// The device's numbers, from the host's; padding is zero.
    pub fn to_device(&self, host: &[f32]) -> Vec<f32> {
        let mut device = vec![0.0; self.len];
        for c in &self.copies {
            for line in 0..c.lines {
                let from = &host[c.host + line * c.columns..][..c.columns];
                device[c.device + line * c.stride..][..c.columns].copy_from_slice(from);
            }
        }
        device
    }

    /// The host's numbers, from the device's.
    pub fn to_host(&self, device: &[f32], host: &mut [f32]) {
        for c in &self.copies {
            for line in 0..c.lines {
                let from = &device[c.device + line * c.stride..][..c.columns];
                host[c.host + line * c.columns..][..c.columns].copy_from_slice(from);
            }
        }
    }
}

struct Builder<'a> {
    layout: &'a Layout,
    len: usize,
    copies: Vec<CopyRun>,
}

impl Builder<'_> {
    fn reserve(&mut self, count: usize) -> usize {
        let start = self.len;
        self.len = (start + count).next_multiple_of(ALIGNMENT);
        start
    }

    fn copy(&mut self, host: &Range<usize>, device: usize, columns: usize, stride: usize) {
        let lines = host.len() / columns;
        self.copies.push(CopyRun { host: host.start, device, lines, columns, stride });
    }

    fn attention(&mut self, attention: &Attention, width: usize) -> AttentionPlace {
        let norm = self.norm(&attention.norm, width);
        let qkv = self.reserve_linear(width, 3 * width);
        self.place_linear(attention.query, qkv, 0);
        self.place_linear(attention.key_value, qkv, width);
        AttentionPlace { norm, qkv, project: self.linear(attention.project) }
    }

    fn norm(&mut self, norm: &Norm, width: usize) -> NormPlace {
        let place = NormPlace { gain: self.reserve(width), bias: self.reserve(width) };
        self.copy(&norm.gain, place.gain, width, width);
        self.copy(&norm.bias, place.bias, width, width);
        place
    }

    fn reserve_linear(&mut self, inputs: usize, outputs: usize) -> LinearPlace {
        let outputs = outputs.next_multiple_of(GRAIN);
        LinearPlace { weight: self.reserve(inputs * outputs), bias: self.reserve(outputs), inputs, outputs }
    }

    /// Puts a layer into the columns of `place` from `column` on.
    fn place_linear(&mut self, id: LinearId, place: LinearPlace, column: usize) {
        let Linear { weight, bias, outputs, .. } = self.layout.linear(id);
        self.copy(weight, place.weight + column, *outputs, place.outputs);
        if let Some(bias) = bias {
            self.copy(bias, place.bias + column, *outputs, place.outputs);
        }
    }

    fn linear(&mut self, id: LinearId) -> LinearPlace {
        let Linear { inputs, outputs, .. } = *self.layout.linear(id);
        let place = self.reserve_linear(inputs, outputs);
        self.place_linear(id, place, 0);
        place
    }

    /// A layer with one output, as it lies in the model.
    fn score_layer(&mut self, id: LinearId) -> LinearPlace {
        let Linear { weight, bias, inputs, .. } = self.layout.linear(id).clone();
        let place = LinearPlace { weight: self.reserve(inputs), bias: self.reserve(1), inputs, outputs: 1 };
        self.copy(&weight, place.weight, 1, 1);
        if let Some(bias) = bias {
            self.copy(&bias, place.bias, 1, 1);
        }
        place
    }

    fn group(&mut self, embeddings: &[Embedding], columns: usize) -> Group {
        let (mut fields, mut features) = (Vec::new(), 0);
        let weight = self.len;
        for embedding in embeddings {
            let at = weight + features * columns;
            let mut field = FieldPlace { size: None, has_bias: false, weight: at, feature: features };
            match embedding {
                Embedding::Table(range) => {
                    let own = self.table_columns(range, columns);
                    self.copy(range, at, own, columns);
                    features += range.len() / own;
                }
                Embedding::Linear(id) | Embedding::Mlp(_, id) => {
                    let Linear { weight, bias, inputs, outputs } = self.layout.linear(*id).clone();
                    // An MLP's matrix lies elsewhere, for it does not multiply the field's reals.
                    let inputs = if matches!(embedding, Embedding::Mlp(..)) { 0 } else { inputs };
                    if inputs > 0 {
                        self.copy(&weight, at, outputs, columns);
                    }
                    field.size = Some(inputs);
                    features += inputs;
                    if let Some(bias) = bias {
                        self.copy(&bias, at + inputs * columns, outputs, columns);
                        field.has_bias = true;
                        features += 1;
                    }
                }
            }
            fields.push(field);
        }
        self.reserve(features * columns);
        Group { weight, features, columns, fields }
    }

    fn mlp(&mut self, field: usize, first: LinearId, second: LinearId, bias: usize) -> MlpPlace {
        let hidden = self.group(&[Embedding::Linear(first)], self.layout.linear(first).outputs);
        let Linear { weight, inputs, outputs, .. } = self.layout.linear(second).clone();
        let out = LinearPlace { weight: self.reserve(weight.len()), bias, inputs, outputs };
        self.copy(&weight, out.weight, outputs, outputs);
        MlpPlace { field, hidden, out }
    }

    /// A table's own width, which the group's may pad.
    fn table_columns(&self, range: &Range<usize>, columns: usize) -> usize {
        let tensor = self.layout.tensors.iter().find(|t| t.range == *range);
        tensor.map_or(columns, |t| t.shape[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{ConditionSpec, FieldKind, FieldSpec, HeadSpec, History, PoolHeadSpec};

    #[test]
    fn every_number_has_its_own_place_and_comes_back() {
        let spec = ModelSpec {
            layers: 2,
            width: 64,
            attention_heads: 2,
            mlp_width: 128,
            context: 8,
            history: History::Causal,
            row_attention: false,
            fields: vec![
                FieldSpec::history("cell", FieldKind::categorical(5)),
                FieldSpec::history("x", FieldKind::vector(3)),
                FieldSpec::history("y", FieldKind::Vector { size: 2, hidden: Some(16) }),
            ],
            heads: vec![HeadSpec {
                name: "out".into(),
                conditions: vec![
                    ConditionSpec { name: "a".into(), kind: FieldKind::categorical(3) },
                    ConditionSpec { name: "b".into(), kind: FieldKind::vector(2) },
                ],
                hidden: vec![],
                classes: 5,
            }],
            pool_heads: vec![PoolHeadSpec { name: "pool".into(), candidate: "x".into(), hidden: vec![16, 32] }],
        };
        spec.check().unwrap();
        let layout = Layout::new(&spec);
        let places = Places::new(&spec, &layout).unwrap();
        let host: Vec<f32> = (1..=layout.len()).map(|i| i as f32).collect();
        let device = places.to_device(&host);
        assert_eq!(device.iter().filter(|&&x| x != 0.0).count(), host.len());
        let mut back = vec![0.0; host.len()];
        places.to_host(&device, &mut back);
        assert_eq!(back, host);
        let decaying: usize = layout.tensors.iter().filter(|t| t.decays).map(|t| t.range.len()).sum();
        assert_eq!(places.decays.iter().filter(|&&d| d == 1).count(), decaying);
    }
}

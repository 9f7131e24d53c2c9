//! Reading class heads on the GPU for the tokens that were appended last.

use super::append_packing::pack_conditions;
use super::device::int;
use super::fields::{add_embeddings, embed_gelu};
use super::gemm::Epilogue;
use super::network::Network;
use super::pass::Pass;
use super::places::LinearPlace;
use super::plan::Arena;
use super::trunk::{elements, sizes};
use crate::batch::FieldValues;
use crate::spec::FieldKind;
use crate::{Error, Result};

const THREADS: (u32, u32) = (256, 1);

/// Logits on the card: [rows, values, stride] f32, of which the first `classes` of each line are logits.
#[derive(Clone, Copy)]
pub(super) struct Logits {
    pub at: u64,
    pub values: usize,
    pub classes: usize,
    pub stride: usize,
    /// What lies behind the logits is free from here on, for that many bytes.
    pub spare: u64,
}

impl Network {
    /// Logits of a class head for the tokens appended last, [tokens, classes].
    pub fn logits(&mut self, head: usize, conditions: &[FieldValues]) -> Result<Vec<f32>> {
        let logits = self.run_head(head, conditions, false, 0)?;
        self.download(logits)
    }

    /// Logits of a class head for every value of its only condition, a category: [tokens, values, classes].
    pub fn logits_for_each(&mut self, head: usize) -> Result<Vec<f32>> {
        let logits = self.run_head(head, &[], true, 0)?;
        self.download(logits)
    }

    fn download(&self, logits: Logits) -> Result<Vec<f32>> {
        let Logits { at, values, classes, stride, .. } = logits;
        let mut padded = vec![0.0f32; self.real_rows * values * stride];
        self.cuda.read(at, &mut padded)?;
        Ok(padded.chunks_exact(stride).flat_map(|line| &line[..classes]).copied().collect())
    }

    /// Queues a head, with `spare` bytes left free behind its logits.
    pub(super) fn run_head(
        &mut self,
        head: usize,
        conditions: &[FieldValues],
        sweep: bool,
        spare: usize,
    ) -> Result<Logits> {
        let values = self.check_head(head, conditions, sweep)?;
        self.cuda.bind()?;
        let rows = self.rows;
        let place = &self.places.heads[head];
        let (last, hidden) = place.layers.split_last().expect("a head has a first layer");
        let lines = rows * values;
        let first = place.layers[0].outputs;
        let lay_out = |base: u64| {
            let mut a = Arena { next: base };
            let before: Vec<u64> = hidden.iter().map(|layer| a.half(lines * layer.outputs)).collect();
            let after: Vec<u64> = hidden.iter().map(|layer| a.half(lines * layer.outputs)).collect();
            let trunk_part = a.single(rows * first);
            let logits = a.single(lines * last.outputs);
            let spare_at = a.take(spare);
            (before, after, trunk_part, logits, spare_at, (a.next - base) as usize)
        };
        let bytes = lay_out(0).5;
        if self.head_arena.as_ref().is_none_or(|arena| arena.bytes < bytes) {
            self.head_arena = None;
            self.head_arena = Some(self.cuda.allocate("a head of all sequences", bytes)?);
        }
        let (before, after, trunk_part, logits, spare, _) = lay_out(self.head_arena.as_ref().expect("just made").ptr);
        let fields = pack_conditions(&place.conditions, conditions, self.real_rows, rows, &mut self.words);
        let (out, classes, stride) = (self.out, self.spec.heads[head].classes, last.outputs);
        let batch = self.send_words()?;
        let s = self.pass(batch);
        let place = &s.places.heads[head];
        let (last, hidden) = place.layers.split_last().expect("a head has a first layer");
        let layer_weight = |s: &Pass<'_>, layer: &LinearPlace| (s.half(layer.weight), s.single(layer.bias));
        if sweep {
            // The trunk's part once, then every value of the condition added to it.
            let (weight, bias) = layer_weight(&s, &place.layers[0]);
            let first_sizes = sizes(rows, place.layers[0]);
            s.products.forward_single(first_sizes, out, weight, trunk_part, Epilogue::Bias(bias))?;
            let table = s.single(place.conditions.fields[0].weight);
            let (kernel, to) = match hidden.is_empty() {
                true => (&s.kernels.sweep, logits),
                false => (&s.kernels.sweep_gelu, after[0]),
            };
            let mut arguments = [trunk_part, table, to, int(rows), int(values), int(first)];
            s.cuda.launch(kernel, elements(lines * first), THREADS, &mut arguments)?;
        }
        let mut x = out;
        for (i, layer) in hidden.iter().enumerate() {
            if i > 0 || !sweep {
                let (weight, bias) = (s.half(layer.weight), s.half(layer.bias));
                let layer_sizes = sizes(lines, *layer);
                if i == 0 && fields.count > 0 {
                    s.products.forward(layer_sizes, x, weight, before[i], Epilogue::Bias(bias))?;
                    embed_gelu(&s, fields, before[i], after[i], lines, layer.outputs, true)?;
                } else {
                    let epilogue = Epilogue::BiasGelu { bias, before: before[i] };
                    s.products.forward(layer_sizes, x, weight, after[i], epilogue)?;
                }
            }
            x = after[i];
        }
        if !(sweep && hidden.is_empty()) {
            let (weight, bias) = layer_weight(&s, last);
            s.products.forward_single(sizes(lines, *last), x, weight, logits, Epilogue::Bias(bias))?;
        }
        if hidden.is_empty() && fields.count > 0 {
            add_embeddings(&s, fields, logits, lines, last.outputs, true)?;
        }
        Ok(Logits { at: logits, values, classes, stride, spare })
    }

    /// The number of values swept, one if none.
    fn check_head(&self, head: usize, conditions: &[FieldValues], sweep: bool) -> Result<usize> {
        let Some(description) = self.spec.heads.get(head) else {
            return Err(Error::Batch(format!("class head {head} of {}", self.spec.heads.len())));
        };
        let (name, all) = (&description.name, &description.conditions);
        if sweep {
            return match all.iter().map(|c| c.kind).collect::<Vec<_>>()[..] {
                [FieldKind::Categorical { size }] => Ok(size),
                _ => Err(Error::Batch(format!("head `{name}` has no single condition that is a category"))),
            };
        }
        if conditions.len() != all.len() {
            let (got, has) = (conditions.len(), all.len());
            return Err(Error::Batch(format!("head `{name}`: {got} conditions given, {has} needed")));
        }
        for (values, condition) in conditions.iter().zip(all) {
            let what = format_args!("head `{name}`, condition `{}`", condition.name);
            values.check(what, condition.kind, self.real_rows)?;
        }
        Ok(1)
    }
}

//! Reading class heads on the GPU for the tokens that were appended last.

use super::address::Address;
use super::append_packing::pack_conditions;
use super::fields::{add_embeddings, embed_gelu};
use super::kernels::{Sweep, SweepGelu};
use super::layers::elements;
use super::network::Network;
use super::plan::Arena;
use super::records::{Plain, int};
use crate::batch::FieldValues;
use crate::spec::FieldKind;
use crate::{Error, Result};
use half::bf16;

/// Logits on the GPU: [rows, values, stride], of which the first `classes` of each line are logits.
#[derive(Clone, Copy)]
pub(super) struct Logits {
    pub at: Address<f32>,
    pub values: usize,
    pub classes: usize,
    pub stride: usize,
    /// What lies behind the logits is free from here on, for that many bytes.
    pub spare: Address<u8>,
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
        self.read_head(at, &mut padded)?;
        Ok(padded.chunks_exact(stride).flat_map(|line| &line[..classes]).copied().collect())
    }

    /// What the head that ran last has left at an address.
    pub(super) fn read_head<T: Plain>(&self, from: Address<T>, to: &mut [T]) -> Result<()> {
        match &self.head_arena {
            Some(arena) => self.cuda.read(arena, from, to),
            None => Err(Error::Cuda("no head has been read yet".into())),
        }
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
            let before: Vec<Address<bf16>> = hidden.iter().map(|layer| a.take(lines * layer.outputs)).collect();
            let after: Vec<Address<bf16>> = hidden.iter().map(|layer| a.take(lines * layer.outputs)).collect();
            let trunk_part: Address<f32> = a.take(rows * first);
            let logits: Address<f32> = a.take(lines * last.outputs);
            let spare_at: Address<u8> = a.take(spare);
            (before, after, trunk_part, logits, spare_at, (a.next - base) as usize)
        };
        let bytes = lay_out(0).5;
        if self.head_arena.as_ref().is_none_or(|arena| arena.bytes < bytes) {
            self.head_arena = None;
            self.head_arena = Some(self.cuda.allocate("a head of all sequences", bytes)?);
        }
        let base = self.head_arena.as_ref().map_or(0, |arena| arena.start::<u8>().bits());
        let (before, after, trunk_part, logits, spare, _) = lay_out(base);
        let fields = pack_conditions(&place.conditions, conditions, self.real_rows, rows, &mut self.words);
        let (out, classes, stride) = (self.out, self.spec.heads[head].classes, last.outputs);
        let batch = self.send_words()?;
        let mut s = self.pass(batch);
        let place = &s.places.heads[head];
        let (last, hidden) = place.layers.split_last().expect("a head has a first layer");
        if sweep {
            // The trunk's part once, then every value of the condition added to it.
            s.linear_single(rows, place.layers[0], out, trunk_part)?;
            let (before, table) = (trunk_part, s.single(place.conditions.fields[0].weight));
            let (rows, values, columns, grid) = (int(rows), int(values), int(first), elements(lines * first));
            // SAFETY: the trunk's part has a line for each row, the condition's table one for each value, and what is
            // written one for each of both; a thread a number.
            unsafe {
                match after.first() {
                    None => {
                        s.cuda.launch(
                            &s.kernels.sweep,
                            grid,
                            Sweep { before, table, logits, rows, values, columns },
                        )?;
                    }
                    Some(&after) => {
                        let arguments = SweepGelu { before, table, after, rows, values, columns };
                        s.cuda.launch(&s.kernels.sweep_gelu, grid, arguments)?;
                    }
                }
            }
        }
        let mut x = out;
        for (i, layer) in hidden.iter().enumerate() {
            if i > 0 || !sweep {
                if i == 0 && fields.count > 0 {
                    s.linear(lines, *layer, x, before[i])?;
                    embed_gelu(&s, fields, before[i], after[i], lines, layer.outputs, true)?;
                } else {
                    s.linear_gelu(lines, *layer, x, before[i], after[i])?;
                }
            }
            x = after[i];
        }
        if !(sweep && hidden.is_empty()) {
            s.linear_single(lines, *last, x, logits)?;
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

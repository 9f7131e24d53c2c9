//! Reading the heads: class logits, logits for every value of one condition at once, and scores of candidates.

use super::Network;
use crate::batch::{FieldValues, Of, Pools};
use crate::cpu::memory::reserve;
use crate::cpu::threads::{Shared, chunk, scaled};
use crate::cpu::view::{CHUNK, View};
use crate::layout::{Embedding, HeadLayout, LinearId, PoolHeadLayout};
use crate::{Error, FieldKind, Result};

/// One thread's space for head layers.
#[derive(Default)]
pub(crate) struct HeadSpace {
    first: Vec<f32>,
    before: Vec<f32>,
    after: Vec<f32>,
}

/// Candidates made ready for a pool head; they serve any number of rows.
#[derive(Clone, Debug)]
pub struct CandidateSet {
    head: usize,
    count: usize,
    /// The first layer's part on the candidates, [count, first layer].
    part: Vec<f32>,
}

impl CandidateSet {
    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl HeadSpace {
    /// Runs the layers behind the first, whose values are in `before`, into `out`.
    fn layers(&mut self, view: &View<'_>, layers: &[LinearId], rows: usize, out: &mut [f32]) {
        for (i, &layer) in layers.iter().enumerate() {
            let linear = view.layout.linear(layer);
            let len = rows * linear.inputs;
            reserve(&mut self.after, len);
            view.gelu(&self.before[..len], &mut self.after[..len]);
            if i + 1 == layers.len() {
                view.linear(layer, rows, &self.after, None, out);
            } else {
                reserve(&mut self.before, rows * linear.outputs);
                view.linear(layer, rows, &self.after, None, &mut self.before);
            }
        }
        if layers.is_empty() {
            out.copy_from_slice(&self.before[..out.len()]);
        }
    }
}

impl Network {
    /// Logits of a class head for rows of the trunk's output, [rows, classes].
    pub fn logits(&mut self, head: usize, trunk: &[f32], conditions: &[FieldValues]) -> Result<&[f32]> {
        let rows = self.check_head(head, trunk, conditions, None)?;
        self.run_head(head, trunk, rows, conditions, None);
        Ok(&self.head_out[..rows * self.model.spec().heads[head].classes])
    }

    /// Logits of a class head for every value of one categorical condition, [rows, values, classes]: the trunk's part
    /// is computed once. `others` are the values of the remaining conditions, in order. The condition is added last; if
    /// it is the head's last, the bits are those of [`Network::logits`].
    pub fn logits_for_each(
        &mut self,
        head: usize,
        trunk: &[f32],
        condition: usize,
        others: &[FieldValues],
    ) -> Result<&[f32]> {
        let rows = self.check_head(head, trunk, others, Some(condition))?;
        let values = self.run_head(head, trunk, rows, others, Some(condition));
        Ok(&self.head_out[..rows * values * self.model.spec().heads[head].classes])
    }

    fn check_head(
        &self,
        head: usize,
        trunk: &[f32],
        conditions: &[FieldValues],
        swept: Option<usize>,
    ) -> Result<usize> {
        let spec = self.model.spec();
        let Some(description) = spec.heads.get(head) else {
            return Err(Error::Batch(format!("class head {head} of {}", spec.heads.len())));
        };
        let what = Of("head", &description.name);
        if !trunk.len().is_multiple_of(spec.width) {
            return Err(Error::Batch(format!("{what}: {} numbers are not rows of {}", trunk.len(), spec.width)));
        }
        if let Some(swept) = swept
            && !matches!(description.conditions.get(swept).map(|c| c.kind), Some(FieldKind::Categorical { .. }))
        {
            return Err(Error::Batch(format!("{what}: condition {swept} is not categorical")));
        }
        let rest = description.conditions.iter().enumerate().filter(|(i, _)| Some(*i) != swept);
        if rest.clone().count() != conditions.len() {
            let (got, has) = (conditions.len(), rest.count());
            return Err(Error::Batch(format!("{what}: {got} conditions given, {has} needed")));
        }
        let rows = trunk.len() / spec.width;
        for ((_, condition), values) in rest.zip(conditions) {
            values.check(format_args!("{what}, condition `{}`", condition.name), condition.kind, rows)?;
        }
        Ok(rows)
    }

    /// Returns the number of values swept (one if none).
    fn run_head(
        &mut self,
        head: usize,
        trunk: &[f32],
        rows: usize,
        conditions: &[FieldValues],
        swept: Option<usize>,
    ) -> usize {
        let cpu = self.cpu.clone();
        let view = Self::view(&cpu, &self.model, &self.packed);
        let (width, classes) = (view.spec.width, view.spec.heads[head].classes);
        let layout: &HeadLayout = &view.layout.heads[head];
        let first = view.layout.linear(layout.trunk).outputs;
        let table = swept.map(|s| match &layout.conditions[s] {
            Embedding::Table(range) => &view.weights[range.clone()],
            _ => unreachable!("checked to be categorical"),
        });
        let values = table.map_or(1, |t| t.len() / first);
        reserve(&mut self.head_out, rows * values * classes);
        let (workers, out) = (Shared::new(&mut self.workers), Shared::new(&mut self.head_out));
        let parallel = rows * values * first * classes > 1 << 18;
        let cut = super::Cut::new(rows, if parallel { cpu.threads() } else { 1 });
        super::each(&cpu, parallel, cut.chunks, |c, worker| {
            let r = cut.chunk(c);
            // SAFETY: chunks are disjoint, and a worker runs one task at a time.
            let (worker, out) =
                unsafe { (&mut workers.get(worker..worker + 1)[0], out.get(scaled(&r, values * classes))) };
            let space = &mut worker.heads;
            let len = r.len() * first;
            reserve(&mut space.first, len);
            view.linear(layout.trunk, r.len(), &trunk[scaled(&r, width)], None, &mut space.first);
            let rest = layout.conditions.iter().enumerate().filter(|(i, _)| Some(*i) != swept);
            for ((_, embedding), values) in rest.zip(conditions) {
                let sum = &mut space.first[..len];
                view.add_embedding(embedding, values, r.start, r.len(), sum, &mut worker.scratch);
            }
            reserve(&mut space.before, len * values);
            match table {
                None => space.before[..len].copy_from_slice(&space.first[..len]),
                Some(table) => {
                    let pairs = space.first[..len]
                        .chunks_exact(first)
                        .flat_map(|row| table.chunks_exact(first).map(move |entry| (row, entry)));
                    for (sum, (row, entry)) in space.before.chunks_exact_mut(first).zip(pairs) {
                        sum.iter_mut().zip(row).zip(entry).for_each(|((s, a), b)| *s = a + b);
                    }
                }
            }
            space.layers(&view, &layout.layers, r.len() * values, out);
        });
        values
    }

    /// Makes candidates ready for a pool head.
    pub fn candidates(&mut self, head: usize, candidates: &[f32]) -> Result<CandidateSet> {
        let spec = self.model.spec();
        let Some(description) = spec.pool_heads.get(head) else {
            return Err(Error::Batch(format!("pool head {head} of {}", spec.pool_heads.len())));
        };
        let layout = &self.model.layout().pool_heads[head];
        let kind = spec.fields[layout.field].kind;
        let FieldKind::Vector { size, .. } = kind else { unreachable!("checked with the description") };
        let count = candidates.len() / size;
        let what = Of("pool head", &description.name);
        Pools { offsets: vec![0, count], candidates: candidates.to_vec() }.check(what, kind)?;
        let values = FieldValues::Vector(candidates.to_vec());
        let cpu = self.cpu.clone();
        let view = Self::view(&cpu, &self.model, &self.packed);
        let (width, first) = (spec.width, view.layout.linear(layout.trunk).outputs);
        let mut part = vec![0.0; count * first];
        let (workers, shared) = (Shared::new(&mut self.workers), Shared::new(&mut part));
        cpu.each(count.div_ceil(CHUNK), |c, worker| {
            let r = chunk(c, CHUNK, count);
            // SAFETY: chunks are disjoint, and a worker runs one task at a time.
            let (worker, out) = unsafe { (&mut workers.get(worker..worker + 1)[0], shared.get(scaled(&r, first))) };
            let embedded = &mut worker.heads.first;
            reserve(embedded, r.len() * width);
            let embedded = &mut embedded[..r.len() * width];
            embedded.fill(0.0);
            let field = &view.layout.fields[layout.field];
            view.add_embedding(field, &values, r.start, r.len(), embedded, &mut worker.scratch);
            view.linear(layout.candidate, r.len(), embedded, None, out);
        });
        Ok(CandidateSet { head, count, part })
    }

    /// Scores of all candidates for one row of the trunk's output.
    pub fn scores(&mut self, trunk: &[f32], candidates: &CandidateSet) -> Result<&[f32]> {
        let spec = self.model.spec();
        if trunk.len() != spec.width {
            return Err(Error::Batch(format!("scores: {} numbers are not one row of {}", trunk.len(), spec.width)));
        }
        let cpu = self.cpu.clone();
        let view = Self::view(&cpu, &self.model, &self.packed);
        let first = |head: &PoolHeadLayout| view.layout.linear(head.trunk).outputs;
        let fits = |head: &&PoolHeadLayout| candidates.part.len() == candidates.count * first(head);
        let Some(layout) = view.layout.pool_heads.get(candidates.head).filter(fits) else {
            return Err(Error::Batch("scores: the candidates were made ready by another model".into()));
        };
        let first = first(layout);
        let mut row = vec![0.0; first];
        view.linear(layout.trunk, 1, trunk, None, &mut row);
        let count = candidates.count;
        reserve(&mut self.head_out, count);
        let (workers, out) = (Shared::new(&mut self.workers), Shared::new(&mut self.head_out));
        super::each(&cpu, count > 2 * CHUNK, count.div_ceil(CHUNK), |c, worker| {
            let r = chunk(c, CHUNK, count);
            // SAFETY: chunks are disjoint, and a worker runs one task at a time.
            let (worker, out) = unsafe { (&mut workers.get(worker..worker + 1)[0], out.get(r.clone())) };
            let space = &mut worker.heads;
            reserve(&mut space.before, r.len() * first);
            let parts = candidates.part[scaled(&r, first)].chunks_exact(first);
            for (sum, part) in space.before.chunks_exact_mut(first).zip(parts) {
                sum.iter_mut().zip(&row).zip(part).for_each(|((s, a), b)| *s = a + b);
            }
            space.layers(&view, &layout.layers, r.len(), out);
        });
        Ok(&self.head_out[..count])
    }
}

//! Class heads in training: forward, weighted cross-entropy and backward in one pass over chunks of rows.

use super::gradients::{LayerGradient, add_layer_gradients, add_table_gradient};
use super::{Context, Gradients, Workers};
use crate::batch::{ClassTargets, FieldValues};
use crate::cpu::kernels::elementwise::{add, gelu_backward};
use crate::cpu::kernels::loss::class_loss;
use crate::cpu::memory::reserve;
use crate::cpu::packed::product;
use crate::cpu::threads::{Shared, chunk, scaled};
use crate::cpu::view::CHUNK;
use crate::layout::{Embedding, HeadLayout, Layout};
use std::ops::Range;

/// Buffers of one set of targets.
#[derive(Default)]
pub(crate) struct ClassHead {
    /// The trunk's output of the target rows.
    input: Vec<f32>,
    /// Each layer's output before GELU, then its gradient, one layer after another; the last is the logits'.
    layers: Vec<f32>,
    /// Each hidden layer behind GELU, in the same places.
    activated: Vec<f32>,
    losses: Vec<f64>,
}

/// The widths of a head's layers; with `rows` rows each, where they lie in a flat buffer.
struct Widths<'a> {
    layout: &'a Layout,
    head: &'a HeadLayout,
    rows: usize,
}

impl Widths<'_> {
    /// Outputs of layer i; 0 is the one on the trunk.
    fn width(&self, i: usize) -> usize {
        let id = if i == 0 { self.head.trunk } else { self.head.layers[i - 1] };
        self.layout.linear(id).outputs
    }

    /// The numbers of some rows of layer i.
    fn range(&self, i: usize, rows: &Range<usize>) -> Range<usize> {
        let start: usize = (0..i).map(|j| self.rows * self.width(j)).sum();
        let wide = scaled(rows, self.width(i));
        start + wide.start..start + wide.end
    }

    /// The numbers of all layers.
    fn total(&self) -> usize {
        (0..=self.head.layers.len()).map(|i| self.rows * self.width(i)).sum()
    }
}

impl ClassHead {
    /// Returns the loss; with gradients, adds them and dL/d(out).
    pub fn run(
        &mut self,
        context: &Context<'_>,
        targets: &ClassTargets,
        out: &[f32],
        dout: &mut [f32],
        workers: &mut Workers,
        gradients: Option<&mut Gradients>,
    ) -> f64 {
        let view = &context.view;
        let (width, head) = (view.spec.width, &view.layout.heads[targets.head]);
        let total = targets.rows.len();
        let widths = Widths { layout: view.layout, head, rows: total };
        let depth = head.layers.len();
        reserve(&mut self.input, total * width);
        reserve(&mut self.layers, widths.total());
        reserve(&mut self.activated, widths.total());
        let chunks = total.div_ceil(CHUNK);
        reserve(&mut self.losses, chunks);
        let backward = gradients.is_some();
        {
            let (input, layers) = (Shared::new(&mut self.input), Shared::new(&mut self.layers));
            let (activated, losses) = (Shared::new(&mut self.activated), Shared::new(&mut self.losses));
            let (dout, scratch) = (Shared::new(dout), Shared::new(&mut workers.scratch));
            // SAFETY: chunks are disjoint ranges of rows, and so of every layer's numbers.
            let part = |i: usize, rows: &Range<usize>| unsafe { layers.get(widths.range(i, rows)) };
            // SAFETY: as above.
            let active_part = |i: usize, rows: &Range<usize>| unsafe { activated.get(widths.range(i, rows)) };
            context.cpu.each(chunks, |c, worker| {
                let rows = chunk(c, CHUNK, total);
                let count = rows.len();
                // SAFETY: chunks are disjoint, and a worker runs one task at a time.
                let (input, scratch) = unsafe {
                    (input.get(rows.start * width..rows.end * width), &mut scratch.get(worker..worker + 1)[0])
                };
                for (line, &row) in input.chunks_exact_mut(width).zip(&targets.rows[rows.clone()]) {
                    line.copy_from_slice(&out[row as usize * width..][..width]);
                }
                let first = part(0, &rows);
                view.linear(head.trunk, count, input, None, first);
                for (embedding, values) in head.conditions.iter().zip(&targets.conditions) {
                    view.add_embedding(embedding, values, rows.start, count, first, scratch);
                }
                for (i, &layer) in head.layers.iter().enumerate() {
                    let active = active_part(i, &rows);
                    view.gelu(part(i, &rows), active);
                    view.linear(layer, count, active, None, part(i + 1, &rows));
                }
                let logits = part(depth, &rows);
                let (classes, weights) = (&targets.classes[rows.clone()], &targets.weights[rows.clone()]);
                // SAFETY: each chunk has its own loss; the kernel checks lengths.
                unsafe {
                    losses.get(c..c + 1)[0] = class_loss(view.isa, logits, classes, weights, targets.scale);
                }
                if !backward {
                    return;
                }
                for (i, &layer) in head.layers.iter().enumerate().rev() {
                    let len = count * widths.width(i);
                    reserve(&mut scratch.hidden, len);
                    let gradient = &mut scratch.hidden[..len];
                    let dy = part(i + 1, &rows);
                    product(view.isa, &context.transposed[layer.0], count, dy, None, None, gradient);
                    let before = part(i, &rows);
                    // SAFETY: the kernel checks lengths; the instruction set was detected.
                    unsafe { gelu_backward(view.isa, before, gradient, active_part(i, &rows)) }
                    before.copy_from_slice(gradient);
                }
                reserve(&mut scratch.normed, count * width);
                let dinput = &mut scratch.normed[..count * width];
                let dy = part(0, &rows);
                product(view.isa, &context.transposed[head.trunk.0], count, dy, None, None, dinput);
                for (line, &row) in dinput.chunks_exact(width).zip(&targets.rows[rows]) {
                    let at = row as usize * width;
                    // SAFETY: target rows are distinct; the kernel checks lengths.
                    unsafe { add(view.isa, line, dout.get(at..at + width)) }
                }
            });
        }
        if let Some(gradients) = gradients {
            self.add_gradients(context, targets, workers, gradients);
        }
        self.losses[..chunks].iter().sum()
    }

    fn add_gradients(
        &self,
        context: &Context<'_>,
        targets: &ClassTargets,
        workers: &mut Workers,
        gradients: &mut Gradients,
    ) {
        let view = &context.view;
        let head = &view.layout.heads[targets.head];
        let rows = targets.rows.len();
        let mut layer = |id, x: &[f32], dy: &[f32], gradients: &mut Gradients| {
            let layers = [LayerGradient { id, x, dy, rows }];
            add_layer_gradients(context.cpu, view.layout, &layers, &mut gradients.values, &mut workers.panels);
        };
        let widths = Widths { layout: view.layout, head, rows };
        let dlayer = |i: usize| &self.layers[widths.range(i, &(0..rows))];
        layer(head.trunk, &self.input, dlayer(0), gradients);
        for (i, &id) in head.layers.iter().enumerate() {
            layer(id, &self.activated[widths.range(i, &(0..rows))], dlayer(i + 1), gradients);
        }
        for (embedding, values) in head.conditions.iter().zip(&targets.conditions) {
            match (embedding, values) {
                (Embedding::Linear(id), FieldValues::Vector(values)) => layer(*id, values, dlayer(0), gradients),
                (Embedding::Table(range), FieldValues::Categorical(values)) => {
                    let outputs = view.layout.linear(head.trunk).outputs;
                    let table = &mut gradients.values[range.clone()];
                    add_table_gradient(view.isa, values, dlayer(0), outputs, table);
                }
                _ => unreachable!("conditions are checked against the description"),
            }
        }
    }
}

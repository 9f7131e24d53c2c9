//! Class heads in training: forward, weighted cross-entropy and backward in one pass over chunks of rows.

use super::gradients::{LayerGradient, add_layer_gradients, add_table_gradient};
use super::{Context, Gradients, Workers};
use crate::batch::{ClassTargets, FieldValues};
use crate::cpu::kernels::elementwise::{add, gelu_backward};
use crate::cpu::kernels::loss::class_loss;
use crate::cpu::memory::reserve;
use crate::cpu::packed::product;
use crate::cpu::threads::{Shared, chunk};
use crate::cpu::view::CHUNK;
use crate::layout::Embedding;

/// Buffers of one set of targets.
#[derive(Default)]
pub(crate) struct ClassHead {
    /// The trunk's output of the target rows.
    input: Vec<f32>,
    /// Each layer's output before GELU, then its gradient; the last is the logits'.
    layers: Vec<Vec<f32>>,
    /// Each hidden layer behind GELU.
    activated: Vec<Vec<f32>>,
    losses: Vec<f64>,
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
        let size = |layer: usize| match layer {
            0 => view.layout.linear(head.trunk).outputs,
            n => view.layout.linear(head.layers[n - 1]).outputs,
        };
        let depth = head.layers.len();
        reserve(&mut self.input, total * width);
        self.layers.resize_with(depth + 1, Vec::new);
        self.activated.resize_with(depth, Vec::new);
        for (i, buffer) in self.layers.iter_mut().enumerate() {
            reserve(buffer, total * size(i));
        }
        for (i, buffer) in self.activated.iter_mut().enumerate() {
            reserve(buffer, total * size(i));
        }
        let chunks = total.div_ceil(CHUNK);
        reserve(&mut self.losses, chunks);
        let backward = gradients.is_some();
        {
            let (input, layers) = (Shared::new(&mut self.input), Shared::new(&mut self.layers));
            let (activated, losses) = (Shared::new(&mut self.activated), Shared::new(&mut self.losses));
            let (dout, scratch) = (Shared::new(dout), Shared::new(&mut workers.scratch));
            // SAFETY (all blocks below): chunks are disjoint ranges of rows, target rows are distinct, and a worker runs
            // one task at a time.
            let part = |buffers: &Shared<'_, Vec<f32>>, i: usize, rows: &std::ops::Range<usize>| {
                let buffer = buffers.pointer(i..i + 1);
                let range = rows.start * size(i)..rows.end * size(i);
                // SAFETY: as above; the buffer was reserved for all rows.
                unsafe { std::slice::from_raw_parts_mut((*buffer).as_mut_ptr().add(range.start), range.len()) }
            };
            context.cpu.each(chunks, |c, worker| {
                let rows = chunk(c, CHUNK, total);
                let count = rows.len();
                // SAFETY: as above.
                let (input, scratch) = unsafe {
                    (input.get(rows.start * width..rows.end * width), &mut scratch.get(worker..worker + 1)[0])
                };
                for (line, &row) in input.chunks_exact_mut(width).zip(&targets.rows[rows.clone()]) {
                    line.copy_from_slice(&out[row as usize * width..][..width]);
                }
                let first = part(&layers, 0, &rows);
                view.linear(head.trunk, count, input, None, first);
                for (embedding, values) in head.conditions.iter().zip(&targets.conditions) {
                    view.add_embedding(embedding, values, rows.start, count, first, scratch);
                }
                for (i, &layer) in head.layers.iter().enumerate() {
                    let active = part(&activated, i, &rows);
                    view.gelu(part(&layers, i, &rows), active);
                    view.linear(layer, count, active, None, part(&layers, i + 1, &rows));
                }
                let logits = part(&layers, depth, &rows);
                let (classes, weights) = (&targets.classes[rows.clone()], &targets.weights[rows.clone()]);
                // SAFETY: as above; the kernels check lengths.
                unsafe {
                    losses.get(c..c + 1)[0] = class_loss(view.isa, logits, classes, weights, targets.scale);
                }
                if !backward {
                    return;
                }
                for (i, &layer) in head.layers.iter().enumerate().rev() {
                    let len = count * size(i);
                    reserve(&mut scratch.hidden, len);
                    let gradient = &mut scratch.hidden[..len];
                    let dy = part(&layers, i + 1, &rows);
                    product(view.isa, &context.transposed[layer.0], count, dy, None, None, gradient);
                    let before = part(&layers, i, &rows);
                    // SAFETY: as above.
                    unsafe { gelu_backward(view.isa, before, gradient, part(&activated, i, &rows)) }
                    before.copy_from_slice(gradient);
                }
                reserve(&mut scratch.normed, count * width);
                let dinput = &mut scratch.normed[..count * width];
                let dy = part(&layers, 0, &rows);
                product(view.isa, &context.transposed[head.trunk.0], count, dy, None, None, dinput);
                for (line, &row) in dinput.chunks_exact(width).zip(&targets.rows[rows]) {
                    let at = row as usize * width;
                    // SAFETY: as above.
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
        layer(head.trunk, &self.input, &self.layers[0], gradients);
        for (i, &id) in head.layers.iter().enumerate() {
            layer(id, &self.activated[i], &self.layers[i + 1], gradients);
        }
        for (embedding, values) in head.conditions.iter().zip(&targets.conditions) {
            match (embedding, values) {
                (Embedding::Linear(id), FieldValues::Vector(values)) => layer(*id, values, &self.layers[0], gradients),
                (Embedding::Table(range), FieldValues::Categorical(values)) => {
                    let outputs = view.layout.linear(head.trunk).outputs;
                    let table = &mut gradients.values[range.clone()];
                    add_table_gradient(view.isa, values, &self.layers[0], outputs, table);
                }
                _ => unreachable!("conditions are checked against the description"),
            }
        }
    }
}

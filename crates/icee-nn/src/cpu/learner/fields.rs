//! Gradients of field and condition embeddings.

use super::gradients::{LayerGradient, add_layer_gradients, add_table_gradient};
use super::{Context, Gradients, Workers};
use crate::batch::{FieldValues, Tokens};
use crate::cpu::kernels::elementwise::gelu_backward;
use crate::cpu::memory::reserve;
use crate::cpu::packed::product;
use crate::cpu::threads::{Shared, chunk};
use crate::cpu::view::CHUNK;
use crate::layout::{Embedding, LinearId};

/// Buffers for the hidden layer of MLP embeddings.
#[derive(Default)]
pub(crate) struct FieldBuffers {
    hidden: Vec<f32>,
    dhidden: Vec<f32>,
    activated: Vec<f32>,
}

impl FieldBuffers {
    /// Adds the gradients of all fields of some tokens, given those of their sums.
    pub fn add_gradients(
        &mut self,
        context: &Context<'_>,
        fields: &[usize],
        tokens: &Tokens,
        dy: &[f32],
        workers: &mut Workers,
        gradients: &mut Gradients,
    ) {
        let view = &context.view;
        let all = Shared::new(&mut gradients.values);
        // Tables are disjoint, so each field is a task; rows are added in order.
        context.cpu.each(fields.len(), |i, _| {
            let embedding = &view.layout.fields[fields[i]];
            if let (Embedding::Table(range), FieldValues::Categorical(values)) = (embedding, &tokens.fields[i]) {
                // SAFETY: tensors do not overlap.
                add_table_gradient(view.isa, values, dy, view.spec.width, unsafe { all.get(range.clone()) });
            }
        });
        for (&field, values) in fields.iter().zip(&tokens.fields) {
            if let FieldValues::Vector(values) = values {
                self.add_vector(context, &view.layout.fields[field], values, tokens.len(), dy, workers, gradients);
            }
        }
    }

    /// Adds the gradients of a vector's embedding.
    #[allow(clippy::too_many_arguments)]
    pub fn add_vector(
        &mut self,
        context: &Context<'_>,
        embedding: &Embedding,
        values: &[f32],
        rows: usize,
        dy: &[f32],
        workers: &mut Workers,
        gradients: &mut Gradients,
    ) {
        let layout = context.view.layout;
        match *embedding {
            Embedding::Table(_) => {}
            Embedding::Linear(id) => {
                let layers = [LayerGradient { id, x: values, dy, rows }];
                add_layer_gradients(context.cpu, layout, &layers, &mut gradients.values, &mut workers.panels);
            }
            Embedding::Mlp(first, second) => {
                self.hidden_backward(context, first, second, values, rows, dy);
                let layers = [
                    LayerGradient { id: first, x: values, dy: &self.dhidden, rows },
                    LayerGradient { id: second, x: &self.activated, dy, rows },
                ];
                add_layer_gradients(context.cpu, layout, &layers, &mut gradients.values, &mut workers.panels);
            }
        }
    }

    /// Computes the hidden layer anew, and its gradient.
    fn hidden_backward(
        &mut self,
        context: &Context<'_>,
        first: LinearId,
        second: LinearId,
        values: &[f32],
        rows: usize,
        dy: &[f32],
    ) {
        let view = &context.view;
        let (size, width) = (view.layout.linear(first).inputs, view.layout.linear(first).outputs);
        let outputs = view.layout.linear(second).outputs;
        for buffer in [&mut self.hidden, &mut self.dhidden, &mut self.activated] {
            reserve(buffer, rows * width);
        }
        let (hidden, dhidden) = (Shared::new(&mut self.hidden), Shared::new(&mut self.dhidden));
        let activated = Shared::new(&mut self.activated);
        context.cpu.each(rows.div_ceil(CHUNK), |c, _| {
            let r = chunk(c, CHUNK, rows);
            let wide = r.start * width..r.end * width;
            // SAFETY: chunks are disjoint.
            unsafe {
                let (hidden, dhidden) = (hidden.get(wide.clone()), dhidden.get(wide.clone()));
                view.linear(first, r.len(), &values[r.start * size..], None, hidden);
                let transposed = &context.transposed[second.0];
                product(view.isa, transposed, r.len(), &dy[r.start * outputs..], None, None, dhidden);
                gelu_backward(view.isa, hidden, dhidden, activated.get(wide));
            }
        });
    }
}

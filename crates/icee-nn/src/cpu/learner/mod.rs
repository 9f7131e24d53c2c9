//! Learning on the CPU: one call runs a batch forward and backward and adds to the gradients.
//!
//! All buffers are kept from call to call; after the first batch of a shape, a step allocates nothing.

mod attention;
mod class_head;
mod fields;
mod gradients;
mod pool_head;
mod rows;
mod state;
mod trunk;

use super::kernels::attention::KeyTile;
use super::memory::{grow, reserve};
use super::packed::{Packed, Weights};
use super::threads::{Cpu, Shared};
use super::view::{Scratch, View};
use crate::batch::Batch;
use crate::{Model, Result};
use class_head::ClassHead;
use fields::FieldBuffers;
use pool_head::PoolHead;
use state::RowMap;
use trunk::Trunk;

/// Gradients of all weights of one model, in the order of its layout.
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    /// dL/d(weight), flat.
    pub values: Vec<f32>,
    /// Sums of squares of stretches.
    pub(super) parts: Vec<f64>,
}

impl Gradients {
    /// Sets all to zero, before the first batch of a step.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }
}

/// The loss of each set of targets of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses {
    /// In the order of [`Batch::class_targets`].
    pub class: Vec<f64>,
    /// In the order of [`Batch::pool_targets`].
    pub pool: Vec<f64>,
}

impl Losses {
    /// The sum of all.
    pub fn total(&self) -> f64 {
        self.class.iter().chain(&self.pool).sum()
    }
}

/// One worker's space for attention over one head of one sequence.
#[derive(Default)]
struct AttentionSpace {
    keys: Vec<f32>,
    keys_transposed: Vec<f32>,
    values: Vec<f32>,
    values_transposed: Vec<f32>,
    query: Vec<f32>,
    dout: Vec<f32>,
    delta: Vec<f32>,
    dquery: Vec<f32>,
    dkeys: Vec<f32>,
    dvalues: Vec<f32>,
    tiles: Vec<KeyTile<f32>>,
}

// SAFETY: the pointers in `tiles` point into the same space and are made anew by each task.
unsafe impl Send for AttentionSpace {}

impl AttentionSpace {
    fn reserve_backward(&mut self, keys: usize, rows: usize, head_width: usize) {
        let tiled = super::kernels::attention::tiled_len(keys, head_width);
        for buffer in [&mut self.keys_transposed, &mut self.values_transposed] {
            reserve(buffer, tiled);
        }
        for buffer in [&mut self.keys, &mut self.dkeys, &mut self.dvalues] {
            reserve(buffer, keys * head_width);
        }
        for buffer in [&mut self.query, &mut self.dout, &mut self.dquery] {
            reserve(buffer, rows * head_width);
        }
        reserve(&mut self.delta, rows);
    }
}

/// Space of each thread.
#[derive(Default)]
pub(crate) struct Workers {
    scratch: Vec<Scratch>,
    attention: Vec<AttentionSpace>,
    panels: Vec<Vec<f32>>,
}

impl Workers {
    fn new(threads: usize) -> Workers {
        let mut workers = Workers::default();
        workers.scratch.resize_with(threads, Scratch::default);
        workers.attention.resize_with(threads, AttentionSpace::default);
        workers.panels.resize_with(threads, Vec::new);
        workers
    }
}

/// Computes losses and gradients of models of one description.
pub struct Learner {
    cpu: Cpu,
    packed: Vec<Weights>,
    transposed: Vec<Packed<f32>>,
    workers: Workers,
    trunk: Trunk,
    fields: FieldBuffers,
    class_heads: Vec<ClassHead>,
    pool_heads: Vec<PoolHead>,
    losses: Losses,
}

impl Learner {
    /// A learner on this CPU; buffers grow with the first batch.
    pub fn new(cpu: &Cpu) -> Learner {
        Learner {
            cpu: cpu.clone(),
            packed: Vec::new(),
            transposed: Vec::new(),
            workers: Workers::new(cpu.threads()),
            trunk: Trunk::default(),
            fields: FieldBuffers::default(),
            class_heads: Vec::new(),
            pool_heads: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Runs a batch forward and backward. Its gradients are *added* to `gradients`, so several batches make one step.
    pub fn accumulate(&mut self, model: &Model, batch: &Batch, gradients: &mut Gradients) -> Result<&Losses> {
        batch.check(model.spec())?;
        if gradients.values.len() != model.weights().len() {
            // Fresh, or another model's.
            gradients.values.clear();
            gradients.values.resize(model.weights().len(), 0.0);
        }
        Ok(self.run(model, batch, Some(gradients)))
    }

    /// Runs a batch forward only.
    pub fn evaluate(&mut self, model: &Model, batch: &Batch) -> Result<&Losses> {
        batch.check(model.spec())?;
        Ok(self.run(model, batch, None))
    }

    fn run(&mut self, model: &Model, batch: &Batch, gradients: Option<&mut Gradients>) -> &Losses {
        let cpu = self.cpu.clone();
        cpu.run(|| self.run_inside(&cpu, model, batch, gradients));
        &self.losses
    }

    fn run_inside(&mut self, cpu: &Cpu, model: &Model, batch: &Batch, mut gradients: Option<&mut Gradients>) {
        self.pack(cpu, model, gradients.is_some());
        let view = View {
            spec: model.spec(),
            layout: model.layout(),
            weights: model.weights(),
            packed: &self.packed,
            isa: cpu.isa(),
        };
        let map = RowMap::new(batch);
        let workers = &mut self.workers;
        self.trunk.forward(cpu, &view, map, workers, gradients.is_some());
        let size = map.rows() * view.spec.width;
        self.trunk.dout[..size].fill(0.0);
        grow(&mut self.class_heads, batch.class_targets.len());
        grow(&mut self.pool_heads, batch.pool_targets.len());
        self.losses.class.clear();
        self.losses.pool.clear();
        let context = Context { cpu, view, transposed: &self.transposed };
        for (head, targets) in self.class_heads.iter_mut().zip(&batch.class_targets) {
            let (out, dout) = (&self.trunk.out[..size], &mut self.trunk.dout[..size]);
            let loss = head.run(&context, targets, out, dout, workers, gradients.as_deref_mut());
            self.losses.class.push(loss);
        }
        for (head, targets) in self.pool_heads.iter_mut().zip(&batch.pool_targets) {
            let (out, dout) = (&self.trunk.out[..size], &mut self.trunk.dout[..size]);
            let fields = &mut self.fields;
            let loss = head.run(&context, targets, out, dout, workers, fields, gradients.as_deref_mut());
            self.losses.pool.push(loss);
        }
        let Some(gradients) = gradients else { return };
        let dx = self.trunk.backward(cpu, &view, &self.transposed, map, workers, gradients);
        let split = map.history.len() * view.spec.width;
        self.fields.add_gradients(&context, &view.layout.history_fields, map.history, &dx[..split], workers, gradients);
        if let Some(queries) = map.queries {
            self.fields.add_gradients(&context, &view.layout.query_fields, queries, &dx[split..], workers, gradients);
        }
    }

    /// Lays the weights out for products; they may have changed since the last call.
    fn pack(&mut self, cpu: &Cpu, model: &Model, backward: bool) {
        let layout = model.layout();
        self.packed.resize_with(layout.linears.len(), || Weights::Single(Packed::default()));
        self.transposed.resize_with(layout.linears.len(), Packed::default);
        let (packed, transposed) = (Shared::new(&mut self.packed), Shared::new(&mut self.transposed));
        cpu.each(layout.linears.len(), |i, _| {
            let linear = &layout.linears[i];
            let weight = &model.weights()[linear.weight.clone()];
            // SAFETY: each task has its own layer.
            unsafe {
                if let Weights::Single(packed) = &mut packed.get(i..i + 1)[0] {
                    packed.pack(weight, linear.inputs, linear.outputs);
                }
                if backward {
                    transposed.get(i..i + 1)[0].pack_transposed(weight, linear.outputs, linear.inputs);
                }
            }
        });
    }
}

/// What every part of a learner's step reads.
pub(crate) struct Context<'a> {
    cpu: &'a Cpu,
    view: View<'a>,
    transposed: &'a [Packed<f32>],
}

//! Learning on the GPU: weights, gradients and AdamW's moments stay there; a step needs the host only to send a batch.
//!
//! The first batch of a shape runs launch by launch, the second is captured as a graph, and all later ones replay it.

use super::address::{Address, Section};
use super::class_head::run_class_heads;
use super::device::{Cuda, Memory, Staging, describe, problem};
use super::gemm::Products;
use super::kernels::{FinishSums, Kernels};
use super::layers::round;
use super::optimiser::Optimiser;
use super::packed::Packed;
use super::packing::Shape;
use super::pass::Pass;
use super::places::Places;
use super::plan::Plan;
use super::pool_head::run_pool_heads;
use super::records::{SumJob, words};
use super::step::Step;
use super::trunk;
use crate::batch::Batch;
use crate::cpu::Losses;
use crate::optim::{AdamConfig, AdamW};
use crate::{Error, Layout, Model, ModelSpec, Result};
use cudarc::driver::{CudaGraph, sys};
use std::collections::HashMap;

/// Shapes whose plans and graphs are kept.
const MAX_SHAPES: usize = 64;

/// Computes losses and gradients of one model and updates it, all on the GPU.
pub struct Learner {
    pub(super) cuda: Cuda,
    pub(super) kernels: Kernels,
    products: Products,
    spec: ModelSpec,
    layout: Layout,
    pub(super) places: Places,
    pub(super) config: AdamConfig,
    pub(super) steps: u64,
    pub(super) numbers: Numbers,
    pub(super) optimiser: Optimiser,
    shapes: HashMap<Shape, Prepared>,
    arena: Option<Memory>,
    batch: Option<Memory>,
    batch_staging: [Option<Staging>; 2],
    turn: usize,
    losses: Losses,
    pending: Pending,
}

/// Where the last batch's losses are, and how many.
#[derive(Clone, Copy, Default)]
struct Pending {
    at: Address<f64>,
    classes: usize,
    pools: usize,
}

/// Everything of the model's size.
pub(super) struct Numbers {
    pub weights: Memory,
    pub weights16: Memory,
    pub gradient: Memory,
    pub first: Memory,
    pub second: Memory,
    pub decays: Memory,
}

struct Prepared {
    plan: Plan,
    ran: bool,
    graph: Option<CudaGraph>,
}

/// Queues a step: forward, the heads' losses and, where it learns, the backward pass.
fn run(step: &mut Step<'_>) -> Result<()> {
    trunk::forward(step)?;
    run_class_heads(step)?;
    run_pool_heads(step)?;
    if !step.shape.backward {
        return Ok(());
    }
    trunk::backward(step)?;
    // They follow the batch.
    let jobs: Section<SumJob> = Section::new(step.shape.words, step.plan.jobs.len());
    let arguments = FinishSums { jobs: step.section(jobs), partial: step.plan.sums, gradient: step.gradient };
    let grid = (jobs.count as u32, step.plan.widest_job().div_ceil(32) as u32);
    // SAFETY: the plan's jobs point into its sums, which are all queued before, and into the gradient; a block a job
    // and 32 columns of the widest.
    unsafe { step.cuda.launch(&step.kernels.finish_sums, grid, arguments) }
}

impl Learner {
    /// A learner with the model's weights and a fresh optimiser.
    pub fn new(cuda: &Cuda, model: &Model, config: AdamConfig) -> Result<Learner> {
        let (spec, layout) = (model.spec().clone(), model.layout().clone());
        let places = Places::new(&spec, &layout)?;
        cuda.bind()?;
        let kernels = Kernels::new(cuda, spec.width, spec.head_width())?;
        let take = |per: usize| cuda.allocate("the model", per * places.len);
        let numbers = Numbers {
            weights: take(4)?,
            weights16: take(2)?,
            gradient: take(4)?,
            first: take(4)?,
            second: take(4)?,
            decays: take(1)?,
        };
        cuda.write(&numbers.decays, &places.decays)?;
        let mut learner = Learner {
            cuda: cuda.clone(),
            kernels,
            products: Products::new(cuda)?,
            config,
            steps: 0,
            numbers,
            optimiser: Optimiser::new(cuda)?,
            shapes: HashMap::new(),
            arena: None,
            batch: None,
            batch_staging: [None, None],
            turn: 0,
            losses: Losses::default(),
            pending: Pending::default(),
            spec,
            layout,
            places,
        };
        let adam = AdamW::new(&learner.layout, config);
        learner.restore(model, &adam)?;
        Ok(learner)
    }

    /// Runs a batch forward and backward; its gradients are *added*, so several batches make one step.
    pub fn accumulate(&mut self, batch: &Batch) -> Result<&Losses> {
        self.submit(batch)?;
        self.losses()
    }

    /// Runs a batch forward only.
    pub fn evaluate(&mut self, batch: &Batch) -> Result<&Losses> {
        self.queue(&Packed::new(&self.spec, &self.places, batch, false)?)?;
        self.losses()
    }

    /// Queues what [`Learner::accumulate`] does and returns at once; [`Learner::losses`] waits for it.
    pub fn submit(&mut self, batch: &Batch) -> Result<()> {
        self.queue(&Packed::new(&self.spec, &self.places, batch, true)?)
    }

    /// [`Learner::submit`] for a batch that was packed elsewhere, for a model of the same description.
    pub fn submit_packed(&mut self, packed: &Packed) -> Result<()> {
        match packed.spec == self.spec {
            true => self.queue(packed),
            false => Err(Error::Cuda("the batch was packed for a model of another description".into())),
        }
    }

    /// The losses of the last batch, once it is done.
    pub fn losses(&mut self) -> Result<&Losses> {
        let Pending { at, classes, pools } = self.pending;
        let mut all = vec![0.0; classes + pools];
        if !all.is_empty() {
            let arena = self.arena.as_ref().ok_or_else(|| Error::Cuda("no batch has run yet".into()))?;
            self.cuda.read(arena, at, &mut all)?;
        }
        self.losses.pool = all.split_off(classes);
        self.losses.class = all;
        Ok(&self.losses)
    }

    /// Optimiser steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The global gradient norm that the last step found, before clipping. After [`step_together`](super::step_together) the first learner
    /// has it.
    pub fn gradient_norm(&self) -> Result<f64> {
        self.optimiser.norm()
    }

    /// The gradients added up since the last step, in the order of the model's layout.
    pub fn gradients(&self) -> Result<Vec<f32>> {
        let mut host = vec![0.0; self.layout.len()];
        self.download_into(&self.numbers.gradient, &mut host)?;
        Ok(host)
    }

    /// Sets all gradients to zero.
    pub fn clear_gradients(&mut self) -> Result<()> {
        self.cuda.bind()?;
        // SAFETY: the gradient has that many numbers.
        unsafe { self.cuda.clear(self.numbers.gradient.start::<f32>(), self.places.len) }
    }

    /// Copies the weights into a model of the same description.
    pub fn download(&self, model: &mut Model) -> Result<()> {
        self.check_model(model)?;
        self.download_into(&self.numbers.weights, model.weights_mut())
    }

    /// A copy of the optimiser's state.
    pub fn optimiser(&self) -> Result<AdamW> {
        let mut adam = AdamW::new(&self.layout, self.config);
        adam.steps = self.steps;
        self.download_into(&self.numbers.first, &mut adam.first)?;
        self.download_into(&self.numbers.second, &mut adam.second)?;
        Ok(adam)
    }

    /// Takes weights and optimiser state from elsewhere, as if training had gone on here; gradients become zero.
    pub fn restore(&mut self, model: &Model, adam: &AdamW) -> Result<()> {
        self.check_model(model)?;
        if adam.first.len() != self.layout.len() || adam.second.len() != self.layout.len() {
            return Err(Error::Cuda("the optimiser's state belongs to another model".into()));
        }
        (self.config, self.steps) = (adam.config, adam.steps);
        let n = &self.numbers;
        for (memory, host) in [(&n.weights, model.weights()), (&n.first, &adam.first), (&n.second, &adam.second)] {
            self.cuda.write(memory, &self.places.to_device(host))?;
        }
        round(&self.cuda, &self.kernels, n.weights.start(), n.weights16.start(), self.places.len)?;
        self.clear_gradients()
    }

    fn check_model(&self, model: &Model) -> Result<()> {
        match *model.spec() == self.spec {
            true => Ok(()),
            false => Err(Error::Cuda("the learner was made for a model of another description".into())),
        }
    }

    fn download_into(&self, memory: &Memory, host: &mut [f32]) -> Result<()> {
        let mut device = vec![0.0; self.places.len];
        self.cuda.read(memory, memory.start(), &mut device)?;
        self.places.to_host(&device, host);
        Ok(())
    }

    fn queue(&mut self, packed: &Packed) -> Result<()> {
        self.cuda.bind()?;
        let shape = &packed.shape;
        self.prepare(shape)?;
        let prepared = self.shapes.get_mut(shape).expect("just prepared");
        let to = self.batch.as_ref().expect("just prepared");
        let staging = self.batch_staging[self.turn].as_mut().expect("just prepared");
        staging.send(&[&packed.words, words(&prepared.plan.jobs)], to)?;
        self.turn = 1 - self.turn;
        let pass = Pass {
            cuda: &self.cuda,
            kernels: &self.kernels,
            products: &mut self.products,
            spec: &self.spec,
            places: &self.places,
            weights: self.numbers.weights.start(),
            weights16: self.numbers.weights16.start(),
            batch: to.start(),
        };
        let mut step = Step { pass, plan: &prepared.plan, shape, gradient: self.numbers.gradient.start() };
        let failed = |e| problem("capturing a step", describe(e));
        if let (true, None) = (prepared.ran, &prepared.graph) {
            let stream = &self.cuda.stream;
            stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed)?;
            let ran = run(&mut step);
            let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0));
            ran?;
            prepared.graph = graph.map_err(failed)?;
        }
        match &prepared.graph {
            Some(graph) => graph.launch().map_err(|e| problem("running a step", describe(e)))?,
            None => run(&mut step)?,
        }
        prepared.ran = true;
        self.pending = Pending { at: prepared.plan.losses, classes: shape.targets.len(), pools: shape.pools.len() };
        Ok(())
    }

    /// Makes sure that there is a plan, and memory for it and for the batch.
    fn prepare(&mut self, shape: &Shape) -> Result<()> {
        let multiprocessors = self.cuda.multiprocessors() as usize;
        if !self.shapes.contains_key(shape) {
            let layout = |base| Plan::new(&self.spec, &self.places, shape, multiprocessors, base);
            let bytes = layout(0).bytes;
            if self.shapes.len() >= MAX_SHAPES {
                self.cuda.synchronize()?;
                self.shapes.clear();
                self.products.forget();
            }
            if self.arena.as_ref().is_none_or(|arena| arena.bytes < bytes) {
                self.cuda.synchronize()?;
                self.shapes.clear();
                // The old arena goes before the new one is taken, and with it the losses of the last batch.
                self.arena = None;
                self.pending = Pending::default();
                self.arena = Some(self.cuda.allocate("a batch of this size", bytes)?);
            }
            let plan = layout(self.arena.as_ref().map_or(0, |arena| arena.start::<u8>().bits()));
            self.shapes.insert(shape.clone(), Prepared { plan, ran: false, graph: None });
        }
        let words = shape.words + size_of_val(&self.shapes[shape].plan.jobs[..]) / 4;
        if self.batch.as_ref().is_none_or(|batch| batch.bytes < 4 * words) {
            self.cuda.synchronize()?;
            // Graphs read batches at the old address.
            self.shapes.values_mut().for_each(|prepared| prepared.graph = None);
            self.batch = None;
            self.batch = Some(self.cuda.allocate("a batch's tokens", 4 * words)?);
        }
        let staging = &mut self.batch_staging[self.turn];
        if staging.as_ref().is_none_or(|staging| staging.words() < words) {
            *staging = None;
            *staging = Some(Staging::new(&self.cuda, words)?);
        }
        Ok(())
    }
}

impl Drop for Learner {
    fn drop(&mut self) {
        // Memory must not go while kernels use it; an error here has been or will be reported elsewhere.
        let _ = self.cuda.synchronize();
    }
}

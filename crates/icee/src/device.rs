//! The only file that calls the engine's learner and network; another device is added here.

use crate::Result;
use icee_nn::batch::{Batch, FieldValues, Tokens};
use icee_nn::cpu::{self, Cpu, Gradients};
use icee_nn::optim::{AdamW, clip_scale};
use icee_nn::{Model, Precision};

pub use icee_nn::cpu::Cache;

/// Where numbers are crunched.
#[derive(Clone, Debug)]
pub struct Device {
    cpu: Cpu,
}

impl Device {
    /// The CPU with this many threads; 0 takes all cores.
    ///
    /// # Errors
    /// The engine's, where threads cannot be started.
    pub fn cpu(threads: usize) -> Result<Device> {
        Ok(Device { cpu: Cpu::new(threads)? })
    }

    /// The device in words.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("CPU, {}, {} threads", self.cpu.isa(), self.cpu.threads())
    }

    /// A learner for this many networks.
    #[must_use]
    pub fn learner(&self, networks: usize) -> Learner {
        let part = || (cpu::Learner::new(&self.cpu), Gradients::default());
        Learner { cpu: self.cpu.clone(), parts: (0..networks).map(|_| part()).collect() }
    }

    /// A model made ready for acting.
    #[must_use]
    pub fn network(&self, model: &Model) -> Network {
        Network { inner: cpu::Network::new(&self.cpu, model, Precision::Single) }
    }
}

/// Trains the networks of one method together.
pub struct Learner {
    cpu: Cpu,
    parts: Vec<(cpu::Learner, Gradients)>,
}

/// What one update gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The loss of each head of each network.
    pub losses: Vec<Vec<f64>>,
    /// The gradient's norm over all networks, before clipping.
    pub norm: f64,
}

impl Update {
    /// The sum of all losses.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.losses.iter().flatten().sum()
    }
}

impl Learner {
    /// One update of every network from its batch; the gradient's norm is taken and clipped over all of them.
    /// Nothing is changed where the loss or the norm is not finite.
    ///
    /// # Errors
    /// The engine's, where a batch does not fit.
    pub fn update(&mut self, models: &mut [(Model, AdamW)], batches: &[Batch], rate: f32, clip: f64) -> Result<Update> {
        let mut losses = Vec::with_capacity(models.len());
        let mut squares = 0.0;
        for (((learner, gradients), (model, _)), batch) in self.parts.iter_mut().zip(models.iter()).zip(batches) {
            gradients.clear();
            losses.push(learner.accumulate(model, batch, gradients)?.class.clone());
            squares += gradients.square_sum(&self.cpu);
        }
        let update = Update { losses, norm: squares.sqrt() };
        if update.total().is_finite() && update.norm.is_finite() {
            let scale = clip_scale(update.norm, clip);
            for ((_, gradients), (model, adam)) in self.parts.iter().zip(models) {
                adam.step(&self.cpu, model, gradients, rate, scale)?;
            }
        }
        Ok(update)
    }
}

/// A model ready for acting.
pub struct Network {
    inner: cpu::Network,
}

impl Network {
    /// An empty cache for one game.
    #[must_use]
    pub fn cache(&self) -> Cache {
        self.inner.cache(Precision::Single)
    }

    /// The head of this name.
    #[must_use]
    pub fn head(&self, name: &str) -> Option<usize> {
        self.inner.model().spec().head(name)
    }

    /// Appends tokens to the games' histories and gives the trunk's output for them, [tokens, width].
    ///
    /// # Errors
    /// The engine's.
    pub fn append(&mut self, caches: &mut [&mut Cache], tokens: &Tokens) -> Result<Vec<f32>> {
        Ok(self.inner.append(caches, tokens)?.to_vec())
    }

    /// Logits of a head, [rows, classes].
    ///
    /// # Errors
    /// The engine's.
    pub fn logits(&mut self, head: usize, trunk: &[f32], conditions: &[FieldValues]) -> Result<&[f32]> {
        Ok(self.inner.logits(head, trunk, conditions)?)
    }

    /// Logits of a head for every value of its only condition, [rows, values, classes].
    ///
    /// # Errors
    /// The engine's.
    pub fn logits_for_each(&mut self, head: usize, trunk: &[f32]) -> Result<&[f32]> {
        Ok(self.inner.logits_for_each(head, trunk, 0, &[])?)
    }
}

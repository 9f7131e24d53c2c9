//! The only file that calls the engine's learners and networks; a device is chosen here and nowhere else.

use crate::{Error, Result};
use icee_nn::batch::{Batch, FieldValues, Tokens};
use icee_nn::cpu::{self, Cpu, Gradients};
use icee_nn::cuda::{self, Cuda};
use icee_nn::optim::{AdamW, clip_scale};
use icee_nn::{Model, Precision};

pub use icee_nn::cpu::Cache;

/// Where numbers are crunched: networks learn on the GPU if there is one to use, and act on the CPU.
#[derive(Clone)]
pub struct Device {
    cpu: Cpu,
    cuda: Option<Cuda>,
}

/// Which device to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The CPU.
    #[default]
    Cpu,
    /// The GPU; an error where there is none.
    Cuda,
    /// The GPU where there is one, else the CPU.
    Auto,
}

impl Device {
    /// The CPU with this many threads; 0 takes all cores.
    ///
    /// # Errors
    /// The engine's, where threads cannot be started.
    pub fn cpu(threads: usize) -> Result<Device> {
        Ok(Device { cpu: Cpu::new(threads)?, cuda: None })
    }

    /// A device by choice, with this many threads for what the CPU does.
    ///
    /// # Errors
    /// The engine's, where threads cannot be started or a GPU that was asked for cannot be used.
    pub fn choose(choice: DeviceChoice, threads: usize) -> Result<Device> {
        let cuda = match choice {
            DeviceChoice::Cpu => None,
            DeviceChoice::Cuda => Some(Cuda::new()?),
            DeviceChoice::Auto => Cuda::new().ok(),
        };
        Ok(Device { cpu: Cpu::new(threads)?, cuda })
    }

    /// The device in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let cpu = format!("CPU, {}, {} threads", self.cpu.isa(), self.cpu.threads());
        match &self.cuda {
            Some(cuda) => format!("{}, bf16; {cpu}", cuda.name()),
            None => cpu,
        }
    }

    /// A learner for this many networks.
    #[must_use]
    pub fn learner(&self, networks: usize) -> Learner {
        match &self.cuda {
            Some(cuda) => Learner::Cuda { cuda: cuda.clone(), networks, learner: None },
            None => {
                let part = || (cpu::Learner::new(&self.cpu), Gradients::default());
                Learner::Cpu { cpu: self.cpu.clone(), parts: (0..networks).map(|_| part()).collect() }
            }
        }
    }

    /// The losses of a batch, class heads first; nothing is learned.
    ///
    /// # Errors
    /// The engine's, where the batch does not fit.
    pub fn losses(&self, model: &Model, batch: &Batch) -> Result<Vec<f64>> {
        let mut learner = cpu::Learner::new(&self.cpu);
        let losses = learner.evaluate(model, batch)?;
        Ok(losses.class.iter().chain(&losses.pool).copied().collect())
    }

    /// A model made ready for acting.
    #[must_use]
    pub fn network(&self, model: &Model) -> Network {
        Network { inner: cpu::Network::new(&self.cpu, model, Precision::Single) }
    }
}

/// Trains the networks of one method together.
pub enum Learner {
    /// On the CPU; the caller's models are the weights.
    Cpu {
        /// The threads.
        cpu: Cpu,
        /// One a network.
        parts: Vec<(cpu::Learner, Gradients)>,
    },
    /// On the GPU; the weights live there from the first update on, see [`Learner::synchronise`].
    Cuda {
        /// The card.
        cuda: Cuda,
        /// How many networks were asked for.
        networks: usize,
        /// Made by the first update.
        learner: Option<Box<cuda::Learner>>,
    },
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
    /// Nothing is changed where the loss is not finite.
    ///
    /// # Errors
    /// The engine's, where a batch does not fit.
    pub fn update(&mut self, models: &mut [(Model, AdamW)], batches: &[Batch], rate: f32, clip: f64) -> Result<Update> {
        match self {
            Learner::Cpu { cpu, parts } => update_on_cpu(cpu, parts, models, batches, rate, clip),
            Learner::Cuda { cuda, networks, learner } => {
                let ([(model, adam)], [batch], 1) = (models, batches, *networks) else {
                    let hint = "train methods of several networks with `--device cpu`";
                    return Err(Error::Config(format!("the GPU trains one network at a time: {hint}")));
                };
                if learner.is_none() {
                    let mut fresh = cuda::Learner::new(cuda, model, adam.config())?;
                    fresh.restore(model, adam)?;
                    *learner = Some(Box::new(fresh));
                }
                let learner = learner.as_mut().expect("made above");
                let losses = vec![learner.accumulate(batch)?.class.clone()];
                if !losses[0].iter().all(|loss| loss.is_finite()) {
                    return Ok(Update { losses, norm: f64::NAN });
                }
                learner.step(rate, clip as f32)?;
                let norm = learner.gradient_norm()?;
                Ok(Update { losses, norm })
            }
        }
    }

    /// Brings the caller's models up to date, before they are saved or act.
    ///
    /// # Errors
    /// The engine's.
    pub fn synchronise(&self, models: &mut [(Model, AdamW)]) -> Result<()> {
        if let (Learner::Cuda { learner: Some(learner), .. }, [(model, adam)]) = (self, models) {
            learner.download(model)?;
            *adam = learner.optimiser()?;
        }
        Ok(())
    }
}

fn update_on_cpu(
    cpu: &Cpu,
    parts: &mut [(cpu::Learner, Gradients)],
    models: &mut [(Model, AdamW)],
    batches: &[Batch],
    rate: f32,
    clip: f64,
) -> Result<Update> {
    let mut losses = Vec::with_capacity(models.len());
    let mut squares = 0.0;
    for (((learner, gradients), (model, _)), batch) in parts.iter_mut().zip(models.iter()).zip(batches) {
        gradients.clear();
        let found = learner.accumulate(model, batch, gradients)?;
        losses.push(found.class.iter().chain(&found.pool).copied().collect());
        squares += gradients.square_sum(cpu);
    }
    let update = Update { losses, norm: squares.sqrt() };
    if update.total().is_finite() && update.norm.is_finite() {
        let scale = clip_scale(update.norm, clip);
        for ((_, gradients), (model, adam)) in parts.iter().zip(models) {
            adam.step(cpu, model, gradients, rate, scale)?;
        }
    }
    Ok(update)
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

    /// Puts query tokens to histories and gives the trunk's output for them, [tokens, width].
    ///
    /// # Errors
    /// The engine's.
    pub fn query(&mut self, caches: &[&Cache], tokens: &Tokens) -> Result<Vec<f32>> {
        Ok(self.inner.query(caches, tokens)?.to_vec())
    }

    /// Scores that a pool head gives candidates for one row of the trunk's output.
    ///
    /// # Errors
    /// The engine's.
    pub fn scores(&mut self, head: usize, trunk: &[f32], candidates: &[f32]) -> Result<&[f32]> {
        let candidates = self.inner.candidates(head, candidates)?;
        Ok(self.inner.scores(trunk, &candidates)?)
    }
}

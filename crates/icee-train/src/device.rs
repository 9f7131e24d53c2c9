//! Devices: the only file of this crate and those above it that trains and runs networks, but for `icee bench`. A device is chosen
//! here.

use crate::{Error, Result};
use icee_nn::batch::{Batch, FieldValues, Tokens};
use icee_nn::cpu::{self, Cpu, Gradients};
use icee_nn::cuda::{self, Cuda};
use icee_nn::optim::{AdamW, clip_scale};
use icee_nn::{Model, ModelSpec, Precision};

use icee_nn::cpu::Cache;
use icee_nn::cuda::{ClassRange, ReturnDraw, Tilt};

const SMALLER_BATCH: &str = "lower train.batch, or data.episodes, model.layers or model.width";
const SMALLER_MODEL: &str = "lower model.layers or model.width";
const FEWER_GAMES: &str = "play fewer games at once (in training: train.eval_games), or use the CPU";

/// Where numbers are crunched. Where there is a GPU to use, networks learn there, and many games are played there; one
/// live game is always played on the CPU.
#[derive(Clone)]
pub struct Device {
    cpu: Cpu,
    cuda: Option<Cuda>,
    /// Whether the CPU will do where the GPU cannot.
    flexible: bool,
}

/// Which device to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The CPU.
    #[default]
    Cpu,
    /// The GPU; an error where there is none.
    Cuda,
    /// The GPU where there is one that can do the model, else the CPU.
    Auto,
}

impl Device {
    /// The CPU with this many threads; 0 takes all cores.
    ///
    /// # Errors
    /// The engine's, where threads cannot be started.
    pub fn cpu(threads: usize) -> Result<Device> {
        Ok(Device { cpu: Cpu::new(threads)?, cuda: None, flexible: false })
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
        Ok(Device { cpu: Cpu::new(threads)?, cuda, flexible: choice == DeviceChoice::Auto })
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

    /// The same without its GPU.
    #[must_use]
    pub fn without_gpu(&self) -> Device {
        Device { cpu: self.cpu.clone(), cuda: None, flexible: false }
    }

    /// The device for these networks, and why it is another one: where any will do ([`DeviceChoice::Auto`]) and the GPU
    /// cannot do one of them, the CPU.
    #[must_use]
    pub fn suited<'a>(&self, networks: impl IntoIterator<Item = &'a ModelSpec>) -> (Device, Option<String>) {
        let refused = networks.into_iter().find_map(|spec| cuda::supports(spec).err());
        match refused {
            Some(error) if self.flexible && self.has_gpu() => (self.without_gpu(), Some(error.to_string())),
            _ => (self.clone(), None),
        }
    }

    /// Whether many games are played on a GPU.
    #[must_use]
    pub fn has_gpu(&self) -> bool {
        self.cuda.is_some()
    }

    /// A model made ready to play this many games in lock step on the GPU.
    ///
    /// # Errors
    /// The engine's, where the model or its caches do not fit the GPU.
    pub fn gpu_inference(&self, model: &Model, games: usize) -> Result<GpuInference> {
        let Some(cuda) = &self.cuda else { return Err(Error::Config("there is no GPU to play on".into())) };
        let inner = cuda::Network::new(cuda, model, games).map_err(Error::with_advice(FEWER_GAMES))?;
        Ok(GpuInference { inner, games })
    }

    /// A learner for this many networks.
    #[must_use]
    pub fn learner(&self, networks: usize) -> Learner {
        match &self.cuda {
            Some(cuda) => Learner::Cuda { cuda: cuda.clone(), learners: Vec::new() },
            None => {
                let part = || (cpu::Learner::new(&self.cpu), Gradients::default());
                Learner::Cpu { cpu: self.cpu.clone(), parts: (0..networks).map(|_| part()).collect() }
            }
        }
    }

    /// What makes batches ready for a learner of these networks, on any thread.
    ///
    /// # Errors
    /// The engine's, where the device cannot do one of them.
    pub fn loader<'a>(&self, networks: impl IntoIterator<Item = &'a ModelSpec>) -> Result<Loader> {
        let packings = match self.has_gpu() {
            true => networks.into_iter().map(cuda::Packing::new).collect::<icee_nn::Result<_>>()?,
            false => Vec::new(),
        };
        Ok(Loader { packings })
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
    pub fn inference(&self, model: &Model) -> Inference {
        Inference { inner: cpu::Network::new(&self.cpu, model, Precision::Single) }
    }
}

/// Makes batches ready for the device that learns from them: a GPU would wait while they are packed.
pub struct Loader {
    /// One a network, where a GPU learns.
    packings: Vec<cuda::Packing>,
}

/// A batch ready for the device that learns from it.
pub enum Load {
    /// As it is.
    Plain(Batch),
    /// As a GPU reads it.
    Packed(cuda::Packed),
}

impl Loader {
    /// The batches of all networks, made ready.
    ///
    /// # Errors
    /// The engine's, where a batch does not fit its network.
    pub fn load(&self, batches: Vec<Batch>) -> Result<Vec<Load>> {
        if self.packings.is_empty() {
            return Ok(batches.into_iter().map(Load::Plain).collect());
        }
        let packed = self.packings.iter().zip(&batches).map(|(packing, batch)| packing.pack(batch).map(Load::Packed));
        Ok(packed.collect::<icee_nn::Result<_>>()?)
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
        /// The GPU.
        cuda: Cuda,
        /// One a network, made by the first update.
        learners: Vec<cuda::Learner>,
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
    pub fn update(&mut self, models: &mut [(Model, AdamW)], loads: &[Load], rate: f32, clip: f64) -> Result<Update> {
        match self {
            Learner::Cpu { cpu, parts } => update_on_cpu(cpu, parts, models, loads, rate, clip),
            Learner::Cuda { cuda, learners } => update_on_gpu(cuda, learners, models, loads, rate, clip),
        }
    }

    /// Brings the caller's models up to date, before they are saved or act.
    ///
    /// # Errors
    /// The engine's.
    pub fn synchronise(&self, models: &mut [(Model, AdamW)]) -> Result<()> {
        if let Learner::Cuda { learners, .. } = self {
            for (learner, (model, adam)) in learners.iter().zip(models) {
                learner.download(model)?;
                *adam = learner.optimiser()?;
            }
        }
        Ok(())
    }
}

fn update_on_cpu(
    cpu: &Cpu,
    parts: &mut [(cpu::Learner, Gradients)],
    models: &mut [(Model, AdamW)],
    loads: &[Load],
    rate: f32,
    clip: f64,
) -> Result<Update> {
    let mut losses = Vec::with_capacity(models.len());
    let mut squares = 0.0;
    for (((learner, gradients), (model, _)), load) in parts.iter_mut().zip(models.iter()).zip(loads) {
        let Load::Plain(batch) = load else {
            return Err(Error::Config("a batch packed for a GPU came to the CPU".into()));
        };
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

/// Everything is queued before anything is waited for; the device itself leaves the weights alone where the gradient
/// is not finite.
fn update_on_gpu(
    cuda: &Cuda,
    learners: &mut Vec<cuda::Learner>,
    models: &[(Model, AdamW)],
    loads: &[Load],
    rate: f32,
    clip: f64,
) -> Result<Update> {
    if learners.is_empty() {
        let fresh = |(model, adam): &(Model, AdamW)| -> Result<cuda::Learner> {
            let learner = cuda::Learner::new(cuda, model, adam.config());
            let mut learner = learner.map_err(Error::with_advice(SMALLER_MODEL))?;
            learner.restore(model, adam)?;
            Ok(learner)
        };
        *learners = models.iter().map(fresh).collect::<Result<_>>()?;
    }
    for (learner, load) in learners.iter_mut().zip(loads) {
        let queued = match load {
            Load::Plain(batch) => learner.submit(batch),
            Load::Packed(packed) => learner.submit_packed(packed),
        };
        queued.map_err(Error::with_advice(SMALLER_BATCH))?;
    }
    cuda::step_together(learners, rate, clip as f32)?;
    let norm = learners.first().map_or(Ok(0.0), cuda::Learner::gradient_norm)?;
    let losses = learners.iter_mut().map(|learner| {
        let found = learner.losses()?;
        Ok(found.class.iter().chain(&found.pool).copied().collect())
    });
    Ok(Update { losses: losses.collect::<Result<_>>()?, norm })
}

/// A model ready for acting on the CPU.
pub struct Inference {
    inner: cpu::Network,
}

impl Inference {
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

    /// The same for the last column of every table alone, [rows of all tables, width].
    ///
    /// # Errors
    /// The engine's.
    pub fn query_last_columns(&mut self, caches: &[&Cache], tokens: &Tokens) -> Result<Vec<f32>> {
        Ok(self.inner.query_last_columns(caches, tokens)?.to_vec())
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

/// A model that plays many games in lock step on a GPU, one cache a game.
pub struct GpuInference {
    inner: cuda::Network,
    games: usize,
}

impl GpuInference {
    /// How many games it has caches for.
    #[must_use]
    pub fn games(&self) -> usize {
        self.games
    }

    /// Cuts the caches of some games (ascending) to lengths and appends tokens to them; the heads then read the trunk's
    /// output for these tokens.
    ///
    /// # Errors
    /// The engine's.
    pub fn append(&mut self, games: &[u32], lengths: &[usize], tokens: &Tokens) -> Result<()> {
        for (&game, &length) in games.iter().zip(lengths) {
            self.inner.truncate(game as usize, length);
        }
        self.inner.append(games, tokens).map_err(Error::with_advice(FEWER_GAMES))
    }

    /// Draws (slice, bin) of each token from a return head.
    ///
    /// # Errors
    /// The engine's.
    pub fn draw_returns(&mut self, head: usize, tilt: Tilt<'_>, draws: &[ReturnDraw]) -> Result<Vec<(u32, u32)>> {
        self.inner.draw_returns(head, tilt, draws).map_err(Error::with_advice(FEWER_GAMES))
    }

    /// p̂ over the values of an outcome head's condition, given what is wanted of each token: [tokens, values].
    ///
    /// # Errors
    /// The engine's.
    pub fn outcome_posterior(&mut self, head: usize, wanted: &[ClassRange], temperature: f64) -> Result<Vec<f32>> {
        self.inner.outcome_posterior(head, wanted, temperature).map_err(Error::with_advice(FEWER_GAMES))
    }

    /// p̂ over a head's classes: [tokens, classes].
    ///
    /// # Errors
    /// The engine's.
    pub fn class_posterior(&mut self, head: usize, conditions: &[FieldValues], temperature: f64) -> Result<Vec<f32>> {
        self.inner.class_posterior(head, conditions, temperature).map_err(Error::with_advice(FEWER_GAMES))
    }
}

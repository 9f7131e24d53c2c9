//! The state of a training run: networks and their optimisers, and how many updates they have had.

use crate::device::{Device, Learner, Load, Loader, Update};
use crate::networks;
use crate::{HeldOutMetrics, Problem, Result, RunFolder};
use icee_base::files::{FileError, write_atomically};
use icee_nn::Model;
use icee_nn::checkpoint::{self, Storage};
use icee_nn::optim::{AdamConfig, AdamW, Schedule};

/// Networks under training. Several networks are trained together: one gradient norm, one learning rate.
pub struct Trainer<'p> {
    problem: &'p dyn Problem,
    names: Vec<&'static str>,
    device: Device,
    learner: Learner,
    models: Vec<(Model, AdamW)>,
    step: u64,
}

impl<'p> Trainer<'p> {
    /// Fresh networks, fixed by the problem's seed.
    ///
    /// # Errors
    /// The engine's.
    pub fn fresh(problem: &'p dyn Problem, device: &Device) -> Result<Trainer<'p>> {
        let settings = problem.settings();
        let adam = AdamConfig {
            beta2: settings.beta2 as f32,
            weight_decay: settings.weight_decay as f32,
            ..AdamConfig::default()
        };
        let with_adam = |model: Model| {
            let state = AdamW::new(model.layout(), adam);
            (model, state)
        };
        let models = networks::fresh(&problem.networks(), problem.seed(), problem.initialisation())?;
        Ok(Trainer::of_models(problem, device, models.into_iter().map(with_adam).collect(), 0))
    }

    /// Continues from a run folder's training state, which must be one of this problem.
    ///
    /// # Errors
    /// Where the state is missing or damaged.
    pub fn resume(problem: &'p dyn Problem, folder: &RunFolder, device: &Device) -> Result<Trainer<'p>> {
        let path = folder.state();
        let state = checkpoint::load_training(&path)?;
        let Some(step) = state.meta.get("step").and_then(serde_json::Value::as_u64) else {
            return Err(FileError::content(&path, "the training state has no step number").into());
        };
        let models = networks::adopt(&problem.networks(), state.models)?;
        Ok(Trainer::of_models(problem, device, models, step))
    }

    fn of_models(problem: &'p dyn Problem, device: &Device, models: Vec<(Model, AdamW)>, step: u64) -> Trainer<'p> {
        let names = problem.networks().iter().map(|network| network.name).collect();
        let learner = device.learner(models.len());
        Trainer { problem, names, device: device.clone(), learner, models, step }
    }

    /// One update from the batches of all networks; they stay as they are where the loss is not a number.
    ///
    /// # Errors
    /// The engine's.
    pub fn update(&mut self, loads: &[Load]) -> Result<Update> {
        let rate = self.rate();
        let clip = self.problem.settings().clip_norm;
        let update = self.learner.update(&mut self.models, loads, rate, clip)?;
        self.step += 1;
        Ok(update)
    }

    /// What makes batches ready for [`Trainer::update`].
    ///
    /// # Errors
    /// The engine's.
    pub fn loader(&self) -> Result<Loader> {
        self.device.loader(self.models().map(Model::spec))
    }

    /// The learning rate of the next step.
    #[must_use]
    pub fn rate(&self) -> f32 {
        let train = self.problem.settings();
        let schedule = Schedule { peak: train.lr, warmup: train.warmup, total: train.steps, floor: train.floor };
        schedule.rate(self.step)
    }

    /// How the networks do on what they never learn from.
    ///
    /// # Errors
    /// Whatever fails.
    pub fn evaluate(&mut self) -> Result<Option<HeldOutMetrics>> {
        self.synchronise()?;
        self.problem.evaluate(&self.device, &self.models().collect::<Vec<_>>())
    }

    /// Brings the networks here up to date with those on the device.
    ///
    /// # Errors
    /// The engine's.
    pub fn synchronise(&mut self) -> Result<()> {
        self.learner.synchronise(&mut self.models)
    }

    /// Writes the state to go on from and, where it is `to_act`, the checkpoint to act with.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn save(&mut self, folder: &RunFolder, to_act: bool) -> Result<()> {
        self.synchronise()?;
        if to_act {
            self.save_checkpoint(folder)?;
        }
        let meta = self.problem.meta(self.step)?;
        let whole: Vec<_> = self.names.iter().zip(&self.models).map(|(name, (m, adam))| (*name, m, adam)).collect();
        Ok(checkpoint::save_training(&folder.state(), &whole, &meta)?)
    }

    fn save_checkpoint(&self, folder: &RunFolder) -> Result<()> {
        let meta = self.problem.meta(self.step)?;
        let named: Vec<_> = self.names.iter().copied().zip(self.models()).collect();
        checkpoint::save(&folder.checkpoint(), &named, &meta, Storage::Single)?;
        let weights = self.models().map(|model| model.weights().len()).sum();
        let card = self.problem.card(self.step, weights);
        Ok(write_atomically(&folder.checkpoint().join("README.md"), card.as_bytes())?)
    }

    /// The networks.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.models.iter().map(|(model, _)| model)
    }

    /// Updates so far.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// What is learned.
    #[must_use]
    pub fn problem(&self) -> &'p dyn Problem {
        self.problem
    }
}

//! The state of a training run: networks and their optimisers, and how many updates they have had.

use super::RunFolder;
use crate::blueprint::Blueprint;
use crate::config::Config;
use crate::device::{Device, Learner, Update};
use crate::model::{Meta, TrainedModel};
use crate::task::Task;
use crate::{Error, Result};
use icee_nn::Model;
use icee_nn::batch::Batch;
use icee_nn::checkpoint;
use icee_nn::optim::{AdamConfig, AdamW, Schedule};
use std::path::Path;

/// Networks under training. Several networks are trained together: one gradient norm, one learning rate.
pub struct Trainer {
    config: Config,
    blueprint: Blueprint,
    device: Device,
    learner: Learner,
    models: Vec<(Model, AdamW)>,
    step: u64,
}

impl Trainer {
    /// Fresh networks, fixed by the config's seed.
    ///
    /// # Errors
    /// Where config and task do not fit.
    pub fn fresh(config: &Config, task: &Task, device: &Device) -> Result<Trainer> {
        let blueprint = Blueprint::new(config, task)?;
        let adam = AdamConfig {
            beta2: config.train.beta2 as f32,
            weight_decay: config.train.weight_decay as f32,
            ..AdamConfig::default()
        };
        let with_adam = |model: Model| {
            let state = AdamW::new(model.layout(), adam);
            (model, state)
        };
        let models: Vec<_> = blueprint.fresh_models(config.seed)?.into_iter().map(with_adam).collect();
        let learner = device.learner(models.len());
        Ok(Trainer { config: config.clone(), blueprint, device: device.clone(), learner, models, step: 0 })
    }

    /// Continues from a run folder's training state.
    ///
    /// # Errors
    /// Where the state is missing or damaged.
    pub fn resume(folder: &RunFolder, device: &Device) -> Result<Trainer> {
        let path = folder.state();
        Trainer::from_state(&path, device)
    }

    fn from_state(path: &Path, device: &Device) -> Result<Trainer> {
        let state = checkpoint::load_training(path)?;
        let Meta { step, task, config, .. } = Meta::read(path, state.meta)?;
        let blueprint = Blueprint::new(&config, &task)?;
        let (mut named, mut optimisers) = (Vec::new(), Vec::new());
        for (name, model, adam) in state.models {
            optimisers.push((name.clone(), adam));
            named.push((name, model));
        }
        let models = blueprint.adopt(named)?;
        let mut pairs = Vec::new();
        for (network, model) in blueprint.networks.iter().zip(models) {
            let at = optimisers.iter().position(|(name, _)| name == network.name);
            let Some(at) = at else {
                let problem = format!("no optimiser state of network \"{}\"", network.name);
                return Err(Error::File { path: path.to_owned(), problem });
            };
            pairs.push((model, optimisers.swap_remove(at).1));
        }
        let learner = device.learner(pairs.len());
        Ok(Trainer { config, blueprint, device: device.clone(), learner, models: pairs, step })
    }

    /// One update from the batches of all networks; they stay as they are where the loss is not a number.
    ///
    /// # Errors
    /// The engine's.
    pub fn update(&mut self, batches: &[Batch]) -> Result<Update> {
        let rate = self.rate();
        let update = self.learner.update(&mut self.models, batches, rate, self.config.train.clip_norm)?;
        self.step += 1;
        Ok(update)
    }

    /// The learning rate of the next step.
    #[must_use]
    pub fn rate(&self) -> f32 {
        let train = &self.config.train;
        let schedule = Schedule { peak: train.lr, warmup: train.warmup, total: train.steps, floor: train.floor };
        schedule.rate(self.step)
    }

    /// Brings the networks here up to date with those on the device.
    ///
    /// # Errors
    /// The engine's.
    pub fn synchronise(&mut self) -> Result<()> {
        self.learner.synchronise(&mut self.models)
    }

    /// Writes the checkpoint to act with and the state to go on from.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn save(&mut self, folder: &RunFolder) -> Result<()> {
        self.synchronise()?;
        let names = self.blueprint.networks.iter().map(|network| network.name);
        let models: Vec<_> = names.zip(&self.models).map(|(name, (model, adam))| (name, model, adam)).collect();
        let meta = Meta::new(&self.config, &self.blueprint.task, self.step).to_value()?;
        self.trained().save(&folder.checkpoint())?;
        Ok(checkpoint::save_training(&folder.state(), &models, &meta)?)
    }

    /// The networks as they were when last brought up to date.
    #[must_use]
    pub fn trained(&self) -> TrainedModel {
        TrainedModel {
            config: self.config.clone(),
            task: self.blueprint.task.clone(),
            step: self.step,
            models: self.models().cloned().collect(),
        }
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

    /// The config.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How the networks are built.
    #[must_use]
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// Where it runs.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }
}

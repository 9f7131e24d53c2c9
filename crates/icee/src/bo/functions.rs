//! Functions as something to learn: a prior, the network of a method, and two measures on functions that are never
//! learned from: the loss, and a race for the lowest value.

use super::config::Config;
use super::methods::Objective;
use super::model::{Meta, Model};
use super::pool::PoolPlan;
use super::pool_sampler::PoolSampler;
use super::race::{Race, Regret};
use super::value::ValuePlan;
use super::value_model::ValueModel;
use super::value_sampler::ValueSampler;
use crate::config::TrainConfig;
use crate::device::Device;
use crate::games::HELD_OUT;
use crate::networks::{NetworkSpec, Start};
use crate::train::{HeldOut, Prepared, Problem};
use crate::{Result, card};
use icee_bo::prior::{FunctionGroup, Prior};
use icee_bo::sampler::{RandomSampler, Sampler};
use icee_nn::batch::Batch;
use icee_worlds::{GameRng, Purpose, stream};
use rand::Rng;
use serde_json::{Value, json};

/// Functions of the loss on held-out ones.
const HELD_OUT_FUNCTIONS: usize = 64;

/// Functions to learn from.
pub struct Functions {
    config: Config,
    prior: Prior,
    plan: Plan,
}

/// The network of a method, and what it learns from.
pub(crate) enum Plan {
    Value(ValuePlan),
    Pool(PoolPlan),
}

impl Plan {
    pub fn new(config: &Config) -> Result<Plan> {
        config.check()?;
        Ok(match config.method()?.objective {
            Objective::Value => Plan::Value(ValuePlan::new(config)?),
            _ => Plan::Pool(PoolPlan::new(config)?),
        })
    }

    pub fn networks(&self) -> Vec<NetworkSpec> {
        let spec = match self {
            Plan::Value(plan) => &plan.spec,
            Plan::Pool(plan) => &plan.spec,
        };
        vec![NetworkSpec { name: "trunk", spec: spec.clone() }]
    }

    fn batch(&self, groups: &[FunctionGroup], rng: &mut GameRng) -> Result<Batch> {
        match self {
            Plan::Value(plan) => plan.batch(groups, rng),
            Plan::Pool(plan) => plan.batch(groups, rng),
        }
    }
}

impl Model {
    /// What picks candidates by this model, as its config says.
    ///
    /// # Errors
    /// Where config and network do not fit.
    pub fn sampler(&self, device: &Device) -> Result<Box<dyn Sampler>> {
        Ok(match self.config.method()?.objective {
            Objective::Value => {
                Box::new(ValueSampler::new(ValueModel::new(device, self)?, self.config.acting.sharpness)?)
            }
            _ => Box::new(PoolSampler::new(device, self)?),
        })
    }
}

impl Functions {
    /// The functions and the method of a config.
    ///
    /// # Errors
    /// Where its settings do not fit.
    pub fn new(config: Config) -> Result<Functions> {
        let plan = Plan::new(&config)?;
        let prior = config.prior()?.build(&config.data)?;
        Ok(Functions { config, prior, plan })
    }

    fn batch_of(&self, seed: u64, index: u64, functions: usize) -> Result<Batch> {
        let mut rng = stream(seed, Purpose::Collection, index);
        let groups = self.prior.sample(rng.next_u64(), functions)?;
        self.plan.batch(&groups, &mut rng)
    }
}

impl Problem for Functions {
    fn name(&self) -> &str {
        &self.config.world
    }

    fn method(&self) -> &str {
        &self.config.method
    }

    fn seed(&self) -> u64 {
        self.config.seed
    }

    fn settings(&self) -> &TrainConfig {
        &self.config.train
    }

    fn start(&self) -> Start {
        Start { std: self.config.model.init_std, aligned: self.config.model.aligned }
    }

    fn networks(&self) -> Vec<NetworkSpec> {
        self.plan.networks()
    }

    fn to_toml(&self) -> Result<String> {
        self.config.to_toml()
    }

    fn meta(&self, step: u64) -> Result<Value> {
        Meta::new(&self.config, step).to_value()
    }

    fn card(&self, step: u64, weights: usize) -> String {
        card::of_functions(&self.config, step, weights)
    }

    fn batch(&self, index: u64) -> Result<Prepared> {
        let batch = self.batch_of(self.config.seed, index, self.config.train.batch)?;
        Ok(Prepared { tokens: batch.rows(), batches: vec![batch], figures: vec![] })
    }

    fn batch_figures(&self) -> &'static [&'static str] {
        &[]
    }

    fn held_out_figures(&self) -> &'static [&'static str] {
        &["held_out/loss", "race/regret", "race/random", "race/solved"]
    }

    fn evaluate(&self, device: &Device, models: &[&icee_nn::Model]) -> Result<Option<HeldOut>> {
        let seed = self.config.seed ^ HELD_OUT;
        let batch = self.batch_of(seed, 0, HELD_OUT_FUNCTIONS)?;
        let loss: f64 = device.losses(models[0], &batch)?.iter().sum();
        let model = Model { config: self.config.clone(), step: 0, network: models[0].clone() };
        let race = Race::draw(&self.prior, self.config.train.eval_games, seed)?;
        let Regret { mean, solved } = race.run(&mut *model.sampler(device)?)?;
        let random = race.run(&mut RandomSampler)?.mean;
        let evaluations = race.tasks.iter().map(|task| task.evaluations).max().unwrap_or(0);
        Ok(Some(HeldOut {
            figures: vec![loss, mean, random, solved],
            brief: format!("regret {mean:.3}"),
            line: format!(
                "held-out loss {loss:.3}; regret after {evaluations} evaluations or fewer {mean:.3} (random {random:.3}), \
                 {:.0} % solved",
                100.0 * solved
            ),
            details: json!({
                "held_out_loss": loss, "regret": mean, "random_regret": random, "solved": solved,
                "evaluations": evaluations, "functions": self.config.train.eval_games,
            }),
        }))
    }
}

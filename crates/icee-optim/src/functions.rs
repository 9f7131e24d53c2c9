//! Functions as a training problem: a prior, the network of a method, and two measures on held-out functions: the loss, and a race
//! for the lowest value.

use crate::config::Config;
use crate::model::{Meta, OptimiserModel};
use crate::plan::Plan;
use crate::{KIND, Result, card};
use icee_base::random::HELD_OUT;
use icee_bo::fresh::{self, FinalRegret};
use icee_bo::search::{RandomSampler, Sampler, SearchTask};
use icee_train::{Device, HeldOutMetrics, Initialisation, NetworkSpec, Prepared, Problem, TrainConfig};
use serde_json::{Value, json};

/// Functions of the loss on held-out ones.
const HELD_OUT_FUNCTIONS: usize = 64;

/// Functions to learn from.
pub struct Functions {
    config: Config,
    plan: Plan,
}

impl Functions {
    /// The functions and the method of a config.
    ///
    /// # Errors
    /// Where its settings do not fit.
    pub fn new(config: Config) -> Result<Functions> {
        let plan = Plan::new(&config)?;
        Ok(Functions { config, plan })
    }

    /// The loss on functions that are never learned from, and others of them to search.
    fn held_out(&self, device: &Device, model: &icee_nn::Model) -> Result<(f64, Vec<SearchTask>)> {
        let seed = self.config.seed ^ HELD_OUT;
        let batch = self.plan.batch(seed, 0, HELD_OUT_FUNCTIONS)?;
        let loss: f64 = device.losses(model, &batch)?.iter().sum();
        Ok((loss, self.plan.tasks(self.config.train.eval_games, seed)?))
    }
}

impl Problem for Functions {
    fn kind(&self) -> &'static str {
        KIND
    }

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

    fn initialisation(&self) -> Initialisation {
        let model = &self.config.model;
        Initialisation { std: model.init_std, tied_keys: model.tied_keys, condition_std: None }
    }

    fn networks(&self) -> Vec<NetworkSpec> {
        self.plan.networks()
    }

    fn to_toml(&self) -> icee_train::Result<String> {
        Ok(self.config.to_toml()?)
    }

    fn meta(&self, step: u64) -> icee_train::Result<Value> {
        Ok(Meta::new(&self.config, step).to_value()?)
    }

    fn card(&self, step: u64, weights: usize) -> String {
        card::of_functions(&self.config, step, weights)
    }

    fn batch(&self, index: u64) -> icee_train::Result<Prepared> {
        let batch = self.plan.batch(self.config.seed, index, self.config.train.batch)?;
        Ok(Prepared { tokens: batch.rows(), batches: vec![batch], metrics: vec![] })
    }

    fn batch_metrics(&self) -> &'static [&'static str] {
        &[]
    }

    fn held_out_metrics(&self) -> &'static [&'static str] {
        &["held_out/loss", "race/regret", "race/random", "race/solved"]
    }

    fn evaluate(&self, device: &Device, models: &[&icee_nn::Model]) -> icee_train::Result<Option<HeldOutMetrics>> {
        let (loss, tasks) = self.held_out(device, models[0])?;
        let model = OptimiserModel { config: self.config.clone(), step: 0, network: models[0].clone() };
        let mut sampler = model.sampler(device)?;
        let race = |sampler: &mut dyn Sampler| fresh::race(&tasks, sampler).map_err(crate::Error::Bo);
        let FinalRegret { mean, solved } = race(&mut *sampler)?;
        let random = race(&mut RandomSampler)?.mean;
        let evaluations = tasks.iter().map(|task| task.evaluations).max().unwrap_or(0);
        Ok(Some(HeldOutMetrics {
            values: vec![loss, mean, random, solved],
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

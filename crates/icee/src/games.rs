//! Games as something to learn: a source of episodes, the networks of a method, returns on held-out games.

use crate::agent::Agent;
use crate::blueprint::Blueprint;
use crate::config::{Config, TrainConfig};
use crate::device::Device;
use crate::eval::{Evaluation, evaluate_agent};
use crate::model::Meta;
use crate::networks::{NetworkSpec, Start};
use crate::source::Source;
use crate::train::{HeldOut, Prepared, Problem};
use crate::{Error, Result, card};
use icee_nn::Model;
use icee_worlds::Split;
use serde_json::Value;

/// Keeps the seeds of the games that are watched during training apart from all others ("held-out" in ASCII).
pub(crate) const HELD_OUT: u64 = 0x6865_6c64_2d6f_7574;

/// Games to learn from.
pub struct Games {
    config: Config,
    source: Source,
    blueprint: Blueprint,
}

impl Games {
    /// The games of a source, for the method of a config.
    ///
    /// # Errors
    /// Where they do not fit.
    pub fn new(config: Config, source: Source) -> Result<Games> {
        let blueprint = Blueprint::new(&config, &source.task())?;
        Ok(Games { config, source, blueprint })
    }
}

impl Problem for Games {
    fn name(&self) -> &str {
        &self.blueprint.task.name
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
        Start { std: self.config.model.init_std, aligned: false }
    }

    fn networks(&self) -> Vec<NetworkSpec> {
        self.blueprint.specs()
    }

    fn to_toml(&self) -> Result<String> {
        self.config.to_toml()
    }

    fn meta(&self, step: u64) -> Result<Value> {
        Meta::new(&self.config, &self.blueprint.task, step).to_value()
    }

    fn card(&self, step: u64, weights: usize) -> String {
        card::of_games(&self.config, &self.blueprint.task, step, weights)
    }

    fn batch(&self, index: u64) -> Result<Prepared> {
        let sequences = self.source.sequences(&self.config, self.blueprint.episodes, index)?;
        let labels = self.blueprint.labels(&sequences);
        let batches = self.blueprint.batches(&sequences, &labels);
        let of_weights = |value| self.blueprint.uses_weights().then_some(value);
        let figures = vec![of_weights(labels.effective_share), of_weights(labels.clipped_share)];
        Ok(Prepared { batches, tokens: sequences.steps(), figures })
    }

    fn batch_figures(&self) -> &'static [&'static str] {
        &["effective_share", "clipped_share"]
    }

    fn held_out_figures(&self) -> &'static [&'static str] {
        &["return/first", "return/middle", "return/last", "return/mean"]
    }

    fn evaluate(&self, device: &Device, models: &[&Model]) -> Result<Option<HeldOut>> {
        let Source::World(world) = &self.source else { return Ok(None) };
        let mut agent = Agent::of_models(device, self.blueprint.clone(), &self.config, models.iter().copied())?;
        let (episodes, seed) = (world.spec().episodes, self.config.seed ^ HELD_OUT);
        let games = self.config.train.eval_games;
        let (evaluation, _) = evaluate_agent(&mut agent, &**world, games, episodes, seed, Split::Evaluation)?;
        held_out(&evaluation).map(Some)
    }

    fn remarks(&self) -> Vec<&'static str> {
        match &self.source {
            Source::Logs(logs) if !logs.has_probabilities && self.blueprint.uses_weights() => {
                vec!["the log has no probability of every action: all weights are 1, which trains the biased form"]
            }
            _ => vec![],
        }
    }
}

fn held_out(evaluation: &Evaluation) -> Result<HeldOut> {
    let [first, middle, last] = evaluation.first_middle_last();
    let count = evaluation.episodes.len();
    Ok(HeldOut {
        figures: vec![first, middle, last, evaluation.mean()],
        brief: format!("return {last:.2}"),
        line: format!("return at episode 1 / {} / {count}: {first:.2} / {middle:.2} / {last:.2}", count / 2 + 1),
        details: serde_json::to_value(evaluation).map_err(|e| Error::Config(e.to_string()))?,
    })
}

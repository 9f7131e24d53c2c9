//! Games as something to learn: a source of episodes, the networks of a method, returns on held-out games.

use crate::agent::Agent;
use crate::blueprint::Blueprint;
use crate::config::Config;
use crate::eval::{Evaluation, evaluate_agent};
use crate::model::Meta;
use crate::source::Source;
use crate::{KIND, Result, card};
use icee_base::random::HELD_OUT;
use icee_nn::Model;
use icee_train::{
    DataFile, Device, Error, HeldOutMetrics, Initialisation, NetworkSpec, Prepared, Problem, TrainConfig,
};
use icee_worlds::Split;
use serde_json::Value;

/// What is watched where games come from a log.
const HELD_OUT_LOSS: &str = "held_out/loss";
/// Games by whose loss training is judged, where there are as many.
const FEWEST_JUDGED: usize = 64;

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
        let (config, source) = match source {
            Source::Logs(logs) => {
                let config = config.for_logs(&logs.task);
                let logs = logs.holding_out(config.data.held_out);
                (config, Source::Logs(logs))
            }
            world => (config, world),
        };
        let blueprint = Blueprint::new(&config, &source.task())?;
        Ok(Games { config, source, blueprint })
    }
}

impl Games {
    /// The loss on logged games that are not learned from.
    fn held_out_loss(&self, device: &Device, models: &[&Model]) -> icee_train::Result<Option<HeldOutMetrics>> {
        let most = (2 * self.config.train.batch).max(FEWEST_JUDGED);
        let Some(sequences) = self.source.held_out(&self.config, self.blueprint.episodes, most)? else {
            return Ok(None);
        };
        let labels = self.blueprint.labels(&sequences);
        let mut loss = 0.0;
        for (model, batch) in models.iter().zip(self.blueprint.batches(&sequences, &labels)) {
            loss += device.losses(model, &batch)?.iter().sum::<f64>();
        }
        let games = sequences.order.len();
        Ok(Some(HeldOutMetrics {
            values: vec![loss],
            brief: format!("held-out {loss:.3}"),
            line: format!("loss on {games} sequences that are not learned from: {loss:.4}"),
            details: serde_json::json!({ "held_out_loss": loss, "sequences": games }),
        }))
    }
}

impl Problem for Games {
    fn kind(&self) -> &'static str {
        KIND
    }

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

    fn initialisation(&self) -> Initialisation {
        self.blueprint.initialisation()
    }

    fn networks(&self) -> Vec<NetworkSpec> {
        self.blueprint.specs()
    }

    fn to_toml(&self) -> icee_train::Result<String> {
        Ok(self.config.to_toml()?)
    }

    fn meta(&self, step: u64) -> icee_train::Result<Value> {
        Ok(Meta::new(&self.config, &self.blueprint.task, step).to_value()?)
    }

    fn card(&self, step: u64, weights: usize) -> String {
        card::of_games(&self.config, &self.blueprint.task, step, weights)
    }

    fn batch(&self, index: u64) -> icee_train::Result<Prepared> {
        let sequences = self.source.sequences(&self.config, self.blueprint.episodes, index)?;
        let labels = self.blueprint.labels(&sequences);
        let batches = self.blueprint.batches(&sequences, &labels);
        let of_weights = |value| self.blueprint.uses_weights().then_some(value);
        let metrics = vec![of_weights(labels.effective_share), of_weights(labels.clipped_share)];
        Ok(Prepared { batches, tokens: sequences.steps(), metrics })
    }

    fn batch_metrics(&self) -> &'static [&'static str] {
        &["effective_share", "clipped_share"]
    }

    fn held_out_metrics(&self) -> &'static [&'static str] {
        match &self.source {
            Source::World(_) => &["return/first", "return/middle", "return/last", "return/mean"],
            Source::Logs(_) => &[HELD_OUT_LOSS],
        }
    }

    fn early_stopping(&self) -> Option<&'static str> {
        let limited = matches!(&self.source, Source::Logs(logs) if !logs.held_out().is_empty());
        limited.then_some(HELD_OUT_LOSS)
    }

    fn evaluate(&self, device: &Device, models: &[&Model]) -> icee_train::Result<Option<HeldOutMetrics>> {
        let Source::World(world) = &self.source else { return self.held_out_loss(device, models) };
        let mut agent = Agent::of_models(device, self.blueprint.clone(), &self.config, models.iter().copied())?;
        let (episodes, seed) = (world.spec().episodes, self.config.seed ^ HELD_OUT);
        let games = self.config.train.eval_games;
        let (evaluation, _) = evaluate_agent(&mut agent, &**world, games, episodes, seed, Split::Evaluation)?;
        held_out(&evaluation).map(Some)
    }

    fn data_file(&self) -> Option<&DataFile> {
        match &self.source {
            Source::Logs(logs) => Some(&logs.file),
            Source::World(_) => None,
        }
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

fn held_out(evaluation: &Evaluation) -> icee_train::Result<HeldOutMetrics> {
    let [first, middle, last] = evaluation.first_middle_last();
    let count = evaluation.episodes.len();
    Ok(HeldOutMetrics {
        values: vec![first, middle, last, evaluation.mean()],
        brief: format!("return {last:.2}"),
        line: format!("return at episode 1 / {} / {count}: {first:.2} / {middle:.2} / {last:.2}", count / 2 + 1),
        details: serde_json::to_value(evaluation).map_err(|e| Error::Config(e.to_string()))?,
    })
}

//! Tasks as a training problem: a source of episodes, the networks of a method, returns on held-out tasks.

use crate::advice::advice;
use crate::agent::Agent;
use crate::blueprint::Blueprint;
use crate::config::Config;
use crate::eval::{Evaluation, evaluate_agent};
use crate::logs::Logs;
use crate::methods::Span;
use crate::model::{LearnedLog, Meta, TrainedModel};
use crate::offline::{Verdict, evaluate_offline};
use crate::source::{Source, check_logs_suffice};
use crate::task::GameSpec;
use crate::{Error, KIND, Result, card};
use icee_base::random::HELD_OUT;
use icee_base::stats::Estimate;
use icee_nn::Model;
use icee_train::{
    DataFile, Device, HeldOutMetrics, Initialisation, Judgement, NetworkSpec, Prepared, Problem, TrainConfig,
};
use icee_worlds::{Reference, ReferenceAgent, Split, World};
use serde_json::{Value, json};
use std::path::Path;

/// What is watched where games come from a log.
const HELD_OUT_LOSS: &str = "held_out/loss";
/// Games by whose loss training is judged, where there are as many.
const FEWEST_JUDGED: usize = 64;

/// What learning keeps of a step for each layer and number of its width, in bytes, as measured; and what it takes for a remark.
const BYTES_OF_A_STEP: f64 = 95.0;
const MUCH_MEMORY: f64 = 4e9;

/// Games by which a model is judged at the end, at most: played ones, and logged ones, of which it takes more to tell; `icee eval` looks
/// at all of those.
const MOST_PLAYED: usize = 200;
const MOST_JUDGED: usize = 500;
/// Said where an agent earns no more than the policy it learned from.
const NOTHING_LEARNED: &str =
    "not better than the behaviour policy in the second half of its episodes: it has not learned to use its history";

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
        if let Source::Logs(logs) = &source {
            check_logs_suffice(config.method()?, logs)?;
        }
        let (config, source) = match source {
            Source::Logs(logs) => {
                let config = config.for_logs(&logs);
                let logs = logs.holding_out(config.data.held_out);
                (config, Source::Logs(logs))
            }
            world => (config, world),
        };
        if config.model.bins == 0 {
            return Err(Error::Config("model.bins=0 takes them from a log; give a log, or a number".into()));
        }
        let blueprint = Blueprint::new(&config, &source.task())?;
        Ok(Games { config, source, blueprint })
    }
}

impl Games {
    /// Whether a model's return does not significantly exceed the behaviour policy's on the same tasks: in the second half of its episodes, where
    /// it has a history to use.
    fn learned_nothing(&self, device: &Device, model: &TrainedModel, world: &dyn World) -> Result<bool> {
        let (games, seed) = (self.config.train.eval_games.clamp(2, MOST_PLAYED), self.config.seed ^ HELD_OUT);
        let mut agent = Agent::new(device, model)?;
        let episodes = world.spec().episodes;
        let (_, ours) = evaluate_agent(&mut agent, world, games, episodes, seed, Split::Evaluation)?;
        let mut dealt = icee_worlds::Games::deal(world, games, seed, Split::Evaluation)?;
        let mut behaviour = ReferenceAgent::new(Reference::Source, &dealt)?;
        let theirs = dealt.play(&mut behaviour, episodes)?;
        let late = |returns: &[f32]| returns[episodes / 2..].iter().map(|&earned| f64::from(earned)).sum::<f64>();
        let differences: Vec<f64> = (0..games).map(|game| late(ours.game(game)) - late(theirs.game(game))).collect();
        let Estimate { mean, half_width } = Estimate::of(&differences);
        Ok(mean <= half_width)
    }

    fn learned_log(&self) -> Option<LearnedLog> {
        self.data_file().map(LearnedLog::of)
    }

    /// What of the log's games does not fit into a sequence, or is not there to fill one.
    fn cut(&self, logs: &Logs) -> Option<String> {
        let (most, limit, episodes) = (logs.most_episodes(), logs.task.episode_limit, self.blueprint.episodes);
        if self.blueprint.method.span == Span::Episode {
            return None;
        }
        if episodes == 1 && most > 1 {
            return Some(format!(
                "an episode of up to {limit} steps fills a sequence, so nothing is learned of using earlier episodes: shorten them, or set \
                 data.episodes=2 or more, which takes memory and time"
            ));
        }
        if episodes < most {
            return Some(format!(
                "games have up to {most} episodes; it learns from {episodes} in a row, and will remember as many (data.episodes={most} takes all, \
                 and more memory and time)"
            ));
        }
        (self.config.data.episodes > most).then(|| {
            format!("data.episodes={episodes}, but no game has more than {most}: what follows on more is not learned")
        })
    }

    /// How much memory a batch asks for, where that is much.
    fn memory(&self) -> Option<String> {
        let (model, batch) = (&self.config.model, self.config.train.batch);
        let GameSpec { episode_limit, .. } = self.blueprint.task;
        let episodes = self.blueprint.episodes;
        let steps = episode_limit as f64 * episodes as f64 * batch as f64;
        let bytes = steps * BYTES_OF_A_STEP * (model.layers * model.width) as f64;
        let fewer = if episodes > 1 { "fewer episodes (data.episodes), " } else { "" };
        (bytes > MUCH_MEMORY).then(|| {
            format!(
                "a batch has up to {steps} steps ({batch} sequences of {episodes} x {episode_limit}), which takes about {:.0} GB of memory; with \
                 less take {fewer}fewer sequences (train.batch) or shorter episodes",
                bytes / 1e9
            )
        })
    }

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
        Ok(Meta::new(&self.config, &self.blueprint.task, step, self.learned_log()).to_value()?)
    }

    fn card(&self, step: u64, weights: usize) -> String {
        card::of_games(&self.config, &self.blueprint.task, step, weights, self.learned_log().as_ref())
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

    fn remarks(&self) -> Vec<String> {
        let Source::Logs(logs) = &self.source else { return vec![] };
        let mut remarks = vec![logs.describe()];
        remarks.extend(logs.remarks());
        remarks.extend(self.cut(logs));
        remarks.extend(self.memory());
        if !logs.has_probabilities && self.blueprint.uses_weights() {
            let biased = "the log has no probability of every action: all weights are 1, which trains the biased form";
            remarks.push(biased.into());
        }
        if logs.held_out().is_empty() {
            remarks.push("no task is held out, so overfitting will not be noticed".into());
        }
        remarks
    }

    fn judge(&self, device: &Device, folder: &Path) -> icee_train::Result<Option<Judgement>> {
        let model = TrainedModel::load(folder)?;
        let (words, details) = match &self.source {
            Source::World(world) if self.learned_nothing(device, &model, &**world)? => {
                let words = format!("{NOTHING_LEARNED}. {}", advice(&self.config, self.config.train.steps));
                (words, json!({ "verdict": Verdict::NoBetter }))
            }
            Source::World(_) => return Ok(None),
            Source::Logs(logs) if logs.held_out().is_empty() => return Ok(None),
            Source::Logs(logs) => {
                let games = &logs.held_out()[..logs.held_out().len().min(MOST_JUDGED)];
                let judged = evaluate_offline(device, &model, logs, games)?;
                (judged.words(), serde_json::to_value(&judged).map_err(|e| icee_train::Error::Config(e.to_string()))?)
            }
        };
        Ok(Some(Judgement { words, details }))
    }
}

fn held_out(evaluation: &Evaluation) -> icee_train::Result<HeldOutMetrics> {
    let [first, middle, last] = evaluation.first_middle_last();
    let count = evaluation.episodes.len();
    Ok(HeldOutMetrics {
        values: vec![first, middle, last, evaluation.mean()],
        brief: format!("return {last:.2}"),
        line: format!("return at episode 1 / {} / {count}: {first:.2} / {middle:.2} / {last:.2}", count / 2 + 1),
        details: serde_json::to_value(evaluation).map_err(|e| icee_train::Error::Config(e.to_string()))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::CUSTOM;

    #[test]
    fn batches_that_take_much_memory_are_told_before_they_do() {
        let remarks = |settings: &[&str]| {
            let lines: String = (0..3000).map(|step| format!("0,0,{step},0,{},{}\n", step % 2, step % 3)).collect();
            let text = format!("game,episode,step,observation,action,reward\n{lines}");
            let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
            let config = Config::layered(&[CUSTOM.1], &settings).unwrap();
            let logs = Logs::parse(&text, Path::new("log.csv")).unwrap();
            let remarks = Games::new(config, Source::Logs(logs)).unwrap().remarks();
            remarks.into_iter().find(|words| words.contains("memory"))
        };
        let told = remarks(&["train.batch=320"]).expect("a remark");
        assert!(told.contains("960000 steps (320 sequences of 1 x 3000), which takes about 18 GB"), "{told}");
        assert_eq!(remarks(&[]), None);
    }
}

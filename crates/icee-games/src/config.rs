//! All settings of a run: these defaults, then a preset's TOML, then `--set key=value`, then checks.

use crate::logs::Logs;
use crate::methods::{Condition, Method, Span};
use crate::task::{GameSpec, LOGS, ObservationKind};
use crate::{Error, Result};
use icee_train::{Initialisation, Schema, TrainConfig};
use icee_worlds::ExpertLabels;
use serde::{Deserialize, Serialize};

/// What all configs of games share.
pub(crate) const SCHEMA: Schema = Schema { kind: crate::KIND };

/// The most episodes of a sequence, and the greatest weight of a loss: beyond them lie overflows alone.
const MAX_EPISODES: usize = 1 << 20;
const MAX_LOSS_WEIGHT: f64 = 1e6;

/// The whole configuration of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The world's id.
    pub world: String,
    /// The method's name.
    pub method: String,
    /// Fixes the weights' start and the games.
    pub seed: u64,
    /// The networks.
    pub model: ModelConfig,
    /// What is learned from.
    pub data: DataConfig,
    /// How it is learned.
    pub train: TrainConfig,
    /// How the trained agent acts.
    pub acting: Acting,
}

/// The networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// One trunk with late conditioning, or the paper's two transformers.
    pub architecture: Architecture,
    /// How the action's posterior is had.
    pub action_rule: ActionRule,
    /// Transformer blocks.
    pub layers: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Attention heads.
    pub attention_heads: usize,
    /// Hidden width of each block's MLP as a multiple of the width.
    pub mlp_ratio: usize,
    /// Bins of the return-to-go; 0 takes as many as a log needs.
    pub bins: usize,
    /// Weight of the auxiliary loss −log p(r | a, h); 0 for no such head.
    pub reward_head: f64,
    /// Weight of the auxiliary loss −log p(new | a, h), whether the next place is a new one; 0 for no such head.
    #[serde(default)]
    pub novelty_head: f64,
    /// Standard deviation of the initial weights.
    pub init_std: f64,
    /// Whether keys begin as copies of the queries' weights: attention then begins as a kernel.
    #[serde(default)]
    pub tied_keys: bool,
    /// Standard deviation of what heads add for the action they are asked about, at the start; 0 takes that of all weights.
    #[serde(default)]
    pub condition_std: f64,
    /// Whether a place of a grid is read by its column and row, rather than as one of so many places.
    #[serde(default)]
    pub coordinates: bool,
    /// Whether a token holds the whole transition that led to it: o_{t−1}, too, and r_{t−1} in a place of the action's own.
    #[serde(default)]
    pub transitions: bool,
}

/// Where returns enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// After the trunk, in its heads.
    Late,
    /// As inputs; a second transformer predicts them.
    Paper,
}

/// How the action's posterior is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActionRule {
    /// Bayes' rule on p(c̃, c | a, h).
    Bayes,
    /// A head p(a | c, c̃, h), trained with importance weights.
    Weighted,
}

/// What is learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// K, episodes of a sequence; 0 takes the world's.
    pub episodes: usize,
    /// The share of sequences that begin with episodes of a noisy policy.
    pub novices: f64,
    /// The share of sequences by an exploring policy, which does not know the task; every step is relabelled by an expert, which
    /// does.
    pub searchers: f64,
    /// The weight of steps of a search: those before the first reward of a task.
    #[serde(default = "one")]
    pub search_weight: f64,
    /// Whether there is one thing to be found after another. Then the search goes on where an episode has earned all that
    /// was ever earned, and places are new again after a reward.
    #[serde(default)]
    pub goals_in_turn: bool,
    /// The share of a log's tasks that are held out.
    #[serde(default)]
    pub held_out: f64,
}

fn one() -> f64 {
    1.0
}

/// How a trained agent conditions on returns and chooses actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acting {
    /// How c̃ is chosen.
    pub episode_rule: EpisodeRule,
    /// κ: optimism, the tilt of c towards high returns.
    pub kappa: f64,
    /// δ: the mass of the upper tail of p(c | c̃, h) that is ignored.
    pub guard: f64,
    /// What `bayes` takes the wanted return for.
    pub outcome: OutcomeReading,
    /// Temperature on the action's posterior.
    pub temperature: f64,
    /// Episodes without reward after which the agent clears its memory; 0 for never. Its data has no longer histories without
    /// reward.
    #[serde(default)]
    pub patience: usize,
}

/// How c̃ is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EpisodeRule {
    /// 1 in every episode, as in the paper.
    AlwaysOne,
    /// 1 until an episode reaches the maximum return, then 0.
    WhilePossible,
    /// Drawn with c from the model's own p(c̃, c | h) u(c), the joint tilt.
    Joint,
}

/// What `bayes` takes the wanted return for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeReading {
    /// p(c̃, c | a, h).
    Exactly,
    /// P(c̃, C ≥ c | a, h).
    AtLeast,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            world: "DarkRoom-v0".into(),
            method: "icee".into(),
            seed: 0,
            model: ModelConfig {
                architecture: Architecture::Late,
                action_rule: ActionRule::Bayes,
                layers: 4,
                width: 128,
                attention_heads: 4,
                mlp_ratio: 4,
                bins: 84,
                reward_head: 0.0,
                novelty_head: 0.0,
                init_std: 0.02,
                tied_keys: false,
                condition_std: 0.0,
                coordinates: false,
                transitions: false,
            },
            data: DataConfig {
                episodes: 0,
                novices: 0.0,
                searchers: 0.0,
                search_weight: 1.0,
                goals_in_turn: false,
                held_out: 0.1,
            },
            train: TrainConfig::default(),
            acting: Acting {
                episode_rule: EpisodeRule::Joint,
                kappa: 20.0,
                guard: 0.02,
                outcome: OutcomeReading::AtLeast,
                temperature: 0.5,
                patience: 0,
            },
        }
    }
}

impl Config {
    /// Defaults, then each text of TOML in turn, then `key=value` settings; checked.
    ///
    /// # Errors
    /// [`Error::Config`] that names the key, and the nearest one that exists.
    pub fn layered(texts: &[&str], settings: &[String]) -> Result<Config> {
        let config: Config = SCHEMA.layer(&Config::default(), texts, settings)?;
        config.check()?;
        Ok(config)
    }

    /// As TOML, complete.
    ///
    /// # Errors
    /// [`Error::Config`] where a value cannot be written.
    pub fn to_toml(&self) -> Result<String> {
        Ok(SCHEMA.to_toml(self)?)
    }

    /// The method.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn method(&self) -> Result<&'static Method> {
        Method::named(&self.method)
    }

    /// Whether games come from a log.
    #[must_use]
    pub fn is_of_logs(&self) -> bool {
        self.world == LOGS
    }

    /// K: how many episodes of these games a model can learn from and remember.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is no such method.
    pub fn remembered_episodes(&self, task: &GameSpec) -> Result<usize> {
        Ok(match (self.method()?.span, self.data.episodes) {
            (Span::Episode, _) => 1,
            (_, 0) => task.episodes,
            (_, episodes) => episodes,
        })
    }

    /// Without what a log of such games cannot give, whatever the preset of a world says: nobody makes more of its games, and
    /// its places lie on no grid, or are none.
    #[must_use]
    pub(crate) fn for_logs(mut self, logs: &Logs) -> Config {
        let task = &logs.task;
        self.world.clone_from(&task.name);
        if self.model.bins == 0 {
            self.model.bins = logs.bins();
        }
        self.model.coordinates &= matches!(task.observation, ObservationKind::Grid { .. });
        if matches!(task.observation, ObservationKind::Vector { .. }) {
            self.model.novelty_head = 0.0;
        }
        // A method that needs exploring policies is refused by name.
        if self.method().is_ok_and(|method| method.expert_labels != ExpertLabels::BestActions) {
            (self.data.searchers, self.data.novices) = (0.0, 0.0);
        }
        self
    }

    /// Checks that the values can work together.
    ///
    /// # Errors
    /// [`Error::Config`] with the key and what would do.
    pub fn check(&self) -> Result<()> {
        let fail = |message: &str| Err(Error::Config(message.into()));
        let method = self.method()?;
        let (model, train) = (&self.model, &self.train);
        if model.bins == 1 || model.bins > 4096 {
            return fail("model.bins must be from 2 to 4096, or 0 to take it from the log");
        }
        if model.mlp_ratio == 0 || model.mlp_ratio > 64 {
            return fail("model.mlp_ratio must be from 1 to 64");
        }
        if !(model.init_std > 0.0 && model.init_std <= 1.0) {
            return fail("model.init_std must be above 0 and at most 1");
        }
        if !(0.0..=10.0).contains(&model.condition_std) {
            return fail("model.condition_std must be from 0 (as the other weights) to 10");
        }
        for (key, weight) in [("reward_head", model.reward_head), ("novelty_head", model.novelty_head)] {
            if !(0.0..=MAX_LOSS_WEIGHT).contains(&weight) {
                return fail(&format!("model.{key} must be 0 or a positive weight of at most 1e6"));
            }
        }
        if !(self.data.search_weight > 0.0 && self.data.search_weight <= MAX_LOSS_WEIGHT) {
            return fail("data.search_weight must be above 0 and at most 1e6");
        }
        if self.data.episodes > MAX_EPISODES {
            return fail(&format!("data.episodes is {}; it must be at most {MAX_EPISODES}", self.data.episodes));
        }
        let paper = model.architecture == Architecture::Paper;
        if paper && method.bayes && model.action_rule == ActionRule::Bayes {
            return fail("the paper's architecture has no outcome head; set model.action_rule=\"weighted\"");
        }
        let asks_to_improve = method.condition == Condition::StepAndEpisode;
        if paper && asks_to_improve && self.acting.episode_rule == EpisodeRule::Joint {
            return fail(
                "the paper's architecture reads c̃ and cannot predict it; set acting.episode_rule=\"always-one\" or \"while-possible\"",
            );
        }
        let best_actions = method.expert_labels == ExpertLabels::BestActions;
        if best_actions && self.data.searchers < 1.0 {
            return fail("dpt needs the best actions of exploring policies in all sequences; set data.searchers=1");
        }
        if self.data.searchers > 0.0 && !best_actions && (paper || !asks_to_improve) {
            return fail(
                "data.searchers needs a method without returns as inputs; use icee with the late architecture, or set data.searchers=0",
            );
        }
        for (key, value) in [("novices", self.data.novices), ("searchers", self.data.searchers)] {
            if !(0.0..=1.0).contains(&value) {
                return fail(&format!("data.{key} is {value}; it must be from 0 to 1"));
            }
        }
        if !(0.0..1.0).contains(&self.data.held_out) {
            return fail(&format!("data.held_out is {}; it must be at least 0 and below 1", self.data.held_out));
        }
        train.check()?;
        self.acting.check()
    }
}

impl ModelConfig {
    /// How weights are initialised.
    #[must_use]
    pub(crate) fn initialisation(&self) -> Initialisation {
        let condition_std = (self.condition_std > 0.0).then_some(self.condition_std);
        Initialisation { std: self.init_std, tied_keys: self.tied_keys, condition_std }
    }
}

impl Acting {
    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::Config`] with the key and what would do.
    pub fn check(&self) -> Result<()> {
        if !(self.kappa >= 0.0 && self.kappa.is_finite()) {
            return Err(Error::Config("acting.kappa must be 0 or above (1e6 is as good as infinite)".into()));
        }
        if !(0.0..1.0).contains(&self.guard) {
            return Err(Error::Config("acting.guard must be at least 0 and below 1".into()));
        }
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            return Err(Error::Config("acting.temperature must be above 0".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_mistakes() {
        let layered = |setting: &str| Config::layered(&["[train]\nlr = 1\nsteps = 5"], &[setting.to_owned()]);
        let config = layered("method=ad").unwrap();
        assert_eq!((config.train.lr, config.train.steps, config.method.as_str()), (1.0, 5, "ad"));
        assert_eq!(Config::layered(&[&config.to_toml().unwrap()], &[]).unwrap(), config);
        for (setting, said) in [
            ("train.lr=-1", "above 0"),
            ("method=ace", "unknown method"),
            ("acting.episode_rule=never", "never"),
            ("model.architecture=paper", "model.action_rule"),
            ("data.pool=3", "unknown key \"data.pool\""),
            ("data.episodes=4611686018427387904", "data.episodes is 4611686018427387904"),
            ("model.reward_head=1e300", "at most 1e6"),
            ("model.reward_head=nan", "at most 1e6"),
        ] {
            let error = layered(setting).unwrap_err().to_string();
            assert!(error.contains(said), "{setting}: {error}");
        }
    }
}

//! Everything a run can be told: a preset's TOML over these defaults, then `--set key=value`, then checks.

use crate::methods::{Condition, Method};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

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
    /// Bins of the return-to-go.
    pub bins: usize,
    /// Weight of the auxiliary loss −log p(r | a, h); 0 for no such head.
    pub reward_head: f64,
    /// Standard deviation of the initial weights.
    pub init_std: f64,
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
    /// The share of sequences that begin with a novice's episodes.
    pub novices: f64,
    /// The share of sequences whose history is by somebody who does not know the game, with one who does taking over at
    /// every step for the label.
    pub searchers: f64,
}

/// How it is learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Updates.
    pub steps: u64,
    /// Games (or functions) a batch.
    pub batch: usize,
    /// The highest learning rate.
    pub lr: f64,
    /// Steps until it is reached.
    pub warmup: u64,
    /// The last learning rate as a share of the highest.
    pub floor: f64,
    /// AdamW's decoupled decay.
    pub weight_decay: f64,
    /// AdamW's decay of the second moment.
    pub beta2: f64,
    /// The greatest global norm of the gradient.
    pub clip_norm: f64,
    /// The greatest importance weight.
    pub weight_clip: f64,
    /// Steps between evaluations; 0 for none but the last.
    pub eval_every: u64,
    /// Held-out games (or functions) of an evaluation.
    pub eval_games: usize,
    /// Steps between checkpoints.
    pub save_every: u64,
}

/// How a trained agent asks for returns and chooses actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acting {
    /// How c̃ is chosen.
    pub episode_rule: EpisodeRule,
    /// κ: how strongly c is tilted towards high returns.
    pub kappa: f64,
    /// δ: the mass of the upper tail of p(c | c̃, h) that is not believed.
    pub guard: f64,
    /// What `bayes` takes the wanted return for.
    pub outcome: OutcomeReading,
    /// Temperature on the action's posterior.
    pub temperature: f64,
}

/// How c̃ is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EpisodeRule {
    /// 1 in every episode, as in the paper.
    AlwaysOne,
    /// 1 until an episode has earned all that can be earned, then 0: what cannot be beaten is not asked to be.
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
                init_std: 0.02,
            },
            data: DataConfig { episodes: 0, novices: 0.0, searchers: 0.0 },
            train: TrainConfig {
                steps: 13_000,
                batch: 64,
                lr: 1e-3,
                warmup: 200,
                floor: 0.05,
                weight_decay: 0.01,
                beta2: 0.99,
                clip_norm: 1.0,
                weight_clip: 5.0,
                eval_every: 500,
                eval_games: 50,
                save_every: 500,
            },
            acting: Acting {
                episode_rule: EpisodeRule::Joint,
                kappa: 20.0,
                guard: 0.02,
                outcome: OutcomeReading::AtLeast,
                temperature: 0.5,
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
        let config = layer(&Config::default(), texts, settings)?;
        config.check()?;
        Ok(config)
    }

    /// As TOML, complete.
    ///
    /// # Errors
    /// [`Error::Config`] where a value cannot be written.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|e| Error::Config(e.to_string()))
    }

    /// The method.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn method(&self) -> Result<&'static Method> {
        Method::named(&self.method)
    }

    /// Checks that the values can work together.
    ///
    /// # Errors
    /// [`Error::Config`] with the key and what would do.
    pub fn check(&self) -> Result<()> {
        let fail = |message: &str| Err(Error::Config(message.into()));
        let method = self.method()?;
        let (model, train) = (&self.model, &self.train);
        if model.bins < 2 || model.bins > 4096 {
            return fail("model.bins must lie between 2 and 4096");
        }
        if model.mlp_ratio == 0 || model.mlp_ratio > 64 {
            return fail("model.mlp_ratio must lie between 1 and 64");
        }
        if !(model.init_std > 0.0 && model.init_std <= 1.0) {
            return fail("model.init_std must be above 0 and at most 1");
        }
        if !(model.reward_head >= 0.0 && model.reward_head.is_finite()) {
            return fail("model.reward_head must be 0 or a positive weight");
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
        if self.data.searchers > 0.0 && (paper || !asks_to_improve) {
            return fail("data.searchers needs a method whose returns are not inputs: icee with the late architecture");
        }
        for (key, value) in [("novices", self.data.novices), ("searchers", self.data.searchers)] {
            if !(0.0..=1.0).contains(&value) {
                return fail(&format!("data.{key} is {value}; it must lie between 0 and 1"));
            }
        }
        train.check()?;
        self.acting.check()
    }
}

impl TrainConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::Config`] with the key and what would do.
    pub fn check(&self) -> Result<()> {
        let fail = |message: &str| Err(Error::Config(message.into()));
        if self.steps == 0 || self.batch == 0 || self.save_every == 0 {
            return fail("train.steps, train.batch and train.save_every must be at least 1");
        }
        if self.eval_games == 0 {
            return fail("train.eval_games must be at least 1; train.eval_every=0 evaluates at the end only");
        }
        for (key, value) in [("lr", self.lr), ("clip_norm", self.clip_norm), ("weight_clip", self.weight_clip)] {
            if !(value > 0.0 && value.is_finite()) {
                return fail(&format!("train.{key} is {value}; it must be above 0"));
            }
        }
        for (key, value) in [("floor", self.floor), ("weight_decay", self.weight_decay), ("beta2", self.beta2)] {
            if !(0.0..=1.0).contains(&value) {
                return fail(&format!("train.{key} is {value}; it must lie between 0 and 1"));
            }
        }
        Ok(())
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

/// Defaults, then each text of TOML in turn, then `key=value` settings; keys that the defaults lack are refused.
pub(crate) fn layer<T: Serialize + DeserializeOwned>(defaults: &T, texts: &[&str], settings: &[String]) -> Result<T> {
    let Value::Table(mut table) = Value::try_from(defaults).map_err(|e| Error::Config(e.to_string()))? else {
        return Err(Error::Config("the defaults are not a table".into()));
    };
    for text in texts {
        overlay(&mut table, parse_text(text)?, "")?;
    }
    for setting in settings {
        overlay(&mut table, parse_setting(setting)?, "")?;
    }
    Value::Table(table).try_into().map_err(|e: toml::de::Error| Error::Config(e.to_string()))
}

/// The world that texts and settings name in the end; none where the defaults' is meant.
pub(crate) fn world_of(texts: &[&str], settings: &[String]) -> Result<Option<String>> {
    let layers = texts.iter().map(|text| parse_text(text)).chain(settings.iter().map(|setting| parse_setting(setting)));
    let mut world = None;
    for layer in layers {
        if let Some(Value::String(name)) = layer?.remove("world") {
            world = Some(name);
        }
    }
    Ok(world)
}

fn parse_text(text: &str) -> Result<Table> {
    text.parse().map_err(|e: toml::de::Error| Error::Config(e.to_string()))
}

/// Puts the values of one table over those of another, whose keys are the only ones allowed.
fn overlay(base: &mut Table, layer: Table, path: &str) -> Result<()> {
    for (key, value) in layer {
        let known: Vec<String> = base.keys().cloned().collect();
        let full = format!("{path}{key}");
        match (base.get_mut(&key), value) {
            (None, _) => {
                let nearest = icee_worlds::nearest_names(&key, &known);
                let hint = match nearest.first() {
                    Some(name) => format!("did you mean \"{path}{name}\"?"),
                    None => format!("known here are {}", known.join(", ")),
                };
                return Err(Error::Config(format!("unknown key \"{full}\"; {hint}")));
            }
            (Some(Value::Table(inner)), Value::Table(new)) => overlay(inner, new, &format!("{full}."))?,
            (Some(Value::Table(_)), _) => return Err(Error::Config(format!("\"{full}\" is a group, not a value"))),
            (Some(Value::Float(slot)), Value::Integer(new)) => *slot = new as f64,
            (Some(slot), new) if slot.same_type(&new) => *slot = new,
            (Some(slot), new) => {
                let (wanted, got) = (slot.type_str(), new.type_str());
                return Err(Error::Config(format!("\"{full}\" must be a {wanted}, not a {got}")));
            }
        }
    }
    Ok(())
}

/// `train.lr=3e-4` as a table; a bare word is a string.
fn parse_setting(setting: &str) -> Result<Table> {
    let Some((key, value)) = setting.split_once('=') else {
        return Err(Error::Config(format!("\"{setting}\" is not key=value")));
    };
    let (key, value) = (key.trim(), value.trim());
    let parse = |text: String| text.parse::<Table>();
    parse(format!("{key} = {value}"))
        .or_else(|_| parse(format!("{key} = {}", Value::String(value.into()))))
        .map_err(|_| Error::Config(format!("\"{setting}\" is not key=value")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_settings_and_mistakes() {
        let sets = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let config = Config::layered(&["[train]\nlr = 1\nsteps = 5"], &sets(&["train.lr=3e-4", "method=ad"])).unwrap();
        assert_eq!((config.train.lr, config.train.steps, config.method.as_str()), (3e-4, 5, "ad"));
        assert_eq!(Config::layered(&[&config.to_toml().unwrap()], &[]).unwrap(), config);
        for (setting, said) in [
            ("train.lrr=1", "did you mean \"train.lr\"?"),
            ("trian.lr=1", "did you mean \"train\"?"),
            ("train=1", "is a group"),
            ("train.lr=fast", "must be a float, not a string"),
            ("train.steps", "is not key=value"),
            ("train.lr=-1", "above 0"),
            ("train.lr=nan", "above 0"),
            ("method=ace", "unknown method"),
            ("acting.episode_rule=never", "never"),
            ("model.architecture=paper", "model.action_rule"),
        ] {
            let error = Config::layered(&[], &sets(&[setting])).unwrap_err().to_string();
            assert!(error.contains(said), "{setting}: {error}");
        }
    }
}

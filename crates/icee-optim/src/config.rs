//! All settings of a run on functions: these defaults, then a preset's TOML, then `--set key=value`.

use crate::methods::{Method, Objective};
use crate::prior::{PriorSpec, TABLES};
use crate::{Error, KIND, Result};
use icee_bo::acquisition::Rule;
use icee_bo::prior::{Blemishes, Prior};
use icee_nn::{History, ModelSpec};
use icee_train::{Schema, TrainConfig};
use serde::{Deserialize, Serialize};

/// What all configs of functions share.
const SCHEMA: Schema = Schema { kind: KIND };

/// The whole configuration of a run on functions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The prior's id.
    pub world: String,
    /// The method's name.
    pub method: String,
    /// Fixes the weights' start and the functions.
    pub seed: u64,
    /// The network.
    pub model: ModelConfig,
    /// What is learned from.
    pub data: DataConfig,
    /// How it is learned.
    pub train: TrainConfig,
    /// How the trained model picks candidates.
    pub acting: Acting,
}

/// The network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Transformer blocks.
    pub layers: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Attention heads.
    pub attention_heads: usize,
    /// Hidden width of each block's MLP as a multiple of the width.
    pub mlp_ratio: usize,
    /// Bins of the value, of `value`.
    pub bins: usize,
    /// Hidden layers of the candidates' MLP, of the others; each as wide as the stream.
    pub pool_layers: usize,
    /// Standard deviation of the initial weights.
    pub init_std: f64,
    /// Whether keys start as copies of the queries' weights: attention then starts as a kernel between similar locations, which
    /// small networks hardly learn by themselves.
    #[serde(default)]
    pub tied_keys: bool,
}

/// What is learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// Candidates of a function.
    pub pool: usize,
    /// Functions that share locations and length scales.
    pub functions_per_factor: usize,
    /// The share of a wide prior's components that are sums over columns.
    #[serde(default)]
    pub additive: f64,
    /// The share of functions with noise on their values.
    pub noisy: f64,
    /// The share of functions whose values are rounded to a few levels.
    pub stepped: f64,
    /// The fewest evaluated candidates of a task, for `value`.
    pub shortest: usize,
    /// The most evaluated candidates.
    pub longest: usize,
    /// Candidates whose value is predicted, for `value`.
    pub queries: usize,
    /// The share of histories drawn by the rank policy, of `value`.
    pub ranked: f64,
    /// The share of histories that are a search's, of `value`; the rest is uniform.
    #[serde(default)]
    pub searched: f64,
    /// How `exact` spreads its target over the candidates that improve.
    pub spread: Spread,
}

/// How `exact` spreads its target over the candidates that improve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Equally: posterior sampling among improvers.
    Ts,
    /// In proportion to the improvement.
    Ei,
}

/// How a trained model picks candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acting {
    /// β of p ∝ EI^β, of `value` and `table`; 0 for the greatest expected improvement.
    pub sharpness: f64,
    /// Temperature on the candidates' probabilities, of the others.
    pub temperature: f64,
}

impl ModelConfig {
    /// The trunk of a network, to which fields and heads are added.
    pub(crate) fn trunk(&self, history: History, context: usize) -> ModelSpec {
        ModelSpec {
            layers: self.layers,
            width: self.width,
            attention_heads: self.attention_heads,
            mlp_width: self.width.saturating_mul(self.mlp_ratio),
            context,
            history,
            row_attention: false,
            fields: vec![],
            heads: vec![],
            pool_heads: vec![],
        }
    }
}

impl Acting {
    /// How models that predict values pick.
    pub fn rule(&self) -> Rule {
        if self.sharpness == 0.0 { Rule::Greatest } else { Rule::Sampled(self.sharpness) }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            world: "GpWide-v0".into(),
            method: "value".into(),
            seed: 0,
            model: ModelConfig {
                layers: 6,
                width: 128,
                attention_heads: 4,
                mlp_ratio: 4,
                bins: 128,
                pool_layers: 2,
                init_std: 0.02,
                tied_keys: false,
            },
            data: DataConfig {
                pool: 320,
                functions_per_factor: 8,
                additive: 0.0,
                noisy: 0.1,
                stepped: 0.03,
                shortest: 2,
                longest: 64,
                queries: 128,
                ranked: 0.7,
                searched: 0.0,
                spread: Spread::Ei,
            },
            train: TrainConfig {
                steps: 10_000,
                batch: 256,
                eval_every: 1000,
                eval_games: 32,
                save_every: 1000,
                ..TrainConfig::default()
            },
            acting: Acting { sharpness: 2.0, temperature: 0.5 },
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

    /// The prior.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn prior(&self) -> Result<PriorSpec> {
        PriorSpec::named(&self.world)
    }

    /// The prior, ready to be drawn from.
    ///
    /// # Errors
    /// Where a setting cannot work.
    pub fn build_prior(&self) -> Result<Prior> {
        let (spec, data) = (self.prior()?, &self.data);
        let make = if spec.mixed { Prior::mixed } else { Prior::new };
        let prior = make(spec.family, spec.most_columns, data.pool, data.functions_per_factor)?;
        let blemishes = Blemishes { noisy: data.noisy, stepped: data.stepped };
        Ok(prior.with_blemishes(blemishes)?.with_additive(data.additive)?)
    }

    /// Checks that the values can work together.
    ///
    /// # Errors
    /// [`Error::Config`] with the key and what would do.
    pub fn check(&self) -> Result<()> {
        let fail = |message: String| Err(Error::Config(message));
        let (method, prior) = (self.method()?, self.prior()?);
        if (method.objective == Objective::Table) != (prior.id == TABLES) {
            return fail(format!(
                "`table` needs the prior {TABLES}, and no other method can use it; change world or method"
            ));
        }
        if !matches!(method.objective, Objective::Value | Objective::Table) && prior.mixed {
            let (world, name) = (prior.id, method.name);
            return fail(format!("{name} reads pools of two columns and {world} has one to eight; only `value` can"));
        }
        let (model, data) = (&self.model, &self.data);
        for (key, value, least, most) in [
            ("model.bins", model.bins, 2, 4096),
            ("model.mlp_ratio", model.mlp_ratio, 1, 64),
            ("model.pool_layers", model.pool_layers, 1, 8),
            ("data.pool", data.pool, 8, 1 << 14),
            ("data.functions_per_factor", data.functions_per_factor, 1, 1 << 16),
            ("data.shortest", data.shortest, 2, data.longest),
            ("data.longest", data.longest, 2, data.pool / 2),
            ("data.queries", data.queries, 1, data.pool - data.longest.min(data.pool)),
        ] {
            if !(least..=most).contains(&value) {
                return fail(format!("{key} is {value}; with these settings it must be from {least} to {most}"));
            }
        }
        for (key, value) in [
            ("data.additive", data.additive),
            ("data.noisy", data.noisy),
            ("data.stepped", data.stepped),
            ("data.ranked", data.ranked),
            ("data.searched", data.searched),
            ("data.ranked + data.searched", data.ranked + data.searched),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return fail(format!("{key} is {value}; it must be from 0 to 1"));
            }
        }
        if !(self.acting.sharpness >= 0.0 && self.acting.sharpness.is_finite()) {
            return fail(format!("acting.sharpness is {}; it must be at least 0", self.acting.sharpness));
        }
        for (key, value) in [("model.init_std", model.init_std), ("acting.temperature", self.acting.temperature)] {
            if !(value > 0.0 && value.is_finite()) {
                return fail(format!("{key} is {value}; it must be above 0"));
            }
        }
        if model.init_std > 1.0 {
            return fail(format!("model.init_std is {}; it must be at most 1", model.init_std));
        }
        Ok(self.train.check()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_mistakes() {
        let layered = |setting: &str| Config::layered(&["world = \"GpWide-v0\""], &[setting.into()]);
        let config = layered("data.spread=ts").unwrap();
        assert_eq!(config.data.spread, Spread::Ts);
        assert_eq!(Config::layered(&[&config.to_toml().unwrap()], &[]).unwrap(), config);
        for (setting, said) in [
            ("world=GpWdie-v0", "did you mean \"GpWide-v0\""),
            ("method=values", "did you mean \"value\""),
            ("model.aligned=true", "unknown key \"model.aligned\""),
            ("data.novices=0.1", "unknown key \"data.novices\""),
            ("data.longest=161", "from 2 to 160"),
            ("data.shortest=1", "from 2 to 64"),
            ("data.queries=400", "from 1 to 256"),
            ("data.pool=0", "data.pool is 0"),
            ("acting.sharpness=-1", "at least 0"),
            ("model.init_std=1e30", "at most 1"),
            ("train.lr=-1", "above 0"),
        ] {
            let error = layered(setting).unwrap_err().to_string();
            assert!(error.contains(said), "{setting}: {error}");
        }
        let both = Config::layered(&["world = \"GpTables-v0\"\nmethod = \"exact\""], &[]).unwrap_err().to_string();
        assert!(both.contains("only `value` can"), "{both}");
    }
}

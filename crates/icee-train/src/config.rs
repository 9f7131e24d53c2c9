//! Settings of a run: defaults, then TOML, then `key=value` settings, then checks; and the settings that every problem has.

use crate::{Error, Result};
use icee_base::names::nearest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The key that says what kind of problem a config is of.
pub const KIND: &str = "kind";

/// The most games, or functions, of a batch or an evaluation: more is a slip of the keyboard, and no memory holds it.
const MAX_GAMES: usize = 1 << 20;

/// How it is learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Updates.
    pub steps: u64,
    /// Games, or functions, of a batch.
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
    /// Held-out games, or functions, of an evaluation.
    pub eval_games: usize,
    /// Steps between checkpoints.
    pub save_every: u64,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
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
        }
    }
}

impl TrainConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::Config`] with the key and what would do.
    pub fn check(&self) -> Result<()> {
        let fail = |message: &str| Err(Error::Config(message.into()));
        if self.steps == 0 || self.save_every == 0 {
            return fail("train.steps and train.save_every must be at least 1");
        }
        for (key, value, advice) in [
            ("batch", self.batch, ""),
            ("eval_games", self.eval_games, "; train.eval_every=0 evaluates at the end only"),
        ] {
            if !(1..=MAX_GAMES).contains(&value) {
                return fail(&format!("train.{key} is {value}; it must be from 1 to {MAX_GAMES}{advice}"));
            }
        }
        // All of them are used in 32 bits, where other numbers are 0, 1 or infinite.
        for (key, value) in [("lr", self.lr), ("clip_norm", self.clip_norm), ("weight_clip", self.weight_clip)] {
            if !(value > 0.0 && (value as f32).is_normal()) {
                return fail(&format!("train.{key} is {value}; it must be a number above 0 that 32 bits can hold"));
            }
        }
        for (key, value) in [("floor", self.floor), ("weight_decay", self.weight_decay)] {
            if !(0.0..=1.0).contains(&value) {
                return fail(&format!("train.{key} is {value}; it must be from 0 to 1"));
            }
        }
        if !(0.0..1.0).contains(&(self.beta2 as f32)) {
            return fail(&format!("train.beta2 is {}; it must be at least 0 and below 1", self.beta2));
        }
        Ok(())
    }
}

/// What is the same for all configs of one kind of problem.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The kind, as [`KIND`] says it.
    pub kind: &'static str,
}

impl Schema {
    /// Defaults, then each text of TOML in turn, then `key=value` settings; keys that the defaults lack are refused.
    ///
    /// # Errors
    /// [`Error::Config`] that names the key, and the nearest one that exists.
    pub fn layer<T: Serialize + DeserializeOwned>(
        &self,
        defaults: &T,
        texts: &[&str],
        settings: &[String],
    ) -> Result<T> {
        let Value::Table(mut table) = Value::try_from(defaults).map_err(|e| Error::Config(e.to_string()))? else {
            return Err(Error::Config("the defaults are not a table".into()));
        };
        for layer in layers(texts, settings) {
            self.overlay(&mut table, self.without_kind(layer?)?, "")?;
        }
        Value::Table(table).try_into().map_err(|e: toml::de::Error| Error::Config(e.to_string()))
    }

    /// A whole config as TOML, with its kind.
    ///
    /// # Errors
    /// [`Error::Config`] where a value cannot be written.
    pub fn to_toml(&self, config: &impl Serialize) -> Result<String> {
        let text = toml::to_string(config).map_err(|e| Error::Config(e.to_string()))?;
        Ok(format!("{KIND} = \"{}\"\n{text}", self.kind))
    }

    fn without_kind(&self, mut layer: Table) -> Result<Table> {
        match layer.remove(KIND) {
            None => Ok(layer),
            Some(Value::String(kind)) if kind == self.kind => Ok(layer),
            Some(Value::String(kind)) => {
                Err(Error::Config(format!("this is a config of {kind}, not of {}", self.kind)))
            }
            Some(other) => Err(Error::Config(format!("\"{KIND}\" must be text, not of type {}", other.type_str()))),
        }
    }

    /// Puts the values of one table over those of another, whose keys are the only ones allowed.
    fn overlay(&self, base: &mut Table, layer: Table, path: &str) -> Result<()> {
        for (key, value) in layer {
            let known: Vec<String> = base.keys().cloned().collect();
            let full = format!("{path}{key}");
            match (base.get_mut(&key), value) {
                (None, _) => {
                    let hint = match nearest(&key, &known).first() {
                        Some(name) => format!("did you mean \"{path}{name}\"?"),
                        None => format!("known here are {}", known.join(", ")),
                    };
                    return Err(Error::Config(format!("unknown key \"{full}\"; {hint}")));
                }
                (Some(Value::Table(inner)), Value::Table(new)) => self.overlay(inner, new, &format!("{full}."))?,
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
}

/// The text that layers give to a key of the top level in the end; none where they do not say.
///
/// # Errors
/// [`Error::Config`] where a layer is no TOML.
pub fn last_word(key: &str, texts: &[&str], settings: &[String]) -> Result<Option<String>> {
    let mut word = None;
    for layer in layers(texts, settings) {
        if let Some(Value::String(said)) = layer?.remove(key) {
            word = Some(said);
        }
    }
    Ok(word)
}

/// Every setting of a config by its whole key, `train.lr`, as JSON.
///
/// # Errors
/// [`Error::Config`] where the text is no TOML.
pub fn flat(text: &str) -> Result<BTreeMap<String, serde_json::Value>> {
    let mut settings = BTreeMap::new();
    let mut open = vec![(String::new(), parse_layer(text)?)];
    while let Some((path, table)) = open.pop() {
        for (key, value) in table {
            match value {
                Value::Table(inner) => open.push((format!("{path}{key}."), inner)),
                value => {
                    let value = serde_json::to_value(value).map_err(|e| Error::Config(e.to_string()))?;
                    settings.insert(format!("{path}{key}"), value);
                }
            }
        }
    }
    Ok(settings)
}

fn layers<'a>(texts: &'a [&str], settings: &'a [String]) -> impl Iterator<Item = Result<Table>> + 'a {
    texts.iter().map(|text| parse_layer(text)).chain(settings.iter().map(|setting| parse_setting(setting)))
}

fn parse_layer(text: &str) -> Result<Table> {
    text.parse().map_err(|e: toml::de::Error| Error::Config(e.to_string()))
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

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Whole {
        name: String,
        train: TrainConfig,
    }

    const SCHEMA: Schema = Schema { kind: "tests" };

    fn layered(texts: &[&str], settings: &[&str]) -> Result<Whole> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let defaults = Whole { name: "a".into(), train: TrainConfig::default() };
        let whole: Whole = SCHEMA.layer(&defaults, texts, &settings)?;
        whole.train.check()?;
        Ok(whole)
    }

    #[test]
    fn layers_settings_and_mistakes() {
        let config = layered(&["kind = \"tests\"\n[train]\nlr = 1\nsteps = 5"], &["train.lr=3e-4", "name=b"]).unwrap();
        assert_eq!((config.train.lr, config.train.steps, config.name.as_str()), (3e-4, 5, "b"));
        assert_eq!(layered(&[&SCHEMA.to_toml(&config).unwrap()], &[]).unwrap(), config);
        let settings = flat("name = \"a\"\n[train]\nlr = 0.5\n[train.more]\nsteps = 3").unwrap();
        let settings: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(settings, ["name=\"a\"", "train.lr=0.5", "train.more.steps=3"]);
        assert!(flat("name = ").is_err());
        assert_eq!(last_word("name", &["name = \"x\""], &["name=y".into()]).unwrap().as_deref(), Some("y"));
        for (setting, said) in [
            ("kind=games", "a config of games, not of tests"),
            ("kind=3", "must be text, not of type integer"),
            ("train.lrr=1", "did you mean \"train.lr\"?"),
            ("trian.lr=1", "did you mean \"train\"?"),
            ("train=1", "is a group"),
            ("train.lr=fast", "must be a float, not a string"),
            ("train.steps", "is not key=value"),
            ("train.lr=-1", "above 0"),
            ("train.lr=nan", "above 0"),
            ("train.lr=inf", "above 0"),
            ("train.lr=1e-60", "32 bits"),
            ("train.lr=1e60", "32 bits"),
            ("train.clip_norm=1e-60", "32 bits"),
            ("train.weight_clip=0", "above 0"),
            ("train.beta2=1", "below 1"),
            ("train.beta2=0.99999999999", "below 1"),
            ("train.beta2=-0.1", "at least 0"),
            ("train.beta2=nan", "below 1"),
            ("train.weight_decay=nan", "from 0 to 1"),
            ("train.floor=1.5", "from 0 to 1"),
            ("train.batch=0", "from 1"),
            ("train.batch=1000000000000", "from 1"),
            ("train.eval_games=0", "train.eval_every=0"),
            ("train.save_every=0", "at least 1"),
        ] {
            let error = layered(&[], &[setting]).unwrap_err().to_string();
            assert!(error.contains(said), "{setting}: {error}");
        }
    }
}

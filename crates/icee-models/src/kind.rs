//! Games or functions? One tag in checkpoints, presets and recipes decides, and only this module reads it.

use crate::{Error, Result};
use icee_base::names;
use icee_games::logs::Logs;
use icee_games::{Config, Games, LOGS, Source, TrainedModel};
use icee_nn::checkpoint;
use icee_optim::{Functions, OptimiserModel};
use icee_train::config::{KIND, last_word};
use icee_train::{Problem, RunFolder, RunInfo};
use icee_worlds::Registry;
use serde_json::Value;
use std::path::Path;

/// What a model learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To play games of a world.
    Games,
    /// To find the lowest value of functions.
    Functions,
}

/// A trained model.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and its weights dwarf the difference")]
pub enum Model {
    /// Plays games.
    Games(TrainedModel),
    /// Optimises functions.
    Functions(OptimiserModel),
}

impl Kind {
    /// The tag in files.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Kind::Games => icee_games::KIND,
            Kind::Functions => icee_optim::KIND,
        }
    }

    fn of_tag(tag: &str) -> Result<Kind> {
        let all = [Kind::Games, Kind::Functions];
        let found = all.into_iter().find(|kind| kind.tag() == tag);
        found.ok_or_else(|| names::Unknown::new("kind of model", tag, &all.map(Kind::tag)).into())
    }

    /// By what lies beside a checkpoint's tensors.
    pub(crate) fn of_meta(meta: &Value) -> Result<Kind> {
        let tag = meta.get(KIND).and_then(Value::as_str);
        Kind::of_tag(tag.ok_or_else(|| {
            Error::Kind(
                "the model's config.json has no \"kind\" in \"meta\"; it must be \"games\" or \"functions\"".into(),
            )
        })?)
    }

    /// By the layers of a config.
    fn of_config(texts: &[&str], settings: &[String]) -> Result<Kind> {
        let tag = last_word(KIND, texts, settings)?;
        let missing = "the preset has no \"kind\"; add kind = \"games\" or kind = \"functions\"";
        Kind::of_tag(&tag.ok_or_else(|| Error::Kind(missing.into()))?)
    }
}

/// The problem of a new run: a preset by name or a TOML file of your own, a method's preset over it, then settings; and for
/// games a log of your own instead of the world.
///
/// # Errors
/// Where a name or a key is not known, or what is asked for does not fit together.
pub fn new_problem(
    preset: &str,
    method: Option<&str>,
    settings: &[String],
    logs: Option<&Path>,
    registry: &Registry,
) -> Result<Box<dyn Problem>> {
    let own;
    let text = if Path::new(preset).extension().is_some_and(|e| e == "toml") {
        let path = Path::new(preset);
        own = std::fs::read_to_string(path).map_err(icee_base::files::FileError::io(path))?;
        own.as_str()
    } else {
        preset_text(preset)?
    };
    match Kind::of_config(&[text], settings)? {
        Kind::Games => {
            let mut layers = vec![text];
            if let Some(method) = method {
                layers.push(icee_games::presets::method(method)?);
            }
            if logs.is_some() {
                check_settings_for_logs(settings)?;
            }
            let config = Config::layered(&layers, settings)?;
            let source = source_of(&config, logs, registry)?;
            Ok(Box::new(Games::new(config, source)?))
        }
        Kind::Functions if method.is_some() => {
            Err(Error::Kind("a method is for games; for functions use another preset, or the setting method".into()))
        }
        Kind::Functions if logs.is_some() => Err(Error::Kind("functions need no log; leave it out".into())),
        Kind::Functions => Ok(Box::new(Functions::new(icee_optim::Config::layered(&[text], settings)?)?)),
    }
}

/// Refuses settings that only a world can follow. In a preset of a world they are left out; who types them means them.
fn check_settings_for_logs(settings: &[String]) -> Result<()> {
    const OF_WORLDS: [&str; 4] = ["data.searchers", "data.novices", "model.coordinates", "world"];
    let typed = settings.iter().filter_map(|setting| setting.split_once('='));
    for (key, value) in typed {
        if OF_WORLDS.contains(&key.trim()) && !["0", "0.0", "false", LOGS].contains(&value.trim().trim_matches('"')) {
            return Err(Error::Kind(format!("{key} needs a world, not a log; leave out the setting {key}={value}")));
        }
    }
    Ok(())
}

/// The text of a preset, be it of a world or of functions.
fn preset_text(name: &str) -> Result<&'static str> {
    let all = [icee_games::presets::WORLDS, &[icee_games::presets::CUSTOM], icee_optim::presets::FUNCTIONS].concat();
    Ok(names::find("preset", name, &all)?)
}

/// The problem of a run that is to go on.
///
/// # Errors
/// Where the state is missing or damaged, or its log has changed.
pub fn resumed_problem(folder: &RunFolder, registry: &Registry) -> Result<Box<dyn Problem>> {
    let path = folder.state();
    let meta = checkpoint::load_training(&path)?.meta;
    match Kind::of_meta(&meta)? {
        Kind::Functions => Ok(Box::new(Functions::new(icee_optim::Meta::read(&path, meta)?.config)?)),
        Kind::Games => {
            let meta = icee_games::Meta::read(&path, meta)?;
            let other =
                |what: &str| Error::Kind(format!("the {what} has changed since the run started; start a new run"));
            let source = match logs_of_run(folder.path())? {
                Some(logs) => Source::Logs(logs.as_begun(&meta.task).ok_or_else(|| other("log"))?),
                None => Source::of_config(&meta.config, registry)?,
            };
            if source.task() != meta.task {
                return Err(other("world"));
            }
            Ok(Box::new(Games::new(meta.config, source)?))
        }
    }
}

/// The log that a run has learned from, if it has: where it was or, by its name, in the run folder; and only if it is the same.
///
/// # Errors
/// Where it is not there, or has changed.
pub fn logs_of_run(run: &Path) -> Result<Option<Logs>> {
    let RunInfo { logs, logs_checksum, .. } = RunInfo::read(run)?;
    let Some(path) = logs else { return Ok(None) };
    let copy = run.join(path.file_name().unwrap_or_default());
    let Some(place) = [&path, &copy].into_iter().find(|place| place.is_file()) else {
        let (log, run) = (path.display(), run.display());
        return Err(Error::Kind(format!("the log {log} of this run is missing; put it back, or copy it into {run}")));
    };
    let logs = Logs::read(place)?;
    if logs_checksum.is_some_and(|checksum| checksum != logs.file.checksum_text()) {
        let place = place.display();
        return Err(Error::Kind(format!("{place} has changed since the run started; restore it, or start a new run")));
    }
    Ok(Some(logs))
}

fn source_of(config: &Config, logs: Option<&Path>, registry: &Registry) -> Result<Source> {
    Ok(match logs {
        Some(path) => Source::Logs(Logs::read(path)?),
        None if config.is_of_logs() => {
            return Err(Error::Kind("this preset needs your logs; give a log".into()));
        }
        None => Source::of_config(config, registry)?,
    })
}

impl Model {
    /// Reads a checkpoint or run folder. Nothing in it is trusted.
    ///
    /// # Errors
    /// Where files are missing or damaged, or do not fit each other.
    pub fn load(folder: &Path) -> Result<Model> {
        let meta = checkpoint::read_meta(&icee_train::checkpoint_in(folder))?;
        Ok(match Kind::of_meta(&meta)? {
            Kind::Games => Model::Games(TrainedModel::load(folder)?),
            Kind::Functions => Model::Functions(OptimiserModel::load(folder)?),
        })
    }

    /// The same from the bytes of a checkpoint's two files.
    ///
    /// # Errors
    /// Where they are damaged or do not fit each other.
    pub fn parse(config: &[u8], tensors: &[u8]) -> Result<Model> {
        Ok(match Kind::of_meta(&checkpoint::parse_meta(config)?)? {
            Kind::Games => Model::Games(TrainedModel::parse(config, tensors)?),
            Kind::Functions => Model::Functions(OptimiserModel::parse(config, tensors)?),
        })
    }

    /// What it learned.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Model::Games(_) => Kind::Games,
            Model::Functions(_) => Kind::Functions,
        }
    }

    /// A short model card in Markdown.
    #[must_use]
    pub fn card(&self) -> String {
        match self {
            Model::Games(model) => model.card(),
            Model::Functions(model) => model.card(),
        }
    }

    /// Writes its acting rules into a checkpoint folder and leaves the weights as they are.
    ///
    /// # Errors
    /// Where there is no checkpoint, or it cannot be written.
    pub fn save_acting(&self, folder: &Path) -> Result<()> {
        match self {
            Model::Games(model) => Ok(model.save_acting(folder)?),
            Model::Functions(model) => Ok(model.save_acting(folder)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_tag_decides_and_must_be_there() {
        for (meta, kind) in [
            (json!({ "kind": "games", "config": {} }), Kind::Games),
            (json!({ "kind": "functions", "task": {} }), Kind::Functions),
        ] {
            assert_eq!(Kind::of_meta(&meta).unwrap(), kind, "{meta}");
        }
        for meta in [json!({ "config": {}, "task": {} }), json!({ "kind": 3 })] {
            assert!(Kind::of_meta(&meta).unwrap_err().to_string().contains("has no \"kind\""), "{meta}");
        }
        assert!(
            Kind::of_meta(&json!({ "kind": "gmaes" })).unwrap_err().to_string().contains("did you mean \"games\"?")
        );
        assert_eq!(Kind::of_config(&["kind = \"functions\""], &[]).unwrap(), Kind::Functions);
        assert_eq!(Kind::of_config(&["kind = \"functions\""], &["kind=games".into()]).unwrap(), Kind::Games);
        let untagged = Kind::of_config(&["world = \"DarkRoom-v0\""], &[]).unwrap_err().to_string();
        assert!(untagged.contains("add kind = \"games\""), "{untagged}");
    }

    #[test]
    fn mistakes_are_named() {
        let registry = Registry::builtin();
        let said = |preset, method, settings: &[&str], logs| {
            let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
            new_problem(preset, method, &settings, logs, &registry).err().expect("a mistake").to_string()
        };
        assert!(said("dark-rom", None, &[], None).contains("did you mean \"dark-room\""));
        assert!(said("bo-value", Some("ad"), &[], None).contains("a method is for games"));
        assert!(said("bo-value", None, &[], Some(Path::new("x.csv"))).contains("functions need no log; leave it out"));
        assert!(said("bo-value", None, &["kind=games"], None).contains("a config of functions, not of games"));
        assert!(said("dark-room", None, &["kind=functions"], None).contains("a config of games, not of functions"));
        assert!(said("gone.toml", None, &[], None).contains("gone.toml"));
    }
}

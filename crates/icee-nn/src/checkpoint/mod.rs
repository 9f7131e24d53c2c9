//! Models on disk, in open formats, and never trusted when read.
//!
//! A *checkpoint* is a folder: `config.json` describes the models and carries whatever else their owner wants to
//! remember (`meta`); `model.safetensors` holds their tensors, named `model/tensor`, in 32, 16 or 8 bits ([`Storage`]). A
//! *training state* is one file with weights and both of AdamW's moments in f32, so that it is consistent whenever it
//! exists.
//!
//! In 8 bits a matrix is I8, beside it lies `model/tensor.scale` in F16, and vectors are F16. Each 64 consecutive numbers of
//! a matrix, row by row, share a scale (the last group may be shorter), and a weight is the I8 number times its scale. In
//! numpy: `w = q * scale.astype("f4").repeat(64)[: q.size].reshape(q.shape)`.
//!
//! Both carry a checksum of their tensors (a training state also of its description), so that a flipped bit is found. In a
//! checkpoint it is optional, so that any program that writes safetensors can make one. `config.json` has none: you may
//! read and edit it.
//!
//! Files are written beside their final name and renamed, so a reader never sees half of one.

mod tensors;

pub use tensors::Storage;

use crate::optim::{AdamConfig, AdamW};
use crate::{Error, Layout, Model, ModelSpec, Result};
use icee_base::files::write_atomically;
use icee_base::hash::checksum;
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// The tensors of a checkpoint folder.
pub const TENSORS: &str = "model.safetensors";
/// The description in a checkpoint folder.
pub const CONFIG: &str = "config.json";

/// The header's entry in a training state.
const TRAINING: &str = "training";
/// The header's entry in a checkpoint's tensors.
const CHECKSUM: &str = "checksum";
/// Stands in a training state's description where the checksum will be, so that it can be of the description, too.
const BLANK: &str = "0000000000000000";
const FORMAT: &str = "icee-checkpoint";
const VERSION: u32 = 1;
/// A description is text; one larger than this is not one of ours.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
/// The methods need one or two models.
const MAX_MODELS: usize = 16;
/// What names, shapes and metadata may add to the tensors' own bytes.
const MAX_HEADER_BYTES: usize = 16 << 20;

/// What a checkpoint folder holds.
#[derive(Debug)]
pub struct Checkpoint {
    /// The models with their names, in order.
    pub models: Vec<(String, Model)>,
    /// Whatever was saved along with them.
    pub meta: Value,
}

/// What a training-state file holds.
#[derive(Debug)]
pub struct TrainingState {
    /// The models with their names and optimiser states, in order.
    pub models: Vec<(String, Model, AdamW)>,
    /// Whatever was saved along with them.
    pub meta: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    format: String,
    version: u32,
    models: Vec<NamedSpec>,
    #[serde(default)]
    meta: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedSpec {
    name: String,
    spec: ModelSpec,
}

/// What the header of a training state says, beside its tensors.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrainingHeader {
    /// Of this description, with [`BLANK`] in this place, and of all tensors. It comes first, so that nothing that looks like
    /// it stands before it.
    checksum: String,
    config: Config,
    optimisers: BTreeMap<String, OptimiserConfig>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptimiserConfig {
    steps: u64,
    adam: AdamConfig,
}

/// Writes models and `meta` as a checkpoint folder, which is made if it is missing.
pub fn save(folder: &Path, models: &[(&str, &Model)], meta: &Value, storage: Storage) -> Result<()> {
    check_before_saving(&folder.join(TENSORS), models.iter().copied(), storage)?;
    fs::create_dir_all(folder).map_err(|source| io(folder, source))?;
    let mut stored = Vec::new();
    for (name, model) in models {
        for info in &model.layout().tensors {
            let values = &model.weights()[info.range.clone()];
            stored.extend(tensors::store(format!("{name}/{}", info.name), &info.shape, values, storage.of(info)));
        }
    }
    let sum = hex(tensors::checksum_of_stored(0, &stored));
    tensors::write(&folder.join(TENSORS), &stored, (CHECKSUM, sum))?;
    let config = config_of(models.iter().copied(), meta);
    let text = serde_json::to_string_pretty(&config).expect("descriptions are plain data");
    Ok(write_atomically(&folder.join(CONFIG), format!("{text}\n").as_bytes())?)
}

/// Reads a checkpoint folder.
pub fn load(folder: &Path) -> Result<Checkpoint> {
    let (config_path, tensors_path) = (folder.join(CONFIG), folder.join(TENSORS));
    let config = read_config(&read_at_most(&config_path, MAX_CONFIG_BYTES)?, &config_path)?;
    let layouts = layouts_of(&config, &config_path)?;
    let numbers: usize = layouts.iter().map(|(_, _, layout)| layout.len()).sum();
    let bytes = read_at_most(&tensors_path, (numbers * 4 + MAX_HEADER_BYTES) as u64)?;
    let models = read_models(layouts, &bytes, &tensors_path)?;
    Ok(Checkpoint { models, meta: config.meta })
}

/// Reads what was saved along with the models of a checkpoint folder, and not the models.
pub fn read_meta(folder: &Path) -> Result<Value> {
    let path = folder.join(CONFIG);
    Ok(read_config(&read_at_most(&path, MAX_CONFIG_BYTES)?, &path)?.meta)
}

/// As [`read_meta`], from the bytes of the description.
pub fn parse_meta(config: &[u8]) -> Result<Value> {
    Ok(read_config(config, Path::new(CONFIG))?.meta)
}

/// Reads a checkpoint from the bytes of its two files, for models inside a program.
pub fn parse(config: &[u8], tensors: &[u8]) -> Result<Checkpoint> {
    let config_path = Path::new(CONFIG);
    let config = read_config(config, config_path)?;
    let layouts = layouts_of(&config, config_path)?;
    let models = read_models(layouts, tensors, Path::new(TENSORS))?;
    Ok(Checkpoint { models, meta: config.meta })
}

/// Writes everything that training needs to go on as if never stopped.
pub fn save_training(path: &Path, models: &[(&str, &Model, &AdamW)], meta: &Value) -> Result<()> {
    check_before_saving(path, models.iter().map(|(name, model, _)| (*name, *model)), Storage::Single)?;
    let mut stored = Vec::new();
    let mut optimisers = BTreeMap::new();
    for (name, model, adam) in models {
        let parts = [("weights", model.weights()), ("first", &adam.first), ("second", &adam.second)];
        for (part, values) in parts {
            stored.extend(tensors::store(format!("{name}/{part}"), &[values.len()], values, Storage::Single));
        }
        optimisers.insert((*name).to_string(), OptimiserConfig { steps: adam.steps, adam: adam.config });
    }
    let config = config_of(models.iter().map(|(name, model, _)| (*name, *model)), meta);
    let header = TrainingHeader { checksum: BLANK.into(), config, optimisers };
    let text = serde_json::to_string(&header).expect("plain data");
    let sum = tensors::checksum_of_stored(checksum(0, text.as_bytes()), &stored);
    tensors::write(path, &stored, (TRAINING, text.replacen(BLANK, &hex(sum), 1)))
}

/// Reads what [`save_training`] wrote.
pub fn load_training(path: &Path) -> Result<TrainingState> {
    let mut file = File::open(path).map_err(|source| io(path, source))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|source| io(path, source))?;
    parse_training(&bytes, path)
}

fn parse_training(bytes: &[u8], path: &Path) -> Result<TrainingState> {
    let damaged = |problem: String| Error::Checkpoint { path: path.into(), problem };
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| damaged(format!("not a training state: {e}")))?;
    let text = header.metadata().as_ref().and_then(|m| m.get(TRAINING));
    let text = text.ok_or_else(|| damaged(format!("not a training state: the header has no `{TRAINING}`")))?;
    let TrainingHeader { checksum: said, config, mut optimisers } =
        serde_json::from_str(text).map_err(|e| damaged(format!("not a training state: {e}")))?;
    check_format(&config, path)?;
    let layouts = layouts_of(&config, path)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(format!("damaged: {e}")))?;
    let mut models = Vec::new();
    for (name, spec, layout) in layouts {
        let read = |part: &str| -> Result<Vec<f32>> {
            let full = format!("{name}/{part}");
            // Before anything of that size is allocated.
            tensors::check(&tensors, &full, &[layout.len()]).map_err(damaged)?;
            let mut values = vec![0.0; layout.len()];
            tensors::read(&tensors, &full, &[layout.len()], &mut values).map_err(damaged)?;
            Ok(values)
        };
        let (weights, first, second) = (read("weights")?, read("first")?, read("second")?);
        // Tiny ones stay as they are, or going on would not be as if never stopped.
        tensors::check_weights(&format!("{name}/weights"), &weights).map_err(damaged)?;
        let Some(OptimiserConfig { steps, adam }) = optimisers.remove(&name) else {
            return Err(damaged(format!("no optimiser state for model `{name}`")));
        };
        if !adam.is_sound() || second.iter().any(|&v| v < 0.0) {
            return Err(damaged(format!("the optimiser state of model `{name}` is impossible")));
        }
        let adam = AdamW { config: adam, first, second, steps };
        models.push((name, Model::from_parts(spec, layout, weights), adam));
    }
    if tensors.len() != 3 * models.len() || !optimisers.is_empty() {
        return Err(damaged("it has tensors of no model".into()));
    }
    let before = checksum(0, text.replacen(&said, BLANK, 1).as_bytes());
    check_sum(&said, tensors::checksum_of_file(before, &tensors)).map_err(damaged)?;
    Ok(TrainingState { models, meta: config.meta })
}

/// What could not be read back must not replace what can.
fn check_before_saving<'a>(
    path: &Path,
    models: impl Iterator<Item = (&'a str, &'a Model)>,
    storage: Storage,
) -> Result<()> {
    let refused =
        |problem: String| Err(Error::Checkpoint { path: path.into(), problem: format!("not saved: {problem}") });
    let mut names = Vec::new();
    for (name, model) in models {
        if names.contains(&name) {
            return refused(format!("two models are called `{name}`"));
        }
        names.push(name);
        for info in &model.layout().tensors {
            let storage = storage.of(info);
            if let Some(w) = model.weights()[info.range.clone()].iter().find(|w| !storage.holds(**w)) {
                return refused(format!("tensor `{name}/{}` holds {w}", info.name));
            }
        }
    }
    Ok(())
}

fn hex(sum: u64) -> String {
    format!("{sum:016x}")
}

fn check_sum(said: &str, is: u64) -> std::result::Result<(), String> {
    if said == hex(is) {
        Ok(())
    } else {
        Err("damaged: its checksum does not match its content; restore a copy".into())
    }
}

fn io(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.into(), source }
}

fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|source| io(path, source))?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|source| io(path, source))?;
    if bytes.len() as u64 > limit {
        let problem = format!("larger than the {limit} bytes it can have");
        return Err(Error::Checkpoint { path: path.into(), problem });
    }
    Ok(bytes)
}

fn config_of<'a>(models: impl Iterator<Item = (&'a str, &'a Model)>, meta: &Value) -> Config {
    let named = |(name, model): (&str, &Model)| NamedSpec { name: name.into(), spec: model.spec().clone() };
    Config { format: FORMAT.into(), version: VERSION, models: models.map(named).collect(), meta: meta.clone() }
}

fn read_config(bytes: &[u8], path: &Path) -> Result<Config> {
    let damaged = |problem: String| Error::Checkpoint { path: path.into(), problem };
    let config: Config = serde_json::from_slice(bytes).map_err(|e| damaged(format!("not a model description: {e}")))?;
    check_format(&config, path)?;
    Ok(config)
}

fn check_format(config: &Config, path: &Path) -> Result<()> {
    let damaged = |problem: String| Error::Checkpoint { path: path.into(), problem };
    if config.format != FORMAT {
        return Err(damaged(format!("format is `{}`, not `{FORMAT}`", config.format)));
    }
    if config.version != VERSION {
        return Err(damaged(format!("version {} is not known here; this program reads {VERSION}", config.version)));
    }
    Ok(())
}

/// Checks every description before anything of its size is allocated.
fn layouts_of(config: &Config, path: &Path) -> Result<Vec<(String, ModelSpec, Layout)>> {
    let damaged = |problem: String| Error::Checkpoint { path: path.into(), problem };
    if config.models.len() > MAX_MODELS {
        return Err(damaged(format!("{} models; at most {MAX_MODELS} are read", config.models.len())));
    }
    let mut layouts: Vec<(String, ModelSpec, Layout)> = Vec::new();
    for NamedSpec { name, spec } in &config.models {
        spec.check().map_err(|e| damaged(format!("model `{name}`: {e}")))?;
        if layouts.iter().any(|(other, ..)| other == name) {
            return Err(damaged(format!("two models are called `{name}`")));
        }
        layouts.push((name.clone(), spec.clone(), Layout::new(spec)));
    }
    Ok(layouts)
}

fn read_models(layouts: Vec<(String, ModelSpec, Layout)>, bytes: &[u8], path: &Path) -> Result<Vec<(String, Model)>> {
    let damaged = |problem: String| Error::Checkpoint { path: path.into(), problem };
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(format!("damaged: {e}")))?;
    let mut known = HashSet::new();
    let mut models = Vec::new();
    for (name, spec, layout) in layouts {
        // The file's own size bounds this: each tensor is checked against it before the next is read.
        let mut weights = Vec::new();
        for info in &layout.tensors {
            let start = weights.len();
            let full = format!("{name}/{}", info.name);
            tensors::check(&tensors, &full, &info.shape).map_err(damaged)?;
            weights.resize(start + info.range.len(), 0.0);
            if tensors::read(&tensors, &full, &info.shape, &mut weights[start..]).map_err(damaged)? {
                known.insert(tensors::scale_name(&full));
            }
            tensors::check_weights(&full, &weights[start..]).map_err(damaged)?;
            tensors::flush_tiny(&mut weights[start..]);
            known.insert(full);
        }
        models.push((name, Model::from_parts(spec, layout, weights)));
    }
    if let Some(extra) = tensors.names().into_iter().find(|name| !known.contains(*name)) {
        return Err(damaged(format!("tensor `{extra}` does not belong to the model")));
    }
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| damaged(format!("damaged: {e}")))?;
    if let Some(said) = header.metadata().as_ref().and_then(|entries| entries.get(CHECKSUM)) {
        check_sum(said, tensors::checksum_of_file(0, &tensors)).map_err(damaged)?;
    }
    Ok(models)
}

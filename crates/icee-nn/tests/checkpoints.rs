//! Checkpoints: the same bits back, and an error that names the trouble for every damaged file.

mod common;

use common::load_golden;
use half::f16;
use icee_nn::checkpoint::Storage;
use icee_nn::optim::{AdamConfig, AdamW};
use icee_nn::{Model, checkpoint};
use proptest::prelude::*;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of its own under the system's temporary one, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("icee-nn-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn small() -> Model {
    load_golden("causal").model
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn saved(folder: &Path, storage: Storage) -> Model {
    let model = small();
    checkpoint::save(folder, &[("trunk", &model)], &json!({"world": "DarkRoom-v0"}), storage).unwrap();
    model
}

fn problem(folder: &Path) -> String {
    checkpoint::load(folder).expect_err("should be refused").to_string()
}

#[test]
fn saving_and_loading_gives_the_same_bits() {
    let folder = Folder::new("roundtrip");
    let (a, b) = (small(), load_golden("set").model);
    let meta = json!({"seed": 7, "acting": {"kappa": 20.0}});
    checkpoint::save(&folder.0, &[("action", &a), ("return", &b)], &meta, Storage::Single).unwrap();
    let read = checkpoint::load(&folder.0).unwrap();
    assert_eq!(read.meta, meta);
    for ((name, model), (expected, original)) in read.models.iter().zip([("action", &a), ("return", &b)]) {
        assert_eq!(name, expected);
        assert_eq!(model.spec(), original.spec());
        assert_eq!(bits(model.weights()), bits(original.weights()));
    }
    let parsed = checkpoint::parse(
        &fs::read(folder.0.join(checkpoint::CONFIG)).unwrap(),
        &fs::read(folder.0.join(checkpoint::TENSORS)).unwrap(),
    );
    assert_eq!(bits(parsed.unwrap().models[1].1.weights()), bits(b.weights()));
    let left: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "temporary files are left: {left:?}");
}

#[test]
fn half_precision_is_half_the_size_and_close() {
    let folder = Folder::new("half");
    let model = saved(&folder.0, Storage::Half);
    let read = checkpoint::load(&folder.0).unwrap();
    for (got, wanted) in read.models[0].1.weights().iter().zip(model.weights()) {
        assert!((got - wanted).abs() <= wanted.abs() * 5e-4 + 1e-7);
    }
    let size = fs::metadata(folder.0.join(checkpoint::TENSORS)).unwrap().len() as usize;
    assert!(size < model.weights().len() * 2 + 8192);
}

#[test]
fn eight_bits_are_a_quarter_of_the_size_and_close_and_saved_again_the_same_bytes() {
    let folder = Folder::new("byte");
    let model = saved(&folder.0, Storage::Byte);
    let file = folder.0.join(checkpoint::TENSORS);
    let bytes = fs::read(&file).unwrap();
    let matrices: usize = model.layout().tensors.iter().filter(|t| t.decays).map(|t| t.range.len()).sum();
    let numbers = matrices + 2 * (model.weights().len() - matrices);
    // A scale for each 64 numbers, a part of a group for each tensor, and the header.
    assert!(bytes.len() < numbers + matrices / 32 + 12_288, "{} bytes for {numbers}", bytes.len());
    let read = checkpoint::load(&folder.0).unwrap().models.remove(0).1;
    for info in &model.layout().tensors {
        let (got, wanted) = (&read.weights()[info.range.clone()], &model.weights()[info.range.clone()]);
        let largest = wanted.iter().fold(0.0f32, |m, w| m.max(w.abs()));
        let error = got.iter().zip(wanted).fold(0.0f32, |m, (g, w)| m.max((g - w).abs()));
        let share = if info.decays { 0.5 / 126.0 } else { 5e-4 };
        assert!(error <= share * largest + 1e-5, "{}: {error} of {largest}", info.name);
    }
    checkpoint::save(&folder.0, &[("trunk", &read)], &Value::Null, Storage::Byte).unwrap();
    assert!(fs::read(&file).unwrap() == bytes);
}

#[test]
fn training_state_comes_back_whole() {
    let folder = Folder::new("state");
    let path = folder.0.join("training.safetensors");
    let model = small();
    let mut adam = AdamW::new(model.layout(), AdamConfig { beta2: 0.95, ..AdamConfig::default() });
    let mut stepped = model.clone();
    let gradients = {
        let mut gradients = icee_nn::cpu::Gradients::default();
        gradients.values = (0..model.weights().len()).map(|i| common::formula(i, 1.0)).collect();
        gradients
    };
    let cpu = icee_nn::cpu::Cpu::new(1).unwrap();
    adam.step(&cpu, &mut stepped, &gradients, 1e-3, 1.0).unwrap();
    checkpoint::save_training(&path, &[("trunk", &stepped, &adam)], &json!({"step": 1})).unwrap();
    let read = checkpoint::load_training(&path).unwrap();
    assert_eq!(read.meta["step"], 1);
    let (name, model, state) = &read.models[0];
    assert_eq!(name, "trunk");
    assert_eq!(bits(model.weights()), bits(stepped.weights()));
    assert_eq!(*state, adam);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(checkpoint::load_training(&path).unwrap_err().to_string().contains("training.safetensors"));
    saved(&folder.0, Storage::Single);
    let other = checkpoint::load_training(&folder.0.join(checkpoint::TENSORS)).unwrap_err().to_string();
    assert!(other.contains("not a training state"), "{other}");
}

#[test]
fn missing_files_are_named() {
    let folder = Folder::new("missing");
    assert!(problem(&folder.0).contains("config.json"));
    saved(&folder.0, Storage::Single);
    fs::remove_file(folder.0.join(checkpoint::TENSORS)).unwrap();
    assert!(problem(&folder.0).contains("model.safetensors"));
}

/// Changes the description and returns what loading says.
fn with_config(name: &str, change: impl FnOnce(&mut Value)) -> String {
    let folder = Folder::new(name);
    saved(&folder.0, Storage::Single);
    let path = folder.0.join(checkpoint::CONFIG);
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut config);
    fs::write(&path, config.to_string()).unwrap();
    problem(&folder.0)
}

#[test]
fn a_description_that_does_not_fit_is_refused() {
    let spec = |c: &mut Value, key: &str, value: Value| c["models"][0]["spec"][key] = value;
    let shape = with_config("width", |c| spec(c, "mlp_width", json!(64)));
    assert!(shape.contains("block.0.mlp_in.weight") && shape.contains("expected [32, 64]"), "{shape}");
    assert!(with_config("layers", |c| spec(c, "layers", json!(3))).contains("block.2.norm1.gain` is missing"));
    assert!(with_config("extra", |c| spec(c, "layers", json!(1))).contains("does not belong"));
    assert!(with_config("huge", |c| spec(c, "width", json!(1u64 << 40))).contains("width"));
    assert!(with_config("negative", |c| spec(c, "layers", json!(-1))).contains("config.json"));
    assert!(with_config("unknown", |c| spec(c, "depth", json!(3))).contains("unknown field `depth`"));
    assert!(with_config("format", |c| c["format"] = json!("other")).contains("format is `other`"));
    assert!(with_config("version", |c| c["version"] = json!(99)).contains("version 99"));
    assert!(with_config("name", |c| c["models"][0]["name"] = json!("x")).contains("x/field.cell.table` is missing"));
    let twice = with_config("twice", |c| {
        let model = c["models"][0].clone();
        c["models"].as_array_mut().unwrap().push(model);
    });
    assert!(twice.contains("two models"), "{twice}");
}

/// Changes the tensor file and returns what loading says.
fn with_tensors(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let folder = Folder::new(name);
    saved(&folder.0, Storage::Single);
    let path = folder.0.join(checkpoint::TENSORS);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    problem(&folder.0)
}

#[test]
fn damaged_tensors_are_refused() {
    for (name, keep) in [("cut-0", 0), ("cut-7", 7), ("cut-100", 100), ("cut-5000", 5000)] {
        assert!(with_tensors(name, |b| b.truncate(keep)).contains("model.safetensors"));
    }
    assert!(with_tensors("short", |b| b.truncate(b.len() - 1)).contains("model.safetensors"));
    assert!(with_tensors("long", |b| b.push(0)).contains("model.safetensors"));
    let header = |size: u64| move |b: &mut Vec<u8>| b[..8].copy_from_slice(&size.to_le_bytes());
    assert!(with_tensors("header-max", header(u64::MAX)).contains("model.safetensors"));
    assert!(with_tensors("header-large", header(1 << 40)).contains("model.safetensors"));
    let end = |value: f32| {
        move |b: &mut Vec<u8>| {
            let at = b.len() - 4;
            b[at..].copy_from_slice(&value.to_le_bytes());
        }
    };
    assert!(with_tensors("nan", end(f32::NAN)).contains("holds NaN"));
    assert!(with_tensors("infinite", end(f32::INFINITY)).contains("holds inf"));
    assert!(with_tensors("garbage", |b| b[8..40].fill(b'{')).contains("model.safetensors"));
    let oversized = with_tensors("oversized", |b| b.resize(b.len() + (32 << 20), 0));
    assert!(oversized.contains("larger than"), "{oversized}");
}

/// A tensor of a file.
type Entry = (String, Dtype, Vec<usize>, Vec<u8>);

fn entries_of(path: &Path) -> Vec<Entry> {
    let file = fs::read(path).unwrap();
    let entry =
        |(name, t): (&str, TensorView<'_>)| (name.to_string(), t.dtype(), t.shape().to_vec(), t.data().to_vec());
    SafeTensors::deserialize(&file).unwrap().iter().map(entry).collect()
}

/// Without a checksum, as other programs write safetensors.
fn write_entries(path: &Path, entries: &[Entry]) {
    let views = entries
        .iter()
        .map(|(name, dtype, shape, data)| (name.as_str(), TensorView::new(*dtype, shape.clone(), data).unwrap()));
    fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

/// Changes the tensors of a checkpoint of a certain storage and returns what loading says.
fn with_entries(name: &str, storage: Storage, change: impl FnOnce(&mut Vec<Entry>)) -> String {
    let folder = Folder::new(name);
    saved(&folder.0, storage);
    let path = folder.0.join(checkpoint::TENSORS);
    let mut entries = entries_of(&path);
    change(&mut entries);
    write_entries(&path, &entries);
    problem(&folder.0)
}

#[test]
fn damaged_scales_are_refused() {
    const MATRIX: &str = "trunk/block.0.mlp_in.weight";
    const SCALE: &str = "trunk/block.0.mlp_in.weight.scale";
    fn find<'a>(entries: &'a mut [Entry], name: &str) -> &'a mut Entry {
        entries.iter_mut().find(|entry| entry.0 == name).unwrap()
    }
    let byte = |name: &str, change: &dyn Fn(&mut Vec<Entry>)| with_entries(name, Storage::Byte, change);

    let missing = byte("scale-missing", &|e| e.retain(|entry| entry.0 != SCALE));
    assert!(missing.contains(&format!("`{SCALE}` is missing")), "{missing}");
    let fewer = byte("scale-fewer", &|e| {
        let (_, _, shape, data) = find(e, SCALE);
        shape[0] -= 1;
        data.truncate(shape[0] * 2);
    });
    assert!(fewer.contains("has shape"), "{fewer}");
    let single = byte("scale-single", &|e| {
        let (_, dtype, shape, data) = find(e, SCALE);
        (*dtype, *data) = (Dtype::F32, vec![0; shape[0] * 4]);
    });
    assert!(single.contains("expected F16"), "{single}");
    for value in [f16::NAN, f16::INFINITY, f16::ZERO, -f16::ONE] {
        let bad = byte("scale-value", &|e| find(e, SCALE).3[..2].copy_from_slice(&value.to_le_bytes()));
        assert!(bad.contains(&format!("`{SCALE}` holds {value}; a scale is a positive number")), "{bad}");
    }
    let unsigned = byte("unsigned", &|e| find(e, MATRIX).1 = Dtype::U8);
    assert!(unsigned.contains("expected F32, F16 or I8"), "{unsigned}");
    let other = byte("scale-of-none", &|e| e.push(("trunk/norm.gain.scale".into(), Dtype::F16, vec![1], vec![0, 60])));
    assert!(other.contains("`trunk/norm.gain.scale` does not belong"), "{other}");
    let unused =
        with_entries("scale-unused", Storage::Half, |e| e.push((SCALE.into(), Dtype::F16, vec![1], vec![0, 60])));
    assert!(unused.contains("does not belong"), "{unused}");
}

#[test]
fn what_could_not_be_read_back_does_not_replace_what_can() {
    let folder = Folder::new("refuse");
    let good = saved(&folder.0, Storage::Single);
    let mut bad = small();
    bad.weights_mut()[5] = f32::NAN;
    let error = checkpoint::save(&folder.0, &[("trunk", &bad)], &Value::Null, Storage::Single).unwrap_err();
    assert!(error.to_string().contains("trunk/field.cell.table` holds NaN"), "{error}");
    bad.weights_mut()[5] = 1e6;
    assert!(checkpoint::save(&folder.0, &[("trunk", &bad)], &Value::Null, Storage::Half).is_err());
    let norm = bad.layout().norm.gain.start;
    for (at, value, held) in [(5, 1e6, true), (5, 1e7, false), (norm, 6e4, true), (norm, 1e6, false)] {
        let mut bad = small();
        bad.weights_mut()[at] = value;
        let other = Folder::new("refuse-byte");
        let saved = checkpoint::save(&other.0, &[("trunk", &bad)], &Value::Null, Storage::Byte);
        assert_eq!(saved.is_ok(), held, "{value} at {at}");
        assert_eq!(other.0.join(checkpoint::TENSORS).exists(), held);
    }
    let twice = [("a", &good), ("a", &good)];
    assert!(checkpoint::save(&folder.0, &twice, &Value::Null, Storage::Single).is_err());
    assert_eq!(bits(checkpoint::load(&folder.0).unwrap().models[0].1.weights()), bits(good.weights()));
}

#[test]
fn a_full_or_forbidden_folder_is_an_error() {
    let folder = Folder::new("forbidden");
    let file = folder.0.join("plain");
    fs::write(&file, "x").unwrap();
    let error = checkpoint::save(&file, &[("trunk", &small())], &Value::Null, Storage::Single).unwrap_err();
    assert!(error.to_string().contains("plain"), "{error}");
}

/// Weights of a checkpoint that hold these numbers, and what loading says or gives.
fn with_weights(name: &str, numbers: [f32; 2]) -> Result<Model, String> {
    let folder = Folder::new(name);
    saved(&folder.0, Storage::Single);
    let path = folder.0.join(checkpoint::TENSORS);
    let mut entries = entries_of(&path);
    let data = &mut entries.iter_mut().find(|entry| entry.0 == "trunk/norm.gain").unwrap().3;
    data[..8].copy_from_slice(&numbers.map(f32::to_le_bytes).concat());
    write_entries(&path, &entries);
    checkpoint::load(&folder.0).map(|mut read| read.models.remove(0).1).map_err(|error| error.to_string())
}

#[test]
fn weights_that_no_training_leaves_behind_are_refused_and_tiny_ones_become_zero() {
    for bad in [3e38, -3e38, 2e6] {
        let said = with_weights("large", [1.0, bad]).unwrap_err();
        assert!(said.contains("trunk/norm.gain") && said.contains("no trained weight"), "{said}");
    }
    let model = with_weights("tiny", [1e-40, -1e-38]).unwrap();
    let at = model.layout().norm.gain.start;
    assert_eq!(model.weights()[at..at + 2], [0.0, 0.0]);
}

#[test]
fn any_flipped_bit_of_the_tensors_is_found_and_files_without_a_checksum_are_read() {
    let folder = Folder::new("flip-weights");
    let state = folder.0.join("training.safetensors");
    for storage in [Storage::Single, Storage::Half, Storage::Byte] {
        let model = saved(&folder.0, storage);
        let path = folder.0.join(checkpoint::TENSORS);
        let config = fs::read(folder.0.join(checkpoint::CONFIG)).unwrap();
        let good = fs::read(&path).unwrap();
        for at in (0..60).map(|i| good.len() - 1 - i * 97) {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            assert!(checkpoint::parse(&config, &bytes).is_err(), "{storage:?}, byte {at} of {}", good.len());
        }
        let wanted = checkpoint::load(&folder.0).unwrap().models.remove(0).1;
        write_entries(&path, &entries_of(&path));
        assert_eq!(bits(checkpoint::load(&folder.0).unwrap().models[0].1.weights()), bits(wanted.weights()));

        let adam = AdamW::new(model.layout(), AdamConfig::default());
        checkpoint::save_training(&state, &[("trunk", &model, &adam)], &json!({"step": 3, "rate": 0.1})).unwrap();
    }
    let good = fs::read(&state).unwrap();
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    // All of the description, and some of the numbers.
    for at in (0..header).chain((header..good.len()).step_by(1009)) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&state, bytes).unwrap();
        let read = checkpoint::load_training(&state);
        assert!(read.is_err(), "byte {at} of {header}: {:?}", good[at] as char);
    }
}

#[test]
fn a_training_state_without_a_checksum_is_refused() {
    let folder = Folder::new("state-without-checksum");
    let path = folder.0.join("training.safetensors");
    let model = small();
    let adam = AdamW::new(model.layout(), AdamConfig::default());
    checkpoint::save_training(&path, &[("trunk", &model, &adam)], &json!({"step": 3})).unwrap();
    let file = fs::read(&path).unwrap();
    let (_, header) = SafeTensors::read_metadata(&file).unwrap();
    let mut training: Value = serde_json::from_str(&header.metadata().as_ref().unwrap()["training"]).unwrap();
    assert!(training.as_object_mut().unwrap().remove("checksum").is_some());
    let entries = entries_of(&path);
    let views = entries
        .iter()
        .map(|(name, dtype, shape, data)| (name.as_str(), TensorView::new(*dtype, shape.clone(), data).unwrap()));
    let metadata = [("training".to_string(), training.to_string())].into();
    fs::write(&path, safetensors::serialize(views, Some(metadata)).unwrap()).unwrap();
    let said = checkpoint::load_training(&path).unwrap_err().to_string();
    assert!(said.contains("missing field `checksum`"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_flipped_byte_of_a_training_state_is_an_error_or_a_sound_state(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let folder = Folder::new("flip-state");
        let path = folder.0.join("training.safetensors");
        let model = small();
        let adam = AdamW::new(model.layout(), AdamConfig::default());
        checkpoint::save_training(&path, &[("trunk", &model, &adam)], &Value::Null).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let i = at.index(bytes.len().min(3000));
        bytes[i] = value;
        fs::write(&path, bytes).unwrap();
        if let Ok(read) = checkpoint::load_training(&path) {
            prop_assert!(read.models.iter().all(|(_, m, _)| m.weights().iter().all(|w| w.is_finite())));
        }
    }

    #[test]
    fn any_flipped_byte_is_an_error_or_finite_weights(
        at in any::<prop::sample::Index>(), value in any::<u8>(), in_config in any::<bool>(),
        storage in prop_oneof![Just(Storage::Half), Just(Storage::Byte)],
    ) {
        let folder = Folder::new("flip");
        saved(&folder.0, storage);
        let (mut config, mut tensors) = (
            fs::read(folder.0.join(checkpoint::CONFIG)).unwrap(),
            fs::read(folder.0.join(checkpoint::TENSORS)).unwrap(),
        );
        if in_config {
            let i = at.index(config.len());
            config[i] = value;
        } else {
            // The header is where a byte can do harm, and the scales that follow it.
            let i = at.index(tensors.len().min(8000));
            tensors[i] = value;
        }
        if let Ok(read) = checkpoint::parse(&config, &tensors) {
            prop_assert!(read.models.iter().all(|(_, m)| m.weights().iter().all(|w| w.is_finite())));
        }
    }
}

//! Shared by the integration tests: the golden cases and small models.
#![allow(dead_code)]

use icee_nn::batch::{Batch, ClassTargets, FieldValues, PoolTargets, Pools, Tokens};
use icee_nn::{FieldKind, Model, ModelSpec};
use serde_json::Value;
use std::path::PathBuf;

/// One golden case, as `tools/golden/engine.py` wrote it.
pub struct Golden {
    pub record: Value,
    pub tensors: Vec<u8>,
    pub model: Model,
    pub batch: Batch,
}

/// The multiplicative hash that gives the golden weights.
pub fn formula(index: usize, scale: f64) -> f32 {
    let hash = (index as u64).wrapping_mul(2_654_435_761) % (1 << 32);
    ((hash as f64 / (1u64 << 32) as f64 - 0.5) * scale) as f32
}

/// Weights by formula: distinct, reproducible, with norms around one.
pub fn fill_by_formula(model: &mut Model) {
    let tensors = model.layout().tensors.clone();
    for tensor in tensors {
        let offset = if tensor.name.ends_with(".gain") { 1.0 } else { 0.0 };
        for i in tensor.range {
            model.weights_mut()[i] = formula(i, 0.4) + offset;
        }
    }
}

pub fn load_golden(name: &str) -> Golden {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let spec: ModelSpec = serde_json::from_value(record["spec"].clone()).unwrap();
    let batch = read_batch(&spec, &record["batch"]);
    let mut model = Model::new(spec, 0).unwrap();
    fill_by_formula(&mut model);
    let tensors = std::fs::read(folder.join(format!("{name}.safetensors"))).unwrap();
    Golden { record, tensors, model, batch }
}

fn numbers<T>(value: &Value, f: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    value.as_array().unwrap().iter().map(|v| f(v).unwrap()).collect()
}

fn indices(value: &Value) -> Vec<usize> {
    numbers(value, |v| v.as_u64().map(|x| x as usize))
}

fn categories(value: &Value) -> Vec<u32> {
    numbers(value, |v| v.as_u64().map(|x| x as u32))
}

fn reals(value: &Value) -> Vec<f32> {
    numbers(value, |v| v.as_f64().map(|x| x as f32))
}

fn values(kind: FieldKind, value: &Value) -> FieldValues {
    match kind {
        FieldKind::Categorical { .. } => FieldValues::Categorical(categories(value)),
        FieldKind::Vector { .. } => FieldValues::Vector(reals(value)),
    }
}

fn read_tokens(value: &Value, kinds: Vec<FieldKind>) -> Tokens {
    let fields = kinds.into_iter().zip(value["fields"].as_array().unwrap()).map(|(k, v)| values(k, v)).collect();
    let tables = value.get("tables").map(indices).unwrap_or_default();
    Tokens { tables, ..Tokens::new(indices(&value["offsets"]), fields) }
}

fn read_batch(spec: &ModelSpec, value: &Value) -> Batch {
    let kinds = |fields: Vec<usize>| fields.into_iter().map(|f| spec.fields[f].kind).collect();
    Batch {
        history: read_tokens(&value["history"], kinds(spec.history_fields())),
        queries: value.get("queries").map(|q| read_tokens(q, kinds(spec.query_fields()))),
        class_targets: value["class_targets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| {
                let head = t["head"].as_u64().unwrap() as usize;
                let conditions = spec.heads[head].conditions.iter().zip(t["conditions"].as_array().unwrap());
                ClassTargets {
                    head,
                    rows: categories(&t["rows"]),
                    conditions: conditions.map(|(c, v)| values(c.kind, v)).collect(),
                    classes: categories(&t["classes"]),
                    weights: reals(&t["weights"]),
                    scale: t["scale"].as_f64().unwrap() as f32,
                }
            })
            .collect(),
        pool_targets: value["pool_targets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| PoolTargets {
                head: t["head"].as_u64().unwrap() as usize,
                pools: Pools { offsets: indices(&t["pools"]["offsets"]), candidates: reals(&t["pools"]["candidates"]) },
                rows: categories(&t["rows"]),
                row_pools: categories(&t["row_pools"]),
                target_offsets: indices(&t["target_offsets"]),
                targets: categories(&t["targets"]),
                probabilities: reals(&t["probabilities"]),
                weights: reals(&t["weights"]),
                scale: t["scale"].as_f64().unwrap() as f32,
            })
            .collect(),
    }
}

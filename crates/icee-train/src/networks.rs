//! Networks by name: made afresh, or taken from a file that is checked against what was expected.

use crate::{Error, Result};
use icee_nn::{Embedding, Model, ModelSpec};

/// The standard deviation with which the engine initialises matrices.
const ENGINE_STD: f64 = 0.02;

/// One network: its name in the checkpoint and its description.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSpec {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub spec: ModelSpec,
}

/// How weights are initialised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Initialisation {
    /// The standard deviation of matrices.
    pub std: f64,
    /// Whether keys begin as copies of the queries' weights, so that attention begins as a kernel: like tokens look at
    /// each other.
    pub tied_keys: bool,
    /// The standard deviation of what heads add for each value of a condition, if not the same. Near 1 the GELU behind it
    /// begins as a gate that each value sets in its own way; near 0 all values read the trunk alike, and to tell them
    /// apart has to be learned first.
    pub condition_std: Option<f64>,
}

/// Fresh models, their weights fixed by the seed.
///
/// # Errors
/// The engine's.
pub fn fresh(networks: &[NetworkSpec], seed: u64, initialisation: Initialisation) -> Result<Vec<Model>> {
    let fresh = |(index, network): (usize, &NetworkSpec)| {
        let mut model = Model::new(network.spec.clone(), seed.wrapping_add(index as u64))?;
        let matrices: Vec<_> = model.layout().tensors.iter().filter(|t| t.decays).map(|t| t.range.clone()).collect();
        let scale = (initialisation.std / ENGINE_STD) as f32;
        for range in matrices {
            model.weights_mut()[range].iter_mut().for_each(|w| *w *= scale);
        }
        if let Some(std) = initialisation.condition_std {
            scale_conditions(&mut model, (std / initialisation.std) as f32);
        }
        if initialisation.tied_keys {
            tie_keys(&mut model);
        }
        Ok(model)
    };
    networks.iter().enumerate().map(fresh).collect()
}

/// Multiplies the tables of the heads' conditions.
fn scale_conditions(model: &mut Model, scale: f32) {
    let conditions = model.layout().heads.iter().flat_map(|head| &head.conditions);
    let tables: Vec<_> = conditions
        .filter_map(|condition| match condition {
            Embedding::Table(range) => Some(range.clone()),
            Embedding::Linear(_) | Embedding::Mlp(..) => None,
        })
        .collect();
    for range in tables {
        model.weights_mut()[range].iter_mut().for_each(|w| *w *= scale);
    }
}

/// Copies the weights of queries to those of keys.
fn tie_keys(model: &mut Model) {
    let layout = model.layout();
    let weight = |id| layout.linear(id).weight.clone();
    let pairs: Vec<_> =
        layout.blocks.iter().map(|block| (weight(block.attention.query), weight(block.attention.key_value))).collect();
    let width = model.spec().width;
    for (query, key_value) in pairs {
        for input in 0..width {
            // Keys come first in [width, 2 · width].
            let from = query.start + input * width;
            model.weights_mut().copy_within(from..from + width, key_value.start + 2 * input * width);
        }
    }
}

/// Checks that models from a file, with whatever belongs to each, are the expected ones, and puts them in their order.
///
/// # Errors
/// [`Error::Config`] with the network that is missing or another one.
pub fn adopt<T>(networks: &[NetworkSpec], mut models: Vec<(String, Model, T)>) -> Result<Vec<(Model, T)>> {
    let take = |network: &NetworkSpec| {
        let fits = |(name, model, _): &(String, Model, T)| name == network.name && *model.spec() == network.spec;
        let at = models.iter().position(fits);
        at.map(|at| models.swap_remove(at)).map(|(_, model, rest)| (model, rest)).ok_or_else(|| {
            let name = network.name;
            Error::Config(format!("the checkpoint's network \"{name}\" is missing or not what its config says"))
        })
    };
    networks.iter().map(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_nn::{FieldKind, FieldSpec, History};

    #[test]
    fn tied_keys_are_the_queries_and_nothing_else_changes() {
        let spec = ModelSpec {
            layers: 2,
            width: 32,
            attention_heads: 2,
            mlp_width: 32,
            context: 4,
            history: History::Set,
            row_attention: false,
            fields: vec![FieldSpec::history("x", FieldKind::vector(3))],
            heads: vec![],
            pool_heads: vec![],
        };
        let networks = [NetworkSpec { name: "trunk", spec }];
        let with = |tied_keys| {
            fresh(&networks, 1, Initialisation { std: 0.1, tied_keys, condition_std: None }).unwrap().remove(0)
        };
        let (plain, tied) = (with(false), with(true));
        let mut changed = 0;
        for block in &plain.layout().blocks {
            let [query, key_value] =
                [block.attention.query, block.attention.key_value].map(|id| plain.layout().linear(id).weight.clone());
            for (row, queries) in tied.weights()[key_value.clone()].chunks(64).zip(plain.weights()[query].chunks(32)) {
                assert_eq!(&row[..32], queries);
            }
            changed += key_value.len() / 2;
        }
        let differing = plain.weights().iter().zip(tied.weights()).filter(|(a, b)| a != b).count();
        assert_eq!(differing, changed);
    }
}

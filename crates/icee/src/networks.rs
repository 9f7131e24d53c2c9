//! Networks by name: made afresh, or taken from a file that is checked against what was expected.

use crate::{Error, Result};
use icee_nn::{Model, ModelSpec};

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

/// Fresh models, their weights fixed by the seed; matrices have the standard deviation `init_std`.
pub(crate) fn fresh(networks: &[NetworkSpec], seed: u64, init_std: f64) -> Result<Vec<Model>> {
    let fresh = |(index, network): (usize, &NetworkSpec)| {
        let mut model = Model::new(network.spec.clone(), seed.wrapping_add(index as u64))?;
        let matrices: Vec<_> = model.layout().tensors.iter().filter(|t| t.decays).map(|t| t.range.clone()).collect();
        let scale = (init_std / ENGINE_STD) as f32;
        for range in matrices {
            model.weights_mut()[range].iter_mut().for_each(|w| *w *= scale);
        }
        Ok(model)
    };
    networks.iter().enumerate().map(fresh).collect()
}

/// Checks that models from a file, with whatever belongs to each, are the expected ones, and puts them in their order.
pub(crate) fn adopt<T>(networks: &[NetworkSpec], mut models: Vec<(String, Model, T)>) -> Result<Vec<(Model, T)>> {
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

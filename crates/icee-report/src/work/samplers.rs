//! Who searches: the rivals by their names, and learned optimisers by the names of their models.

use crate::Result;
use icee_bo::gp_surrogate::gp_ei;
use icee_bo::search::{RandomSampler, Sampler};
use icee_models::ModelStore;
use icee_train::Device;

/// A sampler by its name: `random`, `gp-ei`, or a model.
///
/// # Errors
/// Where the model is missing, damaged, or none that searches.
pub fn sampler(name: &str, store: &ModelStore) -> Result<Box<dyn Sampler>> {
    match name {
        "random" => Ok(Box::new(RandomSampler)),
        "gp-ei" => Ok(Box::new(gp_ei())),
        model => Ok(store.find(model)?.load_optimiser()?.sampler(&Device::cpu(1)?)?),
    }
}

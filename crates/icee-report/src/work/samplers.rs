//! Samplers by name: rivals, and learned optimisers by the names of their models.

use crate::Result;
use icee_bo::gp_surrogate::{gp_ei, table_gp_ei};
use icee_bo::search::{RandomSampler, Sampler};
use icee_models::ModelStore;
use icee_train::Device;

/// So many samplers of a name: `random`, `gp-ei`, or a model, which is read once.
///
/// # Errors
/// Where the model is missing, damaged, or none that searches.
pub fn samplers(name: &str, count: usize, store: &ModelStore) -> Result<Vec<Box<dyn Sampler>>> {
    let places = 0..count;
    match name {
        "random" => Ok(places.map(|_| Box::new(RandomSampler) as Box<dyn Sampler>).collect()),
        "gp-ei" => Ok(places.map(|_| Box::new(gp_ei()) as Box<dyn Sampler>).collect()),
        model => {
            let (model, device) = (store.find(model)?.load_optimiser()?, Device::cpu(1)?);
            places.map(|_| Ok(model.sampler(&device)?)).collect()
        }
    }
}

/// The same for real tables: the Gaussian process is the one for tables.
pub(super) fn table_samplers(name: &str, count: usize, store: &ModelStore) -> Result<Vec<Box<dyn Sampler>>> {
    match name {
        "gp-ei" => Ok((0..count).map(|_| Box::new(table_gp_ei()) as Box<dyn Sampler>).collect()),
        other => samplers(other, count, store),
    }
}

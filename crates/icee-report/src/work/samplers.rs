//! Who searches: the rivals by their names, and learned optimisers by the names of their models.

use crate::Result;
use icee::Device;
use icee_bo::gp_ei::GpEiSampler;
use icee_bo::sampler::{RandomSampler, Sampler};
use icee_models::Shelf;

/// A sampler by its name: `random`, `gp-ei`, or a model.
///
/// # Errors
/// Where the model is missing, damaged, or none that searches.
pub fn sampler(name: &str, shelf: &Shelf) -> Result<Box<dyn Sampler>> {
    match name {
        "random" => Ok(Box::new(RandomSampler)),
        "gp-ei" => Ok(Box::new(GpEiSampler)),
        model => Ok(shelf.find(model)?.load_optimiser()?.sampler(&Device::cpu(1)?)?),
    }
}

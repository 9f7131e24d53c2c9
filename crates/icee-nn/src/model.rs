//! A model: its description and its numbers.

use crate::{Layout, ModelSpec, Result};
use serde::{Deserialize, Serialize};

/// How numbers are stored in caches and packed weights. Arithmetic is always in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    #[default]
    Single,
    /// 16 bits (IEEE half precision): half the memory traffic, about 1e-3 relative error.
    Half,
}

/// A description with weights. Devices read it; optimisers change it.
#[derive(Clone, Debug)]
pub struct Model {
    spec: ModelSpec,
    layout: Layout,
    weights: Vec<f32>,
}

impl Model {
    /// A fresh model, its weights fixed by the seed.
    pub fn new(spec: ModelSpec, seed: u64) -> Result<Model> {
        spec.check()?;
        let layout = Layout::new(&spec);
        let weights = layout.init(seed);
        Ok(Model { spec, layout, weights })
    }

    /// A model from checked parts.
    pub(crate) fn from_parts(spec: ModelSpec, layout: Layout, weights: Vec<f32>) -> Model {
        debug_assert_eq!(layout.len(), weights.len());
        Model { spec, layout, weights }
    }

    /// Its description.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// Where each tensor lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All numbers, flat.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// All numbers, to be changed.
    pub fn weights_mut(&mut self) -> &mut [f32] {
        &mut self.weights
    }

    pub(crate) fn parts_mut(&mut self) -> (&Layout, &mut [f32]) {
        (&self.layout, &mut self.weights)
    }
}

//! Batches made ready for a learner on any thread: the one that drives the GPU has but to send them.

use super::packing::{Shape, pack};
use super::places::Places;
use crate::batch::Batch;
use crate::{Error, Layout, ModelSpec, Result};

/// Packs batches for learners of one description of a model.
pub struct Packing {
    spec: ModelSpec,
    places: Places,
}

/// A batch that was checked and packed to be learned from.
pub struct Packed {
    pub(super) spec: ModelSpec,
    pub(super) shape: Shape,
    pub(super) words: Vec<u32>,
}

impl Packing {
    /// For models of this description.
    pub fn new(spec: &ModelSpec) -> Result<Packing> {
        Ok(Packing { spec: spec.clone(), places: Places::new(spec, &Layout::new(spec))? })
    }

    /// Checks a batch and packs it.
    pub fn pack(&self, batch: &Batch) -> Result<Packed> {
        Packed::new(&self.spec, &self.places, batch, true)
    }
}

impl Packed {
    pub(super) fn new(spec: &ModelSpec, places: &Places, batch: &Batch, backward: bool) -> Result<Packed> {
        batch.check(spec)?;
        if batch.rows() == 0 {
            return Err(Error::Batch("the batch has no tokens".into()));
        }
        let mut words = Vec::new();
        let shape = pack(spec, places, batch, backward, &mut words);
        if let Some(pool) = shape.pools.iter().find(|pool| pool.pairs > i32::MAX as usize) {
            let (name, pairs) = (&spec.pool_heads[pool.head].name, pool.pairs);
            let message = format!("pool head `{name}`: {pairs} pairs of row and candidate; use a smaller batch");
            return Err(Error::Batch(message));
        }
        Ok(Packed { spec: spec.clone(), shape, words })
    }
}

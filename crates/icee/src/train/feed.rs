//! Batches made ahead of time on a thread of their own. Batch number i depends on the seed and i alone, so it does not
//! matter where a run was stopped.

use crate::blueprint::Blueprint;
use crate::config::Config;
use crate::source::Source;
use crate::{Error, Result};
use icee_nn::batch::Batch;
use std::ops::Range;
use std::sync::mpsc::sync_channel;

/// Batches that wait at most.
const AHEAD: usize = 2;

/// How batches are made.
#[derive(Clone, Copy)]
pub(super) struct Recipe<'a> {
    pub source: &'a Source,
    pub config: &'a Config,
    pub blueprint: &'a Blueprint,
}

/// A batch of every network, and what is worth knowing of it.
pub(super) struct Prepared {
    pub batches: Vec<Batch>,
    pub tokens: usize,
    pub effective_share: f64,
    pub clipped_share: f64,
}

impl Recipe<'_> {
    pub fn prepare(&self, index: u64) -> Result<Prepared> {
        let sequences = self.source.sequences(self.config, self.blueprint.episodes, index)?;
        let labels = self.blueprint.labels(&sequences);
        let batches = self.blueprint.batches(&sequences, &labels);
        let (effective_share, clipped_share) = (labels.effective_share, labels.clipped_share);
        Ok(Prepared { batches, tokens: sequences.steps(), effective_share, clipped_share })
    }
}

/// Calls `work` with something that gives the batches of `steps` one after another.
pub(super) fn with_batches<R>(
    recipe: Recipe<'_>,
    steps: Range<u64>,
    work: impl FnOnce(&mut dyn FnMut() -> Result<Prepared>) -> Result<R>,
) -> Result<R> {
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        scope.spawn(move || {
            for index in steps {
                // Nobody waits for more: training has stopped.
                if send.send(recipe.prepare(index)).is_err() {
                    break;
                }
            }
        });
        work(&mut || {
            receive.recv().unwrap_or_else(|_| Err(Error::Config("the thread that makes batches ended".into())))
        })
    })
}

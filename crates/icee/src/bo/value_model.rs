//! The trained `value` model at work: what it believes of candidates, in the units of the told values.

use super::methods::Objective;
use super::model::Model;
use super::scale::{Scale, ValueBins};
use super::value::{VALUE_HEAD, ValuePlan};
use crate::device::{Cache, Device, Network};
use crate::math::softmax;
use crate::{Error, Result};
use icee_bo::BoResult;
use icee_bo::history::thinned;
use icee_bo::sampler::{Pool, Told};
use icee_bo::surrogate::{Belief, Surrogate};
use icee_nn::batch::Tokens;
use std::path::Path;

/// Candidates that go through the network at once; the answers do not depend on it.
const CHUNK: usize = 1024;

/// p(y | x, H) for any pool that has the columns it was trained on.
pub struct ValueModel {
    plan: ValuePlan,
    network: Network,
    cache: Cache,
    /// The tokens in the cache: an unchanged history is not encoded again.
    encoded: Option<Tokens>,
}

impl ValueModel {
    /// A trained model made ready.
    ///
    /// # Errors
    /// Where it is not a `value` model.
    pub fn new(device: &Device, model: &Model) -> Result<ValueModel> {
        let method = model.config.method()?;
        if method.objective != Objective::Value {
            let name = method.name;
            return Err(Error::Config(format!("a model of `{name}` predicts no values; train one of `value`")));
        }
        let plan = ValuePlan::new(&model.config)?;
        let network = device.network(&model.network);
        let cache = network.cache();
        Ok(ValueModel { plan, network, cache, encoded: None })
    }

    /// Reads a checkpoint or run folder.
    ///
    /// # Errors
    /// As [`Model::load`], and where it is not a `value` model.
    pub fn load(device: &Device, folder: &Path) -> Result<ValueModel> {
        ValueModel::new(device, &Model::load(folder)?)
    }

    /// The numbers of columns that pools may have.
    #[must_use]
    pub fn columns(&self) -> std::ops::RangeInclusive<usize> {
        self.plan.columns()
    }

    /// The most told values that it sees; of more it sees those that [`thinned`] keeps.
    #[must_use]
    pub fn longest_history(&self) -> usize {
        self.plan.spec.context
    }

    /// One belief a candidate, in the units of the told values, of which there are at least two.
    ///
    /// # Errors
    /// Where the pool has other columns than the model, or too little was told.
    pub fn beliefs(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> Result<Vec<Belief>> {
        if told.len() < self.least_history() {
            return Err(Error::Config(format!("{} told values; the model needs at least 2", told.len())));
        }
        let kept = thinned(told, self.longest_history());
        let scale = Scale::of(kept.iter().map(|&at| told[at].value));
        let evaluated = kept.iter().map(|&at| (pool.point(told[at].candidate), told[at].value));
        let history = self.plan.history_tokens(evaluated, &scale)?;
        if self.encoded.as_ref() != Some(&history) {
            // Forgotten first: should appending fail, nothing stale is left.
            self.encoded = None;
            self.cache.truncate(0);
            self.network.append(&mut [&mut self.cache], &history)?;
            self.encoded = Some(history);
        }
        let bins = self.plan.bins;
        let (low, width) = (scale.mean + ValueBins::LOW * scale.deviation, bins.width() * scale.deviation);
        let mut beliefs = Vec::with_capacity(candidates.len());
        for chunk in candidates.chunks(CHUNK) {
            let locations = chunk.iter().map(|&candidate| pool.point(candidate));
            let queries = self.plan.query_tokens(locations, kept.len())?;
            let trunk = self.network.query(&[&self.cache], &queries)?;
            let logits = self.network.logits(VALUE_HEAD, &trunk, &[])?;
            beliefs.extend(logits.chunks_exact(bins.count).map(|logits| {
                let probabilities = softmax(logits).into_iter().map(|p| p as f32).collect();
                Belief::Histogram { low, width, probabilities }
            }));
        }
        Ok(beliefs)
    }
}

impl Surrogate for ValueModel {
    fn name(&self) -> &'static str {
        "icee"
    }

    fn least_history(&self) -> usize {
        2
    }

    fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>> {
        Ok(self.beliefs(pool, told, candidates)?)
    }
}

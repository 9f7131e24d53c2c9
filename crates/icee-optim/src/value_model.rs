//! Predictions of a trained `value` model for candidates, in the units of the results.

use crate::methods::Objective;
use crate::model::OptimiserModel;
use crate::scale::{Scale, ValueBins};
use crate::value::{Past, VALUE_HEAD, ValuePlan};
use crate::{Error, Result};
use icee_base::math::softmax;
use icee_bo::BoResult;
use icee_bo::belief::Belief;
use icee_bo::history;
use icee_bo::pool::{Pool, Told};
use icee_bo::surrogate::Surrogate;
use icee_nn::batch::Tokens;
use icee_nn::cpu::Cache;
use icee_train::{Device, Inference};
use std::path::Path;

/// Candidates that go through the network at once; the answers do not depend on it.
const CHUNK: usize = 1024;

/// p(y | x, H) for any pool that has the columns it was trained on.
pub struct ValueModel {
    plan: ValuePlan,
    network: Inference,
    cache: Cache,
    /// The tokens in the cache: an unchanged history is not encoded again.
    encoded: Option<Tokens>,
    /// Caches of histories that come several at once.
    side_by_side: Vec<Cache>,
}

impl ValueModel {
    /// A trained model made ready.
    ///
    /// # Errors
    /// Where it is not a `value` model.
    pub fn new(device: &Device, model: &OptimiserModel) -> Result<ValueModel> {
        let method = model.config.method()?;
        if method.objective != Objective::Value {
            let name = method.name;
            return Err(Error::Config(format!("a model of `{name}` predicts no values; train one of `value`")));
        }
        let plan = ValuePlan::new(&model.config)?;
        let network = device.inference(&model.network);
        let cache = network.cache();
        Ok(ValueModel { plan, network, cache, encoded: None, side_by_side: vec![] })
    }

    /// Reads a checkpoint or run folder.
    ///
    /// # Errors
    /// As [`OptimiserModel::load`], and where it is not a `value` model.
    pub fn load(device: &Device, folder: &Path) -> Result<ValueModel> {
        ValueModel::new(device, &OptimiserModel::load(folder)?)
    }

    /// The numbers of columns that pools may have.
    #[must_use]
    pub fn columns(&self) -> std::ops::RangeInclusive<usize> {
        self.plan.columns()
    }

    /// The most results that it sees; of more it sees those that [`thinned`](history::thinned) keeps.
    #[must_use]
    pub fn longest_history(&self) -> usize {
        self.plan.spec.context
    }

    /// One prediction a candidate, in the units of the results, of which there are at least two.
    ///
    /// # Errors
    /// Where the pool has other columns than the model, or too little was told.
    pub fn beliefs(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> Result<Vec<Belief>> {
        let past = [self.past(pool, told)?];
        let history = self.plan.history_tokens(&past)?;
        if self.encoded.as_ref() != Some(&history) {
            // Forgotten first: should appending fail, nothing stale is left.
            self.encoded = None;
            self.cache.truncate(0);
            self.network.append(&mut [&mut self.cache], &history)?;
            self.encoded = Some(history);
        }
        let mut beliefs = Vec::with_capacity(candidates.len());
        for chunk in candidates.chunks(CHUNK) {
            let locations: Vec<&[f64]> = chunk.iter().map(|&candidate| pool.point(candidate)).collect();
            let queries = self.plan.query_tokens(&past, &locations)?;
            let trunk = self.network.query(&[&self.cache], &queries)?;
            let logits = self.network.logits(VALUE_HEAD, &trunk, &[])?;
            let each = logits.chunks_exact(self.plan.bins.count);
            beliefs.extend(each.map(|logits| belief(self.plan.bins, &past[0].scale, logits)));
        }
        Ok(beliefs)
    }

    /// One prediction a history, all about one candidate: the same as [`ValueModel::beliefs`] for each, in one go.
    ///
    /// # Errors
    /// As [`ValueModel::beliefs`].
    pub fn beliefs_after(&mut self, pool: &Pool, histories: &[&[Told]], candidate: usize) -> Result<Vec<Belief>> {
        let pasts = histories.iter().map(|told| self.past(pool, told)).collect::<Result<Vec<_>>>()?;
        while self.side_by_side.len() < pasts.len() {
            self.side_by_side.push(self.network.cache());
        }
        let caches = &mut self.side_by_side[..pasts.len()];
        caches.iter_mut().for_each(|cache| cache.truncate(0));
        let tokens = self.plan.history_tokens(&pasts)?;
        self.network.append(&mut caches.iter_mut().collect::<Vec<_>>(), &tokens)?;
        let queries = self.plan.query_tokens(&pasts, &[pool.point(candidate)])?;
        let trunk = self.network.query(&caches.iter().collect::<Vec<_>>(), &queries)?;
        let logits = self.network.logits(VALUE_HEAD, &trunk, &[])?.chunks_exact(self.plan.bins.count);
        Ok(pasts.iter().zip(logits).map(|(past, logits)| belief(self.plan.bins, &past.scale, logits)).collect())
    }

    /// What the network is told of a history.
    fn past<'a>(&self, pool: &'a Pool, told: &[Told]) -> Result<Past<'a>> {
        let (kept, scale) = kept(told, self.longest_history())?;
        let evaluated = kept.iter().map(|told| (pool.point(told.candidate), told.value)).collect();
        Ok(Past { evaluated, scale })
    }
}

/// The fewest results that a network predicts from.
pub(crate) const LEAST_HISTORY: usize = 2;

/// The results that a network sees where it takes `longest` at most, and their scale.
pub(crate) fn kept(told: &[Told], longest: usize) -> Result<(Vec<Told>, Scale)> {
    if told.len() < LEAST_HISTORY {
        return Err(Error::Config(format!("{} results; the model needs at least {LEAST_HISTORY}", told.len())));
    }
    let kept = history::kept(told, longest);
    let scale = Scale::of(kept.iter().map(|told| told.value));
    Ok((kept, scale))
}

/// A prediction in the units of the results.
pub(crate) fn belief(bins: ValueBins, scale: &Scale, logits: &[f32]) -> Belief {
    Belief::Histogram {
        low: scale.mean() + ValueBins::LOW * scale.deviation(),
        width: bins.width() * scale.deviation(),
        probabilities: softmax(logits).into_iter().map(|p| p as f32).collect(),
    }
}

impl Surrogate for ValueModel {
    fn name(&self) -> &'static str {
        "icee"
    }

    fn least_history(&self) -> usize {
        LEAST_HISTORY
    }

    fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>> {
        Ok(self.beliefs(pool, told, candidates)?)
    }

    fn predict_after(&mut self, pool: &Pool, histories: &[&[Told]], candidate: usize) -> BoResult<Vec<Belief>> {
        Ok(self.beliefs_after(pool, histories, candidate)?)
    }
}

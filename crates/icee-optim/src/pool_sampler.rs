//! Samples from the paper's models: conditions on c̃ = 1 and draws a candidate from softmax(scores / temperature).

use crate::methods::Objective;
use crate::model::OptimiserModel;
use crate::pool::{CANDIDATE_HEAD, PoolPlan};
use crate::{Error, Result};
use icee_base::math::{sample, softmax64};
use icee_bo::BoResult;
use icee_bo::history::thinned;
use icee_bo::search::{Context, Sampler};
use icee_train::{Device, Inference};
use rand::Rng;

/// Draws candidates by the scores of a pool head. Values must be standardised over the whole pool, as the model's were.
pub struct PoolSampler {
    plan: PoolPlan,
    network: Inference,
    temperature: f64,
}

impl PoolSampler {
    /// A trained model made ready, acting as its config says.
    ///
    /// # Errors
    /// Where it is a `value` model.
    pub fn new(device: &Device, model: &OptimiserModel) -> Result<PoolSampler> {
        if model.config.method()?.objective == Objective::Value {
            return Err(Error::Config(
                "a `value` model scores values, not candidates; use `OptimiserModel::sampler`".into(),
            ));
        }
        let (plan, network) = (PoolPlan::new(&model.config)?, device.inference(&model.network));
        Ok(PoolSampler { plan, network, temperature: model.config.acting.temperature })
    }

    fn scores(&mut self, context: Context<'_>) -> Result<Vec<f64>> {
        let Context { pool, told, available } = context;
        let (has, reads) = (pool.dimension(), self.plan.features.columns);
        if has != reads {
            return Err(Error::Config(format!("the pool has {has} columns, and this model reads {reads}")));
        }
        let features = |candidates: &mut dyn Iterator<Item = usize>| {
            let mut out = Vec::new();
            candidates.for_each(|candidate| self.plan.features.write(pool.point(candidate).iter().copied(), &mut out));
            out
        };
        // One token for every evaluation, and one that asks for the next.
        let kept = thinned(told, self.plan.spec.context - 1);
        let locations = features(&mut kept.iter().map(|&at| told[at].candidate));
        let size = self.plan.features.size();
        let mut tokens = self.plan.writer();
        let mut best = f64::INFINITY;
        let mut before = None;
        for (place, &at) in kept.iter().enumerate() {
            let value = told[at].value;
            tokens.push(before, value < best);
            best = best.min(value);
            before = Some((&locations[place * size..(place + 1) * size], value));
        }
        tokens.push(before, true);
        tokens.end_sequence();
        let candidates = features(&mut available.iter().copied());
        let mut cache = self.network.cache();
        let trunk = self.network.append(&mut [&mut cache], &tokens.finish())?;
        let last = &trunk[trunk.len() - self.plan.spec.width..];
        let scores = self.network.scores(CANDIDATE_HEAD, last, &candidates)?;
        Ok(scores.iter().map(|&score| f64::from(score) / self.temperature).collect())
    }
}

impl Sampler for PoolSampler {
    fn name(&self) -> &'static str {
        "icee"
    }

    fn ask(&mut self, context: Context<'_>, rng: &mut dyn Rng) -> BoResult<usize> {
        let scores = self.scores(context)?;
        Ok(context.available[sample(&softmax64(&scores), rng)])
    }
}

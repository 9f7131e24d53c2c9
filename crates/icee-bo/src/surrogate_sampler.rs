//! Any [`Surrogate`] as a [`Sampler`]: predictions for the candidates that are left, then one of them by the
//! [`acquisition`](crate::acquisition) rule. Evaluation measures the same rule that studies use.

use crate::acquisition::{Rule, log_improvements, pick};
use crate::error::BoResult;
use crate::history::standardised;
use crate::search::{Context, RandomSampler, Sampler};
use crate::surrogate::Surrogate;
use rand::Rng;

/// Picks candidates by what a surrogate believes of them.
pub struct SurrogateSampler {
    surrogate: Box<dyn Surrogate>,
    rule: Rule,
}

impl SurrogateSampler {
    /// A sampler that picks by this rule.
    #[must_use]
    pub fn new(surrogate: Box<dyn Surrogate>, rule: Rule) -> Self {
        Self { surrogate, rule }
    }
}

impl Sampler for SurrogateSampler {
    fn name(&self) -> &'static str {
        self.surrogate.name()
    }

    fn ask(&mut self, context: Context<'_>, rng: &mut dyn Rng) -> BoResult<usize> {
        let Context { pool, told, available } = context;
        if told.len() < self.surrogate.least_history() {
            return RandomSampler.ask(context, rng);
        }
        // On the scale on which studies show values to models, so that any unit gives the same suggestions.
        let history = standardised(told);
        let beliefs = self.surrogate.predict(pool, &history, available)?;
        let best = history.iter().map(|told| told.value).fold(f64::INFINITY, f64::min);
        Ok(available[pick(self.rule, &log_improvements(&beliefs, best), |place| beliefs[place].mean(), rng)])
    }
}

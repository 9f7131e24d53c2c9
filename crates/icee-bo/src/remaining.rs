//! "Am I done?": the probability that a candidate that is left beats the best result.

use crate::belief::{Belief, Range};
use crate::error::BoResult;
use crate::pool::{Pool, Told};
use crate::surrogate::Surrogate;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// How likely it is that a candidate that is left beats the best value so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    /// The estimate: half-way between what the most promising candidates have together, as the model sees them hang together, and
    /// what all would have if every one stood for itself.
    pub any: f64,
    /// The chance of the single most promising candidate; the estimate can hardly be lower.
    pub single: f64,
    /// What it would be if every candidate stood for itself; candidates do not, so this is too high.
    pub independent: f64,
}

impl Remaining {
    /// Judges by what a model believes of the candidates that are left; `beliefs` are its own, one a candidate, and values
    /// within `better` beat the best.
    ///
    /// # Errors
    /// The model's.
    pub fn judge(
        surrogate: &mut dyn Surrogate,
        pool: &Pool,
        told: &[Told],
        candidates: &[usize],
        beliefs: &[Belief],
        better: Range,
        rng: &mut dyn Rng,
    ) -> BoResult<Remaining> {
        let mut chances: Vec<(f64, usize)> =
            beliefs.iter().zip(candidates).map(|(belief, &candidate)| (belief.within(better), candidate)).collect();
        let none: f64 = chances.iter().map(|(chance, _)| 1.0 - chance).product();
        chances.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        chances.truncate(surrogate.joint().candidates);
        let promising: Vec<usize> = chances.iter().map(|(_, candidate)| *candidate).collect();
        let single = chances.first().map_or(0.0, |(chance, _)| *chance);
        let joint = match better.low == f64::NEG_INFINITY {
            true => surrogate.any_below(pool, told, &promising, better.high, rng)?,
            false => surrogate.any_within(pool, told, &promising, better, rng)?,
        };
        // Rounding must not put it below one row's.
        let independent = (1.0 - none).max(single);
        // Too low, since it leaves out all but a few, and too high. Half-way between them the error on fresh tables is least.
        let any = 0.5 * (joint + independent);
        // The estimate is sampled; it may not leave what is certain.
        Ok(Remaining { any: any.max(single).min(independent), single, independent })
    }
}

//! "Am I done?": how likely it is that a candidate that is left beats the best value told.

use crate::belief::Belief;
use crate::error::BoResult;
use crate::pool::{Pool, Told};
use crate::surrogate::Surrogate;
use icee_base::math::{ln, power};
use rand::Rng;
use serde::Serialize;

/// How likely it is that a candidate that is left beats the best value so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Remaining {
    /// The estimate: the most promising candidates together, as the model sees them hang together, and all others as if they
    /// hung together in the same way.
    pub any: f64,
    /// The chance of the single most promising candidate; the estimate can hardly be lower.
    pub single: f64,
    /// What it would be if every candidate stood for itself; candidates do not, so this is too high.
    pub independent: f64,
}

impl Remaining {
    /// Judges by what a model believes of the candidates that are left; `beliefs` are its own, one a candidate.
    ///
    /// # Errors
    /// The model's.
    pub fn judge(
        surrogate: &mut dyn Surrogate,
        pool: &Pool,
        told: &[Told],
        candidates: &[usize],
        beliefs: &[Belief],
        rng: &mut dyn Rng,
    ) -> BoResult<Remaining> {
        let best = told.iter().map(|told| told.value).fold(f64::INFINITY, f64::min);
        let mut chances: Vec<(f64, usize)> =
            beliefs.iter().zip(candidates).map(|(belief, &candidate)| (belief.below(best), candidate)).collect();
        let none_of = |chances: &[(f64, usize)]| chances.iter().map(|(chance, _)| 1.0 - chance).product::<f64>();
        let none = none_of(&chances);
        chances.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        chances.truncate(surrogate.joint_candidates());
        let promising: Vec<usize> = chances.iter().map(|(_, candidate)| *candidate).collect();
        let single = chances.first().map_or(0.0, |(chance, _)| *chance);
        let joint = surrogate.any_below(pool, told, &promising, best, rng)?;
        let any = extended(joint, none_of(&chances), none);
        // The estimate is sampled; it may not leave what is certain.
        let independent = 1.0 - none;
        Ok(Remaining { any: any.max(single).min(independent.max(single)), single, independent })
    }
}

/// P(any of all), given that of the most promising ones, who hang together, and P(none) of those and of all as if they did not.
///
/// Standing alone, all have ln P(none) so many times that of the most promising ones; hanging together alike, they have it, too.
fn extended(joint: f64, none_of_some: f64, none_of_all: f64) -> f64 {
    let ratio = ln(none_of_all) / ln(none_of_some);
    if ratio.is_finite() && ratio > 1.0 { 1.0 - power(1.0 - joint, ratio) } else { joint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_counts_as_far_as_it_hangs_together() {
        // Two of 1/2 that are one: alone P(none) 1/4, together 1/2. Four such are as two.
        assert!((extended(0.5, 0.25, 0.0625) - 0.75).abs() < 1e-12);
        assert_eq!(extended(0.3, 0.5, 0.5), 0.3);
        assert_eq!(extended(0.0, 1.0, 1.0), 0.0);
        assert_eq!(extended(1.0, 0.0, 0.0), 1.0);
    }
}

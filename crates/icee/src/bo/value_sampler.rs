//! Acts on a value model: a candidate is drawn with p ∝ EI^β, EI = E[(best − y)⁺ | x, H].
//!
//! Drawn, not the greatest: no prior holds for every function, and whoever always takes the maximum never finds out.

use super::value_model::ValueModel;
use crate::math::{exp, ln, sample};
use crate::{Error, Result};
use icee_bo::BoResult;
use icee_bo::sampler::{Context, RandomSampler, Sampler};
use icee_bo::surrogate::{Belief, Surrogate};
use rand::Rng;

/// Draws candidates by expected improvement.
pub struct ValueSampler {
    model: ValueModel,
    sharpness: f64,
}

impl ValueSampler {
    /// A sampler with β = `sharpness`.
    ///
    /// # Errors
    /// [`Error::Config`] where it is not above 0.
    pub fn new(model: ValueModel, sharpness: f64) -> Result<ValueSampler> {
        if !(sharpness > 0.0 && sharpness.is_finite()) {
            return Err(Error::Config(format!("acting.sharpness is {sharpness}; it must be above 0")));
        }
        Ok(ValueSampler { model, sharpness })
    }

    /// The model.
    pub fn model(&mut self) -> &mut ValueModel {
        &mut self.model
    }
}

impl Sampler for ValueSampler {
    fn name(&self) -> &'static str {
        "icee"
    }

    fn ask(&mut self, context: Context<'_>, rng: &mut dyn Rng) -> BoResult<usize> {
        let Context { pool, told, available } = context;
        if told.len() < self.model.least_history() {
            return RandomSampler.ask(context, rng);
        }
        let beliefs = self.model.predict(pool, told, available)?;
        let best = told.iter().map(|told| told.value).fold(f64::INFINITY, f64::min);
        Ok(available[sample(&improvement_weights(&beliefs, best, self.sharpness), rng)])
    }
}

/// EI^β of each belief, the greatest being 1; all 1 where nothing is believed to improve.
pub(crate) fn improvement_weights(beliefs: &[Belief], best: f64, sharpness: f64) -> Vec<f64> {
    let improvements: Vec<f64> = beliefs.iter().map(|belief| belief.improvement(best)).collect();
    let greatest = improvements.iter().copied().fold(0.0, f64::max);
    if !(greatest > 0.0 && greatest.is_finite()) {
        return vec![1.0; beliefs.len()];
    }
    improvements.iter().map(|&improvement| exp(sharpness * ln(improvement / greatest))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spike(low: f64, width: f64, bin: usize) -> Belief {
        let probabilities = (0..4).map(|b| if b == bin { 1.0 } else { 0.0 }).collect();
        Belief::Histogram { low, width, probabilities }
    }

    #[test]
    fn weights_are_powers_of_the_improvement() {
        // Uniform on [0, 1], [1, 2], [2, 3] with best 2: EI 1.5, 0.5, 0.
        let beliefs: Vec<Belief> = (0..3).map(|bin| spike(0.0, 1.0, bin)).collect();
        let weights = improvement_weights(&beliefs, 2.0, 2.0);
        assert!((weights[0] - 1.0).abs() < 1e-12 && (weights[1] - 1.0 / 9.0).abs() < 1e-12 && weights[2] == 0.0);
        let same = improvement_weights(&beliefs, -1.0, 2.0);
        assert_eq!(same, [1.0; 3]);
        let large: Vec<Belief> = (0..3).map(|bin| spike(7e200, 1e200, bin)).collect();
        let scaled = improvement_weights(&large, 9e200, 2.0);
        assert!(weights.iter().zip(&scaled).all(|(a, b)| (a - b).abs() < 1e-9), "{scaled:?}");
    }
}

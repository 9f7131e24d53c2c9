//! AdamW with decoupled decay, global-norm clipping, and the learning-rate schedule.

use crate::cpu::{Cpu, Gradients};
use crate::{Error, Layout, Model, Result};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// AdamW's constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamConfig {
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Added to the denominator.
    pub epsilon: f32,
    /// Decoupled weight decay, on matrices and embeddings only.
    pub weight_decay: f32,
}

impl AdamConfig {
    /// Whether an update by these constants is always finite for finite gradients.
    pub fn is_sound(&self) -> bool {
        let decays = [self.beta1, self.beta2].iter().all(|b| (0.0..1.0).contains(b));
        decays && self.epsilon > 0.0 && self.epsilon.is_finite() && self.weight_decay.is_finite()
    }
}

impl Default for AdamConfig {
    fn default() -> Self {
        AdamConfig { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weight_decay: 0.01 }
    }
}

/// AdamW's state for one model.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    pub(crate) config: AdamConfig,
    pub(crate) first: Vec<f32>,
    pub(crate) second: Vec<f32>,
    pub(crate) steps: u64,
}

impl AdamW {
    /// A fresh state.
    pub fn new(layout: &Layout, config: AdamConfig) -> AdamW {
        AdamW { config, first: vec![0.0; layout.len()], second: vec![0.0; layout.len()], steps: 0 }
    }

    /// Its constants.
    pub fn config(&self) -> AdamConfig {
        self.config
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// One update with learning rate `rate`; gradients are multiplied by `scale` first (see [`clip_scale`]).
    ///
    /// Gradients that are not finite, or another model's, are refused, and nothing is changed.
    pub fn step(&mut self, cpu: &Cpu, model: &mut Model, gradients: &Gradients, rate: f32, scale: f32) -> Result<()> {
        let (numbers, state) = (model.weights().len(), self.first.len());
        if gradients.values.len() != numbers || state != numbers {
            let got = gradients.values.len();
            let message = format!("the model has {numbers} weights, the gradients {got}, the optimiser state {state}");
            return Err(Error::Optimiser(message));
        }
        if !scale.is_finite() || !rate.is_finite() {
            let message =
                format!("learning rate {rate}, gradient scale {scale}: the loss or its gradient is not finite");
            return Err(Error::Optimiser(message));
        }
        self.steps += 1;
        let AdamConfig { beta1, beta2, epsilon, weight_decay } = self.config;
        let step = crate::cpu::AdamStep {
            rate,
            beta1,
            beta2,
            epsilon,
            keep: 1.0,
            unbias1: unbias(beta1, self.steps),
            unbias2: unbias(beta2, self.steps),
            scale,
        };
        let decaying = crate::cpu::AdamStep { keep: 1.0 - rate * weight_decay, ..step };
        crate::cpu::adam_update(cpu, model, gradients, &mut self.first, &mut self.second, step, decaying);
        Ok(())
    }
}

/// What gradients of this global norm are multiplied by so that the norm does not exceed `limit`. NaN where the norm is
/// not finite, which [`AdamW::step`] refuses.
pub fn clip_scale(norm: f64, limit: f64) -> f32 {
    match norm.is_finite() {
        true => (limit / (norm + 1e-6)).min(1.0) as f32,
        false => f32::NAN,
    }
}

/// What a moment that decays by `beta` is multiplied by after `steps` steps, because it started at zero.
pub(crate) fn unbias(beta: f32, steps: u64) -> f32 {
    (1.0 / (1.0 - power(f64::from(beta), steps))) as f32
}

/// xⁿ by squaring: plain arithmetic, so the same bits everywhere.
fn power(mut x: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            result *= x;
        }
        x *= x;
        n >>= 1;
    }
    result
}

/// cos x for 0 ≤ x ≤ π, as 1 − 2 sin²(x/2) with the sine's series: plain arithmetic likewise.
fn cosine(x: f64) -> f64 {
    let y = x / 2.0;
    let (mut term, mut sine) = (y, y);
    for k in 1..=10 {
        term *= -y * y / f64::from(2 * k * (2 * k + 1));
        sine += term;
    }
    1.0 - 2.0 * sine * sine
}

/// Linear warm-up to the peak, then a cosine down to a share of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The highest learning rate.
    pub peak: f64,
    /// Steps until the peak.
    pub warmup: u64,
    /// Steps until the floor.
    pub total: u64,
    /// The last learning rate as a share of the peak.
    pub floor: f64,
}

impl Schedule {
    /// The learning rate of step `step`, counted from 0.
    pub fn rate(&self, step: u64) -> f32 {
        if step < self.warmup {
            return (self.peak * (step + 1) as f64 / self.warmup as f64) as f32;
        }
        let span = self.total.saturating_sub(self.warmup).max(1) as f64;
        let progress = ((step - self.warmup) as f64 / span).min(1.0);
        let share = self.floor + (1.0 - self.floor) * 0.5 * (1.0 + cosine(PI * progress));
        (self.peak * share) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_warms_up_peaks_and_ends_at_its_floor() {
        let s = Schedule { peak: 1e-3, warmup: 10, total: 110, floor: 0.05 };
        assert!((s.rate(0) - 1e-4).abs() < 1e-9);
        assert!((s.rate(9) - 1e-3).abs() < 1e-9);
        assert!((s.rate(60) - 0.525e-3).abs() < 1e-8);
        assert!((s.rate(110) - 5e-5).abs() < 1e-9);
        assert_eq!(s.rate(110), s.rate(100_000));
        assert!(Schedule { warmup: 0, total: 0, ..s }.rate(0) <= 1e-3);
    }

    #[test]
    fn clipping_leaves_small_gradients_alone() {
        assert_eq!(clip_scale(0.5, 1.0), 1.0);
        assert!((clip_scale(4.0, 1.0) - 0.25).abs() < 1e-6);
        assert!(clip_scale(f64::NAN, 1.0).is_nan() && clip_scale(f64::INFINITY, 1.0).is_nan());
    }

    #[test]
    fn own_power_and_cosine_are_those_of_mathematics() {
        for n in [0, 1, 2, 7, 1000] {
            assert!((power(0.99, n) - 0.99f64.powf(n as f64)).abs() < 1e-14);
        }
        for i in 0..=100 {
            let x = PI * f64::from(i) / 100.0;
            assert!((cosine(x) - x.cos()).abs() < 1e-14, "{x}");
        }
    }
}

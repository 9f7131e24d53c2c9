//! AdamW with decoupled decay, global-norm clipping, and the learning-rate schedule.

use crate::cpu::{Cpu, Gradients};
use crate::{Layout, Model};
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

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// One update with learning rate `rate`; gradients are multiplied by `scale` first (see [`clip_scale`]).
    pub fn step(&mut self, cpu: &Cpu, model: &mut Model, gradients: &Gradients, rate: f32, scale: f32) {
        self.steps += 1;
        let AdamConfig { beta1, beta2, epsilon, weight_decay } = self.config;
        let unbias = |beta: f32| (1.0 / (1.0 - f64::from(beta).powf(self.steps as f64))) as f32;
        let step = crate::cpu::AdamStep {
            rate,
            beta1,
            beta2,
            epsilon,
            keep: 1.0,
            unbias1: unbias(beta1),
            unbias2: unbias(beta2),
            scale,
        };
        let decaying = crate::cpu::AdamStep { keep: 1.0 - rate * weight_decay, ..step };
        crate::cpu::adam_update(cpu, model, gradients, &mut self.first, &mut self.second, step, decaying);
    }
}

/// What gradients of this global norm are multiplied by so that the norm does not exceed `limit`.
pub fn clip_scale(norm: f64, limit: f64) -> f32 {
    (limit / (norm + 1e-6)).min(1.0) as f32
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
        let share = self.floor + (1.0 - self.floor) * 0.5 * (1.0 + (PI * progress).cos());
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
    }
}

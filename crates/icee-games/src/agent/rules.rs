//! Acting rules, as plain functions of the model's probabilities: which return to condition on, and which action follows.

use crate::config::{Acting, OutcomeReading};
use crate::label::ReturnBins;
use icee_base::math::{exp, ln, sample, softmax, softmax64};
use icee_worlds::StreamRng;

/// Chooses returns and actions by the rules of a config.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(super) acting: Acting,
    /// κ ln((c − c_min)/(c_max − c_min)) of every bin.
    pub(super) tilt: Vec<f64>,
}

impl Rules {
    /// The rules of a config for these bins.
    #[must_use]
    pub fn new(acting: &Acting, bins: ReturnBins) -> Rules {
        let tilt = (0..bins.count).map(|bin| acting.kappa * ln(bins.share(bin))).collect();
        Rules { acting: acting.clone(), tilt }
    }

    /// ln p(c) + κ ln u(c) for every bin, −∞ where the guard does not believe in it.
    ///
    /// The guard drops the upper tail of p(c | c̃, h) whose mass is below δ: what a softmax gives to returns that
    /// cannot be, and what the tilt would otherwise find.
    fn tilted(&self, probabilities: &[f64]) -> Vec<f64> {
        let total: f64 = probabilities.iter().sum();
        let mut tail = 0.0;
        let mut kept = probabilities.len();
        while kept > 1 && tail + probabilities[kept - 1] < self.acting.guard * total {
            tail += probabilities[kept - 1];
            kept -= 1;
        }
        let believed = probabilities.iter().zip(&self.tilt).enumerate();
        believed.map(|(bin, (&p, &tilt))| if bin < kept { ln(p) + tilt } else { f64::NEG_INFINITY }).collect()
    }

    /// P(c̃ = 1) by which an episode's c̃ is drawn, given the joint p(c̃, c | h), [2 · bins]: the joint tilt,
    /// P(c̃) ∝ Σ_c p(c̃, c | h) u(c). A c̃ in which the model believes less than the guard is not asked for.
    #[must_use]
    pub fn improvement_probability(&self, joint: &[f64]) -> f64 {
        let (no, yes) = joint.split_at(self.tilt.len());
        let mass: f64 = yes.iter().sum();
        if mass < self.acting.guard {
            return 0.0;
        }
        if 1.0 - mass < self.acting.guard {
            return 1.0;
        }
        let (no, yes) = (self.tilted(no), self.tilted(yes));
        let most = no.iter().chain(&yes).copied().fold(f64::NEG_INFINITY, f64::max);
        let sum = |logs: &[f64]| logs.iter().map(|&x| exp(x - most)).sum::<f64>();
        let (no, yes) = (sum(&no), sum(&yes));
        if no + yes > 0.0 { yes / (no + yes) } else { 1.0 }
    }

    /// Draws c̃ for an episode by the joint tilt.
    pub fn draw_episode_rtg(&self, joint: &[f64], rng: &mut StreamRng) -> u32 {
        let yes = self.improvement_probability(joint);
        sample(&[1.0 - yes, yes], rng) as u32
    }

    /// Draws the bin of c from q(c) ∝ p(c | c̃, h) u(c).
    pub fn draw_step_bin(&self, probabilities: &[f64], rng: &mut StreamRng) -> u32 {
        sample(&softmax64(&self.tilted(probabilities)), rng) as u32
    }

    /// p̂(a) by Bayes' rule from the outcome head's logits, [actions, classes], of which the classes from `slice` on
    /// are the wanted c̃.
    #[must_use]
    pub fn posterior(&self, logits: &[f32], classes: usize, slice: usize, step_bin: u32) -> Vec<f64> {
        let likelihood = |logits: &[f32]| {
            let probabilities = softmax(logits);
            let slice = &probabilities[slice..slice + self.tilt.len()];
            match self.acting.outcome {
                OutcomeReading::Exactly => slice[step_bin as usize],
                OutcomeReading::AtLeast => slice[step_bin as usize..].iter().sum(),
            }
        };
        let logs: Vec<f64> = logits.chunks_exact(classes).map(|l| ln(likelihood(l))).collect();
        self.sharpened(&logs)
    }

    /// p̂(a) from an action head's logits.
    #[must_use]
    pub fn direct(&self, logits: &[f32]) -> Vec<f64> {
        let logits: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
        self.sharpened(&logits)
    }

    fn sharpened(&self, logs: &[f64]) -> Vec<f64> {
        let logs: Vec<f64> = logs.iter().map(|&x| x / self.acting.temperature).collect();
        softmax64(&logs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn rules(kappa: f64, guard: f64) -> Rules {
        let acting = Acting { kappa, guard, temperature: 1.0, ..Config::default().acting };
        Rules::new(&acting, ReturnBins { low: 0.0, high: 1.0, count: 4 })
    }

    #[test]
    fn the_tilt_is_the_formula() {
        let p = [0.4, 0.3, 0.2, 0.1];
        let u = [0.125f64, 0.375, 0.625, 0.875];
        let q = softmax64(&rules(2.0, 0.0).tilted(&p));
        let expected: Vec<f64> = p.iter().zip(u).map(|(p, u)| p * u * u).collect();
        let sum: f64 = expected.iter().sum();
        q.iter().zip(expected).for_each(|(q, e)| assert!((q - e / sum).abs() < 1e-12));
    }

    #[test]
    fn the_guard_drops_the_tail_and_an_endless_tilt_asks_for_what_is_left_at_the_top() {
        let q = softmax64(&rules(1e6, 0.05).tilted(&[0.5, 0.4, 0.08, 0.02]));
        assert!(q[2] > 0.999 && q[3] == 0.0, "{q:?}");
        // Never everything.
        let q = softmax64(&rules(1.0, 0.9).tilted(&[0.25; 4]));
        assert_eq!(q[0], 1.0);
    }

    #[test]
    fn the_joint_tilt_stops_asking_for_what_cannot_happen() {
        // Improvement possible and better: asked for. Impossible but for a leak: not, however strong the tilt.
        let possible = [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5];
        assert!(rules(20.0, 0.0).improvement_probability(&possible) > 0.999);
        let leak = [0.1, 0.1, 0.1, 0.7, 0.0, 0.0, 0.0, 1e-4];
        assert!(rules(20.0, 0.0).improvement_probability(&leak) < 1e-3);
        let higher_leak = [0.1, 0.1, 0.8, 0.0, 0.0, 0.0, 0.0, 1e-4];
        assert!(rules(80.0, 0.0).improvement_probability(&higher_leak) > 0.5);
        assert_eq!(rules(80.0, 0.02).improvement_probability(&higher_leak), 0.0);
    }

    #[test]
    fn bayes_by_hand() {
        let logits: Vec<f32> = [0.1f32, 0.2, 0.3, 0.4, 0.4, 0.3, 0.2, 0.1].iter().map(|p| p.ln()).collect();
        let at_least = rules(0.0, 0.0);
        let p = at_least.posterior(&logits, 4, 0, 2);
        assert!((p[0] - 0.7).abs() < 1e-6, "{p:?}");
        let exactly = Rules { acting: Acting { outcome: OutcomeReading::Exactly, ..at_least.acting }, ..at_least };
        let p = exactly.posterior(&logits, 4, 0, 2);
        assert!((p[0] - 0.6).abs() < 1e-6, "{p:?}");
    }
}

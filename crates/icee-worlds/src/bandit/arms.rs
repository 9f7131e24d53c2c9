//! The payments of arms, and their posterior after some pulls.

use crate::StreamRng;
use icee_base::distributions::{beta, bounded_normal, truncated_normal};
use rand::RngExt;

/// The standard deviation of a Gaussian arm's payments, as in DPT (Decision-Pretrained Transformer).
pub(super) const NOISE: f64 = 0.3;
/// Noise is cut at so many deviations, so that returns have a range. One payment in 16,000 would lie beyond.
pub(super) const NOISE_CUT: f64 = 4.0;

/// What arms pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arms {
    /// 1 with a probability of their own, else 0.
    Bernoulli,
    /// A mean of their own and normal noise of standard deviation 0.3.
    ///
    /// Means are uniform in [0, 1] as in DPT, and not normal: the best arm is then about as good as a Bernoulli arm, results can
    /// be compared, and returns are bounded.
    Gaussian,
}

/// What was seen of one arm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub pulls: f64,
    pub earned: f64,
}

impl Arms {
    /// Draws the mean of an arm.
    pub(super) fn draw_mean(self, rng: &mut StreamRng) -> f64 {
        rng.random()
    }

    /// Pulls an arm.
    pub(super) fn pay(self, mean: f64, rng: &mut StreamRng) -> f32 {
        match self {
            Self::Bernoulli => f32::from(u8::from(rng.random::<f64>() < mean)),
            Self::Gaussian => (mean + NOISE * bounded_normal(rng, NOISE_CUT)) as f32,
        }
    }

    /// Draws the mean of an arm from its posterior: means are uniform in [0, 1] before the first pull.
    pub(super) fn believed_mean(self, tally: Tally, rng: &mut StreamRng) -> f64 {
        let Tally { pulls, earned } = tally;
        match self {
            Self::Bernoulli => beta(rng, 1.0 + earned, 1.0 + pulls - earned),
            Self::Gaussian if pulls == 0.0 => rng.random(),
            Self::Gaussian => truncated_normal(rng, earned / pulls, NOISE / pulls.sqrt(), 0.0, 1.0),
        }
    }

    /// The greatest standard deviation of a payment: that of a fair coin, or of the noise.
    pub(super) fn deviation(self) -> f64 {
        match self {
            Self::Bernoulli => 0.5,
            Self::Gaussian => NOISE,
        }
    }

    pub(super) fn reward_range(self) -> (f32, f32) {
        match self {
            Self::Bernoulli => (0.0, 1.0),
            Self::Gaussian => {
                let most = (NOISE * NOISE_CUT) as f32;
                (-most, 1.0 + most)
            }
        }
    }

    pub(super) fn reward_levels(self) -> Option<usize> {
        match self {
            Self::Bernoulli => Some(2),
            Self::Gaussian => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::{random, stats::Estimate};

    /// Predictions are calibrated: if means are drawn from the prior and payments from the means, then means drawn from the
    /// posterior are below the true ones half of the time.
    #[test]
    fn beliefs_are_calibrated() {
        for arms in [Arms::Bernoulli, Arms::Gaussian] {
            let mut rng = random::path(5, &[]);
            for pulls in [0, 1, 7, 60] {
                let below = std::iter::repeat_with(|| {
                    let mean = arms.draw_mean(&mut rng);
                    let earned = (0..pulls).map(|_| f64::from(arms.pay(mean, &mut rng))).sum();
                    let believed = arms.believed_mean(Tally { pulls: f64::from(pulls), earned }, &mut rng);
                    assert!((0.0..=1.0).contains(&believed));
                    f64::from(u8::from(believed < mean))
                });
                let Estimate { mean, half_width } = Estimate::of(&below.take(20_000).collect::<Vec<f64>>());
                assert!((mean - 0.5).abs() < 2.0 * half_width, "{arms:?} after {pulls}: {mean} ± {half_width}");
            }
        }
    }
}

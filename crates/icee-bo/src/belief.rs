//! A predictive distribution of one value, in the units of the results.

use crate::normal::{self, Prediction, log_improvement, open_unit};
use icee_base::math::{exp, ln};
use rand::Rng;

/// A distribution of one value.
#[derive(Debug, Clone, PartialEq)]
pub enum Belief {
    /// Gaussian.
    Normal(Prediction),
    /// A density constant within bins of equal width. The first and the last also stand for all that lies beyond them.
    Histogram {
        /// The lower end of the first bin.
        low: f64,
        /// The width of a bin, above 0.
        width: f64,
        /// The bins' probabilities, summing to one.
        probabilities: Vec<f32>,
    },
}

/// The values between two ends; the lower one may be minus infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Range {
    /// All values below a bound.
    pub fn below(high: f64) -> Self {
        Self { low: f64::NEG_INFINITY, high }
    }
}

impl Belief {
    /// The expected value.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Normal(prediction) => prediction.mean,
            Self::Histogram { low, width, probabilities } => {
                let centres = probabilities.iter().enumerate();
                centres.map(|(bin, &p)| f64::from(p) * (low + width * (bin as f64 + 0.5))).sum()
            }
        }
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        match self {
            Self::Normal(prediction) => prediction.variance.sqrt(),
            Self::Histogram { width, probabilities, .. } => {
                let places = || probabilities.iter().enumerate().map(|(bin, &p)| (bin as f64, f64::from(p)));
                let mean: f64 = places().map(|(bin, p)| p * bin).sum();
                let square: f64 = places().map(|(bin, p)| p * (bin - mean) * (bin - mean)).sum();
                // A twelfth: within a bin all values are as likely.
                width * (square + 1.0 / 12.0).sqrt()
            }
        }
    }

    /// P(value < `bound`).
    pub fn below(&self, bound: f64) -> f64 {
        match self {
            Self::Normal(Prediction { mean, variance }) => normal::below((bound - mean) / variance.sqrt()),
            Self::Histogram { low, width, probabilities } => {
                let mut sum = 0.0;
                for (bin, &p) in probabilities.iter().enumerate() {
                    let share = ((bound - low) / width - bin as f64).clamp(0.0, 1.0);
                    if share == 0.0 {
                        break;
                    }
                    sum += f64::from(p) * share;
                }
                sum.min(1.0)
            }
        }
    }

    /// P(value within `range`).
    pub fn within(&self, range: Range) -> f64 {
        // Nothing lies below minus infinity.
        let under = if range.low == f64::NEG_INFINITY { 0.0 } else { self.below(range.low) };
        (self.below(range.high) - under).max(0.0)
    }

    /// E[(`best` − value)⁺], the expected improvement; exact in both forms.
    pub fn improvement(&self, best: f64) -> f64 {
        match self {
            Self::Normal(_) => exp(self.log_improvement(best)),
            Self::Histogram { low, width, probabilities } => {
                let gain = |(bin, &p): (usize, &f32)| {
                    let left = low + width * bin as f64;
                    // The part of the bin below `best`, as a share, and the mean gain within that part.
                    let share = ((best - left) / width).clamp(0.0, 1.0);
                    f64::from(p) * share * (best - left - 0.5 * width * share)
                };
                probabilities.iter().enumerate().map(gain).sum()
            }
        }
    }

    /// ln E[(`best` − value)⁺]; −∞ where nothing can be gained.
    pub fn log_improvement(&self, best: f64) -> f64 {
        match self {
            // The improvement itself would round to zero far from the best.
            Self::Normal(Prediction { mean, variance }) => {
                let deviation = variance.sqrt();
                ln(deviation) + log_improvement((best - mean) / deviation)
            }
            Self::Histogram { .. } => ln(self.improvement(best)),
        }
    }

    /// The value below which lies probability `level`, 0 < `level` < 1.
    pub fn quantile(&self, level: f64) -> f64 {
        match self {
            Self::Normal(Prediction { mean, variance }) => mean + variance.sqrt() * normal::quantile(level),
            Self::Histogram { low, width, probabilities } => {
                let mut before = 0.0;
                for (bin, &p) in probabilities.iter().enumerate() {
                    let p = f64::from(p);
                    if before + p >= level {
                        return low + width * (bin as f64 + (level - before) / p);
                    }
                    before += p;
                }
                low + width * probabilities.len() as f64
            }
        }
    }

    /// The central interval that holds probability `level`, 0 < `level` < 1. An end that falls into the first or the last
    /// bin is infinite, since that bin stands for all that lies beyond.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let tail = 0.5 * (1.0 - level);
        let (lower, upper) = (self.quantile(tail), self.quantile(1.0 - tail));
        let Self::Histogram { low, width, probabilities } = self else { return (lower, upper) };
        let last_bin = low + width * (probabilities.len() - 1) as f64;
        let lower = if lower <= low + width { f64::NEG_INFINITY } else { lower };
        (lower, if upper >= last_bin { f64::INFINITY } else { upper })
    }

    /// A value drawn from it.
    pub fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.quantile(open_unit(rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_base::random;

    /// A histogram of a Gaussian, fine enough to agree with it.
    fn pair() -> (Belief, Belief) {
        let (mean, deviation) = (0.4, 0.7);
        let normal = Belief::Normal(Prediction { mean, variance: deviation * deviation });
        let (low, width) = (mean - 6.0, 0.002);
        let edges = (0..6000).map(|bin| low + width * f64::from(bin));
        let probabilities = edges.map(|x| (normal.below(x + width) - normal.below(x)) as f32).collect();
        (normal, Belief::Histogram { low, width, probabilities })
    }

    #[test]
    fn both_forms_agree() {
        let (normal, histogram) = pair();
        assert!((normal.mean() - histogram.mean()).abs() < 1e-5);
        assert!((normal.deviation() - histogram.deviation()).abs() < 1e-5);
        for at in [-1.5, -0.2, 0.4, 1.1] {
            assert!((normal.below(at) - histogram.below(at)).abs() < 1e-5, "{at}");
            assert!((normal.improvement(at) - histogram.improvement(at)).abs() < 1e-5, "{at}");
            let near = Range { low: at - 0.1, high: at + 0.1 };
            assert!((normal.within(near) - histogram.within(near)).abs() < 1e-5, "{at}");
            assert_eq!(normal.within(Range::below(at)), normal.below(at));
        }
        for level in [0.025, 0.3, 0.5, 0.975] {
            assert!((normal.quantile(level) - histogram.quantile(level)).abs() < 3e-3, "{level}");
            assert!((normal.below(normal.quantile(level)) - level).abs() < 1e-9);
        }
    }

    #[test]
    fn intervals_that_reach_the_last_bin_have_no_end() {
        let (normal, histogram) = pair();
        for belief in [normal, histogram] {
            let (low, high) = belief.interval(0.95);
            assert!((low + 0.972).abs() < 1e-2 && (high - 1.772).abs() < 1e-2, "{low} {high}");
        }
        let few = Belief::Histogram { low: 0.0, width: 1.0, probabilities: vec![0.0, 0.5, 0.4, 0.1] };
        assert_eq!(few.interval(0.95), (1.05, f64::INFINITY));
        assert!((few.interval(0.5).1 - 2.625).abs() < 1e-6);
    }

    #[test]
    fn samples_have_the_beliefs_mean() {
        let (normal, histogram) = pair();
        for belief in [normal, histogram] {
            let mut rng = random::path(1, &[]);
            let mean = (0..4000).map(|_| belief.sample(&mut rng)).sum::<f64>() / 4000.0;
            assert!((mean - 0.4).abs() < 4.0 * 0.7 / 4000f64.sqrt());
        }
    }
}

//! What a model believes about candidates: the interface between whatever predicts values and whatever decides on them.
//!
//! A [`Surrogate`] gives every candidate a [`Belief`], a distribution of its value in the units in which values were
//! told. Expected improvement, intervals, the probability of beating the best and sampled outcomes follow from it, the
//! same for a Gaussian process and for a learned model.

use crate::error::BoResult;
use crate::gp::Prediction;
use crate::gp::acquisition::log_expected_improvement;
use crate::sampler::{Pool, Told};
use rand::{Rng, RngExt};
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Predicts values of candidates from values of others.
pub trait Surrogate: Send {
    /// A short name for tables.
    fn name(&self) -> &'static str;

    /// The fewest told values from which it can predict.
    fn least_history(&self) -> usize;

    /// One belief a candidate, in their order. Depends on nothing but the arguments.
    fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>>;

    /// One belief a history, all about the same candidate: what [`Surrogate::predict`] says after each of them. Models
    /// that are faster with several at once do them together.
    fn predict_after(&mut self, pool: &Pool, histories: &[&[Told]], candidate: usize) -> BoResult<Vec<Belief>> {
        histories.iter().map(|told| Ok(self.predict(pool, told, &[candidate])?.remove(0))).collect()
    }

    /// P(at least one of the candidates has a value below `bound`), for candidates in the order of their promise.
    ///
    /// Single probabilities cannot say it, because neighbours stand and fall together. So the first few candidates are
    /// taken one after another, each given a sampled outcome that is *not* below the bound for those before it:
    /// P(none) is the product of what is left at every step (Geweke, Hajivassiliou, Keane), averaged over paths. The
    /// paths go side by side, so that a model can predict for all of them at once.
    fn any_below(
        &mut self,
        pool: &Pool,
        told: &[Told],
        candidates: &[usize],
        bound: f64,
        rng: &mut dyn Rng,
    ) -> BoResult<f64> {
        let candidates = &candidates[..candidates.len().min(STEPWISE_CANDIDATES)];
        // Drawn path by path and beforehand, so that none depends on where another path ends.
        let mut paths: Vec<Path> = (0..STEPWISE_PATHS).map(|_| Path::new(told, candidates.len(), rng)).collect();
        for (step, &candidate) in candidates.iter().enumerate() {
            let beliefs = if step == 0 {
                // Nothing tells the paths apart yet.
                vec![self.predict(pool, told, &[candidate])?.remove(0); paths.len()]
            } else {
                let histories: Vec<&[Told]> = paths.iter().map(|path| path.known.as_slice()).collect();
                self.predict_after(pool, &histories, candidate)?
            };
            for (path, belief) in paths.iter_mut().zip(&beliefs) {
                let below = belief.below(bound);
                path.none *= 1.0 - below;
                let value = belief.quantile(below + (1.0 - below) * path.draws[step]);
                path.known.push(Told { candidate, value });
            }
            paths.retain(|path| path.none >= NEGLIGIBLE);
        }
        let none: f64 = paths.iter().map(|path| path.none).sum();
        Ok((1.0 - none / STEPWISE_PATHS as f64).clamp(0.0, 1.0))
    }
}

/// A way in which things may turn out, none of them below a bound.
struct Path {
    known: Vec<Told>,
    none: f64,
    draws: Vec<f64>,
}

impl Path {
    fn new(told: &[Told], steps: usize, rng: &mut dyn Rng) -> Path {
        Path { known: told.to_vec(), none: 1.0, draws: (0..steps).map(|_| open_unit(rng)).collect() }
    }
}

/// Candidates and paths of [`Surrogate::any_below`]: a prediction each, hence few.
const STEPWISE_CANDIDATES: usize = 16;
const STEPWISE_PATHS: usize = 8;
/// A path that is less likely than this is not followed.
const NEGLIGIBLE: f64 = 1e-6;

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

    /// P(value < `bound`).
    pub fn below(&self, bound: f64) -> f64 {
        match self {
            Self::Normal(Prediction { mean, variance }) => normal_below((bound - mean) / variance.sqrt()),
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

    /// E[(`best` − value)⁺], the expected improvement; exact in both forms.
    pub fn improvement(&self, best: f64) -> f64 {
        match self {
            Self::Normal(prediction) => log_expected_improvement(*prediction, best).exp(),
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

    /// The value below which lies probability `level`, 0 < `level` < 1.
    pub fn quantile(&self, level: f64) -> f64 {
        match self {
            Self::Normal(Prediction { mean, variance }) => {
                let (mut left, mut right) = (-40.0, 40.0);
                while right - left > 1e-12 {
                    let middle = 0.5 * (left + right);
                    if normal_below(middle) < level { left = middle } else { right = middle }
                }
                mean + variance.sqrt() * 0.5 * (left + right)
            }
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

/// Uniform between 0 and 1, open at both ends.
pub(crate) fn open_unit(rng: &mut dyn Rng) -> f64 {
    (rng.random_range(0..1u64 << 52) as f64 + 0.5) / (1u64 << 52) as f64
}

/// Φ(z), accurate in the lower tail.
fn normal_below(z: f64) -> f64 {
    if z > 0.0 {
        return 1.0 - normal_below(-z);
    }
    0.5 * complementary_error(-z * FRAC_1_SQRT_2)
}

/// erfc(x) for x ≥ 0: a series near zero, a continued fraction (Lentz) beyond.
fn complementary_error(x: f64) -> f64 {
    let gauss = (-x * x).exp();
    if x < 2.0 {
        let (mut term, mut sum, mut odd) = (x, x, 1.0);
        while term > f64::EPSILON * 0.1 * sum {
            odd += 2.0;
            term *= 2.0 * x * x / odd;
            sum += term;
        }
        return 1.0 - 4.0 / (2.0 * TAU).sqrt() * gauss * sum;
    }
    let fraction = (1..=120).rev().fold(0.0, |below, n| 0.5 * f64::from(n) / (x + below));
    gauss * 2.0 / (2.0 * TAU).sqrt() / (x + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

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
    fn the_normal_distribution_is_tabulated_right() {
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_543),
            (-3.0, 1.349_898_031_630_094_6e-3),
            (-8.0, 6.220_960_574_271_785e-16),
        ] {
            assert!((normal_below(z) / p - 1.0).abs() < 1e-12, "{z}: {}", normal_below(z));
        }
    }

    #[test]
    fn both_forms_agree() {
        let (normal, histogram) = pair();
        assert!((normal.mean() - histogram.mean()).abs() < 1e-5);
        for at in [-1.5, -0.2, 0.4, 1.1] {
            assert!((normal.below(at) - histogram.below(at)).abs() < 1e-5, "{at}");
            assert!((normal.improvement(at) - histogram.improvement(at)).abs() < 1e-5, "{at}");
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
            let mut rng = stream(1, &[]);
            let mean = (0..4000).map(|_| belief.sample(&mut rng)).sum::<f64>() / 4000.0;
            assert!((mean - 0.4).abs() < 4.0 * 0.7 / 4000f64.sqrt());
        }
    }
}

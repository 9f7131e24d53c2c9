//! Acquisition: chooses a candidate from predictions by expected improvement, for evaluation, tuning and studies alike.

use crate::belief::Belief;
use icee_base::math::{exp_in_place, sample};
use rand::Rng;

/// How a candidate is picked by its prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The greatest expected improvement; the first of several.
    Greatest,
    /// Drawn with p ∝ EI^β. Drawn, not the greatest: no prior holds for every function, and a rule that always takes
    /// the maximum never finds out.
    Sampled(f64),
    /// At random.
    Random,
}

/// ln EI of each prediction over the best value so far, the lowest.
#[must_use]
pub fn log_improvements(beliefs: &[Belief], best: f64) -> Vec<f64> {
    beliefs.iter().map(|belief| belief.log_improvement(best)).collect()
}

/// The place of the candidate to take, of at least one; `gains` are their [`log_improvements`], and `losses` says what is
/// expected of each, for the case that nothing can be gained.
pub fn pick(rule: Rule, gains: &[f64], losses: impl Fn(usize) -> f64, rng: &mut dyn Rng) -> usize {
    // The first of the greatest; what is not a number never wins.
    let first_of = |score: &dyn Fn(usize) -> f64| {
        let start = (f64::NEG_INFINITY, 0);
        let later = |best: (f64, usize), place: usize| if score(place) > best.0 { (score(place), place) } else { best };
        (0..gains.len()).fold(start, later).1
    };
    if rule == Rule::Random {
        return sample(&vec![1.0; gains.len()], rng);
    }
    let greatest = first_of(&|place| gains[place]);
    if gains[greatest] == f64::INFINITY {
        return greatest;
    }
    if !gains[greatest].is_finite() {
        // Nothing can improve on the best: the lowest expected loss then.
        return first_of(&|place| -losses(place));
    }
    let Rule::Sampled(sharpness) = rule else { return greatest };
    let mut weights: Vec<f64> = gains.iter().map(|gain| sharpness * (gain - gains[greatest])).collect();
    exp_in_place(&mut weights);
    sample(&weights, rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::Prediction;
    use icee_base::random;

    #[test]
    fn improvement_scales_with_the_deviation() {
        let at = |scale: f64| {
            let belief = Belief::Normal(Prediction { mean: 2.0 * scale, variance: 0.09 * scale * scale });
            belief.log_improvement(1.5 * scale)
        };
        assert!((at(1000.0) - at(1.0) - 1000f64.ln()).abs() < 1e-12);
    }

    fn mean(beliefs: &[Belief]) -> impl Fn(usize) -> f64 {
        |place| beliefs[place].mean()
    }

    /// Uniform on one of the bins of width one from `low` on.
    fn spike(low: f64, width: f64, bin: usize) -> Belief {
        let probabilities = (0..4).map(|b| if b == bin { 1.0 } else { 0.0 }).collect();
        Belief::Histogram { low, width, probabilities }
    }

    #[test]
    fn candidates_are_drawn_by_powers_of_their_improvement() {
        // Uniform on [0, 1], [1, 2], [2, 3] with best 2: EI 1.5, 0.5, 0; with β = 2 the first is nine times as likely.
        let beliefs: Vec<Belief> = (0..3).map(|bin| spike(0.0, 1.0, bin)).collect();
        let large: Vec<Belief> = (0..3).map(|bin| spike(7e200, 1e200, bin)).collect();
        for (beliefs, best) in [(beliefs, 2.0), (large, 9e200)] {
            let gains = log_improvements(&beliefs, best);
            let mut rng = random::path(1, &[]);
            let mut counts = [0u32; 3];
            for _ in 0..10_000 {
                counts[pick(Rule::Sampled(2.0), &gains, mean(&beliefs), &mut rng)] += 1;
            }
            // Binomial: standard deviation √(10,000 · 0.9 · 0.1) = 30.
            assert!(counts[0].abs_diff(9000) < 120 && counts[2] == 0, "{counts:?}");
            assert_eq!(pick(Rule::Greatest, &gains, mean(&beliefs), &mut rng), 0);
        }
    }

    #[test]
    fn chance_is_even_and_odd_gains_are_survived() {
        let beliefs: Vec<Belief> = (0..3).map(|bin| spike(0.0, 1.0, bin)).collect();
        let mut rng = random::path(2, &[]);
        let mut counts = [0u32; 3];
        (0..9000).for_each(|_| counts[pick(Rule::Random, &[0.0; 3], mean(&beliefs), &mut rng)] += 1);
        assert!(counts.iter().all(|count| count.abs_diff(3000) < 180), "{counts:?}");
        for rule in [Rule::Greatest, Rule::Sampled(2.0)] {
            assert_eq!(pick(rule, &[f64::NAN, 0.0, f64::NEG_INFINITY], mean(&beliefs), &mut rng), 1);
            assert_eq!(pick(rule, &[0.0, f64::INFINITY, 1.0], mean(&beliefs), &mut rng), 1);
            assert_eq!(pick(rule, &[f64::NAN; 3], mean(&beliefs), &mut rng), 0, "the lowest mean");
        }
    }

    #[test]
    fn where_nothing_improves_the_lowest_mean_is_taken() {
        let beliefs: Vec<Belief> = [2, 0, 1].map(|bin| spike(0.0, 1.0, bin)).to_vec();
        let gains = log_improvements(&beliefs, -1.0);
        for rule in [Rule::Greatest, Rule::Sampled(4.0)] {
            assert_eq!(pick(rule, &gains, mean(&beliefs), &mut random::path(0, &[])), 1);
        }
    }
}

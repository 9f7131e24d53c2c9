//! The GP-EI baseline: fit a Gaussian process to what is known, suggest the candidate with the greatest expected
//! improvement.
//!
//! Values are standardised by the mean and standard deviation of the history, so that any scale and offset of the values
//! gives the same suggestions. Candidates of equal log-EI are taken in the pool's order.

use crate::error::BoResult;
use crate::gp::acquisition::log_expected_improvement;
use crate::gp::fit::fit;
use crate::sampler::{Context, RandomSampler, Sampler, Told};
use rand::Rng;

/// Fewer values than this say nothing about a scale: the pick is random.
const LEAST_HISTORY: usize = 2;

/// Gaussian process with expected improvement.
#[derive(Debug, Clone, Copy, Default)]
pub struct GpEiSampler;

impl Sampler for GpEiSampler {
    fn name(&self) -> &'static str {
        "gp-ei"
    }

    fn ask(&mut self, context: Context<'_>, rng: &mut dyn Rng) -> BoResult<usize> {
        let Context { pool, told, available } = context;
        if told.len() < LEAST_HISTORY {
            return RandomSampler.ask(context, rng);
        }
        let inputs = pool.gather(told.iter().map(|told| told.candidate));
        let values = standardised(told);
        let best = values.iter().copied().fold(f64::INFINITY, f64::min);
        let process = fit(&inputs, &values, pool.dimension())?;
        let predictions = process.predict(&pool.gather(available.iter().copied()))?;
        let mut greatest = (f64::NEG_INFINITY, available[0]);
        for (prediction, &candidate) in predictions.into_iter().zip(available) {
            let improvement = log_expected_improvement(prediction, best);
            if improvement > greatest.0 {
                greatest = (improvement, candidate);
            }
        }
        Ok(greatest.1)
    }
}

/// The told values with mean 0 and (unbiased) variance 1; all zero where they do not differ.
fn standardised(told: &[Told]) -> Vec<f64> {
    // Dividing by the greatest magnitude first keeps squares from overflowing.
    let magnitude = told.iter().fold(0.0, |largest, told| told.value.abs().max(largest));
    if magnitude == 0.0 {
        return vec![0.0; told.len()];
    }
    let mut values: Vec<f64> = told.iter().map(|told| told.value / magnitude).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let deviation = variance.sqrt();
    // Values that differ by rounding only do not differ.
    let scale = if deviation > 1e-12 { deviation.recip() } else { 0.0 };
    values.iter_mut().for_each(|value| *value = (*value - mean) * scale);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use crate::sampler::{Pool, Search};
    use rand::RngExt;

    #[test]
    fn a_smooth_bowl_is_solved_quickly() {
        let mut rng = stream(11, &[]);
        let pool = Pool::new((0..600).map(|_| rng.random()).collect(), 2).unwrap();
        let value = |c: usize| (pool.point(c)[0] - 0.3).powi(2) + 2.0 * (pool.point(c)[1] - 0.6).powi(2);
        let lowest = (0..pool.size()).map(value).fold(f64::INFINITY, f64::min);
        let mut search = Search::new(&pool, Box::new(GpEiSampler), 2);
        for _ in 0..20 {
            let candidate = search.ask().unwrap();
            search.tell(candidate, value(candidate)).unwrap();
        }
        assert_eq!(search.best().unwrap().value, lowest);
    }

    #[test]
    fn scale_and_offset_of_the_values_do_not_matter() {
        let mut rng = stream(12, &[]);
        let pool = Pool::new((0..120).map(|_| rng.random()).collect(), 2).unwrap();
        let path = |scale: f64, offset: f64| {
            let mut search = Search::new(&pool, Box::new(GpEiSampler), 2);
            for _ in 0..12 {
                let candidate = search.ask().unwrap();
                search.tell(candidate, offset + scale * (9.0 * pool.point(candidate)[0]).sin()).unwrap();
            }
            search.told().iter().map(|told| told.candidate).collect::<Vec<_>>()
        };
        assert_eq!(path(1.0, 0.0), path(4096.0, 0.0));
        assert_eq!(path(1.0, 0.0), path(0.5, 8.0));
    }

    #[test]
    fn standardised_values_are_botorchs() {
        let told: Vec<Told> = [1.0, 2.0, 4.0].into_iter().map(|value| Told { candidate: 0, value }).collect();
        let expected = [-0.872_871_560_943_969_6, -0.218_217_890_235_992_4, 1.091_089_451_179_962];
        for (found, expected) in standardised(&told).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12);
        }
    }
}

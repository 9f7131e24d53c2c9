//! The GP-EI baseline: fit a Gaussian process to what is known, suggest the candidate with the greatest expected
//! improvement.
//!
//! Values are standardised by the mean and standard deviation of the history, so that any scale and offset of the values
//! gives the same suggestions. Candidates of equal log-EI are taken in the pool's order.

use crate::error::BoResult;
use crate::gp::acquisition::log_expected_improvement;
use crate::gp::fit::fit;
use crate::history::Standard;
use crate::sampler::{Context, RandomSampler, Sampler};
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
        let scale = Standard::of(told.iter().map(|told| told.value));
        let values: Vec<f64> = told.iter().map(|told| scale.apply(told.value)).collect();
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
}

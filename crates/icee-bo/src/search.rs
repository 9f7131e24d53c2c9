//! Searching a pool of candidates, by asking and telling: the interface behind which random search, Gaussian processes and
//! learned models stand, and the one loop in which they are evaluated, tuned and watched during training.
//!
//! A [`Search`] keeps the results and the candidates that are left; a [`Sampler`] sees both and picks. The random
//! numbers for an answer depend only on the seed and the number of results, so a search that is stopped and given the
//! same results goes on exactly as if it had never stopped.

use crate::error::{BoError, BoResult};
use crate::pool::{Pool, Told};
use icee_base::random;
use rand::{Rng, RngExt};
use std::time::Instant;

/// What a sampler may look at.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// All candidates.
    pub pool: &'a Pool,
    /// What has been evaluated, in order.
    pub told: &'a [Told],
    /// The candidates that may be suggested, ascending; never empty.
    pub available: &'a [usize],
}

/// Picks the next candidate to evaluate.
///
/// The answer is one of `context.available` and depends on nothing but the context and the random numbers: a sampler
/// may keep what speeds it up, but nothing that changes its answers.
pub trait Sampler: Send {
    /// A short name for tables.
    fn name(&self) -> &'static str;

    /// The candidate to evaluate next.
    fn ask(&mut self, context: Context<'_>, rng: &mut dyn Rng) -> BoResult<usize>;
}

/// Picks uniformly at random.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomSampler;

impl Sampler for RandomSampler {
    fn name(&self) -> &'static str {
        "random"
    }

    fn ask(&mut self, context: Context<'_>, rng: &mut dyn Rng) -> BoResult<usize> {
        Ok(context.available[rng.random_range(0..context.available.len())])
    }
}

/// One search for the lowest value in a pool.
pub struct Search<'a> {
    pool: &'a Pool,
    sampler: &'a mut dyn Sampler,
    seed: u64,
    told: Vec<Told>,
    available: Vec<usize>,
}

impl<'a> Search<'a> {
    /// A search of `pool` without results.
    pub fn new(pool: &'a Pool, sampler: &'a mut dyn Sampler, seed: u64) -> Self {
        Self { pool, sampler, seed, told: Vec::new(), available: (0..pool.size()).collect() }
    }

    /// What has been evaluated, in order.
    pub fn told(&self) -> &[Told] {
        &self.told
    }

    /// The lowest value so far; the earliest of several.
    pub fn best(&self) -> Option<Told> {
        self.told.iter().copied().reduce(|best, told| if told.value < best.value { told } else { best })
    }

    /// The candidate to evaluate next; asking twice gives the same answer.
    pub fn ask(&mut self) -> BoResult<usize> {
        if self.available.is_empty() {
            return Err(BoError::Exhausted { pool: self.pool.size() });
        }
        let context = Context { pool: self.pool, told: &self.told, available: &self.available };
        self.sampler.ask(context, &mut random::path(self.seed, &[self.told.len() as u64]))
    }

    /// Records the value of a candidate, whether it was asked for or not.
    pub fn tell(&mut self, candidate: usize, value: f64) -> BoResult<()> {
        if !value.is_finite() {
            return Err(BoError::NotFinite { what: "the results", index: self.told.len(), value });
        }
        let Ok(place) = self.available.binary_search(&candidate) else {
            let known = candidate < self.pool.size();
            let reason = if known { "its value is known already" } else { "the pool has no such candidate" };
            return Err(BoError::Candidate { index: candidate, reason });
        };
        self.available.remove(place);
        self.told.push(Told { candidate, value });
        Ok(())
    }
}

/// A pool whose values are all known, to be searched as if they were not.
#[derive(Debug, Clone)]
pub struct SearchTask {
    /// The candidates.
    pub pool: Pool,
    /// Their values; the lowest is to be found.
    pub values: Vec<f64>,
    /// The candidates that are evaluated first.
    pub initial: Vec<usize>,
    /// Evaluations in all, the initial ones included.
    pub evaluations: usize,
    /// Fixes the sampler's random numbers.
    pub seed: u64,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchTrace {
    /// What was evaluated, in order, the initial candidates first.
    pub told: Vec<Told>,
    /// Best value so far minus the pool's lowest, after each evaluation.
    pub regret: Vec<f64>,
    /// Seconds spent on suggestions up to each evaluation; none for the initial candidates.
    pub seconds: Vec<f64>,
}

impl SearchTask {
    /// Lets a sampler search the pool.
    ///
    /// # Errors
    /// The sampler's, and where there are fewer candidates than evaluations.
    pub fn run(&self, sampler: &mut dyn Sampler) -> BoResult<SearchTrace> {
        let lowest = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut search = Search::new(&self.pool, sampler, self.seed);
        let (mut best, mut elapsed) = (f64::INFINITY, 0.0);
        let (mut regret, mut seconds) = (Vec::new(), Vec::new());
        for step in 0..self.evaluations {
            let candidate = match self.initial.get(step) {
                Some(&candidate) => candidate,
                None => {
                    let start = Instant::now();
                    let candidate = search.ask()?;
                    elapsed += start.elapsed().as_secs_f64();
                    candidate
                }
            };
            search.tell(candidate, self.values[candidate])?;
            best = self.values[candidate].min(best);
            regret.push(best - lowest);
            seconds.push(elapsed);
        }
        Ok(SearchTrace { told: search.told, regret, seconds })
    }

    /// Random numbers for questions about a search after so many evaluations, apart from those of the search itself.
    #[must_use]
    pub fn questions(&self, evaluations: usize) -> random::StreamRng {
        random::path(self.seed, &[evaluations as u64, 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp_surrogate::gp_ei;

    fn pool(size: usize) -> Pool {
        let mut rng = random::path(3, &[]);
        Pool::new((0..2 * size).map(|_| rng.random()).collect(), 2).unwrap()
    }

    fn samplers() -> [fn() -> Box<dyn Sampler>; 2] {
        [|| Box::new(RandomSampler), || Box::new(gp_ei())]
    }

    /// What every sampler must do: find everything exactly once, and answer the same after a restart.
    #[test]
    fn every_sampler_exhausts_the_pool_and_survives_a_restart() {
        let pool = pool(14);
        let value = |candidate: usize| pool.point(candidate).iter().sum::<f64>().sin();
        for make in samplers() {
            let (mut sampler, mut other) = (make(), make());
            let mut search = Search::new(&pool, &mut *sampler, 5);
            for _ in 0..pool.size() {
                let asked = search.ask().unwrap();
                assert_eq!(asked, search.ask().unwrap());
                let mut restarted = Search::new(&pool, &mut *other, 5);
                for told in search.told() {
                    restarted.tell(told.candidate, told.value).unwrap();
                }
                assert_eq!(asked, restarted.ask().unwrap());
                search.tell(asked, value(asked)).unwrap();
            }
            assert!(matches!(search.ask(), Err(BoError::Exhausted { pool: 14 })));
            let lowest = (0..14).map(value).fold(f64::INFINITY, f64::min);
            assert_eq!(search.best().unwrap().value, lowest);
        }
    }

    #[test]
    fn odd_values_are_survived() {
        let pool = pool(20);
        for make in samplers() {
            for values in [[0.0; 4], [1e300, -1e300, 0.0, 1.0], [1e-300, 2e-300, 0.0, 0.0], [7.0, 7.0, 7.0, 8.0]] {
                let mut sampler = make();
                let mut search = Search::new(&pool, &mut *sampler, 1);
                for (candidate, value) in values.into_iter().enumerate() {
                    search.tell(candidate, value).unwrap();
                    assert!(search.ask().unwrap() > candidate);
                }
            }
        }
    }

    #[test]
    fn candidates_that_cannot_be_told_are_named() {
        let pool = pool(3);
        let mut sampler = RandomSampler;
        let mut search = Search::new(&pool, &mut sampler, 0);
        search.tell(1, 0.5).unwrap();
        assert!(search.tell(1, 0.5).unwrap_err().to_string().contains("known already"));
        assert!(search.tell(3, 0.5).unwrap_err().to_string().contains("no such candidate"));
        assert!(matches!(search.tell(0, f64::NAN), Err(BoError::NotFinite { .. })));
        assert_eq!(search.told().len(), 1);
        assert!(Pool::new(vec![], 2).is_err());
    }
}

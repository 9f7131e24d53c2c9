//! Ask and tell over a pool of candidates: the interface behind which random search, GP-EI and learned models stand.
//!
//! A [`Search`] keeps what has been told and what is left; a [`Sampler`] sees that and picks. The random numbers for
//! an answer depend only on the seed and on how much has been told, so a search that is stopped and told again what it
//! knew goes on exactly as if it had never stopped.

use crate::error::{BoError, BoResult};
use crate::kernel::count_points;
use crate::random::stream;
use rand::{Rng, RngExt};

/// Candidate locations: [size, dimension], row-major, scaled to [0, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    dimension: usize,
    points: Vec<f64>,
}

impl Pool {
    /// A pool of at least one candidate with finite coordinates.
    pub fn new(points: Vec<f64>, dimension: usize) -> BoResult<Self> {
        if count_points("the pool", &points, dimension)? == 0 {
            return Err(BoError::setting("the number of candidates", 0, "at least 1"));
        }
        Ok(Self { dimension, points })
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of candidates.
    pub fn size(&self) -> usize {
        self.points.len() / self.dimension
    }

    /// The coordinates of one candidate.
    pub fn point(&self, candidate: usize) -> &[f64] {
        &self.points[candidate * self.dimension..(candidate + 1) * self.dimension]
    }

    /// The coordinates of several candidates, one after another.
    pub fn gather(&self, candidates: impl IntoIterator<Item = usize>) -> Vec<f64> {
        candidates.into_iter().flat_map(|candidate| self.point(candidate)).copied().collect()
    }
}

/// One evaluated candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Told {
    /// Its position in the pool.
    pub candidate: usize,
    /// Its value; lower is better.
    pub value: f64,
}

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
    sampler: Box<dyn Sampler>,
    seed: u64,
    told: Vec<Told>,
    available: Vec<usize>,
}

impl<'a> Search<'a> {
    /// A search of `pool` with nothing told.
    pub fn new(pool: &'a Pool, sampler: Box<dyn Sampler>, seed: u64) -> Self {
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
        self.sampler.ask(context, &mut stream(self.seed, &[self.told.len() as u64]))
    }

    /// Records the value of a candidate, whether it was asked for or not.
    pub fn tell(&mut self, candidate: usize, value: f64) -> BoResult<()> {
        if !value.is_finite() {
            return Err(BoError::NotFinite { what: "the told values", index: self.told.len(), value });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp_ei::GpEiSampler;

    fn pool(size: usize) -> Pool {
        let mut rng = stream(3, &[]);
        Pool::new((0..2 * size).map(|_| rng.random()).collect(), 2).unwrap()
    }

    fn samplers() -> [fn() -> Box<dyn Sampler>; 2] {
        [|| Box::new(RandomSampler), || Box::new(GpEiSampler)]
    }

    /// What every sampler must do: find everything exactly once, and answer the same after a restart.
    #[test]
    fn every_sampler_exhausts_the_pool_and_survives_a_restart() {
        let pool = pool(14);
        let value = |candidate: usize| pool.point(candidate).iter().sum::<f64>().sin();
        for make in samplers() {
            let mut search = Search::new(&pool, make(), 5);
            for _ in 0..pool.size() {
                let asked = search.ask().unwrap();
                assert_eq!(asked, search.ask().unwrap());
                let mut restarted = Search::new(&pool, make(), 5);
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
                let mut search = Search::new(&pool, make(), 1);
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
        let mut search = Search::new(&pool, Box::new(RandomSampler), 0);
        search.tell(1, 0.5).unwrap();
        assert!(search.tell(1, 0.5).unwrap_err().to_string().contains("known already"));
        assert!(search.tell(3, 0.5).unwrap_err().to_string().contains("no such candidate"));
        assert!(matches!(search.tell(0, f64::NAN), Err(BoError::NotFinite { .. })));
        assert_eq!(search.told().len(), 1);
        assert!(Pool::new(vec![], 2).is_err());
    }
}

//! Fresh functions of a prior as search tasks, for validation. They are never the benchmark functions.

use crate::error::BoResult;
use crate::pool::Pool;
use crate::prior::Prior;
use crate::search::{Sampler, SearchTask};
use icee_base::random;
use rand::Rng;
use rand::seq::index;

/// Random candidates that are evaluated first, and the most evaluations in all.
const INITIAL: usize = 5;
const EVALUATIONS: usize = 30;

/// How far from the lowest values some searches ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FinalRegret {
    /// The mean.
    pub mean: f64,
    /// Share of the searches that found the lowest value.
    pub solved: f64,
}

/// `count` functions with their pools, fixed by the seed.
///
/// # Errors
/// The prior's.
pub fn tasks(prior: &Prior, count: usize, seed: u64) -> BoResult<Vec<SearchTask>> {
    let mut rng = random::path(seed, &[]);
    let groups = prior.sample(rng.next_u64(), count)?;
    let mut drawn = Vec::with_capacity(count);
    for group in &groups {
        let points: Vec<f64> = group.locations().iter().map(|&x| f64::from(x)).collect();
        // In a small pool even random search would find the lowest value sooner or later.
        let evaluations = EVALUATIONS.min(group.pool() / 4).max(INITIAL + 1).min(group.pool());
        for values in group.functions() {
            drawn.push(SearchTask {
                pool: Pool::new(points.clone(), group.dimension())?,
                values: values.iter().map(|&v| f64::from(v)).collect(),
                initial: index::sample(&mut rng, group.pool(), INITIAL.min(group.pool())).into_vec(),
                evaluations,
                seed: rng.next_u64(),
            });
        }
    }
    Ok(drawn)
}

/// Lets a sampler search all pools.
///
/// # Errors
/// The sampler's.
pub fn race(tasks: &[SearchTask], sampler: &mut dyn Sampler) -> BoResult<FinalRegret> {
    let mut regrets = Vec::with_capacity(tasks.len());
    for task in tasks {
        regrets.extend(task.run(sampler)?.regret.pop());
    }
    let count = regrets.len().max(1) as f64;
    let solved = regrets.iter().filter(|&&regret| regret == 0.0).count() as f64 / count;
    Ok(FinalRegret { mean: regrets.iter().sum::<f64>() / count, solved })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp_surrogate::gp_ei;
    use crate::prior::Family;
    use crate::search::RandomSampler;

    #[test]
    fn the_rival_beats_chance_on_fresh_tasks() {
        let prior = Prior::new(Family::Wide, 2, 100, 4).unwrap();
        let tasks = tasks(&prior, 12, 3).unwrap();
        assert_eq!((tasks.len(), tasks[0].evaluations, tasks[0].initial.len()), (12, 25, 5));
        assert_ne!(tasks[0].seed, tasks[1].seed);
        let (rival, chance) = (race(&tasks, &mut gp_ei()).unwrap(), race(&tasks, &mut RandomSampler).unwrap());
        assert!(rival.mean < chance.mean && rival.solved >= chance.solved, "{rival:?} {chance:?}");
    }
}

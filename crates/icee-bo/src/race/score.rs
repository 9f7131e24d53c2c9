//! Who found the best rows sooner: regret in standard deviations of the pool, relative to random search.

use super::pools::RealPool;
use super::runs::PoolRun;
use crate::standard::{Standard, Variance};
use icee_base::stats::Estimate;
use serde::Serialize;
use std::collections::BTreeMap;

/// The random search that all is relative to.
pub const RANDOM: &str = "random";

/// One method on one pool.
#[derive(Debug, Clone, Serialize)]
pub struct PoolScore {
    /// The pool.
    pub pool: String,
    /// The method.
    pub method: String,
    /// Runs that count: those that every method has.
    pub runs: usize,
    /// Mean regret after each evaluation, in standard deviations of the pool's values.
    pub regret: Vec<f64>,
    /// Its mean over all evaluations behind the first rows.
    pub mean: f64,
    /// That relative to random search.
    pub relative: f64,
    /// The share of runs that found the best row.
    pub solved: f64,
    /// Milliseconds a suggestion.
    pub milliseconds: f64,
}

/// All methods on all pools, and what follows over the pools.
#[derive(Debug, Clone, Serialize)]
pub struct Scores {
    /// Pool by pool, random search first, then the methods by name.
    pub pools: Vec<PoolScore>,
    /// Mean relative regret of each method over the pools, the lowest first.
    pub methods: Vec<(String, Estimate)>,
}

impl Scores {
    /// Compares the runs; only those count that all methods have of a pool.
    #[must_use]
    pub fn of(pools: &[RealPool], runs: &[PoolRun]) -> Scores {
        let mut scores = Vec::new();
        for pool in pools {
            let mut methods: BTreeMap<&str, BTreeMap<usize, &PoolRun>> = BTreeMap::new();
            for run in runs.iter().filter(|run| run.pool == pool.name) {
                methods.entry(&run.method).or_default().insert(run.run, run);
            }
            let common: Vec<usize> = (0..pool.first.len())
                .filter(|run| !methods.is_empty() && methods.values().all(|of| of.contains_key(run)))
                .collect();
            let Some(first) = pool.first.first().map(Vec::len).filter(|_| !common.is_empty()) else { continue };
            let chance = chance(&pool.values, super::pools::EVALUATIONS);
            let scale = Scale::of(&pool.values);
            let by_chance = mean(&scale.regret(&chance)[first..]);
            let solved = chance.len() as f64 * share_of_best(&pool.values);
            let mut push = |method: &str, regret: Vec<f64>, solved: f64, milliseconds: f64| {
                let own = mean(&regret[first..]);
                scores.push(PoolScore {
                    pool: pool.name.clone(),
                    method: method.to_owned(),
                    runs: common.len(),
                    mean: own,
                    relative: if by_chance > 0.0 { own / by_chance } else { 1.0 },
                    regret,
                    solved,
                    milliseconds,
                });
            };
            push(RANDOM, scale.regret(&chance), solved.min(1.0), 0.0);
            for (method, of) in &methods {
                let curves: Vec<Vec<f64>> = common.iter().map(|run| scale.curve(&pool.values, &of[run].rows)).collect();
                let length = curves.iter().map(Vec::len).min().unwrap_or(0);
                let regret = (0..length).map(|at| curves.iter().map(|c| c[at]).sum::<f64>() / curves.len() as f64);
                let solved = curves.iter().filter(|curve| curve.last() == Some(&0.0)).count();
                let milliseconds = common.iter().map(|run| of[run].milliseconds).sum::<f64>() / common.len() as f64;
                push(method, regret.collect(), solved as f64 / common.len() as f64, milliseconds);
            }
        }
        let mut by_method: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for score in scores.iter().filter(|score| score.method != RANDOM) {
            by_method.entry(&score.method).or_default().push(score.relative);
        }
        let mut methods: Vec<(String, Estimate)> =
            by_method.into_iter().map(|(method, of)| (method.to_owned(), Estimate::of(&of))).collect();
        methods.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        Scores { pools: scores, methods }
    }

    /// The relative regret of `a` minus that of `b`, paired by pool.
    #[must_use]
    pub fn difference(&self, a: &str, b: &str) -> Estimate {
        let of = |method: &str| -> BTreeMap<&str, f64> {
            let own = self.pools.iter().filter(|score| score.method == method);
            own.map(|score| (score.pool.as_str(), score.relative)).collect()
        };
        let (a, b) = (of(a), of(b));
        Estimate::of(&a.iter().filter_map(|(pool, a)| b.get(pool).map(|b| a - b)).collect::<Vec<_>>())
    }
}

/// The lowest value of a pool and its standard deviation.
struct Scale {
    lowest: f64,
    deviation: f64,
}

impl Scale {
    fn of(values: &[f64]) -> Scale {
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        Scale { lowest, deviation: Standard::of(values.iter().copied(), Variance::Population).unit() }
    }

    fn regret(&self, best: &[f64]) -> Vec<f64> {
        best.iter().map(|best| (best - self.lowest) / self.deviation).collect()
    }

    fn curve(&self, values: &[f64], rows: &[usize]) -> Vec<f64> {
        let best = rows.iter().scan(f64::INFINITY, |best, &row| {
            *best = best.min(values[row]);
            Some(*best)
        });
        self.regret(&best.collect::<Vec<_>>())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The share of rows that are as good as the best.
fn share_of_best(values: &[f64]) -> f64 {
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    values.iter().filter(|&&value| value == lowest).count() as f64 / values.len() as f64
}

/// The expected lowest of k different rows drawn at random, for k = 1 to `evaluations`: exact.
///
/// With the values in ascending order, the lowest of k of n rows is the i-th with probability C(n − i, k − 1) / C(n, k), which is
/// P(none of those before it is drawn) − P(none of those up to it is).
fn chance(values: &[f64], evaluations: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let expected = |k: usize| {
        let (mut none, mut sum) = (1.0, 0.0);
        for (i, value) in sorted.iter().enumerate() {
            // Of the n − i rows that are left, the i-th is not among the k drawn.
            let after = if n - i > k { none * (n - i - k) as f64 / (n - i) as f64 } else { 0.0 };
            sum += (none - after) * value;
            none = after;
        }
        sum
    };
    (1..=evaluations.min(n)).map(expected).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;

    fn pool() -> RealPool {
        let values = vec![3.0, 1.0, 2.0, 5.0];
        let first = vec![vec![0], vec![3]];
        RealPool { name: "p".into(), pool: Pool::new(vec![0.0, 0.3, 0.6, 1.0], 1).unwrap(), values, first }
    }

    #[test]
    fn chance_by_hand() {
        // One row: the mean. Two of four (1, 2, 3, 5): six pairs, of which 3, 2 and 1 have the lowest 1, 2 and 3.
        let found = chance(&pool().values, 9);
        assert_eq!(found.len(), 4);
        for (found, expected) in found.iter().zip([2.75, 10.0 / 6.0, 1.25, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn scores_by_hand() {
        let run = |method: &str, run: usize, rows: &[usize]| PoolRun {
            pool: "p".into(),
            method: method.into(),
            run,
            milliseconds: 2.0,
            rows: rows.to_vec(),
        };
        let runs = [run("a", 0, &[0, 1, 2]), run("a", 1, &[3, 2, 1]), run("b", 0, &[0, 3, 2])];
        let scores = Scores::of(&[pool()], &runs);
        let of = |method: &str| scores.pools.iter().find(|score| score.method == method).unwrap();
        // Only run 0 is common to both.
        let deviation = (8.75_f64 / 4.0).sqrt();
        assert_eq!(of("a").regret, [2.0 / deviation, 0.0, 0.0]);
        assert_eq!((of("a").runs, of("a").solved, of("b").solved), (1, 1.0, 0.0));
        assert!((of("b").mean - 1.5 / deviation).abs() < 1e-12);
        assert_eq!(scores.methods[0].0, "a");
        let gap = scores.difference("a", "b");
        assert!((gap.mean - (of("a").relative - of("b").relative)).abs() < 1e-12);
        assert!(Scores::of(&[pool()], &[]).pools.is_empty());
    }
}

//! The paper's evaluation: 16 functions, several trials each, the lowest of 1,024 random candidates to be found.
//!
//! Every trial redraws the pool, scaled to [0, 1]², standardises its values and evaluates some random candidates first.
//! Regret is the best value so far minus the pool's minimum. A seed fixes pools and initial points, so that samplers are
//! compared on the same tasks.

use crate::error::{BoError, BoResult};
use crate::functions::{self, BenchmarkFunction};
use crate::pool::Pool;
use crate::report::{Report, Run};
use crate::search::{Sampler, SearchTask, SearchTrace};
use crate::standard::standardise;
use icee_base::random;
use rand::{Rng, RngExt};
use rayon::prelude::*;

/// What is run.
#[derive(Debug, Clone)]
pub struct Protocol {
    /// The functions to search.
    pub functions: Vec<&'static BenchmarkFunction>,
    /// Trials for each function.
    pub trials: usize,
    /// Candidates in a pool.
    pub pool: usize,
    /// Random candidates that are evaluated first.
    pub initial: usize,
    /// Evaluations in all, the initial ones included.
    pub evaluations: usize,
    /// Fixes pools, initial points and the samplers' random numbers.
    pub seed: u64,
}

impl Default for Protocol {
    /// The paper's, with 5 initial points, which it does not state.
    fn default() -> Self {
        Self {
            functions: functions::all().iter().collect(),
            trials: 5,
            pool: 1024,
            initial: 5,
            evaluations: 55,
            seed: 0,
        }
    }
}

/// One pool of a benchmark function, its values standardised.
#[derive(Debug, Clone)]
pub struct BenchmarkTask {
    /// The function behind the values.
    pub function: &'static BenchmarkFunction,
    /// Which of the function's trials, from zero.
    pub trial: usize,
    /// The pool and where its search begins.
    pub search: SearchTask,
}

impl Protocol {
    /// All tasks, function by function.
    pub fn tasks(&self) -> BoResult<Vec<BenchmarkTask>> {
        if self.pool < 2 {
            return Err(BoError::setting("pool", self.pool, "at least 2"));
        }
        if self.initial > self.evaluations {
            return Err(BoError::setting("initial", self.initial, "at most the number of evaluations"));
        }
        if self.evaluations == 0 || self.evaluations > self.pool {
            return Err(BoError::setting(
                "evaluations",
                self.evaluations,
                "at least 1 and at most the size of the pool",
            ));
        }
        let trials = self.functions.iter().flat_map(|function| (0..self.trials).map(move |trial| (*function, trial)));
        trials.map(|(function, trial)| self.task(function, trial)).collect()
    }

    fn task(&self, function: &'static BenchmarkFunction, trial: usize) -> BoResult<BenchmarkTask> {
        // The function's place in the whole table, so that a run of some functions has the tasks of a run of all.
        let place = functions::all().iter().position(|known| known.name == function.name).unwrap_or(usize::MAX);
        let mut rng = random::path(self.seed, &[place as u64, trial as u64]);
        let points: Vec<f64> = (0..2 * self.pool).map(|_| rng.random()).collect();
        let mut values: Vec<f64> =
            points.chunks_exact(2).map(|x| function.value(function.from_unit([x[0], x[1]]))).collect();
        standardise(&mut values);
        let initial = rand::seq::index::sample(&mut rng, self.pool, self.initial).into_vec();
        let (pool, evaluations, seed) = (Pool::new(points, 2)?, self.evaluations, rng.next_u64());
        Ok(BenchmarkTask { function, trial, search: SearchTask { pool, values, initial, evaluations, seed } })
    }

    /// Runs a fresh sampler from `make` on every task; tasks run side by side on rayon's threads.
    ///
    /// Only on a single thread are the seconds those of the sampler alone: a suggestion that waits for its own parallel
    /// work may be handed some other task's work meanwhile.
    pub fn run(&self, make: impl Fn() -> Box<dyn Sampler> + Sync) -> BoResult<Report> {
        let sampler = make().name();
        let run = |task: &BenchmarkTask| {
            let SearchTrace { regret, seconds, .. } = task.search.run(&mut *make())?;
            Ok(Run { function: task.function.name, trial: task.trial, regret, seconds })
        };
        let runs = self.tasks()?.par_iter().map(run).collect::<BoResult<_>>()?;
        Ok(Report { sampler, initial: self.initial, runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp_surrogate::gp_ei;
    use crate::search::RandomSampler;

    fn small() -> Protocol {
        let functions = ["Branin", "SixHumpCamel"].map(|name| functions::find(name).unwrap()).to_vec();
        Protocol { functions, trials: 3, pool: 100, initial: 4, evaluations: 25, seed: 7 }
    }

    #[test]
    fn tasks_are_standardised_pools_that_differ() {
        let tasks = small().tasks().unwrap();
        assert_eq!(tasks.len(), 6);
        for task in &tasks {
            let task = &task.search;
            let mean: f64 = task.values.iter().sum::<f64>() / 100.0;
            let variance: f64 = task.values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 100.0;
            assert!(mean.abs() < 1e-12 && (variance - 1.0).abs() < 1e-12);
            let mut initial = task.initial.clone();
            initial.sort_unstable();
            initial.dedup();
            assert_eq!(initial.len(), 4);
        }
        assert_ne!(tasks[0].search.pool, tasks[1].search.pool);
        let paper = Protocol { seed: 7, trials: 3, pool: 100, ..Protocol::default() }.tasks().unwrap();
        assert_eq!(paper.len(), 48);
        assert_eq!(paper[0].search.pool, tasks[0].search.pool);
    }

    #[test]
    fn regret_falls_to_zero_and_the_rival_beats_random() {
        let random = small().run(|| Box::new(RandomSampler)).unwrap();
        let rival = small().run(|| Box::new(gp_ei())).unwrap();
        for (a, b) in random.runs.iter().zip(&rival.runs) {
            assert_eq!(a.regret[..4], b.regret[..4], "the same initial points");
            assert!(b.regret.windows(2).all(|pair| pair[1] <= pair[0]));
            assert!(b.seconds[3] == 0.0 && b.seconds[24] > b.seconds[4]);
        }
        assert!(rival.summary().solved > random.summary().solved);
        assert!(rival.summary().regret[24].mean < random.summary().regret[24].mean);
        let whole = Protocol { evaluations: 100, ..small() }.run(|| Box::new(RandomSampler)).unwrap();
        assert!(whole.runs.iter().all(|run| run.regret[99] == 0.0));
    }

    #[test]
    fn the_same_seed_gives_the_same_runs_on_any_number_of_threads() {
        let regret = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let report = pool.install(|| small().run(|| Box::new(gp_ei())).unwrap());
            report.runs.into_iter().map(|run| run.regret).collect::<Vec<_>>()
        };
        assert_eq!(regret(1), regret(3));
    }

    #[test]
    fn impossible_protocols_are_refused() {
        assert!(Protocol { evaluations: 101, ..small() }.tasks().is_err());
        assert!(Protocol { initial: 26, ..small() }.tasks().is_err());
        assert!(Protocol { pool: 1, ..small() }.tasks().is_err());
    }
}

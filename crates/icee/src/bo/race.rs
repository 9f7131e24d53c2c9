//! A race for the lowest value. On fresh functions of a prior it is the measure of progress during training, which never
//! looks at the benchmark functions of the evaluation.

use crate::Result;
use icee_bo::prior::Prior;
use icee_bo::protocol::{self, Protocol};
use icee_bo::sampler::{Context, Pool, Sampler, Told};
use icee_worlds::{GameRng, Purpose, stream};
use rand::Rng;
use rand::seq::index;

/// Random candidates that are evaluated first, and the most evaluations in all.
const INITIAL: usize = 5;
const EVALUATIONS: usize = 30;

/// Pools to search.
pub(crate) struct Race {
    pub tasks: Vec<Task>,
}

/// One pool with its values, and where its search begins.
pub(crate) struct Task {
    pub pool: Pool,
    pub values: Vec<f64>,
    pub initial: Vec<usize>,
    pub evaluations: usize,
    seed: u64,
}

/// How far from the lowest values the searches ended.
pub(crate) struct Regret {
    pub mean: f64,
    /// Share of the searches that found the lowest value.
    pub solved: f64,
}

impl Race {
    /// `tasks` functions, fixed by the seed.
    pub fn draw(prior: &Prior, tasks: usize, seed: u64) -> Result<Race> {
        let mut rng = stream(seed, Purpose::Games, 0);
        let groups = prior.sample(rng.next_u64(), tasks)?;
        let mut drawn = Vec::with_capacity(tasks);
        for group in &groups {
            let points: Vec<f64> = group.locations().iter().map(|&x| f64::from(x)).collect();
            // In a small pool even random search would find the lowest value sooner or later.
            let evaluations = EVALUATIONS.min(group.pool() / 4).max(INITIAL + 1).min(group.pool());
            for values in group.functions() {
                drawn.push(Task {
                    pool: Pool::new(points.clone(), group.dimension())?,
                    values: values.iter().map(|&v| f64::from(v)).collect(),
                    initial: index::sample(&mut rng, group.pool(), INITIAL.min(group.pool())).into_vec(),
                    evaluations,
                    seed: rng.next_u64(),
                });
            }
        }
        Ok(Race { tasks: drawn })
    }

    /// The tasks of the evaluation protocol.
    pub fn of_protocol(protocol: &Protocol) -> Result<Race> {
        let task = |task: protocol::Task| {
            let protocol::Task { pool, values, initial, seed, .. } = task;
            Task { pool, values, initial, evaluations: protocol.evaluations, seed }
        };
        Ok(Race { tasks: protocol.tasks()?.into_iter().map(task).collect() })
    }

    /// Lets a sampler search all pools.
    pub fn run(&self, sampler: &mut dyn Sampler) -> Result<Regret> {
        let mut regrets = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            regrets.extend(task.regrets(sampler)?.pop());
        }
        let count = regrets.len().max(1) as f64;
        let solved = regrets.iter().filter(|&&regret| regret == 0.0).count() as f64 / count;
        Ok(Regret { mean: regrets.iter().sum::<f64>() / count, solved })
    }
}

impl Task {
    /// The regret of a sampler's search after each evaluation.
    pub fn regrets(&self, sampler: &mut dyn Sampler) -> Result<Vec<f64>> {
        let lowest = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut best = f64::INFINITY;
        let regret = |told: &Told| {
            best = best.min(told.value);
            best - lowest
        };
        Ok(self.search(self.evaluations, sampler)?.iter().map(regret).collect())
    }

    /// What a sampler was told after so many evaluations, the initial ones first.
    pub fn search(&self, evaluations: usize, sampler: &mut dyn Sampler) -> Result<Vec<Told>> {
        let mut available: Vec<usize> = (0..self.pool.size()).collect();
        let mut told: Vec<Told> = Vec::with_capacity(evaluations);
        for step in 0..evaluations {
            let candidate = match self.initial.get(step) {
                Some(&candidate) => candidate,
                None => {
                    let context = Context { pool: &self.pool, told: &told, available: &available };
                    sampler.ask(context, &mut self.random(step))?
                }
            };
            available.retain(|&left| left != candidate);
            told.push(Told { candidate, value: self.values[candidate] });
        }
        Ok(told)
    }

    /// Random numbers of a search after so many evaluations.
    pub fn random(&self, evaluations: usize) -> GameRng {
        stream(self.seed, Purpose::Agent, evaluations as u64)
    }
}

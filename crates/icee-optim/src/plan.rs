//! The network of a method on functions, and the batches that it learns from.

use crate::Result;
use crate::config::Config;
use crate::methods::Objective;
use crate::pool::PoolPlan;
use crate::table::TablePlan;
use crate::value::ValuePlan;
use icee_base::random::{Purpose, stream};
use icee_bo::fresh;
use icee_bo::prior::Prior;
use icee_bo::search::SearchTask;
use icee_bo::tables::search_tasks;
use icee_nn::batch::Batch;
use icee_train::NetworkSpec;
use rand::Rng;

/// The network of a method, and what it learns from.
pub(crate) enum Plan {
    Value(ValuePlan, Prior),
    Pool(PoolPlan, Prior),
    Table(TablePlan),
}

impl Plan {
    pub fn new(config: &Config) -> Result<Plan> {
        config.check()?;
        Ok(match config.method()?.objective {
            Objective::Value => Plan::Value(ValuePlan::new(config)?, config.build_prior()?),
            Objective::Drawn { .. } | Objective::Improvers => Plan::Pool(PoolPlan::new(config)?, config.build_prior()?),
            Objective::Table => Plan::Table(TablePlan::new(config)?),
        })
    }

    pub fn networks(&self) -> Vec<NetworkSpec> {
        let spec = match self {
            Plan::Value(plan, _) => &plan.spec,
            Plan::Pool(plan, _) => &plan.spec,
            Plan::Table(plan) => &plan.spec,
        };
        vec![NetworkSpec { name: "trunk", spec: spec.clone() }]
    }

    /// Batch number `index` under a seed, of so many functions.
    pub fn batch(&self, seed: u64, index: u64, functions: usize) -> Result<Batch> {
        let mut rng = stream(seed, Purpose::Collection, index);
        match self {
            Plan::Value(plan, prior) => plan.batch(&prior.sample(rng.next_u64(), functions)?, &mut rng),
            Plan::Pool(plan, prior) => plan.batch(&prior.sample(rng.next_u64(), functions)?, &mut rng),
            Plan::Table(plan) => Ok(plan.batch(seed, index, functions)),
        }
    }

    /// `count` fresh functions to search.
    pub fn tasks(&self, count: usize, seed: u64) -> Result<Vec<SearchTask>> {
        Ok(match self {
            Plan::Value(_, prior) | Plan::Pool(_, prior) => fresh::tasks(prior, count, seed)?,
            Plan::Table(_) => search_tasks(count, seed)?,
        })
    }
}

//! The network of a method on functions, and the batches that it learns from.

use crate::Result;
use crate::config::Config;
use crate::methods::Objective;
use crate::pool::PoolPlan;
use crate::value::ValuePlan;
use icee_base::random::StreamRng;
use icee_bo::prior::FunctionGroup;
use icee_nn::batch::Batch;
use icee_train::NetworkSpec;

/// The network of a method, and what it learns from.
pub(crate) enum Plan {
    Value(ValuePlan),
    Pool(PoolPlan),
}

impl Plan {
    pub fn new(config: &Config) -> Result<Plan> {
        config.check()?;
        Ok(match config.method()?.objective {
            Objective::Value => Plan::Value(ValuePlan::new(config)?),
            Objective::Drawn { .. } | Objective::Improvers => Plan::Pool(PoolPlan::new(config)?),
        })
    }

    pub fn networks(&self) -> Vec<NetworkSpec> {
        let spec = match self {
            Plan::Value(plan) => &plan.spec,
            Plan::Pool(plan) => &plan.spec,
        };
        vec![NetworkSpec { name: "trunk", spec: spec.clone() }]
    }

    pub fn batch(&self, groups: &[FunctionGroup], rng: &mut StreamRng) -> Result<Batch> {
        match self {
            Plan::Value(plan) => plan.batch(groups, rng),
            Plan::Pool(plan) => plan.batch(groups, rng),
        }
    }
}

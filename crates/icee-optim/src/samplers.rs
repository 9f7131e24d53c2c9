//! Samplers of trained models.

use crate::methods::Objective;
use crate::model::OptimiserModel;
use crate::pool_sampler::PoolSampler;
use crate::table_model::TableModel;
use crate::value_model::ValueModel;
use crate::{Error, Result};
use icee_bo::search::Sampler;
use icee_bo::surrogate::Surrogate;
use icee_bo::surrogate_sampler::SurrogateSampler;
use icee_nn::cpu::thread_count;
use icee_train::Device;

/// Threads on which searches run side by side; 0 takes all cores.
pub(crate) fn workers(threads: usize) -> Result<rayon::ThreadPool> {
    let threads = thread_count(threads)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| Error::Config(format!("cannot start {threads} threads: {e}")))
}

impl OptimiserModel {
    /// What picks candidates by this model, as its config says.
    ///
    /// # Errors
    /// Where config and network do not fit.
    pub fn sampler(&self, device: &Device) -> Result<Box<dyn Sampler>> {
        Ok(match self.config.method()?.objective {
            Objective::Value | Objective::Table => {
                Box::new(SurrogateSampler::new(self.surrogate(device)?, self.config.acting.rule()))
            }
            Objective::Drawn { .. } | Objective::Improvers => Box::new(PoolSampler::new(device, self)?),
        })
    }

    /// What predicts by this model.
    ///
    /// # Errors
    /// Where it predicts no values, or config and network do not fit.
    pub fn surrogate(&self, device: &Device) -> Result<Box<dyn Surrogate>> {
        self.config.check()?;
        Ok(match self.config.method()?.objective {
            Objective::Table => Box::new(TableModel::new(device, self)?),
            _ => Box::new(ValueModel::new(device, self)?),
        })
    }
}

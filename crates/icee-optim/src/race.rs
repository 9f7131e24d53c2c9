//! A race of a trained model against GP-EI on real tables.

use crate::calibration::{Calibration, Search, calibrate};
use crate::methods::Objective;
use crate::model::OptimiserModel;
use crate::samplers::workers;
use crate::{Error, Result};
use icee_bo::gp_surrogate::table_gp_ei;
use icee_bo::race::pools::RealPool;
use icee_bo::race::runs::{PoolRun, search};
use icee_bo::search::Sampler;
use icee_bo::{BoError, BoResult};
use icee_train::Device;

/// The model in races.
pub const RACER: &str = "icee";
/// Its rival of the house.
const RIVAL: &str = "gp-ei";

/// Makes the sampler of a search.
type Make<'a> = dyn Fn() -> BoResult<Box<dyn Sampler>> + Sync + 'a;

/// What a race gave.
#[derive(Clone, Debug, Default)]
pub struct RaceRuns {
    /// The searches.
    pub runs: Vec<PoolRun>,
    /// Pools that a method could not search, and why.
    pub left_out: Vec<String>,
    /// The model's predictions along its searches, beside what was true; of a model that has any.
    pub calibration: Option<Calibration>,
}

/// Lets a model and GP-EI search all pools, `trials` times each at most, on `threads` threads; `searched` is told, by any of
/// them, of every search that is done.
///
/// # Errors
/// Where there can be no such threads.
pub fn race(
    model: &OptimiserModel,
    pools: &[RealPool],
    trials: usize,
    threads: usize,
    searched: &(dyn Fn() + Sync),
) -> Result<RaceRuns> {
    let workers = workers(threads)?;
    // Each search has a sampler of its own on one thread; searches run side by side.
    let ours = || -> BoResult<Box<dyn Sampler>> {
        let device = Device::cpu(1).map_err(Error::Train);
        device.and_then(|device| model.sampler(&device)).map_err(BoError::from)
    };
    let rival = || -> BoResult<Box<dyn Sampler>> { Ok(Box::new(table_gp_ei())) };
    let racers: [(&str, &Make<'_>); 2] = [(RACER, &ours), (RIVAL, &rival)];
    let mut found = RaceRuns::default();
    for (method, make) in racers {
        for pool in pools {
            let runs = workers.install(|| search(std::slice::from_ref(pool), trials, method, make, searched));
            match runs {
                Ok(runs) => found.runs.extend(runs),
                Err(error) => found.left_out.push(format!("{method} leaves out {}: {error}", pool.name)),
            }
        }
    }
    if matches!(model.config.method()?.objective, Objective::Value | Objective::Table) {
        let pool_of = |run: &PoolRun| pools.iter().find(|pool| pool.name == run.pool);
        let own = found.runs.iter().filter(|run| run.method == RACER);
        let searches: Vec<Search> =
            own.filter_map(|run| Some(Search::of_rows(pool_of(run)?.task(run.run), &run.rows))).collect();
        let make = || model.surrogate(&Device::cpu(1)?);
        found.calibration = Some(workers.install(|| calibrate("real tables", &searches, make))?);
    }
    Ok(found)
}

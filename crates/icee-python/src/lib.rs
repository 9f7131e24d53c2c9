//! icee as a Python module, `icee._native`.
//!
//! Thin: what crosses is numbers, arrays, and the requests and replies of studies as JSON. The Python package around it
//! (`python/icee`) knows frames, Gymnasium, Optuna and scikit-learn.

// Python code documents itself in the package; here are only its bones.
#![allow(missing_docs)]

mod agent;
mod benchmark;
mod call;
mod regression;
mod study;
mod training;
mod worlds;

use pyo3::prelude::*;

/// The engine, as Python sees it.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::agent::Agent;
    #[pymodule_export]
    use super::benchmark::{benchmark, benchmarks};
    #[pymodule_export]
    use super::call::Error;
    #[pymodule_export]
    use super::regression::{Beliefs, Column, Surrogate};
    #[pymodule_export]
    use super::study::{Studies, upgrade};
    #[pymodule_export]
    use super::training::{keep_log, read_log, resume, train, write_log};
    #[pymodule_export]
    use super::worlds::{Worlds, world_specs};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // An error that is no study's has neither.
        let error = module.py().get_type::<Error>();
        error.setattr("code", module.py().None())?;
        error.setattr("problem", module.py().None())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

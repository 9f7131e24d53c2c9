//! The benchmark functions, for races with other tools.

use crate::call::Error;
use icee_bo::functions;
use pyo3::prelude::*;

/// Name, ends of both coordinates and minimum.
type Known = (&'static str, [[f64; 2]; 2], f64);

/// All benchmark functions.
#[pyfunction]
pub fn benchmarks() -> Vec<Known> {
    functions::all().iter().map(|function| (function.name, function.domain, function.minimum)).collect()
}

/// The value of one at a point of its domain.
#[pyfunction]
pub fn benchmark(name: &str, x: [f64; 2]) -> PyResult<f64> {
    let value = functions::find(name).and_then(|function| function.checked_value(x));
    value.map_err(|error| Error::new_err(error.to_string()))
}

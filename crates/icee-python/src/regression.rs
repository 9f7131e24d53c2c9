//! Beliefs about rows, from rows whose values are known: what the package's regressor and Optuna's sampler rest on.

use crate::call::{Process, Result, call, said};
use icee_base::math::ln;
use icee_base::random;
use icee_bo::acquisition::{Rule, pick};
use icee_bo::belief::Belief;
use icee_bo::columns;
use icee_bo::frame::Frame;
use icee_bo::gp_surrogate::{GpSurrogate, KNOWN_HISTORY};
use icee_bo::history::rounded;
use icee_bo::pool::{Pool, Told};
use icee_bo::standard::{Standard, Variance};
use icee_models::learned_models;
use icee_study::Reads;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, ndarray};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::{Mutex, PoisonError};

/// Columns that a Gaussian process takes at most: its time grows with them.
const MOST_COORDINATES: usize = 1 << 10;

/// What a column of a table is, whatever rows it has.
#[pyclass(frozen, module = "icee._native")]
pub struct Column {
    key: u64,
    cells: Cells,
}

enum Cells {
    Numbers { frame: Frame, log: bool },
    Words { levels: Vec<u64> },
}

impl Column {
    fn numbers(name: &str, log: bool, frame: impl FnOnce(&dyn Fn(f64) -> f64) -> Frame) -> Column {
        let scaled = |x: f64| if log { ln(x) } else { x };
        Column { key: columns::Column::key_of(name), cells: Cells::Numbers { frame: frame(&scaled), log } }
    }

    /// The column with these rows: numbers, or the numbers of levels; NaN is missing.
    fn with(&self, rows: impl Iterator<Item = f64>) -> Result<columns::Column> {
        match &self.cells {
            Cells::Numbers { frame, log } => {
                let numbers: Vec<f64> = rows.map(|x| if *log { ln(x) } else { x }).collect();
                Ok(columns::Column::placed(self.key, frame, &numbers))
            }
            Cells::Words { levels } => {
                let level = |x: f64| match x {
                    x if x.is_nan() => Ok(None),
                    x if x >= 0.0 && x.fract() == 0.0 && x < levels.len() as f64 => Ok(Some(x as usize)),
                    x => Err(said(format!("{x} is not the number of one of {} levels", levels.len()))),
                };
                let rows = rows.map(level).collect::<Result<Vec<_>>>()?;
                Ok(columns::Column::categories(self.key, levels.clone(), rows))
            }
        }
    }
}

#[pymethods]
impl Column {
    /// Numbers of which these are known; what else comes is placed by them.
    #[staticmethod]
    #[pyo3(signature = (name, numbers, *, log=false))]
    fn sampled(name: &str, numbers: PyReadonlyArray1<'_, f64>, log: bool) -> Column {
        Column::numbers(name, log, |scaled| {
            Frame::of_sample(&numbers.as_array().iter().map(|&x| scaled(x)).collect::<Vec<_>>())
        })
    }

    /// Any number between two ends.
    #[staticmethod]
    #[pyo3(signature = (name, low, high, *, log=false))]
    fn between(name: &str, low: f64, high: f64, log: bool) -> Column {
        Column::numbers(name, log, |scaled| Frame::between(scaled(low), scaled(high)))
    }

    /// One of these numbers.
    #[staticmethod]
    #[pyo3(signature = (name, levels, *, log=false))]
    fn grid(name: &str, levels: PyReadonlyArray1<'_, f64>, log: bool) -> Column {
        Column::numbers(name, log, |scaled| {
            Frame::of(&levels.as_array().iter().map(|&x| scaled(x)).collect::<Vec<_>>())
        })
    }

    /// One of these words; a row has the number of its word.
    #[staticmethod]
    fn words(name: &str, levels: Vec<String>) -> Column {
        let levels = levels.iter().map(|level| columns::Column::key_of(level)).collect();
        Column { key: columns::Column::key_of(name), cells: Cells::Words { levels } }
    }
}

/// What predicts: the learned model of tables, or a Gaussian process.
#[pyclass(frozen, module = "icee._native")]
pub struct Surrogate {
    learned: bool,
    #[pyo3(get)]
    most_rows: usize,
    #[pyo3(get)]
    most_columns: usize,
    rule: Rule,
    /// Loaded when it is first needed, in this very process: it has threads.
    loaded: Mutex<Option<(Process, Box<dyn icee_bo::surrogate::Surrogate>)>>,
}

impl Surrogate {
    fn load(&self) -> Result<Box<dyn icee_bo::surrogate::Surrogate>> {
        if !self.learned {
            return Ok(Box::new(GpSurrogate::for_tables()));
        }
        let model = learned_models()?.into_iter().next().ok_or_else(|| said("no learned model is inside"))?;
        Ok((model.load)()?)
    }
}

#[pymethods]
impl Surrogate {
    #[new]
    #[pyo3(signature = (model="learned"))]
    fn new(py: Python<'_>, model: &str) -> PyResult<Surrogate> {
        call(py, || match model {
            "learned" => {
                let model = learned_models()?.into_iter().next().ok_or_else(|| said("no learned model is inside"))?;
                let (Reads::Columns(range) | Reads::Coordinates(range)) = &model.reads;
                let most_columns = *range.end();
                Ok((true, model.history, most_columns, model.rule))
            }
            "gp" => Ok((false, KNOWN_HISTORY, MOST_COORDINATES, Rule::Greatest)),
            _ => Err(said(format!("model is \"learned\" or \"gp\", not \"{model}\""))),
        })
        .map(|(learned, most_rows, most_columns, rule)| Surrogate {
            learned,
            most_rows,
            most_columns,
            rule,
            loaded: Mutex::default(),
        })
    }

    /// What is believed of the asked rows, from told rows and their values.
    fn predict(
        &self,
        py: Python<'_>,
        columns: Vec<Py<Column>>,
        told: PyReadonlyArray2<'_, f64>,
        values: PyReadonlyArray1<'_, f64>,
        asked: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Beliefs> {
        let (told, values, asked) = (told.as_array(), values.as_array(), asked.as_array());
        // Taken before the engine's threads are: one that waits for a lock may have been lent to its owner.
        let mut loaded = self.loaded.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let loaded = &mut *loaded;
        call(py, || {
            let (rows, asks) = (told.nrows(), asked.nrows());
            if told.ncols() != columns.len() || asked.ncols() != columns.len() || values.len() != rows {
                return Err(said(format!(
                    "{} columns, {rows} × {} told cells, {} values and {asks} × {} asked cells do not fit",
                    columns.len(),
                    told.ncols(),
                    values.len(),
                    asked.ncols()
                )));
            }
            if !values.iter().all(|value| value.is_finite()) {
                return Err(said("a told value is not a finite number"));
            }
            let with = |(at, column): (usize, &Py<Column>)| {
                column.get().with(told.column(at).iter().chain(asked.column(at)).copied())
            };
            let cells = columns.iter().enumerate().map(with).collect::<Result<Vec<_>>>()?;
            let pool = if self.learned {
                // It reads cells alone; coordinates of many categories would be many.
                Pool::new(vec![0.0; rows + asks], 1)?.with_columns(cells)?
            } else {
                Pool::of_columns(cells)?
            };
            // As studies show values to models: another unit changes no bit.
            let scale = Standard::of(values.iter().copied(), Variance::Sample);
            let told = values.iter().enumerate();
            let told: Vec<Told> =
                told.map(|(candidate, &value)| Told { candidate, value: rounded(&scale, value) }).collect();
            if loaded.as_ref().is_some_and(|(process, _)| !process.is_this()) {
                std::mem::forget(loaded.take());
            }
            let (_, surrogate) = match loaded {
                Some(loaded) => loaded,
                None => loaded.insert((Process::this(), self.load()?)),
            };
            let beliefs = surrogate.predict(&pool, &told, &(rows..rows + asks).collect::<Vec<_>>())?;
            Ok(Beliefs { beliefs, scale })
        })
    }

    /// The place of the candidate to take, by the model's rule, from the logarithms of what each gains and what each loses where
    /// nothing can be gained.
    fn pick(&self, gains: PyReadonlyArray1<'_, f64>, losses: PyReadonlyArray1<'_, f64>, seed: u64) -> PyResult<usize> {
        let (gains, losses) = (gains.as_array().to_vec(), losses.as_array());
        if gains.is_empty() || losses.len() != gains.len() {
            return Err(crate::call::Error::new_err("to pick takes as many losses as gains, and at least one"));
        }
        Ok(pick(self.rule, &gains, |place| losses[place], &mut random::path(seed, &[])))
    }
}

/// What is believed of some rows' values.
#[pyclass(frozen, module = "icee._native")]
pub struct Beliefs {
    beliefs: Vec<Belief>,
    /// The scale of the told values; the beliefs are on it.
    scale: Standard,
}

impl Beliefs {
    fn each<'py>(&self, py: Python<'py>, number: impl Fn(&Belief) -> f64 + Send) -> Bound<'py, PyArray1<f64>> {
        py.detach(|| self.beliefs.iter().map(number).collect::<Vec<f64>>()).into_pyarray(py)
    }

    fn grid<'py>(
        &self,
        py: Python<'py>,
        at: &[f64],
        number: impl Fn(&Belief, f64) -> f64 + Sync,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let numbers: Vec<f64> =
            py.detach(|| self.beliefs.iter().flat_map(|belief| at.iter().map(|&x| number(belief, x))).collect());
        let shape = (self.beliefs.len(), at.len());
        let grid = ndarray::Array2::from_shape_vec(shape, numbers);
        grid.map(|grid| grid.into_pyarray(py)).map_err(|error| crate::call::Error::new_err(error.to_string()))
    }
}

#[pymethods]
impl Beliefs {
    fn __len__(&self) -> usize {
        self.beliefs.len()
    }

    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |belief| self.scale.undo(belief.mean()))
    }

    fn std<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |belief| belief.deviation() * self.scale.unit())
    }

    /// The values below which lie these probabilities: a row each, a column a probability.
    fn quantiles<'py>(&self, py: Python<'py>, levels: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if let Some(odd) = levels.iter().find(|&&level| !(level > 0.0 && level < 1.0)) {
            return Err(crate::call::Error::new_err(format!("a quantile lies between 0 and 1, not at {odd}")));
        }
        self.grid(py, &levels, |belief, level| self.scale.undo(belief.quantile(level)))
    }

    /// The probabilities of values below these bounds: a row each, a column a bound.
    fn below<'py>(&self, py: Python<'py>, bounds: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let bounds: Vec<f64> = bounds.into_iter().map(|bound| self.scale.locate(bound)).collect();
        self.grid(py, &bounds, Belief::below)
    }

    /// ln E[(best − value)⁺].
    fn log_improvement<'py>(&self, py: Python<'py>, best: f64) -> Bound<'py, PyArray1<f64>> {
        let (best, unit) = (self.scale.locate(best), ln(self.scale.unit()));
        self.each(py, move |belief| belief.log_improvement(best) + unit)
    }

    /// An outcome of each row, each drawn for itself.
    fn sample<'py>(&self, py: Python<'py>, seed: u64) -> Bound<'py, PyArray1<f64>> {
        let draw = || {
            let mut rng = random::path(seed, &[]);
            self.beliefs.iter().map(|belief| self.scale.undo(belief.sample(&mut rng))).collect::<Vec<f64>>()
        };
        py.detach(draw).into_pyarray(py)
    }
}

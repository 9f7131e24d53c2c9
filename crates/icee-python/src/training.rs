//! Training: runs, as on the command line, and the logs that they learn from.

use crate::call::{Process, Result, call, json, said, watched};
use icee_base::files::{FileError, write_atomically};
use icee_base::hash::checksum;
use icee_games::logs::{LoggedStep, Logs, log_bytes};
use icee_models::job::{Job, Onlooker, report};
use icee_models::kind::new_problem;
use icee_train::{Device, DeviceChoice, HeldOutMetrics, Limits, Observer, RunFolder, StepReport};
use icee_worlds::{Observation, Observations, Registry};
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The first process that has trained: threads that make batches share a pool that lives as long as it does.
static TRAINED: OnceLock<Process> = OnceLock::new();

/// Said where that pool is not there.
const FORKED: &str = "this process is a fork of one that has trained, and has no threads to train with; start processes with \
     multiprocessing.get_context(\"spawn\")";

/// Observations of a log: numbers, or a vector a row.
#[derive(FromPyObject)]
pub enum Observed<'py> {
    /// Numbers.
    Numbers(PyReadonlyArray1<'py, i64>),
    /// Vectors.
    Vectors(PyReadonlyArray2<'py, f32>),
}

/// The columns of a log, of one length.
#[derive(FromPyObject)]
pub struct Columns<'py> {
    game: PyReadonlyArray1<'py, i64>,
    episode: PyReadonlyArray1<'py, i64>,
    step: PyReadonlyArray1<'py, i64>,
    observation: Observed<'py>,
    action: PyReadonlyArray1<'py, i64>,
    reward: PyReadonlyArray1<'py, f64>,
    probability: Option<PyReadonlyArray1<'py, f64>>,
}

impl Columns<'_> {
    /// The content of a log in the format of a path.
    fn bytes(&self, py: Python<'_>, path: &Path) -> PyResult<Vec<u8>> {
        let (game, episode, step) = (self.game.as_slice()?, self.episode.as_slice()?, self.step.as_slice()?);
        let (action, reward) = (self.action.as_slice()?, self.reward.as_slice()?);
        let probability = self.probability.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        let (numbers, vectors, width) = match &self.observation {
            Observed::Numbers(numbers) => (numbers.as_slice()?, &[][..], 0),
            Observed::Vectors(vectors) => (&[][..], vectors.as_slice()?, vectors.as_array().ncols()),
        };
        call(py, || {
            let observations = vectors.len().checked_div(width).unwrap_or(numbers.len());
            let others = [episode.len(), step.len(), action.len(), reward.len(), observations];
            if others.iter().chain(&probability.map(<[f64]>::len)).any(|&length| length != game.len()) {
                return Err(said("the columns of a log must have one length"));
            }
            let whole = |name: &str, row: usize, value: i64| {
                let problem = |_| said(format!("{name} is {value} in row {}; it must be 0 or more", row + 1));
                u64::try_from(value).map_err(problem)
            };
            let small = |name: &str, row: usize, value: i64| {
                let problem =
                    |_| said(format!("{name} is {value} in row {}; it must lie between 0 and 2^32 - 1", row + 1));
                u32::try_from(value).map_err(problem)
            };
            let line = |row: usize| -> Result<LoggedStep<'_>> {
                let observation = match width {
                    0 => Observation::Discrete(small("observation", row, numbers[row])?),
                    width => Observation::Vector(&vectors[row * width..][..width]),
                };
                Ok(LoggedStep {
                    game: whole("game", row, game[row])?,
                    episode: whole("episode", row, episode[row])?,
                    step: whole("step", row, step[row])?,
                    observation,
                    action: small("action", row, action[row])?,
                    reward: reward[row] as f32,
                    probability: probability.map(|p| p[row] as f32),
                })
            };
            let lines = (0..game.len()).map(line).collect::<Result<Vec<_>>>()?;
            Ok(log_bytes(path, lines))
        })
    }
}

/// Writes a log: JSON lines for a `.jsonl` or `.json` file, CSV otherwise.
#[pyfunction]
pub fn write_log(py: Python<'_>, path: PathBuf, columns: Columns<'_>) -> PyResult<()> {
    let bytes = columns.bytes(py, &path)?;
    call(py, || Ok(write_atomically(&path, &bytes)?))
}

/// Writes a log into a folder, under a name that is made of its content; gives its path.
#[pyfunction]
pub fn keep_log(py: Python<'_>, folder: PathBuf, columns: Columns<'_>) -> PyResult<PathBuf> {
    let bytes = columns.bytes(py, Path::new("log.csv"))?;
    call(py, || {
        std::fs::create_dir_all(&folder).map_err(FileError::io(&folder))?;
        let path = folder.join(format!("log-{:016x}.csv", checksum(0, &bytes)));
        // Refused before anything is trained; there is no file yet to be named.
        Logs::parse(&String::from_utf8_lossy(&bytes), Path::new("the log, as CSV"))?;
        write_atomically(&path, &bytes)?;
        Ok(path)
    })
}

/// The columns of a log, checked line by line: game, episode, step, observation, action, reward and, where all are known,
/// probability. Games and episodes are counted from 0.
#[pyfunction]
pub fn read_log(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Py<PyAny>>> {
    let logs = call(py, || Ok(Logs::read(&path)?))?;
    let data = &logs.data;
    let [mut games, mut episodes, mut steps] = [(); 3].map(|()| Vec::with_capacity(data.steps()));
    for game in 0..data.sequences() {
        for (number, episode) in data.sequence_episodes(game).enumerate() {
            for step in 0..data.episode_steps(episode).len() {
                games.push(game as i64);
                episodes.push(number as i64);
                steps.push(step as i64);
            }
        }
    }
    let observations = match &data.observations {
        Observations::Discrete(numbers) => {
            numbers.iter().map(|&number| i64::from(number)).collect::<Vec<_>>().into_pyarray(py).into_py_any(py)?
        }
        Observations::Vector { width, values } => {
            values.clone().into_pyarray(py).reshape([data.steps(), *width])?.into_py_any(py)?
        }
    };
    let reals = |values: Vec<f64>| values.into_pyarray(py).into_py_any(py);
    let wholes = |values: Vec<i64>| values.into_pyarray(py).into_py_any(py);
    let mut columns = vec![wholes(games)?, wholes(episodes)?, wholes(steps)?, observations];
    columns.push(wholes(data.actions.iter().map(|&action| i64::from(action)).collect())?);
    columns.push(reals(data.rewards.iter().map(|&reward| f64::from(reward)).collect())?);
    if logs.has_probabilities {
        columns.push(reals((0..data.steps()).map(|step| f64::from(data.taken_probability(step))).collect())?);
    }
    Ok(columns)
}

/// A new run. `watch` is told what happens, as JSON, and stops it where it answers with truth; of every step if asked to. Gives
/// the summary as JSON.
#[pyfunction]
#[pyo3(signature = (preset, *, method, settings, logs, out, device, threads, max_minutes, watch, every_step))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
pub fn train(
    py: Python<'_>,
    preset: &str,
    method: Option<&str>,
    settings: Vec<String>,
    logs: Option<PathBuf>,
    out: PathBuf,
    device: &str,
    threads: usize,
    max_minutes: Option<f64>,
    watch: Bound<'_, PyAny>,
    every_step: bool,
) -> PyResult<String> {
    let start = |registry: &Registry| {
        let problem = new_problem(preset, method, &settings, logs.as_deref(), registry)?;
        Ok(Job::start(problem, &out))
    };
    run(py, start, &Run { device, threads, max_minutes, watch, every_step })
}

/// A run that was stopped goes on.
#[pyfunction]
#[pyo3(signature = (run_folder, *, device, threads, max_minutes, watch, every_step))]
pub fn resume(
    py: Python<'_>,
    run_folder: PathBuf,
    device: &str,
    threads: usize,
    max_minutes: Option<f64>,
    watch: Bound<'_, PyAny>,
    every_step: bool,
) -> PyResult<String> {
    let job = |registry: &Registry| Ok(Job::resume(&run_folder, registry)?);
    run(py, job, &Run { device, threads, max_minutes, watch, every_step })
}

/// How a run is done, whether it is new or not.
struct Run<'a, 'py> {
    device: &'a str,
    threads: usize,
    max_minutes: Option<f64>,
    watch: Bound<'py, PyAny>,
    every_step: bool,
}

fn run(py: Python<'_>, job: impl FnOnce(&Registry) -> Result<Job> + Send, how: &Run<'_, '_>) -> PyResult<String> {
    let Run { device, threads, max_minutes, ref watch, every_step } = *how;
    let stop = AtomicBool::new(false);
    let mut folder = String::new();
    let work = |tell: &mut dyn FnMut(Value)| {
        if max_minutes.is_some_and(|minutes| !(minutes >= 0.0 && minutes.is_finite())) {
            return Err(said("max_minutes must be a number of minutes from 0 on"));
        }
        if !TRAINED.get_or_init(Process::this).is_this() {
            return Err(said(FORKED));
        }
        let device = Device::choose(device_of(device)?, threads)?;
        let limits = Limits { max_minutes, stop: Some(&stop) };
        let (summary, folder) =
            job(&Registry::builtin())?.run(&device, limits, None, &mut Teller { tell, every_step })?;
        json(&report(&summary, &folder))
    };
    let hear = |event: Value| {
        if let Some(run) = event["run"].as_str() {
            folder = run.to_owned();
        }
        if watch.call1((event.to_string(),))?.is_truthy()? {
            stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    let done = watched(py, &stop, work, hear);
    // Where nothing could be saved, the error is another one.
    done.map_err(|error| match error.is_instance_of::<PyKeyboardInterrupt>(py) && !folder.is_empty() {
        true => PyKeyboardInterrupt::new_err(format!("saved; go on with icee.resume({folder:?})")),
        false => error,
    })
}

/// Tells the caller's thread what happens.
struct Teller<'a> {
    tell: &'a mut dyn FnMut(Value),
    every_step: bool,
}

impl Observer for Teller<'_> {
    fn step(&mut self, report: &StepReport) {
        if self.every_step {
            let StepReport { step, steps, loss, rate, tokens_per_second } = *report;
            (self.tell)(json!({ "event": "step", "step": step, "steps": steps, "loss": loss, "rate": rate,
                "tokens_per_second": tokens_per_second }));
        }
    }

    fn evaluated(&mut self, step: u64, evaluation: &HeldOutMetrics) {
        let HeldOutMetrics { line, details, .. } = evaluation;
        (self.tell)(json!({ "event": "evaluation", "step": step, "line": line, "evaluation": details }));
    }

    fn saved(&mut self, step: u64, checkpoint: &Path) {
        (self.tell)(json!({ "event": "saved", "step": step, "checkpoint": checkpoint.display().to_string() }));
    }
}

impl Onlooker for Teller<'_> {
    fn remark(&mut self, words: &str) {
        (self.tell)(json!({ "event": "remark", "line": words }));
    }

    fn begins(&mut self, folder: &RunFolder, device: &Device, from: u64) {
        let run = folder.path().display().to_string();
        (self.tell)(json!({ "event": "start", "run": run, "device": device.describe(), "step": from }));
    }
}

fn device_of(word: &str) -> Result<DeviceChoice> {
    match word {
        "cpu" => Ok(DeviceChoice::Cpu),
        "cuda" => Ok(DeviceChoice::Cuda),
        "auto" => Ok(DeviceChoice::Auto),
        _ => Err(said(format!("device is \"cpu\", \"cuda\" or \"auto\", not \"{word}\""))),
    }
}

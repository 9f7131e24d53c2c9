//! How Python calls the engine: without the interpreter's lock, on threads of this process, and nothing but exceptions
//! comes back.

use icee_protocol::{Face, Kind, Problem, Reader, render};
use pyo3::create_exception;
use pyo3::exceptions::{
    PyConnectionError, PyFileExistsError, PyFileNotFoundError, PyOSError, PyPermissionError, PyRuntimeError,
    PyValueError,
};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;
use std::any::Any;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

create_exception!(
    icee,
    Error,
    PyValueError,
    "What icee refuses. A study's problem has a `code`, and its data as `problem`."
);

/// How often signals are looked for while something takes long.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// What goes wrong on the other side.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// An error in words.
pub fn said(words: impl Into<String>) -> Box<dyn std::error::Error + Send + Sync> {
    words.into().into()
}

/// Does `work` without the interpreter's lock. Errors become [`Error`]; a panic, which is a bug of ours, a `RuntimeError`.
///
/// # Errors
/// Those.
pub fn call<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    here(py, || in_threads(work))
}

/// As [`call`], on the caller's own thread: for what is short, or has threads of its own.
///
/// # Errors
/// As [`call`].
pub fn here<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    result(py, py.detach(|| caught(work)))
}

/// As [`call`], for what takes long: `work` gets a way to tell things, which `hear` hears on the thread of the caller, with the
/// interpreter's lock; `work` waits until it has. Meanwhile signals are looked for. The first error of `hear` or of
/// a signal sets `stop`, and is what comes back once `work` has ended well; else it is the cause of what `work` failed with.
///
/// # Errors
/// Those, and as [`call`].
pub fn watched<E: Send, T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce(&mut dyn FnMut(E)) -> Result<T> + Send,
    mut hear: impl FnMut(E) -> PyResult<()>,
) -> PyResult<T> {
    let (tell, told) = sync_channel::<E>(0);
    let (go_on, heard) = sync_channel::<()>(0);
    let told = Mutex::new(told);
    let mut failure = None;
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            // Nobody listens any more only where the caller has panicked.
            let mut tell = move |event| {
                let _ = tell.send(event).map(|()| heard.recv());
            };
            caught(|| in_threads(|| work(&mut tell)))
        });
        loop {
            let event = py.detach(|| told.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS_EVERY));
            let answer = match event {
                Ok(event) => {
                    let answer = if failure.is_none() { hear(event) } else { Ok(()) };
                    let _ = go_on.send(());
                    answer
                }
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = answer.and_then(|()| py.check_signals()) {
                stop.store(true, Ordering::Relaxed);
                failure.get_or_insert(error);
            }
        }
        py.detach(|| worker.join()).unwrap_or_else(Err)
    });
    match (failure, result(py, done)) {
        (None, done) => done,
        (Some(first), Ok(_)) => Err(first),
        (Some(first), Err(error)) => {
            error.set_cause(py, Some(first));
            Err(error)
        }
    }
}

/// What came of work, its panics among it.
type Done<T> = std::thread::Result<Result<T>>;

fn caught<T>(work: impl FnOnce() -> Result<T>) -> Done<T> {
    catch_unwind(AssertUnwindSafe(work))
}

fn result<T>(py: Python<'_>, done: Done<T>) -> PyResult<T> {
    match done {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(match error.downcast_ref::<Problem>() {
            Some(problem) => refused(py, problem),
            None => exception(&*error),
        }),
        Err(panic) => Err(bug(&*panic)),
    }
}

/// The exception of a problem: Python's own where it has one for that.
fn refused(py: Python<'_>, problem: &Problem) -> PyErr {
    let words = render::problem(problem, &Reader::at(Face::Python, None));
    let error = match (problem.kind(), problem) {
        (Kind::Missing, _) | (_, Problem::FileMissing { .. }) => PyFileNotFoundError::new_err(words),
        (Kind::Exists, _) => PyFileExistsError::new_err(words),
        (Kind::Unauthorized | Kind::Forbidden, _) => PyPermissionError::new_err(words),
        (Kind::Busy, _) => PyConnectionError::new_err(words),
        (_, Problem::File { io: true, .. }) => PyOSError::new_err(words),
        _ => Error::new_err(words),
    };
    // Where memory is too short for its data, the words are enough.
    let _ = with_data(py, &error, problem);
    error
}

/// Gives an exception the problem as data: `code`, and `problem` as a dict.
fn with_data(py: Python<'_>, error: &PyErr, problem: &Problem) -> PyResult<()> {
    let data = serde_json::to_string(problem).map_err(|error| Error::new_err(error.to_string()))?;
    let value = error.value(py);
    value.setattr("code", problem.code())?;
    value.setattr("problem", py.import("json")?.call_method1("loads", (data,))?)
}

/// The exception of an error: what the system refuses is Python's own.
fn exception(error: &(dyn std::error::Error + Send + Sync + 'static)) -> PyErr {
    let mut words = error.to_string();
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut kind = None;
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        kind = kind.or_else(|| error.downcast_ref::<std::io::Error>().map(std::io::Error::kind));
        cause = error.source();
    }
    match kind {
        Some(ErrorKind::NotFound) => PyFileNotFoundError::new_err(words),
        Some(ErrorKind::PermissionDenied) => PyPermissionError::new_err(words),
        Some(_) => PyOSError::new_err(words),
        None => Error::new_err(words),
    }
}

fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let words = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    PyRuntimeError::new_err(format!("a bug in icee, please report it: {}", words.unwrap_or("no words")))
}

/// Does `work` on the threads of this process.
///
/// # Errors
/// Those of the work, and where threads cannot be started.
pub fn in_threads<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    threads()?.install(work)
}

/// Threads of this very process: those of a parent do not live on in a fork.
fn threads() -> Result<Arc<ThreadPool>> {
    static THREADS: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let mut known = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, pool)) = &*known
        && *owner == process
    {
        return Ok(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().build()?);
    // Those of a parent are gone, and to wait for their end would be for ever.
    if let Some(parents) = known.replace((process, Arc::clone(&pool))) {
        std::mem::forget(parents);
    }
    Ok(pool)
}

/// The process that something was made in: what has threads of its own cannot be used in a fork.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// This one.
    pub fn this() -> Process {
        Process(std::process::id())
    }

    /// Whether it is this one still.
    pub fn is_this(self) -> bool {
        self == Process::this()
    }
}

/// An answer as JSON, as the command line prints it.
///
/// # Errors
/// Where it cannot be written so.
pub fn json(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}

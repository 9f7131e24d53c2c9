//! Studies: which row next? Requests and replies are the protocol's, as JSON; the package makes frames of them.

use crate::call::{Error, Process, Result, call, here, in_threads, json, said};
use icee_client::{Folder, Http, TOKEN};
use icee_protocol::{
    Column, Face, FurtherForecast, Note, Noted, ReadCells, Reader, Reply, Request, RowForecast, Said, Status,
    StudyName, Transport, Verb, render,
};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The studies of a folder, or of a server.
#[pyclass(frozen, module = "icee._native")]
pub struct Studies {
    place: Place,
    open: Mutex<Open>,
}

enum Place {
    Folder(PathBuf),
    Server { url: String, token: Option<String> },
}

/// What does the requests, in the process that has opened it.
struct Open {
    process: Process,
    transport: Box<dyn Transport>,
    /// Said with the next reply.
    notes: Vec<Note>,
}

impl Place {
    fn open(&self) -> Result<Open> {
        let process = Process::this();
        Ok(match self {
            Place::Folder(path) => {
                Open { process, transport: Box::new(Folder::new(path, Face::Python)), notes: vec![] }
            }
            Place::Server { url, token } => {
                let server = Http::new(url, token.clone(), Face::Python)?;
                let host = server.unencrypted().map(str::to_owned);
                let notes = host.map(|host| Note::Unencrypted { host }).into_iter().collect();
                Open { process, transport: Box::new(server), notes }
            }
        })
    }
}

impl Studies {
    fn at(py: Python<'_>, place: Place) -> PyResult<Studies> {
        here(py, || Ok(Studies { open: Mutex::new(place.open()?), place }))
    }

    /// The place for one caller at a time. What it has loaded has threads and connections; in a fork it is opened anew.
    fn lock(&self) -> Result<MutexGuard<'_, Open>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.process.is_this() {
            std::mem::forget(std::mem::replace(&mut *open, self.place.open()?));
        }
        Ok(open)
    }

    /// Does a request without the interpreter's lock. The notes of its reply have Python's words.
    fn send(
        &self,
        py: Python<'_>,
        study: Option<&str>,
        request: impl FnOnce() -> Result<Request> + Send,
    ) -> PyResult<Noted<Reply>> {
        here(py, || {
            let (study, request) = (study.map(str::parse::<StudyName>).transpose()?, request()?);
            // Locked before the threads are entered: one that waits takes up other calls, and these must not wait for what it holds.
            let mut open = self.lock()?;
            let transport = &mut open.transport;
            let Noted { reply, notes } = match self.place {
                Place::Folder(_) => in_threads(|| Ok(transport.send(study.as_ref(), request)?))?,
                // Its threads are elsewhere, and those here are not kept waiting for it.
                Place::Server { .. } => transport.send(study.as_ref(), request)?,
            };
            let all = std::mem::take(&mut open.notes).into_iter().chain(notes.into_iter().map(|note| note.what));
            Ok(Noted { reply, notes: in_words(all.collect()) })
        })
    }
}

#[pymethods]
impl Studies {
    /// Those in a folder, which need not be there yet.
    #[staticmethod]
    fn folder(py: Python<'_>, path: PathBuf) -> PyResult<Studies> {
        Studies::at(py, Place::Folder(path))
    }

    /// Those of a server; its token is by default that of the environment.
    #[staticmethod]
    #[pyo3(signature = (url, token=None))]
    fn server(py: Python<'_>, url: String, token: Option<String>) -> PyResult<Studies> {
        let token = token.or_else(|| std::env::var(TOKEN).ok());
        let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        Studies::at(py, Place::Server { url, token })
    }

    /// Does a request, given as JSON; its reply is JSON.
    fn request(&self, py: Python<'_>, verb: &str, study: Option<&str>, json: &str) -> PyResult<String> {
        let known = Verb::ALL.iter().find(|known| known.name() == verb);
        let verb = known.ok_or_else(|| Error::new_err(format!("there is no request \"{verb}\"")))?;
        let reply = self.send(py, study, || request_of(json, *verb))?;
        here(py, || self::json(&reply))
    }

    /// The cells of all rows, column by column, and the checksum of the sheet. What there is to note is noted with other replies.
    fn cells<'py>(&self, py: Python<'py>, study: &str) -> PyResult<(Vec<NamedCells<'py>>, String)> {
        let Noted { reply: Reply::ReadCells(all), .. } = self.send(py, Some(study), || Ok(ReadCells {}.into()))? else {
            return Err(Error::new_err(ODD));
        };
        let list = |column: &Column| Ok((column.name.clone(), PyList::new(py, column.cells.iter())?));
        Ok((all.columns.iter().map(list).collect::<PyResult<_>>()?, all.sheet))
    }

    /// Predictions of rows, column by column. The request is JSON.
    fn predict(&self, py: Python<'_>, study: &str, json: &str) -> PyResult<Forecasts> {
        let Noted { reply: Reply::Predict(predicted), notes } =
            self.send(py, Some(study), || request_of(json, Verb::Predict))?
        else {
            return Err(Error::new_err(ODD));
        };
        here(py, || {
            Ok(Forecasts { sheet: predicted.sheet, notes: self::json(&notes)?, ..Forecasts::of(predicted.rows) })
        })
    }
}

/// A request of this verb, from its JSON.
fn request_of(json: &str, verb: Verb) -> Result<Request> {
    let request = serde_json::from_str(json).and_then(|json| verb.request(json));
    request.map_err(|error| said(format!("The request is not as expected: {error}")))
}

/// A reply that belongs to another request, which no place gives.
const ODD: &str = "the reply is another request's";

/// The name of a column, and its cells.
type NamedCells<'py> = (String, Bound<'py, PyList>);

/// Predictions of rows: a list for each of their numbers.
#[derive(Default, IntoPyObject)]
pub struct Forecasts {
    id: Vec<String>,
    row: Vec<usize>,
    status: Vec<&'static str>,
    value: Vec<Option<f64>>,
    mean: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    beats_best: Vec<f64>,
    /// Those of the further results, by name.
    further: Vec<(String, FurtherForecasts)>,
    /// The checksum of the sheet.
    sheet: String,
    /// JSON.
    notes: String,
}

#[derive(IntoPyObject)]
pub struct FurtherForecasts {
    mean: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    holds: Vec<Option<f64>>,
}

impl Forecasts {
    fn of(rows: Vec<RowForecast>) -> Forecasts {
        let mut all = Forecasts { further: further(&rows), ..Forecasts::default() };
        for RowForecast { id, row, status, value, forecast } in rows {
            all.id.push(id);
            all.row.push(row);
            all.status.push(word(status));
            all.value.push(value);
            all.mean.push(forecast.mean);
            all.low.push(forecast.low);
            all.high.push(forecast.high);
            all.beats_best.push(forecast.beats_best);
        }
        all
    }
}

/// The predictions of further results, which are the same ones in all rows.
fn further(rows: &[RowForecast]) -> Vec<(String, FurtherForecasts)> {
    let Some(first) = rows.first() else { return vec![] };
    let column = |(at, FurtherForecast { name, .. }): (usize, &FurtherForecast)| {
        let of: Vec<&FurtherForecast> = rows.iter().filter_map(|row| row.forecast.further.get(at)).collect();
        let numbers = |number: fn(&FurtherForecast) -> f64| of.iter().map(|of| number(of)).collect();
        let forecasts = FurtherForecasts {
            mean: numbers(|of| of.mean),
            low: numbers(|of| of.low),
            high: numbers(|of| of.high),
            holds: of.iter().map(|of| of.holds).collect(),
        };
        (name.clone(), forecasts)
    };
    first.forecast.further.iter().enumerate().map(column).collect()
}

/// As JSON has it.
fn word(status: Status) -> &'static str {
    match status {
        Status::Told => "told",
        Status::Failed => "failed",
        Status::Impossible => "impossible",
        Status::Running => "running",
        Status::Left => "left",
    }
}

/// Notes in Python's words, whoever has sent them.
fn in_words(notes: Vec<Note>) -> Vec<Said<Note>> {
    render::said(notes, &Reader::at(Face::Python, None))
}

/// Rewrites a journal of an earlier format in the format of today; gives where it lies as it was.
#[pyfunction]
pub fn upgrade(py: Python<'_>, folder: PathBuf, study: &str) -> PyResult<PathBuf> {
    call(py, || Ok(icee_client::upgrade(&folder, &study.parse()?)?.backup))
}

//! Training runs in their folders: what each learns, its progress and its metrics.

use crate::Result;
use icee_base::files::FileError;
use icee_base::names::Unknown;
use icee_train::config::flat;
use icee_train::{History, RunInfo, look};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What a run is judged by, the first of these that it has: the return at the last episode, or the loss.
const HEADLINES: [&str; 3] = ["return/last", "held_out/loss", "loss"];

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its folder.
    pub path: PathBuf,
    /// The folder's name.
    pub name: String,
    /// What made it.
    pub info: RunInfo,
    /// Every setting by its whole key, `train.lr`.
    pub settings: BTreeMap<String, Value>,
    /// Its metrics.
    pub history: History,
    /// Whether it goes on, or has ended.
    pub state: State,
    /// Seconds that it took when it last was at work; where nobody wrote that down, from its beginning to its last metrics.
    pub seconds: Option<f64>,
    /// What the kept networks are worth, in a word or two, where that was found out: `better`, `no-better`.
    pub verdict: Option<String>,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A process trains there.
    Running,
    /// It has learned all that it was to learn.
    Finished,
    /// It can go on.
    Stopped,
}

/// What lies in a folder of runs.
#[derive(Debug)]
pub enum Found {
    /// A run.
    Run(Box<Run>),
    /// A run that cannot be read, and why.
    Damaged(PathBuf, crate::Error),
    /// A folder that is no run.
    Foreign(PathBuf),
}

/// What is read of the `summary.json` that [`crate::job`] writes.
#[derive(Deserialize)]
struct Ended {
    finished: bool,
    seconds: f64,
    #[serde(default)]
    verdict: Option<Verdict>,
}

/// What was found at the end.
#[derive(Deserialize)]
struct Verdict {
    verdict: String,
}

impl Run {
    /// Looks at a run folder, also while a process trains there.
    ///
    /// # Errors
    /// Where it is no run folder, or a damaged one.
    pub fn read(path: &Path) -> Result<Run> {
        if !look::is_run(path) {
            return Err(FileError::content(path, "this is no run folder; `icee runs` lists those there are").into());
        }
        let settings = flat(&look::config_text(path)?)?;
        let (info, history) = (RunInfo::read(path)?, History::of_run(path)?);
        let ended = ended(path)?;
        let mut run = Run {
            path: path.to_owned(),
            name: name_of(path),
            info,
            settings,
            history,
            state: State::Stopped,
            seconds: ended.as_ref().map(|ended| ended.seconds),
            verdict: ended.as_ref().and_then(|ended| Some(ended.verdict.as_ref()?.verdict.clone())),
        };
        if look::is_training(path) {
            // The summary is that of an earlier sitting.
            (run.state, run.seconds, run.verdict) = (State::Running, None, None);
        } else if ended.is_some_and(|ended| ended.finished) || run.steps().is_some_and(|all| run.step() >= all) {
            run.state = State::Finished;
        }
        run.seconds = run.seconds.or_else(|| look::span(path).map(|span| span.as_secs_f64()));
        Ok(run)
    }

    /// A setting as a word or a number; empty where the run does not say.
    #[must_use]
    pub fn setting(&self, key: &str) -> String {
        self.settings.get(key).map_or(String::new(), plain)
    }

    /// Updates done, as far as they are written down.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.history.last_step()
    }

    /// Updates to do.
    #[must_use]
    pub fn steps(&self) -> Option<u64> {
        self.settings.get("train.steps").and_then(Value::as_u64)
    }

    /// When it began, as `20260131-235959`, UTC.
    #[must_use]
    pub fn began(&self) -> Option<String> {
        look::began(&self.path)
    }

    /// The curve of a metric: what is no number cannot be drawn. None where the run has no such metric.
    #[must_use]
    pub fn curve(&self, metric: &str) -> Option<Vec<(u64, f64)>> {
        let values = self.history.values(metric)?;
        Some(values.into_iter().filter(|(_, value)| value.is_finite()).collect())
    }

    /// The name of the log that it learns from, if it does.
    #[must_use]
    pub fn log(&self) -> Option<String> {
        Some(self.info.logs.as_ref()?.file_name()?.display().to_string())
    }

    /// The last values of all that is measured on what is not learned from, in the order of their columns; of a log the least loss,
    /// which is that of the networks that are kept.
    #[must_use]
    pub fn results(&self) -> Vec<(&str, f64)> {
        let names = self.history.names().iter().map(String::as_str);
        let held_out =
            names.filter(|name| ["return/", "held_out/", "race/"].iter().any(|group| name.starts_with(group)));
        let kept = |name: &str| match self.info.logs.is_some() {
            true => self.curve(name)?.into_iter().map(|(_, value)| value).reduce(f64::min),
            false => self.history.last(name).filter(|value| value.is_finite()),
        };
        held_out.filter_map(|name| Some((name, kept(name)?))).collect()
    }
}

/// What stands in a folder of runs, the newest first; the folder of a single run is a list of one. Each is read when its turn
/// comes: metrics are large, and nobody needs all of them at once.
///
/// # Errors
/// Where the folder cannot be read. What is in it may be damaged.
pub fn list(folder: &Path) -> Result<impl Iterator<Item = Found>> {
    let paths = if look::is_run(folder) { vec![folder.to_owned()] } else { folders_in(folder)? };
    let mut dated: Vec<(Option<String>, PathBuf)> = paths.into_iter().map(|path| (look::began(&path), path)).collect();
    dated.sort_by(|a, b| b.cmp(a));
    Ok(dated.into_iter().map(|(_, path)| match Run::read(&path) {
        Ok(run) => Found::Run(Box::new(run)),
        Err(_) if !look::is_run(&path) => Found::Foreign(path),
        Err(error) => Found::Damaged(path, error),
    }))
}

/// The metric to go by where none is asked for: the first of [`HEADLINES`] that all have.
#[must_use]
pub fn headline<S: AsRef<str>>(names: &[&[S]]) -> Option<&'static str> {
    let all_have = |metric: &&str| names.iter().all(|names| names.iter().any(|name| name.as_ref() == *metric));
    HEADLINES.into_iter().find(all_have)
}

/// A metric that at least one of these runs has.
///
/// # Errors
/// [`Unknown`] with the nearest names, and all there are.
pub fn find_metric(runs: &[Run], wanted: &str) -> Result<String> {
    let mut known: Vec<&str> = Vec::new();
    for name in runs.iter().flat_map(|run| run.history.names()) {
        if !known.contains(&name.as_str()) {
            known.push(name);
        }
    }
    if known.contains(&wanted) {
        return Ok(wanted.into());
    }
    let unknown = Unknown::new("metric", wanted, &known);
    if unknown.nearest.is_empty() { Err(unknown.into()) } else { Err(crate::Error::Metric(unknown)) }
}

/// The settings, and the circumstances, in which runs differ: key, and for every run what it has.
#[must_use]
pub fn differences(runs: &[Run]) -> Vec<(String, Vec<Option<String>>)> {
    let all: Vec<BTreeMap<String, String>> = runs.iter().map(described).collect();
    let mut keys: Vec<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    keys.sort();
    keys.dedup();
    let row = |key: &String| (key.clone(), all.iter().map(|one| one.get(key).cloned()).collect::<Vec<_>>());
    keys.into_iter().map(row).filter(|(_, values)| values.iter().any(|value| *value != values[0])).collect()
}

/// Everything that was decided before a run began.
fn described(run: &Run) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> =
        run.settings.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
    let RunInfo { icee, device, platform, logs, logs_checksum, .. } = &run.info;
    for (key, value) in [("icee", icee), ("device", device), ("platform", platform)] {
        all.insert(key.into(), value.clone());
    }
    // The same log may lie in two places, and two logs may have one name.
    if let Some(log) = logs.as_ref().and_then(|path| path.file_name()) {
        let checksum = logs_checksum.as_ref().map_or(String::new(), |checksum| format!(" ({checksum})"));
        all.insert("logs".into(), format!("{}{checksum}", log.display()));
    }
    all
}

fn folders_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            FileError::content(folder, "there is no such folder; `icee train` makes runs/, else name yours")
        }
        _ => FileError::io(folder)(error),
    })?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(FileError::io(folder))?.path();
        // Through links, too: runs are large, and people move them to other disks.
        if path.is_dir() {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn ended(folder: &Path) -> Result<Option<Ended>> {
    let file = folder.join(crate::job::SUMMARY);
    match fs::read(&file) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).map_err(|e| FileError::content(&file, e.to_string()))?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::io(&file)(error).into()),
    }
}

/// The name of a folder, also of `.` and `..`.
fn name_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().unwrap_or(whole.as_os_str()).display().to_string()
}

/// A value without the quotes of a word.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("icee-runs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn write(run: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(run).unwrap();
        files.iter().for_each(|(name, text)| fs::write(run.join(name), text).unwrap());
    }

    const INFO: &str = r#"{"icee": "0.1.0", "device": "CPU", "platform": "linux", "logs": null}"#;
    const METRICS: &str = "step,loss,return/first,return/last\n1,3,,\n2,2,0.5,4\n3,1,,\n";

    #[test]
    fn runs_are_listed_the_newest_first_and_damage_is_named() {
        let root = folder("list");
        let config = "world = \"W\"\nseed = 7\n[train]\nsteps = 3\nlr = 0.001\n";
        let run = [("config.toml", config), ("run.json", INFO), ("metrics.csv", METRICS)];
        write(&root.join("W__m__7__20260101-000000"), &run);
        write(&root.join("W__m__7__20260301-000000"), &[("config.toml", &config.replace('3', "9")), run[1], run[2]]);
        write(&root.join("W__m__7__20260201-000000"), &[("config.toml", config), ("run.json", "{")]);
        write(&root.join("notes"), &[("a.txt", "")]);
        let found: Vec<Found> = list(&root).unwrap().collect();
        let [Found::Run(stopped), Found::Damaged(path, why), Found::Run(finished), Found::Foreign(foreign)] =
            &found[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((stopped.state, stopped.step(), stopped.steps()), (State::Stopped, 3, Some(9)));
        assert_eq!(
            (finished.state, finished.setting("world"), finished.setting("none")),
            (State::Finished, "W".into(), String::new())
        );
        assert_eq!(finished.results(), [("return/first", 0.5), ("return/last", 4.0)]);
        assert_eq!(finished.began().as_deref(), Some("20260101-000000"));
        assert!(path.ends_with("W__m__7__20260201-000000") && why.to_string().contains("run.json"), "{why}");
        assert!(foreign.ends_with("notes") && Run::read(foreign).unwrap_err().to_string().contains("no run folder"));
        assert_eq!(list(&finished.path).unwrap().count(), 1);
        assert!(list(&root.join("gone")).err().unwrap().to_string().contains("no such folder"));

        let runs = [(**stopped).clone(), (**finished).clone()];
        assert_eq!(differences(&runs), [("train.steps".into(), vec![Some("9".into()), Some("3".into())])]);
        assert_eq!(find_metric(&runs, "loss").unwrap(), "loss");
        let said = find_metric(&runs, "retrun/last").unwrap_err().to_string();
        assert_eq!(
            said,
            "unknown metric \"retrun/last\"; did you mean \"return/last\"? There are loss, return/first, return/last"
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_summary_says_that_a_run_was_ended_early() {
        let run = folder("early").join("run");
        let files = [("config.toml", "[train]\nsteps = 9\n"), ("run.json", INFO), ("metrics.csv", METRICS)];
        write(&run, &files);
        write(&run, &[("summary.json", r#"{"finished": true, "seconds": 2.5}"#)]);
        let read = Run::read(&run).unwrap();
        assert_eq!((read.state, read.seconds), (State::Finished, Some(2.5)));
        write(&run, &[("summary.json", "nonsense")]);
        assert!(Run::read(&run).unwrap_err().to_string().contains("summary.json"));
        fs::remove_dir_all(run.parent().unwrap()).unwrap();
    }

    #[test]
    fn what_is_compared_is_what_all_have() {
        let (games, functions) = (["loss", "return/last"], ["loss", "held_out/loss"]);
        assert_eq!(headline(&[&games[..]]), Some("return/last"));
        assert_eq!(headline(&[&functions[..]]), Some("held_out/loss"));
        assert_eq!(headline(&[&games[..], &functions]), Some("loss"));
        assert_eq!(headline(&[&["speed"]]), None);
    }
}

//! A training run, new or resumed, up to its summary; the command line and Python share it.

use crate::kind::resumed_problem;
use crate::{Error, Result};
use icee_base::files::{FileError, write_atomically};
use icee_train::{Device, Judgement, Limits, Observer, Problem, RunFolder, RunInfo, Stopped, Summary, Trainer};
use icee_worlds::Registry;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The file that says how a run ended.
pub(crate) const SUMMARY: &str = "summary.json";

/// The card's part on the verdict.
const FOUND: &str = "\n## Verdict\n";

/// Progress reports of a run.
pub trait Onlooker: Observer {
    /// A message for the user.
    fn remark(&mut self, words: &str) {
        let _ = words;
    }

    /// Training starts in this run folder, after so many steps.
    fn begins(&mut self, folder: &RunFolder, device: &Device, from: u64) {
        let _ = (folder, device, from);
    }
}

impl Onlooker for icee_train::Silent {}

/// A run that is ready to start or to resume.
pub struct Job {
    problem: Box<dyn Problem>,
    place: Place,
}

/// Where a run is written.
enum Place {
    /// In a new folder under `out`.
    New { out: PathBuf },
    /// Where it was stopped.
    Old(RunFolder),
}

impl Job {
    /// A new run in a folder of its own under `out`.
    #[must_use]
    pub fn start(problem: Box<dyn Problem>, out: &Path) -> Job {
        Job { problem, place: Place::New { out: out.to_owned() } }
    }

    /// A run that was stopped.
    ///
    /// # Errors
    /// Where there is nothing to go on from, or its log has changed.
    pub fn resume(path: &Path, registry: &Registry) -> Result<Job> {
        let folder = RunFolder::open(path)?;
        Ok(Job { problem: resumed_problem(&folder, registry)?, place: Place::Old(folder) })
    }

    /// What is learned.
    #[must_use]
    pub fn problem(&self) -> &dyn Problem {
        &*self.problem
    }

    /// Trains to the end, or until a limit. `command` is what a new run is remembered to have been made by.
    ///
    /// # Errors
    /// Whatever fails; what was saved stays.
    pub fn run(
        self,
        device: &Device,
        limits: Limits<'_>,
        command: Option<String>,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(Summary, RunFolder)> {
        let problem = &*self.problem;
        problem.remarks().iter().for_each(|words| onlooker.remark(words));
        let networks = problem.networks();
        let (device, why) = device.suited(networks.iter().map(|network| &network.spec));
        if let Some(why) = why {
            onlooker.remark(&format!("the GPU is not used: {why}"));
        }
        let (mut trainer, folder) = match self.place {
            Place::Old(folder) => (Trainer::resume(problem, &folder, &device)?, folder),
            Place::New { out } => {
                // First: where it fails, no folder is left behind.
                let trainer = Trainer::fresh(problem, &device)?;
                let info = RunInfo { command, ..RunInfo::new(&device, problem.data_file()) };
                (trainer, RunFolder::create(&out, problem, &info)?)
            }
        };
        let from = trainer.step();
        onlooker.begins(&folder, &device, from);
        let mut summary = icee_train::train(&mut trainer, &folder, limits, onlooker)?;
        if summary.stopped == Stopped::Overfitting {
            onlooker.remark(&format!("stopped at step {}: the held-out loss was rising", summary.step));
        }
        if let Some(best) = summary.best.filter(|best| *best < summary.step) {
            onlooker.remark(&format!("the checkpoint is that of step {best}, with the lowest held-out loss"));
        }
        let ended = match summary.stopped {
            Stopped::Finished | Stopped::Overfitting => true,
            // A model of a log has no other evaluation; a model of a world has some.
            Stopped::OutOfTime => problem.data_file().is_some(),
            Stopped::Interrupted => false,
        };
        if ended && let Some(judgement) = problem.judge(&device, folder.path())? {
            onlooker.remark(&judgement.words);
            write_on_card(&folder, &judgement.words)?;
            summary.judgement = Some(judgement);
        }
        let path = folder.path().join(SUMMARY);
        // Where there was nothing left to do, the summary of what was done stays.
        if summary.step > from || !path.is_file() {
            let text =
                serde_json::to_string_pretty(&report(&summary, &folder)).map_err(|e| Error::Kind(e.to_string()))?;
            write_atomically(&path, text.as_bytes())?;
        }
        Ok((summary, folder))
    }
}

/// Writes the verdict at the end of the checkpoint's card, in place of an earlier one.
fn write_on_card(folder: &RunFolder, words: &str) -> Result<()> {
    let path = folder.checkpoint().join("README.md");
    let text = std::fs::read_to_string(&path).map_err(FileError::io(&path))?;
    let card = text.split(FOUND).next().unwrap_or_default();
    Ok(write_atomically(&path, format!("{card}{FOUND}{words}\n").as_bytes())?)
}

/// The result for machines.
#[must_use]
pub fn report(summary: &Summary, folder: &RunFolder) -> Value {
    // Paths need not be UTF-8.
    let (run, checkpoint) = (folder.path().display().to_string(), folder.checkpoint().display().to_string());
    json!({
        "run": run, "checkpoint": checkpoint, "step": summary.step,
        "finished": matches!(summary.stopped, Stopped::Finished | Stopped::Overfitting), "best": summary.best,
        "seconds": summary.seconds,
        "verdict": summary.judgement.as_ref().map(|Judgement { words, details }| {
            let mut verdict = details.clone();
            verdict["words"] = json!(words);
            verdict
        }),
        "evaluation": summary.evaluation.as_ref().map(|evaluation| &evaluation.details),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::new_problem;
    use icee_train::{HeldOutMetrics, StepReport};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Writes down what it is told, and stops after a step.
    struct Notes {
        words: Vec<String>,
        stop: &'static AtomicBool,
    }

    impl Observer for Notes {
        fn step(&mut self, report: &StepReport) {
            self.words.push(format!("step {}", report.step));
            self.stop.store(report.step == 1, Ordering::Relaxed);
        }

        fn evaluated(&mut self, step: u64, _: &HeldOutMetrics) {
            self.words.push(format!("evaluated {step}"));
        }
    }

    impl Onlooker for Notes {
        fn begins(&mut self, folder: &RunFolder, _: &Device, from: u64) {
            assert!(folder.path().is_dir());
            self.words.push(format!("from {from}"));
        }
    }

    #[test]
    fn a_run_is_stopped_and_goes_on() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let registry = Registry::builtin();
        let out = std::env::temp_dir().join(format!("icee-job-{}", std::process::id()));
        let settings =
            ["train.steps=2", "train.batch=2", "train.eval_games=2", "model.attention_heads=1"].map(String::from);
        let problem = new_problem("dark-room-tiny", None, &settings, None, &registry).unwrap();
        let device = Device::cpu(1).unwrap();
        let limits = Limits { stop: Some(&STOP), ..Limits::default() };
        let mut notes = Notes { words: Vec::new(), stop: &STOP };
        let (summary, folder) = Job::start(problem, &out).run(&device, limits, None, &mut notes).unwrap();
        assert_eq!((summary.step, summary.stopped), (1, Stopped::Interrupted));
        let path = folder.path().to_owned();
        drop(folder);
        let job = Job::resume(&path, &registry).unwrap();
        let (summary, folder) = job.run(&device, limits, None, &mut notes).unwrap();
        assert_eq!(summary.stopped, Stopped::Finished);
        assert_eq!(notes.words, ["from 0", "step 1", "from 1", "step 2", "evaluated 2"]);
        let written = std::fs::read_to_string(path.join("summary.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), report(&summary, &folder));
        std::fs::remove_dir_all(out).unwrap();
    }
}

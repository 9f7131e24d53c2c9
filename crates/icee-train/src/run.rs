//! The training loop: fresh data for every batch, made on other threads while the engine computes; evaluations on held-out data;
//! checkpoints; and a stop at any step that can be resumed as if it had never been. What is learned is a
//! [`Problem`](crate::Problem).

use crate::device::{Load, Loader};
use crate::early_stopping::EarlyStopping;
use crate::metrics::Metrics;
use crate::{Error, HeldOutMetrics, Judgement, Prepared, Result, RunFolder, Trainer, feed};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Callbacks while it runs. All methods do nothing unless overridden.
pub trait Observer {
    /// A step is done.
    fn step(&mut self, report: &StepReport) {
        let _ = report;
    }

    /// An evaluation is done.
    fn evaluated(&mut self, step: u64, evaluation: &HeldOutMetrics) {
        let _ = (step, evaluation);
    }

    /// A checkpoint is written, and holds the networks of this step. The state to resume from may be saved more often:
    /// the checkpoint keeps the networks that do best on held-out data.
    fn saved(&mut self, step: u64, checkpoint: &Path) {
        let _ = (step, checkpoint);
    }
}

/// Watches nothing.
pub struct Silent;

impl Observer for Silent {}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// Steps done.
    pub step: u64,
    /// Steps to do.
    pub steps: u64,
    /// The loss.
    pub loss: f64,
    /// The learning rate.
    pub rate: f32,
    /// Tokens a second since training began or was resumed, evaluations not counted.
    pub tokens_per_second: f64,
}

/// When to stop before the last step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// Minutes of wall-clock time.
    pub max_minutes: Option<f64>,
    /// Set from outside to stop after the current step.
    pub stop: Option<&'a AtomicBool>,
}

/// Why it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// All steps are done.
    Finished,
    /// Asked to.
    Interrupted,
    /// The time limit was reached.
    OutOfTime,
    /// The held-out loss was only getting worse.
    Overfitting,
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Steps done.
    pub step: u64,
    /// Why it stopped.
    pub stopped: Stopped,
    /// The last evaluation; if the best networks are kept, theirs.
    pub evaluation: Option<HeldOutMetrics>,
    /// If the best networks are kept: the step of the checkpoint to act with.
    pub best: Option<u64>,
    /// The result of [`Problem::judge`](crate::Problem::judge) for the checkpoint, if it was asked for.
    pub judgement: Option<Judgement>,
    /// Seconds of wall-clock time.
    pub seconds: f64,
}

/// Trains from the step of `trainer` to its last step, into a run folder.
///
/// # Errors
/// [`Error::Diverged`] if the loss is no longer a number; else any other error.
pub fn train(
    trainer: &mut Trainer<'_>,
    folder: &RunFolder,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let problem = trainer.problem();
    let mut metrics = Metrics::open(folder, problem, trainer.step())?;
    let steps = trainer.step()..problem.settings().steps;
    let loader = trainer.loader()?;
    let make = |index| Fed::new(problem.batch(index)?, &loader);
    feed::with_batches(&make, steps, feed::threads(), |batches| {
        run(trainer, folder, limits, observer, &mut metrics, batches)
    })
}

/// What the threads that make batches hand over: [`Prepared`], ready for the device.
struct Fed {
    loads: Vec<Load>,
    tokens: usize,
    metrics: Vec<Option<f64>>,
}

impl Fed {
    fn new(prepared: Prepared, loader: &Loader) -> Result<Fed> {
        let Prepared { batches, tokens, metrics } = prepared;
        Ok(Fed { loads: loader.load(batches)?, tokens, metrics })
    }
}

fn run(
    trainer: &mut Trainer<'_>,
    folder: &RunFolder,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
    metrics: &mut Metrics,
    batches: &mut dyn FnMut() -> Result<Fed>,
) -> Result<Summary> {
    let settings = trainer.problem().settings();
    let steps = settings.steps;
    let start = Instant::now();
    let (mut tokens, mut busy) = (0usize, 0.0f64);
    let mut last_good = folder.state().is_file().then(|| folder.state());
    let mut evaluation = None;
    let mut stopped = Stopped::Finished;
    let watched = trainer.problem().early_stopping();
    let place = watched.and_then(|name| trainer.problem().held_out_metrics().iter().position(|known| *known == name));
    let mut held_out = match watched {
        Some(name) => EarlyStopping::read(&folder.metrics(), name)?,
        None => EarlyStopping::default(),
    };
    while trainer.step() < steps {
        let begun = Instant::now();
        let fed = batches()?;
        let rate = trainer.rate();
        let update = trainer.update(&fed.loads)?;
        let (step, loss) = (trainer.step(), update.total());
        if !(loss.is_finite() && update.norm.is_finite()) {
            return Err(Error::Diverged { step, loss, rate, last_good });
        }
        tokens += fed.tokens;
        busy += begun.elapsed().as_secs_f64();
        let tokens_per_second = tokens as f64 / busy.max(1e-9);
        observer.step(&StepReport { step, steps, loss, rate, tokens_per_second });

        stopped = match limits {
            Limits { stop: Some(stop), .. } if stop.load(Ordering::Relaxed) => Stopped::Interrupted,
            Limits { max_minutes: Some(most), .. } if start.elapsed().as_secs_f64() > most * 60.0 => Stopped::OutOfTime,
            _ => Stopped::Finished,
        };
        let every = settings.eval_every;
        let due = step == steps || (every > 0 && step.is_multiple_of(every));
        let fresh = if due { trainer.evaluate()? } else { None };
        metrics.write(step, rate, &update, &fed.metrics, tokens_per_second, fresh.as_ref())?;
        // Without evaluations, the last networks are the ones to act with.
        let mut to_act = held_out.best().is_none();
        let mut improved = false;
        if let Some(fresh) = fresh {
            observer.evaluated(step, &fresh);
            if let Some(value) = place.and_then(|place| fresh.values.get(place)) {
                improved = held_out.note(step, *value);
                to_act = improved;
            }
            if to_act {
                evaluation = Some(fresh);
            }
        }
        if stopped == Stopped::Finished && held_out.is_rising() {
            stopped = Stopped::Overfitting;
        }
        let stopping = step < steps && stopped != Stopped::Finished;
        if improved || stopping || step == steps || step.is_multiple_of(settings.save_every) {
            metrics.flush()?;
            match trainer.save(folder, to_act) {
                // Weights that could not be read back are not saved.
                Err(Error::Engine(icee_nn::Error::Checkpoint { .. })) => {
                    return Err(Error::Diverged { step, loss, rate, last_good });
                }
                saved => saved?,
            }
            last_good = Some(folder.state());
            if to_act {
                observer.saved(step, &folder.checkpoint());
            }
        }
        if stopping {
            break;
        }
    }
    if trainer.step() == steps {
        stopped = Stopped::Finished;
    }
    let best = held_out.best().map(|(step, _)| step);
    Ok(Summary {
        step: trainer.step(),
        stopped,
        evaluation,
        best,
        judgement: None,
        seconds: start.elapsed().as_secs_f64(),
    })
}

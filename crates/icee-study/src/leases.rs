//! Rows that are being tried: by whom, for how long, and what is believed of them.

use crate::answer::Answer;
use crate::ask::AskOptions;
use crate::record::{Entry, RowName, SamplerKind};
use crate::running::RunningRow;
use crate::study::{Study, not_loaded};
use crate::take_back::{each_once, running_of};
use crate::trials::Trial;
use crate::{Error, Result};
use icee_bo::acquisition::Rule;

/// For whom a row is kept, and for how long.
#[derive(Clone, PartialEq)]
pub(crate) struct Lease {
    pub until: Option<u64>,
    pub by: Option<String>,
}

/// Whether a row is somebody's; everybody's are all.
fn is_of(running: &RunningRow, by: Option<&str>) -> bool {
    by.is_none_or(|by| running.by.as_deref() == Some(by))
}

impl Study {
    /// What to try next, as people and workers ask for it. Rows whose time is up at `now` are given back. Those that are still being tried
    /// (by whoever asks, if that is said) are repeated, unless `more` are wanted; where there are none, new ones are suggested.
    ///
    /// # Errors
    /// As [`Study::ask_for`].
    pub fn ask_or_repeat(&mut self, options: &AskOptions, more: bool, now: u64) -> Result<Answer> {
        let late = self.expire(now)?;
        let by = options.by.as_deref().map(str::trim);
        self.load_and_update()?;
        let running = if more { None } else { self.running_of(by, options.sampler)? };
        let mut notes = Vec::new();
        if !late.is_empty() {
            notes.push(format!("time is up for {}: given back, and may be suggested again", late.join(", ")));
        }
        let is_special = options.condition.is_some() || !options.same.is_empty() || options.until.is_some();
        if running.is_some() && is_special {
            notes.push(
                "where, same and within are for new rows; these are still running, --more asks for others".into(),
            );
        }
        let mut answer = match running {
            Some(running) => {
                let still = running.suggestions.len();
                if still < options.count {
                    notes.push(format!(
                        "{} rows were asked for, and {still} are still running; --more asks for others",
                        options.count
                    ));
                }
                running
            }
            None => self.ask_for(options)?,
        };
        answer.notes.splice(0..0, notes);
        Ok(answer)
    }

    /// Gives back the rows whose time is up at `now`, in seconds since 1970: they may be suggested again, and what is told of them
    /// later counts all the same. Says which.
    ///
    /// # Errors
    /// Where the journal cannot be used.
    pub fn expire(&mut self, now: u64) -> Result<Vec<String>> {
        self.alone(|study| {
            let late = study.trials.running().filter(|running| running.until.is_some_and(|until| until <= now));
            let rows: Vec<RowName> = late.map(|running| running.name.clone()).collect();
            let names = rows.iter().map(RowName::shown).collect();
            if !rows.is_empty() {
                study.record(Entry::Withdraw { rows })?;
            }
            Ok(names)
        })
    }

    /// Prolongs the time of rows that are running: they are given back at `until`, in seconds since 1970, or later where that was said
    /// before. In the journal they are withdrawn and suggested once more, which every version reads; who dies in between has given
    /// them back. Whoever says who he is (`by`) prolongs no row that another has by now.
    ///
    /// # Errors
    /// Where a row is not known, not running or another's; then nothing changes.
    pub fn renew(&mut self, ids: &[&str], until: u64, by: Option<&str>) -> Result<()> {
        let found = self.find(ids)?.into_iter().collect::<std::result::Result<_, _>>().map_err(Error::Study)?;
        let rows = each_once(found);
        self.alone(|study| {
            study.still_loaded()?;
            let (mut leases, mut problems) = (Vec::new(), Vec::new());
            for row in &rows {
                match running_of(&study.trials, row, by) {
                    // Whoever has it keeps it.
                    Ok(had) => leases.push(Lease { until: had.until.max(Some(until)), by: had.by.clone() }),
                    Err(problem) => problems.push(problem),
                }
            }
            if !problems.is_empty() {
                return Err(Error::Conflict(problems.join("; ")));
            }
            let sampler = study.header.sampler;
            study.record(Entry::Withdraw { rows: rows.clone() })?;
            let mut rows = rows.into_iter();
            leases.chunk_by(PartialEq::eq).try_for_each(|leases| {
                let Lease { until, by } = leases[0].clone();
                study.record(Entry::Ask { rows: rows.by_ref().take(leases.len()).collect(), sampler, until, by })
            })
        })
    }

    /// The rows that were suggested and not told yet, with what is believed of them; none where there are none. Nothing is
    /// written down.
    ///
    /// # Errors
    /// Where the pool or the journal cannot be used.
    pub fn pending(&mut self, sampler: Option<SamplerKind>) -> Result<Option<Answer>> {
        self.load_and_update()?;
        self.running(sampler)
    }

    /// The same for one who only looks: a sheet that has changed is not taken in.
    ///
    /// # Errors
    /// Where the pool cannot be used.
    pub fn running(&mut self, sampler: Option<SamplerKind>) -> Result<Option<Answer>> {
        self.running_of(None, sampler)
    }

    /// The same of those that one person or worker has.
    fn running_of(&mut self, by: Option<&str>, sampler: Option<SamplerKind>) -> Result<Option<Answer>> {
        self.load()?;
        if !self.trials.running().any(|running| is_of(running, by)) {
            return Ok(None);
        }
        let (sampler, note) = self.resolve(sampler)?;
        self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let Some(rows) = &self.rows else { return Err(not_loaded()) };
        let goals = self.header.goals();
        let aims = self.aims();
        let running: Vec<&RunningRow> = self.trials.running().filter(|running| is_of(running, by)).collect();
        let places: Vec<usize> = running.iter().map(|running| running.row).collect();
        let known = aims.suffice(predictor.surrogate.least_history());
        let beliefs = if known && predictor.rule != Rule::Random {
            predictor.predict_all(&rows.points, &aims.histories(predictor.history), &places)?
        } else {
            vec![]
        };
        let chosen = running.iter().enumerate().map(|(at, running)| {
            let lease = Lease { until: running.until, by: running.by.clone() };
            (running.row, beliefs.iter().map(|beliefs| &beliefs[at]).collect(), lease)
        });
        let suggestions = self.suggestions(rows, &aims, chosen);
        let told_best = self.trials.best(&goals).and_then(Trial::value);
        let left = self.left();
        let mut notes = self.take_notes();
        notes.extend(note);
        Ok(Some(Answer { suggestions, still_running: true, sampler, best: told_best, remaining: None, left, notes }))
    }
}

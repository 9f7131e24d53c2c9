//! Asking a study which rows to try next. They are chosen without the lock, and recorded if no other process has
//! written meanwhile.

use crate::aims::Aims;
use crate::answer::{explain_beside, forecast, remaining_of};
use crate::choose::{Choice, Scene};
use crate::condition::beginning;
use crate::error::Result;
use crate::predictor::Predictor;
use crate::record::{Asked, Entry, ModelPin, RowName, SamplerKind};
use crate::rows::Rows;
use crate::running::RunningRow;
use crate::study::Study;
use crate::trials::Trial;
use icee_base::random;
use icee_bo::acquisition::Rule;
use icee_bo::belief::Belief;
use icee_protocol::{Answer, Note, Problem, Suggestion};
use std::cell::LazyCell;

/// Suggestions in one answer, at most.
pub const MOST_SUGGESTIONS: usize = 1000;
/// The same with several results, whose models are fitted for every row of a batch.
const MOST_OF_SEVERAL: usize = 64;
/// Suggestions of one answer that are explained: each explanation compares with all measured rows.
const EXPLAINED: usize = 32;
/// Characters of a person's name.
const LONGEST_NAME: usize = 64;

/// The fields of a request for suggestions.
#[derive(Clone, Debug, Default)]
pub struct AskOptions {
    /// How many rows.
    pub count: usize,
    /// Another sampler than the study's.
    pub sampler: Option<SamplerKind>,
    /// Only rows that satisfy this, such as `temp < 100 and solvent != DMF`.
    pub condition: Option<String>,
    /// Columns in which all rows of the batch are to have the same cells.
    pub same: Vec<String>,
    /// When the reservation expires, in seconds since 1970.
    pub until: Option<u64>,
    /// The person or worker who will try them.
    pub by: Option<String>,
    /// Only new rows; otherwise rows in progress are repeated to the request that they answer.
    pub more: bool,
    /// Goes on with the learned model at hand, whatever was used before.
    pub accept_model: bool,
    /// The current time, in seconds since 1970: reservations expire.
    pub now: u64,
}

/// The person that a row is reserved for, and until when.
#[derive(Clone, Default)]
struct Lease {
    until: Option<u64>,
    by: Option<String>,
}

/// A row of an answer, with the predictions of its results, if there are any.
struct Picked<'b> {
    row: usize,
    beliefs: Vec<&'b Belief>,
    lease: Lease,
    running: bool,
}

/// A person's name.
///
/// # Errors
/// Where it cannot be one.
pub(crate) fn person(name: &str) -> Result<String> {
    match name.trim() {
        name if (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control) => {
            Ok(name.into())
        }
        _ => Err(Problem::PersonName { most: LONGEST_NAME }),
    }
}

impl AskOptions {
    fn check(&self, aims: &Aims) -> Result<()> {
        let several = !aims.is_single();
        let most = if several { MOST_OF_SEVERAL } else { MOST_SUGGESTIONS };
        match (1..=most).contains(&self.count) {
            true => Ok(()),
            false => Err(Problem::Count { count: self.count, most, several }),
        }
    }

    fn asked(&self) -> Asked {
        Asked { condition: self.condition.as_deref().map(|text| text.trim().to_owned()), same: self.same.clone() }
    }

    /// Whether a row in progress answers this request, for which a sampler picks.
    fn is_answered_by(&self, running: &RunningRow, sampler: SamplerKind) -> bool {
        !self.more && sampler == running.sampler && running.by == self.by && running.asked == self.asked()
    }
}

impl Study {
    /// Suggests new rows to try; they are in the journal when this returns.
    ///
    /// # Errors
    /// Where nothing is left, or the sheet or the journal cannot be used.
    pub fn ask(&mut self, count: usize, sampler: Option<SamplerKind>) -> Result<Answer> {
        self.suggest(&AskOptions { count, sampler, more: true, ..AskOptions::default() })
    }

    /// The same with all fields. Rows whose reservation has expired are released first.
    ///
    /// # Errors
    /// As [`Study::ask`], and where a condition makes no sense or a column is not known.
    pub fn suggest(&mut self, options: &AskOptions) -> Result<Answer> {
        let by = options.by.as_deref().map(person).transpose()?;
        let options = AskOptions { by: by.clone(), ..options.clone() };
        self.follow_sheet()?;
        self.origin.by = by;
        // Choosing can take long, so others need not wait for it. The choice stands if no other process has written
        // meanwhile, and is the same as under the lock; otherwise the rows are chosen again while others wait.
        self.refresh()?;
        let (seen, said) = (self.journal.position(), self.notes.len());
        let answer = self.draft(&options).inspect_err(|_| self.roll_back())?;
        self.commit(seen, answer, |study| {
            // These notes are about a step that was not made.
            study.notes.truncate(said);
            study.draft(&options)
        })
    }

    /// The rows that would be suggested now; nothing is recorded.
    ///
    /// # Errors
    /// As [`Study::suggest`].
    pub fn preview(&mut self, options: &AskOptions) -> Result<Answer> {
        self.refresh()?;
        let before = self.trials.clone();
        let answer = self.draft(options);
        self.put_back(before);
        answer
    }

    /// The answer as of now. Its changes are made in memory and not recorded yet.
    fn draft(&mut self, options: &AskOptions) -> Result<Answer> {
        self.load()?;
        if options.accept_model {
            self.accept_model(options.sampler)?;
        }
        let expired = self.expire(options.now)?;
        // Made of all results: once.
        let aims = self.aims();
        options.check(&aims)?;
        let (sampler, note) = self.resolve(options.sampler)?;
        let mut notes = Vec::from_iter(note);
        notes.extend((!expired.is_empty()).then_some(Note::Expired { rows: expired }));
        let used = self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let mut repeated: Vec<RunningRow> =
            self.trials.running().filter(|running| options.is_answered_by(running, sampler)).cloned().collect();
        repeated.truncate(options.count);
        let wanted = options.count - repeated.len();
        let choice = self.fresh(options, &aims, &mut predictor, &repeated, wanted)?;
        notes.extend(self.remarks(options, &aims, &choice, &predictor, repeated.len()));
        let answer = self.answer(options, &aims, sampler, &mut predictor, &repeated, &choice)?;
        notes.extend(self.note_model(used.filter(|_| wanted > 0))?);
        self.extend(&repeated, options.until)?;
        if !choice.rows.is_empty() {
            let rows = self.loaded()?;
            let rows: Vec<RowName> = choice.rows.iter().map(|(row, _)| rows.name(*row)).collect();
            self.change(Entry::Ask { rows, sampler, until: options.until, asked: options.asked() })?;
        }
        self.notes.extend(notes);
        Ok(answer)
    }

    /// New rows, beside those that are repeated.
    fn fresh(
        &mut self,
        options: &AskOptions,
        aims: &Aims,
        predictor: &mut Predictor,
        repeated: &[RunningRow],
        wanted: usize,
    ) -> Result<Choice> {
        let mut taken = self.trials.taken(self.header.pool.rows);
        let (seed, answers) = (self.header.seed, self.tally.answers);
        let Some(rows) = &mut self.rows else { return Ok(Choice::default()) };
        rows.mark_repeated(&mut taken);
        let mut excluded = vec![false; taken.len()];
        // Parsed even if no new row is needed, so that a wrong condition is always reported.
        if let Some(condition) = &options.condition {
            rows.exclude(condition, &mut excluded)?;
        }
        let settings = if options.same.is_empty() { None } else { Some(rows.settings(&options.same)?) };
        if let (Some(settings), Some(first)) = (&settings, repeated.first()) {
            let setting = settings[first.row];
            excluded.iter_mut().zip(settings).for_each(|(excluded, other)| *excluded |= *other != setting);
        }
        taken.iter_mut().zip(&excluded).for_each(|(taken, excluded)| *taken |= excluded);
        if wanted == 0 {
            let left = taken.iter().filter(|taken| !**taken).count();
            return Ok(Choice { left, scored: left, ..Choice::default() });
        }
        let scene = Scene {
            pool: &rows.points,
            trials: &self.trials,
            aims,
            taken: &taken,
            excluded: &excluded,
            costs: rows.costs.as_deref(),
            settings: settings.as_deref(),
        };
        let choice = scene.choose(predictor, wanted, &mut random::path(seed, &[answers]))?;
        if !choice.rows.is_empty() || !repeated.is_empty() {
            return Ok(choice);
        }
        Err(match &options.condition {
            Some(condition) => {
                let unknown = rows.unknown_word(condition)?;
                Problem::NoneSatisfies { condition: beginning(condition), unknown }
            }
            None => Problem::NoneLeft { rows: self.header.pool.rows, running: self.trials.count_running() },
        })
    }

    /// The notes of an answer.
    fn remarks(
        &self,
        options: &AskOptions,
        aims: &Aims,
        choice: &Choice,
        predictor: &Predictor,
        repeated: usize,
    ) -> Vec<Note> {
        let mut notes = Vec::new();
        let (asked, all) = (options.count, repeated + choice.rows.len());
        if all < asked {
            notes.push(match options.same.is_empty() {
                true => Note::FewerLeft { asked, left: all },
                false => Note::FewerAlike { asked, rows: all },
            });
        }
        let others = self.trials.running().filter(|running| running.by == options.by).count().saturating_sub(repeated);
        if others > 0 && !options.more {
            notes.push(Note::OthersRunning { rows: others });
        }
        if choice.rows.is_empty() {
            return notes;
        }
        if choice.scored < choice.left {
            notes.push(Note::Scored { left: choice.left, scored: choice.scored });
        }
        notes.extend(self.trials.decades(&self.goals()));
        let results = aims.known();
        if results > predictor.history && predictor.rule != Rule::Random {
            notes.push(predictor.thinned(results));
        }
        notes
    }

    /// Rows in progress and new ones, with their predictions.
    fn answer(
        &self,
        options: &AskOptions,
        aims: &Aims,
        sampler: SamplerKind,
        predictor: &mut Predictor,
        repeated: &[RunningRow],
        choice: &Choice,
    ) -> Result<Answer> {
        let (rows, goals) = (self.loaded()?, self.goals());
        let beliefs = self.beliefs(rows, aims, predictor, repeated)?;
        let repeats = repeated.iter().enumerate().map(|(at, running)| Picked {
            row: running.row,
            beliefs: beliefs.iter().map(|beliefs| &beliefs[at]).collect(),
            lease: Lease { until: running.until.max(options.until), by: running.by.clone() },
            running: true,
        });
        let lease = Lease { until: options.until, by: options.by.clone() };
        let fresh = choice.rows.iter().map(|(row, beliefs)| Picked {
            row: *row,
            beliefs: beliefs.iter().collect(),
            lease: lease.clone(),
            running: false,
        });
        let mut suggestions = self.suggestions(rows, aims, repeats.chain(fresh));
        if let Some((likeliest, chance)) = choice.likeliest {
            let name = rows.name(likeliest).shown();
            let alone = self.trials.count_running() == 0;
            for (at, suggestion) in suggestions.iter_mut().skip(repeated.len()).enumerate() {
                explain_beside(suggestion, &name, chance, alone && at == 0, predictor.rule);
            }
        }
        Ok(Answer {
            suggestions,
            still_running: choice.rows.is_empty(),
            sampler: sampler.name().to_owned(),
            best: self.trials.best(&goals).and_then(Trial::value),
            remaining: choice.remaining.map(remaining_of),
            left: choice.left,
            sheet: self.sheet_fingerprint().to_owned(),
        })
    }

    /// The predictions of rows in progress.
    fn beliefs(
        &self,
        rows: &Rows,
        aims: &Aims,
        predictor: &mut Predictor,
        running: &[RunningRow],
    ) -> Result<Vec<Vec<Belief>>> {
        let known = aims.suffice(predictor.surrogate.least_history());
        if running.is_empty() || !known || predictor.rule == Rule::Random {
            return Ok(vec![]);
        }
        let places: Vec<usize> = running.iter().map(|running| running.row).collect();
        predictor.predict_all(&rows.points, &aims.histories(predictor.history), &places)
    }

    fn suggestions<'b>(&self, rows: &Rows, aims: &Aims, picked: impl Iterator<Item = Picked<'b>>) -> Vec<Suggestion> {
        // Compares with all results, so it is only made for rows that have a prediction.
        let (front, goals) = (LazyCell::new(|| aims.front()), self.goals());
        let suggestion = |(at, Picked { row, beliefs, lease, running }): (usize, Picked<'b>)| {
            let forecast = (!beliefs.is_empty()).then(|| forecast(&beliefs, aims, &front, &goals));
            let explained = at < EXPLAINED && forecast.is_some();
            let reasons = if explained { self.reasons(rows, row) } else { vec![] };
            let (name, cells, repeat) = (rows.name(row), rows.cells(row), self.trials.outcome(row).is_some());
            let Lease { until, by } = lease;
            Suggestion { id: name.shown(), row: name.row, cells, repeat, running, until, by, forecast, reasons }
        };
        picked.enumerate().map(suggestion).collect()
    }

    /// All rows in progress, with their predictions. Nothing is recorded.
    ///
    /// # Errors
    /// Where the sheet cannot be used.
    pub fn running(&mut self, sampler: Option<SamplerKind>) -> Result<Vec<Suggestion>> {
        self.load()?;
        let mut predictor = self.looking(sampler)?;
        let (rows, aims) = (self.loaded()?, self.aims());
        let running: Vec<RunningRow> = self.trials.running().cloned().collect();
        let beliefs = self.beliefs(rows, &aims, &mut predictor, &running)?;
        let picked = running.iter().enumerate().map(|(at, running)| Picked {
            row: running.row,
            beliefs: beliefs.iter().map(|beliefs| &beliefs[at]).collect(),
            lease: Lease { until: running.until, by: running.by.clone() },
            running: true,
        });
        Ok(self.suggestions(rows, &aims, picked))
    }

    /// Releases the rows whose reservation has expired, and returns them.
    fn expire(&mut self, now: u64) -> Result<Vec<String>> {
        let late = self.trials.running().filter(|running| running.until.is_some_and(|until| until <= now));
        let rows: Vec<RowName> = late.map(|running| running.name.clone()).collect();
        let names = rows.iter().map(RowName::shown).collect();
        if !rows.is_empty() {
            self.change(Entry::Expire { rows })?;
        }
        Ok(names)
    }

    /// Extends the reservations of repeated rows to the one that was asked for.
    fn extend(&mut self, repeated: &[RunningRow], until: Option<u64>) -> Result<()> {
        let Some(until) = until else { return Ok(()) };
        let short = repeated.iter().filter(|running| running.until.is_none_or(|had| had < until));
        let rows: Vec<RowName> = short.map(|running| running.name.clone()).collect();
        if rows.is_empty() { Ok(()) } else { self.change(Entry::Renew { rows, until }) }
    }

    /// Records which learned model is used, if the journal does not say so yet.
    fn note_model(&mut self, used: Option<ModelPin>) -> Result<Option<Note>> {
        let Some(here) = used.filter(|_| self.trials.model.is_none()) else { return Ok(None) };
        let note = Note::ModelNoted { model: here.to_string() };
        self.change(Entry::Model(here))?;
        Ok(Some(note))
    }

    /// Goes on with the learned model that a new study would use. No effect if the sampler is not a learned model.
    fn accept_model(&mut self, sampler: Option<SamplerKind>) -> Result<()> {
        let learned = self.resolve(sampler)?.0 == SamplerKind::Learned;
        let here = self.models.pin(self.width(), None).filter(|_| learned);
        match here.filter(|here| self.trials.model.as_ref() != Some(here)) {
            Some(here) => self.change(Entry::Model(here)),
            None => Ok(()),
        }
    }
}

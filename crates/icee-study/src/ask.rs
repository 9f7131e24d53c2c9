//! Asking a study: which rows to try next. They are chosen while others may write, and written down if nobody has.

use crate::answer::{Answer, Forecast, Suggestion};
use crate::choose::Scene;
use crate::record::{Entry, ModelPin, SamplerKind};
use crate::rows::Rows;
use crate::study::{Study, lowest, not_loaded};
use crate::trials::{Trial, Trials, Units};
use crate::{Error, Result};
use icee_base::random;
use icee_bo::belief::Belief;

/// Suggestions in one answer, at most.
pub const MOST_SUGGESTIONS: usize = 1000;
/// How often a choice is made without keeping the others waiting. If they have written each time meanwhile, they have to wait.
const UNLOCKED_TRIES: usize = 2;

/// An answer that is not in the journal yet.
struct Draft {
    answer: Answer,
    entry: Entry,
    /// The learned model behind it.
    used: Option<ModelPin>,
}

/// What suggestions are made from.
struct View<'a> {
    rows: &'a Rows,
    trials: &'a Trials,
    units: &'a Units,
    /// The lowest value so far, in the models' unit.
    best: f64,
}

impl View<'_> {
    /// A row with what is believed of it.
    fn suggestion(&self, row: usize, belief: Option<&Belief>) -> Suggestion {
        let forecast = belief.map(|belief| Forecast::new(belief, self.units, self.best));
        Suggestion::new(&self.rows.name(row), self.rows.cells(row), self.trials.outcome(row).is_some(), forecast)
    }
}

impl Study {
    /// Suggests rows to try, none of which was suggested or told before; they are in the journal when this returns.
    ///
    /// # Errors
    /// Where nothing is left, or the pool or the journal cannot be used.
    pub fn ask(&mut self, count: usize, sampler: Option<SamplerKind>) -> Result<Answer> {
        self.ask_where(count, sampler, None)
    }

    /// The same, of rows that satisfy a condition such as `temp < 100 and solvent != DMF`.
    ///
    /// # Errors
    /// As [`Study::ask`], and where the condition makes no sense.
    pub fn ask_where(&mut self, count: usize, sampler: Option<SamplerKind>, condition: Option<&str>) -> Result<Answer> {
        if !(1..=MOST_SUGGESTIONS).contains(&count) {
            return Err(Error::Study(format!("{count} rows were asked for; ask for 1 to {MOST_SUGGESTIONS}")));
        }
        // Choosing can take long. What was chosen stands if nobody has written meanwhile, and is the same as under the lock.
        for _ in 0..UNLOCKED_TRIES {
            self.load_and_update()?;
            let seen = self.journal.position();
            let draft = self.draft(count, sampler, condition)?;
            let still = |study: &mut Study| (study.journal.position() == seen).then(|| study.commit(draft)).transpose();
            if let Some(answer) = self.alone(still)? {
                return Ok(answer);
            }
        }
        self.alone(|study| {
            study.load()?;
            let draft = study.draft(count, sampler, condition)?;
            study.commit(draft)
        })
    }

    /// The rows that were suggested and not told yet, with what is believed of them; none where there are none. Nothing is
    /// written down.
    ///
    /// # Errors
    /// Where the pool or the journal cannot be used.
    pub fn pending(&mut self, sampler: Option<SamplerKind>) -> Result<Option<Answer>> {
        self.load_and_update()?;
        if self.trials.count_running() == 0 {
            return Ok(None);
        }
        let (sampler, note) = self.resolve(sampler)?;
        self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let Some(rows) = &self.rows else { return Err(not_loaded()) };
        let units = Units::of(&self.trials, self.header.direction);
        let history = units.history(&self.trials);
        let running: Vec<usize> = self.trials.running().map(|(row, _)| *row).collect();
        let known = self.trials.values() >= predictor.surrogate.least_history();
        let beliefs = if known { predictor.predict(&rows.points, &history, &running)? } else { vec![] };
        let view = View { rows, trials: &self.trials, units: &units, best: lowest(&history) };
        let rows = running.iter().enumerate();
        let suggestions = rows.map(|(at, &row)| view.suggestion(row, beliefs.get(at))).collect();
        let told_best = self.trials.best(self.header.direction).and_then(Trial::value);
        let left = self.left();
        let mut notes = self.take_notes();
        notes.extend(note);
        Ok(Some(Answer { suggestions, sampler, best: told_best, remaining: None, left, notes }))
    }

    /// What would be answered now.
    fn draft(&mut self, count: usize, sampler: Option<SamplerKind>, condition: Option<&str>) -> Result<Draft> {
        let (sampler, note) = self.resolve(sampler)?;
        let mut notes = Vec::from_iter(note);
        let used = self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let Some(rows) = &mut self.rows else { return Err(not_loaded()) };
        let units = Units::of(&self.trials, self.header.direction);
        let history = units.history(&self.trials);
        let mut taken = self.trials.taken(rows.points.size());
        rows.mark_repeated(&mut taken);
        if let Some(condition) = condition {
            rows.exclude(condition, &mut taken)?;
        }
        let scene = Scene { pool: &rows.points, trials: &self.trials, history: &history, taken: &taken };
        let choice =
            scene.choose(&mut predictor, count, &mut random::path(self.header.seed, &[self.journal.lines()]))?;
        if choice.rows.is_empty() {
            return Err(Error::Study(match condition {
                Some(condition) => format!("no row that is left satisfies --where \"{condition}\""),
                None => self.nothing_left(),
            }));
        }
        if choice.rows.len() < count {
            notes.push(format!("only {} rows are left", choice.rows.len()));
        }
        if choice.scored < choice.left {
            notes.push(format!(
                "{} rows are left; {} of them were looked at: the neighbours of the best rows, and others by chance",
                choice.left, choice.scored
            ));
        }
        if history.len() > predictor.history {
            notes.push(format!(
                "{} rows were told; {} (the best, the latest, and some spread over the rest)",
                history.len(),
                predictor.thinning
            ));
        }
        let view = View { rows, trials: &self.trials, units: &units, best: lowest(&history) };
        let suggestions = choice.rows.iter().map(|(row, belief)| view.suggestion(*row, belief.as_ref())).collect();
        let entry = Entry::Ask { rows: choice.rows.iter().map(|(row, _)| rows.name(*row)).collect(), sampler };
        let told_best = self.trials.best(self.header.direction).and_then(Trial::value);
        let answer =
            Answer { suggestions, sampler, best: told_best, remaining: choice.remaining, left: choice.left, notes };
        Ok(Draft { answer, entry, used })
    }

    /// Writes an answer down. Only under the lock.
    fn commit(&mut self, draft: Draft) -> Result<Answer> {
        let Draft { mut answer, entry, used } = draft;
        let remembered = self.remember_model(used)?;
        self.record(entry)?;
        answer.notes.extend(remembered);
        answer.notes.splice(0..0, self.take_notes());
        Ok(answer)
    }

    /// Writes down which learned model was used, where the journal does not say so yet.
    fn remember_model(&mut self, used: Option<ModelPin>) -> Result<Option<String>> {
        let Some(here) = used.filter(|_| self.trials.model.is_none()) else { return Ok(None) };
        let note = format!("from now on this study uses the model {here}; it did not say which one before");
        self.record(Entry::Model(here))?;
        Ok(Some(note))
    }

    fn nothing_left(&self) -> String {
        let (rows, running) = (self.header.pool.rows, self.trials.count_running());
        match running {
            0 => format!("all {rows} rows have been told: nothing is left to suggest"),
            _ => {
                format!("all {rows} rows have been told or suggested: nothing is left; {running} are still to be told")
            }
        }
    }
}

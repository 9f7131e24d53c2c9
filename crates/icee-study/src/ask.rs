//! Asking a study: which rows to try next. They are chosen while others may write, and written down if nobody has.

use crate::aims::Aims;
use crate::answer::{Answer, Forecast, Suggestion};
use crate::choose::Scene;
use crate::condition::beginning;
use crate::leases::Lease;
use crate::record::{Entry, ModelPin, SamplerKind};
use crate::rows::Rows;
use crate::study::{Study, not_loaded};
use crate::trials::Trial;
use crate::{Error, Result};
use icee_base::random;
use icee_bo::acquisition::Rule;
use icee_bo::belief::Belief;
use std::cell::LazyCell;

/// Suggestions in one answer, at most.
pub const MOST_SUGGESTIONS: usize = 1000;
/// The same of several outcomes, whose models are fitted for every row of a batch.
const MOST_OF_SEVERAL: usize = 64;
/// Suggestions of one answer that are explained: each takes a look at all rows told.
const EXPLAINED: usize = 32;
/// Characters of the name of whoever tries rows.
const LONGEST_NAME: usize = 64;
/// How often a choice is made without keeping the others waiting. If they have written each time meanwhile, they have to wait.
const UNLOCKED_TRIES: usize = 2;

/// What is asked for.
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
    /// When the rows are to be given back if nothing was told of them, in seconds since 1970.
    pub until: Option<u64>,
    /// Who will try them.
    pub by: Option<String>,
}

/// An answer that is not in the journal yet.
struct Draft {
    answer: Answer,
    entry: Entry,
    /// The learned model behind it.
    used: Option<ModelPin>,
}

/// Somebody's name.
fn who(name: &str) -> Result<String> {
    match name.trim() {
        name if (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control) => {
            Ok(name.into())
        }
        _ => Err(Error::Study(format!("who tries the rows is said in 1 to {LONGEST_NAME} characters, on one line"))),
    }
}

impl Study {
    /// Suggests rows to try, none of which was suggested or told before; they are in the journal when this returns.
    ///
    /// # Errors
    /// Where nothing is left, or the pool or the journal cannot be used.
    pub fn ask(&mut self, count: usize, sampler: Option<SamplerKind>) -> Result<Answer> {
        self.ask_for(&AskOptions { count, sampler, ..AskOptions::default() })
    }

    /// The same with all that can be asked for.
    ///
    /// # Errors
    /// As [`Study::ask`], and where a condition makes no sense or a column is not known.
    pub fn ask_for(&mut self, options: &AskOptions) -> Result<Answer> {
        // Choosing can take long. What was chosen stands if nobody has written meanwhile, and is the same as under the lock.
        for _ in 0..UNLOCKED_TRIES {
            self.load_and_update()?;
            let seen = self.journal.position();
            let draft = self.draft(options)?;
            let still = |study: &mut Study| (study.journal.position() == seen).then(|| study.commit(draft)).transpose();
            if let Some(answer) = self.alone(still)? {
                return Ok(answer);
            }
        }
        self.alone(|study| {
            study.load()?;
            let draft = study.draft(options)?;
            study.commit(draft)
        })
    }

    /// What would be suggested now; nothing is written down.
    ///
    /// # Errors
    /// As [`Study::ask_for`].
    pub fn preview(&mut self, options: &AskOptions) -> Result<Answer> {
        self.load()?;
        self.draft(options).map(|draft| draft.answer)
    }

    /// Rows with what is believed of their outcomes, if anything is, who has them and for how long.
    pub(crate) fn suggestions<'b>(
        &self,
        rows: &Rows,
        aims: &Aims,
        chosen: impl Iterator<Item = (usize, Vec<&'b Belief>, Lease)>,
    ) -> Vec<Suggestion> {
        // Takes a look at all that was told, so it is only made for rows that have a forecast.
        let (front, goals) = (LazyCell::new(|| aims.front()), self.header.goals());
        let suggestion = |(at, (row, beliefs, Lease { until, by })): (usize, (usize, Vec<&'b Belief>, Lease))| {
            let forecast = (!beliefs.is_empty()).then(|| Forecast::new(&beliefs, aims, &front, &goals));
            let explained = at < EXPLAINED && forecast.is_some();
            let reasons = if explained { self.reasons(rows, row) } else { vec![] };
            let (name, cells, repeat) = (rows.name(row), rows.cells(row), self.trials.outcome(row).is_some());
            Suggestion { id: name.shown(), row: name.row, cells, repeat, until, by, forecast, reasons }
        };
        chosen.enumerate().map(suggestion).collect()
    }

    /// What would be answered now.
    fn draft(&mut self, options: &AskOptions) -> Result<Draft> {
        let (count, condition) = (options.count, options.condition.as_deref());
        if !(1..=MOST_SUGGESTIONS).contains(&count) {
            return Err(Error::Study(format!("{count} rows were asked for; ask for 1 to {MOST_SUGGESTIONS}")));
        }
        let by = options.by.as_deref().map(who).transpose()?;
        let (sampler, note) = self.resolve(options.sampler)?;
        let mut notes = Vec::from_iter(note);
        let used = self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let (goals, aims) = (self.header.goals(), self.aims());
        let Some(rows) = &mut self.rows else { return Err(not_loaded()) };
        if !aims.is_single() && count > MOST_OF_SEVERAL {
            return Err(Error::Study(format!(
                "{count} rows were asked for; of a study of several outcomes ask for at most {MOST_OF_SEVERAL} at once"
            )));
        }
        let mut taken = self.trials.taken(self.header.pool.rows);
        rows.mark_repeated(&mut taken);
        let mut excluded = vec![false; taken.len()];
        if let Some(condition) = condition {
            rows.exclude(condition, &mut excluded)?;
            taken.iter_mut().zip(&excluded).for_each(|(taken, excluded)| *taken |= excluded);
        }
        let settings = if options.same.is_empty() { None } else { Some(rows.settings(&options.same)?) };
        let scene = Scene {
            pool: &rows.points,
            trials: &self.trials,
            aims: &aims,
            taken: &taken,
            excluded: &excluded,
            costs: rows.costs.as_deref(),
            settings: settings.as_deref(),
        };
        let choice =
            scene.choose(&mut predictor, count, &mut random::path(self.header.seed, &[self.journal.lines()]))?;
        if choice.rows.is_empty() {
            return Err(match condition {
                Some(condition) => {
                    let why = rows.unknown_word(condition)?.map_or_else(String::new, |why| format!(": {why}"));
                    let condition = beginning(condition);
                    Error::Study(format!("no row that is left satisfies --where \"{condition}\"{why}"))
                }
                None => Error::Conflict(self.nothing_left()),
            });
        }
        if choice.rows.len() < count {
            let few = choice.rows.len();
            notes.push(match options.same.is_empty() {
                true if few == 1 => "only one row is left".into(),
                true => format!("only {few} rows are left"),
                false => format!("no {count} rows that are left share a setting; this one has {few}"),
            });
        }
        if choice.scored < choice.left {
            notes.push(format!(
                "{} rows are left; {} of them were looked at: the neighbours of the best rows, and others by chance",
                choice.left, choice.scored
            ));
        }
        notes.extend(self.trials.decades(&goals));
        let told = aims.known();
        if told > predictor.history && predictor.rule != Rule::Random {
            notes.push(format!(
                "{told} rows were told; {} (the best, the latest, and some spread over the rest)",
                predictor.thinning
            ));
        }
        let Some(rows) = &self.rows else { return Err(not_loaded()) };
        let lease = Lease { until: options.until, by: by.clone() };
        let chosen = choice.rows.iter().map(|(row, beliefs)| (*row, beliefs.iter().collect(), lease.clone()));
        let mut suggestions = self.suggestions(rows, &aims, chosen);
        if let Some((likeliest, chance)) = choice.likeliest {
            let name = rows.name(likeliest).shown();
            let alone = self.trials.count_running() == 0;
            for (at, suggestion) in suggestions.iter_mut().enumerate() {
                suggestion.explain_beside(&name, chance, alone && at == 0, predictor.rule);
            }
        }
        let names = choice.rows.iter().map(|(row, _)| rows.name(*row)).collect();
        let entry = Entry::Ask { rows: names, sampler, until: options.until, by };
        let told_best = self.trials.best(&goals).and_then(Trial::value);
        let answer = Answer {
            suggestions,
            still_running: false,
            sampler,
            best: told_best,
            remaining: choice.remaining,
            left: choice.left,
            notes,
        };
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
            0 => format!(
                "all {rows} rows have been told: nothing is left to suggest; `icee study best` and `report` say what was found, and \
                 rows that are added to the sheet are taken in"
            ),
            _ => {
                format!("all {rows} rows have been told or suggested: nothing is left; {running} are still to be told")
            }
        }
    }
}

//! Looking at a study: the best row, all that was told, and what is believed of every row.

use crate::aims::Aims;
use crate::answer::{BestRow, Forecast, RowForecast, Status, Summary, ToldRow};
use crate::cells::Cells;
use crate::encode::Column;
use crate::goals::undominated;
use crate::record::SamplerKind;
use crate::replicates::Replicates;
use crate::results;
use crate::rows::Rows;
use crate::study::{Study, not_loaded};
use crate::trials::{Trial, Trials};
use crate::{Error, Result};
use icee_bo::belief::Belief;
use std::collections::HashSet;
use std::path::Path;

/// Rows predicted at a time.
const CHUNK: usize = 1 << 14;

impl Study {
    /// The best row told so far: the one of the best value or, where some were measured more than once, the one that is
    /// believed to be the best.
    pub fn best(&mut self) -> Option<BestRow> {
        self.try_to_load();
        self.mention_torn();
        let again = self.trials.told.iter().any(|trial| trial.measurements().len() > 1);
        let aims = again.then(|| self.aims()).filter(Aims::is_plain);
        if let Some((aims, replicates)) = aims.and_then(|aims| replicates(&aims).map(|replicates| (aims, replicates))) {
            let (row, belief) = replicates.best();
            if let Some(trial) = self.trials.outcome(row).filter(|trial| trial.value().is_some()) {
                let (believed, sure) = (Some(aims.main().units.shown(belief.mean)), Some(replicates.sure()));
                return Some(BestRow { row: self.outcome(trial), believed, sure });
            }
        }
        let trial = self.trials.best(&self.header.goals())?;
        Some(BestRow { row: self.outcome(trial), believed: None, sure: None })
    }

    /// The rows told whose limits hold and that are beaten by none: better in one outcome is worse in another. The best by the
    /// first outcome first; with one objective the best row alone.
    pub fn front(&mut self) -> Vec<ToldRow> {
        self.try_to_load();
        self.mention_torn();
        let goals = self.header.goals();
        let losses = |trial: &'_ Trial| goals.losses(&self.trials.outcomes_of(trial));
        let mut front = undominated(self.trials.told.iter().filter_map(|trial| Some((losses(trial)?, trial))));
        front.sort_by(|(one, _), (other, _)| one[0].total_cmp(&other[0]));
        front.into_iter().map(|(_, trial)| self.outcome(trial)).collect()
    }

    /// How many outcomes are to be made as good as possible.
    pub fn objectives(&self) -> usize {
        self.header.goals().objectives()
    }

    /// Whether any row has a value.
    pub fn has_values(&self) -> bool {
        self.trials.values(0) > 0
    }

    /// The column in which values are filled in, if there is one.
    pub fn value_column(&self) -> Option<&str> {
        self.header.value.as_deref()
    }

    /// The column that names the rows, if there is one.
    pub fn id_column(&self) -> Option<&str> {
        self.header.id.as_deref()
    }

    /// The column of row numbers in tables of rows without ids: "row", or "row_number" where the sheet has a column of that name.
    pub fn row_column(&self) -> &'static str {
        let header = &self.header;
        let learned = header.columns.iter().map(|column| &column.name);
        let others = header.pool.others.iter().flatten();
        // An older journal does not say what else the sheet has; the sheet does, once it was read.
        let sheet = self.rows.as_ref().map_or(&[][..], Rows::header);
        let known: HashSet<&String> =
            learned.chain(&header.value).chain(&header.cost).chain(others).chain(sheet).collect();
        results::row_column(|name| known.contains(&name.to_owned()))
    }

    /// A checksum of the sheet that rows are numbered by: where it is another one, numbers and cells may be others, too.
    pub fn sheet_fingerprint(&self) -> &str {
        &self.header.pool.fingerprint
    }

    /// Bytes of the sheet, as text.
    pub fn sheet_bytes(&self) -> u64 {
        self.header.pool.bytes
    }

    /// Whether the sheet has been read.
    pub fn is_loaded(&self) -> bool {
        self.rows.is_some()
    }

    /// Lines of the journal taken in so far: whoever sees another number sees another study.
    pub fn lines(&self) -> u64 {
        self.journal.lines()
    }

    /// Where the sheet lies.
    pub fn pool(&self) -> &Path {
        &self.pool
    }

    /// A row's cells by its number, from one; none where there is no such row or the pool has not been read.
    pub fn cells(&self, row: usize) -> Cells {
        let known = self.rows.as_ref().filter(|_| (1..=self.header.pool.rows).contains(&row));
        known.map(|rows| rows.cells(row - 1)).unwrap_or_default()
    }

    /// The cells of all rows, column by column; the id, the value and columns without a name left out.
    ///
    /// # Errors
    /// Where the pool cannot be used.
    pub fn all_cells(&mut self) -> Result<Vec<(String, Vec<String>)>> {
        self.load()?;
        let rows = self.header.pool.rows;
        let mut columns: Vec<(String, Vec<String>)> = Vec::new();
        for row in 1..=rows {
            let cells = self.cells(row).0;
            if columns.is_empty() {
                columns = cells.iter().map(|(name, _)| (name.clone(), Vec::with_capacity(rows))).collect();
            }
            columns.iter_mut().zip(cells).for_each(|((_, column), (_, cell))| column.push(cell));
        }
        Ok(columns)
    }

    /// What is wanted of all outcomes, and what was told, as models see it.
    pub(crate) fn aims(&self) -> Aims {
        self.aims_after(&self.trials)
    }

    /// The same where only so much was told.
    pub(crate) fn aims_after(&self, trials: &Trials) -> Aims {
        let earlier = self.header.earlier.iter().flat_map(|earlier| &earlier.rows).map(|row| row.value);
        Aims::of(trials, &self.header.goals(), &earlier.collect::<Vec<f64>>())
    }

    /// Rows to which nothing has happened, identical ones counted once.
    pub(crate) fn left(&self) -> usize {
        let mut taken = self.trials.taken(self.header.pool.rows);
        if let Some(rows) = &self.rows {
            rows.mark_repeated(&mut taken);
        }
        taken.iter().filter(|taken| !**taken).count()
    }

    /// By how much measurements of one row differ (a standard deviation), where some row was measured more than once.
    fn noise(&self) -> Option<f64> {
        let rows: Vec<Vec<f64>> = self.trials.told.iter().map(|trial| trial.outcomes(0).collect()).collect();
        let degrees: usize = rows.iter().map(|values| values.len().saturating_sub(1)).sum();
        // In units of the greatest: squares of great numbers are none.
        let most = rows.iter().flatten().fold(0.0f64, |most, value| most.max(value.abs()));
        if degrees == 0 || most == 0.0 {
            return (degrees > 0).then_some(0.0);
        }
        let squares = |values: &Vec<f64>| {
            let mean = values.iter().map(|value| value / most).sum::<f64>() / values.len() as f64;
            values.iter().map(|value| (value / most - mean).powi(2)).sum::<f64>()
        };
        let variance = rows.iter().filter(|values| values.len() > 1).map(squares).sum::<f64>() / degrees as f64;
        Some(variance.sqrt() * most)
    }

    /// All there is to know about the study.
    pub fn summary(&mut self) -> Summary {
        let best = self.best();
        let goals = self.header.goals();
        let front = if goals.objectives() > 1 { self.front() } else { vec![] };
        let told: Vec<ToldRow> = self.trials.told.iter().map(|trial| self.outcome(trial)).collect();
        self.notes.extend(self.trials.decades(&goals));
        let header = &self.header;
        let described = |Column { name, code }: &Column| {
            // The Gaussian process alone is never shown the cells themselves.
            let lost = code.lost().filter(|_| header.sampler == SamplerKind::GpEi).unwrap_or_default();
            (name.clone(), code.describe() + lost)
        };
        let names = std::iter::once(header.value.clone());
        let names = names.chain(header.further.iter().map(|further| Some(further.name.clone())));
        Summary {
            pool: self.pool.display().to_string(),
            rows: header.pool.rows,
            columns: header.columns.iter().map(described).collect(),
            id_column: header.id.clone(),
            row_column: self.row_column().to_owned(),
            value_column: header.value.clone(),
            direction: header.direction,
            goals: names.zip(goals.wanted().map(|wanted| wanted.to_string())).collect(),
            cost_column: header.cost.clone(),
            earlier: header.earlier.as_ref().map(|earlier| (earlier.study.clone(), earlier.rows.len())),
            sampler: header.sampler,
            model: self.trials.model.clone(),
            seed: header.seed,
            best,
            noise: self.noise(),
            front,
            running: self.trials.running().map(|running| running.name.shown()).collect(),
            left: self.left(),
            lines: self.lines(),
            told,
            notes: self.take_notes(),
        }
    }

    /// What is believed of every row of the pool, in its order.
    ///
    /// # Errors
    /// Where too few values were told, or the pool cannot be used.
    pub fn predict(&mut self, sampler: Option<SamplerKind>) -> Result<Vec<RowForecast>> {
        self.load()?;
        let (sampler, _) = self.resolve(sampler)?;
        self.refresh()?;
        self.mention_torn();
        self.check_model(sampler)?;
        let mut predictor = self.predictor(sampler)?;
        let (goals, aims) = (self.header.goals(), self.aims());
        let Some(rows) = &mut self.rows else { return Err(not_loaded()) };
        let least = predictor.surrogate.least_history();
        let known = (0..aims.each.len()).map(|number| self.trials.values(number)).min().unwrap_or_default();
        if !aims.suffice(least) {
            return Err(Error::Study(format!(
                "a prediction needs {least} told values, there are {known}; tell more first"
            )));
        }
        let (histories, front) = (aims.histories(predictor.history), aims.front());
        let taken = self.trials.taken(self.header.pool.rows);
        let ids = rows.ids()?;
        let first = rows.first_of_each();
        let mut forecasts = Vec::with_capacity(ids.len());
        let all: Vec<usize> = (0..ids.len()).collect();
        let mut ids = ids.into_iter();
        for chunk in all.chunks(CHUNK) {
            let beliefs = predictor.predict_all(&rows.points, &histories, chunk)?;
            for ((at, &row), id) in chunk.iter().enumerate().zip(&mut ids) {
                let value = self.trials.outcome(first[row]).and_then(Trial::value);
                let status = Status::of(first[row], &self.trials, &taken);
                let of_row: Vec<&Belief> = beliefs.iter().map(|beliefs| &beliefs[at]).collect();
                let forecast = Forecast::new(&of_row, &aims, &front, &goals);
                forecasts.push(RowForecast { id, row: row + 1, status, value, forecast });
            }
        }
        Ok(forecasts)
    }

    fn outcome(&self, trial: &Trial) -> ToldRow {
        let cells = self.rows.as_ref().map(|rows| rows.cells(trial.row)).unwrap_or_default();
        let values = trial.outcomes(0).collect();
        let further =
            self.header.further.iter().zip(1..).map(|(further, at)| (further.name.clone(), trial.outcome(at)));
        let status = Status::told(&trial.known);
        let (id, row, value) = (trial.name.shown(), trial.name.row, trial.value());
        let measurements = trial
            .measurements()
            .iter()
            .map(|measurement| (0..=self.header.further.len()).map(|number| measurement.outcome(number)).collect());
        let measurements = measurements.collect();
        ToldRow { id, row, value, values, measurements, further: further.collect(), status, cells }
    }
}

/// What rows that were measured more than once say of the value that a study is about; nothing where all rows have the same
/// mean, and so none is better than another.
fn replicates(aims: &Aims) -> Option<Replicates> {
    let main = aims.main();
    if main.units.is_flat() { None } else { Replicates::of(&main.history) }
}

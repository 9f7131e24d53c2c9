//! Looking at a study: the best row, all results, and predictions of every row.

use crate::aims::Aims;
use crate::answer::{forecast, most_promising, status_at, status_of};
use crate::encode::Column;
use crate::error::{Result, bug};
use crate::goals::undominated;
use crate::record::SamplerKind;
use crate::replicates::Replicates;
use crate::results;
use crate::study::Study;
use crate::take_back::step;
use crate::trials::{Trial, Trials};
use icee_bo::belief::Belief;
use icee_protocol as protocol;
use icee_protocol::{AllCells, BestRow, BestRows, Cells, MeasuredRow, Predicted, Problem, RowForecast, Summary, Texts};
use std::collections::HashSet;

/// Rows predicted at a time.
const CHUNK: usize = 1 << 14;

impl Study {
    /// The best row so far: the one with the best result or, if some rows have replicates, the one with the best
    /// estimated mean.
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

    /// The Pareto-optimal rows among those that keep the constraints: none is better than another in every objective.
    /// The best by the first outcome comes first; with one objective it is the only one.
    pub fn front(&mut self) -> Vec<MeasuredRow> {
        self.try_to_load();
        self.mention_torn();
        let goals = self.header.goals();
        let losses = |trial: &'_ Trial| goals.losses(&self.trials.outcomes_of(trial));
        let mut front = undominated(self.trials.told.iter().filter_map(|trial| Some((losses(trial)?, trial))));
        front.sort_by(|(one, _), (other, _)| one[0].total_cmp(&other[0]));
        front.into_iter().map(|(_, trial)| self.outcome(trial)).collect()
    }

    /// The best row and the front.
    pub fn best_rows(&mut self) -> BestRows {
        let (best, front) = (self.best(), self.front());
        let (objectives, has_values) = (self.objectives(), self.has_values());
        BestRows { best, front, objectives, has_values, sheet: self.sheet_fingerprint().to_owned() }
    }

    /// The number of objectives.
    pub fn objectives(&self) -> usize {
        self.header.goals().objectives()
    }

    /// Whether any row has a result.
    pub fn has_values(&self) -> bool {
        self.trials.values(0) > 0
    }

    /// The column in which results are filled in, if there is one.
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
        let known: HashSet<&String> =
            learned.chain(&header.value).chain(&header.cost).chain(&header.pool.others).collect();
        results::row_column(|name| known.contains(&name.to_owned()))
    }

    /// A checksum of the sheet that rows are numbered by: another one may number them otherwise, or have other cells.
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

    /// Lines of the journal read so far: another number is another state of the study.
    pub fn lines(&self) -> u64 {
        self.journal.lines()
    }

    /// A row's cells by its number, from one; none where there is no such row or the pool has not been read.
    pub fn cells(&self, row: usize) -> Cells {
        let known = self.rows.as_ref().filter(|_| (1..=self.header.pool.rows).contains(&row));
        known.map(|rows| rows.cells(row - 1)).unwrap_or_default()
    }

    /// The cells of all rows, column by column; names, results and columns without a name are left out.
    ///
    /// # Errors
    /// Where the sheet cannot be used.
    pub fn all_cells(&mut self) -> Result<AllCells> {
        self.load()?;
        let columns = self.columns_of(0..self.header.pool.rows)?;
        Ok(AllCells { columns, sheet: self.sheet_fingerprint().to_owned() })
    }

    /// The cells of some rows, by their positions.
    fn columns_of(&self, rows: impl Iterator<Item = usize>) -> Result<Vec<protocol::Column>> {
        let sheet = self.loaded()?;
        let names = if self.header.pool.rows == 0 { Cells::default() } else { sheet.cells(0) };
        let column = |(name, _): (String, String)| protocol::Column { name, cells: Texts::default() };
        let mut columns: Vec<protocol::Column> = names.0.into_iter().map(column).collect();
        for row in rows {
            columns.iter_mut().zip(sheet.cells(row).0).for_each(|(column, (_, cell))| column.cells.push(&cell));
        }
        Ok(columns)
    }

    /// The goals of all outcomes and their results, as models see them.
    pub(crate) fn aims(&self) -> Aims {
        self.aims_after(&self.trials)
    }

    /// The same from some of the results.
    pub(crate) fn aims_after(&self, trials: &Trials) -> Aims {
        let earlier = self.header.earlier.iter().flat_map(|earlier| &earlier.rows).map(|row| row.value);
        Aims::of(trials, &self.header.goals(), &earlier.collect::<Vec<f64>>())
    }

    /// Rows without a result that are not in progress; identical ones count once.
    pub(crate) fn left(&self) -> usize {
        let mut taken = self.trials.taken(self.header.pool.rows);
        if let Some(rows) = &self.rows {
            rows.mark_repeated(&mut taken);
        }
        taken.iter().filter(|taken| !**taken).count()
    }

    /// The standard deviation of replicates, if a row has some.
    fn noise(&self) -> Option<f64> {
        let rows: Vec<Vec<f64>> = self.trials.told.iter().map(|trial| trial.outcomes(0).collect()).collect();
        let degrees: usize = rows.iter().map(|values| values.len().saturating_sub(1)).sum();
        // In units of the greatest: squares of large numbers overflow.
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

    /// The summary of the study; with only the latest results, if so many are asked for.
    pub fn summary(&mut self, most: Option<usize>) -> Summary {
        let best = self.best();
        let goals = self.goals();
        let front = if goals.objectives() > 1 { self.front() } else { vec![] };
        let told_in_all = self.trials.told.len();
        let skipped = most.map_or(0, |most| told_in_all.saturating_sub(most));
        let told: Vec<MeasuredRow> = self.trials.told[skipped..].iter().map(|trial| self.outcome(trial)).collect();
        self.notes.extend(self.trials.decades(&goals));
        let header = &self.header;
        let described = |Column { name, code }: &Column| {
            // The Gaussian process never reads the cells themselves.
            let lost = code.lost().filter(|_| header.sampler == SamplerKind::GpEi).unwrap_or_default();
            (name.clone(), code.describe() + lost)
        };
        Summary {
            pool: self.sheet_path().map(|path| path.display().to_string()),
            rows: header.pool.rows,
            columns: header.columns.iter().map(described).collect(),
            id_column: header.id.clone(),
            row_column: self.row_column().to_owned(),
            value_column: header.value.clone(),
            goals: goals.named(header.value.as_deref()),
            bounds: header.bounds.map(Into::into),
            cost_column: header.cost.clone(),
            earlier: header.earlier.as_ref().map(|earlier| (earlier.study.clone(), earlier.rows.len())),
            sampler: header.sampler.name().to_owned(),
            model: self.trials.model.clone().map(Into::into),
            seed: header.seed,
            best,
            noise: self.noise(),
            front,
            running: self.trials.running().map(|running| running.name.shown()).collect(),
            left: self.left(),
            lines: self.lines(),
            told,
            told_in_all,
            sheet: self.sheet_fingerprint().to_owned(),
            last: self.tally.last.as_ref().map(step),
        }
    }

    /// The numbers of rows measured and in progress, for a list.
    pub(crate) fn counts(&self) -> [usize; 4] {
        [self.header.pool.rows, self.trials.told.len(), self.trials.count_running(), self.left()]
    }

    /// Predictions of every row, in the order of the sheet; or of some that are left, the most promising first.
    ///
    /// # Errors
    /// If there are too few results, or the sheet cannot be used.
    pub fn predict(&mut self, top: Option<usize>, sampler: Option<SamplerKind>) -> Result<Predicted> {
        if top == Some(0) {
            return Err(Problem::TopZero);
        }
        self.mention_torn();
        let rows = self.predict_all(sampler)?;
        let rows = match top {
            Some(top) => most_promising(rows, top),
            None => rows,
        };
        let columns = self.columns_of(rows.iter().map(|row| row.row - 1))?;
        Ok(Predicted { rows, columns, sheet: self.sheet_fingerprint().to_owned() })
    }

    fn predict_all(&mut self, sampler: Option<SamplerKind>) -> Result<Vec<RowForecast>> {
        self.load()?;
        let mut predictor = self.looking(sampler)?;
        let (goals, aims) = (self.goals(), self.aims());
        let needed = predictor.surrogate.least_history();
        let known = (0..aims.each.len()).map(|number| self.trials.values(number)).min().unwrap_or_default();
        if !aims.suffice(needed) {
            return Err(Problem::TooFewResults { needed, known });
        }
        let Some(rows) = &mut self.rows else { return Err(bug("the sheet is not loaded")) };
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
                let status = status_at(first[row], &self.trials, &taken);
                let of_row: Vec<&Belief> = beliefs.iter().map(|beliefs| &beliefs[at]).collect();
                let forecast = forecast(&of_row, &aims, &front, &goals);
                forecasts.push(RowForecast { id, row: row + 1, status, value, forecast });
            }
        }
        Ok(forecasts)
    }

    fn outcome(&self, trial: &Trial) -> MeasuredRow {
        let cells = self.rows.as_ref().map(|rows| rows.cells(trial.row)).unwrap_or_default();
        let values = trial.outcomes(0).collect();
        let further =
            self.header.further.iter().zip(1..).map(|(further, at)| (further.name.clone(), trial.outcome(at)));
        let status = status_of(&trial.known);
        let (id, row, value) = (trial.name.shown(), trial.name.row, trial.value());
        let measurements = trial
            .measurements()
            .iter()
            .map(|measurement| (0..=self.header.further.len()).map(|number| measurement.outcome(number)).collect());
        let measurements = measurements.collect();
        MeasuredRow { id, row, value, values, measurements, further: further.collect(), status, cells }
    }
}

/// The analysis of replicates of the main result; none if all rows have the same
/// mean, so that none is better than another.
fn replicates(aims: &Aims) -> Option<Replicates> {
    let main = aims.main();
    if main.units.is_flat() { None } else { Replicates::of(&main.history) }
}

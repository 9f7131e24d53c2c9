//! Recording results: of one row, or a file of many. All of it, or nothing.

use crate::ask::person;
use crate::error::{OrProblem, Result, bug, shown};
use crate::formats;
use crate::goals::Goals;
use crate::record::{Entry, Measured, Outcome, RowName, ToldValue};
use crate::results;
use crate::study::Study;
use crate::trials::{Known, Trial, Trials};
use crate::values;
use icee_base::names::Unknown;
use icee_base::table::Table;
use icee_protocol::{Counts, Note, Problem, RowProblem};
use std::collections::BTreeMap;
use std::path::Path;

/// Rows that a note names; more are counted.
pub(crate) const NAMED: usize = 3;

/// How results of rows that have some already are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// They are refused.
    #[default]
    Refuse,
    /// They are replicates.
    Again,
    /// They replace the earlier ones; the journal keeps both.
    Replace,
}

/// Outcomes of one row before they are checked.
pub(crate) struct Report {
    pub row: RowName,
    pub outcomes: Vec<Measured>,
    pub source: Source,
}

/// The source of outcomes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// They were typed.
    Typed,
    /// They are in a file of results, the first of them in this line.
    File(usize),
    /// They are in the study's own sheet.
    Sheet(usize),
}

impl Source {
    fn line(self) -> Option<usize> {
        match self {
            Source::Typed => None,
            Source::File(line) | Source::Sheet(line) => Some(line),
        }
    }
}

impl Report {
    /// Outcomes in the lines of a file, row by row in the order of the lines.
    pub fn of_lines(
        lines: impl Iterator<Item = (RowName, usize, Measured)>,
        source: impl Fn(usize) -> Source,
    ) -> Vec<Report> {
        let mut reports: BTreeMap<usize, Report> = BTreeMap::new();
        for (row, line, outcome) in lines {
            let report = reports.entry(row.row).or_insert(Report { row, outcomes: vec![], source: source(line) });
            report.outcomes.push(outcome);
        }
        let mut reports: Vec<Report> = reports.into_values().collect();
        reports.sort_by_key(|report| report.source);
        reports
    }

    /// The results of a row, recorded again because its cells have changed.
    pub fn of_corrected(row: RowName, known: &Known) -> Vec<ToldValue> {
        replacing(Report { row, outcomes: known.outcomes(), source: Source::Typed }.told())
    }

    /// The records of a row without results: all but the first are replicates.
    pub fn told(&self) -> Vec<ToldValue> {
        let told = self.outcomes.iter().enumerate();
        told.map(|(at, measured)| ToldValue { again: at > 0, ..ToldValue::new(self.row.clone(), measured.clone()) })
            .collect()
    }

    /// Checks that the results are possible.
    fn check(&self, goals: &Goals) -> Result<()> {
        let row = || self.row.shown();
        for Measured { outcome, further } in &self.outcomes {
            let value = if let Outcome::Value(value) = outcome { Some(value) } else { None };
            if let Some(value) = value.into_iter().chain(further.iter().flatten()).find(|value| !value.is_finite()) {
                return Err(Problem::ValueNotFinite { row: row(), text: value.to_string() });
            }
            if let Some(&value) = value.filter(|&&value| !goals.bounds.hold(value)) {
                return Err(Problem::OutOfRange { row: row(), value, range: goals.bounds.into() });
            }
        }
        Ok(())
    }

    /// Some outcomes as replicates.
    fn again(&self, outcomes: &[Measured]) -> Vec<ToldValue> {
        let again = |measured: &Measured| {
            let told = ToldValue::new(self.row.clone(), measured.clone());
            ToldValue { again: true, ..told }
        };
        outcomes.iter().map(again).collect()
    }
}

impl Study {
    /// Records the result of a row: a number, or `None` for an experiment that failed, or [`Outcome::Impossible`]. The row need not
    /// have been suggested.
    ///
    /// # Errors
    /// Where the row is not known, the result is not finite, or the row has one and `repeat` refuses; then nothing changes.
    pub fn tell(&mut self, id: &str, outcome: impl Into<Outcome>, repeat: Repeat) -> Result<Counts> {
        self.tell_by(None, id, outcome, &[], repeat)
    }

    /// The same with further results, by their names; those that are not named were not measured.
    ///
    /// # Errors
    /// As [`Study::tell`], and where a name is not known.
    pub fn tell_measured(
        &mut self,
        id: &str,
        outcome: impl Into<Outcome>,
        further: &[(&str, f64)],
        repeat: Repeat,
    ) -> Result<Counts> {
        self.tell_by(None, id, outcome, further, repeat)
    }

    /// The same by a named person: if the reservation has expired and someone else has recorded the row, it is a
    /// replicate.
    ///
    /// # Errors
    /// As [`Study::tell_measured`].
    pub fn tell_by(
        &mut self,
        by: Option<&str>,
        id: &str,
        outcome: impl Into<Outcome>,
        further: &[(&str, f64)],
        repeat: Repeat,
    ) -> Result<Counts> {
        // 0 is 0, whatever its sign.
        let outcome = match outcome.into() {
            Outcome::Value(value) => Outcome::Value(value + 0.0),
            other => other,
        };
        self.origin.by = by.map(person).transpose()?;
        self.follow_sheet_known(true)?;
        self.alone(|study| {
            let values = study.further(further)?;
            let row = study.find(&[id])?.swap_remove(0)?;
            if study.header.id.is_none() && id.trim().parse() != Ok(row.row) {
                study.notes.push(Note::SameCells { row: id.trim().to_owned(), of: row.row });
            }
            study.tell_row(row, outcome, values, repeat)
        })
    }

    /// Further results in the order of the goals.
    fn further(&self, further: &[(&str, f64)]) -> Result<Vec<Option<f64>>> {
        let names: Vec<&str> = self.header.further.iter().map(|further| further.name.as_str()).collect();
        let mut values = vec![None; names.len()];
        for (name, value) in further {
            let known = names.iter().position(|known| known == name);
            values[known.ok_or_else(|| Unknown::new("result", name, &names)).or_problem()?] = Some(*value);
        }
        Ok(values)
    }

    fn tell_row(
        &mut self,
        row: RowName,
        outcome: Outcome,
        mut further: Vec<Option<f64>>,
        repeat: Repeat,
    ) -> Result<Counts> {
        let by = self.origin.by.as_deref();
        // A request that says how to handle results knows that there is one.
        let late = self.trials.late(row.row - 1, by).filter(|_| repeat == Repeat::Refuse).map(str::to_owned);
        let before = self.trials.outcome(row.row - 1);
        let is_replicate = late.is_some() && before.is_some();
        let repeat = if is_replicate { Repeat::Again } else { repeat };
        // A correction or completion leaves further results alone that it does not name.
        if let [known] = before.map(Trial::measurements).unwrap_or_default()
            && repeat != Repeat::Again
        {
            further.iter_mut().zip(&known.further).for_each(|(new, known)| *new = new.or(*known));
        }
        let note = is_replicate.then(|| Note::LateReplicate { row: row.shown() });
        // A failed experiment has no further results.
        let further = if matches!(outcome, Outcome::Value(_)) { further } else { vec![] };
        let report = Report { row, outcomes: vec![Measured { outcome, further }], source: Source::Typed };
        let told = self.record(&[report], repeat, late);
        let told = told?.map_err(|problems| Problem::of_rows(problems.into_iter().map(|row| row.problem).collect()))?;
        self.notes.extend(note);
        Ok(told)
    }

    /// Records all lines of a file of results: the column `value` (the study's own, or "value", where none is named)
    /// holds a number, the word `failed` or `impossible`, or nothing. Rows are found by the study's id column, by a
    /// column with their numbers ([`Study::row_column`]), or by their cells. A row with several lines has replicates;
    /// results that were recorded before are not recorded again.
    ///
    /// # Errors
    /// With every line that cannot be recorded; then nothing changes.
    pub fn tell_csv(&mut self, path: &Path, value: Option<&str>, repeat: Repeat) -> Result<Counts> {
        self.tell_table(formats::table(path, formats::read(path)?)?, value, repeat)
    }

    /// The same of a table at hand.
    ///
    /// # Errors
    /// As [`Study::tell_csv`].
    pub fn tell_table(&mut self, mut table: Table, value: Option<&str>, repeat: Repeat) -> Result<Counts> {
        let learned = |name: &str| self.header.columns.iter().any(|column| column.name == name);
        if let Some(value) = value.filter(|value| learned(value)) {
            return Err(Problem::ResultsAreInputs { column: value.to_owned() });
        }
        let named = value.or(self.header.value.as_deref());
        let value = named.unwrap_or_else(|| results::value_column(learned)).to_owned();
        self.follow_sheet_known(true)?;
        let file = shown(table.path());
        self.alone(|study| {
            study.load()?;
            let (lines, said) = results::read(&mut table, &study.header, &value, study.row_column())?;
            if lines.is_empty() {
                return Err(Problem::NoResults { file: file.clone(), column: value });
            }
            let Some(rows) = &mut study.rows else { return Err(bug("the sheet is not loaded")) };
            let (mut found, mut problems) = (Vec::new(), Vec::new());
            for (row, line) in rows.find_all(&lines)?.into_iter().zip(&lines) {
                match row.and_then(|row| rows.check_cells(&row, &line.cells).map(|()| row)) {
                    Ok(row) => found.push((row, line.number, line.measured.clone())),
                    Err(problem) => problems.push(RowProblem { line: Some(line.number), problem }),
                }
            }
            if !problems.is_empty() {
                return Err(Problem::of_lines(file, problems));
            }
            let reports = Report::of_lines(found.into_iter(), Source::File);
            let told = study.record(&reports, repeat, None)?.map_err(|problems| Problem::of_lines(file, problems))?;
            study.notes.extend(said);
            Ok(told)
        })
    }

    /// The row of each id.
    pub(crate) fn find(&mut self, ids: &[&str]) -> Result<Vec<Result<RowName>>> {
        self.load()?;
        let Some(rows) = &mut self.rows else { return Err(bug("the sheet is not loaded")) };
        rows.find(ids)
    }

    /// Checks and records outcomes. Only under the lock.
    fn record(
        &mut self,
        reports: &[Report],
        repeat: Repeat,
        late: Option<String>,
    ) -> Result<std::result::Result<Counts, Vec<RowProblem>>> {
        let (outcomes, told) = match self.trials.checked(reports, repeat, &self.goals()) {
            Ok(new) => new,
            Err(problems) => return Ok(Err(problems)),
        };
        let doubts = self.trials.doubts(&outcomes, |row| self.cells(row), false);
        if !outcomes.is_empty() {
            self.change(Entry::Tell { outcomes, late })?;
        }
        self.notes.extend(doubts);
        Ok(Ok(told))
    }
}

impl Trials {
    /// The records of some reports, or all that is wrong.
    pub(crate) fn checked(
        &self,
        reports: &[Report],
        repeat: Repeat,
        goals: &Goals,
    ) -> std::result::Result<(Vec<ToldValue>, Counts), Vec<RowProblem>> {
        let mut told = Counts::default();
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for report in reports {
            match report.check(goals).and_then(|()| self.news_of(report, repeat)) {
                Ok(outcomes) => {
                    count(&mut told, &outcomes);
                    all.extend(outcomes);
                }
                Err(problem) => problems.push(RowProblem { line: report.source.line(), problem }),
            }
        }
        if problems.is_empty() { Ok((all, told)) } else { Err(problems) }
    }

    /// What a report adds to the results of its row.
    fn news_of(&self, report: &Report, repeat: Repeat) -> Result<Vec<ToldValue>> {
        let Report { row, outcomes, source } = report;
        let Some(before) = self.outcome(row.row - 1) else { return Ok(report.told()) };
        // Lines of a file may have been recorded before; a single row is always meant as a new result.
        let is_typed = *source == Source::Typed && repeat == Repeat::Refuse;
        let was_asked = is_typed && self.is_running(row.row - 1);
        let known = before.known.outcomes();
        let more = beyond(&known, outcomes, |known, new| known == new);
        let completed = more.is_none() && beyond(&known, outcomes, Measured::is_completed_by).is_some();
        // Typed results and replicates need not be in a file.
        let nothing_new =
            *source != Source::Typed && beyond(outcomes, &known, |new, known| new.is_completed_by(known)).is_some();
        match repeat {
            _ if was_asked => Ok(report.again(outcomes)),
            Repeat::Again => Ok(report.again(outcomes)),
            _ if more.is_some() && !is_typed => Ok(report.again(&more.unwrap_or_default())),
            _ if nothing_new => Ok(vec![]),
            // Results that came later from the same experiment are in the same line.
            Repeat::Replace | Repeat::Refuse if repeat == Repeat::Replace || completed => Ok(replacing(report.told())),
            _ => Err(match source {
                Source::Sheet(_) => Problem::SheetDiffers {
                    row: row.shown(),
                    here: described(outcomes),
                    known: before.known.describe(),
                },
                Source::Typed | Source::File(_) => {
                    Problem::AlreadyMeasured { row: row.shown(), known: before.known.describe() }
                }
            }),
        }
    }
}

/// Outcomes of a row that replace its present ones.
fn replacing(mut news: Vec<ToldValue>) -> Vec<ToldValue> {
    news.iter_mut().take(1).for_each(|told| told.replaces = true);
    news
}

/// A result in words: "5", or "5 (0.7, -)" with further results.
fn described(outcomes: &[Measured]) -> String {
    let one = |Measured { outcome, further }: &Measured| {
        let value = match outcome {
            Outcome::Value(value) => value.to_string(),
            Outcome::Failed => values::FAILED.into(),
            Outcome::Impossible => values::IMPOSSIBLE.into(),
        };
        let further: Vec<String> =
            further.iter().map(|value| value.map_or_else(|| "-".into(), |value| value.to_string())).collect();
        if further.is_empty() { value } else { format!("{value} ({})", further.join(", ")) }
    };
    outcomes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The measurements that remain after each of the others has found its equal among them; none if one has not.
fn beyond(
    others: &[Measured],
    some: &[Measured],
    alike: impl Fn(&Measured, &Measured) -> bool,
) -> Option<Vec<Measured>> {
    let mut left = some.to_vec();
    let find = |other: &Measured| {
        let place = left.iter().position(|one| alike(other, one))?;
        left.remove(place);
        Some(())
    };
    others.iter().try_for_each(find)?;
    Some(left)
}

/// Counts the new records of a row.
fn count(told: &mut Counts, news: &[ToldValue]) {
    match news.first() {
        None => told.unchanged += 1,
        Some(first) if first.replaces => told.replaced += 1,
        Some(first) if !first.again => told.new += 1,
        Some(_) => told.again += 1,
    }
    told.again += news.len().saturating_sub(1);
}

impl Known {
    /// The records of all results.
    fn outcomes(&self) -> Vec<Measured> {
        match self {
            Known::Values(measurements) => measurements
                .iter()
                .map(|known| Measured { outcome: Outcome::Value(known.value), further: known.further.clone() })
                .collect(),
            Known::Failed => vec![Outcome::Failed.into()],
            Known::Impossible => vec![Outcome::Impossible.into()],
        }
    }

    pub(crate) fn describe(&self) -> String {
        described(&self.outcomes())
    }
}

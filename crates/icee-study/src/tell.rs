//! Telling a study what came out: one row, or a file of many. All of it is taken, or nothing.

use crate::formats;
use crate::goals::Goals;
use crate::record::{Entry, Measured, Outcome, RowName, ToldValue};
use crate::results;
use crate::study::{Study, not_loaded, shown};
use crate::trials::{Known, Trial, Trials};
use crate::{Error, Result, values};
use icee_base::names::Unknown;
use icee_base::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Problems that an error shows before it stops counting them out.
const SHOWN: usize = 20;

/// Rows that a note names before it counts them.
pub(crate) const NAMED: usize = 3;

/// What is done with outcomes of rows that have some already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// They are refused.
    #[default]
    Refuse,
    /// They are one more measurement.
    Again,
    /// They take the place of the earlier ones; the journal keeps both.
    Replace,
}

/// What was taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TellSummary {
    /// Rows told for the first time.
    pub new: usize,
    /// Further measurements of rows.
    pub again: usize,
    /// Rows whose outcome was replaced by another.
    pub replaced: usize,
    /// Rows whose outcome was told again as it was.
    pub unchanged: usize,
}

/// Outcomes of one row before they are checked.
pub(crate) struct Report {
    pub row: RowName,
    pub outcomes: Vec<Measured>,
    pub source: Source,
}

/// Outcomes that are not taken: what is wrong, and what kind of error that is.
struct Refused {
    problems: Vec<String>,
    kind: fn(String) -> Error,
}

/// Where outcomes stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// They were typed.
    Typed,
    /// In a file of results, the first of them in this line.
    File(usize),
    /// In the study's own sheet.
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
    /// Outcomes that stand in lines of a file, row by row in the order of the lines.
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

    /// What is known of a row, told once more because other cells stand in it now.
    pub fn of_corrected(row: RowName, known: &Known) -> Vec<ToldValue> {
        replacing(Report { row, outcomes: known.outcomes(), source: Source::Typed }.told())
    }

    /// As a journal has it where nothing is known of the row: all but the first are further measurements.
    pub fn told(&self) -> Vec<ToldValue> {
        let told = self.outcomes.iter().enumerate();
        told.map(|(at, measured)| ToldValue { again: at > 0, ..ToldValue::new(self.row.clone(), measured.clone()) })
            .collect()
    }

    /// Whether the values can be.
    fn check(&self, goals: &Goals) -> std::result::Result<(), String> {
        for Measured { outcome, further } in &self.outcomes {
            let value = if let Outcome::Value(value) = outcome { Some(value) } else { None };
            if let Some(value) = value.into_iter().chain(further.iter().flatten()).find(|value| !value.is_finite()) {
                return Err(format!("the value {value} of {} is not a finite number", shown(&self.row)));
            }
            if let Some(value) = value.filter(|&&value| !goals.bounds.hold(value)) {
                let (row, bounds) = (shown(&self.row), goals.bounds);
                return Err(format!("the value {value} of {row} lies outside of what can be ({bounds}); mend it"));
            }
        }
        Ok(())
    }

    /// Some outcomes as further measurements.
    fn again(&self, outcomes: &[Measured]) -> Vec<ToldValue> {
        let again = |measured: &Measured| {
            let told = ToldValue::new(self.row.clone(), measured.clone());
            ToldValue { again: true, ..told }
        };
        outcomes.iter().map(again).collect()
    }
}

impl Study {
    /// Tells what came out of a row: a value, or `None` for an experiment that failed, or [`Outcome::Impossible`]. The row
    /// need not have been suggested.
    ///
    /// # Errors
    /// Where the row is not known, the value is not finite, or the row has an outcome and `repeat` refuses; then nothing
    /// changes.
    pub fn tell(&mut self, id: &str, outcome: impl Into<Outcome>, repeat: Repeat) -> Result<TellSummary> {
        self.tell_measured(id, outcome, &[], repeat)
    }

    /// The same with further outcomes, by their names; those that are not there were not measured.
    ///
    /// # Errors
    /// As [`Study::tell`], and where a name is not known.
    pub fn tell_measured(
        &mut self,
        id: &str,
        outcome: impl Into<Outcome>,
        further: &[(&str, f64)],
        repeat: Repeat,
    ) -> Result<TellSummary> {
        self.tell_by(None, id, outcome, further, repeat)
    }

    /// The same by somebody: what he was asked for and is late with is another measurement where others have told the row meanwhile.
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
    ) -> Result<TellSummary> {
        // 0 is 0, whatever its sign.
        let outcome = match outcome.into() {
            Outcome::Value(value) => Outcome::Value(value + 0.0),
            other => other,
        };
        let names: Vec<&str> = self.header.further.iter().map(|further| further.name.as_str()).collect();
        let mut values = vec![None; names.len()];
        for (name, value) in further {
            let known = names.iter().position(|known| known == name);
            values[known.ok_or_else(|| Unknown::new("outcome", name, &names))?] = Some(*value);
        }
        let row = self.find(&[id])?.swap_remove(0).map_err(Error::Study)?;
        if self.header.id.is_none() && id.trim().parse() != Ok(row.row) {
            self.notes.push(format!(
                "row {} has the same cells as row {}: they are one experiment",
                id.trim(),
                row.row
            ));
        }
        let by = by.map(str::trim);
        let mut note = None;
        let told = self.alone(|study| {
            study.still_loaded()?;
            // Whoever says what is to become of it knows that it was told.
            let late = study.trials.late(row.row - 1, by).filter(|_| repeat == Repeat::Refuse).map(str::to_owned);
            let before = study.trials.outcome(row.row - 1);
            let repeat = if late.is_some() && before.is_some() { Repeat::Again } else { repeat };
            // Who corrects or completes a measurement leaves alone what is not named.
            if let [known] = before.map(Trial::measurements).unwrap_or_default()
                && repeat != Repeat::Again
            {
                values.iter_mut().zip(&known.further).for_each(|(new, known)| *new = new.or(*known));
            }
            note = (late.is_some() && before.is_some()).then(|| {
                format!("{} has been told by another meanwhile; this is kept as another measurement", shown(&row))
            });
            // What failed has no values.
            let further = if matches!(outcome, Outcome::Value(_)) { values } else { vec![] };
            let report = Report { row, outcomes: vec![Measured { outcome, further }], source: Source::Typed };
            study.tell_alone(&[report], repeat, late, by)
        })?;
        let told = told.map_err(|Refused { problems, kind }| kind(problems.join("; ")))?;
        self.notes.extend(note);
        Ok(told)
    }

    /// Tells all lines of a file of results: the column `value` (the study's own, or "value", where none is named) holds a
    /// number, the word `failed` or `impossible`, or nothing. Rows are found by the study's id column, by a column with their
    /// numbers ([`Study::row_column`]), or by their cells. A row that stands there several times was measured so often; what was told before
    /// and stands there again is not told twice.
    ///
    /// # Errors
    /// With every line that cannot be told; then nothing changes.
    pub fn tell_csv(&mut self, path: &Path, value: Option<&str>, repeat: Repeat) -> Result<TellSummary> {
        self.tell_table(formats::read(path)?, value, repeat)
    }

    /// The same of a table at hand.
    ///
    /// # Errors
    /// As [`Study::tell_csv`].
    pub fn tell_table(&mut self, mut table: Table, value: Option<&str>, repeat: Repeat) -> Result<TellSummary> {
        let learned = |name: &str| self.header.columns.iter().any(|column| column.name == name);
        if let Some(value) = value.filter(|value| learned(value)) {
            return Err(Error::Study(format!(
                "the column \"{value}\" is learned from; results stand in a column of their own"
            )));
        }
        let named = value.or(self.header.value.as_deref());
        let value = named.unwrap_or_else(|| results::value_column(learned)).to_owned();
        self.load_and_update()?;
        let (lines, said) = results::read(&mut table, &self.header, &value, self.row_column())?;
        if lines.is_empty() {
            let nothing = format!("no row has anything in the column \"{value}\"");
            return Err(table.broken(vec![nothing]).into());
        }
        let Some(rows) = &mut self.rows else { return Err(not_loaded()) };
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        for (row, line) in rows.find_all(&lines)?.into_iter().zip(&lines) {
            match row.and_then(|row| rows.check_cells(&row, &line.cells).map(|()| row)) {
                Ok(row) => found.push((row, line.number, line.measured.clone())),
                Err(problem) => problems.push(format!("line {}: {problem}", line.number)),
            }
        }
        if !problems.is_empty() {
            return Err(table.broken(shortened(problems)).into());
        }
        let reports = Report::of_lines(found.into_iter(), Source::File);
        let told = self.alone(|study| {
            study.still_loaded()?;
            study.tell_alone(&reports, repeat, None, None)
        })?;
        let told = told.map_err(|Refused { problems, kind }| kind(table.broken(problems).to_string()))?;
        self.notes.extend(said);
        Ok(told)
    }

    /// The row of each id.
    ///
    /// Where rows are known by their numbers and have just been found to have others, nobody can say whether a number is meant
    /// as it was or as it is.
    pub(crate) fn find(&mut self, ids: &[&str]) -> Result<Vec<std::result::Result<RowName, String>>> {
        let moved = self.load_and_update()?;
        if let Some([was, is]) = moved.into_iter().find(|[was, is]| was != is && self.header.id.is_none()) {
            return Err(Error::Study(format!(
                "the rows of {} have other numbers now: row {was} has become row {is}. Nothing was done; look up the number that \
                 is meant and say it again (a column that names the rows, --id, keeps this from happening)",
                self.pool.display()
            )));
        }
        self.rows.as_mut().ok_or_else(not_loaded)?.find(ids)
    }

    /// Checks and records outcomes that somebody tells. Only under the lock.
    fn tell_alone(
        &mut self,
        reports: &[Report],
        repeat: Repeat,
        late: Option<String>,
        by: Option<&str>,
    ) -> Result<std::result::Result<TellSummary, Refused>> {
        let goals = self.header.goals();
        let (outcomes, told) = match self.trials.checked(reports, repeat, &goals) {
            Ok(new) => new,
            Err(problems) => {
                // What could be told of another row, or at another time, was told already.
                let could_be = reports.iter().all(|report| report.check(&goals).is_ok());
                let kind = if could_be { Error::Conflict } else { Error::Study };
                return Ok(Err(Refused { problems, kind }));
            }
        };
        let doubts = self.trials.doubts(&outcomes, |row| self.cells(row), "undo takes it back");
        if !outcomes.is_empty() {
            let taken = outcomes.iter().filter_map(|told| self.trials.taken_from_another(told, by));
            let rows: Vec<RowName> = taken.filter(|_| late.is_none()).cloned().collect();
            if !rows.is_empty() {
                // Given back, it is known who had it.
                self.record(Entry::Withdraw { rows })?;
            }
            self.record(Entry::Tell { outcomes, late })?;
        }
        self.notes.extend(doubts);
        Ok(Ok(told))
    }
}

impl Trials {
    /// What is to be recorded, or all that is wrong.
    pub(crate) fn checked(
        &self,
        reports: &[Report],
        repeat: Repeat,
        goals: &Goals,
    ) -> std::result::Result<(Vec<ToldValue>, TellSummary), Vec<String>> {
        let mut told = TellSummary::default();
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for report in reports {
            match report.check(goals).and_then(|()| self.news_of(report, repeat)) {
                Ok(outcomes) => {
                    told.count(&outcomes);
                    all.extend(outcomes);
                }
                Err(problem) => problems.push(match report.source.line() {
                    Some(line) => format!("line {line}: {problem}"),
                    None => problem,
                }),
            }
        }
        if problems.is_empty() { Ok((all, told)) } else { Err(shortened(problems)) }
    }

    /// What a report adds to what is known of its row.
    fn news_of(&self, report: &Report, repeat: Repeat) -> std::result::Result<Vec<ToldValue>, String> {
        let Report { row, outcomes, source } = report;
        let Some(before) = self.outcome(row.row - 1) else { return Ok(report.told()) };
        // What stands in a file was perhaps told from there before; whoever tells one row means to tell something new.
        let is_typed = *source == Source::Typed && repeat == Repeat::Refuse;
        let was_asked = is_typed && self.is_running(row.row - 1);
        let known = before.known.outcomes();
        let more = beyond(&known, outcomes, |known, new| known == new);
        let completed = more.is_none() && beyond(&known, outcomes, Measured::is_completed_by).is_some();
        // What was typed, or measured once more, need not stand in a file.
        let nothing_new =
            *source != Source::Typed && beyond(outcomes, &known, |new, known| new.is_completed_by(known)).is_some();
        match repeat {
            _ if was_asked => Ok(report.again(outcomes)),
            Repeat::Again => Ok(report.again(outcomes)),
            _ if more.is_some() && !is_typed => Ok(report.again(&more.unwrap_or_default())),
            _ if nothing_new => Ok(vec![]),
            // What was measured later of the same experiment stands in the same line.
            Repeat::Replace | Repeat::Refuse if repeat == Repeat::Replace || completed => Ok(replacing(report.told())),
            _ => Err(match source {
                Source::Sheet(_) => format!(
                    "{} has {} here and {} in the study; `icee study update --replace` takes what stands here",
                    shown(row),
                    described(outcomes),
                    before.known.describe()
                ),
                Source::Typed | Source::File(_) => format!(
                    "{} was told already ({}); --replace corrects it, --again adds another measurement",
                    shown(row),
                    before.known.describe()
                ),
            }),
        }
    }
}

/// Outcomes of a row that take the place of those it has.
fn replacing(mut news: Vec<ToldValue>) -> Vec<ToldValue> {
    news.iter_mut().take(1).for_each(|told| told.replaces = true);
    news
}

/// What was measured: "5", or "5 (with 0.7 and nothing)" where there are further outcomes.
fn described(outcomes: &[Measured]) -> String {
    let one = |Measured { outcome, further }: &Measured| {
        let value = match outcome {
            Outcome::Value(value) => value.to_string(),
            Outcome::Failed => values::FAILED.into(),
            Outcome::Impossible => values::IMPOSSIBLE.into(),
        };
        let further: Vec<String> =
            further.iter().map(|value| value.map_or_else(|| "nothing".into(), |value| value.to_string())).collect();
        if further.is_empty() { value } else { format!("{value} (with {})", further.join(" and ")) }
    };
    outcomes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What is left of some measurements where each of others has found its like among them; none where one has not.
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

impl TellSummary {
    /// Counts what was found to be new of a row.
    fn count(&mut self, news: &[ToldValue]) {
        match news.first() {
            None => self.unchanged += 1,
            Some(first) if first.replaces => self.replaced += 1,
            Some(first) if !first.again => self.new += 1,
            Some(_) => self.again += 1,
        }
        self.again += news.len().saturating_sub(1);
    }
}

impl Known {
    /// Everything that was told.
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

/// The first problems, and how many more there are.
pub(crate) fn shortened(mut problems: Vec<String>) -> Vec<String> {
    if problems.len() > SHOWN {
        let more = problems.len() - SHOWN;
        problems.truncate(SHOWN);
        problems.push(format!("and {more} more"));
    }
    problems
}

//! Differences between sheet and study: results that are gone from the sheet, and columns that the study does not know.
//! They are pointed out.

use crate::record::Header;
use crate::tell::{NAMED, Report};
use crate::trials::{Known, Trial, Trials};
use icee_protocol::{Emptied, FewerMeasured, Note};
use std::collections::HashMap;

/// A sheet that has changed, beside the study's results.
pub(crate) struct Drift<'a> {
    pub before: &'a Header,
    pub now: &'a Header,
    /// With the rows at their new places, before its results are recorded.
    pub trials: &'a Trials,
    /// The results in the sheet.
    pub found: &'a [Report],
    /// Its columns.
    pub sheet: &'a [String],
}

impl Drift<'_> {
    /// All differences.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::from_iter(self.new_columns());
        if let Some(value) = &self.now.value {
            let found: HashMap<usize, &Report> = self.found.iter().map(|report| (report.row.row, report)).collect();
            notes.extend(self.emptied(value, &found));
            for (further, number) in self.now.further.iter().zip(0..) {
                notes.extend(self.cleared(&further.name, number, &found));
            }
            notes.extend(self.fewer(&found));
        }
        notes
    }

    /// Columns that the sheet did not have before.
    fn new_columns(&self) -> Option<Note> {
        let [before, now] = [self.before, self.now].map(|header| &header.pool.others);
        let (columns, more) = first_few(now.iter().filter(|name| !before.contains(name)).cloned())?;
        Some(Note::NewColumns { columns, more })
    }

    /// Rows that have a result and none in the sheet, or not yet.
    fn emptied(&self, column: &str, found: &HashMap<usize, &Report>) -> Option<Note> {
        let empty = self.trials.told.iter().filter(|trial| !found.contains_key(&trial.name.row));
        let (rows, more) = first_few(empty.map(|trial| (trial.name.shown(), trial.known.describe())))?;
        Some(Note::Emptied(Emptied { rows, more, column: column.to_owned() }))
    }

    /// The same of a further result, by its number among those.
    fn cleared(&self, column: &str, number: usize, found: &HashMap<usize, &Report>) -> Option<Note> {
        let is_there = |report: &Report| {
            report.outcomes.iter().any(|measured| measured.further.get(number).is_some_and(Option::is_some))
        };
        let cleared = self.trials.told.iter().filter_map(|trial| {
            let known = trial.outcome(number + 1)?;
            let report = found.get(&trial.name.row).filter(|report| !is_there(report))?;
            Some((report.row.shown(), known.to_string()))
        });
        let (rows, more) = first_few(cleared).filter(|_| self.sheet.iter().any(|name| name == column))?;
        Some(Note::Cleared(Emptied { rows, more, column: column.to_owned() }))
    }

    /// Rows with fewer replicates in a sheet that has become shorter. Others may have been typed in, and were never
    /// there.
    fn fewer(&self, found: &HashMap<usize, &Report>) -> Option<Note> {
        let count = |trial: &Trial| if let Known::Values(all) = &trial.known { all.len() } else { 0 };
        let fewer = self.trials.told.iter().filter_map(|trial| {
            let (known, here) = (count(trial), found.get(&trial.name.row)?.outcomes.len());
            (here < known).then(|| FewerMeasured { row: trial.name.shown(), known, here })
        });
        let (rows, more) = first_few(fewer).filter(|_| self.now.pool.rows < self.before.pool.rows)?;
        Some(Note::Fewer { rows, more })
    }
}

/// The first few of a list, and how many more there are; none if it is empty.
fn first_few<T>(all: impl Iterator<Item = T>) -> Option<(Vec<T>, usize)> {
    let mut named: Vec<T> = all.collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    (!named.is_empty()).then_some((named, more))
}

//! Where sheet and study drift apart: what is known and stands in the sheet no more, and columns that the study does not know. It
//! is taken as it is, and pointed out.

use crate::record::Header;
use crate::study::shown;
use crate::tell::{NAMED, Report};
use crate::trials::{Known, Trial, Trials};
use std::collections::HashMap;

/// A sheet that has changed, beside what is known.
pub(crate) struct Drift<'a> {
    pub before: &'a Header,
    pub now: &'a Header,
    /// With the rows at their new places, before what was filled in is told.
    pub trials: &'a Trials,
    /// What stands in the sheet.
    pub found: &'a [Report],
    /// Its columns.
    pub sheet: &'a [String],
}

impl Drift<'_> {
    /// All of it, in words.
    pub fn notes(&self) -> Vec<String> {
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

    /// Columns that the sheet did not have before. An older journal does not say which it had.
    fn new_columns(&self) -> Option<String> {
        let [before, now] = [self.before, self.now].map(|header| header.pool.others.as_deref());
        let new: Vec<String> =
            now?.iter().filter(|name| !before.is_none_or(|before| before.contains(name))).cloned().collect();
        let (is, it) = if new.len() == 1 { ("is", "it") } else { ("are", "them") };
        let named = first_few(new.iter().map(|name| format!("\"{name}\"")));
        named.map(|named| {
            format!("{named} {is} new in the sheet and not learned from; to learn from {it}, create the study anew")
        })
    }

    /// Rows that have an outcome and nothing in the sheet any more, or not yet.
    fn emptied(&self, column: &str, found: &HashMap<usize, &Report>) -> Option<String> {
        let empty = self.trials.told.iter().filter(|trial| !found.contains_key(&trial.name.row));
        let named = first_few(empty.map(|trial| format!("{} has {}", shown(&trial.name), trial.known.describe())));
        named.map(|named| {
            format!(
                "{named}, and nothing in the sheet's column \"{column}\"; `icee study forget` drops what is not to count any more"
            )
        })
    }

    /// The same of a further outcome, by its number among those.
    fn cleared(&self, column: &str, number: usize, found: &HashMap<usize, &Report>) -> Option<String> {
        let is_there = |report: &Report| {
            report.outcomes.iter().any(|measured| measured.further.get(number).is_some_and(Option::is_some))
        };
        let cleared = self.trials.told.iter().filter_map(|trial| {
            let known = trial.outcome(number + 1)?;
            let report = found.get(&trial.name.row).filter(|report| !is_there(report))?;
            Some(format!("{} has the {column} {known}", shown(&report.row)))
        });
        let named = first_few(cleared).filter(|_| self.sheet.iter().any(|name| name == column));
        named.map(|named| {
            format!(
                "{named}, and nothing in the sheet's column \"{column}\"; `icee study forget` drops all that was told of a row, and what \
                 still stands in the sheet is taken in again"
            )
        })
    }

    /// Rows with fewer measurements in a sheet that has become shorter. Others may have been typed in, and never stood there.
    fn fewer(&self, found: &HashMap<usize, &Report>) -> Option<String> {
        let count = |trial: &Trial| if let Known::Values(all) = &trial.known { all.len() } else { 0 };
        let fewer = self.trials.told.iter().filter_map(|trial| {
            let (known, here) = (count(trial), found.get(&trial.name.row)?.outcomes.len());
            (here < known)
                .then(|| format!("{} was measured {known} times, of which {here} stand here", shown(&trial.name)))
        });
        let named = first_few(fewer).filter(|_| self.now.pool.rows < self.before.pool.rows);
        named.map(|named| {
            format!(
                "{named}; the mean of all counts. `icee study forget` drops them, and what still stands in the sheet is taken in again"
            )
        })
    }
}

/// The first few of a list, and how many more there are; nothing of an empty one.
fn first_few(all: impl Iterator<Item = String>) -> Option<String> {
    let mut named: Vec<String> = all.collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    (!named.is_empty()).then(|| named.join(", ") + &more)
}

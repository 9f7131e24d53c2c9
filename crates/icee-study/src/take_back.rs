//! Releasing suggestions, extending reservations, deleting results, undoing. The journal keeps it all.

use crate::error::Result;
use crate::record::{Entry, Line, RowName, shown_all};
use crate::running::RunningRow;
use crate::study::Study;
use crate::trials::Trials;
use icee_protocol::{Deed, Problem, Step, render};
use std::collections::{HashMap, HashSet};

impl Study {
    /// Releases rows that will not be tried: they may be suggested again. With a name (`by`), rows that someone else has are refused.
    ///
    /// # Errors
    /// Where a row is not known, not in progress or another's; then nothing changes.
    pub fn withdraw(&mut self, ids: &[&str], by: Option<&str>) -> Result<()> {
        self.take_back(ids, |trials, row| running_of(trials, row, by).map(drop), |rows| Entry::Withdraw { rows })
    }

    /// Extends the reservation of rows in progress until `until`, in seconds since 1970; none is shortened.
    ///
    /// # Errors
    /// As [`Study::withdraw`].
    pub fn renew(&mut self, ids: &[&str], until: u64, by: Option<&str>) -> Result<()> {
        self.take_back(ids, |trials, row| running_of(trials, row, by).map(drop), |rows| Entry::Renew { rows, until })
    }

    /// Deletes the results of rows: all their values, or that they failed.
    ///
    /// # Errors
    /// Where a row is not known or has no result; then nothing changes.
    pub fn forget(&mut self, ids: &[&str]) -> Result<()> {
        let check = |trials: &Trials, row: &RowName| match trials.outcome(row.row - 1) {
            Some(_) => Ok(()),
            None => Err(Problem::NothingToForget { row: row.shown() }),
        };
        self.take_back(ids, check, |rows| Entry::Forget { rows })
    }

    /// Undoes the last step, and returns it. With the number of lines that the client has seen, lines of others
    /// that were written since are not undone.
    ///
    /// # Errors
    /// If nothing has happened yet, or there are other lines by now.
    pub fn undo(&mut self, lines: Option<u64>) -> Result<Step> {
        let undone = self.alone(|study| match lines {
            Some(lines) if study.lines() != lines => Err(Problem::ChangedMeanwhile),
            _ => study.undo_last(),
        })?;
        undone.as_ref().map(step).ok_or(Problem::NothingToUndo)
    }

    /// When the first reservation of these rows expires, in seconds since 1970.
    pub(crate) fn reserved_until(&self, ids: &[&str]) -> Option<u64> {
        let rows = self.find_noted(ids)?;
        rows.iter().filter_map(|name| self.trials.running_row(name.row - 1)?.until).min()
    }

    /// The rows as the journal has them, by their names when the sheet was last read; none if one of them has
    /// neither a result nor a suggestion.
    fn find_noted(&self, ids: &[&str]) -> Option<Vec<RowName>> {
        let told = self.trials.told.iter().map(|trial| &trial.name);
        let noted: HashMap<String, &RowName> =
            told.chain(self.trials.running().map(|running| &running.name)).map(|name| (name.shown(), name)).collect();
        ids.iter().map(|id| noted.get(id.trim()).copied().cloned()).collect()
    }

    fn take_back(
        &mut self,
        ids: &[&str],
        check: impl Fn(&Trials, &RowName) -> Result<()>,
        entry: impl FnOnce(Vec<RowName>) -> Entry,
    ) -> Result<()> {
        if ids.is_empty() {
            return Err(Problem::NoRows);
        }
        // A sheet that cannot be imported must not keep you from dropping the row that is in its way.
        let broken = match self.follow_sheet_known(true) {
            // It was imported, and a number may mean the old row or the new one.
            Err(moved @ Problem::NumbersMoved { .. }) => return Err(moved),
            followed => followed.err(),
        };
        self.alone(|study| {
            let found = match broken {
                None => study.find(ids)?.into_iter().collect::<Result<Vec<RowName>>>()?,
                Some(problem) => study.find_noted(ids).ok_or(problem)?,
            };
            let rows = each_once(found);
            let problems: Vec<Problem> = rows.iter().filter_map(|row| check(&study.trials, row).err()).collect();
            if problems.is_empty() { study.change(entry(rows)) } else { Err(Problem::of_rows(problems)) }
        })
    }
}

/// Rows, of which some may have been named twice.
fn each_once(mut rows: Vec<RowName>) -> Vec<RowName> {
    let mut seen = HashSet::new();
    rows.retain(|row| seen.insert(row.row));
    rows
}

/// A row in progress: of this person or worker, if one is named.
fn running_of<'t>(trials: &'t Trials, row: &RowName, by: Option<&str>) -> Result<&'t RunningRow> {
    let running = trials.running_row(row.row - 1).ok_or_else(|| Problem::NotRunning { row: row.shown() })?;
    match (&running.by, by.map(str::trim)) {
        (Some(holder), Some(by)) if holder != by => {
            Err(Problem::HeldByOther { row: row.shown(), holder: holder.clone() })
        }
        _ => Ok(running),
    }
}

/// The step of a line.
pub(crate) fn step(line: &Line) -> Step {
    let deeds: Vec<Deed> = line.changes.iter().filter_map(deed).collect();
    let words = render::deeds(&deeds);
    Step { deeds, by: line.from.by.clone(), at: line.from.at, words }
}

fn deed(entry: &Entry) -> Option<Deed> {
    Some(match entry {
        Entry::Ask { rows, .. } => Deed::Suggested { rows: shown_all(rows) },
        Entry::Tell { outcomes, .. } => {
            let mut rows: Vec<String> = outcomes.iter().map(|told| told.row.shown()).collect();
            rows.dedup();
            Deed::Recorded { rows }
        }
        Entry::Renew { rows, .. } => Deed::Extended { rows: shown_all(rows) },
        Entry::Withdraw { rows } => Deed::Released { rows: shown_all(rows) },
        Entry::Expire { rows } => Deed::Expired { rows: shown_all(rows) },
        Entry::Forget { rows } => Deed::Deleted { rows: shown_all(rows) },
        Entry::Goals { .. } => Deed::GoalsChanged,
        Entry::Sheet { .. } => Deed::SheetUpdated,
        Entry::Model(pin) => Deed::ModelAccepted { model: pin.to_string() },
        Entry::Undo {} => return None,
    })
}

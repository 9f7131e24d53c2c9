//! Taking back: what was suggested and will not be tried, what was told by mistake, the last entry. The journal keeps it all.

use crate::record::{Entry, RowName};
use crate::running::RunningRow;
use crate::study::{Study, shown};
use crate::trials::Trials;
use crate::{Error, Result};
use std::collections::{HashMap, HashSet};

impl Study {
    /// Takes back the suggestion of rows that will not be tried: they may be suggested again. Whoever says who he is (`by`) gives back no
    /// row that another has by now.
    ///
    /// # Errors
    /// Where a row is not known, not running or another's; then nothing changes.
    pub fn withdraw(&mut self, ids: &[&str], by: Option<&str>) -> Result<()> {
        self.take_back(
            ids,
            |study, row| running_of(&study.trials, row, by).map(drop),
            Error::Conflict,
            |rows| Entry::Withdraw { rows },
        )
    }

    /// Forgets the outcomes of rows, told by mistake: all their values, or that they failed.
    ///
    /// # Errors
    /// Where a row is not known or has no outcome; then nothing changes.
    pub fn forget(&mut self, ids: &[&str]) -> Result<()> {
        self.take_back(
            ids,
            |study, row| {
                let is_told = study.trials.outcome(row.row - 1).is_some();
                is_told
                    .then_some(())
                    .ok_or_else(|| format!("{} has not been told: there is nothing to forget", shown(row)))
            },
            Error::Study,
            |rows| Entry::Forget { rows },
        )
    }

    /// Takes back the last thing that was asked, told, withdrawn or forgotten, and says what it was.
    ///
    /// # Errors
    /// Where nothing has happened yet.
    pub fn undo(&mut self) -> Result<String> {
        self.undo_if(|_| Ok(()))
    }

    /// The same for one who has seen the study with so many lines: what others have written since is not his to take back.
    ///
    /// # Errors
    /// As [`Study::undo`], and where there are other lines by now.
    pub fn undo_seen(&mut self, lines: u64) -> Result<String> {
        self.undo_if(|study| match study.lines() == lines {
            true => Ok(()),
            false => Err(Error::Conflict(
                "the study has changed meanwhile: look at it, then undo once more if need be".into(),
            )),
        })
    }

    fn undo_if(&mut self, check: impl FnOnce(&Study) -> Result<()>) -> Result<String> {
        let undone = self.alone(|study| {
            check(study)?;
            study.undo_last()
        })?;
        undone
            .as_ref()
            .map(describe)
            .ok_or_else(|| Error::Study("nothing has happened yet: there is nothing to undo".into()))
    }

    /// The rows as the journal has them, by what they were called when the sheet was last read; none where one of them has
    /// neither an outcome nor a suggestion.
    fn find_noted(&self, ids: &[&str]) -> Option<Vec<RowName>> {
        let told = self.trials.told.iter().map(|trial| &trial.name);
        let noted: HashMap<String, &RowName> =
            told.chain(self.trials.running().map(|running| &running.name)).map(|name| (name.shown(), name)).collect();
        ids.iter().map(|id| noted.get(id.trim()).copied().cloned()).collect()
    }

    fn take_back(
        &mut self,
        ids: &[&str],
        check: impl Fn(&Study, &RowName) -> std::result::Result<(), String>,
        wrong: fn(String) -> Error,
        entry: impl FnOnce(Vec<RowName>) -> Entry,
    ) -> Result<()> {
        let (found, of_sheet): (Vec<RowName>, bool) = match self.find(ids) {
            Ok(found) => (found.into_iter().collect::<std::result::Result<_, _>>().map_err(Error::Study)?, true),
            // A sheet that cannot be taken in must not keep anybody from dropping the row that is in its way.
            Err(error) => (self.find_noted(ids).ok_or(error)?, false),
        };
        let rows = each_once(found);
        self.alone(|study| {
            if of_sheet {
                study.still_loaded()?;
            }
            let problems: Vec<String> = rows.iter().filter_map(|row| check(study, row).err()).collect();
            match problems.is_empty() {
                true => study.record(entry(rows)),
                false => Err(wrong(problems.join("; "))),
            }
        })
    }
}

/// Rows of which some may have been named twice.
pub(crate) fn each_once(mut rows: Vec<RowName>) -> Vec<RowName> {
    let mut seen = HashSet::new();
    rows.retain(|row| seen.insert(row.row));
    rows
}

/// A row that is being tried: by this person or worker, if that is said, or by whomever.
///
/// # Errors
/// In words, where it is not.
pub(crate) fn running_of<'t>(
    trials: &'t Trials,
    row: &RowName,
    by: Option<&str>,
) -> std::result::Result<&'t RunningRow, String> {
    let not_running = || format!("{} is not running: it was not asked for, or has been told", shown(row));
    let running = trials.running_row(row.row - 1).ok_or_else(not_running)?;
    match (&running.by, by.map(str::trim)) {
        (Some(holder), Some(by)) if holder != by => Err(format!(
            "{} is held by {holder} now; ask for another, or do it in their name (by: {holder})",
            shown(row)
        )),
        _ => Ok(running),
    }
}

/// What an entry did, for a message.
fn describe(entry: &Entry) -> String {
    let list = |rows: &[RowName]| {
        let shown: Vec<String> = rows.iter().take(8).map(RowName::shown).collect();
        let more =
            if rows.len() > shown.len() { format!(" and {} more", rows.len() - shown.len()) } else { String::new() };
        format!("{} {}{more}", if rows.len() == 1 { "row" } else { "rows" }, shown.join(", "))
    };
    match entry {
        Entry::Ask { rows, .. } => format!("asking for {}", list(rows)),
        Entry::Tell { outcomes, .. } => {
            let rows: Vec<RowName> = outcomes.iter().map(|told| told.row.clone()).collect();
            format!("telling {}", list(&rows))
        }
        Entry::Withdraw { rows } => format!("withdrawing {}", list(rows)),
        Entry::Forget { rows } => format!("forgetting {}", list(rows)),
        Entry::Sheet { .. } => {
            "taking in the sheet as it is now (the next ask takes it in again: change it first)".into()
        }
        Entry::Model(pin) => format!("going on with the model {pin}"),
        Entry::Undo {} => "an undo".into(),
    }
}

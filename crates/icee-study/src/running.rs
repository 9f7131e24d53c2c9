//! Rows in progress, and rows whose reservation expired: a late result counts all the same.

use crate::record::{Asked, RowName, SamplerKind};
use std::collections::{BTreeMap, HashMap};

/// A row in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningRow {
    /// Its position in the pool, from zero.
    pub row: usize,
    /// The user's name for it.
    pub name: RowName,
    /// When its reservation expires, in seconds since 1970.
    pub until: Option<u64>,
    /// The person or worker who has reserved it.
    pub by: Option<String>,
    /// The request that it answers.
    pub asked: Asked,
    /// What picked it.
    pub sampler: SamplerKind,
}

/// All of them: kept so that a row is found, and goes, without a look at all others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Running {
    /// In the order suggested.
    rows: BTreeMap<u64, RunningRow>,
    /// When each was suggested.
    turns: HashMap<usize, u64>,
    suggested: u64,
    /// Rows whose reservation has expired, or whose result another person recorded: their former holder may still
    /// record one.
    late: BTreeMap<usize, Late>,
}

/// Such a row.
#[derive(Clone, Debug, PartialEq)]
struct Late {
    name: RowName,
    by: Vec<Option<String>>,
}

impl Running {
    /// In the order suggested.
    pub fn iter(&self) -> impl Iterator<Item = &RunningRow> {
        self.rows.values()
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// A row, if it is in progress.
    pub fn get(&self, row: usize) -> Option<&RunningRow> {
        self.rows.get(self.turns.get(&row)?)
    }

    /// A row is reserved from now on.
    pub fn push(&mut self, running: RunningRow) {
        // The same person may have had it before: then the reservation is renewed.
        self.forget_late(running.row, |by| *by == running.by);
        self.turns.insert(running.row, self.suggested);
        self.rows.insert(self.suggested, running);
        self.suggested += 1;
    }

    /// A reservation lasts until then at least.
    pub fn extend(&mut self, row: usize, until: u64) {
        if let Some(running) = self.turns.get(&row).and_then(|turn| self.rows.get_mut(turn)) {
            running.until = running.until.max(Some(until));
        }
    }

    /// A row is released: a late result may still come from its former holder.
    pub fn give_back(&mut self, row: usize) {
        if let Some(RunningRow { until: Some(_), by, name, .. }) = self.remove(row) {
            self.late.entry(row).or_insert(Late { name, by: vec![] }).by.push(by);
        }
    }

    /// A row has a result, and is no longer in progress.
    pub fn remove(&mut self, row: usize) -> Option<RunningRow> {
        self.rows.remove(&self.turns.remove(&row)?)
    }

    /// The same for a late result: the row stays with its present holder.
    pub fn told_late(&mut self, row: usize, name: &str) {
        self.forget_late(row, |by| by.as_deref().unwrap_or_default() == name);
    }

    fn forget_late(&mut self, row: usize, which: impl Fn(&Option<String>) -> bool) {
        let Some(late) = self.late.get_mut(&row) else { return };
        if let Some(at) = late.by.iter().position(which) {
            late.by.remove(at);
        }
        if late.by.is_empty() {
            self.late.remove(&row);
        }
    }

    /// The former holder's name, if that person may still record a result; empty if there was no name.
    /// A request without a name may mean the present holder of the row or any former one.
    pub fn late(&self, row: usize, by: Option<&str>) -> Option<&str> {
        let late = &self.late.get(&row)?.by;
        let had = match by {
            Some(by) => {
                late.iter().find(|had| had.as_deref() == Some(by)).or_else(|| late.iter().find(|had| had.is_none()))
            }
            None if self.turns.contains_key(&row) => None,
            None => late.first(),
        };
        had.map(|had| had.as_deref().unwrap_or_default())
    }

    /// The rows for which a late result may come.
    pub fn late_rows(&self) -> impl Iterator<Item = &RowName> {
        self.late.values().map(|late| &late.name)
    }

    /// The same with other row numbers; a released row that is gone from the sheet is dropped.
    pub fn moved(
        &self,
        place: impl Fn(&RowName) -> Result<RowName, String>,
        is_at: impl Fn(usize) -> Option<usize>,
    ) -> Result<Running, String> {
        let late = |(row, Late { name, by }): (&usize, &Late)| {
            let row = is_at(*row)?;
            Some((row, Late { name: RowName { row: row + 1, ..name.clone() }, by: by.clone() }))
        };
        let late = self.late.iter().filter_map(late).collect();
        let mut after = Running { late, ..Running::default() };
        for running in self.iter() {
            let name = place(&running.name)?;
            after.turns.insert(name.row - 1, after.suggested);
            after.rows.insert(after.suggested, RunningRow { row: name.row - 1, name, ..running.clone() });
            after.suggested += 1;
        }
        Ok(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lent(by: &str) -> RunningRow {
        let name = RowName { row: 4, id: None, key: None };
        let (asked, sampler) = (Asked::default(), SamplerKind::Random);
        RunningRow { row: 3, name, until: Some(7), by: Some(by.into()), asked, sampler }
    }

    #[test]
    fn who_is_late_may_tell_once() {
        let mut running = Running::default();
        running.push(lent("ada"));
        assert_eq!(running.late(3, Some("ada")), None, "while the row is reserved, no other result is late");
        running.give_back(3);
        assert_eq!([Some("ada"), Some("bob"), None].map(|by| running.late(3, by)), [Some("ada"), None, Some("ada")]);
        running.push(lent("bob"));
        assert_eq!((running.late(3, Some("ada")), running.late(3, None)), (Some("ada"), None));
        running.told_late(3, "ada");
        assert!(running.late(3, Some("ada")).is_none() && running.get(3).is_some(), "bob is still at it");
        running.remove(3);
        assert_eq!(running, Running { suggested: 2, ..Running::default() });
    }

    #[test]
    fn who_gets_more_time_is_not_late() {
        let mut running = Running::default();
        running.push(lent("ada"));
        running.give_back(3);
        running.push(lent("ada"));
        assert_eq!(running.late(3, Some("ada")), None);
        // A reservation is extended, and never shortened.
        running.extend(3, 5);
        assert_eq!(running.get(3).unwrap().until, Some(7));
        running.extend(3, 9);
        assert_eq!(running.get(3).unwrap().until, Some(9));
        // A row that was reserved without a deadline is released for good.
        running.remove(3);
        running.push(RunningRow { until: None, ..lent("ada") });
        running.give_back(3);
        assert_eq!(running.late(3, None), None);
        // Without a name, it may be any of them.
        running.push(RunningRow { by: None, ..lent("") });
        running.give_back(3);
        assert_eq!((running.late(3, Some("ada")), running.late(3, None)), (Some(""), Some("")));
        running.told_late(3, "");
        assert_eq!(running.late(3, None), None);
    }
}

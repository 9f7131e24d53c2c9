//! Possible slips in results: another row than those suggested, or a result far from all others. It is recorded, and
//! pointed out.

use crate::goals::Goals;
use crate::record::ToldValue;
use crate::tell::NAMED;
use crate::trials::{Trial, Trials};
use icee_protocol::{Cells, Lonely, Note};

/// From how many results on another one can be far from all of them, and how many times their range is far.
const FEW: usize = 5;
const FAR: f64 = 5.0;
/// From how many results on they can span decades, the ratio of the highest to the lowest for that, and how low the
/// middle one must then be: yields between 0.05 and 98 span no decades.
const SPREAD: usize = 8;
const DECADES: f64 = 1e3;
const LOW_MEDIAN: f64 = 0.1;

impl Trials {
    /// Possible slips in results that are about to be recorded, perhaps from the sheet.
    pub(crate) fn doubts(&self, outcomes: &[ToldValue], cells: impl Fn(usize) -> Cells, in_sheet: bool) -> Vec<Note> {
        self.not_suggested(outcomes, cells, in_sheet).into_iter().chain(self.far(outcomes, in_sheet)).collect()
    }

    /// For results that span decades: models see them on a linear scale, where most of them are almost equal.
    pub(crate) fn decades(&self, goals: &Goals) -> Option<Note> {
        let mut told: Vec<f64> = self.told.iter().filter_map(Trial::value).collect();
        told.sort_by(f64::total_cmp);
        let (low, high) = (*told.first()?, *told.last()?);
        let lies_low = told[told.len() / 2] < low + LOW_MEDIAN * (high - low);
        // If a lower bound is named, the scale was chosen on purpose.
        let is_new = told.len() >= SPREAD && goals.bounds.low.is_none();
        (is_new && low > 0.0 && high / low >= DECADES && lies_low).then_some(Note::Decades { low, high })
    }

    /// Only while rows are in progress are results of certain rows expected.
    fn not_suggested(&self, outcomes: &[ToldValue], cells: impl Fn(usize) -> Cells, in_sheet: bool) -> Option<Note> {
        let of = |told: &ToldValue| told.row.row - 1;
        let is_stray = |told: &&ToldValue| self.outcome(of(told)).is_none() && !self.is_running(of(told));
        let stray: Vec<&ToldValue> = outcomes.iter().filter(|told| !told.again).filter(is_stray).collect();
        if self.count_running() == 0 || stray.is_empty() {
            return None;
        }
        let lonely = |told: &&ToldValue| {
            let row = told.row.shown();
            Lonely { row, cells: cells(told.row.row).in_short() }
        };
        let rows: Vec<Lonely> = stray.iter().take(NAMED).map(lonely).collect();
        let running: Vec<String> = self.running().take(NAMED).map(|running| running.name.shown()).collect();
        let (more, running_more) = (stray.len() - rows.len(), self.count_running() - running.len());
        Some(Note::NotSuggested { rows, more, running, running_more, in_sheet })
    }

    fn far(&self, outcomes: &[ToldValue], in_sheet: bool) -> Option<Note> {
        let told: Vec<f64> = self.told.iter().filter_map(Trial::value).collect();
        let (low, high) = told.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
        let is_far = |value: f64| (value - high).max(low - value) > FAR * (high - low);
        let far = outcomes.iter().filter_map(|told| Some((told, told.value.filter(|&value| is_far(value))?)));
        let mut results: Vec<(f64, String)> = far.map(|(told, value)| (value, told.row.shown())).collect();
        if told.len() < FEW || low >= high || results.is_empty() {
            return None;
        }
        let more = results.len().saturating_sub(NAMED);
        results.truncate(NAMED);
        Some(Note::FarResults { results, more, low, high, in_sheet })
    }
}

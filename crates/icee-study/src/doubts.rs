//! What may be a slip in what is told: another row than those asked for, or a value far from all others. It is taken, and pointed out.

use crate::cells::Cells;
use crate::goals::Goals;
use crate::record::ToldValue;
use crate::study::shown;
use crate::tell::NAMED;
use crate::trials::{Trial, Trials};

/// Values from which on one more can be far from all of them, and how many times the distance between their ends is far.
const FEW: usize = 5;
const FAR: f64 = 5.0;
/// Values from which on they are said to span decades, the ratio of the highest to the lowest that makes it so, and how low the
/// middle one must then lie: yields between 0.05 and 98 span no decades.
const SPREAD: usize = 8;
const DECADES: f64 = 1e3;
const LOW_MEDIAN: f64 = 0.1;

impl Trials {
    /// What may be a slip in outcomes that are about to be taken in, and the way out, in words.
    pub(crate) fn doubts(&self, outcomes: &[ToldValue], cells: impl Fn(usize) -> Cells, way: &str) -> Vec<String> {
        self.not_asked_for(outcomes, cells, way).into_iter().chain(self.far(outcomes, way)).collect()
    }

    /// Said of values that span decades: models see them as they lie, and most of them as one.
    pub(crate) fn decades(&self, goals: &Goals) -> Option<String> {
        let mut told: Vec<f64> = self.told.iter().filter_map(Trial::value).collect();
        told.sort_by(f64::total_cmp);
        let (low, high) = (*told.first()?, *told.last()?);
        let lies_low = told[told.len() / 2] < low + LOW_MEDIAN * (high - low);
        // Whoever has named a lower bound has thought about it.
        let is_new = told.len() >= SPREAD && goals.bounds.low.is_none();
        (is_new && low > 0.0 && high / low >= DECADES && lies_low).then(|| {
            format!(
                "the values told span {low} to {high}: a study of their logarithms would predict better; one created with --bounds 0.. \
                 at least predicts none below 0"
            )
        })
    }

    /// While rows are running, of others nothing is expected.
    fn not_asked_for(&self, outcomes: &[ToldValue], cells: impl Fn(usize) -> Cells, way: &str) -> Option<String> {
        let of = |told: &ToldValue| told.row.row - 1;
        let is_stray = |told: &&ToldValue| self.outcome(of(told)).is_none() && !self.is_running(of(told));
        let stray: Vec<&ToldValue> = outcomes.iter().filter(|told| !told.again).filter(is_stray).collect();
        if self.count_running() == 0 || stray.is_empty() {
            return None;
        }
        let asked: Vec<String> = self.running().map(|running| running.name.shown()).collect();
        let what = match stray.as_slice() {
            [only] => format!("{} was not asked for ({})", shown(&only.row), cells(only.row.row).in_short()),
            _ => format!("{} were not asked for", in_short(stray.iter().map(|told| shown(&told.row)))),
        };
        Some(format!("{what}; asked for: {}; {way}", in_short(asked.into_iter())))
    }

    fn far(&self, outcomes: &[ToldValue], way: &str) -> Option<String> {
        let told: Vec<f64> = self.told.iter().filter_map(Trial::value).collect();
        let (low, high) = told.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
        let is_far = |value: f64| (value - high).max(low - value) > FAR * (high - low);
        let far = outcomes.iter().filter_map(|told| Some((told, told.value.filter(|&value| is_far(value))?)));
        let far: Vec<String> = far.map(|(told, value)| format!("{value} ({})", shown(&told.row))).collect();
        if told.len() < FEW || low >= high || far.is_empty() {
            return None;
        }
        let (is, a_slip) = if far.len() == 1 { ("is", "that was a slip") } else { ("are", "those were slips") };
        Some(format!(
            "{} {is} far from all values told so far ({low} to {high}); if {a_slip}, {way}",
            in_short(far.into_iter())
        ))
    }
}

/// The first few of a list.
fn in_short(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let named = all.take(NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

//! The chapters of the report: each turns results into figures and tables, and leaves out what is missing.

mod ablations;
mod beyond;
mod cost;
mod optimisation;
mod summary;
mod tables;
mod worlds;

pub use ablations::ablations;
pub use beyond::beyond;
pub use cost::cost;
pub use optimisation::{optimisation, race};
pub use summary::summary;
pub use tables::tables;
pub use worlds::{PaperComparison, compare, entropy, named, world};

use crate::figure::{Mark, Point, Series};
use crate::ink::Ink;
use crate::page::{Cell, Tone};
use crate::paper::Verdict;
use crate::work::{Played, Results, UnitResult};
use icee_models::results::EpisodeRow;

/// The returns of an agent, if it has played.
fn played<'a>(results: &'a Results, id: &str) -> Option<&'a Played> {
    match results.outcomes.get(id) {
        Some(UnitResult::Played(played)) => Some(played),
        _ => None,
    }
}

/// Mean return by episode as a series.
#[must_use]
pub fn curve(rows: &[EpisodeRow], ink: Ink, mark: Mark) -> Series {
    let point = |row: &EpisodeRow| Point { x: row.episode as f64, y: row.mean, half_width: row.half_width_95 };
    Series::new(ink, mark, rows.iter().map(point).collect())
}

/// A reference agent's returns: a dashed line without a band.
#[must_use]
pub fn ceiling(rows: &[EpisodeRow], ink: Ink) -> Series {
    let mut series = curve(rows, ink, Mark::Dashed);
    series.points.iter_mut().for_each(|point| point.half_width = None);
    series
}

/// A mean with its interval.
fn mean_cell(mean: f64, half_width: Option<f64>) -> Cell {
    match half_width {
        Some(half) => format!("{mean:.2} ± {half:.2}").into(),
        None => format!("{mean:.2}").into(),
    }
}

fn nothing() -> Cell {
    Cell { text: "–".into(), tone: Tone::None, ..Cell::default() }
}

/// A verdict as a sign, a word and a tone.
fn said(verdict: Verdict) -> (&'static str, &'static str, Tone) {
    match verdict {
        Verdict::Higher => ("▲", "higher", Tone::Good),
        Verdict::Agrees => ("=", "agrees", Tone::Plain),
        Verdict::Lower => ("▼", "lower", Tone::Bad),
    }
}

//! From results to what a reader sees: each chapter turns outcomes into figures and tables, and leaves out what is not
//! there.

mod ablations;
mod optimisation;
mod worlds;

pub use ablations::ablations;
pub use optimisation::{optimisation, race};
pub use worlds::{PaperComparison, compare, entropy, world};

use crate::figure::{Mark, Point, Series};
use crate::ink::{self, Ink};
use crate::page::{Cell, Tone};
use crate::paper::Verdict;
use crate::work::{Played, Results, UnitResult};
use icee_models::results::EpisodeRow;

/// What an agent earned, if it has played.
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
fn ceiling(played: &Played, agent: &str) -> Series {
    let mut series = curve(&played.episodes, ink::of(agent), Mark::Dashed);
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
    Cell { text: "–".into(), tone: Tone::None }
}

fn verdict_cell(verdict: Verdict) -> Cell {
    match verdict {
        Verdict::Higher => Cell { text: "higher".into(), tone: Tone::Good },
        Verdict::Agrees => "agrees".into(),
        Verdict::Lower => Cell { text: "lower".into(), tone: Tone::Bad },
    }
}

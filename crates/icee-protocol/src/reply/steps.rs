//! Suggestions, and what changed a study.

use super::{BestRow, Forecast};
use crate::Cells;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A suggested row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// What you call it.
    pub id: String,
    /// Its number, from 1.
    pub row: usize,
    /// Its cells.
    pub cells: Cells,
    /// Whether it has a result, and is worth a replicate.
    pub repeat: bool,
    /// Whether it was in progress before this answer.
    pub running: bool,
    /// When its reservation expires, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The person or worker who has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Its prediction; none before there are results to predict from, and where it is a random choice.
    pub forecast: Option<Forecast>,
    /// Why it is suggested, in words.
    pub reasons: Vec<String>,
}

/// The probability that a better row is left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remaining {
    /// The estimate.
    pub any: f64,
    /// The probability that the most promising row is better: a lower limit.
    pub single: f64,
    /// What it would be if rows were independent: an upper limit.
    pub independent: f64,
}

/// Suggested rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The rows, all different: first those that were in progress, then new ones.
    pub suggestions: Vec<Suggestion>,
    /// Whether all of them were in progress before.
    pub still_running: bool,
    /// What picked them.
    pub sampler: String,
    /// The best result so far.
    pub best: Option<f64>,
    /// The probability that a better row is left.
    pub remaining: Option<Remaining>,
    /// How many rows were neither measured nor in progress.
    pub left: usize,
    /// A checksum of the sheet, as in the summary.
    pub sheet: String,
}

/// Rows in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InProgress {
    /// The rows.
    pub running: Vec<Suggestion>,
    /// A checksum of the sheet, as in the summary.
    pub sheet: String,
}

/// How many results were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Rows that had no result.
    pub new: usize,
    /// Replicates.
    pub again: usize,
    /// Rows whose results were corrected.
    pub replaced: usize,
    /// Rows whose results were recorded before, and are the same.
    pub unchanged: usize,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// How much.
    pub told: Counts,
    /// The best row now.
    pub best: Option<BestRow>,
    /// Whether any row has a result.
    pub has_values: bool,
}

/// What was updated from the sheet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Updated {
    /// Whether the sheet has changed.
    pub changed: bool,
    /// Its rows before.
    pub rows_before: usize,
    /// Its rows now.
    pub rows: usize,
    /// Results that were filled in.
    pub told: Counts,
}

/// Reservations that were extended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Renewed {
    /// The rows.
    pub renewed: Vec<String>,
    /// When they expire at the earliest, in seconds since 1970.
    pub until: u64,
}

/// Rows that were released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withdrawn {
    /// The rows.
    pub withdrawn: Vec<String>,
}

/// Rows whose results were deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forgotten {
    /// The rows.
    pub forgotten: Vec<String>,
}

/// A step of a study: all that one request has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What it did.
    pub deeds: Vec<Deed>,
    /// The person or worker who asked for it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When, in seconds since 1970, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The same in words.
    pub words: String,
}

/// Something that changed a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "deed", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are the rows, columns and models that the deeds are about")]
pub enum Deed {
    /// Rows were suggested.
    Suggested { rows: Vec<String> },
    /// Results were recorded.
    Recorded { rows: Vec<String> },
    /// Reservations were extended.
    Extended { rows: Vec<String> },
    /// Suggested rows were released.
    Released { rows: Vec<String> },
    /// Reservations expired.
    Expired { rows: Vec<String> },
    /// Results were deleted.
    Deleted { rows: Vec<String> },
    /// The study was updated from its sheet.
    SheetUpdated,
    /// Another learned model is used.
    ModelAccepted { model: String },
    /// The goals were changed.
    GoalsChanged,
}

/// What was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// The step.
    pub undone: Step,
}

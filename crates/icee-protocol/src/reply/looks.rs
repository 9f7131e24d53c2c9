//! Explanations, reviews, documents, and studies that leave a place.

use super::{Forecast, Status};
use crate::{Cells, Content};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// What you call it.
    pub id: String,
    /// Its number, from 1.
    pub row: usize,
    /// Its cells.
    pub cells: Cells,
    /// Where it stands.
    pub status: Status,
    /// Its result, if it has one.
    pub value: Option<f64>,
    /// Its prediction; none before there are results to predict from.
    pub forecast: Option<Forecast>,
    /// What speaks for it, in words.
    pub reasons: Vec<String>,
    /// The measured rows most like it, the nearest first.
    pub nearest: Vec<Neighbour>,
}

/// A measured row that is like another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// What you call it.
    pub id: String,
    /// Its result.
    pub value: f64,
    /// Its cells where they differ.
    pub differs: Cells,
}

/// What the columns do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnEffects {
    /// The columns, the greatest effect first; empty before there are results to predict from.
    pub effects: Vec<Effect>,
}

/// What a column does: the mean prediction for each of its words, or groups of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// The column.
    pub column: String,
    /// The difference of the highest and the lowest mean.
    pub spread: f64,
    /// Its words or groups of numbers, in order.
    pub levels: Vec<Level>,
}

/// A word of a column, or a group of its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Which.
    pub label: String,
    /// The mean prediction of its rows.
    pub mean: f64,
    /// How many rows were predicted.
    pub rows: usize,
}

/// The probabilities of the intervals that a review checks.
pub const LEVELS: [f64; 3] = [0.5, 0.8, 0.95];

/// A look back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reviewed {
    /// The measured rows, in the order recorded.
    pub steps: Vec<ReviewedRow>,
    /// How many predictions were checked.
    pub checked: usize,
    /// How many results lay in their 50, 80 and 95 % intervals.
    pub held: [usize; 3],
}

/// A measured row in a look back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedRow {
    /// What you call it.
    pub id: String,
    /// Where it stands: measured, failed or impossible.
    pub status: Status,
    /// Its result, if it has one.
    pub value: Option<f64>,
    /// The best result up to here.
    pub best: Option<f64>,
    /// What earlier results predicted of it.
    pub forecast: Option<Forecast>,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// HTML that fetches nothing.
    pub html: String,
}

/// Results as CSV.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// The text.
    pub csv: String,
}

/// A study as it can be taken elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bundle {
    /// Its journal, byte for byte.
    pub journal: String,
    /// The sheets that it was read from: the latest last.
    pub sheets: Vec<Content>,
}

/// A study that was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gone {
    /// Its name, which is free again.
    pub deleted: String,
    /// The folder in which it lies now, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

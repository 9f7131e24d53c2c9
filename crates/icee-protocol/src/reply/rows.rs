//! Rows with their results and predictions.

use crate::{Cells, Texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is measured.
    Told,
    /// Its experiment failed.
    Failed,
    /// Its experiment cannot be made.
    Impossible,
    /// It is in progress: suggested, and without a result.
    Running,
    /// None of these.
    Left,
}

/// A measured row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredRow {
    /// What you call it: its id, or its number.
    pub id: String,
    /// Its number, from 1.
    pub row: usize,
    /// Its result, the mean of its replicates; null where the experiment failed.
    pub value: Option<f64>,
    /// All replicates.
    pub values: Vec<f64>,
    /// All replicates with their further results, in the order of the goals.
    #[serde(skip)]
    pub measurements: Vec<Vec<Option<f64>>>,
    /// The further results by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<(String, Option<f64>)>,
    /// Where it stands.
    pub status: Status,
    /// Its cells.
    pub cells: Cells,
}

/// The best row, and how far that can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestRow {
    /// Which.
    #[serde(flatten)]
    pub row: MeasuredRow,
    /// Where some rows have replicates: the estimated mean of its results.
    pub believed: Option<f64>,
    /// The probability that it is the best of the measured rows.
    pub sure: Option<f64>,
}

/// The best row, and the Pareto front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestRows {
    /// The best row by the first objective among those that keep all constraints.
    pub best: Option<BestRow>,
    /// The Pareto-optimal rows; with one objective the best row alone.
    pub front: Vec<MeasuredRow>,
    /// How many objectives there are.
    pub objectives: usize,
    /// Whether any row has a result.
    pub has_values: bool,
    /// A checksum of the sheet, as in the summary.
    pub sheet: String,
}

/// A prediction of a row's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// The expected result.
    pub mean: f64,
    /// The lower end of the 95 % interval, without measurement noise.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The probability of beating the best result so far, within the constraints; with several objectives, of joining the Pareto front.
    pub beats_best: f64,
    /// Predictions of the further results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<FurtherForecast>,
}

/// A prediction of a further result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FurtherForecast {
    /// Its name.
    pub name: String,
    /// The expected result.
    pub mean: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The probability that its constraint holds, if it has one.
    pub holds: Option<f64>,
}

/// A row with its prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RowForecast {
    /// What you call it.
    pub id: String,
    /// Its number, from 1.
    pub row: usize,
    /// Where it stands.
    pub status: Status,
    /// Its result, if it has one.
    pub value: Option<f64>,
    /// Its prediction, also of rows that are measured.
    #[serde(flatten)]
    pub forecast: Forecast,
}

/// A column of cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// A cell a row.
    pub cells: Texts,
}

/// Predictions of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predicted {
    /// The rows.
    pub rows: Vec<RowForecast>,
    /// Their cells, column by column, in the order of the rows.
    pub columns: Vec<Column>,
    /// A checksum of the sheet, as in the summary.
    pub sheet: String,
}

/// The cells of all rows; names, results and columns without a name are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllCells {
    /// The columns.
    pub columns: Vec<Column>,
    /// A checksum of the sheet, as in the summary.
    pub sheet: String,
}

//! What studies answer. Every verb has one reply, and a reply has one shape.

use crate::{Cells, Content, Suspicion, Texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A study at a glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Where its sheet lies, if it is a file that the study follows.
    pub pool: Option<String>,
    /// Its rows.
    pub rows: usize,
    /// The input columns: name, and how it is used.
    pub columns: Vec<(String, String)>,
    /// The column that names the rows.
    pub id_column: Option<String>,
    /// The name of a column of row numbers in tables of results.
    pub row_column: String,
    /// The column of results.
    pub value_column: Option<String>,
    /// What is wanted of each result; the first is the one that the study is about.
    pub goals: Vec<Goal>,
    /// The range of possible results.
    pub bounds: Option<Range>,
    /// The column with the cost of a row.
    pub cost_column: Option<String>,
    /// The earlier study whose results are used as well, and how many.
    pub earlier: Option<(String, usize)>,
    /// What picks the rows: learned, gp-ei or random.
    pub sampler: String,
    /// The learned model that the study uses.
    pub model: Option<ModelName>,
    /// Fixes everything that is random.
    pub seed: u64,
    /// The best row.
    pub best: Option<BestRow>,
    /// The standard deviation of replicates, where a row has some.
    pub noise: Option<f64>,
    /// The measured rows, in the order recorded.
    pub told: Vec<MeasuredRow>,
    /// How many they are, where not all are shown.
    pub told_in_all: usize,
    /// The Pareto front, where there are several objectives.
    pub front: Vec<MeasuredRow>,
    /// The rows in progress.
    pub running: Vec<String>,
    /// How many rows are neither measured nor in progress; rows with the same cells count once.
    pub left: usize,
    /// How many lines the journal has: another number is another state of the study.
    pub lines: u64,
    /// A checksum of the sheet: another one may number the rows otherwise.
    pub sheet: String,
    /// The last step, which undo would take back.
    pub last: Option<Step>,
}

/// What is wanted of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// The column of the result, if it has one.
    pub name: Option<String>,
    /// What is wanted.
    #[serde(flatten)]
    pub wanted: Wanted,
    /// Whether it is to be as good as possible, rather than within a limit.
    pub is_objective: bool,
    /// The same in words.
    pub words: String,
}

impl Goal {
    /// A goal with its words.
    pub fn new(name: Option<String>, wanted: Wanted) -> Goal {
        let is_objective = !matches!(wanted, Wanted::AtLeast { .. } | Wanted::AtMost { .. });
        Goal { name, wanted, is_objective, words: wanted.to_string() }
    }
}

/// What is wanted of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "wanted", rename_all = "kebab-case")]
pub enum Wanted {
    /// As low as possible.
    Minimize,
    /// As high as possible.
    Maximize,
    /// As near as possible to a number.
    Target {
        /// Which.
        number: f64,
    },
    /// A constraint: no less than a number.
    AtLeast {
        /// Which.
        number: f64,
    },
    /// A constraint: no more than a number.
    AtMost {
        /// Which.
        number: f64,
    },
}

impl Wanted {
    /// How bad a result is: the lower, the better; a constraint makes none better than another.
    pub fn loss(self, value: f64) -> f64 {
        match self {
            Wanted::Minimize => value,
            Wanted::Maximize => -value,
            Wanted::Target { number } => (value - number).abs(),
            Wanted::AtLeast { .. } | Wanted::AtMost { .. } => 0.0,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Minimize => write!(f, "lower is better"),
            Wanted::Maximize => write!(f, "higher is better"),
            Wanted::Target { number } => write!(f, "the nearer to {number} the better"),
            Wanted::AtLeast { number } => write!(f, "at least {number}"),
            Wanted::AtMost { number } => write!(f, "at most {number}"),
        }
    }
}

/// A range, open where it has no end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// Its lower end.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (Some(low), Some(high)) => write!(f, "{low} to {high}"),
            (Some(low), None) => write!(f, "{low} or more"),
            (None, Some(high)) => write!(f, "{high} or less"),
            (None, None) => write!(f, "any number"),
        }
    }
}

/// A learned model, and a checksum of its description and weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelName {
    /// Its name.
    pub name: String,
    /// Sixteen hexadecimal digits.
    pub hash: String,
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.hash)
    }
}

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

/// The goals as they are now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalsSet {
    /// What is wanted of each result.
    pub goals: Vec<Goal>,
    /// The range of possible results.
    pub bounds: Option<Range>,
}

/// A study in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: usize,
    /// How many are measured.
    pub told: usize,
    /// How many are in progress.
    pub running: usize,
    /// How many are left.
    pub left: usize,
    /// The best result, where there is one objective.
    pub best: Option<f64>,
    /// Why nothing else is known of it.
    pub problem: Option<String>,
}

/// Studies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Studies {
    /// One line each.
    pub studies: Vec<Line>,
}

/// How a sheet is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Surveyed {
    /// The study that it would be.
    pub summary: Summary,
    /// Columns that are perhaps not inputs.
    pub suspects: Vec<Suspicion>,
    /// The first cells of each column.
    pub preview: Vec<Column>,
}

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

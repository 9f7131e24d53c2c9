//! What can be asked of a study. The comments are the documentation of the server's API.

use crate::{Amount, Content, RowId, Sheet, StudyName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Start a study of the candidates in a sheet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Create {
    /// The study's name: 1 to 64 letters, digits, `-`, `_` and `.`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<StudyName>,
    /// The sheet of candidates, one a row, with a header: CSV text, or `{"base64": …}` of a CSV, .xlsx or .xlsm file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<Sheet>,
    /// The column of results. Cells that are filled are recorded at once; it is never used as an input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Which results are good: maximize or minimize.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Results near this number are good, instead of high or low ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Amount>,
    /// The range of possible results: 0..100, 0.. or ..100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<String>,
    /// Additional objectives and constraints: "price min", "purity >= 95", "pH = 7".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The column with the cost of a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// The column that names the rows; without one they are numbered from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The input columns; by default all that can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Columns that are not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Number columns on a logarithmic scale.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Number columns on a linear scale, though they span decades.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub linear: Vec<String>,
    /// Number columns whose numbers are names, such as years or batches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// An earlier study in the same place, whose results are used as well. Its columns must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// What picks the rows: learned, gp-ei or random; by default learned where a model fits the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<String>,
    /// Fixes everything that is random.
    pub seed: u64,
}

/// Read a sheet as a new study would; nothing is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Survey(pub Create);

/// Import a study: its journal and its sheets, unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Import {
    /// The study's name here.
    pub name: Option<StudyName>,
    /// Its journal, byte for byte.
    pub journal: String,
    /// The sheets that it was read from, in any order.
    pub sheets: Vec<Content>,
}

/// List the studies: rows, results, rows in progress, rows left, best.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct List {}

/// Suggest rows to try next.
///
/// Rows in progress are repeated to the request that they answer: the same person, `where`, `same` and `sampler`. New ones are added
/// until there are `count`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ask {
    /// How many rows.
    #[schemars(range(min = 1, max = 1000))]
    pub count: usize,
    /// Only rows that satisfy this condition: "heat < 230 and flour != rye".
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Only new rows, also while others are in progress. Workers want it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Columns in which all rows of the answer have the same cells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<String>,
    /// Reserve the rows for this long: 90m, 8h, 3d. Then they may be suggested again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The name of the person or worker who tries them; on a server by default that of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Another sampler for this answer: learned, gp-ei or random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<String>,
    /// Go on with this program's learned model, though the study began with another.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accept_model: bool,
}

impl Default for Ask {
    fn default() -> Ask {
        Ask {
            count: 1,
            condition: None,
            more: false,
            same: vec![],
            within: None,
            by: None,
            sampler: None,
            accept_model: false,
        }
    }
}

/// Record results: of one row, or of a file of many.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tell {
    /// The row; this or `csv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<RowId>,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Amount>,
    /// Further results by the names of their columns.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub further: BTreeMap<String, Amount>,
    /// The experiment failed: it counts as the worst result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The experiment cannot be made: the row is left out of the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub impossible: bool,
    /// A file of results: CSV text, or `{"base64": …}`. All lines are recorded, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csv: Option<Sheet>,
    /// The column of results in `csv`; by default the study's own, or "value".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Correct earlier results.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// Add a replicate to a row that has a result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The name of the person or worker who measured it; on a server by default that of the token. If the reservation expired and
    /// someone else recorded the row, the result is added as a replicate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Extend the reservation of rows in progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// The rows.
    pub rows: Vec<RowId>,
    /// Reserve them for this long from now: 90m, 8h, 3d. A reservation is never shortened.
    pub within: String,
    /// The name of the person or worker who has them; on a server by default that of the token. Refused if someone else has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Update the study from its sheet: rows added, removed or sorted, results filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Update {
    /// Results that differ from those recorded correct them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// Rows whose other cells were corrected keep their results. Needs a column that names the rows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// The sheet as it is now. Without it the file that the study was created from is read again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<Sheet>,
}

/// Release suggested rows that will not be tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Withdraw {
    /// The rows.
    pub rows: Vec<RowId>,
    /// The name of the person or worker who has them; on a server by default that of the token. Refused if someone else has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Delete all results of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// The rows.
    pub rows: Vec<RowId>,
}

/// Undo the last step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Undo {
    /// How many lines the study had when you looked at it: refused if it has changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
}

/// Change the goals: the range of results, constraints, an additional objective. The direction stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Goals {
    /// The range of possible results: 0..100, 0.. or ..100; "none" for no range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<String>,
    /// Objectives and constraints to add or to change: "price min", "purity >= 97".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// Show the study: its columns, its results, the rows in progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Show {
    /// Only so many results, the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<usize>,
}

/// Show the best row and, with several objectives, the Pareto front.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Best {}

/// Predict the results of all rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Predict {
    /// Only so many of the rows left, the most promising first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub top: Option<usize>,
    /// Another model than the study's: learned or gp-ei.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<String>,
}

/// Explain a row: its prediction, how it compares with the best, the measured rows most like it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// The row.
    pub row: RowId,
}

/// Show the mean prediction for each value of each column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Effects {}

/// Show the rows in progress: who has them, until when, what is predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Running {}

/// Look back: the best so far, and what would have been predicted of each row before it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Review {}

/// Make a page about the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// How many rows to look ahead.
    #[schemars(range(min = 1, max = 50))]
    pub count: usize,
}

impl Default for Report {
    fn default() -> Report {
        Report { count: 5 }
    }
}

/// Make a piece of HTML that shows the study at a glance, for notebooks and pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Glance {}

/// Write the results as CSV, in the form that `tell` reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Export {}

/// Read the cells of all rows, column by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadCells {}

/// Read the study itself, its journal and its sheets, to import it elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Journal {}

/// Delete the study. It is moved to where it can be brought back from; its name is free again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Delete {}

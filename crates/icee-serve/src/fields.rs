//! What requests say: each as a struct that is read, and as a list of fields that is documented. A test compares the two.

use icee_study::MOST_SUGGESTIONS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rows that a page looks ahead at most: with each the model thinks once more.
pub const MOST_AHEAD: usize = 50;
/// The forms of what was told.
pub const FORMATS: [&str; 2] = ["csv", "json"];

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A row: its id, or its number from 1.
    Row,
    /// A list of rows.
    Rows,
    /// A number.
    Number,
    /// A number of things.
    Count,
    /// The same, at least one and so many at most.
    UpTo(usize),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The name of a sampler.
    Sampler,
    /// Yes or no.
    Flag,
    /// Numbers by name.
    Numbers,
}

/// A field of a request.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
    /// What it means.
    pub about: &'static str,
    /// Whether it must be there.
    pub required: bool,
}

const fn field(name: &'static str, holds: Holds, about: &'static str) -> Field {
    Field { name, holds, about, required: false }
}

const fn required(name: &'static str, holds: Holds, about: &'static str) -> Field {
    Field { name, holds, about, required: true }
}

/// A row as clients write it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "a row is its id, or its number from 1")]
pub enum RowId {
    /// By its number.
    Number(u64),
    /// By its id, or its number as text.
    Text(String),
}

impl RowId {
    /// As it is looked for.
    pub fn text(&self) -> String {
        match self {
            RowId::Number(number) => number.to_string(),
            RowId::Text(text) => text.clone(),
        }
    }
}

/// A new study, or a sheet to be looked at.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Create {
    /// The study's name: 1 to 64 letters, digits, - and _. Not needed to survey.
    pub name: Option<String>,
    /// The sheet of candidates as CSV text; this or sheet_base64.
    pub sheet: Option<String>,
    /// The sheet in base64: an .xlsx or .xlsm file, or CSV.
    pub sheet_base64: Option<String>,
    /// The column in which results are filled in.
    pub value: Option<String>,
    /// Which values are good: maximize or minimize; this or target.
    pub direction: Option<String>,
    /// Values near this one are good.
    pub target: Option<f64>,
    /// Between which ends values can lie at all: 0..100, 0.. or ..100.
    pub bounds: Option<String>,
    /// Further outcomes and what is wanted of them: "price min", "purity >= 95".
    pub also: Vec<String>,
    /// The column that says what a row costs.
    pub cost: Option<String>,
    /// The column that names the rows; they are numbered from 1 otherwise.
    pub id: Option<String>,
    /// The columns to learn from; all by default.
    pub columns: Option<Vec<String>>,
    /// Columns not to learn from.
    pub ignore: Vec<String>,
    /// Columns of numbers to be scaled by their logarithms.
    pub log: Vec<String>,
    /// Columns of numbers to be taken as they stand.
    pub linear: Vec<String>,
    /// Columns of numbers that are names of categories.
    pub categories: Vec<String>,
    /// An earlier study here, to learn from its values, too.
    pub like: Option<String>,
    /// What picks the rows: icee, gp-ei or random.
    pub sampler: Option<String>,
    /// Fixes all that is random; 0 by default.
    pub seed: u64,
}

/// The fields of [`Create`].
pub const CREATE: &[Field] = &ABOUT_SHEETS;

/// The same where nothing is kept, and nothing needs a name.
pub const SURVEY: &[Field] = &{
    let mut fields = ABOUT_SHEETS;
    fields[0].required = false;
    fields
};

const ABOUT_SHEETS: [Field; 18] = [
    required("name", Holds::Text, "The study's name: 1 to 64 letters, digits, - and _. Not needed to survey."),
    field("sheet", Holds::Text, "The sheet of candidates as CSV text; this or sheet_base64."),
    field("sheet_base64", Holds::Text, "The sheet in base64: an .xlsx or .xlsm file, or CSV."),
    field("value", Holds::Text, "The column in which results are filled in."),
    field("direction", Holds::Text, "Which values are good: maximize or minimize; this or target."),
    field("target", Holds::Number, "Values near this one are good."),
    field("bounds", Holds::Text, "Between which ends values can lie at all: 0..100, 0.. or ..100."),
    field("also", Holds::Texts, "Further outcomes and what is wanted of them: \"price min\", \"purity >= 95\"."),
    field("cost", Holds::Text, "The column that says what a row costs."),
    field("id", Holds::Text, "The column that names the rows; they are numbered from 1 otherwise."),
    field("columns", Holds::Texts, "The columns to learn from; all by default."),
    field("ignore", Holds::Texts, "Columns not to learn from."),
    field("log", Holds::Texts, "Columns of numbers to be scaled by their logarithms."),
    field("linear", Holds::Texts, "Columns of numbers to be taken as they stand."),
    field("categories", Holds::Texts, "Columns of numbers that are names of categories."),
    field("like", Holds::Text, "An earlier study here, to learn from its values, too."),
    field("sampler", Holds::Sampler, "What picks the rows: icee, gp-ei or random."),
    field("seed", Holds::Count, "Fixes all that is random; 0 by default."),
];

/// A study from elsewhere.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Import {
    /// What the study is called here.
    pub name: Option<String>,
    /// Its journal.
    pub journal: String,
    /// Its sheet as CSV text; this or sheet_base64.
    pub sheet: Option<String>,
    /// Its sheet in base64.
    pub sheet_base64: Option<String>,
}

/// The fields of [`Import`].
pub const IMPORT: &[Field] = &[
    required("name", Holds::Text, "What the study is called here: 1 to 64 letters, digits, - and _."),
    required("journal", Holds::Text, "Its journal, byte for byte."),
    field("sheet", Holds::Text, "Its sheet as CSV text; this or sheet_base64."),
    field("sheet_base64", Holds::Text, "Its sheet in base64: an .xlsx or .xlsm file, or CSV."),
];

/// Asking for rows.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ask {
    /// How many rows; 1 by default.
    pub count: Option<usize>,
    /// Only rows that satisfy this: "heat < 230 and flour != rye".
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// New rows, also while others are running; without it, those are repeated. Workers want it.
    pub more: bool,
    /// Columns in which all rows of the answer are the same.
    pub same: Vec<String>,
    /// Give the rows back after this time, such as 90m, 8h or 3d, if nothing is told of them.
    pub within: Option<String>,
    /// Who will try them; the name of the token by default. Without more, rows that this person or worker still has are repeated.
    pub by: Option<String>,
    /// Another sampler than the study's, for this time.
    pub sampler: Option<String>,
    /// Go on with this program's learned model, though the study began with another one.
    pub accept_model: bool,
}

/// The fields of [`Ask`].
pub const ASK: &[Field] = &[
    field("count", Holds::UpTo(MOST_SUGGESTIONS), "How many rows; 1 by default."),
    field("where", Holds::Text, "Only rows that satisfy this: \"heat < 230 and flour != rye\"."),
    field(
        "more",
        Holds::Flag,
        "New rows, also while others are running; without it, those are repeated. Workers want it.",
    ),
    field("same", Holds::Texts, "Columns in which all rows of the answer are the same."),
    field(
        "within",
        Holds::Text,
        "Give the rows back after this time, such as 90m, 8h or 3d, if nothing is told of them.",
    ),
    field(
        "by",
        Holds::Text,
        "Who will try them; the name of the token by default. Without more, rows that this person or worker still has are repeated.",
    ),
    field("sampler", Holds::Sampler, "Another sampler than the study's, for this time."),
    field(
        "accept_model",
        Holds::Flag,
        "Go on with this program's learned model, though the study began with another one.",
    ),
];

/// Telling what came out.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tell {
    /// The row; this or csv.
    pub row: Option<RowId>,
    /// Its value.
    pub value: Option<f64>,
    /// Its further outcomes, by their names.
    pub further: BTreeMap<String, f64>,
    /// The experiment failed.
    pub failed: bool,
    /// The experiment cannot be made.
    pub impossible: bool,
    /// Results of many rows, as CSV text. All lines are taken, or none.
    pub csv: Option<String>,
    /// The column of values in csv; the study's own, or "value", by default.
    pub column: Option<String>,
    /// Correct what was told before.
    pub replace: bool,
    /// Another measurement of a row that has been told.
    pub again: bool,
    /// Who tells it; the name of the token by default. Whoever had the row until his time was up adds a measurement where others have told
    /// it meanwhile.
    pub by: Option<String>,
}

/// The fields of [`Tell`].
pub const TELL: &[Field] = &[
    field("row", Holds::Row, "The row; this or csv."),
    field("value", Holds::Number, "Its value."),
    field("further", Holds::Numbers, "Its further outcomes, by their names."),
    field("failed", Holds::Flag, "The experiment failed."),
    field("impossible", Holds::Flag, "The experiment cannot be made."),
    field("csv", Holds::Text, "Results of many rows, as CSV text. All lines are taken, or none."),
    field("column", Holds::Text, "The column of values in csv; the study's own, or \"value\", by default."),
    field("replace", Holds::Flag, "Correct what was told before."),
    field("again", Holds::Flag, "Another measurement of a row that has been told."),
    field(
        "by",
        Holds::Text,
        "Who tells it; the name of the token by default. Whoever had the row until his time was up adds a measurement where others have \
         told it meanwhile.",
    ),
];

/// Rows that something is done with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// Which rows.
    pub rows: Vec<RowId>,
}

/// The fields of [`Rows`].
pub const ROWS: &[Field] = &[required("rows", Holds::Rows, "Which rows.")];

/// Prolonging rows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// Which rows; they must be running.
    pub rows: Vec<RowId>,
    /// Give them back after this time from now, such as 90m, 8h or 3d; never earlier than they would be anyway.
    pub within: String,
    /// Who has them; the name of the token by default. Refused where somebody else has one by now.
    #[serde(default)]
    pub by: Option<String>,
}

/// The fields of [`Renew`].
pub const RENEW: &[Field] = &[
    required("rows", Holds::Rows, "Which rows; they must be running."),
    required(
        "within",
        Holds::Text,
        "Give them back after this time from now, such as 90m, 8h or 3d; never earlier than they would be anyway.",
    ),
    field(
        "by",
        Holds::Text,
        "Who has them; the name of the token by default. Refused where somebody else has one by now.",
    ),
];

/// Giving rows back.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withdraw {
    /// Which rows; they must be running.
    pub rows: Vec<RowId>,
    /// Who has them; the name of the token by default. Refused where somebody else has one by now.
    #[serde(default)]
    pub by: Option<String>,
}

/// The fields of [`Withdraw`].
pub const WITHDRAW: &[Field] = &[
    required("rows", Holds::Rows, "Which rows; they must be running."),
    field(
        "by",
        Holds::Text,
        "Who has them; the name of the token by default. Refused where somebody else has one by now.",
    ),
];

/// Taking in the sheet.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Update {
    /// Results that differ from what was told correct it.
    pub replace: bool,
    /// Rows that were told and have other cells now keep their results.
    pub keep: bool,
    /// The sheet as it is now, as CSV text; without one, the sheet on the server is read again.
    pub sheet: Option<String>,
    /// The same in base64: an .xlsx or .xlsm file, or CSV.
    pub sheet_base64: Option<String>,
}

/// The fields of [`Update`].
pub const UPDATE: &[Field] = &[
    field("replace", Holds::Flag, "Results that differ from what was told correct it."),
    field("keep", Holds::Flag, "Rows that were told and have other cells now keep their results."),
    field(
        "sheet",
        Holds::Text,
        "The sheet as it is now, as CSV text; without one, the sheet on the server is read again.",
    ),
    field("sheet_base64", Holds::Text, "The same in base64: an .xlsx or .xlsm file, or CSV."),
];

/// A request that says nothing more.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Nothing {}

/// Undoing.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Undo {
    /// How many lines the study had when it was looked at: refused where others have changed it since.
    pub lines: Option<u64>,
}

/// The fields of [`Undo`].
pub const UNDO: &[Field] = &[field(
    "lines",
    Holds::Count,
    "How many lines the study had when it was looked at: refused where others have changed it since.",
)];

/// The study at a glance.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Show {
    /// Only so many rows of those told, the latest.
    pub told: Option<usize>,
}

/// The fields of [`Show`].
pub const SHOW: &[Field] =
    &[field("told", Holds::Count, "Only so many rows of those told, the latest; all by default.")];

/// Beliefs of rows.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Predict {
    /// Only so many rows of those that are left, the most promising first.
    pub top: Option<usize>,
    /// Another model than the study's: icee or gp-ei.
    pub sampler: Option<String>,
}

/// The fields of [`Predict`].
pub const PREDICT: &[Field] = &[
    field("top", Holds::Count, "Only so many rows of those that are left, the most promising first."),
    field("sampler", Holds::Text, "Another model than the study's: icee or gp-ei."),
];

/// Why a row.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// The row.
    pub row: String,
}

/// The fields of [`Why`].
pub const WHY: &[Field] = &[required("row", Holds::Row, "The row.")];

/// The page.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// How many rows to look ahead; 5 by default.
    pub count: Option<usize>,
}

/// The fields of [`Report`].
pub const REPORT: &[Field] = &[field("count", Holds::UpTo(MOST_AHEAD), "How many rows to look ahead; 5 by default.")];

/// What was told.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Export {
    /// csv (the default) or json.
    pub format: Option<String>,
}

/// The fields of [`Export`].
pub const EXPORT: &[Field] = &[field("format", Holds::OneOf(&FORMATS), "csv (the default) or json.")];

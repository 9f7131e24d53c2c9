//! What you should know beside a reply, as data. The words are made in [`render`](crate::render).

use crate::{CellChange, Counts, Misfit, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something with its words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Said<T> {
    /// What it is: a code and data.
    #[serde(flatten)]
    pub what: T,
    /// The same in words, for the face that asked.
    pub words: String,
}

/// What you should know beside a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named for what they hold")]
pub enum Note {
    /// The journal's last line was incomplete and lies elsewhere now.
    TornMoved { place: String },
    /// The journal's last line is incomplete and does not count.
    Torn,
    /// Something cannot be shown.
    Unread { problem: Box<Problem> },
    /// A token goes over the network unencrypted.
    Unencrypted { host: String },
    /// The study uses a model from now on, and did not say which before.
    ModelNoted { model: String },
    /// No learned model fits: the Gaussian process picks the rows.
    GpPicks { misfit: Misfit },

    /// Fewer rows are left than were asked for.
    FewerLeft { asked: usize, left: usize },
    /// Fewer rows that are left share a setting.
    FewerAlike { asked: usize, rows: usize },
    /// Of many rows some were scored.
    Scored { left: usize, scored: usize },
    /// Of many results some are used.
    Thinned { results: usize, used: usize, fitted: Option<usize>, model: String },
    /// The results span decades.
    Decades { low: f64, high: f64 },
    /// Reservations expired.
    Expired { rows: Vec<String> },
    /// Other rows of the same person are in progress.
    OthersRunning { rows: usize },
    /// The sheet was updated before the answer.
    SheetUpdated { rows_before: usize, rows: usize, told: Counts },

    /// A row is the same experiment as another.
    SameCells { row: String, of: usize },
    /// Someone else recorded the row meanwhile: the result was added as a replicate.
    LateReplicate { row: String },
    /// Rows that were not suggested, while others are in progress.
    NotSuggested { rows: Vec<Lonely>, more: usize, running: Vec<String>, running_more: usize, in_sheet: bool },
    /// Results far from all others.
    FarResults { results: Vec<(f64, String)>, more: usize, low: f64, high: f64, in_sheet: bool },
    /// Deleted results still stand in the sheet.
    StillInSheet { column: String },
    /// Further results without the main one.
    Waiting { rows: usize },

    /// A corrected row keeps its result.
    RowKept { row: String, known: String, changes: Vec<CellChange>, now: Option<String> },
    /// A corrected row is no longer in progress.
    RowReleased { row: String, changes: Vec<CellChange>, now: Option<String> },
    /// The sheet has new columns.
    NewColumns { columns: Vec<String>, more: usize },
    /// Results whose cells are empty now.
    Emptied(Emptied),
    /// Further results whose cells are empty now.
    Cleared(Emptied),
    /// Rows with fewer replicates in the sheet.
    Fewer { rows: Vec<FewerMeasured>, more: usize },
    /// A line that may be no row.
    Footer { line: usize, text: String },
    /// Something that was found in the file.
    Remark { remark: String },
    /// Rows with the same cells count as one experiment.
    EqualRows { row: usize, first: usize, rows: usize },

    /// A column without a name.
    Unnamed { column: usize },
    /// A column called "id" that is used as an input.
    IdIsInput { column: String },
    /// A column that is perhaps not an input.
    Suspect(Suspicion),
    /// A column that is not used.
    LeftOut { column: String, why: LeftOut },
    /// A point is read as a decimal point.
    DecimalPoint { column: String, example: Option<(String, usize)>, created: bool },
    /// Dates are words.
    Dates { column: String },
    /// Numbers in another notation.
    Notation { column: String, word: String, line: usize, used: bool },
    /// Different units.
    MixedUnits { column: String, first: (String, usize), second: (String, usize), used: bool },
    /// Numbers and words.
    MixedWords(Mixed),
    /// Numbers without the unit of the others.
    UnitAssumed { column: String, unit: String, cell: String, line: usize },

    /// The earlier study has results of the first goal alone.
    EarlierFirst,
    /// The earlier study looks for the opposite.
    EarlierOpposed { study: String, high_there: bool },
    /// Of many rows some were predicted.
    PartPredicted { rows: usize, of: usize },
    /// Of many results some are shown.
    PartShown { shown: usize, of: usize },
    /// The goals were changed, and results are missing.
    GoalUnmeasured { name: String, rows: usize },
}

/// A row that was not suggested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lonely {
    /// The row.
    pub row: String,
    /// Its cells, in short.
    pub cells: String,
}

/// Results that the sheet has no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Emptied {
    /// The rows and their results.
    pub rows: Vec<(String, String)>,
    /// How many more there are.
    pub more: usize,
    /// The column.
    pub column: String,
}

/// A row with fewer replicates in the sheet than were recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FewerMeasured {
    /// The row.
    pub row: String,
    /// How many were recorded.
    pub known: usize,
    /// How many the sheet has.
    pub here: usize,
}

/// A column of numbers and words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mixed {
    /// The column.
    pub column: String,
    /// How many cells are numbers.
    pub numbers: usize,
    /// The first word, and its line.
    pub word: (String, usize),
    /// Whether it is used, as categories.
    pub used: bool,
}

/// Why a column is not used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are named for what they hold")]
pub enum LeftOut {
    /// All cells are empty.
    Empty,
    /// All cells are the same.
    Constant,
    /// Its words are names, not categories.
    Names { words: usize, rows: usize },
    /// Its numbers are too far apart.
    TooFar { low: f64, high: f64 },
}

/// A column that is perhaps not an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suspicion {
    /// Which.
    pub column: String,
    /// Why.
    pub grounds: Grounds,
    /// Whether it may be the result, rather than a column to ignore.
    pub is_result: bool,
    /// Whether it is used as an input.
    pub is_input: bool,
    /// The same in words: the rest of a sentence that begins with the column.
    pub reason: String,
}

/// Why a column is perhaps not an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are named for what they hold")]
pub enum Grounds {
    /// It is filled in only where the results are.
    WithResults { results: String },
    /// Its name is that of a result.
    NamedLikeResult,
    /// Many of its cells are empty.
    ManyEmpty { empty: usize, rows: usize },
    /// Its numbers count the rows.
    RunningNumber,
}

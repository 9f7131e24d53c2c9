//! Why a request was not done, as data. The words are made in [`render`](crate::render), for the face that shows them.

use crate::{ModelName, Note, Range};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of problem it is: faces choose statuses, exceptions and exit codes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request makes no sense.
    Bad,
    /// The token is missing or not known.
    Unauthorized,
    /// The token may not.
    Forbidden,
    /// There is no such study.
    Missing,
    /// It makes sense, but not as the study stands.
    Conflict,
    /// A study of this name exists.
    Exists,
    /// The place is busy or out of reach; try again.
    Busy,
    /// The place could not do it.
    Internal,
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named for what they hold")]
pub enum Problem {
    /// A study cannot have this name.
    NameUnusable { name: String },
    /// A new study needs a name.
    NameMissing,
    /// There is no study of this name.
    NoStudy { name: String, place: Option<String>, known: Vec<String> },
    /// There is one already.
    StudyExists { name: String },
    /// A file is in the way.
    FileExists { path: String },
    /// There is no such file.
    FileMissing { path: String },
    /// A file cannot be read or written, or is not what it should be.
    File { path: String, fault: String, io: bool },
    /// A table cannot be used: what is wrong, line by line.
    Table { file: String, faults: Vec<String> },
    /// What is stored of a study is not what it should be.
    Stored { name: String, fault: String },
    /// The journal is of a format that is only upgraded.
    OldFormat { name: String, format: u32 },
    /// The place cannot be reached.
    Unavailable { name: String, fault: String },
    /// There is too much to do.
    Busy { what: String },
    /// A server cannot be reached.
    Unreachable { place: String, fault: String },
    /// It answers, but not as icee does.
    Strange { place: String, fault: String },
    /// A request to a server was refused before a study saw it: by a proxy, or for a token.
    Refused { status: u16, fault: String },
    /// The address of a server, or its token, cannot be used.
    Address { fault: String },
    /// The program has made a mistake.
    Bug { fault: String },
    /// The learned model at hand is not the study's.
    OtherModel { pinned: ModelName, here: ModelName },
    /// No learned model fits.
    NoModel { misfit: Misfit },
    /// A model cannot predict.
    Model { fault: String },
    /// A name that is not among the known ones.
    Unknown { what: String, name: String, nearest: Vec<String>, known: Vec<String> },

    /// Nobody said which results are good.
    DirectionMissing,
    /// A direction and a target.
    DirectionAndTarget,
    /// A word that is no direction.
    NotADirection { text: String },
    /// A text that is no range.
    NotARange { text: String },
    /// A text that is no goal.
    NotAGoal { text: String },
    /// Two limits for one result.
    TwoLimits { text: String },
    /// A limit with the wrong sign.
    LimitSign { text: String },
    /// A text that is no number.
    NotANumber { text: String },
    /// "failed" or "impossible" in the place of a number.
    WordForValue { word: String },
    /// A text that is no time.
    NotATime { text: String },
    /// A number that is not finite.
    NotFinite { text: String },
    /// A range whose ends are the wrong way round.
    RangeReversed { low: f64, high: f64 },
    /// A target outside of the range.
    TargetOutside { target: f64 },
    /// Too many goals.
    TooManyGoals { count: usize, most: usize },
    /// Two goals for one result.
    GoalTwice { name: String },
    /// A goal for a result whose name is taken.
    GoalName { name: String },
    /// The direction of the main result cannot change.
    DirectionFixed,
    /// Nothing to change.
    NothingToChange,
    /// A new goal excludes results that were recorded.
    ResultsOutside { row: String, value: f64, range: Range },
    /// A scale for a column that is not an input.
    ScaleUnused { column: String },
    /// Two scales for one column.
    ScaleTwice { column: String },
    /// Two roles for one column: what each is, as words that end "the column that".
    TwoRoles { column: String, role: ColumnRole, other: ColumnRole },
    /// An input column that stands twice in a list.
    ColumnTwice { column: String },
    /// An input column that has another role.
    NotAnInput { column: String, role: ColumnRole },
    /// An input column that is to be ignored.
    InputIgnored { column: String },
    /// The inputs make more coordinates than can be used.
    TooWide { coordinates: usize, most: usize },
    /// No column can be used as an input.
    NoInputs { file: String, notes: Vec<Note> },
    /// A study needs a sheet.
    SheetMissing,
    /// Servers read no paths.
    PathRefused,
    /// The earlier study cannot be used.
    Earlier { study: String, mismatches: Vec<EarlierMismatch> },
    /// The earlier study has too few results.
    EarlierEmpty { study: String },
    /// The earlier study or its sheet cannot be read.
    EarlierUnreadable { study: String, problem: Box<Problem> },

    /// There is no such row.
    RowUnknown { row: String, rows: usize, column: Option<String>, nearest: Option<String>, example: Option<String> },
    /// Two rows have these cells.
    RowsAlike { row: String, other: String, column: String },
    /// No row has these cells.
    NoRowWithCells,
    /// Row numbers changed with the sheet.
    NumbersMoved { sheet: String, was: usize, is: usize },
    /// A line says other cells than the row has.
    CellsDiffer { row: String, column: String, here: String, there: String },
    /// A result that is not finite.
    ValueNotFinite { row: String, text: String },
    /// A result outside of the range.
    OutOfRange { row: String, value: f64, range: Range },
    /// A row that has a result.
    AlreadyMeasured { row: String, known: String },
    /// A result in the sheet that differs from the one recorded.
    SheetDiffers { row: String, here: String, known: String },
    /// The column of results is an input.
    ResultsAreInputs { column: String },
    /// A file without results.
    NoResults { file: String, column: String },
    /// A request without a result, or with two.
    WhichResult,
    /// The result itself is missing beside further ones.
    MainResultMissing,
    /// A result is given twice.
    ResultTwice { name: String },
    /// A file of results and a result of a row.
    RowAndFile,
    /// A correction and a replicate.
    ReplaceAndAgain,
    /// No row is named.
    NoRows,
    /// What is wrong with rows, one by one.
    Rows { problems: Vec<RowProblem>, more: usize },
    /// What is wrong with a file of results, line by line.
    Lines { file: String, problems: Vec<LineProblem>, more: usize },

    /// Too many rows, or none, were asked for.
    Count { count: usize, most: usize, several: bool },
    /// A person's name that cannot be one.
    PersonName { most: usize },
    /// A condition that makes no sense.
    Condition { condition: String, fault: String },
    /// No row that is left satisfies the condition.
    NoneSatisfies { condition: String, unknown: Option<(String, String, Vec<String>)> },
    /// No row is left.
    NoneLeft { rows: usize, running: usize },
    /// A column stands twice among those that are to be the same.
    SameTwice { column: String },
    /// Too many columns are to be the same.
    SameTooMany { most: usize },

    /// The sheet is gone.
    SheetGone { path: String },
    /// Another process has updated the study from a newer sheet.
    SheetNewer,
    /// Rows with results were edited or deleted.
    SheetConflicts { sheet: String, conflicts: Vec<Conflict>, more: usize },
    /// A column of the study is not in the sheet.
    ColumnGone { fault: String },
    /// The study follows a file, so it takes no sheet.
    SheetIsFile { path: String },
    /// A version of the sheet was not kept.
    SheetNotKept { hash: String },

    /// A row that is not in progress.
    NotRunning { row: String },
    /// A row that someone else has.
    HeldByOther { row: String, holder: String },
    /// A row without results to delete.
    NothingToForget { row: String },
    /// Nothing to undo.
    NothingToUndo,
    /// The study has changed meanwhile.
    ChangedMeanwhile,
    /// Too few results for a prediction.
    TooFewResults { needed: usize, known: usize },
    /// Too many rows to look ahead, or none.
    Ahead { count: usize, most: usize },
    /// A number of rows that must not be zero.
    TopZero,
    /// The journal and the sheet do not belong together.
    OtherSheet,
    /// A key that cannot be one.
    KeyUnusable { longest: usize },
    /// A key that was used for another request.
    KeyReused { key: String },
}

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnRole {
    /// It names the rows.
    Names,
    /// It has results.
    Results,
    /// It has costs.
    Costs,
}

/// Why no learned model fits a sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are named for what they hold")]
pub enum Misfit {
    /// There is none.
    NoneAtHand,
    /// It has more input columns than the model reads.
    Columns { columns: usize, most: usize },
    /// The same where each category counts as one.
    Coordinates { columns: usize, most: usize },
}

/// Why an earlier study does not match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are named for what they hold")]
pub enum EarlierMismatch {
    /// It has no such input column.
    NoColumn { column: String },
    /// The column has numbers there and words here, or the other way round.
    Type { column: String, numbers_here: bool },
    /// The column has another unit there.
    Unit { column: String, there: Option<String>, here: Option<String> },
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RowProblem {
    /// The line of a file in which it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a line of a file.
pub type LineProblem = RowProblem;

/// A cell that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellChange {
    /// Its column.
    pub column: String,
    /// What it was.
    pub was: String,
    /// What it is.
    pub is: String,
}

/// A row of the study that the sheet has no more, or with other cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The row.
    pub row: String,
    /// Its result; none where it is in progress.
    pub known: Option<String>,
    /// Whether it is gone, rather than edited.
    pub gone: bool,
    /// The cells that were edited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<CellChange>,
    /// What stands there now, where what was there before is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// Whether a column names the rows.
    pub has_id: bool,
    /// Whether the sheet has results.
    pub has_results: bool,
}

impl Problem {
    /// What kind of problem it is.
    pub fn kind(&self) -> Kind {
        match self {
            Problem::NoStudy { .. } => Kind::Missing,
            Problem::StudyExists { .. } | Problem::FileExists { .. } => Kind::Exists,
            Problem::Unavailable { .. } | Problem::Busy { .. } | Problem::Unreachable { .. } => Kind::Busy,
            Problem::File { io, .. } if *io => Kind::Internal,
            Problem::Stored { .. } | Problem::OldFormat { .. } | Problem::Strange { .. } | Problem::Bug { .. } => {
                Kind::Internal
            }
            Problem::Refused { status: 401, .. } => Kind::Unauthorized,
            Problem::Refused { status: 403, .. } => Kind::Forbidden,
            Problem::Refused { status: 404, .. } => Kind::Missing,
            Problem::Refused { status: 409, .. } => Kind::Conflict,
            Problem::Refused { status: 408 | 429 | 503, .. } => Kind::Busy,
            Problem::Refused { status: 500.., .. } => Kind::Internal,
            Problem::OtherModel { .. }
            | Problem::AlreadyMeasured { .. }
            | Problem::SheetDiffers { .. }
            | Problem::SheetNewer
            | Problem::SheetConflicts { .. }
            | Problem::SheetNotKept { .. }
            | Problem::NumbersMoved { .. }
            | Problem::NoneLeft { .. }
            | Problem::NotRunning { .. }
            | Problem::HeldByOther { .. }
            | Problem::NothingToUndo
            | Problem::ChangedMeanwhile
            | Problem::TooFewResults { .. }
            | Problem::KeyReused { .. }
            | Problem::ResultsOutside { .. } => Kind::Conflict,
            // What could be done to another row, or at another time, makes sense.
            Problem::Rows { problems, .. } | Problem::Lines { problems, .. } => {
                let all = problems.iter().all(|row| row.problem.kind() == Kind::Conflict);
                if all { Kind::Conflict } else { Kind::Bad }
            }
            _ => Kind::Bad,
        }
    }

    /// Its code, as JSON has it.
    pub fn code(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        value.get("code").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    }

    /// One problem of several: itself where it is alone.
    pub fn of_rows(mut problems: Vec<Problem>) -> Problem {
        if problems.len() == 1 {
            return problems.swap_remove(0);
        }
        let of = |problem| RowProblem { line: None, problem };
        let (problems, more) = shortened(problems.into_iter().map(of).collect());
        Problem::Rows { problems, more }
    }

    /// One problem of the lines of a file.
    pub fn of_lines(file: impl Into<String>, problems: Vec<LineProblem>) -> Problem {
        let (problems, more) = shortened(problems);
        Problem::Lines { file: file.into(), problems, more }
    }
}

/// Problems that are shown before they are only counted.
const SHOWN: usize = 20;

/// The first few of a list, and how many more there are.
pub fn shortened<T>(mut all: Vec<T>) -> (Vec<T>, usize) {
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    (all, more)
}

/// In words that name no face's options.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::render::problem(self, &crate::Reader::default()))
    }
}

impl std::error::Error for Problem {}

/// A refused request, as a server answers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What is wrong and the way out, in words for the face that asked.
    pub error: String,
    /// The same as data.
    pub problem: Problem,
}

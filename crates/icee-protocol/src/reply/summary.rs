//! A study at a glance: its goals, its model, its place in a list.

use super::{BestRow, Column, MeasuredRow, Step};
use crate::Suspicion;
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

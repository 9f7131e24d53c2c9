//! The lines of a journal: a header, then a line for every request that changed something.

use crate::encode::Column;
use crate::error::{OrProblem, Result, bug};
use crate::goals::{Bounds, Direction, Further, Goals};
use icee_base::names::Unknown;
use icee_base::table::Table;
use icee_protocol::{ModelName, Problem};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;
use std::str::FromStr;

/// The format's version.
pub const FORMAT: u32 = 6;

/// What picks the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplerKind {
    /// A learned model: rows are drawn in proportion to a power of their expected improvement.
    Learned,
    /// A Gaussian process: the row of the greatest expected improvement.
    GpEi,
    /// Random choice.
    Random,
}

impl SamplerKind {
    /// All of them.
    pub const ALL: [SamplerKind; 3] = [SamplerKind::Learned, SamplerKind::GpEi, SamplerKind::Random];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SamplerKind::Learned => "learned",
            SamplerKind::GpEi => "gp-ei",
            SamplerKind::Random => "random",
        }
    }
}

impl FromStr for SamplerKind {
    type Err = Problem;

    fn from_str(name: &str) -> Result<SamplerKind> {
        let known = || Unknown::new("sampler", name, &SamplerKind::ALL.map(SamplerKind::name));
        SamplerKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(known).or_problem()
    }
}

/// When a request was made, by whom, and with which key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// When, in seconds since 1970; upgraded journals do not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The person or worker, if the request names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The key that makes the request be done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Keyed>,
}

/// Checksums of a key and its request: the journal does not give another's keys away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyed {
    /// Of the key and the name of its token.
    pub key: String,
    /// Of the request.
    pub request: String,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format's version.
    pub icee_study: u32,
    /// The request that created the study.
    #[serde(default)]
    pub from: Origin,
    /// The sheet as it was.
    pub pool: SheetFile,
    /// The column that names the rows; their numbers do where there is none.
    pub id: Option<String>,
    /// The column in which results are filled in; never an input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The input columns, with their codes.
    pub columns: Vec<Column>,
    /// Which results are good.
    pub direction: Direction,
    /// The range of possible results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Additional objectives and constraints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Further>,
    /// The column with the cost of a row; never an input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// What an earlier study of such rows has found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// What picks the rows.
    pub sampler: SamplerKind,
    /// Fixes everything that is random.
    pub seed: u64,
    /// The learned model that picks them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelPin>,
    /// The results that the sheet had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<ToldValue>,
}

/// The results of an earlier study: its rows, copied into this one's journal, so that nothing else is needed to read
/// it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// The study's name.
    pub study: String,
    /// The rows that have a result.
    pub rows: Vec<EarlierRow>,
}

/// A row of an earlier study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierRow {
    /// Its cells, in the order of the input columns.
    pub cells: Vec<String>,
    /// Its result, the mean of its replicates.
    #[serde(with = "as_text")]
    pub value: f64,
}

/// A learned model, and what tells it from another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPin {
    /// Its name.
    pub name: String,
    /// A checksum of its description and weights, sixteen hexadecimal digits.
    pub hash: String,
}

impl std::fmt::Display for ModelPin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name, self.hash)
    }
}

impl From<ModelPin> for ModelName {
    fn from(ModelPin { name, hash }: ModelPin) -> ModelName {
        ModelName { name, hash }
    }
}

/// A sheet, and what shows that it has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SheetFile {
    /// The file that the study follows, from the journal's folder; none where the sheet came with a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The length of its text, without a byte order mark.
    pub bytes: u64,
    /// Its rows.
    pub rows: usize,
    /// The checksum of its text, sixteen hexadecimal digits.
    pub fingerprint: String,
    /// The SHA-256 of its bytes, under which it is kept beside the journal; upgraded journals do not have it of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Its columns that the study does not use, to notice new ones.
    #[serde(default)]
    pub others: Vec<String>,
}

/// Any other line: the changes of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The request.
    #[serde(default)]
    pub from: Origin,
    /// Its changes, in order.
    pub changes: Vec<Entry>,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Entry {
    /// Rows were suggested, all at once.
    Ask {
        /// Which.
        rows: Vec<RowName>,
        /// What picked them.
        sampler: SamplerKind,
        /// When the reservation expires, in seconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        /// The rest of the request.
        #[serde(default, skip_serializing_if = "Asked::is_plain")]
        asked: Asked,
    },
    /// Results were recorded, all at once.
    Tell {
        /// Of which rows.
        outcomes: Vec<ToldValue>,
        /// The name of the person whose reservation had expired; the row stays with its present holder. Empty if there
        /// was no name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        late: Option<String>,
    },
    /// The reservations of rows in progress are extended.
    Renew {
        /// Which rows.
        rows: Vec<RowName>,
        /// Until when at least, in seconds since 1970.
        until: u64,
    },
    /// Suggested rows are released: as if they had not been suggested.
    Withdraw {
        /// Which.
        rows: Vec<RowName>,
    },
    /// Reservations have expired.
    Expire {
        /// The rows.
        rows: Vec<RowName>,
    },
    /// The results of rows are deleted: as if they had not been recorded.
    Forget {
        /// Which.
        rows: Vec<RowName>,
    },
    /// The goals from here on; the direction stays.
    Goals {
        /// The range of possible results.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bounds: Option<Bounds>,
        /// Additional objectives and constraints: those from before first, in their order.
        further: Vec<Further>,
    },
    /// The sheet has changed: its rows from here on, and the results in it.
    Sheet {
        /// The sheet as it is now.
        pool: SheetFile,
        /// How its columns are coded now.
        columns: Vec<Column>,
        /// The rows with results or in progress, and those with an expired reservation: where each was and is, by number from one.
        moved: Vec<[usize; 2]>,
        /// The results that were filled in.
        outcomes: Vec<ToldValue>,
    },
    /// From here on this learned model is used.
    Model(ModelPin),
    /// The last line that still counts does not count any more.
    Undo {},
}

/// The request for suggested rows, except for their number: rows in progress are repeated to the same request alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The condition that they satisfy.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The columns in which they are the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<String>,
}

impl Asked {
    fn is_plain(&self) -> bool {
        *self == Asked::default()
    }
}

/// A row of the sheet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowName {
    /// Its number, from one, the header not counted.
    pub row: usize,
    /// Its id, where a column gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A checksum of its cells: the row is found by it when the sheet has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl RowName {
    /// The user's name for it.
    pub fn shown(&self) -> String {
        self.id.clone().unwrap_or_else(|| self.row.to_string())
    }
}

/// The user's names for several rows.
pub fn shown_all(rows: &[RowName]) -> Vec<String> {
    rows.iter().map(RowName::shown).collect()
}

/// The result of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToldValue {
    /// Which row.
    pub row: RowName,
    /// Its result; `None` where the experiment failed.
    #[serde(with = "as_text")]
    pub value: Option<f64>,
    /// The further results, in the order of the goals; `None` where one was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "as_text")]
    pub further: Vec<Option<f64>>,
    /// Whether it corrects an earlier result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// Whether it is a replicate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Whether there is no result because the experiment is impossible.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub impossible: bool,
}

/// The outcome of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// A number.
    Value(f64),
    /// It was made and failed: as bad as the worst result.
    Failed,
    /// It is impossible: it says nothing about other rows.
    Impossible,
}

impl From<f64> for Outcome {
    fn from(value: f64) -> Outcome {
        Outcome::Value(value)
    }
}

impl From<Option<f64>> for Outcome {
    /// `None` is a failure.
    fn from(value: Option<f64>) -> Outcome {
        value.map_or(Outcome::Failed, Outcome::Value)
    }
}

/// An outcome with the further results of the same experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The main one.
    pub outcome: Outcome,
    /// The others, in the order of the goals; empty where there are none.
    pub further: Vec<Option<f64>>,
}

impl Measured {
    /// Whether another one is the same, with further results where this one has none.
    pub fn is_completed_by(&self, other: &Measured) -> bool {
        let mut pairs = self.further.iter().zip(&other.further);
        self.outcome == other.outcome && pairs.all(|(mine, other)| mine.is_none() || mine == other)
    }
}

impl From<Outcome> for Measured {
    fn from(outcome: Outcome) -> Measured {
        Measured { outcome, further: vec![] }
    }
}

impl Header {
    /// The columns of a sheet that the study does not use.
    pub fn others(&self, table: &Table) -> Vec<String> {
        let learned = self.columns.iter().map(|column| &column.name);
        let given = [&self.id, &self.value, &self.cost].into_iter().flatten();
        let known: HashSet<&String> =
            learned.chain(given).chain(self.further.iter().map(|further| &further.name)).collect();
        table.header().iter().filter(|name| !name.is_empty() && !known.contains(name)).cloned().collect()
    }

    /// The goals of the results.
    pub fn goals(&self) -> Goals {
        Goals { direction: self.direction, bounds: self.bounds.unwrap_or_default(), further: self.further.clone() }
    }
}

impl ToldValue {
    /// The outcome of a row.
    pub fn new(row: RowName, Measured { outcome, further }: Measured) -> ToldValue {
        let value = if let Outcome::Value(value) = outcome { Some(value) } else { None };
        let impossible = outcome == Outcome::Impossible;
        ToldValue { row, value, further, replaces: false, again: false, impossible }
    }

    /// The outcome.
    pub fn outcome(&self) -> Outcome {
        match self.value {
            Some(value) => Outcome::Value(value),
            None if self.impossible => Outcome::Impossible,
            None => Outcome::Failed,
        }
    }
}

/// One line of JSON.
pub fn to_line(record: &impl Serialize) -> Result<String> {
    serde_json::to_string(record).map_err(bug)
}
/// Numbers as text: not every reader of JSON returns exactly the number that was written.
mod as_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// A number, or something that holds some.
    pub trait AsText: Sized {
        type Text: Serialize + for<'de> Deserialize<'de>;
        fn to_text(&self) -> Self::Text;
        fn of_text(text: Self::Text) -> Result<Self, String>;
    }

    impl AsText for f64 {
        type Text = String;
        fn to_text(&self) -> String {
            self.to_string()
        }
        fn of_text(text: String) -> Result<f64, String> {
            text.parse().map_err(|_| format!("\"{text}\" is not a number"))
        }
    }

    impl<T: AsText> AsText for Option<T> {
        type Text = Option<T::Text>;
        fn to_text(&self) -> Self::Text {
            self.as_ref().map(T::to_text)
        }
        fn of_text(text: Self::Text) -> Result<Self, String> {
            text.map(T::of_text).transpose()
        }
    }

    impl<T: AsText> AsText for Vec<T> {
        type Text = Vec<T::Text>;
        fn to_text(&self) -> Self::Text {
            self.iter().map(T::to_text).collect()
        }
        fn of_text(text: Self::Text) -> Result<Self, String> {
            text.into_iter().map(T::of_text).collect()
        }
    }

    pub fn serialize<T: AsText, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.to_text().serialize(serializer)
    }

    pub fn deserialize<'de, T: AsText, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::of_text(T::Text::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn outcomes_come_back_bit_for_bit(value in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, row in 1usize.., replaces: bool) {
            let row = RowName { row, id: Some("ä \"q\"".into()), key: None };
            let outcomes = vec![ToldValue { replaces, ..ToldValue::new(row, Outcome::Value(value).into()) }];
            let line = Line { from: Origin::default(), changes: vec![Entry::Tell { outcomes, late: None }] };
            let back: Line = serde_json::from_str(&to_line(&line).unwrap()).unwrap();
            prop_assert_eq!(&back, &line);
        }
    }

    #[test]
    fn a_line_that_is_no_entry_is_refused() {
        for line in [
            "{}",
            "{\"tell\":{}}",
            "{\"tell\":{\"outcomes\":[],\"x\":1}}",
            "{\"forget\":{}}",
            "{\"undo\":{\"lines\":2}}",
            "{\"tell\":{\"outcomes\":[{\"row\":{\"row\":1},\"value\":\"one\"}]}}",
        ] {
            assert!(serde_json::from_str::<Entry>(line).is_err(), "{line}");
            let whole = format!("{{\"changes\":[{line}]}}");
            assert!(serde_json::from_str::<Line>(&whole).is_err(), "{line}");
        }
    }
}

//! What stands in a journal: a header, then what was asked and told.

use crate::encode::Column;
use crate::goals::{Bounds, Direction, Further, Goals};
use crate::{Error, Result};
use icee_base::names::Unknown;
use icee_base::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;
use std::str::FromStr;

/// The format's version. Since 2 a study says which learned model it uses; since 3 outcomes can be taken back, rows be measured
/// again, and rows of a sheet move; since 4 there are targets, bounds, costs, several outcomes, deadlines and earlier studies; since 5
/// rows are asked for by somebody, and a sheet's other columns are known.
pub const FORMAT: u32 = 5;

/// What picks the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplerKind {
    /// A learned model: rows are drawn in proportion to a power of their expected improvement.
    Icee,
    /// A Gaussian process: the row of the greatest expected improvement.
    GpEi,
    /// Chance.
    Random,
}

impl SamplerKind {
    /// All of them.
    pub const ALL: [SamplerKind; 3] = [SamplerKind::Icee, SamplerKind::GpEi, SamplerKind::Random];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SamplerKind::Icee => "icee",
            SamplerKind::GpEi => "gp-ei",
            SamplerKind::Random => "random",
        }
    }
}

impl FromStr for SamplerKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<SamplerKind> {
        let known = || Unknown::new("sampler", name, &SamplerKind::ALL.map(SamplerKind::name)).into();
        SamplerKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(known)
    }
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format's version.
    pub icee_study: u32,
    /// The pool's file as it was.
    pub pool: PoolFile,
    /// The column that names the rows; their numbers do where there is none.
    pub id: Option<String>,
    /// The column in which values are filled in, if the pool has one; never learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The columns that are learned from, with their codes.
    pub columns: Vec<Column>,
    /// Which values are good.
    pub direction: Direction,
    /// Between which ends values can lie at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Further outcomes of the same experiment, and what is wanted of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Further>,
    /// The column that says what a row costs; never learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// What an earlier study of such rows has found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// What picks the rows.
    pub sampler: SamplerKind,
    /// Fixes all that is random.
    pub seed: u64,
    /// The learned model that picks them; older studies do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelPin>,
}

/// What an earlier study has found: its rows, taken into this one's journal, so that nothing else is needed to read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// The study's name.
    pub study: String,
    /// The rows that have a value.
    pub rows: Vec<EarlierRow>,
}

/// A row of an earlier study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierRow {
    /// What stood in it, in the order of the columns that are learned from.
    pub cells: Vec<String>,
    /// Its value, the mean of several.
    #[serde(with = "as_text")]
    pub value: f64,
}

/// A learned model and what would show that it is another one.
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

/// A file and what would show that it has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolFile {
    /// Where it lies, from the journal's folder.
    pub path: PathBuf,
    /// Its length, without a byte order mark.
    pub bytes: u64,
    /// Its rows.
    pub rows: usize,
    /// Its checksum, sixteen hexadecimal digits.
    pub fingerprint: String,
    /// Its columns of which the study makes nothing: whether one is new, nothing else would say. Older studies do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Vec<String>>,
}

/// Any other line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Entry {
    /// Rows that were suggested, all at once.
    Ask {
        /// Which.
        rows: Vec<RowName>,
        /// What picked them.
        sampler: SamplerKind,
        /// When they are to be given back, in seconds since 1970, where nothing was told of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        /// Who tries them, if that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Outcomes, told all at once.
    Tell {
        /// Of which rows.
        outcomes: Vec<ToldValue>,
        /// Who had the row until his time was up and tells it all the same; whoever has it now goes on. Empty where he had no name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        late: Option<String>,
    },
    /// From here on this learned model is used.
    Model(ModelPin),
    /// Rows that were suggested and will not be tried: as if they had not been suggested.
    Withdraw {
        /// Which.
        rows: Vec<RowName>,
    },
    /// Rows whose outcomes were told by mistake: as if they had not been told.
    Forget {
        /// Which.
        rows: Vec<RowName>,
    },
    /// The sheet has changed: its rows from here on, and what was filled in.
    Sheet {
        /// The file as it is now.
        pool: PoolFile,
        /// How its columns are coded now.
        columns: Vec<Column>,
        /// The rows with an outcome or a suggestion, and those with which somebody is late: where each was and is, by number from one.
        moved: Vec<[usize; 2]>,
        /// What was filled in.
        outcomes: Vec<ToldValue>,
    },
    /// The last line that still counts does not count any more.
    Undo {},
}

/// A row of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowName {
    /// Its number, from one, the header not counted.
    pub row: usize,
    /// Its id, where a column gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What stands in it, sixteen hexadecimal digits: found again by this when the sheet has changed. Older studies do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl RowName {
    /// What the user calls it.
    pub fn shown(&self) -> String {
        self.id.clone().unwrap_or_else(|| self.row.to_string())
    }
}

/// The outcome of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToldValue {
    /// Which row.
    pub row: RowName,
    /// Its value; `None` where the experiment failed.
    #[serde(with = "as_text")]
    pub value: Option<f64>,
    /// The further outcomes, in the order of the header; `None` where one was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "as_text")]
    pub further: Vec<Option<f64>>,
    /// Whether it takes the place of an outcome told earlier.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// Whether it is one more value of a row that has some.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Whether there is no value because the experiment cannot be made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub impossible: bool,
}

/// What came out of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// A value.
    Value(f64),
    /// It was made and failed: as bad as the worst value told.
    Failed,
    /// It cannot be made: says nothing about other rows.
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

/// An outcome with the further ones that were measured beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The one that the study is about.
    pub outcome: Outcome,
    /// The others, in the order of the header; empty where there are none.
    pub further: Vec<Option<f64>>,
}

impl Measured {
    /// Whether another one is the same, with further outcomes where this one has gaps.
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
    /// The columns of a sheet of which the study makes nothing.
    pub fn others(&self, table: &Table) -> Vec<String> {
        let learned = self.columns.iter().map(|column| &column.name);
        let given = [&self.id, &self.value, &self.cost].into_iter().flatten();
        let known: HashSet<&String> =
            learned.chain(given).chain(self.further.iter().map(|further| &further.name)).collect();
        table.header().iter().filter(|name| !name.is_empty() && !known.contains(name)).cloned().collect()
    }

    /// What is wanted of the outcomes.
    pub fn goals(&self) -> Goals {
        Goals { direction: self.direction, bounds: self.bounds.unwrap_or_default(), further: self.further.clone() }
    }
}

impl ToldValue {
    /// An outcome of a row.
    pub fn new(row: RowName, Measured { outcome, further }: Measured) -> ToldValue {
        let value = if let Outcome::Value(value) = outcome { Some(value) } else { None };
        let impossible = outcome == Outcome::Impossible;
        ToldValue { row, value, further, replaces: false, again: false, impossible }
    }

    /// What came out.
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
    serde_json::to_string(record).map_err(|error| Error::Study(format!("cannot be written as JSON: {error}")))
}

/// Numbers as text: not every reader of JSON gives the very number back that was written.
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
            let entry = Entry::Tell { outcomes, late: None };
            let back: Entry = serde_json::from_str(&to_line(&entry).unwrap()).unwrap();
            prop_assert_eq!(&back, &entry);
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
        }
    }
}

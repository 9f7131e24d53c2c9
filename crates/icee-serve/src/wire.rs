//! What goes over the wire, for both ends: the server writes what [`Client`](crate::Client) reads, and the other way round. Answers that
//! are not listed here are the library's own types.

pub use crate::fields::{
    Ask, Create, Export, Import, Nothing, Predict, Renew, Report, RowId, Rows, Tell, Undo, Update, Why, Withdraw,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use icee_study::{BestRow, Cells, RowForecast, Study, StudyFiles, Summary, TellSummary};
use serde::{Deserialize, Serialize};

/// The header with what the command line says beside an answer, as a JSON list of texts, where the answer has no `notes`.
pub const NOTES: &str = "icee-notes";
/// The header with which a request may be sent twice and is done once.
pub const KEY: &str = "idempotency-key";

/// The answer to a tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// What was taken in.
    pub told: TellSummary,
    /// The best row now.
    pub best: Option<BestRow>,
}

/// A study as it can be taken to another place. One of the two sheets is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Its journal.
    pub journal: String,
    /// Its sheet, where that is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    /// Its sheet in base64, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet_base64: Option<String>,
}

impl From<StudyFiles> for Files {
    fn from(StudyFiles { journal, sheet }: StudyFiles) -> Files {
        let (sheet, sheet_base64) = sheet_of(sheet);
        Files { journal, sheet, sheet_base64 }
    }
}

impl Files {
    /// The files themselves.
    ///
    /// # Errors
    /// In words, where there is not one sheet, or it is no base64.
    pub fn files(self) -> Result<StudyFiles, String> {
        Ok(StudyFiles {
            sheet: sheet_bytes(self.sheet.as_deref(), self.sheet_base64.as_deref())?,
            journal: self.journal,
        })
    }
}

/// A sheet as requests have it: as text or, where it is none, in base64.
pub fn sheet_of(bytes: Vec<u8>) -> (Option<String>, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(binary) => (None, Some(STANDARD.encode(binary.as_bytes()))),
    }
}

/// The bytes of a sheet that came in one of both ways.
pub(crate) fn sheet_bytes(text: Option<&str>, base64: Option<&str>) -> Result<Vec<u8>, String> {
    match (text, base64) {
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(text)) => {
            STANDARD.decode(text.trim()).map_err(|error| format!("sheet_base64 is no base64: {error}"))
        }
        _ => Err("give the sheet as text (sheet) or in base64 (sheet_base64), one of them".into()),
    }
}

/// A study in the list of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: usize,
    /// How many were told.
    pub told: usize,
    /// How many were asked for and not told yet.
    pub running: usize,
    /// To how many nothing has happened.
    pub left: usize,
    /// The best value, where there is one: with several outcomes to be made as good as possible there is a front.
    pub best: Option<f64>,
    /// Why nothing else is known of it.
    pub problem: Option<String>,
}

impl Line {
    /// The line of a study.
    pub fn of(name: &str, study: &mut Study) -> Line {
        let Summary { rows, told, running, left, best, .. } = study.summary();
        let best = best.filter(|_| study.objectives() == 1).and_then(|best| best.row.value);
        Line { name: name.into(), rows, told: told.len(), running: running.len(), left, best, problem: None }
    }

    /// That of one that cannot be read.
    pub fn problem(name: &str, problem: String) -> Line {
        Line { name: name.into(), rows: 0, told: 0, running: 0, left: 0, best: None, problem: Some(problem) }
    }
}

/// JSON in plain ASCII: headers have nothing else, no terminal obeys it, and no program of logs stumbles over it.
pub fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            ' '..='~' => text.push(c),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    text
}

/// A row's forecast and cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithCells {
    /// What is believed of it.
    #[serde(flatten)]
    pub row: RowForecast,
    /// What stands in it.
    pub cells: Cells,
}

/// Rows that have more time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewed {
    /// Which.
    pub renewed: Vec<String>,
    /// Until when, in seconds since 1970.
    pub until: u64,
}

/// Rows that were asked for and will not be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawn {
    /// Which.
    pub withdrawn: Vec<String>,
}

/// Rows of which nothing is known any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// Which.
    pub forgotten: Vec<String>,
}

/// What was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// In words.
    pub undone: String,
}

/// A study that was put away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// What it was called.
    pub deleted: String,
}

/// What is understood of a sheet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The study that it would be.
    #[serde(flatten)]
    pub summary: Summary,
    /// Columns that may not be meant to be learned from.
    pub suspects: Vec<Doubt>,
    /// All columns of the sheet with what stands in their first rows.
    #[serde(default)]
    pub preview: Vec<(String, Vec<String>)>,
}

/// A column that may not be meant to be learned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// Which.
    pub column: String,
    /// Why: the rest of a sentence that begins with the column.
    pub reason: String,
    /// Whether it looks like what is measured.
    pub is_result: bool,
}

/// An answer with what the command line says beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noted<T> {
    /// The answer.
    #[serde(flatten)]
    pub value: T,
    /// What the person should know.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What is wrong, and the way out.
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_json_is_the_same_json() {
        let text = "a\u{202e}\u{7f}\n\u{1b}[2Jä🙂";
        let line = ascii(&serde_json::to_string(text).unwrap());
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }
}

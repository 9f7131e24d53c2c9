//! Values inside requests and replies: rows, amounts, cells, sheets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// A row as requests name it: its id, or its number from 1.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
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

impl From<&str> for RowId {
    fn from(text: &str) -> RowId {
        RowId::Text(text.to_owned())
    }
}

/// A number, or a text that is one: with a decimal comma, too.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number, or a text that is one")]
pub enum Amount {
    /// A number.
    Number(#[serde(serialize_with = "number_or_text")] f64),
    /// A number as people type it.
    Text(String),
}

/// JSON has no numbers that are not finite. Sent as nothing, they would be missing rather than refused.
fn number_or_text<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() { serializer.serialize_f64(*number) } else { serializer.serialize_str(&number.to_string()) }
}

impl From<f64> for Amount {
    fn from(number: f64) -> Amount {
        Amount::Number(number)
    }
}

/// The bytes of a file. JSON has them as text or, where they are none, as `{"base64": …}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Content(pub Vec<u8>);

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.0.len())
    }
}

#[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text, or {\"base64\": …}")]
enum AsJson<'a> {
    Text(Cow<'a, str>),
    Binary { base64: String },
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => AsJson::Binary { base64: STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content, D::Error> {
        match AsJson::deserialize(deserializer)? {
            AsJson::Text(text) => Ok(Content(text.into_owned().into_bytes())),
            AsJson::Binary { base64 } => {
                let wrong = |error| de::Error::custom(format!("this is not base64: {error}"));
                STANDARD.decode(base64.trim()).map(Content).map_err(wrong)
            }
        }
    }
}

impl JsonSchema for Content {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        AsJson::json_schema(generator)
    }
}

/// A sheet of a request: what is in it, or the path of a file on the machine where the study is kept in a folder. Servers read no paths.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a sheet is its text, or {\"base64\": …}")]
pub enum Sheet {
    /// Its bytes: CSV, or an .xlsx or .xlsm file.
    Content(Content),
    /// Its file. A client that sends it to a server reads it first.
    Path {
        /// Where it lies.
        path: PathBuf,
    },
}

/// A row's cells with the names of their columns, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells(pub Vec<(String, String)>);

/// Cells of a row that a message shows.
const SHOWN: usize = 4;
/// The length of the text of them.
const LENGTH: usize = 120;

impl Cells {
    /// The first few, for a message.
    pub fn in_short(&self) -> String {
        let mut cells: Vec<String> =
            self.0.iter().take(SHOWN).map(|(name, cell)| format!("{name}={}", cell.replace('\n', " "))).collect();
        if self.0.len() > SHOWN {
            cells.push("…".into());
        }
        let text = cells.join(", ");
        match text.char_indices().nth(LENGTH) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

impl Serialize for Cells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in &self.0 {
            map.serialize_entry(name, cell)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cells, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

impl JsonSchema for Cells {
    fn schema_name() -> Cow<'static, str> {
        "Cells".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "The cells of a row by the names of their columns, in the order of the sheet.",
            "additionalProperties": { "type": "string" }
        })
    }
}

/// Reads names and cells in the order in which they come, which no map of the standard library keeps.
struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Cells;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cells by the names of their columns")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cells, A::Error> {
        let mut cells = Vec::new();
        while let Some(cell) = map.next_entry()? {
            cells.push(cell);
        }
        Ok(Cells(cells))
    }
}

/// A list of texts in one piece of memory: a column of a million cells costs its characters and four bytes a cell.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Texts {
    text: String,
    /// Where each text ends.
    ends: Vec<u32>,
}

impl Texts {
    /// Adds a text. What lies beyond 4 GiB of a column is left out, which no sheet reaches.
    pub fn push(&mut self, text: &str) {
        if let Ok(end) = u32::try_from(self.text.len() + text.len()) {
            self.text.push_str(text);
            self.ends.push(end);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One of them.
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)? as usize;
        let begin = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        self.text.get(begin..end)
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|at| self.get(at).unwrap_or_default())
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'a str>>(all: I) -> Texts {
        let mut texts = Texts::default();
        all.into_iter().for_each(|text| texts.push(text));
        texts
    }
}

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
        deserializer.deserialize_seq(OneByOne)
    }
}

impl JsonSchema for Texts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Texts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<String>::json_schema(generator)
    }
}

struct OneByOne;

impl<'de> Visitor<'de> for OneByOne {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Texts, A::Error> {
        let mut texts = Texts::default();
        while let Some(text) = all.next_element::<Cow<'_, str>>()? {
            texts.push(&text);
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_keep_their_order() {
        let cells = Cells(["z", "a", "m"].map(|name| (name.to_owned(), format!("{name}1"))).to_vec());
        let text = serde_json::to_string(&cells).unwrap();
        assert_eq!(text, r#"{"z":"z1","a":"a1","m":"m1"}"#);
        assert_eq!(serde_json::from_str::<Cells>(&text).unwrap(), cells);
    }

    #[test]
    fn an_amount_that_is_not_finite_is_text() {
        let json = |number: f64| serde_json::to_string(&Amount::from(number)).unwrap();
        assert_eq!([json(0.1), json(f64::NAN), json(f64::NEG_INFINITY)], ["0.1", r#""NaN""#, r#""-inf""#]);
        assert_eq!(serde_json::from_str::<Amount>(&json(f64::INFINITY)).unwrap(), Amount::Text("inf".into()));
    }

    #[test]
    fn a_sheet_is_text_or_base64_or_a_path() {
        let sheet = |json: &str| serde_json::from_str::<Sheet>(json);
        assert_eq!(sheet(r#""a,b\n1,2\n""#).unwrap(), Sheet::Content(Content(b"a,b\n1,2\n".to_vec())));
        assert_eq!(sheet(r#"{"base64":"UEsDBA=="}"#).unwrap(), Sheet::Content(Content(b"PK\x03\x04".to_vec())));
        assert_eq!(sheet(r#"{"path":"a.csv"}"#).unwrap(), Sheet::Path { path: "a.csv".into() });
        assert!(sheet(r#"{"base64":"?"}"#).is_err() && sheet("7").is_err());
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes: Vec<u8>) {
            let text = serde_json::to_string(&Content(bytes.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Content>(&text).unwrap().0, bytes);
        }

        #[test]
        fn texts_are_a_list(all: Vec<String>) {
            let texts: Texts = all.iter().map(String::as_str).collect();
            prop_assert_eq!(texts.iter().collect::<Vec<_>>(), all.iter().map(String::as_str).collect::<Vec<_>>());
            let json = serde_json::to_string(&texts).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&all).unwrap());
            prop_assert_eq!(serde_json::from_str::<Texts>(&json).unwrap(), texts);
        }
    }
}

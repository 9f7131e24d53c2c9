//! A row's cells as they are answered: JSON has them by name, in the order of the file.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

/// A row's cells with the names of their columns, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells(pub Vec<(String, String)>);

/// Cells of a row that a message shows.
const SHOWN: usize = 4;
/// The length of the text of them.
const LENGTH: usize = 120;

impl Cells {
    /// The first few, for a message.
    pub(crate) fn in_short(&self) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_their_order() {
        let cells = Cells(["z", "a", "m"].map(|name| (name.to_owned(), format!("{name}1"))).to_vec());
        let text = serde_json::to_string(&cells).unwrap();
        assert_eq!(text, r#"{"z":"z1","a":"a1","m":"m1"}"#);
        assert_eq!(serde_json::from_str::<Cells>(&text).unwrap(), cells);
    }
}

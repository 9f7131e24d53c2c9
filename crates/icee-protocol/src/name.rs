//! The name of a study: one rule for folders, servers and databases.

use crate::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Characters of a name.
const LONGEST: usize = 64;
/// Names that Windows keeps for devices, whatever follows a point.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// A study's name: 1 to 64 letters, digits, `-`, `_` and `.`, the last not first or last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct StudyName(
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[\p{L}\p{N}_-][\p{L}\p{N}._-]*$"))] String,
);

impl StudyName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StudyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for StudyName {
    type Err = Problem;

    fn from_str(name: &str) -> Result<StudyName, Problem> {
        let usable = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let sound = (1..=LONGEST).contains(&name.chars().count()) && name.chars().all(usable);
        let stem = name.split('.').next().unwrap_or_default().to_lowercase();
        let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
        let is_port = port.is_some_and(|digit| digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit());
        let is_device = DEVICES.contains(&stem.as_str()) || is_port;
        if !sound || is_device || name.starts_with('.') || name.ends_with('.') {
            return Err(Problem::NameUnusable { name: name.to_owned() });
        }
        Ok(StudyName(name.to_owned()))
    }
}

impl TryFrom<String> for StudyName {
    type Error = Problem;

    fn try_from(name: String) -> Result<StudyName, Problem> {
        name.parse()
    }
}

impl From<StudyName> for String {
    fn from(name: StudyName) -> String {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_file_names_on_every_system() {
        for name in ["bread", "käse.v2", "a-b_c", "2026.11", "console", "com10"] {
            assert_eq!(name.parse::<StudyName>().unwrap().as_str(), name);
        }
        for name in ["", ".", "..", ".a", "a.", "a/b", "a b", "a\\b", "CON", "nul.txt", "Com1", "a\n", &"x".repeat(65)]
        {
            assert!(name.parse::<StudyName>().is_err(), "{name}");
        }
    }
}

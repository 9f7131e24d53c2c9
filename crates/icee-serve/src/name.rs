//! The name of a study: the one place where what a client says becomes the path of a file.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// Characters of a name, at most.
const LONGEST: usize = 64;

/// A name that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StudyName(String);

impl StudyName {
    /// Checks a name: letters, digits, `-` and `_`, so that none can lead out of the folder.
    ///
    /// # Errors
    /// Where it has anything else, or is empty or too long.
    pub fn new(name: &str) -> Result<StudyName, Failure> {
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if (1..=LONGEST).contains(&name.len()) && name.chars().all(usable) {
            return Ok(StudyName(name.to_owned()));
        }
        let shown: String = name.chars().take(LONGEST).collect();
        Err(Failure::bad(format!(
            "\"{shown}\" cannot be the name of a study here; use 1 to {LONGEST} letters (a to z), digits, - and _"
        )))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The study's journal.
    pub fn journal(&self, folder: &Path) -> PathBuf {
        self.file(folder, "jsonl")
    }

    /// One of the study's files, by its ending.
    pub fn file(&self, folder: &Path, ending: &str) -> PathBuf {
        folder.join(format!("{}.{ending}", self.0))
    }

    /// The studies of a folder that have such a name, in order.
    pub fn all_in(folder: &Path) -> Vec<StudyName> {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let name = |file: std::fs::DirEntry| StudyName::new(file.file_name().to_str()?.strip_suffix(".jsonl")?).ok();
        let mut names: Vec<StudyName> = files.filter_map(name).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_out_of_the_folder() {
        for good in ["a", "Bread-2_x", &"x".repeat(64)] {
            assert_eq!(StudyName::new(good).unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", "../x", "a/b", "a\\b", "%2e%2e", "a.b", "a b", "ä", "a\0", "C:", &"x".repeat(65)] {
            assert_eq!(StudyName::new(bad).unwrap_err().status.as_u16(), 400, "{bad}");
        }
    }
}

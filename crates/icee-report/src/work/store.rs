//! Results on disk: one file a piece of work, named after it and its fingerprint, written whole or not at all.

use super::UnitResult;
use crate::{Error, Result};
use icee_base::files::{FileError, write_atomically};
use std::path::{Path, PathBuf};

/// A folder of results.
#[derive(Clone, Debug)]
pub struct ResultStore {
    folder: PathBuf,
}

impl ResultStore {
    /// Opens the folder, which is made if it is missing.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn open(folder: &Path) -> Result<ResultStore> {
        std::fs::create_dir_all(folder).map_err(FileError::io(folder))?;
        Ok(ResultStore { folder: folder.into() })
    }

    fn path(&self, id: &str, fingerprint: u64) -> PathBuf {
        self.folder.join(format!("{id}-{fingerprint:016x}.json"))
    }

    /// A result that is there. One that cannot be read is not: it is computed again.
    #[must_use]
    pub fn get(&self, id: &str, fingerprint: u64) -> Option<UnitResult> {
        let text = std::fs::read_to_string(self.path(id, fingerprint)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes a result down.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn put(&self, id: &str, fingerprint: u64, outcome: &UnitResult) -> Result<()> {
        let text = serde_json::to_string(outcome).map_err(|e| Error::output(id, e))?;
        Ok(write_atomically(&self.path(id, fingerprint), text.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{SearchCurve, Searched};

    #[test]
    fn results_are_kept_and_damaged_ones_are_not_trusted() {
        let folder = std::env::temp_dir().join(format!("icee-store-{}", std::process::id()));
        let store = ResultStore::open(&folder).unwrap();
        let trials = vec![SearchCurve { regret: vec![0.1 + 0.2, 0.0], seconds: vec![0.0, 1e-9] }];
        let outcome = UnitResult::Searched(Searched { function: "Branin".into(), initial: 1, trials });
        assert_eq!(store.get("a", 1), None);
        store.put("a", 1, &outcome).unwrap();
        assert_eq!(store.get("a", 1), Some(outcome));
        assert_eq!(store.get("a", 2), None);
        std::fs::write(folder.join("a-0000000000000001.json"), "{\"kind\":\"searched\",").unwrap();
        assert_eq!(store.get("a", 1), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! Results on disk: one file a piece of work, named after it and its fingerprint, written whole or not at all.

use super::Outcome;
use crate::{Error, Result};
use icee_nn::checkpoint::write_atomically;
use std::path::{Path, PathBuf};

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens the folder, which is made if it is missing.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn open(folder: &Path) -> Result<Store> {
        std::fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.into(), source })?;
        Ok(Store { folder: folder.into() })
    }

    fn path(&self, id: &str, fingerprint: u64) -> PathBuf {
        self.folder.join(format!("{id}-{fingerprint:016x}.json"))
    }

    /// A result that is there. One that cannot be read is not: it is computed again.
    #[must_use]
    pub fn get(&self, id: &str, fingerprint: u64) -> Option<Outcome> {
        let text = std::fs::read_to_string(self.path(id, fingerprint)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes a result down.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn put(&self, id: &str, fingerprint: u64, outcome: &Outcome) -> Result<()> {
        let text = serde_json::to_string(outcome).map_err(|e| Error::output(id, e))?;
        Ok(write_atomically(&self.path(id, fingerprint), text.as_bytes())?)
    }
}

/// A hash of everything that a result depends on (FNV-1a, 64 bits).
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    /// Begins with the version of this program: another one may compute otherwise.
    pub fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325).with(env!("CARGO_PKG_VERSION").as_bytes())
    }

    /// Adds bytes, and their number, so that two parts are never taken for one.
    pub fn with(self, bytes: &[u8]) -> Fingerprint {
        let length = (bytes.len() as u64).to_le_bytes();
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Fingerprint(length.iter().chain(bytes).fold(self.0, step))
    }

    /// The hash.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{Searched, Trial};

    #[test]
    fn results_are_kept_and_damaged_ones_are_not_trusted() {
        let folder = std::env::temp_dir().join(format!("icee-store-{}", std::process::id()));
        let store = Store::open(&folder).unwrap();
        let trials = vec![Trial { regret: vec![0.1 + 0.2, 0.0], seconds: vec![0.0, 1e-9] }];
        let outcome = Outcome::Searched(Searched { function: "Branin".into(), initial: 1, trials });
        assert_eq!(store.get("a", 1), None);
        store.put("a", 1, &outcome).unwrap();
        assert_eq!(store.get("a", 1), Some(outcome));
        assert_eq!(store.get("a", 2), None);
        std::fs::write(folder.join("a-0000000000000001.json"), "{\"kind\":\"searched\",").unwrap();
        assert_eq!(store.get("a", 1), None);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn parts_are_told_apart() {
        let hash = |parts: &[&str]| parts.iter().fold(Fingerprint::new(), |f, part| f.with(part.as_bytes())).value();
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["a"]), hash(&["a", ""]));
        assert_eq!(hash(&["a", "b"]), hash(&["a", "b"]));
    }
}

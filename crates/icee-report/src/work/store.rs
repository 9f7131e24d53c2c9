//! Results on disk: one file a piece of work, named after it and its fingerprint, written whole or not at all, with a
//! checksum of what it says.

use super::UnitResult;
use crate::{Error, Result};
use icee_base::files::{FileError, write_atomically};
use icee_base::hash::checksum;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A folder of results.
#[derive(Clone, Debug)]
pub struct ResultStore {
    folder: PathBuf,
}

/// What lies in the folder for a piece of work.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// Its result.
    Whole(UnitResult),
    /// A file that must not be believed: which, and why.
    Damaged(String),
    /// Nothing.
    Nothing,
}

/// How a file begins, and what stands between its checksum and its result: JSON, yet the checksum is that of the very bytes.
const BEGINNING: &str = "{\"checksum\":\"";
/// See [`BEGINNING`].
const MIDDLE: &str = "\",\"result\":";
/// See [`BEGINNING`].
const END: &str = "}\n";
/// Digits of a checksum.
const DIGITS: usize = 16;

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

    /// What is there. A file that does not say what was written is not believed.
    #[must_use]
    pub fn get(&self, id: &str, fingerprint: u64) -> Kept {
        let path = self.path(id, fingerprint);
        let damaged = |problem: String| Kept::Damaged(format!("{}: {problem}", path.display()));
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Kept::Nothing,
            Err(error) => return damaged(error.to_string()),
        };
        let Some((written, result)) = std::str::from_utf8(&bytes).ok().and_then(parts) else {
            return damaged("is cut off or was not written by this program".into());
        };
        if written != sum(id, fingerprint, result) {
            return damaged("its checksum does not fit what it says".into());
        }
        match serde_json::from_str(result) {
            Ok(result) => Kept::Whole(result),
            Err(error) => damaged(error.to_string()),
        }
    }

    /// Writes a result down.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn put(&self, id: &str, fingerprint: u64, outcome: &UnitResult) -> Result<()> {
        let result = serde_json::to_string(outcome).map_err(|e| Error::output(id, e))?;
        let sum = sum(id, fingerprint, &result);
        let text = format!("{BEGINNING}{sum}{MIDDLE}{result}{END}");
        Ok(write_atomically(&self.path(id, fingerprint), text.as_bytes())?)
    }
}

/// The checksum and the result of a file.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (sum, rest) = text.strip_prefix(BEGINNING)?.split_at_checked(DIGITS)?;
    Some((sum, rest.strip_prefix(MIDDLE)?.strip_suffix(END)?))
}

/// It knows the file's name, too: a result under another name is another one's.
fn sum(id: &str, fingerprint: u64, result: &str) -> String {
    format!("{:016x}", checksum(checksum(fingerprint, id.as_bytes()), result.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{SearchCurve, Searched};
    use proptest::prelude::*;

    /// A folder that goes when the test ends.
    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn store(name: &str) -> (ResultStore, Scratch) {
        let folder = std::env::temp_dir().join(format!("icee-store-{name}-{}", std::process::id()));
        (ResultStore::open(&folder).unwrap(), Scratch(folder))
    }

    fn result(regret: Vec<f64>) -> UnitResult {
        let seconds = vec![0.0; regret.len()];
        UnitResult::Searched(Searched {
            function: "Branin".into(),
            initial: 1,
            trials: vec![SearchCurve { regret, seconds }],
        })
    }

    #[test]
    fn results_are_kept_and_no_changed_byte_is_believed() {
        let (store, _scratch) = store("damage");
        let outcome = result(vec![0.1 + 0.2, 0.0]);
        assert_eq!(store.get("a", 1), Kept::Nothing);
        store.put("a", 1, &outcome).unwrap();
        assert_eq!(store.get("a", 1), Kept::Whole(outcome));
        assert_eq!(store.get("a", 2), Kept::Nothing);
        let path = store.path("a", 1);
        let whole = std::fs::read(&path).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&whole).unwrap()["result"]["kind"] == "searched");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            // A digit becomes another digit, so that most of these files are still JSON of the right shape.
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(matches!(store.get("a", 1), Kept::Damaged(_)), "{}", String::from_utf8_lossy(&changed));
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(matches!(store.get("a", 1), Kept::Damaged(_)), "cut off at {at}");
        }
        // Another's result under this name, and what older programs wrote.
        std::fs::write(store.path("b", 1), &whole).unwrap();
        let Kept::Damaged(why) = store.get("b", 1) else { panic!("it is a's") };
        assert!(why.contains("b-0000000000000001.json") && why.contains("checksum"), "{why}");
        std::fs::write(&path, "{\"kind\":\"searched\",\"function\":\"Branin\",\"initial\":1,\"trials\":[]}").unwrap();
        assert!(matches!(store.get("a", 1), Kept::Damaged(_)));
    }

    proptest! {
        #[test]
        fn numbers_come_back_to_the_last_bit(regret in prop::collection::vec(0.0f64..1e3, 1..50)) {
            // A store for each case costs little and keeps cases apart.
            let (store, _scratch) = store("bits");
            let outcome = result(regret);
            store.put("a", 1, &outcome).unwrap();
            prop_assert_eq!(store.get("a", 1), Kept::Whole(outcome));
        }
    }
}

//! Requests that may be sent twice: with an `Idempotency-Key`, the second time gets the answer of the first, and writes nothing.
//!
//! Keys lie beside the study in `NAME.keys`, a line for each step, so that they outlive the server. That a request has begun is on
//! disk before the study is written to, with the number of lines that its journal had: where it has no more of them after the server
//! was killed, nothing was done. Otherwise it is known that nobody knows, and a retry is told so instead of being done a second time.

use crate::failure::Failure;
use crate::store::Ledger;
use crate::tokens::hex;
use icee_base::files::{FileError, read_regular, write_atomically};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Keys that are kept of a study.
pub const MOST_KEYS: usize = 1000;
/// How long, in seconds.
pub const LONGEST_KEPT: u64 = 24 * 3600;
/// Bytes of their answers together.
pub const MOST_BYTES: usize = 16 << 20;
/// Characters of a key.
pub const LONGEST_KEY: usize = 128;
/// Bytes of the file, at most: answers, and steps that are gone since it was last tidied.
const MOST_FILE: u64 = 128 << 20;

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Step {
    key: String,
    /// In seconds since 1970.
    at: u64,
    /// A checksum of what was asked for.
    request: String,
    /// Lines of the journal when it began.
    #[serde(default)]
    lines: u64,
    /// What was answered; none where it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// It was refused, and nothing was written: as if it had not been sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refused: bool,
}

/// What is known of a request that comes with a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing: it is to be done.
    New,
    /// It was done, and this was the answer.
    Done(String),
}

/// The keys of a study.
#[derive(Debug)]
pub struct Keys {
    path: PathBuf,
    /// By the turn in which each came.
    steps: BTreeMap<u64, Step>,
    turns: HashMap<String, u64>,
    next: u64,
    /// Bytes of all answers.
    bytes: usize,
    /// Lines of the file.
    lines: usize,
}

impl Keys {
    /// Reads the keys in a file; there need not be one. Lines that a crash has torn do not count.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn open(path: &Path) -> Result<Keys, FileError> {
        let path = path.to_owned();
        let mut keys = Keys { path, steps: BTreeMap::new(), turns: HashMap::new(), next: 0, bytes: 0, lines: 0 };
        if !keys.path.exists() {
            return Ok(keys);
        }
        let large = || FileError::content(&keys.path, "is too large for keys of requests; remove it");
        let text = read_regular(&keys.path, MOST_FILE)?.ok_or_else(large)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            keys.lines += 1;
            if let Ok(step) = serde_json::from_slice::<Step>(line) {
                keys.take_in(step);
            }
        }
        // Half a line at the end would swallow the next one.
        if text.last().is_some_and(|last| *last != b'\n') {
            keys.tidy()?;
        }
        Ok(keys)
    }

    /// A checksum of a request.
    pub fn request(route: &str, body: &[u8]) -> String {
        let mut hash = Sha256::new();
        hash.update((route.len() as u64).to_le_bytes());
        hash.update(route.as_bytes());
        hash.update(body);
        hex(&hash.finalize())
    }

    /// A key, if it can be one.
    ///
    /// # Errors
    /// Where it cannot.
    pub fn check(key: &str) -> Result<&str, Failure> {
        let sound = (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
        if sound { Ok(key) } else { Err(Keys::wrong()) }
    }

    /// Said of what is no key.
    pub fn wrong() -> Failure {
        Failure::bad(format!(
            "an Idempotency-Key has 1 to {LONGEST_KEY} visible ASCII characters; a UUID is a good one"
        ))
    }

    /// What a request gets whose key is known: whether it is the same request, and what was answered to that.
    ///
    /// # Errors
    /// Where the key was used for another request, or nobody knows what became of it.
    pub fn known(key: &str, same: bool, answer: Option<String>) -> Result<Known, Failure> {
        match answer {
            _ if !same => Err(Failure::conflict(format!(
                "the Idempotency-Key \"{key}\" was used for another request; take a new one"
            ))),
            Some(answer) => Ok(Known::Done(answer)),
            None => Err(Failure::conflict(format!(
                "nobody knows whether the request \"{key}\" was done: the server was stopped, or failed, in the middle of it; look \
                 at the study, then send it with a new Idempotency-Key if need be"
            ))),
        }
    }

    fn write(&mut self, step: Step) -> Result<(), FileError> {
        let line = line_of(&self.path, &step)?;
        let appended = OpenOptions::new().create(true).append(true).open(&self.path).and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            file.sync_data()
        });
        appended.map_err(FileError::io(&self.path))?;
        self.lines += 1;
        self.take_in(step);
        if self.lines > 4 * MOST_KEYS { self.tidy() } else { Ok(()) }
    }

    fn take_in(&mut self, step: Step) {
        let turn = self.turns.remove(&step.key).inspect(|turn| {
            let before = self.steps.remove(turn).and_then(|before| before.answer);
            self.bytes -= before.map_or(0, |answer| answer.len());
        });
        if !step.refused {
            let turn = turn.unwrap_or(self.next);
            self.next = self.next.max(turn + 1);
            self.bytes += step.answer.as_ref().map_or(0, String::len);
            self.turns.insert(step.key.clone(), turn);
            self.steps.insert(turn, step);
        }
        while self.steps.len() > MOST_KEYS || self.bytes > MOST_BYTES && self.steps.len() > 1 {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, step)) = self.steps.pop_first() {
            self.turns.remove(&step.key);
            self.bytes -= step.answer.map_or(0, |answer| answer.len());
        }
    }

    fn forget_old(&mut self, now: u64) {
        while self.steps.first_key_value().is_some_and(|(_, step)| step.at.saturating_add(LONGEST_KEPT) < now) {
            self.forget_first();
        }
    }

    /// Writes the file anew, with what is kept.
    fn tidy(&mut self) -> Result<(), FileError> {
        let lines: Vec<String> = self.steps.values().map(|step| line_of(&self.path, step)).collect::<Result<_, _>>()?;
        write_atomically(&self.path, lines.concat().as_bytes())?;
        self.lines = lines.len();
        Ok(())
    }
}

impl Ledger for Keys {
    fn settle(&mut self, lines: u64) -> icee_study::Result<()> {
        let undone = |step: &&Step| step.answer.is_none() && step.lines == lines;
        let undone: Vec<Step> = self.steps.values().filter(undone).cloned().collect();
        undone.into_iter().for_each(|step| self.take_in(Step { refused: true, ..step }));
        Ok(())
    }

    fn begin(&mut self, key: &str, request: &str, now: u64, lines: u64) -> Result<Known, Failure> {
        self.forget_old(now);
        if let Some(step) = self.turns.get(key).and_then(|turn| self.steps.get(turn)) {
            return Keys::known(key, step.request == request, step.answer.clone());
        }
        let (key, request) = (key.to_owned(), request.to_owned());
        self.write(Step { key, at: now, request, lines, answer: None, refused: false })?;
        Ok(Known::New)
    }

    fn end(&mut self, key: &str, answer: Option<&str>) -> icee_study::Result<()> {
        let begun = self.turns.get(key).and_then(|turn| self.steps.get(turn)).cloned();
        let Some(begun) = begun else { return Ok(()) };
        Ok(self.write(Step { answer: answer.map(str::to_owned), refused: answer.is_none(), ..begun })?)
    }
}

fn line_of(path: &Path, step: &Step) -> Result<String, FileError> {
    let line = serde_json::to_string(step).map_err(|error| FileError::content(path, error.to_string()))?;
    Ok(line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_done_once() {
        let path = std::env::temp_dir().join(format!("icee-keys-{}.keys", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let words = |known: Result<Known, Failure>| known.unwrap_err().words;
        let mut keys = Keys::open(&path).unwrap();
        assert_eq!(keys.begin("a", "1", 10, 5).unwrap(), Known::New);
        assert!(words(keys.begin("a", "1", 10, 5)).contains("nobody knows"));
        keys.end("a", Some("{}")).unwrap();
        assert_eq!(keys.begin("a", "1", 11, 5).unwrap(), Known::Done("{}".into()));
        assert!(words(keys.begin("a", "2", 11, 5)).contains("another request"));
        // What was refused may be sent again.
        assert_eq!(keys.begin("b", "1", 12, 5).unwrap(), Known::New);
        keys.end("b", None).unwrap();
        assert_eq!(keys.begin("b", "2", 12, 5).unwrap(), Known::New);
        // After a restart, with half a line at the end.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"key\":\"c").unwrap();
        let mut keys = Keys::open(&path).unwrap();
        assert_eq!(keys.begin("a", "1", 13, 5).unwrap(), Known::Done("{}".into()));
        assert!(words(keys.begin("b", "2", 13, 5)).contains("nobody knows"));
        assert_eq!(keys.begin("c", "1", 13, 5).unwrap(), Known::New);
        assert_eq!(Keys::open(&path).unwrap().turns.len(), 3);
        // Nothing was written since: what was begun was not done. What was done stays so.
        let mut settled = Keys::open(&path).unwrap();
        settled.settle(6).unwrap();
        assert_eq!(settled.turns.len(), 3);
        settled.settle(5).unwrap();
        assert_eq!(settled.turns.len(), 1);
        // A day later they are gone.
        assert_eq!(keys.begin("a", "3", 11 + LONGEST_KEPT, 5).unwrap(), Known::New);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn keys_are_bounded() {
        let path = std::env::temp_dir().join(format!("icee-keys-many-{}.keys", std::process::id()));
        let mut keys = Keys::open(&path).unwrap();
        let step = |at: usize, answer: String| Step {
            key: at.to_string(),
            at: 0,
            request: "1".into(),
            lines: 0,
            answer: Some(answer),
            refused: false,
        };
        (0..MOST_KEYS + 5).for_each(|at| keys.take_in(step(at, "x".into())));
        assert_eq!((keys.steps.len(), keys.bytes), (MOST_KEYS, MOST_KEYS));
        assert!(!keys.turns.contains_key("4") && keys.turns.contains_key("5"));
        keys.take_in(step(9999, "x".repeat(MOST_BYTES)));
        assert_eq!((keys.steps.len(), keys.bytes), (1, MOST_BYTES));
        assert!(Keys::check("a b").is_err() && Keys::check("").is_err() && Keys::check("0-f").is_ok());
        assert_ne!(Keys::request("a", b"bc"), Keys::request("ab", b"c"));
    }
}

//! Where a study is kept: its needs of a file, a database, memory.
//!
//! A study is a list of lines, and the sheets that it was read from. Lines are appended, one at a time, and none ever
//! changes. A [`Home`] is where they are, or will be; each user of a study opens it and has a [`Storage`] of its own,
//! which knows how far it has read. Threads, processes and machines that work on one study each open it for themselves.
//!
//! Neither says how lines are kept. A journal file has checksums, and may end in half a line; a database has numbered rows of
//! text, and needs neither. [`conformance::check`](crate::conformance::check) puts any of them to the test.

use crate::error::Result;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// After how long a wait for the lock is reported.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// A version of a sheet, under the hash of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptSheet {
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub hash: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl KeptSheet {
    /// A sheet with its hash.
    pub fn new(bytes: Vec<u8>) -> KeptSheet {
        KeptSheet { hash: digest(&bytes), bytes }
    }

    /// Whether it is what its hash says.
    pub fn is_sound(&self) -> bool {
        digest(&self.bytes) == self.hash
    }
}

/// The SHA-256 of some bytes, in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Where one study is kept, or will be. Having one costs nothing: there need not be a study yet.
pub trait Home: Send + Sync {
    /// Its name in messages: the path of a file, say.
    fn name(&self) -> String;

    /// The folder that recorded paths of files are relative to, so that it can be moved together with
    /// them. Without one, whole paths are recorded.
    fn folder(&self) -> Option<PathBuf> {
        None
    }

    /// Begins a study with these lines, at least one, all of them at once, and the sheets that they name: others find
    /// all or none. They are durable on return. If several do so at the same time, one succeeds.
    ///
    /// # Errors
    /// If there is a study already, or it cannot be written; then everything is as it was.
    fn create(&self, lines: &[String], sheets: &[KeptSheet]) -> Result<()>;

    /// Opens the study, with nothing read yet. This waits for no lock, and needs no right to write.
    ///
    /// # Errors
    /// Where there is none, or it cannot be read.
    fn open(&self) -> Result<Box<dyn Storage>>;
}

/// A study that was opened, and how far it was read.
///
/// A line is the text of a JSON object without line breaks. Every reader gets it back as it was given, in one order
/// that is the same for all. A line that was once visible stays visible: it can only be undone by another line.
///
/// A storage that is dropped releases its lock; so does a process or a machine that dies.
pub trait Storage: Send {
    /// How far it was accepted.
    fn position(&self) -> Position;

    /// Lines accepted.
    fn lines(&self) -> u64 {
        self.position().lines
    }

    /// Waits until no other storage holds the lock, and holds it until [`Storage::unlock`]. It excludes
    /// writers, not readers. Calls `waiting` once if that takes longer than [`PATIENCE`], and never
    /// otherwise.
    ///
    /// If another study has taken the place of the one that was opened, that one is locked, and nothing of it counts as
    /// accepted.
    ///
    /// # Errors
    /// If there is nothing to lock, or no right to write; then the lock is not held.
    fn lock(&mut self, waiting: &dyn Fn()) -> Result<()>;

    /// Releases the lock.
    ///
    /// # Errors
    /// If that fails. Appended lines stay.
    fn unlock(&mut self) -> Result<()>;

    /// Reads what is new: all lines behind the position. They stay new until they are [accepted](Storage::accept), so
    /// that a reader who cannot interpret them does not go on without them. Without the lock, a torn end may be a line
    /// that another process is just writing.
    ///
    /// # Errors
    /// If the lines are damaged, or cannot be read; then nothing is accepted.
    fn read(&mut self) -> Result<News>;

    /// The same without the lock: the whole lines at some moment of this call, even while another process writes, and
    /// torn only what a crash has left. It changes nothing, needs no right to write and waits for no lock (unless the
    /// system keeps readers out, as Windows does with files).
    ///
    /// # Errors
    /// As [`Storage::read`].
    fn look(&mut self) -> Result<News> {
        self.read()
    }

    /// Accepts what was read or looked at last.
    fn accept(&mut self, news: &News);

    /// Goes back to the beginning: all of it is new again.
    fn rewind(&mut self);

    /// Appends a line and accepts it. On return the line is durable, and every later reader sees it. Only under the
    /// lock, with everything read and accepted.
    ///
    /// # Errors
    /// If it cannot be written, or the lock was lost meanwhile; then no line was added or accepted. (If an
    /// answer of a server got lost, the line may exist all the same: the next reader finds it as a new one.)
    fn append(&mut self, line: &str) -> Result<()>;

    /// Keeps a version of the sheet: it is durable on return. One that is kept already stays as it is. Only under the
    /// lock.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn keep(&mut self, sheet: &KeptSheet) -> Result<()>;

    /// A kept version of the sheet.
    ///
    /// # Errors
    /// If it cannot be read, or does not match its hash.
    fn kept(&mut self, hash: &str) -> Result<Option<Vec<u8>>>;

    /// Drops a version of the sheet; one that is not kept is no error. Only under the lock.
    ///
    /// # Errors
    /// Where that cannot be done.
    fn drop_kept(&mut self, hash: &str) -> Result<()>;

    /// Moves what was read behind the last whole line out of the way, if there is something, and returns where it is
    /// now, for a message. It is durable there before it is removed here. Only under the lock. A storage whose lines
    /// are whole or absent has nothing to do.
    ///
    /// # Errors
    /// If that fails; then everything is as it was.
    fn set_aside(&mut self, _news: &News) -> Result<Option<String>> {
        Ok(None)
    }
}

/// How far a study was accepted; by default not at all. Two of one study are equal if the same lines were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Lines.
    pub lines: u64,
    /// Numbers of the storage's own, by which it finds the place again and knows another study in the same place; zeros where it
    /// needs none.
    pub mark: [u64; 2],
}

/// What reading found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// The new lines.
    pub lines: Vec<String>,
    /// An incomplete line that follows them.
    pub torn: Vec<u8>,
    /// Where they end.
    pub end: Position,
}

impl News {
    /// Whether an incomplete line follows.
    pub fn is_torn(&self) -> bool {
        !self.torn.is_empty()
    }
}

//! Where a study is kept: what it needs of a file, of a database, of memory.
//!
//! A study is a list of lines, and the sheets that it was read from. Lines are appended, one at a time, and none ever changes. A
//! [`Home`] is where they are, or will be; each user of a study opens it and has a [`Storage`] of its own, which knows how far it was
//! read. Threads, processes and machines that work on one study each open it for themselves.
//!
//! Neither says how lines are kept. A journal file has checksums, and may end in half a line; a database has numbered rows of
//! text, and needs neither. [`conformance::check`](crate::conformance::check) puts any of them to the test.

use crate::error::Result;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// How long one waits for the lock before it is said.
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
    /// What it is called in messages: the path of a file, say.
    fn name(&self) -> String;

    /// The folder that the paths of files start from which are written into the study, so that it can be moved together with
    /// them. Where there is none, whole paths are written.
    fn folder(&self) -> Option<PathBuf> {
        None
    }

    /// Begins a study with these lines, at least one, all of them at once, and the sheets that they name: others find all or none.
    /// They are durable when this returns. Of several who do so at the same time, one succeeds.
    ///
    /// # Errors
    /// Where there is a study already, or it cannot be written; then everything is as it was.
    fn create(&self, lines: &[String], sheets: &[KeptSheet]) -> Result<()>;

    /// Opens the study, with nothing taken in yet. This waits for nobody, and needs no right to write.
    ///
    /// # Errors
    /// Where there is none, or it cannot be read.
    fn open(&self) -> Result<Box<dyn Storage>>;
}

/// A study that was opened, and how far it was read.
///
/// A line is the text of a JSON object without line breaks. It comes back as it was given, to every reader, in one order that is
/// the same for all. Who has seen a line sees it ever after: there is no taking back but by another line.
///
/// One that goes away lets the others in, if it held the lock; and so does a process or a machine that dies.
pub trait Storage: Send {
    /// How far it was taken in.
    fn position(&self) -> Position;

    /// Lines taken in.
    fn lines(&self) -> u64 {
        self.position().lines
    }

    /// Waits until nobody else holds the lock, and keeps the others who want it waiting until [`Storage::unlock`]. It excludes
    /// those who write, not those who look. Calls `waiting` once where that takes longer than [`PATIENCE`], and never where it
    /// does not.
    ///
    /// Where another study has been put in the place of the one that was opened, that one is locked, and nothing of it counts as
    /// taken in.
    ///
    /// # Errors
    /// Where there is nothing to be locked, or no right to write; then the lock is not held.
    fn lock(&mut self, waiting: &dyn Fn()) -> Result<()>;

    /// Lets the others in.
    ///
    /// # Errors
    /// Where that cannot be had. What was appended stays.
    fn unlock(&mut self) -> Result<()>;

    /// Reads what is new: all lines behind the position. They stay new until they are [accepted](Storage::accept), so that a
    /// reader who cannot make sense of them does not go on without them. Without the lock, what is torn may be a line that somebody
    /// is just writing.
    ///
    /// # Errors
    /// Where what is there is not what was written, or cannot be read; then nothing is taken in.
    fn read(&mut self) -> Result<News>;

    /// The same for one who does not hold the lock: what was there whole at some moment of this call, whoever may be writing, and
    /// torn only what a crash has left. It changes nothing, needs no right to write and waits for nobody (but where the system
    /// keeps readers out, as Windows does with files).
    ///
    /// # Errors
    /// As [`Storage::read`].
    fn look(&mut self) -> Result<News> {
        self.read()
    }

    /// Goes on behind what was read or looked at last.
    fn accept(&mut self, news: &News);

    /// Goes back to the beginning: all of it is new once more.
    fn rewind(&mut self);

    /// Appends a line and takes it in. When this returns the line is durable, and whoever reads from now on sees it. Only under the
    /// lock, with everything read and accepted.
    ///
    /// # Errors
    /// Where it cannot be written, or the lock was lost meanwhile; then no line was added, and nothing was taken in. (Where an
    /// answer got lost on the way from a server, it may be there all the same: the next to read finds it, and it is new.)
    fn append(&mut self, line: &str) -> Result<()>;

    /// Keeps a version of the sheet: it is durable when this returns. One that is kept already stays as it is. Only under the lock.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn keep(&mut self, sheet: &KeptSheet) -> Result<()>;

    /// A version of the sheet that was kept.
    ///
    /// # Errors
    /// Where it cannot be read, or is not what its hash says.
    fn kept(&mut self, hash: &str) -> Result<Option<Vec<u8>>>;

    /// Drops a version of the sheet; one that is not kept is no error. Only under the lock.
    ///
    /// # Errors
    /// Where that cannot be done.
    fn drop_kept(&mut self, hash: &str) -> Result<()>;

    /// Puts what was read behind the last whole line out of the way, if there is something, and says where it is now, for a
    /// message. It is durable there before it is taken away here. Only under the lock. A storage whose lines are there whole or not
    /// at all has nothing to do.
    ///
    /// # Errors
    /// Where that cannot be had; then everything is as it was.
    fn set_aside(&mut self, _news: &News) -> Result<Option<String>> {
        Ok(None)
    }
}

/// How far a study was taken in; by default not at all. Two of one study are equal where the same lines were.
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
    /// What follows them, and is no whole line.
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

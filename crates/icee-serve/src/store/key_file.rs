//! Keys of requests beside a study of a folder, in `NAME.keys`: a line for each step, so that they outlive the server.
//!
//! When the file is full it becomes `NAME.keys.old`, in the place of the one before: what is kept is bounded, and nothing is ever written
//! anew. Answers stay on disk until they are asked for. The files are read when it is first somebody's turn: who only looks at a
//! study neither reads nor writes them. Lines that make no sense do not count, and nor does a file that is far too large: a study
//! must not become unusable because of what is only beside it.

use super::{Ledger, ending_of};
use crate::failure::Failure;
use crate::keys::{KEPT_BYTES, Keyed, Known, LONGEST_ANSWER, LONGEST_KEPT, kept};
use icee_base::files::{FileError, folder_of, sync_folder, write_atomically};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of a line: each of an answer's may be written as six.
const MOST_LINE: usize = 6 * LONGEST_ANSWER + 4096;
/// Bytes of a file that is read. Earlier versions wrote files twice as large as this one does.
const MOST_FILE: u64 = 4 * KEPT_BYTES;

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Step<A> {
    key: String,
    /// The token's name; earlier versions did not ask.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    token: String,
    /// In seconds since 1970.
    at: u64,
    /// A checksum of what was asked for.
    request: String,
    /// Lines of the journal when it began.
    #[serde(default)]
    lines: u64,
    /// What was answered: nothing, if it was too long; none where it is not done.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    answer: Option<A>,
    /// It was refused, and nothing was written: as if it had not been sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refused: bool,
}

fn none<A>() -> Option<A> {
    None
}

/// A token's key, in few bytes.
type Id = [u8; 32];

fn id_of(token: &str, key: &str) -> Id {
    let mut hash = Sha256::new();
    hash.update((token.len() as u64).to_le_bytes());
    hash.update(token.as_bytes());
    hash.update(key.as_bytes());
    hash.finalize().into()
}

/// What is remembered of a request; the rest stands in its latest line.
#[derive(Clone, Copy, Debug)]
struct Noted {
    at: u64,
    place: Line,
}

/// Where a line is.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Files are counted; the latest is written to.
    file: u64,
    from: u64,
    length: usize,
}

/// The keys of a study.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    /// None until it is somebody's turn.
    known: Option<Keys>,
    /// Bytes from which on a file is full.
    full: u64,
}

#[derive(Debug, Default)]
struct Keys {
    noted: HashMap<Id, Noted>,
    /// Those that were begun and have no answer.
    open: HashMap<Id, Step<String>>,
    /// The number of the file that is written to, and its bytes.
    file: u64,
    bytes: u64,
    /// Whether that file ends in half a line.
    torn: bool,
    /// Lines that the journal had at any request.
    lines: u64,
}

impl KeyFile {
    /// Keys in a file; there need not be one.
    pub fn new(path: PathBuf) -> KeyFile {
        KeyFile { path, known: None, full: KEPT_BYTES }
    }

    /// All files of the keys of a study.
    pub fn files(path: &Path) -> [PathBuf; 2] {
        [path.to_owned(), path.with_extension("keys.old")]
    }

    fn keys(&mut self) -> &mut Keys {
        let [path, old] = KeyFile::files(&self.path);
        self.known.get_or_insert_with(|| {
            let mut keys = Keys { file: 1, ..Keys::default() };
            keys.read(&old, 0);
            (keys.bytes, keys.torn) = keys.read(&path, 1);
            keys
        })
    }

    fn write(&mut self, step: Step<String>) -> Result<(), FileError> {
        let line = serde_json::to_string(&step).map_err(|error| FileError::content(&self.path, error.to_string()))?;
        let (length, full) = (line.len(), self.full);
        let is_full = |keys: &Keys| keys.bytes > 0 && keys.bytes + length as u64 > full;
        if is_full(self.keys()) || self.path.exists() && !self.path.is_file() {
            self.turn_over()?;
        }
        let path = self.path.clone();
        let is_new = !path.exists();
        let keys = self.keys();
        // Half a line, of a crash or a full disk, must not swallow this one.
        let text = if keys.torn { format!("\n{line}\n") } else { line + "\n" };
        keys.torn = true;
        let appended = OpenOptions::new().create(true).append(true).open(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_data()?;
            file.metadata()
        });
        keys.bytes = appended.map_err(FileError::io(&path))?.len();
        if is_new {
            sync_folder(&path);
        }
        keys.torn = false;
        let place = Line { file: keys.file, from: keys.bytes - 1 - length as u64, length };
        keys.take_in(step, place);
        Ok(())
    }

    /// Begins another file.
    fn turn_over(&mut self) -> Result<(), FileError> {
        let [path, old] = KeyFile::files(&self.path);
        std::fs::rename(&path, old).map_err(FileError::io(&path))?;
        sync_folder(&path);
        let keys = self.keys();
        (keys.file, keys.bytes, keys.torn) = (keys.file + 1, 0, false);
        let latest = keys.file - 1;
        keys.noted.retain(|_, noted| noted.place.file >= latest);
        keys.open.retain(|id, _| keys.noted.contains_key(id));
        Ok(())
    }

    /// What stands in a line.
    fn step(&mut self, place: Line) -> Option<Step<String>> {
        let [path, old] = KeyFile::files(&self.path);
        let mut file = File::open(if place.file == self.keys().file { path } else { old }).ok()?;
        file.seek(SeekFrom::Start(place.from)).ok()?;
        let mut line = vec![0; place.length];
        file.read_exact(&mut line).ok()?;
        serde_json::from_slice(&line).ok()
    }
}

impl Keys {
    /// Takes in the lines of a file that is read, and gives its bytes and whether it ends in half a line.
    fn read(&mut self, path: &Path, file: u64) -> (u64, bool) {
        let Ok(found) = File::open(path) else { return (0, false) };
        let bytes = found.metadata().map_or(0, |known| known.len());
        if bytes > MOST_FILE {
            return (bytes, true);
        }
        let (mut reader, mut line, mut from, mut torn) = (BufReader::new(found), Vec::new(), 0, false);
        while let Ok(length) = next_line(&mut reader, &mut line)
            && length > 0
        {
            torn = line.pop_if(|last| *last == b'\n').is_none();
            let place = Line { file, from, length: line.len() };
            from += length as u64;
            // The answer is not looked at.
            if let Ok(Step { key, token, at, request, lines, answer, refused }) =
                serde_json::from_slice::<Step<IgnoredAny>>(&line)
            {
                let answer = answer.map(|_| String::new());
                self.take_in(Step { key, token, at, request, lines, answer, refused }, place);
            }
        }
        (bytes, torn)
    }

    fn take_in(&mut self, step: Step<String>, place: Line) {
        let id = id_of(&step.token, &step.key);
        self.open.remove(&id);
        if step.refused {
            self.noted.remove(&id);
            return;
        }
        self.lines = self.lines.max(step.lines);
        self.noted.insert(id, Noted { at: step.at, place });
        if step.answer.is_none() {
            self.open.insert(id, step);
        }
    }

    /// What is known of a request. Those without a token are everybody's: there were none then.
    fn find(&self, keyed: &Keyed, now: u64) -> Option<Noted> {
        let of = |token: &str| self.noted.get(&id_of(token, &keyed.key));
        let found = of(&keyed.token).or_else(|| of("")).copied();
        found.filter(|noted| noted.at.saturating_add(LONGEST_KEPT) >= now)
    }
}

impl Ledger for KeyFile {
    fn settle(&mut self, lines: u64) -> icee_study::Result<()> {
        if self.keys().lines > lines {
            // The journal was taken away, and these were about another one.
            for file in KeyFile::files(&self.path) {
                match std::fs::remove_file(&file) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(FileError::io(&file)(error).into()),
                    _ => {}
                }
            }
            self.known = None;
        }
        let undone: Vec<Step<String>> = self.keys().open.values().filter(|step| step.lines == lines).cloned().collect();
        for step in undone {
            self.write(Step { refused: true, ..step })?;
        }
        Ok(())
    }

    fn begin(&mut self, keyed: &Keyed, now: u64, lines: u64) -> Result<Known, Failure> {
        if let Some(noted) = self.keys().find(keyed, now) {
            // A line that has gone since is as good as an answer that was not kept.
            return match self.step(noted.place) {
                Some(step) => keyed.known(step.request == keyed.request, step.answer),
                None => keyed.known(true, Some(String::new())),
            };
        }
        let Keyed { key, token, request } = keyed.clone();
        self.write(Step { key, token, at: now, request, lines, answer: None, refused: false })?;
        Ok(Known::New)
    }

    fn end(&mut self, keyed: &Keyed, answer: Option<&str>) -> icee_study::Result<()> {
        let id = id_of(&keyed.token, &keyed.key);
        let Some(begun) = self.keys().open.get(&id).cloned() else { return Ok(()) };
        let answer = answer.map(|answer| kept(answer).to_owned());
        Ok(self.write(Step { refused: answer.is_none(), answer, ..begun })?)
    }

    /// What lies in the folder itself is replaced. What lies elsewhere is not the server's: then the sheet goes beside the journal.
    fn put_sheet(&mut self, sheet: &[u8], place: &Path) -> icee_study::Result<PathBuf> {
        let ours = folder_of(place).canonicalize().ok() == folder_of(&self.path).canonicalize().ok();
        let beside = self.path.with_extension(format!("sheet.{}", ending_of(sheet)));
        let place = if ours { place.to_owned() } else { beside };
        write_atomically(&place, sheet)?;
        sync_folder(&place);
        Ok(place)
    }
}

/// Reads a line with its end, and gives how many bytes it has; of one that is too long nothing is kept.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    line.clear();
    let mut length = reader.by_ref().take(MOST_LINE as u64).read_until(b'\n', line)?;
    let is_over = |line: &[u8], read: usize| read < MOST_LINE || line.ends_with(b"\n");
    if is_over(line, length) {
        return Ok(length);
    }
    loop {
        line.clear();
        let more = reader.by_ref().take(MOST_LINE as u64).read_until(b'\n', line)?;
        length += more;
        if is_over(line, more) {
            let ends = line.ends_with(b"\n");
            line.clear();
            line.extend(ends.then_some(b'\n'));
            return Ok(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of keys in a folder of its own.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let folder = std::env::temp_dir().join(format!("icee-keys-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            Scratch(folder)
        }

        fn path(&self) -> PathBuf {
            self.0.join("bread.keys")
        }

        fn open(&self) -> KeyFile {
            KeyFile::new(self.path())
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn keyed(key: &str) -> Keyed {
        Keyed::new(key, Some("ada"), "ask", b"{}")
    }

    fn done(keys: &mut KeyFile, key: &str, answer: &str) {
        assert_eq!(keys.begin(&keyed(key), 0, 1).unwrap(), Known::New);
        keys.end(&keyed(key), Some(answer)).unwrap();
    }

    #[test]
    fn half_a_line_swallows_no_other() {
        let scratch = Scratch::new("torn");
        done(&mut scratch.open(), "a", "{}");
        OpenOptions::new().append(true).open(scratch.path()).unwrap().write_all(b"{\"key\":\"c").unwrap();
        done(&mut scratch.open(), "b", "{\"b\":1}");
        let mut keys = scratch.open();
        assert_eq!(keys.begin(&keyed("a"), 1, 1).unwrap(), Known::Done("{}".into()));
        assert_eq!(keys.begin(&keyed("b"), 1, 1).unwrap(), Known::Done("{\"b\":1}".into()));
        assert_eq!(keys.begin(&keyed("c"), 1, 1).unwrap(), Known::New);
    }

    #[test]
    fn files_are_bounded_and_the_latest_keys_are_kept() {
        let scratch = Scratch::new("bounded");
        let mut keys = KeyFile { full: 4096, ..scratch.open() };
        for number in 0..100 {
            done(&mut keys, &number.to_string(), &format!("{{\"row\":{number}}}"));
        }
        let bytes = KeyFile::files(&scratch.path()).map(|file| std::fs::metadata(file).unwrap().len());
        assert!(bytes.iter().all(|bytes| *bytes <= 4096), "{bytes:?}");
        // By the one who wrote them, and by the next.
        for keys in [&mut keys, &mut scratch.open()] {
            for number in 92..100 {
                let answer = Known::Done(format!("{{\"row\":{number}}}"));
                assert_eq!(keys.begin(&keyed(&number.to_string()), 1, 1).unwrap(), answer);
            }
            assert!(!keys.keys().noted.contains_key(&id_of("ada", "0")));
        }
    }

    #[test]
    fn a_file_that_is_damaged_or_too_large_is_in_nobodys_way() {
        let scratch = Scratch::new("damaged");
        std::fs::create_dir(scratch.path()).unwrap();
        done(&mut scratch.open(), "a", "{}");
        std::fs::remove_dir_all(scratch.0.join("bread.keys.old")).unwrap();
        std::fs::write(scratch.path(), [b"\xff\0{".repeat(1000), b"\n".to_vec(), vec![b'x'; 2 * MOST_LINE]].concat())
            .unwrap();
        done(&mut scratch.open(), "b", "{}");
        assert_eq!(scratch.open().begin(&keyed("b"), 1, 1).unwrap(), Known::Done("{}".into()));
        // As large as no version has written it, and full of nothing.
        File::create(scratch.path()).unwrap().set_len(MOST_FILE + 1).unwrap();
        done(&mut scratch.open(), "c", "{}");
        assert_eq!(scratch.open().begin(&keyed("c"), 1, 1).unwrap(), Known::Done("{}".into()));
    }

    #[test]
    fn who_only_looks_writes_nothing() {
        let scratch = Scratch::new("look");
        done(&mut scratch.open(), "a", "{}");
        OpenOptions::new().append(true).open(scratch.path()).unwrap().write_all(b"{").unwrap();
        let before = std::fs::read(scratch.path()).unwrap();
        assert!(scratch.open().known.is_none());
        drop(scratch.open());
        assert_eq!(std::fs::read(scratch.path()).unwrap(), before);
    }

    #[test]
    fn keys_of_a_journal_that_is_gone_do_not_count() {
        let scratch = Scratch::new("gone");
        let mut keys = scratch.open();
        keys.begin(&keyed("a"), 0, 7).unwrap();
        keys.end(&keyed("a"), Some("{}")).unwrap();
        let mut same = scratch.open();
        same.settle(8).unwrap();
        assert_eq!(same.begin(&keyed("a"), 1, 8).unwrap(), Known::Done("{}".into()));
        let mut other = scratch.open();
        other.settle(3).unwrap();
        assert_eq!(other.begin(&keyed("a"), 1, 3).unwrap(), Known::New);
    }

    #[test]
    fn keys_of_earlier_versions_count() {
        let scratch = Scratch::new("earlier");
        let request = keyed("a").request;
        let line = format!("{{\"key\":\"a\",\"at\":5,\"request\":\"{request}\",\"lines\":1,\"answer\":\"{{}}\"}}\n");
        std::fs::write(scratch.path(), line).unwrap();
        assert_eq!(scratch.open().begin(&keyed("a"), 6, 2).unwrap(), Known::Done("{}".into()));
    }
}

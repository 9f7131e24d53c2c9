//! The file a study is: lines that are only ever appended, and that survive a crash at any byte.
//!
//! Every line is one JSON object whose last member, `check`, is a checksum of the text before it and of all lines above.
//! A line is written in one go and forced to disk before anyone hears of it. What a crash leaves behind is at most one
//! incomplete line at the end; it is moved to a file of its own beside the journal, and said so. A line that is
//! damaged further up is not the work of a crash: then nothing is touched, and the error names the line.
//!
//! Processes take turns by a lock on the file, held for as long as one of them reads, decides and writes.

use crate::{Error, Result};
use icee_base::files::FileError;
use icee_base::hash::checksum;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How a line ends: the checksum takes sixteen digits.
const CHECK: &str = ",\"check\":\"";
const CHECK_LENGTH: usize = CHECK.len() + 16 + 2;

/// An open journal, and how far it has been read.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    at: Position,
}

/// How far a journal has been taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Position {
    /// Bytes and lines, all of them sound.
    length: u64,
    lines: u64,
    /// The checksum of the last line.
    chain: u64,
}

/// What reading found.
#[derive(Debug, Default, PartialEq)]
pub struct News {
    /// The new lines, without their checksums.
    pub lines: Vec<String>,
    /// Where an incomplete last line was put.
    pub set_aside: Option<PathBuf>,
    /// Where they end.
    end: Position,
}

impl Journal {
    /// Writes a new journal of one line.
    ///
    /// # Errors
    /// Where there is one already, or it cannot be written.
    pub fn create(path: &Path, header: &str) -> Result<()> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(FileError::io(folder))?;
        }
        // Under another name first: nobody ever sees half a header, and an existing study is not overwritten.
        let draft = path.with_extension(format!("draft-{}", std::process::id()));
        let (line, _) = seal(0, header);
        // Left by a process of the same number that was killed.
        let _ = std::fs::remove_file(&draft);
        let written = write_new(&draft, line.as_bytes());
        let linked = written.and_then(|()| std::fs::hard_link(&draft, path)).or_else(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Err(error),
            // A file system without links.
            _ => write_new(path, line.as_bytes()),
        });
        let _ = std::fs::remove_file(&draft);
        match linked {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Error::Study(format!("{} exists already; choose another name", path.display())))
            }
            result => Ok(result.map_err(FileError::io(path))?),
        }
    }

    /// Opens a journal, with nothing read yet.
    ///
    /// # Errors
    /// Where it cannot be opened for reading and appending.
    pub fn open(path: &Path) -> Result<Journal> {
        let file = OpenOptions::new().read(true).append(true).open(path).map_err(FileError::io(path))?;
        Ok(Journal { path: path.to_owned(), file, at: Position::default() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lines taken in so far.
    pub fn lines(&self) -> u64 {
        self.at.lines
    }

    /// Waits until no other process is at work on the file, and keeps them waiting until [`Journal::unlock`].
    ///
    /// # Errors
    /// Where the file system has no locks.
    pub fn lock(&self) -> Result<()> {
        Ok(self.file.lock().map_err(FileError::io(&self.path))?)
    }

    /// Lets the others in.
    ///
    /// # Errors
    /// As [`Journal::lock`].
    pub fn unlock(&self) -> Result<()> {
        Ok(self.file.unlock().map_err(FileError::io(&self.path))?)
    }

    /// Reads what is new, and sets an incomplete last line aside. Only under the lock. It stays new until it is
    /// [accepted](Journal::accept), so that a reader who cannot make sense of it does not go on without it.
    ///
    /// # Errors
    /// Where a line is damaged that is not the last one, or the file cannot be read.
    pub fn read(&mut self) -> Result<News> {
        let io = FileError::io(&self.path);
        let size = self.file.metadata().map_err(&io)?.len();
        if size < self.at.length {
            return Err(self.damaged(self.at.lines, "the file has become shorter while it was open"));
        }
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.at.length)).map_err(&io)?;
        self.file.read_to_end(&mut bytes).map_err(&io)?;
        let mut news = News { end: self.at, ..News::default() };
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let end = rest.iter().position(|&byte| byte == b'\n');
            let line = end.and_then(|end| unseal(news.end.chain, &rest[..end]));
            let (Some(end), Some((text, chain))) = (end, line) else {
                let last = end.is_none_or(|end| end + 1 == rest.len());
                if news.end.lines == 0 {
                    return Err(self.damaged(1, "it is not the header of a study"));
                }
                if !last {
                    return Err(self.damaged(news.end.lines + 1, "its checksum does not fit"));
                }
                news.set_aside = Some(self.set_aside(rest, news.end.length)?);
                break;
            };
            news.lines.push(text);
            let Position { length, lines, .. } = news.end;
            news.end = Position { length: length + end as u64 + 1, lines: lines + 1, chain };
            rest = &rest[end + 1..];
        }
        Ok(news)
    }

    /// Goes on behind what was read.
    pub fn accept(&mut self, news: &News) {
        self.at = news.end;
    }

    /// Appends a line and forces it to disk. Only under the lock, with everything read and accepted.
    ///
    /// # Errors
    /// Where it cannot be written; then the journal is as it was.
    pub fn append(&mut self, text: &str) -> Result<()> {
        let (line, chain) = seal(self.at.chain, text);
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // A full disk may have taken half of the line.
            let _ = self.file.set_len(self.at.length);
            return Err(FileError::Io { path: self.path.clone(), source }.into());
        }
        let Position { length, lines, .. } = self.at;
        self.at = Position { length: length + line.len() as u64, lines: lines + 1, chain };
        Ok(())
    }

    /// Moves an incomplete end of the file to a file of its own: on disk there before it is cut off here.
    fn set_aside(&self, rest: &[u8], sound: u64) -> Result<PathBuf> {
        let mut number = 1;
        let path = loop {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".damaged-{number}"));
            let path = PathBuf::from(name);
            match write_new(&path, rest) {
                Ok(()) => break path,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(source) => return Err(FileError::Io { path, source }.into()),
            }
        };
        self.file.set_len(sound).and_then(|()| self.file.sync_all()).map_err(FileError::io(&self.path))?;
        Ok(path)
    }

    fn damaged(&self, line: u64, problem: &str) -> Error {
        let problem = format!("line {line}: {problem}; nothing was changed, put back a sound copy of the file");
        FileError::content(&self.path, problem).into()
    }
}

/// Writes a file that does not exist yet, and forces it and its name to disk.
fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    // Not every system can open a folder; there the name is as safe as that system makes it.
    if let Ok(folder) = File::open(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A line with its checksum and line break, and the checksum.
fn seal(chain: u64, text: &str) -> (String, u64) {
    let chain = checksum(chain, text.as_bytes());
    let open = text.strip_suffix('}').unwrap_or(text);
    (format!("{open}{CHECK}{chain:016x}\"}}\n"), chain)
}

/// The text of a line without its line break, if it is sound, and its checksum.
fn unseal(chain: u64, line: &[u8]) -> Option<(String, u64)> {
    let line = std::str::from_utf8(line).ok()?;
    let cut = line.len().checked_sub(CHECK_LENGTH).filter(|&cut| line.is_char_boundary(cut))?;
    let (open, check) = line.split_at(cut);
    let text = format!("{open}}}");
    let chain = checksum(chain, text.as_bytes());
    (check == format!("{CHECK}{chain:016x}\"}}")).then_some((text, chain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const LINES: [&str; 4] = ["{\"header\":\"ä\"}", "{\"ask\":[1,2]}", "{\"tell\":0.5}", "{\"ask\":[3]}"];

    /// Reads and accepts.
    fn take(journal: &mut Journal) -> Result<News> {
        let news = journal.read()?;
        journal.accept(&news);
        Ok(news)
    }

    fn written(scratch: &Scratch) -> PathBuf {
        let path = scratch.file("study.jsonl");
        Journal::create(&path, LINES[0]).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        take(&mut journal).unwrap();
        LINES[1..].iter().for_each(|line| journal.append(line).unwrap());
        path
    }

    #[test]
    fn a_cut_at_any_byte_loses_no_complete_line() {
        let scratch = Scratch::new("journal-cut");
        let whole = std::fs::read(written(&scratch)).unwrap();
        let path = scratch.file("cut.jsonl");
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let complete = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            let mut journal = Journal::open(&path).unwrap();
            let news = take(&mut journal);
            if complete == 0 {
                assert!(length == 0 || news.unwrap_err().to_string().contains("line 1"), "{length}");
                continue;
            }
            let news = news.unwrap();
            assert_eq!(news.lines, LINES[..complete], "{length}");
            let kept: usize =
                whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(complete - 1).unwrap().0 + 1;
            assert_eq!(std::fs::read(&path).unwrap(), whole[..kept]);
            match news.set_aside {
                Some(aside) => {
                    assert_eq!(std::fs::read(&aside).unwrap(), whole[kept..length]);
                    std::fs::remove_file(aside).unwrap();
                }
                None => assert_eq!(length, kept),
            }
            // It goes on as if the line had never been begun.
            journal.append("{\"more\":1}").unwrap();
            assert_eq!(Journal::open(&path).unwrap().read().unwrap().lines.len(), complete + 1);
        }
    }

    #[test]
    fn a_changed_byte_is_never_taken_for_a_sound_line() {
        let scratch = Scratch::new("journal-change");
        let whole = std::fs::read(written(&scratch)).unwrap();
        let path = scratch.file("changed.jsonl");
        let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            std::fs::write(&path, &bytes).unwrap();
            match Journal::open(&path).unwrap().read() {
                Ok(news) => {
                    // The break before the last line is a part of it: without it, two lines are one damaged one.
                    let sound = if at >= last { 3 } else { 2 };
                    assert!(at + 1 >= last && news.lines == LINES[..sound], "{at}");
                    let aside = news.set_aside.unwrap();
                    assert!(bytes.ends_with(&std::fs::read(&aside).unwrap()));
                    std::fs::remove_file(aside).unwrap();
                }
                Err(error) => {
                    assert!(error.to_string().contains("nothing was changed"), "{at}: {error}");
                    assert_eq!(std::fs::read(&path).unwrap(), bytes);
                }
            }
        }
    }

    #[test]
    fn lines_cannot_change_places_and_files_are_not_overwritten() {
        let scratch = Scratch::new("journal-swap");
        let path = written(&scratch);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.swap(1, 2);
        let swapped = scratch.file("swapped.jsonl");
        std::fs::write(&swapped, lines.join("\n") + "\n").unwrap();
        assert!(Journal::open(&swapped).unwrap().read().unwrap_err().to_string().contains("line 2"));
        assert!(Journal::create(&path, "{}").unwrap_err().to_string().contains("exists already"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        // Every line is JSON for others to read.
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }

    #[test]
    fn a_reader_sees_what_another_appended() {
        let scratch = Scratch::new("journal-two");
        let path = written(&scratch);
        let (mut one, mut two) = (Journal::open(&path).unwrap(), Journal::open(&path).unwrap());
        assert_eq!(take(&mut one).unwrap().lines.len(), 4);
        assert_eq!(take(&mut two).unwrap().lines.len(), 4);
        one.append("{\"by\":\"one\"}").unwrap();
        // What is not accepted stays new.
        assert_eq!(two.read().unwrap().lines, ["{\"by\":\"one\"}"]);
        assert_eq!(take(&mut two).unwrap().lines, ["{\"by\":\"one\"}"]);
        two.append("{\"by\":\"two\"}").unwrap();
        assert_eq!(take(&mut one).unwrap().lines, ["{\"by\":\"two\"}"]);
        assert_eq!(one.lines(), 6);
    }
}

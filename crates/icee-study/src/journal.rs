//! The file of a study: lines that are only ever appended, and that survive a crash at any byte.
//!
//! Every line carries a checksum of its text and of all lines above (see `lines`). A line is written in one go and
//! forced to disk before its request is answered. A crash leaves at most one incomplete line at the end; the next
//! writer moves it to a file of its own beside the journal, and a note says so. A line that is damaged further up is
//! not the work of a crash: then nothing is touched, and the error names the line.
//!
//! A writer holds a lock on the file. A reader needs neither the lock nor the right to write: whole lines never change.

use crate::error::{IntoProblem, OrProblem, Result, shown, stored};
use crate::formats::is_archive;
use crate::lines::{damaged, parse, position, seal};
use crate::memory::journal_of;
use crate::storage::{Home, KeptSheet, News, PATIENCE, Position, Storage};
use icee_base::files::{
    FileError, folder_of, open_regular, read_regular, require_regular, sync_folder, write_atomically,
};
use icee_protocol::Problem;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the lock is tried before the wait is reported.
const PAUSE: Duration = Duration::from_millis(5);

/// Bytes of a sheet.
const MOST_SHEET: u64 = 1 << 30;

/// Drafts of this process so far: two threads may create a study at once.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// A study's home in a file of its own, to which paths are written as they are seen from its folder.
#[derive(Clone, Debug)]
pub struct JournalFile(pub PathBuf);

impl Home for JournalFile {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(folder_of(&self.0))
    }

    fn create(&self, lines: &[String], sheets: &[KeptSheet]) -> Result<()> {
        if self.0.exists() {
            return Err(taken(&self.0));
        }
        let folder = sheets_of(&self.0);
        // Those that were there before belong to a study that is created at the same time.
        let new: Vec<&KeptSheet> = sheets.iter().filter(|sheet| find(&folder, &sheet.hash).is_none()).collect();
        let created =
            new.iter().try_for_each(|sheet| keep(&folder, sheet)).and_then(|()| Journal::create(&self.0, lines));
        created.inspect_err(|_| {
            if !self.0.exists() {
                // Without a journal they would only be in the way.
                new.iter()
                    .filter_map(|sheet| find(&folder, &sheet.hash))
                    .for_each(|path| drop(std::fs::remove_file(path)));
                let _ = std::fs::remove_dir(&folder);
            }
        })
    }

    fn open(&self) -> Result<Box<dyn Storage>> {
        Ok(Box::new(Journal::open(&self.0)?))
    }
}

/// The folder of a study's sheets.
pub fn sheets_of(journal: &Path) -> PathBuf {
    journal.with_extension("sheets")
}

/// The file of a version of the sheet, if it is kept.
fn find(folder: &Path, hash: &str) -> Option<PathBuf> {
    let sound = !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    ["csv", "xlsx"].iter().map(|ending| folder.join(format!("{hash}.{ending}"))).find(|path| sound && path.is_file())
}

pub(crate) fn keep(folder: &Path, sheet: &KeptSheet) -> Result<()> {
    if find(folder, &sheet.hash).is_some() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(FileError::io(folder)).or_problem()?;
    let ending = if is_archive(&sheet.bytes) { "xlsx" } else { "csv" };
    let path = folder.join(format!("{}.{ending}", sheet.hash));
    write_atomically(&path, &sheet.bytes).or_problem()?;
    sync_folder(&path);
    sync_folder(folder);
    Ok(())
}

/// An open journal, and how far it has been read.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Whether the file is open for appending, too.
    appends: bool,
    at: Position,
}

impl Journal {
    /// Writes a new journal of these lines, all at once.
    ///
    /// # Errors
    /// If there is one already, or it cannot be written; then nothing is left behind.
    pub fn create(path: &Path, lines: &[String]) -> Result<()> {
        let folder = folder_of(path);
        std::fs::create_dir_all(&folder).map_err(FileError::io(&folder)).or_problem()?;
        // Under another name first: no reader ever sees half a header, and an existing study is not overwritten.
        let draft = format!("draft-{}-{}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
        let draft = path.with_extension(draft);
        let text = journal_of(lines);
        // Left by a process of the same number that was killed.
        let _ = std::fs::remove_file(&draft);
        let created = write_new(&draft, text.as_bytes()).and_then(|()| {
            let linked = std::fs::hard_link(&draft, path);
            let _ = std::fs::remove_file(&draft);
            match linked {
                Err(error) if has_no_links(&error) => write_new(path, text.as_bytes()),
                linked => linked,
            }
        });
        match created {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(taken(path));
            }
            created => created.map_err(FileError::io(path)).or_problem()?,
        }
        sync_folder(path);
        Ok(())
    }

    /// Opens a journal for reading, with nothing read yet.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn open(path: &Path) -> Result<Journal> {
        Ok(Journal {
            path: path.to_owned(),
            file: open_regular(path).or_problem()?,
            appends: false,
            at: Position::default(),
        })
    }

    /// As [`Storage::lock`], with the path for the message to those that wait.
    ///
    /// # Errors
    /// Where the file is gone or may not be written, or its file system has no locks.
    pub fn lock(&mut self, waiting: &dyn Fn(&Path)) -> Result<()> {
        loop {
            if !self.appends || !self.in_place()? {
                let file = open_to_append(&self.path)?;
                if !same_file(&metadata(&file, &self.path)?, &metadata(&self.file, &self.path)?) {
                    self.at = Position::default();
                }
                self.file = file;
                self.appends = true;
            }
            self.wait(waiting)?;
            // During the wait, another file may have taken the name; lines written to the old one would be lost.
            let in_place = self.in_place();
            if matches!(in_place, Ok(true)) {
                return Ok(());
            }
            self.unlock()?;
            in_place?;
        }
    }

    fn wait(&self, waiting: &dyn Fn(&Path)) -> Result<()> {
        let io = FileError::io(&self.path);
        let start = Instant::now();
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(error)) => return Err(io(error).into_problem()),
            }
        }
        waiting(&self.path);
        self.file.lock().map_err(io).or_problem()
    }

    /// Whether the open file still has the journal's name.
    fn in_place(&self) -> Result<bool> {
        let io = FileError::io(&self.path);
        Ok(same_file(&std::fs::metadata(&self.path).map_err(io).or_problem()?, &metadata(&self.file, &self.path)?))
    }

    /// Moves the incomplete end that was read, if there is one, to a file of its own; see [`Storage::set_aside`].
    ///
    /// # Errors
    /// Where that file cannot be written; then the journal is as it was.
    pub fn set_aside(&mut self, news: &News) -> Result<Option<PathBuf>> {
        if !news.is_torn() {
            return Ok(None);
        }
        let mut number = 1;
        let path = loop {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".damaged-{number}"));
            let path = PathBuf::from(name);
            match write_new(&path, &news.torn) {
                Ok(()) => break path,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(source) => return Err(FileError::Io { path, source }.into_problem()),
            }
        };
        let cut = self.file.set_len(news.end.mark[0]).and_then(|()| self.file.sync_all());
        cut.map_err(FileError::io(&self.path)).or_problem()?;
        Ok(Some(path))
    }
}

impl Storage for Journal {
    fn position(&self) -> Position {
        self.at
    }

    fn lock(&mut self, waiting: &dyn Fn()) -> Result<()> {
        Journal::lock(self, &|_| waiting())
    }

    fn unlock(&mut self) -> Result<()> {
        self.file.unlock().map_err(FileError::io(&self.path)).or_problem()
    }

    fn read(&mut self) -> Result<News> {
        let io = FileError::io(&self.path);
        let Position { lines, mark: [length, _] } = self.at;
        if metadata(&self.file, &self.path)?.len() < length {
            return Err(damaged(&self.path, lines, "the file has become shorter while it was open"));
        }
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(length)).map_err(&io).or_problem()?;
        self.file.read_to_end(&mut bytes).map_err(&io).or_problem()?;
        parse(&self.path, self.at, &bytes)
    }

    fn look(&mut self) -> Result<News> {
        match self.read() {
            Ok(news) if !news.is_torn() => Ok(news),
            // Another process may be writing there. So look again under the lock, if it is free at once.
            _ => {
                // (On Windows a lock keeps readers out, too, so there they have to wait.)
                let alone =
                    if cfg!(windows) { self.file.lock_shared().is_ok() } else { self.file.try_lock_shared().is_ok() };
                let again = self.read();
                if alone {
                    self.unlock()?;
                    return again;
                }
                // The end counts as torn only if no process writes.
                Ok(News { torn: vec![], ..again? })
            }
        }
    }

    fn accept(&mut self, news: &News) {
        self.at = news.end;
    }

    fn rewind(&mut self) {
        self.at = Position::default();
    }

    fn append(&mut self, text: &str) -> Result<()> {
        let Position { lines, mark: [length, chain] } = self.at;
        let (line, chain) = seal(chain, text);
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // A full disk may have taken half of the line.
            let _ = self.file.set_len(length);
            return Err(FileError::Io { path: self.path.clone(), source }.into_problem());
        }
        // A line that went to a file without a name must not count as written.
        if !self.in_place()? {
            let fault = "another file has taken its place meanwhile. Nothing was recorded; repeat the request.";
            return Err(stored(&shown(&self.path), fault));
        }
        self.at = position(lines + 1, length + line.len() as u64, chain);
        Ok(())
    }

    fn keep(&mut self, sheet: &KeptSheet) -> Result<()> {
        keep(&sheets_of(&self.path), sheet)
    }

    fn kept(&mut self, hash: &str) -> Result<Option<Vec<u8>>> {
        let Some(path) = find(&sheets_of(&self.path), hash) else { return Ok(None) };
        let Some(bytes) = read_regular(&path, MOST_SHEET).or_problem()? else { return Ok(None) };
        let sheet = KeptSheet { hash: hash.to_owned(), bytes };
        if sheet.is_sound() {
            Ok(Some(sheet.bytes))
        } else {
            Err(stored(&shown(&path), "it was changed; put back a sound copy"))
        }
    }

    fn drop_kept(&mut self, hash: &str) -> Result<()> {
        let Some(path) = find(&sheets_of(&self.path), hash) else { return Ok(()) };
        std::fs::remove_file(&path).map_err(FileError::io(&path)).or_problem()
    }

    fn set_aside(&mut self, news: &News) -> Result<Option<String>> {
        Ok(Journal::set_aside(self, news)?.map(|path| path.display().to_string()))
    }
}

/// Whether an error of linking means that the file system cannot do it: FAT and its like say "not permitted", Windows
/// "invalid function", which has the same number.
fn has_no_links(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) || error.raw_os_error() == Some(1)
}

/// The problem of a journal that is in the way.
fn taken(path: &Path) -> Problem {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Problem::StudyExists { name }
}

fn open_to_append(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).append(true).open(path).map_err(FileError::io(path)).or_problem()?;
    require_regular(path, &metadata(&file, path)?).or_problem()?;
    Ok(file)
}

fn metadata(file: &File, path: &Path) -> Result<Metadata> {
    file.metadata().map_err(FileError::io(path)).or_problem()
}

#[cfg(unix)]
fn same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Elsewhere a file that is open does not give its name to another.
#[cfg(not(unix))]
fn same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Writes a file that does not exist yet, and forces it and its name to disk; or leaves none.
pub fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
        // Half a file (of a full disk, say) would only be in the way.
        let _ = std::fs::remove_file(path);
    })?;
    sync_folder(path);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const LINES: [&str; 4] = ["{\"header\":\"ä\"}", "{\"ask\":[1,2]}", "{\"tell\":0.5}", "{\"ask\":[3]}"];

    /// Reads, repairs and accepts, as a writer does.
    fn take(journal: &mut Journal) -> Result<(News, Option<PathBuf>)> {
        journal.lock(&|_| panic!("nobody else is here"))?;
        let news = journal.read()?;
        let aside = journal.set_aside(&news)?;
        journal.accept(&news);
        journal.unlock()?;
        Ok((news, aside))
    }

    fn lines(path: &Path) -> Vec<String> {
        Journal::open(path).unwrap().read().unwrap().lines
    }

    fn written(scratch: &Scratch) -> PathBuf {
        let path = scratch.file("study.jsonl");
        Journal::create(&path, &[LINES[0].into()]).unwrap();
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
            let (news, aside) = news.unwrap();
            assert_eq!(news.lines, LINES[..complete], "{length}");
            let kept: usize =
                whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(complete - 1).unwrap().0 + 1;
            assert_eq!(std::fs::read(&path).unwrap(), whole[..kept]);
            match aside {
                Some(aside) => {
                    assert_eq!(std::fs::read(&aside).unwrap(), whole[kept..length]);
                    std::fs::remove_file(aside).unwrap();
                }
                None => assert_eq!(length, kept),
            }
            // It goes on as if the line had never been begun.
            journal.append("{\"more\":1}").unwrap();
            assert_eq!(lines(&path).len(), complete + 1);
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
            match take(&mut Journal::open(&path).unwrap()) {
                Ok((news, aside)) => {
                    // The break before the last line is a part of it: without it, two lines are one damaged one.
                    let sound = if at >= last { 3 } else { 2 };
                    assert!(at + 1 >= last && news.lines == LINES[..sound], "{at}");
                    let aside = aside.unwrap();
                    assert!(bytes.ends_with(&std::fs::read(&aside).unwrap()));
                    std::fs::remove_file(aside).unwrap();
                }
                Err(error) => {
                    assert!(error.to_string().contains("Nothing was changed"), "{at}: {error}");
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
        assert!(Journal::create(&path, &["{}".into()]).unwrap_err().to_string().contains("exists already"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        // Every line is JSON for other programs to read.
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }

    #[test]
    fn a_reader_sees_what_another_appended() {
        let scratch = Scratch::new("journal-two");
        let path = written(&scratch);
        let (mut one, mut two) = (Journal::open(&path).unwrap(), Journal::open(&path).unwrap());
        assert_eq!(take(&mut one).unwrap().0.lines.len(), 4);
        assert_eq!(take(&mut two).unwrap().0.lines.len(), 4);
        one.append("{\"by\":\"one\"}").unwrap();
        // Lines that are not accepted stay new.
        assert_eq!(two.read().unwrap().lines, ["{\"by\":\"one\"}"]);
        assert_eq!(take(&mut two).unwrap().0.lines, ["{\"by\":\"one\"}"]);
        two.append("{\"by\":\"two\"}").unwrap();
        assert_eq!(take(&mut one).unwrap().0.lines, ["{\"by\":\"two\"}"]);
        assert_eq!(one.lines(), 6);
    }

    #[test]
    fn who_only_reads_changes_nothing() {
        let scratch = Scratch::new("journal-look");
        let path = written(&scratch);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"half");
        std::fs::write(&path, &text).unwrap();
        let mut reader = Journal::open(&path).unwrap();
        let news = reader.look().unwrap();
        assert_eq!((news.lines.len(), news.is_torn()), (4, true));
        // While another process writes, an incomplete line is not reported.
        let mut writer = Journal::open(&path).unwrap();
        writer.lock(&|_| ()).unwrap();
        assert!(!reader.look().unwrap().is_torn());
        writer.unlock().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn who_waits_long_is_told_so_once() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let scratch = Scratch::new("journal-wait");
        let path = written(&scratch);
        let mut holder = Journal::open(&path).unwrap();
        holder.lock(&|_| ()).unwrap();
        let said = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut waiter = Journal::open(&path).unwrap();
                let count = |_: &Path| {
                    said.fetch_add(1, Ordering::SeqCst);
                };
                waiter.lock(&count).unwrap();
            });
            while said.load(Ordering::SeqCst) == 0 {
                std::thread::sleep(PAUSE);
            }
            holder.unlock().unwrap();
            waiter.join().unwrap();
        });
        assert_eq!(said.into_inner(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_takes_the_name_is_the_one_written_to() {
        let scratch = Scratch::new("journal-replaced");
        let path = written(&scratch);
        let other = scratch.file("other.jsonl");
        let replace = || {
            std::fs::copy(&path, &other).unwrap();
            std::fs::rename(&other, &path).unwrap();
        };
        let mut holder = Journal::open(&path).unwrap();
        holder.lock(&|_| ()).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut waiter = Journal::open(&path).unwrap();
                let news = waiter.read().unwrap();
                waiter.accept(&news);
                waiter.lock(&|_| ()).unwrap();
                // All of it is new, because the other file is unknown.
                let news = waiter.read().unwrap();
                assert_eq!(news.lines.len(), 4);
                waiter.accept(&news);
                waiter.append("{\"by\":\"waiter\"}").unwrap();
            });
            std::thread::sleep(20 * PAUSE);
            replace();
            holder.unlock().unwrap();
            waiter.join().unwrap();
        });
        assert_eq!(lines(&path).last().unwrap(), "{\"by\":\"waiter\"}");
        // And if it happens between locking and writing, the change counts as not made.
        let mut late = Journal::open(&path).unwrap();
        take(&mut late).unwrap();
        late.lock(&|_| ()).unwrap();
        replace();
        assert!(late.append("{}").unwrap_err().to_string().contains("repeat the request"));
        std::fs::remove_file(&path).unwrap();
        assert!(late.lock(&|_| ()).is_err());
    }
}

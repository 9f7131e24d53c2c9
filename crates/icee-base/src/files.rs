//! Files that are written whole or not at all, and errors that name them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// Something that is wrong with a file or folder.
#[derive(Debug, Error)]
pub enum FileError {
    /// It could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Its content is not what it should be.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl FileError {
    /// Names the file that an error of the system belongs to.
    pub fn io(path: &Path) -> impl Fn(std::io::Error) -> FileError + '_ {
        move |source| FileError::Io { path: path.to_owned(), source }
    }

    /// The content of a file is not what it should be.
    pub fn content(path: &Path, problem: impl Into<String>) -> FileError {
        FileError::Content { path: path.to_owned(), problem: problem.into() }
    }
}

/// Writes a file beside its final name and renames it, so that a reader never sees half of one.
///
/// # Errors
/// Where it cannot be written; then the file is as it was.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&temporary, path)).map_err(|source| {
        // What is left of a failed write (a full disk, say) would only be in the way.
        let _ = fs::remove_file(&temporary);
        FileError::Io { path: path.to_owned(), source }
    })
}

/// Forces the name of a file to disk, where it was made, replaced or removed.
pub fn sync_folder(path: &Path) {
    // Not every system can open a folder; there the name is as safe as that system makes it.
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
}

/// Opens a file for reading, which must be a regular one: a device may have no end, and a pipe no beginning.
///
/// # Errors
/// Where it cannot be opened, or is something else.
pub fn open_regular(path: &Path) -> Result<File, FileError> {
    // Asked before it is opened, because opening a pipe waits, and opening a device may do something.
    let kind = fs::metadata(path).map_err(FileError::io(path))?;
    require_regular(path, &kind)?;
    let file = File::open(path).map_err(FileError::io(path))?;
    require_regular(path, &file.metadata().map_err(FileError::io(path))?)?;
    Ok(file)
}

/// Refuses what is no regular file.
///
/// # Errors
/// As it says.
pub fn require_regular(path: &Path, kind: &fs::Metadata) -> Result<(), FileError> {
    if kind.is_file() { Ok(()) } else { Err(FileError::content(path, "it is not a regular file")) }
}

/// The bytes of a regular file, or `None` where there are more than `most`; then hardly more than those are read.
///
/// # Errors
/// As [`open_regular`], and where it cannot be read.
pub fn read_regular(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FileError> {
    let mut file = open_regular(path)?;
    let size = file.metadata().map_err(FileError::io(path))?.len();
    if size > most {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    // Room at once; where there is none, reading says so.
    let _ = bytes.try_reserve_exact(usize::try_from(size).unwrap_or_default());
    // One more than there should be, for a file that grows.
    (&mut file).take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(FileError::io(path))?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// The folder a file lies in.
#[must_use]
pub fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_failure_names_it() {
        let folder = std::env::temp_dir().join(format!("icee-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let gone = folder.join("missing").join("a.txt");
        assert!(write_atomically(&gone, b"x").unwrap_err().to_string().contains("missing"));
        // A folder cannot be replaced by a file, and nothing is left beside it.
        let inner = folder.join("inner");
        fs::create_dir_all(inner.join("full")).unwrap();
        assert!(write_atomically(&inner, b"x").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_regular_files_are_read_and_no_more_of_them_than_wanted() {
        let folder = std::env::temp_dir().join(format!("icee-files-regular-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        fs::write(&path, b"four").unwrap();
        assert_eq!(read_regular(&path, 4).unwrap().unwrap(), b"four");
        assert_eq!(read_regular(&path, 3).unwrap(), None);
        assert!(read_regular(&folder, 9).unwrap_err().to_string().contains("not a regular file"));
        #[cfg(unix)]
        for endless in ["/dev/zero", "/dev/full"] {
            assert!(read_regular(Path::new(endless), 9).unwrap_err().to_string().contains("not a regular file"));
        }
        fs::remove_dir_all(folder).unwrap();
    }
}

//! Reads a run folder without training in it: whether a process trains there, and its metrics. It changes nothing.

use crate::Result;
use crate::folder::{CONFIG, INFO, LOCK, METRICS, stamp};
use icee_base::files::FileError;
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Whether a process trains in this folder; unknown on systems without locks.
#[must_use]
pub fn is_training(folder: &Path) -> bool {
    let held = |lock: File| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock));
    File::open(folder.join(LOCK)).is_ok_and(held)
}

/// Whether the folder looks like one of ours, be it whole or damaged.
#[must_use]
pub fn is_run(folder: &Path) -> bool {
    [CONFIG, INFO].iter().any(|file| folder.join(file).is_file())
}

/// The text of a run's settings.
///
/// # Errors
/// Where it cannot be read.
pub fn config_text(folder: &Path) -> Result<String> {
    let file = folder.join(CONFIG);
    Ok(fs::read_to_string(&file).map_err(FileError::io(&file))?)
}

/// When a run began, as `20260131-235959`, UTC: its name says so, else its oldest file.
#[must_use]
pub fn began(folder: &Path) -> Option<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let named = name.rsplit("__").next().and_then(|end| end.get(..15)).filter(|time| is_stamp(time));
    let seconds = || Some(changed(&folder.join(INFO))?.duration_since(UNIX_EPOCH).ok()?.as_secs());
    named.map(String::from).or_else(|| seconds().map(stamp))
}

/// From the beginning of a run to the last of its metrics, pauses included.
#[must_use]
pub fn span(folder: &Path) -> Option<Duration> {
    changed(&folder.join(METRICS))?.duration_since(changed(&folder.join(INFO))?).ok()
}

fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

fn is_stamp(text: &str) -> bool {
    let digit_or_dash = |(at, c): (usize, char)| if at == 8 { c == '-' } else { c.is_ascii_digit() };
    text.len() == 15 && text.chars().enumerate().all(digit_or_dash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunFolder;

    #[test]
    fn whoever_looks_sees_who_trains_and_is_in_nobodys_way() {
        let root = std::env::temp_dir().join(format!("icee-folder-look-{}", std::process::id()));
        let path = root.join("W__m__1__20260131-235959-2");
        fs::create_dir_all(&path).unwrap();
        assert!(is_stamp(&stamp(0)) && !is_stamp("20261231_235959") && !is_stamp("2026"));
        assert!(!is_training(&path) && !path.join(LOCK).exists(), "looking leaves nothing behind");
        assert_eq!(began(&path).as_deref(), Some("20260131-235959"));
        assert_eq!((began(&root), span(&root), is_run(&root)), (None, None, false));
        let folder = RunFolder::locked(path.clone()).unwrap();
        assert!(is_training(&path));
        drop(folder);
        assert!(!is_training(&path));
        // A look of a moment, at the very moment at which training begins.
        let look = File::open(path.join(LOCK)).unwrap();
        look.lock_shared().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                drop(look);
            });
            RunFolder::locked(path.clone()).unwrap();
        });
        fs::remove_dir_all(root).unwrap();
    }
}

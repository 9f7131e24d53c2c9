//! One folder a run: `runs/<world>__<method>__<seed>__<time>/` with the config, the metrics and the checkpoint.

use crate::device::Device;
use crate::{DataFile, Error, Problem, Result};
use icee_base::files::{FileError, write_atomically};
use icee_nn::checkpoint::TENSORS;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The state to resume from.
const STATE: &str = "training.safetensors";
/// The metrics of every step.
pub(crate) const METRICS: &str = "metrics.csv";
/// The lock file of training.
pub(crate) const LOCK: &str = "lock";
/// The origin of the run.
pub(crate) const INFO: &str = "run.json";
/// Every setting.
pub(crate) const CONFIG: &str = "config.toml";
/// How often a lock that is held is tried again, and after how long: readers hold it for a moment only.
const TRIES: (usize, Duration) = (3, Duration::from_millis(20));

/// A run's folder. As long as it lives, no other process can train in it.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The system releases the lock when the process ends, however it ends.
    _lock: Arc<File>,
}

/// The origin of the run, for repeating it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of this crate.
    pub icee: String,
    /// The device in words.
    pub device: String,
    /// Operating system and architecture.
    pub platform: String,
    /// The log that was learned from, if it was not a world: the whole path, so that it is found from any folder.
    pub logs: Option<PathBuf>,
    /// The log's checksum.
    pub logs_checksum: Option<String>,
    /// The command that made it, as typed.
    #[serde(default)]
    pub command: Option<String>,
}

impl RunInfo {
    /// The content of a run folder, also while a process trains there.
    ///
    /// # Errors
    /// If there is none, or it is damaged.
    pub fn read(folder: &Path) -> Result<RunInfo> {
        let file = folder.join(INFO);
        let text = fs::read_to_string(&file).map_err(FileError::io(&file))?;
        Ok(serde_json::from_str(&text).map_err(|e| FileError::content(&file, e.to_string()))?)
    }

    /// The origin of a run that begins here and now; `data` is [`Problem::data_file`].
    #[must_use]
    pub fn new(device: &Device, data: Option<&DataFile>) -> RunInfo {
        let whole = |data: &DataFile| std::path::absolute(&data.path).unwrap_or_else(|_| data.path.clone());
        RunInfo {
            icee: env!("CARGO_PKG_VERSION").into(),
            device: device.describe(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            logs: data.map(whole),
            logs_checksum: data.map(DataFile::checksum_text),
            command: None,
        }
    }
}

impl RunFolder {
    /// Makes a new folder under `root`, named after the run and the time, with the config and the run's origin in it.
    ///
    /// # Errors
    /// If it exists already, or cannot be written.
    pub fn create(root: &Path, problem: &dyn Problem, info: &RunInfo) -> Result<RunFolder> {
        if let Some(logs) = info.logs.as_ref().filter(|logs| logs.to_str().is_none()) {
            return Err(FileError::content(logs, "the path is not UTF-8 and cannot be written down; rename it").into());
        }
        let texts = [
            (CONFIG, problem.to_toml()?),
            (INFO, serde_json::to_string_pretty(info).map_err(|e| Error::Config(e.to_string()))?),
        ];
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let (name, method, seed) = (problem.name(), problem.method(), problem.seed());
        let name = format!("{name}__{method}__{seed}__{}", stamp(seconds));
        fs::create_dir_all(root).map_err(FileError::io(root))?;
        // A second run in the same second gets a number.
        let mut path = root.join(&name);
        let mut number = 1;
        while let Err(source) = fs::create_dir(&path) {
            if source.kind() != std::io::ErrorKind::AlreadyExists || number > 1000 {
                return Err(FileError::Io { path, source }.into());
            }
            number += 1;
            path = root.join(format!("{name}-{number}"));
        }
        let folder = RunFolder::locked(path)?;
        for (file, text) in texts {
            write_atomically(&folder.path.join(file), text.as_bytes())?;
        }
        Ok(folder)
    }

    /// An existing run.
    ///
    /// # Errors
    /// If there is no training state to resume from, or another process trains here.
    pub fn open(path: &Path) -> Result<RunFolder> {
        if !path.join(STATE).is_file() {
            let problem = format!("no {STATE} here; give the folder of a run that has saved at least once");
            return Err(FileError::content(path, problem).into());
        }
        let folder = RunFolder::locked(path.to_owned())?;
        folder.sweep();
        Ok(folder)
    }

    /// Deletes leftovers of a process that was killed while saving: files as large as the model, without their final
    /// names.
    fn sweep(&self) {
        let ours = [STATE, METRICS, TENSORS];
        let folders = [self.path.clone(), self.checkpoint()];
        for entry in folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".tmp") && ours.iter().any(|ours| name.starts_with(&format!("{ours}."))) {
                // Leftovers do no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    pub(crate) fn locked(path: PathBuf) -> Result<RunFolder> {
        let file = path.join(LOCK);
        let lock = OpenOptions::new().create(true).append(true).open(&file).map_err(FileError::io(&file))?;
        let mut taken = lock.try_lock();
        for _ in 1..TRIES.0 {
            if matches!(taken, Err(TryLockError::WouldBlock)) {
                std::thread::sleep(TRIES.1);
                taken = lock.try_lock();
            }
        }
        match taken {
            Ok(()) => {}
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(FileError::io(&file)(error).into()),
            Err(TryLockError::WouldBlock) => {
                let problem = "another training is at work in this folder; wait for it, or stop it (Ctrl-C saves)";
                return Err(FileError::content(&path, problem).into());
            }
        }
        Ok(RunFolder { path, _lock: Arc::new(lock) })
    }

    /// The origin of the run.
    ///
    /// # Errors
    /// If the file is missing or damaged.
    pub fn info(&self) -> Result<RunInfo> {
        RunInfo::read(&self.path)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The checkpoint to act with.
    #[must_use]
    pub fn checkpoint(&self) -> PathBuf {
        self.path.join("checkpoint")
    }

    /// The state to resume from.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.path.join(STATE)
    }

    /// The metrics of every step.
    #[must_use]
    pub fn metrics(&self) -> PathBuf {
        self.path.join(METRICS)
    }
}

/// Seconds since 1970 as `20260131-235959`, UTC.
pub(crate) fn stamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days from civil, turned around (Howard Hinnant's algorithm): eras of 400 years that begin on 1 March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}-{:02}{:02}{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_by_hand() {
        assert_eq!(stamp(0), "19700101-000000");
        assert_eq!(stamp(951_827_696), "20000229-123456");
        assert_eq!(stamp(1_798_761_599), "20261231-235959");
    }
}

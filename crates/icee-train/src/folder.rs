//! One folder a run: `runs/<world>__<method>__<seed>__<time>/` with the config, the metrics and the checkpoint.

use crate::device::Device;
use crate::{Error, Problem, Result};
use icee_base::files::FileError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A run's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

/// What made the run, for whoever wants to make it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of this crate.
    pub icee: String,
    /// The device in words.
    pub device: String,
    /// Operating system and architecture.
    pub platform: String,
    /// The log that was learned from, where it was not a world.
    pub logs: Option<PathBuf>,
    /// The command that made it, as typed.
    #[serde(default)]
    pub command: Option<String>,
}

impl RunInfo {
    /// What makes a run here and now.
    #[must_use]
    pub fn new(device: &Device, logs: Option<&Path>) -> RunInfo {
        RunInfo {
            icee: env!("CARGO_PKG_VERSION").into(),
            device: device.describe(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            logs: logs.map(Path::to_owned),
            command: None,
        }
    }
}

impl RunFolder {
    /// Makes a new folder under `root`, named after the run and the time, with the config and the run's origin in it.
    ///
    /// # Errors
    /// Where it exists already, or cannot be written.
    pub fn create(root: &Path, problem: &dyn Problem, info: &RunInfo) -> Result<RunFolder> {
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
        let write = |file: &str, text: String| {
            let file = path.join(file);
            fs::write(&file, text).map_err(FileError::io(&file))
        };
        write("config.toml", problem.to_toml()?)?;
        write("run.json", serde_json::to_string_pretty(info).map_err(|e| Error::Config(e.to_string()))?)?;
        Ok(RunFolder { path })
    }

    /// An existing run.
    ///
    /// # Errors
    /// Where there is no training state to go on from.
    pub fn open(path: &Path) -> Result<RunFolder> {
        let folder = RunFolder { path: path.to_owned() };
        if folder.state().is_file() {
            return Ok(folder);
        }
        let problem = "no training.safetensors here; give the folder of a run that has saved at least once";
        Err(FileError::content(path, problem).into())
    }

    /// What made the run.
    ///
    /// # Errors
    /// Where the file is missing or damaged.
    pub fn info(&self) -> Result<RunInfo> {
        let file = self.path.join("run.json");
        let text = fs::read_to_string(&file).map_err(FileError::io(&file))?;
        Ok(serde_json::from_str(&text).map_err(|e| FileError::content(&file, e.to_string()))?)
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

    /// The state to go on from.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.path.join("training.safetensors")
    }

    /// The metrics of every step.
    #[must_use]
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.csv")
    }
}

/// Seconds since 1970 as `20260131-235959`, UTC.
fn stamp(seconds: u64) -> String {
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

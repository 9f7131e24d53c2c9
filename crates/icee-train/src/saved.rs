//! Saved checkpoints: finds one in a folder, and writes new acting rules into its description.

use crate::Result;
use icee_base::files::{FileError, write_atomically};
use icee_nn::checkpoint;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The checkpoint folder that is meant: the newest one of a run, or the folder itself.
#[must_use]
pub fn checkpoint_in(folder: &Path) -> PathBuf {
    let inside = folder.join("checkpoint");
    if inside.join(checkpoint::CONFIG).is_file() { inside } else { folder.to_owned() }
}

/// Puts other acting rules into a checkpoint's description; the weights stay as they are.
///
/// # Errors
/// Where there is no checkpoint, or it cannot be written.
pub fn write_acting(folder: &Path, rules: &impl Serialize) -> Result<()> {
    let path = folder.join(checkpoint::CONFIG);
    let failed = |e: serde_json::Error| FileError::content(&path, e.to_string());
    let text = std::fs::read_to_string(&path).map_err(FileError::io(&path))?;
    let mut config: Value = serde_json::from_str(&text).map_err(failed)?;
    let Some(acting) = config.pointer_mut("/meta/config/acting") else {
        return Err(FileError::content(&path, "the description is not that of a model trained by icee").into());
    };
    *acting = serde_json::to_value(rules).map_err(failed)?;
    let text = serde_json::to_string_pretty(&config).map_err(failed)?;
    Ok(write_atomically(&path, format!("{text}\n").as_bytes())?)
}

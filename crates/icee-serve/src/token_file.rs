//! Tokens in a file beside the studies. It is read again whenever it has changed, so that a token that was revoked is
//! refused from the next request on.
//!
//! Beside it lies a file that is locked while tokens change. It is made with the first token and stays: if the file of
//! tokens is lost, or the last token was revoked, every request is refused, rather than let in.

use crate::locks;
use crate::store::Stamp;
use crate::tokens::{Kept, Token};
use icee_base::files::{FileError, folder_of, read_regular, sync_folder};
use icee_study::OrProblem;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes of the file, at most.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    tokens: Vec<Token>,
}

/// The file of tokens.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    lock: PathBuf,
    /// The content when it was last read, and the state of the file then.
    seen: Mutex<(Option<Stamp>, Vec<Token>)>,
}

impl TokenFile {
    /// The one of a folder of studies.
    pub fn in_folder(folder: &Path) -> TokenFile {
        TokenFile { path: folder.join("tokens.json"), lock: folder.join(".tokens.lock"), seen: Mutex::default() }
    }

    /// Changes the tokens under the lock, if the change asks for it; returns whether it has.
    fn change(&self, change: impl FnOnce(&mut Vec<Token>) -> bool) -> Result<bool, FileError> {
        let folder = folder_of(&self.path);
        std::fs::create_dir_all(&folder).map_err(FileError::io(&folder))?;
        // Held until this returns.
        let lock = locks::open(&self.lock)?;
        lock.lock().map_err(FileError::io(&self.lock))?;
        let mut tokens = read(&self.path)?;
        let changed = change(&mut tokens);
        if changed {
            self.write(tokens)?;
        }
        Ok(changed)
    }

    /// Writes the file anew, whole or not at all. Only under the lock.
    fn write(&self, tokens: Vec<Token>) -> Result<(), FileError> {
        let wrong = |error: serde_json::Error| FileError::content(&self.path, error.to_string());
        let text = serde_json::to_string_pretty(&Content { tokens }).map_err(wrong)? + "\n";
        let temporary = self.path.with_extension("json.tmp");
        // Left by a process that was killed.
        let _ = std::fs::remove_file(&temporary);
        let written = private(&temporary).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, &self.path)?;
            // A token that was revoked must not come back after a crash.
            sync_folder(&self.path);
            Ok(())
        });
        written.map_err(|source| {
            let _ = std::fs::remove_file(&temporary);
            FileError::Io { path: self.path.clone(), source }
        })
    }
}

impl Kept for TokenFile {
    fn all(&self) -> icee_protocol::Result<Vec<Token>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = Stamp::of(&self.path);
        if stamp.is_none() || stamp != seen.0 {
            *seen = (stamp, read(&self.path).or_problem()?);
        }
        Ok(seen.1.clone())
    }

    fn ever(&self) -> icee_protocol::Result<bool> {
        Ok(self.lock.exists() || self.path.exists())
    }

    fn add(&self, token: Token) -> icee_protocol::Result<bool> {
        let added = self.change(|tokens| {
            let is_new = tokens.iter().all(|known| known.name != token.name);
            tokens.extend(is_new.then_some(token));
            is_new
        });
        added.or_problem()
    }

    fn remove(&self, name: &str) -> icee_protocol::Result<()> {
        let removed = self.change(|tokens| {
            tokens.retain(|token| token.name != name);
            true
        });
        removed.map(drop).or_problem()
    }
}

/// A new file that other users cannot read. Checksums do not reveal tokens, but the names of their owners are private,
/// too.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn read(path: &Path) -> Result<Vec<Token>, FileError> {
    if !path.exists() {
        return Ok(vec![]);
    }
    let large = || FileError::content(path, "is too large to be a file of tokens");
    let bytes = read_regular(path, MOST_BYTES)?.ok_or_else(large)?;
    let content: Content = serde_json::from_slice(&bytes).map_err(|error| {
        FileError::content(
            path,
            format!("is not a file of tokens ({error}). Fix it, or remove it and create the tokens again."),
        )
    })?;
    Ok(content.tokens)
}

#[cfg(test)]
mod tests {
    use crate::tokens::Tokens;
    use icee_protocol::Role;

    #[test]
    fn who_changes_tokens_at_once_loses_none() {
        let folder = std::env::temp_dir().join(format!("icee-token-file-{}", std::process::id()));
        std::thread::scope(|scope| {
            for number in 0..16 {
                let folder = &folder;
                scope.spawn(move || {
                    let tokens = Tokens::in_folder(folder);
                    tokens.create(&format!("kept {number}"), Role::Read, 0).unwrap();
                    tokens.create(&format!("gone {number}"), Role::Read, 0).unwrap();
                    tokens.revoke(&format!("gone {number}")).unwrap();
                });
            }
        });
        let left = Tokens::in_folder(&folder).all().unwrap();
        assert!(left.len() == 16 && left.iter().all(|token| token.name.starts_with("kept")), "{left:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(folder.join("tokens.json")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn that_there_were_tokens_is_not_forgotten() {
        let folder = std::env::temp_dir().join(format!("icee-token-mark-{}", std::process::id()));
        let required = || Tokens::in_folder(&folder).are_required().unwrap();
        assert!(!required());
        Tokens::in_folder(&folder).create("ada", Role::Read, 0).unwrap();
        Tokens::in_folder(&folder).revoke("ada").unwrap();
        assert!(required(), "though the last one was revoked");
        std::fs::remove_file(folder.join("tokens.json")).unwrap();
        assert!(required(), "though the file is lost");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

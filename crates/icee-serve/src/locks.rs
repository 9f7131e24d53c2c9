//! Files that exist to be locked.

use icee_base::files::FileError;
use std::fs::{File, OpenOptions};
use std::path::Path;

/// Opens a lock file, and creates it if it is missing. Nothing is ever written to it, and a link is not followed: a
/// user who can put one into the folder must not be able to choose a file elsewhere.
///
/// # Errors
/// If it is a link, or cannot be opened.
pub fn open(path: &Path) -> Result<File, FileError> {
    if path.is_symlink() {
        return Err(FileError::content(path, "is a link to another file. Remove it."));
    }
    OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(FileError::io(path))
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = std::env::temp_dir().join(format!("icee-locks-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (link, elsewhere) = (folder.join("lock"), folder.join("elsewhere"));
        std::fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        assert!(super::open(&link).unwrap_err().to_string().contains("is a link"));
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "precious");
        std::fs::remove_file(&link).unwrap();
        super::open(&link).unwrap().try_lock().unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}

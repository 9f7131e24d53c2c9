//! Sheets that are no text become the table that the same cells would be as CSV, so that nothing behind it knows the difference.
//! What a file is, its first bytes say, not its name.

use crate::workbook::{MOST_UNPACKED, text_of};
use crate::{Error, Result};
use icee_base::files::{self, FileError, open_regular};
use icee_base::table::{Table, TableError};
use std::io::Read;
use std::path::Path;

/// Bytes of a workbook's file.
const MOST_BYTES: u64 = 256 << 20;
/// Bytes that tell a kind.
const BEGINNING: u64 = 4;

/// What a file is, if it is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A zip archive, as most sheets are.
    Archive,
    /// The file format of old Excel, and of files with a password.
    Compound,
    Parquet,
}

impl Kind {
    fn of(bytes: &[u8]) -> Option<Kind> {
        const ALL: [(&[u8], Kind); 3] =
            [(b"PK\x03\x04", Kind::Archive), (b"\xd0\xcf\x11\xe0", Kind::Compound), (b"PAR1", Kind::Parquet)];
        ALL.iter().find(|(beginning, _)| bytes.starts_with(beginning)).map(|(_, kind)| *kind)
    }
}

/// Whether bytes are a workbook's.
pub fn is_archive(bytes: &[u8]) -> bool {
    Kind::of(bytes) == Some(Kind::Archive)
}

/// Refuses a workbook that unpacks to more than this, or whose text is longer. Text is as long as it is.
///
/// # Errors
/// As it says, and where it is damaged.
pub fn check_unpacked(bytes: &[u8], most: u64) -> Result<()> {
    if is_archive(bytes) { text_of(Path::new("sheet"), bytes, most).map(drop) } else { Ok(()) }
}

/// The table in a regular file; `None` where it is text of more than `most` bytes.
///
/// # Errors
/// Where it cannot be read, or is no table.
pub fn read_regular(path: &Path, most: u64) -> Result<Option<Table>> {
    let mut beginning = Vec::new();
    open_regular(path)?.take(BEGINNING).read_to_end(&mut beginning).map_err(FileError::io(path))?;
    // A workbook's length says nothing about that of its text.
    let packed = Kind::of(&beginning).is_some();
    match files::read_regular(path, if packed { MOST_BYTES } else { most })? {
        Some(bytes) => table(path, bytes).map(Some),
        None if packed => Err(too_large(path)),
        None => Ok(None),
    }
}

/// The table in a file of results, which may also be a pipe.
///
/// # Errors
/// Where it cannot be read, or is no table.
pub fn read(path: &Path) -> Result<Table> {
    table(path, std::fs::read(path).map_err(TableError::io(path))?)
}

/// The table that some bytes are; `path` is for messages.
///
/// # Errors
/// Where they are none.
pub fn table(path: &Path, bytes: Vec<u8>) -> Result<Table> {
    match Kind::of(&bytes) {
        None => Ok(Table::of_bytes(path, bytes)?),
        Some(_) if bytes.len() as u64 > MOST_BYTES => Err(too_large(path)),
        Some(Kind::Archive) => {
            let (text, remarks) = text_of(path, &bytes, MOST_UNPACKED)?;
            Ok(Table::of_bytes(path, text.into_bytes())?.remarked(remarks))
        }
        Some(Kind::Compound) => Err(broken(
            path,
            "is an old Excel file (.xls), or one with a password; save it as .xlsx without a password, or as CSV",
        )),
        Some(Kind::Parquet) => {
            let way = "pd.read_parquet(FILE).to_csv(\"sheet.csv\", index=False)";
            Err(broken(path, format!("is a Parquet file; save it as CSV, with pandas for example: {way}")))
        }
    }
}

/// An error about a file.
pub fn broken(path: &Path, problem: impl Into<String>) -> Error {
    TableError::Content { path: path.to_owned(), problems: vec![problem.into()] }.into()
}

fn too_large(path: &Path) -> Error {
    broken(path, format!("is a workbook of more than {} MiB; save the sheet as CSV", MOST_BYTES >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn no_more_text_is_read_than_wanted_and_kinds_are_told_by_their_content() {
        let scratch = Scratch::new("formats");
        let path = scratch.file("pool.xlsx");
        std::fs::write(&path, "a\n1\n").unwrap();
        assert_eq!(read_regular(&path, 4).unwrap().unwrap().header(), ["a"]);
        assert!(read_regular(&path, 3).unwrap().is_none());
        // How long the text of a workbook is, its file does not say.
        std::fs::write(&path, b"PAR1\x15\x04PAR1").unwrap();
        assert!(read_regular(&path, 3).unwrap_err().to_string().contains("is a Parquet file; save it as CSV"));
        assert!(read(&scratch.file("gone.xlsx")).unwrap_err().to_string().contains("there is no file"));
    }
}

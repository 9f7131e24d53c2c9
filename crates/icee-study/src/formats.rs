//! Sheets that are no text become the table of the same cells as CSV, so that later steps see no difference. The first
//! bytes of a file say what it is, not its name.

use crate::error::{IntoProblem, OrProblem, Result, shown};
use crate::workbook::{MOST_UNPACKED, text_of};
use icee_base::files::{self, FileError};
use icee_base::table::{Table, TableError};
use icee_protocol::Problem;
use std::path::Path;

/// Bytes of a workbook's file.
const MOST_BYTES: u64 = 256 << 20;
/// Bytes of a text.
const MOST_TEXT: u64 = 1 << 30;

/// The format of a file that is no text.
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

/// Refuses a workbook that unpacks to more than this, or whose text is longer. Text is not limited here.
///
/// # Errors
/// If it is too large or damaged.
pub fn check_unpacked(bytes: &[u8], most: u64) -> Result<()> {
    if is_archive(bytes) { text_of(Path::new("sheet"), bytes, most).map(drop) } else { Ok(()) }
}

/// The bytes of a sheet's file. It is read several times, so it must be a regular file.
///
/// # Errors
/// Where it cannot be read, or is too large.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    match files::read_regular(path, MOST_TEXT) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(broken(path, format!("the file is larger than {} MiB.", MOST_TEXT >> 20))),
        Err(FileError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(Problem::FileMissing { path: shown(path) })
        }
        Err(error) => Err(error.into_problem()),
    }
}

/// The bytes of a file of results, which may also be a pipe.
///
/// # Errors
/// Where it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(TableError::io(path)).or_problem()
}

/// The table that some bytes are; `path` is for messages.
///
/// # Errors
/// Where they are none.
pub fn table(path: &Path, bytes: Vec<u8>) -> Result<Table> {
    match Kind::of(&bytes) {
        None => Table::of_bytes(path, bytes).or_problem(),
        Some(_) if bytes.len() as u64 > MOST_BYTES => Err(too_large(path)),
        Some(Kind::Archive) => {
            let (text, remarks) = text_of(path, &bytes, MOST_UNPACKED)?;
            Ok(Table::of_bytes(path, text.into_bytes()).or_problem()?.remarked(remarks))
        }
        Some(Kind::Compound) => Err(broken(
            path,
            "this is an old Excel file (.xls), or one with a password. Save it as .xlsx without a password, or as CSV.",
        )),
        Some(Kind::Parquet) => {
            let way = "pd.read_parquet(FILE).to_csv(\"sheet.csv\", index=False)";
            Err(broken(path, format!("this is a Parquet file. Save it as CSV, for example with pandas: {way}")))
        }
    }
}

/// An error about a file.
pub fn broken(path: &Path, problem: impl Into<String>) -> Problem {
    Problem::Table { file: shown(path), faults: vec![problem.into()] }
}

fn too_large(path: &Path) -> Problem {
    broken(path, format!("the workbook is larger than {} MiB. Save the sheet as CSV.", MOST_BYTES >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn kinds_are_told_by_their_content() {
        let scratch = Scratch::new("formats");
        let path = scratch.file("pool.xlsx");
        std::fs::write(&path, "a\n1\n").unwrap();
        assert_eq!(table(&path, read_bytes(&path).unwrap()).unwrap().header(), ["a"]);
        let parquet = table(&path, b"PAR1\x15\x04PAR1".to_vec()).unwrap_err().to_string();
        assert!(parquet.contains("this is a Parquet file. Save it as CSV"), "{parquet}");
        assert_eq!(read_bytes(&scratch.file("gone.xlsx")).unwrap_err().code(), "file-missing");
        assert_eq!(read(&scratch.file("gone.xlsx")).unwrap_err().code(), "file-missing");
    }
}

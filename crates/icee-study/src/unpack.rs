//! The unpacked size of a workbook's file, measured before anything of it is kept.

use crate::error::Result;
use crate::formats::broken;
use icee_protocol::Problem;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use zip::ZipArchive;

/// The name of merged cells in a sheet's file.
const MERGED: &str = "mergeCell";

/// A file that is not a whole workbook.
pub fn damaged(path: &Path, error: impl std::fmt::Display) -> Problem {
    broken(path, format!("the file cannot be read as a sheet ({error}). Save it again as .xlsx, or as CSV."))
}

/// Refuses an archive that is not a workbook of a supported kind, or unpacks to too much. The sizes that it claims
/// may be wrong, so it is unpacked and thrown away. Returns whether there may be merged cells.
pub fn measure(path: &Path, bytes: &[u8], most: u64) -> Result<bool> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(path, error))?;
    let has = |name: &str| archive.index_for_name(name).is_some();
    if has("xl/workbook.bin") || has("content.xml") {
        return Err(broken(path, "this kind of sheet is not read. Save it as .xlsx, or as CSV."));
    }
    let mut left = most;
    let mut merged = Search::default();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| damaged(path, error))?;
        let size = std::io::copy(&mut entry.take(left + 1), &mut merged).map_err(|error| damaged(path, error))?;
        left = left.checked_sub(size).ok_or_else(|| {
            broken(path, format!("the file unpacks to more than {} MiB. Save the sheet as CSV.", most >> 20))
        })?;
    }
    Ok(merged.found)
}

/// Looks for merged cells in a stream, piece by piece.
#[derive(Default)]
struct Search {
    /// The end of the pieces before, in which a word may begin.
    last: Vec<u8>,
    found: bool,
}

impl Write for Search {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        if !self.found {
            self.last.extend_from_slice(piece);
            self.found = String::from_utf8_lossy(&self.last).contains(MERGED);
            self.last.drain(..self.last.len().saturating_sub(MERGED.len() - 1));
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_in_pieces_is_found() {
        for at in 0..=14 {
            let mut search = Search::default();
            let (one, other) = b"<a><mergeCells>".split_at(at);
            [one, other].iter().for_each(|piece| search.write_all(piece).unwrap());
            assert!(search.found, "{at}");
        }
        let mut search = Search::default();
        search.write_all(b"<merge><Cells>").unwrap();
        assert!(!search.found);
    }
}

//! A CSV file with a header, as people have them.
//!
//! Accepted: UTF-8 with or without a byte order mark; commas, semicolons or tabs between the cells (whichever the header
//! has most of); lines that end in LF or CRLF; quoted cells, also with line breaks inside; empty lines, or with
//! separators alone, which do not count; a first line `sep=;`. In a file with semicolons a number may have a decimal comma. Every line must have as many cells as the header.

mod error;

pub use error::TableError;

use crate::hash::checksum;
use crate::names::nearest;
use csv::{ByteRecord, ReaderBuilder};
use error::{NAME, Problems, SHOWN, beginning, not_text};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Columns among which a mistyped name is looked for.
const SEARCHED: usize = 1_000;
/// Cells that mean "not known", in any case.
const MISSING: [&str; 6] = ["", "na", "n/a", "nan", "null", "none"];

type Result<T> = std::result::Result<T, TableError>;

/// The text of a CSV file and its header.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    text: String,
    delimiter: u8,
    header: Vec<String>,
    /// The first place of each name, and its repeats.
    places: HashMap<String, (usize, Option<usize>)>,
    /// Lines above the rows: the header and, in some files made for Excel, one that names the separator.
    above: usize,
    /// Remarks about how a file of another kind became this text.
    remarks: Vec<String>,
    /// Where each row begins; filled by the first scan.
    starts: Vec<u64>,
}

/// One row while a table is scanned.
pub struct Row<'a> {
    /// Its position, from zero.
    pub index: usize,
    /// Its line in the file, from one.
    pub line: usize,
    record: &'a ByteRecord,
}

impl Row<'_> {
    /// A cell without the blanks around it.
    pub fn cell(&self, column: usize) -> &str {
        // The whole text has been checked, and cells end at ASCII characters.
        self.record.get(column).and_then(|cell| std::str::from_utf8(cell).ok()).unwrap_or_default().trim()
    }
}

impl Table {
    /// Reads a file's text and header; its rows are checked by the first scan.
    ///
    /// # Errors
    /// Where it cannot be read, is not UTF-8, or has no header.
    pub fn read(path: &Path) -> Result<Table> {
        Table::of_bytes(path, std::fs::read(path).map_err(TableError::io(path))?)
    }

    /// The same for bytes in memory; `path` is for messages.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn of_bytes(path: &Path, mut bytes: Vec<u8>) -> Result<Table> {
        if bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        let text = String::from_utf8(bytes).map_err(|error| not_text(path, &error))?;
        let first = text.lines().find(|line| !line.trim().is_empty());
        let separator = first.and_then(separator_of);
        let delimiter = separator.or_else(|| first.map(delimiter_of)).unwrap_or(b',');
        let above = 1 + usize::from(separator.is_some());
        let mut table = Table {
            path: path.to_owned(),
            text,
            delimiter,
            header: vec![],
            places: HashMap::new(),
            above,
            remarks: vec![],
            starts: vec![],
        };
        let mut record = ByteRecord::new();
        // A record is read even where the quotes are in disorder; the count of cells will show it.
        let mut reader = table.reader(table.text.as_bytes());
        let found = (0..above).all(|_| reader.read_byte_record(&mut record).unwrap_or(false));
        if !found {
            return Err(table.broken(vec!["the file is empty. The first line must name the columns.".into()]));
        }
        let header = Row { index: 0, line: 1, record: &record };
        table.header = (0..record.len()).map(|column| header.cell(column).to_owned()).collect();
        for (place, name) in table.header.iter().enumerate() {
            let known = table.places.entry(name.clone());
            known.and_modify(|(_, second)| *second = second.or(Some(place))).or_insert((place, None));
        }
        Ok(table)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The columns' names.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The same table with remarks.
    #[must_use]
    pub fn remarked(self, remarks: Vec<String>) -> Table {
        Table { remarks, ..self }
    }

    /// Notes for readers: the remarks, and whether the first line does not look like names.
    pub fn doubts(&self) -> Vec<String> {
        self.remarks.iter().cloned().chain(self.no_names()).collect()
    }

    /// Why the first line does not look like the names of columns: a title stands above them, or they are missing.
    fn no_names(&self) -> Option<String> {
        let mut named = self.header.iter().filter(|name| !name.is_empty());
        match (named.next(), named.next()) {
            // A column of numbers without a name, as pandas writes one, does not mean a title.
            (Some(title), None) if self.widest_beginning() > self.header.len().min(2) => {
                let title = beginning(title);
                Some(format!(
                    "\"{title}\" in the first line looks like a title. Delete the lines above the column names."
                ))
            }
            (Some(first), _) if self.header.iter().all(|name| name.is_empty() || self.number(name).is_some()) => {
                Some(format!(
                    "The first line (\"{}\", …) looks like a row. Add a line above it that names the columns.",
                    beginning(first)
                ))
            }
            _ => None,
        }
    }

    /// The most cells of the first few lines below the header, whatever separates them, that are not empty.
    fn widest_beginning(&self) -> usize {
        let lines = self.text.lines().filter(|line| !line.trim().is_empty()).skip(self.above).take(SHOWN);
        let filled = |line: &str, by: char| line.split(by).filter(|cell| !cell.trim().is_empty()).count();
        lines.flat_map(|line| [',', ';', '\t'].map(|by| filled(line, by))).max().unwrap_or_default()
    }

    /// A checksum of the text.
    pub fn fingerprint(&self) -> u64 {
        checksum(0, self.text.as_bytes())
    }

    /// The length of the text in bytes, without a byte order mark.
    pub fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// The number of rows; known after a scan.
    pub fn rows(&self) -> usize {
        self.starts.len()
    }

    /// The position of a column.
    ///
    /// # Errors
    /// Where there is none of that name, or more than one.
    pub fn column(&self, name: &str) -> Result<usize> {
        match self.places.get(name).copied() {
            Some((place, None)) => Ok(place),
            Some((first, Some(second))) => Err(self.broken(vec![format!(
                "line 1: columns {} and {} are both named \"{name}\". Rename one of them.",
                first + 1,
                second + 1
            )])),
            None => {
                let known = self.header.iter().filter(|name| !name.is_empty());
                let more = known.clone().count().saturating_sub(SHOWN);
                let mut shown: Vec<String> = known.take(SHOWN).map(|name| beginning(name)).collect();
                shown.extend((more > 0).then(|| format!("and {more} more")));
                // The work grows with the square of the length.
                let short: Vec<&String> = self.header.iter().take(SEARCHED).filter(|name| name.len() <= NAME).collect();
                let near = if name.len() <= NAME { nearest(name, &short) } else { vec![] };
                // One letter is near any other.
                let near = near.first().filter(|near| name.chars().count() > 2 || near.eq_ignore_ascii_case(name));
                let near = near.map_or_else(String::new, |near| format!("Did you mean \"{near}\"? "));
                let there = format!("{near}Columns: {}.", shown.join(", "));
                let mut problems = vec![format!("line 1: no column \"{}\". {there}", beginning(name))];
                // The column may be in a part that was not read.
                problems.extend(self.doubts());
                Err(self.broken(problems))
            }
        }
    }

    /// Whether a number may have a decimal comma.
    pub fn has_decimal_commas(&self) -> bool {
        self.delimiter == b';'
    }

    /// A cell's number, if it is one: finite, in the file's notation.
    pub fn number(&self, cell: &str) -> Option<f64> {
        let parsed = match cell.parse::<f64>() {
            Err(_) if self.has_decimal_commas() && cell.matches(',').count() == 1 => cell.replace(',', ".").parse(),
            parsed => parsed,
        };
        parsed.ok().filter(|number| number.is_finite())
    }

    /// Visits every row in order. `visit` returns what is wrong with a row, without naming the line.
    ///
    /// # Errors
    /// With every broken line: too few or too many cells, or whatever `visit` has found.
    pub fn scan(&mut self, mut visit: impl FnMut(&Table, &Row<'_>) -> std::result::Result<(), String>) -> Result<()> {
        let mut starts = Vec::new();
        let mut problems = Problems::default();
        let mut reader = self.reader(self.text.as_bytes());
        let mut record = ByteRecord::new();
        let mut above = self.above;
        let mut line = LineCount { number: 1, counted: 0 };
        let width = self.header.len();
        loop {
            match reader.read_byte_record(&mut record) {
                Ok(true) if above > 0 => above -= 1,
                // Spreadsheets leave lines of separators alone behind.
                Ok(true) if width > 1 && record.iter().all(|cell| cell.trim_ascii().is_empty()) => {}
                Ok(true) => {
                    let start = record.position().map_or(0, csv::Position::byte);
                    let index = starts.len();
                    starts.push(start);
                    line.advance(self.text.as_bytes(), start);
                    let row = Row { index, line: line.number, record: &record };
                    let problem =
                        if record.len() == width { visit(self, &row) } else { Err(miscounted(record.len(), width)) };
                    if let Err(text) = problem {
                        problems.note(line.number, text);
                    }
                }
                Ok(false) => break,
                Err(error) => return Err(self.broken(vec![error.to_string()])),
            }
        }
        let last = starts.last().copied().unwrap_or_default();
        if ends_within_quotes(self.text.get(last as usize..).unwrap_or_default(), self.delimiter) {
            let text = "this row opens a quote and never closes it. Close it, or delete it.".into();
            problems.note(line.number, text);
        }
        let mut problems = problems.said();
        if !problems.is_empty() {
            problems.extend(self.no_names());
            return Err(self.broken(problems));
        }
        self.starts = starts;
        Ok(())
    }

    /// All cells of one row.
    pub fn cells(&self, index: usize) -> Vec<String> {
        let mut record = ByteRecord::new();
        let place = |index: usize| self.starts.get(index).and_then(|&start| usize::try_from(start).ok());
        let bytes = self.text.as_bytes();
        // From the end of the line above, so that a byte order mark in the first cell is not taken for a file's; to where the next
        // row begins, because a reader takes in more than it is asked for.
        let start = place(index).unwrap_or_default().saturating_sub(1);
        let row = bytes.get(start..place(index + 1).unwrap_or(bytes.len())).unwrap_or_default();
        // The row has been read before.
        let _ = self.reader(row).read_byte_record(&mut record);
        let row = Row { index, line: 0, record: &record };
        (0..self.header.len()).map(|column| row.cell(column).to_owned()).collect()
    }

    /// An error about the file.
    pub fn broken(&self, problems: Vec<String>) -> TableError {
        TableError::Content { path: self.path.clone(), problems }
    }

    fn reader<'a>(&self, bytes: &'a [u8]) -> csv::Reader<&'a [u8]> {
        ReaderBuilder::new()
            .delimiter(self.delimiter)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(bytes.len().clamp(1, 1 << 16))
            .from_reader(bytes)
    }
}

/// The line of a place in a text, for places that come in order.
struct LineCount {
    number: usize,
    counted: usize,
}

impl LineCount {
    /// Goes on to the row that begins at a byte; the reader takes empty lines before a row for a part of it.
    fn advance(&mut self, bytes: &[u8], start: u64) {
        let start = usize::try_from(start).unwrap_or(usize::MAX).clamp(self.counted, bytes.len());
        let blank = bytes[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let passed = &bytes[self.counted..start + blank];
        self.number += passed.iter().filter(|&&byte| byte == b'\n').count();
        self.counted = start + blank;
    }
}

/// Said of a row that has not as many cells as the header.
fn miscounted(cells: usize, width: usize) -> String {
    let plural = if cells == 1 { "" } else { "s" };
    format!("{cells} cell{plural}, but the header has {width}. Check separators and quotes.")
}

/// Whether a cell says that its value is not known.
pub fn is_missing(cell: &str) -> bool {
    cell.is_empty() || MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// The separator that a first line such as `sep=;` names, which Excel writes and reads.
fn separator_of(line: &str) -> Option<u8> {
    match line.trim().to_ascii_lowercase().strip_prefix("sep=")?.as_bytes() {
        [separator @ (b',' | b';' | b'\t')] => Some(*separator),
        // The tab has been trimmed away.
        [] => Some(b'\t'),
        _ => None,
    }
}

/// The separator that a header has most of, outside quotes; a comma where it has none.
fn delimiter_of(header: &str) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    let mut quoted = false;
    for byte in header.bytes() {
        quoted ^= byte == b'"';
        if let Some((_, count)) = counts.iter_mut().find(|(delimiter, _)| !quoted && *delimiter == byte) {
            *count += 1;
        }
    }
    counts.into_iter().rev().max_by_key(|&(_, count)| count).map_or(b',', |(delimiter, _)| delimiter)
}

/// Whether a file's last row ends inside a quoted cell: then it has swallowed all lines after the quote.
fn ends_within_quotes(row: &str, delimiter: u8) -> bool {
    let (mut quoted, mut fresh) = (false, true);
    for byte in row.bytes() {
        let before = quoted;
        quoted ^= byte == b'"' && (quoted || fresh);
        // A cell begins; or a quote has closed, which a second one right after it undoes.
        fresh = !quoted && (byte == delimiter || matches!(byte, b'\n' | b'\r') || (before && byte == b'"'));
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<(Table, Vec<Vec<String>>)> {
        let mut table = Table::of_bytes(Path::new("pool.csv"), bytes.to_vec())?;
        let width = table.header().len();
        let mut rows = Vec::new();
        table.scan(|_, row| {
            rows.push((0..width).map(|column| row.cell(column).to_owned()).collect());
            Ok(())
        })?;
        Ok((table, rows))
    }

    #[test]
    fn the_ways_of_writing_a_table_are_understood() {
        for text in [
            "a,b\n1.5,x y\n2,\"z\"\n",
            "\u{feff}a,b\r\n1.5,x y\r\n2,z\r\n",
            "a;b\n1,5;x y\n2;z",
            "a\tb\n1.5\tx y\n2\tz\n",
            "\n a , \"b\"\n\n1.5, x y\n\n\n2,z\n\n",
            "sep=;\r\na;b\r\n1,5;x y\r\n2;z\r\n",
            "SEP=,\na,b\n1.5,x y\n2,z\n",
            "sep=\t\na\tb\n1.5\tx y\n2\tz\n",
            "a;b\n;\n1,5;x y\n; \n2;z\n;;;\n",
        ] {
            let (table, rows) = read(text.as_bytes()).unwrap();
            assert_eq!(table.header()[0], "a", "{text:?}");
            assert_eq!(table.number(&rows[0][0]), Some(1.5), "{text:?}");
            assert_eq!((rows[0][1].as_str(), rows[1][1].as_str()), ("x y", "z"), "{text:?}");
            assert_eq!(table.cells(1), rows[1], "{text:?}");
        }
        let (_, rows) = read(b"a,\"b;;;\"\n\"1,2\",\"line\nbreak \"\"q\"\"\"\n").unwrap();
        assert_eq!(rows, [["1,2", "line\nbreak \"q\""]]);
        // A mark where no file begins is a part of the cell, however the row is read.
        let (table, rows) = read("a,b\r\n\u{feff}x,1\n\n\u{feff}y,2\n".as_bytes()).unwrap();
        assert_eq!([table.cells(0), table.cells(1)], [["\u{feff}x", "1"], ["\u{feff}y", "2"]]);
        assert_eq!(rows, [["\u{feff}x", "1"], ["\u{feff}y", "2"]]);
    }

    #[test]
    fn numbers_are_finite_and_gaps_have_many_names() {
        let table = Table::of_bytes(Path::new("pool.csv"), b"a,b\n".to_vec()).unwrap();
        for (cell, number) in [("-1e3", Some(-1000.0)), ("+.5", Some(0.5)), ("inf", None), ("NaN", None), ("1,5", None)]
        {
            assert_eq!(table.number(cell), number, "{cell}");
        }
        assert!(["", "NA", "n/a", "nan", "None"].into_iter().all(is_missing) && !is_missing("0"));
    }

    #[test]
    fn broken_files_are_answered_with_line_and_column() {
        for (bytes, said) in [
            (&b""[..], "pool.csv: the file is empty"),
            (
                b"a,b\n1,2\n1\n\n1,2,3\n",
                "line 3: 1 cell, but the header has 2. Check separators and quotes.\n  line 5: 3 cells, but",
            ),
            (b"a,b\n1,2\n1,\"2\n3,4\n5,6\n", "line 3: this row opens a quote and never closes it."),
            (b"a,\"b\n1,2\n", "line 1: this row opens a quote"),
            (
                b"a,b\n1\n1,2,3\n2\n3\n",
                "lines 2, 4, 5: 1 cell, but the header has 2. Check separators and quotes.\n  line 3: 3 cells, but",
            ),
            (b"a,b\n1,2\n1,\xe9\n", "line 3, column 2: not UTF-8 text"),
            (b"\xff\xfea\0", "it is UTF-16"),
        ] {
            let found = read(bytes).unwrap_err().to_string();
            assert!(found.contains(said), "{found}");
        }
        let (table, _) = read(b"a,a,b\n1,2,3\n").unwrap();
        assert!(table.column("B").unwrap_err().to_string().contains("no column \"B\". Did you mean \"b\"? Columns:"));
        assert!(table.column("a").unwrap_err().to_string().contains("columns 1 and 2 are both named"));
        assert!(table.column("c").unwrap_err().to_string().contains("no column \"c\". Columns: a, a, b."));
    }

    #[test]
    fn a_first_line_that_names_nothing_is_pointed_out() {
        for (text, said) in [
            ("Bread trial\n\nflour,heat\na,1\n", "\"Bread trial\" in the first line looks like a title"),
            ("Bread trial;;\n;;\nflour;heat;score\na;1;2\n", "\"Bread trial\" in the first line looks like a title"),
            ("1.5,200\n2.5,210\n", "The first line (\"1.5\", …) looks like a row"),
        ] {
            let table = Table::of_bytes(Path::new("pool.csv"), text.into()).unwrap();
            assert!(table.doubts()[0].contains(said), "{:?}", table.doubts());
            assert!(table.column("score").unwrap_err().to_string().contains(said));
        }
        for text in ["heat\n1\n", ",smiles\n0,CCO\n", "400 nm,500 nm\n1,2\n", "a,b\n1,2\n", "a\n"] {
            let table = Table::of_bytes(Path::new("pool.csv"), text.into()).unwrap();
            assert!(table.doubts().is_empty(), "{text}");
        }
        let error = read(b"Bread trial\nflour,heat\na,1\n").unwrap_err().to_string();
        assert!(error.contains("lines 2, 3: 2 cells, but") && error.contains("looks like a title"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(prop::sample::select(b"a1,;\t\"\r\n\xc3\xa9 .\xef\xbb\xbf".to_vec()), 0..60)) {
            if let Ok((table, rows)) = read(&bytes) {
                for (index, row) in rows.iter().enumerate() {
                    prop_assert_eq!(&table.cells(index), row);
                }
            }
        }
    }
}

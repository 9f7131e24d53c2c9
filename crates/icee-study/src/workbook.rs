//! Workbooks, `.xlsx` and `.xlsm`, as CSV.
//!
//! - The first visible sheet with cells is read. Line 7 of the text is row 7 of the sheet: rows without cells
//!   are empty lines, line breaks inside of cells are blanks. Rows and columns around the cells are left out.
//! - Numbers are written so that they read the same. Dates are text, 2024-05-31; formulas are read as their
//!   results. The content of merged cells is in each of their rows.
//! - A file may claim anything: cells are read one after the other and counted, and the unpacked size is measured
//!   before anything is kept of it.

use crate::error::{OrProblem, Result};
use crate::formats::broken;
use crate::grid::{Grid, name_of};
use crate::unpack::{damaged, measure};
use calamine::{DataRef, ExcelDateTime, Reader, SheetType, SheetVisible, Xlsx};
use icee_base::table::TableError;
use std::io::Cursor;
use std::path::Path;

/// The default limit of the bytes that a file unpacks to, and of its text.
pub const MOST_UNPACKED: u64 = 1 << 30;
/// Cells with errors that are shown.
const SHOWN: usize = 20;
/// Sheets that are named.
const NAMED: usize = 3;

/// The first sheet with cells of a workbook, as CSV, and the notes about how it was read.
///
/// # Errors
/// Where it is damaged, too large, or has errors in its cells.
pub fn text_of(path: &Path, bytes: &[u8], most: u64) -> Result<(String, Vec<String>)> {
    let has_merged = measure(path, bytes, most)?;
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(|error| damaged(path, error))?;
    let seen = |sheet: &&calamine::Sheet| sheet.typ == SheetType::WorkSheet && sheet.visible == SheetVisible::Visible;
    let sheets: Vec<String> = book.sheets_metadata().iter().filter(seen).map(|sheet| sheet.name.clone()).collect();
    for (at, sheet) in sheets.iter().enumerate() {
        // Merged cells are listed after the others: to know them, a sheet is read twice.
        let merged = if has_merged { book.merge_cells_by_sheet_name(sheet) } else { Ok(vec![]) };
        let merged = merged.map_err(|error| damaged(path, error))?;
        let mut grid = Grid::new(most, merged.iter().map(|region| [region.start, region.end]));
        let mut problems = Vec::new();
        let mut unsaved = Unsaved::default();
        let mut cells = book.worksheet_cells_reader(sheet).map_err(|error| damaged(path, error))?;
        while let Some(cell) = cells.next_cell_with_formula_metadata().map_err(|error| damaged(path, error))? {
            let (row, column) = cell.pos;
            unsaved.see(cell.formula.is_some() && cell.value == DataRef::Empty, row, column);
            match text_of_cell(&cell.value) {
                Ok(text) => grid.push(row, column, &text).map_err(|problem| {
                    broken(path, format!("cell {} of sheet \"{sheet}\" {problem}", name_of(row, column)))
                })?,
                Err(problem) if problems.len() < SHOWN => problems.push(format!(
                    "cell {} of sheet \"{sheet}\" has an error ({problem}). Correct it, or leave the cell empty.",
                    name_of(row, column)
                )),
                Err(_) => {}
            }
        }
        if !problems.is_empty() {
            return Err(TableError::Content { path: path.to_owned(), problems }).or_problem();
        }
        if !grid.is_empty() {
            let large = || broken(path, format!("sheet \"{sheet}\" is too large. Save it as CSV."));
            let (text, filled) = grid.finish().ok_or_else(large)?;
            drop(cells);
            let unread: Vec<&String> = sheets[at + 1..].iter().filter(|sheet| has_cells(&mut book, sheet)).collect();
            let remarks = [others(sheet, &unread), filled, unsaved.said()].into_iter().flatten().collect();
            return Ok((text, remarks));
        }
    }
    Err(broken(path, "the workbook has no sheet with cells. The first row must name the columns."))
}

/// The note about other sheets of a workbook that have cells, too.
fn others(read: &str, unread: &[&String]) -> Option<String> {
    let mut named: Vec<String> = unread.iter().take(NAMED).map(|name| format!("\"{name}\"")).collect();
    named.extend((unread.len() > NAMED).then(|| format!("{} more", unread.len() - NAMED)));
    (!named.is_empty()).then(|| {
        format!(
            "Only the sheet \"{read}\" of the workbook is read, not {}. To use another one, move it to the front.",
            named.join(", ")
        )
    })
}

/// Formulas whose results were not saved: programs that make workbooks leave them to Excel.
#[derive(Default)]
struct Unsaved {
    first: Option<String>,
    count: usize,
}

impl Unsaved {
    fn see(&mut self, unsaved: bool, row: u32, column: u32) {
        if unsaved {
            self.count += 1;
            self.first.get_or_insert_with(|| name_of(row, column));
        }
    }

    fn said(self) -> Option<String> {
        let more = if self.count > 1 { format!(" (and {} more)", self.count - 1) } else { String::new() };
        self.first.map(|first| {
            format!(
                "Cell {first}{more} has a formula without a result and is read as empty. Open the workbook in Excel or LibreOffice and save it there."
            )
        })
    }
}

/// Whether a sheet has content. One that cannot be read does not matter to readers of another.
fn has_cells(book: &mut Xlsx<Cursor<&[u8]>>, sheet: &str) -> bool {
    let Ok(mut cells) = book.worksheet_cells_reader(sheet) else { return false };
    while let Ok(Some(cell)) = cells.next_cell() {
        if text_of_cell(cell.get_value()).is_ok_and(|text| !text.trim().is_empty()) {
            return true;
        }
    }
    false
}

/// A cell as text, or its error.
fn text_of_cell(cell: &DataRef<'_>) -> std::result::Result<String, String> {
    Ok(match cell {
        DataRef::Empty => String::new(),
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => text_of_number(*number),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(truth) => if *truth { "TRUE" } else { "FALSE" }.to_owned(),
        DataRef::DateTime(date) => text_of_date(date),
        DataRef::Error(error) => return Err(error.to_string()),
    })
}

/// A number that reads back as itself, without the hundreds of digits that some would have.
fn text_of_number(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-5..1e17).contains(&size) { number.to_string() } else { format!("{number:e}") }
}

/// A date, a time of the day, or both.
fn text_of_date(date: &ExcelDateTime) -> String {
    const SECONDS: f64 = 86_400.0;
    let days = date.as_f64();
    if date.is_duration() || !(0.0..3e6).contains(&days) {
        let seconds = (days * SECONDS).round();
        if !(0.0..1e12).contains(&seconds) {
            return text_of_number(days);
        }
        let seconds = seconds as u64;
        return format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, milli) = date.to_ymd_hms_milli();
    let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    let time = format!("{hour:02}:{minute:02}:{second:02}{fraction}");
    match (days < 1.0, days.fract() == 0.0) {
        (true, false) => time,
        (_, true) => format!("{year:04}-{month:02}-{day:02}"),
        (false, false) => format!("{year:04}-{month:02}-{day:02}T{time}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{Column, Encoder};
    use crate::formats::{check_unpacked, table};
    use crate::survey::survey;
    use proptest::prelude::*;
    use rust_xlsxwriter::{ExcelDateTime, Format, Workbook};
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    /// The header, and each row with its line.
    type Content = (Vec<String>, Vec<(usize, Vec<String>)>);

    fn rows(bytes: &[u8]) -> Result<Content> {
        let mut table = table(Path::new("pool.xlsx"), bytes.to_vec())?;
        let width = table.header().len();
        let mut rows = Vec::new();
        let scanned = table.scan(|_, row| {
            rows.push((row.line, (0..width).map(|column| row.cell(column).to_owned()).collect()));
            Ok(())
        });
        scanned.or_problem()?;
        Ok((table.header().to_vec(), rows))
    }

    /// An archive of these files.
    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// A workbook whose only sheet is written by hand.
    fn book(data: &str) -> Vec<u8> {
        let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
        let sheet = format!("<worksheet><sheetData>{data}</sheetData></worksheet>");
        archive(&[
            (
                "_rels/.rels",
                &format!(
                    "<Relationships><Relationship Id=\"a\" Type=\"{relations}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
                ),
            ),
            (
                "xl/_rels/workbook.xml.rels",
                &format!(
                    "<Relationships><Relationship Id=\"b\" Type=\"{relations}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
                ),
            ),
            (
                "xl/workbook.xml",
                &format!(
                    "<workbook xmlns:r=\"{relations}\"><sheets><sheet name=\"Data\" sheetId=\"1\" r:id=\"b\"/></sheets></workbook>"
                ),
            ),
            ("xl/worksheets/sheet1.xml", &sheet),
        ])
    }

    /// A typical workbook: an empty sheet, and a table that begins in B3.
    fn usual() -> Vec<u8> {
        let mut book = Workbook::new();
        book.add_worksheet();
        let sheet = book.add_worksheet();
        let day = Format::new().set_num_format("yyyy-mm-dd");
        let minute = Format::new().set_num_format("yyyy-mm-dd hh:mm");
        for (column, name) in [(1, "heat"), (2, "the \"kind\""), (3, "day"), (4, "fresh")] {
            sheet.write(2, column, name).unwrap();
        }
        sheet.write(3, 1, 0.1 + 0.2).unwrap();
        sheet.write(3, 2, "a, b\nc").unwrap();
        sheet.write_with_format(3, 3, ExcelDateTime::from_ymd(2024, 5, 31).unwrap(), &day).unwrap();
        sheet.write(3, 4, true).unwrap();
        // An empty row, and one with empty cells.
        sheet.write(5, 1, 1e300).unwrap();
        let time = ExcelDateTime::from_ymd(2024, 5, 31).unwrap().and_hms(13, 30, 0).unwrap();
        sheet.write_with_format(5, 3, &time, &minute).unwrap();
        sheet.write_blank(9, 9, &day).unwrap();
        book.save_to_buffer().unwrap()
    }

    #[test]
    fn sheets_that_are_not_read_are_named() {
        let mut book = Workbook::new();
        for (name, cell) in [("Recipes", "flour"), ("Empty", " "), ("Notes", "ask Ada")] {
            book.add_worksheet().set_name(name).unwrap().write(0, 0, cell).unwrap();
        }
        let read = |bytes| table(Path::new("pool.xlsx"), bytes).unwrap();
        let recipes = read(book.save_to_buffer().unwrap());
        assert_eq!(recipes.header(), ["flour"]);
        assert!(recipes.doubts()[0].starts_with("Only the sheet \"Recipes\" of the workbook is read, not \"Notes\"."));
        // The remark also helps if the missing column is in another sheet.
        let missing = recipes.column("score").unwrap_err().to_string();
        assert!(
            missing.contains("\"Recipes\" of the workbook is read, not \"Notes\". To use another one"),
            "{missing}"
        );
        assert!(read(usual()).doubts().is_empty());
    }

    #[test]
    fn a_workbook_is_the_table_in_it() {
        let (header, rows) = rows(&usual()).unwrap();
        assert_eq!(header, ["heat", "the \"kind\"", "day", "fresh"]);
        // Lines are the sheet's rows.
        let first = ["0.30000000000000004", "a, b c", "2024-05-31", "TRUE"].map(String::from);
        let second = ["1e300", "", "2024-05-31T13:30:00", ""].map(String::from);
        assert_eq!(rows, [(4, first.to_vec()), (6, second.to_vec())]);
    }

    #[test]
    fn what_stands_in_merged_cells_stands_in_each_of_their_rows() {
        let mut book = Workbook::new();
        let (sheet, plain) = (book.add_worksheet(), Format::new());
        // Merged names are names, and a row without other content does not count.
        sheet.merge_range(0, 0, 1, 0, "flour", &plain).unwrap();
        sheet.write(0, 1, "heat").unwrap();
        sheet.merge_range(2, 0, 5, 0, "rye, \"dark\"", &plain).unwrap();
        sheet.merge_range(6, 0, 7, 0, "oat", &plain).unwrap();
        sheet.merge_range(3, 2, 6, 3, "wet", &plain).unwrap();
        for (row, heat) in [(2, 180), (3, 200), (5, 220), (6, 240), (8, 260)] {
            sheet.write(row, 1, heat).unwrap();
        }
        sheet.write(0, 2, "dough").unwrap();
        let bytes = book.save_to_buffer().unwrap();
        let cells = |line, cells: [&str; 3]| (line, cells.map(String::from).to_vec());
        let expected = [
            cells(3, ["rye, \"dark\"", "180", ""]),
            cells(4, ["rye, \"dark\"", "200", "wet"]),
            cells(6, ["rye, \"dark\"", "220", "wet"]),
            cells(7, ["oat", "240", "wet"]),
            cells(9, ["", "260", ""]),
        ];
        assert_eq!(rows(&bytes).unwrap().1, expected);
        let doubts = table(Path::new("pool.xlsx"), bytes).unwrap().doubts();
        assert_eq!(doubts, ["The content of merged cells (A3:A6 and 1 more) is read in each of their rows."]);
    }

    #[test]
    fn merged_cells_are_survived() {
        let merged = |regions: &str| {
            let cells = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"2\"><c r=\"A2\"><v>2</v></c></row>\
                         <row r=\"4\"><c r=\"B4\"><v>3</v></c></row>";
            book(&format!("{cells}</sheetData><mergeCells>{regions}</mergeCells><sheetData>"))
        };
        let region = |region: &str| format!("<mergeCell ref=\"{region}\"></mergeCell>");
        let whole = rows(&merged(&region("A2:XFD1048576"))).unwrap();
        assert_eq!(whole.1.iter().map(|row| row.1.join(" ")).collect::<Vec<_>>(), ["2 ", "2 3"]);
        for hostile in ["A4:A2", "A2:A99999999999", "B9:C99", "", "A2:A3:A4", "2:3"] {
            let _ = rows(&merged(&region(hostile)));
        }
        let many: String = (0..1000).map(|_| region("A2:A1048576")).collect();
        assert_eq!(rows(&merged(&many)).unwrap().1.len(), 2);
    }

    #[test]
    fn formulas_without_results_are_pointed_out() {
        let cells = "<row r=\"1\"><c r=\"A1\" t=\"str\"><v>a</v></c><c r=\"B1\" t=\"str\"><v>b</v></c></row>\
                     <row r=\"2\"><c r=\"A2\"><v>1</v></c><c r=\"B2\"><f>A2*2</f></c></row>\
                     <row r=\"3\"><c r=\"A3\"><v>1</v></c><c r=\"B3\"><f>A3*2</f><v>2</v></c></row>\
                     <row r=\"4\"><c r=\"A4\"><v>1</v></c><c r=\"B4\" t=\"str\"><f>T(A4)</f><v></v></c></row>\
                     <row r=\"5\"><c r=\"A5\"><v>1</v></c><c r=\"B5\"><f>A5*2</f><v></v></c></row>";
        let doubts = table(Path::new("pool.xlsx"), book(cells)).unwrap().doubts();
        // A text that is empty is a result.
        let [doubt] = doubts.as_slice() else { panic!("{doubts:?}") };
        assert!(doubt.starts_with("Cell B2 (and 1 more) has a formula without a result"), "{doubt}");
    }

    #[test]
    fn numbers_read_as_they_were() {
        for number in
            [0.0, -0.0, 1.0, 0.1, 1e-5, 9.999e-6, 1e16, 1e17, 123_456_789.123, f64::MAX, f64::MIN_POSITIVE, 5e-324]
        {
            for number in [number, -number] {
                assert_eq!(text_of_number(number).parse::<f64>().unwrap().to_bits(), number.to_bits());
            }
        }
        assert_eq!(
            (text_of_number(180.0).as_str(), name_of(6, 1).as_str(), name_of(0, 702).as_str()),
            ("180", "B7", "AAA1")
        );
    }

    #[test]
    fn what_is_no_sheet_is_answered_with_a_way_out() {
        let row = "<row r=\"1\"><c r=\"A1\" t=\"str\"><v>a</v></c></row>";
        for (bytes, said) in [
            (b"PAR1\x15".to_vec(), "is a Parquet file. Save it as CSV, for example with pandas"),
            (b"\xd0\xcf\x11\xe0\xa1".to_vec(), "is an old Excel file (.xls), or one with a password"),
            (b"PK\x03\x04".to_vec(), "cannot be read as a sheet"),
            (archive(&[("content.xml", "")]), "this kind of sheet is not read"),
            (archive(&[("a.txt", "a")]), "cannot be read as a sheet"),
            (book(""), "has no sheet with cells"),
            (
                book(&format!("{row}<row r=\"7\"><c r=\"B7\" t=\"e\"><v>#DIV/0!</v></c></row>")),
                "cell B7 of sheet \"Data\" has an error (#DIV/0!). Correct it",
            ),
            (book(&format!("{row}{row}")), "cell A1 of sheet \"Data\" is out of order"),
            (book("<row><c r=\"XFE1\"><v>1</v></c></row>"), "cell XFE1 of sheet \"Data\" is outside"),
            (book("<row><c r=\"A1048577\"><v>1</v></c></row>"), "outside the limits of a sheet"),
        ] {
            let error = table(Path::new("pool.xlsx"), bytes).unwrap_err().to_string();
            assert!(error.starts_with("pool.xlsx: ") && error.contains(said), "{error}");
        }
        assert_eq!(rows(&book(row)).unwrap(), (vec!["a".to_owned()], vec![]));
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let path = Path::new("pool.xlsx");
        let bytes = archive(&[("a", &" ".repeat(3 << 20)), ("b", "b")]);
        assert!(bytes.len() < 1 << 16 && measure(path, &bytes, 4 << 20).is_ok());
        assert!(measure(path, &bytes, 2 << 20).unwrap_err().to_string().contains("unpacks to more than 2 MiB"));
        assert!(text_of(path, &usual(), 1 << 10).unwrap_err().to_string().contains("unpacks to more than"));
        assert!(check_unpacked(&usual(), 1 << 20).is_ok() && check_unpacked(&usual(), 1 << 10).is_err());
        // Two cells at the ends of the largest sheet, with one in each row between, must not keep a billion commas.
        let far: String =
            (2..=1 << 17).map(|row| format!("<row r=\"{row}\"><c r=\"A{row}\"><v>1</v></c></row>")).collect();
        let error =
            rows(&book(&format!("<row r=\"1\"><c r=\"XFD1\"><v>1</v></c></row>{far}"))).unwrap_err().to_string();
        assert!(error.contains("is too large"), "{error}");
    }

    #[test]
    fn broken_files_are_survived() {
        let whole = usual();
        for length in (4..whole.len()).step_by(97) {
            assert!(table(Path::new("pool.xlsx"), whole[..length].to_vec()).is_err(), "{length}");
        }
        for at in (4..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            let _ = table(Path::new("pool.xlsx"), bytes);
        }
    }

    #[test]
    fn hostile_cells_are_survived() {
        for cell in [
            "<c r=\"ZZZZZZZZZZZZ1\"><v>1</v></c>",
            "<c r=\"A99999999999999999999\"><v>1</v></c>",
            "<c r=\"A0\"><v>1</v></c>",
            "<c r=\"\"><v>1</v></c>",
            "<c t=\"s\"><v>18446744073709551615</v></c>",
            "<c t=\"b\"><v>7</v></c>",
            "<c t=\"e\"><v>#WHAT</v></c>",
            "<c t=\"q\"><v>1</v></c>",
            "<c s=\"99999999999\"><v>1</v></c>",
            "<c><v>&lol;</v></c>",
            "<c><f t=\"shared\" ref=\"A1:XFD1048576\" si=\"4294967295\">A1</f><v>1</v></c>",
            "<c t=\"inlineStr\"><is><r><t>a</t></r><r><t>\u{0}b</t></r></is></c>",
            "<c><v>nan</v></c><c><v>inf</v></c><c><v>1e999</v></c>",
            "<c><c><c>",
            "</row></row></row>",
        ] {
            let _ = rows(&book(&format!("<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"2\">{cell}</row>")));
            let _ = rows(&book(&format!("<row r=\"4294967295\">{cell}</row><row>{cell}</row><row>{cell}</row>")));
        }
    }

    /// Codes, points and keys of a table.
    type Coded = (Vec<Column>, Vec<f64>, Vec<u64>);

    fn coded(path: &str, bytes: Vec<u8>) -> std::result::Result<Coded, String> {
        let coded = || -> Result<_> {
            let mut table = table(Path::new(path), bytes)?;
            let places: Vec<usize> = (0..table.header().len()).collect();
            let columns = survey(&mut table, &places, &[])?.columns;
            let encoder = Encoder::new(&table, &columns)?;
            let (mut points, mut keys) = (Vec::new(), Vec::new());
            let scanned = table.scan(|table, row| {
                encoder.encode(table, row, &mut points);
                keys.push(encoder.key(table, row));
                Ok(())
            });
            scanned.or_problem()?;
            Ok((columns.clone(), points, keys))
        };
        coded().map_err(|error| error.to_string())
    }

    #[derive(Clone, Debug)]
    enum Written {
        Number(f64),
        Text(String),
        Nothing,
    }

    fn written() -> impl Strategy<Value = Written> {
        let number = prop_oneof![prop::num::f64::NORMAL, (-9..9i32).prop_map(f64::from)];
        let text = prop_oneof!["[a-c]{1,2}", "[1-9] C", "[1-9],[1-9] %", "[a;\", \t1-3]{0,6}", "NA"];
        prop_oneof![4 => number.prop_map(Written::Number), 3 => text.prop_map(Written::Text), 1 => Just(Written::Nothing)]
    }

    proptest! {
        #[test]
        fn a_workbook_and_a_text_of_the_same_cells_are_one(
            cells in prop::collection::vec(prop::collection::vec(written(), 3), 1..12)
        ) {
            let mut book = Workbook::new();
            let sheet = book.add_worksheet();
            let mut text = String::from("no,\"a;b\",\"c \"\"d\"\"\",e\n");
            for (column, name) in (0..).zip(["no", "a;b", "c \"d\"", "e"]) {
                sheet.write(0, column, name).unwrap();
            }
            for (row, cells) in (1u32..).zip(&cells) {
                sheet.write(row, 0, row).unwrap();
                text += &row.to_string();
                for (column, cell) in (1u16..).zip(cells) {
                    match cell {
                        Written::Number(number) => {
                            sheet.write(row, column, *number).unwrap();
                            text += &format!(",{}", text_of_number(*number));
                        }
                        Written::Text(cell) => {
                            sheet.write(row, column, cell).unwrap();
                            text += &format!(",\"{}\"", cell.replace('"', "\"\""));
                        }
                        Written::Nothing => text.push(','),
                    }
                }
                text.push('\n');
            }
            let (a, b) = (coded("a", book.save_to_buffer().unwrap()), coded("a", text.into_bytes()));
            prop_assert_eq!(a, b);
        }
    }
}

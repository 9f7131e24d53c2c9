//! Studies of sheets that are no text, and of cells with units.

mod common;

use common::{Scratch, complaint, said};
use rust_xlsxwriter::Workbook;

/// Writes a sheet: text that reads as a number is one, and empty cells are not there.
fn write(scratch: &Scratch, name: &str, rows: &[&[&str]]) {
    let mut book = Workbook::new();
    book.add_worksheet().set_name("empty").unwrap();
    let sheet = book.add_worksheet();
    for (row, cells) in (0u32..).zip(rows) {
        for (column, cell) in (0u16..).zip(*cells).filter(|(_, cell)| !cell.is_empty()) {
            match cell.parse::<f64>() {
                Ok(number) => sheet.write(row, column, number).unwrap(),
                Err(_) => sheet.write(row, column, *cell).unwrap(),
            };
        }
    }
    book.save(scratch.file(name)).unwrap();
}

#[test]
fn a_workbook_is_a_sheet_like_any_other() {
    let scratch = Scratch::new("study-xlsx");
    let head: &[&str] = &["heat", "flour", "score"];
    let rows: [&[&str]; 5] =
        [head, &["180 C", "rye", "85 %"], &["200 C", "rye", ""], &["220 C", "oats", "90 %"], &["240 C", "oats", ""]];
    write(&scratch, "sheet.xlsx", &rows);
    let study = |arguments: &[&str]| {
        let mut all = vec!["study"];
        all.extend(arguments);
        scratch.icee(&all).output().unwrap()
    };
    let created = ["create", "bread", "--pool", "sheet.xlsx", "--value", "score", "--direction", "max"];
    let printed = said(study(&created));
    assert!(printed.contains("heat   number, 180 to 240 C"), "{printed}");
    let printed = said(study(&["ask", "bread", "--where", "heat < 220 C"]));
    assert!(printed.contains("row 2: heat=200 C, flour=rye"), "{printed}");

    // The same cells in another file are the same sheet; then one is filled in, below an empty row.
    write(&scratch, "sheet.xlsx", &rows);
    assert!(said(study(&["update", "bread"])).contains("The sheet has not changed."));
    let rows: [&[&str]; 6] = [head, rows[1], &["200 C", "rye", "95 %"], rows[3], &[], rows[4]];
    write(&scratch, "sheet.xlsx", &rows);
    let printed = said(study(&["update", "bread"]));
    assert!(printed.contains("4 rows, 1 new result"), "{printed}");

    write(&scratch, "results.xlsx", &[&["row", "score"], &["4", "70 %"]]);
    let printed = said(study(&["tell", "bread", "--csv", "results.xlsx"]));
    assert!(printed.contains("recorded: 1 new; best so far 95 (row 2)"), "{printed}");

    // Complaints name the sheet's rows.
    write(&scratch, "results.xlsx", &[&["row", "score"], &["1", "85 %"], &[], &["2", "3 g"]]);
    let said = complaint(study(&["tell", "bread", "--csv", "results.xlsx"]));
    assert!(said.contains("line 4: column 2 (score): \"3 g\" is in g, but \"85 %\" in line 2 is in %"), "{said}");
    std::fs::write(scratch.file("results.parquet"), b"PAR1\x15\x04PAR1").unwrap();
    let said = complaint(study(&["tell", "bread", "--csv", "results.parquet"]));
    assert!(said.contains("is a Parquet file. Save it as CSV"), "{said}");

    // A sheet that is in another unit is no longer the one that was learned from.
    write(&scratch, "sheet.xlsx", &[head, &["453 K", "rye", "85 %"], &["473 K", "oats", ""]]);
    let said = complaint(study(&["update", "bread"]));
    assert!(said.contains("column \"heat\" was in C and is in K now"), "{said}");
}

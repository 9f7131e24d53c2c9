//! CSV tables on arbitrary bytes: an error or a table whose rows are the same whether they are read in turn or one by one, and
//! whose columns lie within their scales.
//!
//!     cargo +nightly fuzz run table -- -max_total_time=60
#![no_main]

use icee_base::table::Table;
use icee_study::memory::columns;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Ok(mut table) = Table::of_bytes(Path::new("pool.csv"), data.to_vec()) else { return };
    let width = table.header().len();
    let mut rows: Vec<Vec<String>> = Vec::new();
    if table.scan(|_, row| Ok(rows.push((0..width).map(|column| row.cell(column).to_owned()).collect()))).is_err() {
        return;
    }
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(table.cells(index), *row);
    }
    if let Err(error) = columns(data) {
        assert!(!error.to_string().contains("outside of its scale"), "{error}");
    }
});

//! Results as CSV, in the form that [`Study::tell_csv`](crate::Study::tell_csv) reads.

use crate::error::{Result, bug};
use crate::{results, values};
use icee_protocol::{Status, Summary};
use std::io::Write;

/// A line for every replicate: the row's id or number, its cells, its results.
///
/// # Errors
/// If it cannot be written, which would be a bug.
pub(crate) fn csv_of(summary: &Summary) -> Result<String> {
    let mut text = Vec::new();
    write(summary, &mut text).map_err(bug)?;
    String::from_utf8(text).map_err(bug)
}

fn write(summary: &Summary, out: impl Write) -> std::result::Result<(), csv::Error> {
    let text = |value: &Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut table = csv::Writer::from_writer(out);
    let cells: &[(String, String)] = summary.told.first().map_or(&[], |told| &told.cells.0);
    let learned = |name: &str| summary.columns.iter().any(|(column, _)| column == name);
    let value = summary.value_column.clone().unwrap_or_else(|| results::value_column(learned).into());
    let further = summary.goals.iter().skip(1).filter_map(|goal| goal.name.clone());
    // A column of the sheet that would be read as the results is not an input, and not needed.
    let kept = |name: &String| *name != value;
    let cells = cells.iter().map(|(name, _)| name.clone()).filter(kept);
    let named = summary.id_column.as_ref().unwrap_or(&summary.row_column).clone();
    let header: Vec<String> = std::iter::once(named).chain(cells).chain([value.clone()]).chain(further).collect();
    table.write_record(&header)?;
    for told in &summary.told {
        let nothing = || vec![String::new(); told.further.len()];
        let outcomes: Vec<Vec<String>> = match told.status {
            Status::Failed => vec![[vec![values::FAILED.into()], nothing()].concat()],
            Status::Impossible => vec![[vec![values::IMPOSSIBLE.into()], nothing()].concat()],
            _ => told.measurements.iter().map(|values| values.iter().map(text).collect()).collect(),
        };
        for outcomes in outcomes {
            let cells = told.cells.0.iter().filter(|(name, _)| kept(name)).map(|(_, cell)| cell.clone());
            table.write_record(std::iter::once(told.id.clone()).chain(cells).chain(outcomes))?;
        }
    }
    table.flush()?;
    Ok(())
}

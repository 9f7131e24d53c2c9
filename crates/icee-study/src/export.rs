//! What was told as CSV, in the form that [`Study::tell_csv`](crate::Study::tell_csv) reads.

use crate::answer::{Status, Summary};
use crate::{results, values};
use std::io::Write;

impl Summary {
    /// Writes a line for every measurement: the row's id or number, its cells, its outcomes. `shown` is what becomes of texts that
    /// come from files of others; a terminal must not obey them.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_told(&self, out: impl Write, shown: impl Fn(&str) -> String) -> Result<(), csv::Error> {
        let text = |value: &Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let mut table = csv::Writer::from_writer(out);
        let cells: &[(String, String)] = self.told.first().map_or(&[], |told| &told.cells.0);
        let learned = |name: &str| self.columns.iter().any(|(column, _)| column == name);
        let value = self.value_column.clone().unwrap_or_else(|| results::value_column(learned).into());
        let further = self.goals.iter().skip(1).filter_map(|(name, _)| name.clone());
        // A column of the sheet that would be taken for the results is none that is learned from, and not needed.
        let kept = |name: &String| *name != value;
        let cells = cells.iter().map(|(name, _)| name.clone()).filter(kept);
        let named = self.id_column.as_ref().unwrap_or(&self.row_column).clone();
        let header: Vec<String> = std::iter::once(named).chain(cells).chain([value.clone()]).chain(further).collect();
        table.write_record(header.iter().map(|name| shown(name)))?;
        for told in &self.told {
            let nothing = || vec![String::new(); told.further.len()];
            let outcomes: Vec<Vec<String>> = match told.status {
                Status::Failed => vec![[vec![values::FAILED.into()], nothing()].concat()],
                Status::Impossible => vec![[vec![values::IMPOSSIBLE.into()], nothing()].concat()],
                _ => told.measurements.iter().map(|values| values.iter().map(text).collect()).collect(),
            };
            for outcomes in outcomes {
                let cells = told.cells.0.iter().filter(|(name, _)| kept(name)).map(|(_, cell)| shown(cell));
                table.write_record(std::iter::once(shown(&told.id)).chain(cells).chain(outcomes))?;
            }
        }
        table.flush()?;
        Ok(())
    }
}

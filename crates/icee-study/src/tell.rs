//! Telling a study what came out: one row, or a CSV file of many. All of it is taken, or nothing.

use crate::record::{Entry, RowName, ToldValue};
use crate::study::{Study, not_loaded, shown};
use crate::{Error, Result};
use icee_base::table::Table;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// The column of values in a file of results.
const VALUE: &str = "value";
/// The column of row numbers, where rows have no ids.
const ROW: &str = "row";
/// What stands in place of a value where the experiment failed.
const FAILED: &str = "failed";
/// Problems that an error shows before it stops counting them out.
const SHOWN: usize = 20;

/// What was taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TellSummary {
    /// Rows told for the first time.
    pub new: usize,
    /// Rows whose outcome was replaced by another.
    pub replaced: usize,
    /// Rows whose outcome was told again as it was.
    pub unchanged: usize,
}

/// An outcome before it is checked.
struct Item {
    id: String,
    value: Option<f64>,
    /// Where it stands, if in a file.
    line: Option<usize>,
}

impl Study {
    /// Tells the value of a row, or `None` for an experiment that failed. The row need not have been suggested.
    ///
    /// With `replace` an outcome that was told before is corrected; the journal keeps both.
    ///
    /// # Errors
    /// Where the row is not known or has an outcome already, or the value is not finite; then nothing changes.
    pub fn tell(&mut self, id: &str, value: Option<f64>, replace: bool) -> Result<TellSummary> {
        self.tell_all(vec![Item { id: id.to_owned(), value, line: None }], replace)
            .map_err(|problems| Error::Study(problems.join("; ")))
            .flatten()
    }

    /// Tells all lines of a CSV file. It has a column `value`, in which `failed` marks a failed experiment, and one that
    /// is named like the study's id column (`row`, with the rows' numbers, where there is none).
    ///
    /// # Errors
    /// With every line that cannot be told; then nothing changes.
    pub fn tell_csv(&mut self, path: &Path, replace: bool) -> Result<TellSummary> {
        let mut table = Table::read(path)?;
        let id_column = self.header.id.as_deref().unwrap_or(ROW).to_owned();
        let (id, value) = (table.column(&id_column)?, table.column(VALUE)?);
        let mut items = Vec::new();
        table.scan(|table, row| {
            let text = row.cell(value);
            let value = match table.number(text) {
                Some(number) => Some(number),
                None if text.eq_ignore_ascii_case(FAILED) => None,
                None => {
                    return Err(format!(
                        "column {} ({VALUE}): \"{text}\" is not a finite number, nor the word {FAILED}",
                        value + 1
                    ));
                }
            };
            items.push(Item { id: row.cell(id).to_owned(), value, line: Some(row.line) });
            Ok(())
        })?;
        if items.is_empty() {
            return Err(table.broken(vec!["there is no row below the header".into()]).into());
        }
        self.tell_all(items, replace).map_err(|problems| table.broken(problems).into()).flatten()
    }

    /// Checks and records outcomes; the outer error lists what is wrong with them.
    fn tell_all(&mut self, items: Vec<Item>, replace: bool) -> std::result::Result<Result<TellSummary>, Vec<String>> {
        let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        let found = match self.load().and_then(|()| self.rows.as_mut().ok_or_else(not_loaded)?.find(&ids)) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        // What is wrong with the items is no error of the work under the lock.
        let mut problems = Vec::new();
        let told = self.alone(|study| match study.checked(&items, found, replace) {
            Ok((outcomes, told)) => {
                if !outcomes.is_empty() {
                    study.record(Entry::Tell { outcomes })?;
                }
                Ok(told)
            }
            Err(found) => {
                problems = found;
                Ok(TellSummary { new: 0, replaced: 0, unchanged: 0 })
            }
        });
        if problems.is_empty() { Ok(told) } else { Err(problems) }
    }

    /// What is to be recorded, or all that is wrong.
    fn checked(
        &self,
        items: &[Item],
        found: Vec<std::result::Result<RowName, String>>,
        replace: bool,
    ) -> std::result::Result<(Vec<ToldValue>, TellSummary), Vec<String>> {
        let mut told = TellSummary { new: 0, replaced: 0, unchanged: 0 };
        let (mut outcomes, mut problems) = (Vec::new(), Vec::new());
        let mut seen: HashMap<usize, Option<usize>> = HashMap::new();
        for (item, found) in items.iter().zip(found) {
            let checked = found.and_then(|name| self.check(item, &name, replace, &mut seen).map(|state| (name, state)));
            match checked {
                Ok((_, State::Unchanged)) => told.unchanged += 1,
                Ok((name, state)) => {
                    let replaces = state == State::Replaced;
                    if replaces {
                        told.replaced += 1
                    } else {
                        told.new += 1
                    }
                    outcomes.push(ToldValue { row: name, value: item.value, replaces });
                }
                Err(problem) => problems.push(match item.line {
                    Some(line) => format!("line {line}: {problem}"),
                    None => problem,
                }),
            }
        }
        if problems.is_empty() {
            return Ok((outcomes, told));
        }
        if problems.len() > SHOWN {
            let more = problems.len() - SHOWN;
            problems.truncate(SHOWN);
            problems.push(format!("and {more} more"));
        }
        Err(problems)
    }

    fn check(
        &self,
        item: &Item,
        name: &RowName,
        replace: bool,
        seen: &mut HashMap<usize, Option<usize>>,
    ) -> std::result::Result<State, String> {
        if let Some(value) = item.value.filter(|value| !value.is_finite()) {
            return Err(format!("the value {value} of {} is not a finite number", shown(name)));
        }
        if let Some(Some(line)) = seen.insert(name.row, item.line) {
            return Err(format!("{} stands in line {line} already", shown(name)));
        }
        let Some(before) = self.trials.outcome(name.row - 1) else { return Ok(State::New) };
        let was = before.value.map_or_else(|| "failed".into(), |value| value.to_string());
        match replace {
            true if before.value == item.value => Ok(State::Unchanged),
            true => Ok(State::Replaced),
            false => Err(format!("{} was told already ({was}); to correct it, add --replace", shown(name))),
        }
    }
}

#[derive(PartialEq, Eq)]
enum State {
    New,
    Replaced,
    Unchanged,
}

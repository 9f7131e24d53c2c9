//! Pools as they lie in a folder: `pools.csv` names them, `pools/NAME.csv` has the rows with the value in the last column,
//! `first-rows.csv` the rows (numbered from one) with which each run begins.

use crate::columns::{Column, Words};
use crate::error::{BoError, BoResult};
use crate::pool::Pool;
use crate::search::SearchTask;
use icee_base::table::{Table, TableError, is_missing};
use std::collections::HashMap;
use std::path::Path;

/// Evaluations of a run, the first rows included.
pub const EVALUATIONS: usize = 55;

/// One pool of real experiments.
#[derive(Debug, Clone)]
pub struct RealPool {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub pool: Pool,
    /// What was measured; lower is better.
    pub values: Vec<f64>,
    /// The first rows of each run.
    pub first: Vec<Vec<usize>>,
}

impl RealPool {
    /// One of its runs as a search.
    #[must_use]
    pub fn task(&self, run: usize) -> SearchTask {
        SearchTask {
            pool: self.pool.clone(),
            values: self.values.clone(),
            initial: self.first[run].clone(),
            evaluations: EVALUATIONS.min(self.values.len()),
            seed: run as u64,
        }
    }
}

/// All pools of a folder, in its order.
///
/// # Errors
/// Where a file is missing or does not say what it should.
pub fn read(folder: &Path) -> BoResult<Vec<RealPool>> {
    read_with(&|file| Table::read(&folder.join(file)))
}

/// All pools of something like a folder, which gives its files by their paths in it.
pub(super) fn read_with(open: &dyn Fn(&str) -> Result<Table, TableError>) -> BoResult<Vec<RealPool>> {
    let mut first = first_rows(open("first-rows.csv").map_err(table_error)?)?;
    let mut index = open("pools.csv").map_err(table_error)?;
    let columns = ["pool", "direction"].map(|name| index.column(name));
    let [name, direction] = columns;
    let (name, direction) = (name.map_err(table_error)?, direction.map_err(table_error)?);
    let mut listed = Vec::new();
    index
        .scan(|_, row| {
            let sign = match row.cell(direction) {
                "minimize" => 1.0,
                "maximize" => -1.0,
                other => return Err(format!("the direction \"{other}\" is neither minimize nor maximize")),
            };
            let name = row.cell(name).to_owned();
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
                return Err(format!("\"{name}\" cannot name a pool: letters, digits, - and _ can"));
            }
            listed.push((name, sign));
            Ok(())
        })
        .map_err(table_error)?;
    let read_one = |(name, sign): (String, f64)| {
        let (pool, values) = read_pool(open(&format!("pools/{name}.csv")).map_err(table_error)?, sign)?;
        let first = first.remove(&name).unwrap_or_default();
        if let Some(row) = first.iter().flatten().find(|&&row| row >= values.len()) {
            return Err(problem(format!("first-rows.csv: row {} of {name}, which has {}", row + 1, values.len())));
        }
        Ok(RealPool { name, pool, values, first })
    };
    listed.into_iter().map(read_one).collect()
}

fn read_pool(mut table: Table, sign: f64) -> BoResult<(Pool, Vec<f64>)> {
    let header = table.header().to_vec();
    let Some((_, inputs)) = header.split_last() else {
        return Err(problem(format!("{}: it has no column", table.path().display())));
    };
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); inputs.len()];
    let mut values = Vec::new();
    table
        .scan(|table, row| {
            cells.iter_mut().enumerate().for_each(|(column, cells)| cells.push(row.cell(column).to_owned()));
            let value = table.number(row.cell(inputs.len())).filter(|value| value.is_finite());
            values.push(sign * value.ok_or_else(|| "the last column has no number".to_owned())?);
            Ok(())
        })
        .map_err(table_error)?;
    let columns = inputs.iter().zip(&cells).map(|(name, cells)| column(&table, name, cells)).collect();
    Ok((Pool::of_columns(columns)?, values))
}

/// A column of numbers where every cell is one or is missing, else of categories.
fn column(table: &Table, name: &str, cells: &[String]) -> Column {
    let number = |cell: &String| if is_missing(cell) { Some(f64::NAN) } else { table.number(cell) };
    if let Some(numbers) = cells.iter().map(number).collect::<Option<Vec<f64>>>() {
        return Column::numbers(Column::key_of(name), &numbers);
    }
    let mut words = Words::new(name);
    cells.iter().for_each(|cell| words.push((!is_missing(cell)).then_some(cell)));
    words.finish()
}

fn first_rows(mut table: Table) -> BoResult<HashMap<String, Vec<Vec<usize>>>> {
    let (name, run) = (table.column("pool").map_err(table_error)?, table.column("run").map_err(table_error)?);
    let places: Vec<usize> = (0..table.header().len()).filter(|&at| at != name && at != run).collect();
    let mut first: HashMap<String, Vec<Vec<usize>>> = HashMap::new();
    table
        .scan(|_, row| {
            let runs = first.entry(row.cell(name).to_owned()).or_default();
            if row.cell(run).parse() != Ok(runs.len()) {
                return Err(format!(
                    "run {} of {}, where run {} comes next",
                    row.cell(run),
                    row.cell(name),
                    runs.len()
                ));
            }
            let rows = places.iter().map(|&at| {
                let number = row.cell(at).parse::<usize>().ok().and_then(|row| row.checked_sub(1));
                number.ok_or_else(|| format!("\"{}\" is no row; they are numbered from one", row.cell(at)))
            });
            runs.push(rows.collect::<Result<_, _>>()?);
            Ok(())
        })
        .map_err(table_error)?;
    Ok(first)
}

fn table_error(error: TableError) -> BoError {
    problem(error.to_string())
}

pub(super) fn problem(message: String) -> BoError {
    BoError::Race { message }
}

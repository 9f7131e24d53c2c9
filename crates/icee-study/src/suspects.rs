//! The input columns of a sheet, and those that are perhaps not inputs: results, and running numbers.

use crate::create::StudyOptions;
use crate::encode::Column;
use crate::error::{OrProblem, Result};
use crate::goals::Further;
use crate::units::{Cell, Units};
use icee_base::table::{Table, is_missing};
use icee_protocol::{ColumnRole, Grounds, Note, Problem, Suspicion, render};
use std::collections::{HashMap, HashSet};

/// Columns of a new study's sheet: no program makes more.
const MOST_COLUMNS: usize = 1 << 14;

/// Words that name results.
const RESULTS: [&str; 16] = [
    "value",
    "yield",
    "score",
    "loss",
    "target",
    "y",
    "result",
    "outcome",
    "response",
    "measured",
    "measurement",
    "output",
    "objective",
    "performance",
    "error",
    "label",
];
/// From which share of empty cells on a column is mostly empty.
const MANY_GAPS: f64 = 0.5;
/// Rows below which a running number proves nothing.
const FEW: usize = 5;

/// A column of a sheet, and the signs that it is not an input.
#[derive(Default)]
struct Seen {
    numbers: usize,
    empty: usize,
    /// The first number.
    first: Option<f64>,
    /// Whether some cell is not one more than that above.
    is_broken: bool,
    /// Whether it has something in a row without a result.
    stray: bool,
    units: Units,
}

impl Seen {
    fn see(&mut self, row: usize, line: usize, text: &str, cell: &Cell<'_>, is_open: bool) {
        self.stray |= is_open && *cell != Cell::Missing;
        self.units.see(line, text, cell);
        // A series with a unit was designed, not counted.
        let number = if let Cell::Number(number) = cell { Some(*number) } else { None };
        if row == 0 {
            self.first = number;
        }
        self.numbers += usize::from(number.is_some());
        self.empty += usize::from(*cell == Cell::Missing);
        self.is_broken |= number.zip(self.first).is_none_or(|(number, first)| number != first + row as f64);
    }

    fn has_numbers(&self) -> bool {
        self.numbers > 0 || matches!(self.units.common(), Ok(Some(_)))
    }

    fn is_running_number(&self, rows: usize) -> bool {
        rows >= FEW && self.numbers == rows && !self.is_broken && matches!(self.first, Some(0.0 | 1.0))
    }

    /// Why it is perhaps not an input, and whether it may be the result. `value` is the column of results, if there is one.
    fn suspicion(&self, name: &str, value: Option<(&str, &Seen)>, rows: usize) -> Option<(Grounds, bool)> {
        match value {
            Some((results, value)) if value.empty > 0 && self.empty < rows && !self.stray => {
                // It is ignored, rather than taken for the main result.
                Some((Grounds::WithResults { results: results.to_owned() }, false))
            }
            None if is_result_name(name) => Some((Grounds::NamedLikeResult, true)),
            None if self.has_numbers() && self.empty as f64 > MANY_GAPS * rows as f64 => {
                Some((Grounds::ManyEmpty { empty: self.empty, rows }, true))
            }
            _ => self.is_running_number(rows).then_some((Grounds::RunningNumber, false)),
        }
    }
}

/// The columns of a sheet that would be inputs and perhaps should not.
///
/// # Errors
/// Where the sheet cannot be read.
pub(crate) fn suspects(table: &mut Table, options: &StudyOptions) -> Result<Vec<Suspicion>> {
    // Named inputs were chosen on purpose.
    if options.columns.is_some() {
        return Ok(vec![]);
    }
    let value = options.value.as_deref().map(|value| table.column(value).or_problem()).transpose()?;
    let mut seen: Vec<Seen> = table.header().iter().map(|_| Seen::default()).collect();
    let scanned = table.scan(|table, row| {
        let is_open = value.is_some_and(|value| is_missing(row.cell(value)));
        for (place, seen) in seen.iter_mut().enumerate() {
            let text = row.cell(place);
            seen.see(row.index, row.line, text, &Cell::read(table, text), is_open);
        }
        Ok(())
    });
    scanned.or_problem()?;
    let given = [&options.id, &options.value, &options.cost].into_iter().flatten().chain(&options.ignore);
    let named: HashSet<&String> = given.chain(options.further.iter().map(|further| &further.name)).collect();
    let results = value.map(|place| (table.header()[place].as_str(), &seen[place]));
    let columns = table.header().iter().zip(&seen).filter(|(name, _)| !name.is_empty() && !named.contains(name));
    let suspicion = |(name, column): (&String, &Seen)| {
        let (grounds, is_result) = column.suspicion(name, results, table.rows())?;
        let reason = render::grounds(&grounds);
        Some(Suspicion { column: name.clone(), grounds, is_result, is_input: true, reason })
    };
    Ok(columns.filter_map(suspicion).collect())
}

/// Those of them that matter with these inputs: unused columns need not be ignored.
pub(crate) fn relevant(mut found: Vec<Suspicion>, inputs: &[Column]) -> Vec<Suspicion> {
    found.iter_mut().for_each(|found| found.is_input = inputs.iter().any(|input| input.name == found.column));
    found.retain(|found| found.is_result || found.is_input);
    found
}

/// Whether one of the words of a name says that it is a result: "Yield (%)", "final_score".
fn is_result_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| RESULTS.contains(&word))
}

/// Refuses a new study of a sheet that is wider than any program makes them.
///
/// # Errors
/// If it is too wide.
pub(crate) fn check_width(table: &Table) -> Result<()> {
    let width = table.header().len();
    if width <= MOST_COLUMNS {
        return Ok(());
    }
    let words = format!("line 1: there are {width} columns, but at most {MOST_COLUMNS} are read. Delete some.");
    Err(table.broken(vec![words])).or_problem()
}

/// The places of the input columns.
pub(crate) fn chosen_columns(table: &Table, options: &StudyOptions, notes: &mut Vec<Note>) -> Result<Vec<usize>> {
    let mut roles: HashMap<usize, ColumnRole> = HashMap::new();
    let mut role = |name: &str, role: ColumnRole| match roles.insert(table.column(name).or_problem()?, role) {
        Some(other) => Err(Problem::TwoRoles { column: name.to_owned(), role, other }),
        None => Ok(()),
    };
    let given =
        [(&options.id, ColumnRole::Names), (&options.value, ColumnRole::Results), (&options.cost, ColumnRole::Costs)];
    for (name, what) in given {
        name.as_deref().map_or(Ok(()), |name| role(name, what))?;
    }
    for Further { name, .. } in &options.further {
        // If results are not filled in here, they come from elsewhere.
        if options.value.is_some() || table.header().contains(name) {
            role(name, ColumnRole::Results)?;
        }
    }
    let ignored: HashSet<usize> =
        options.ignore.iter().map(|name| table.column(name).or_problem()).collect::<Result<_>>()?;
    if let Some(names) = &options.columns {
        let (mut places, mut seen) = (Vec::new(), HashSet::new());
        for name in names {
            let place = table.column(name).or_problem()?;
            if !seen.insert(place) {
                return Err(Problem::ColumnTwice { column: name.clone() });
            }
            if let Some(&role) = roles.get(&place) {
                return Err(Problem::NotAnInput { column: name.clone(), role });
            }
            if ignored.contains(&place) {
                return Err(Problem::InputIgnored { column: name.clone() });
            }
            places.push(place);
        }
        return Ok(places);
    }
    let mut places = Vec::new();
    for (place, name) in
        table.header().iter().enumerate().filter(|(place, _)| !roles.contains_key(place) && !ignored.contains(place))
    {
        if name.is_empty() {
            notes.push(Note::Unnamed { column: place + 1 });
            continue;
        }
        // Finds names that occur twice.
        places.push(table.column(name).or_problem()?);
        if options.id.is_none() && name.eq_ignore_ascii_case("id") {
            notes.push(Note::IdIsInput { column: name.clone() });
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn found(pool: &std::path::Path, options: &StudyOptions) -> Vec<Suspicion> {
        let mut table = Table::read(pool).unwrap();
        let found = suspects(&mut table, options).unwrap();
        let places = chosen_columns(&table, options, &mut vec![]).unwrap();
        relevant(found, &crate::survey::survey(&mut table, &places, &[]).unwrap().columns)
    }

    #[test]
    fn results_and_running_numbers_are_pointed_out() {
        let scratch = Scratch::new("suspects");
        let pool = scratch.file("pool.csv");
        std::fs::write(&pool, "no,heat,Yield (%),note\n1,5,3,\n2,5,,\n3,9,,2\n4,8,,\n5,1,,\n").unwrap();
        let of = |options: StudyOptions| {
            let found = found(&pool, &options);
            found.into_iter().map(|suspect| (suspect.column, suspect.is_result)).collect::<Vec<_>>()
        };
        let all = [("no".to_owned(), false), ("Yield (%)".to_owned(), true), ("note".to_owned(), true)];
        assert_eq!(of(StudyOptions::default()), all);
        // A result beside the known one is left out, too.
        let known = StudyOptions { value: Some("Yield (%)".into()), ..Default::default() };
        assert_eq!(of(known.clone()), all[..1]);
        std::fs::write(&pool, "no,heat,Yield (%),note\n1,5,3,good\n2,5,,\n3,9,2,\n4,8,,\n5,1,,\n").unwrap();
        assert_eq!(of(known), [("no".to_owned(), false), ("note".to_owned(), false)]);
        std::fs::write(&pool, "no,heat,Yield (%),note\n1,5,3,\n2,5,,\n3,9,,2\n4,8,,\n5,1,,\n").unwrap();
        let ignore = vec!["no".to_owned(), "note".to_owned()];
        assert_eq!(of(StudyOptions { ignore, ..Default::default() }), all[1..2]);
        assert_eq!(of(StudyOptions { columns: Some(vec!["heat".into()]), ..Default::default() }), []);
        // Columns that are left out anyway need no note; an empty column may still be meant for results.
        let rows: String = (1..=12).map(|k| format!("{k},{},2026-05-{k:02},,\n", k % 3)).collect();
        std::fs::write(&pool, format!("no,heat,day,Yield,done by\n{rows}")).unwrap();
        let found = found(&pool, &StudyOptions::default());
        let said: Vec<_> = found.iter().map(|found| (&*found.column, &*found.reason, found.is_input)).collect();
        assert_eq!(said, [("no", "is a running number", true), ("Yield", "is named like a result", false)]);
        // Units make a number no less a result, and a series is no running number.
        std::fs::write(&pool, "time,heat,got\n1 h,5,3 %\n2 h,5,\n3 h,9,\n4 h,8,\n5 h,1,\n").unwrap();
        assert_eq!(of(StudyOptions::default()), [("got".to_owned(), true)]);
    }
}

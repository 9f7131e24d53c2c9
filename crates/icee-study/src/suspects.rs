//! The columns of a sheet that are learned from, and those that may not be meant to be: results, and running numbers.

use crate::goals::Further;
use crate::rows::read_pool;
use crate::survey::{Survey, survey};
use crate::units::{Cell, Units};
use crate::{Error, Result, StudyOptions};
use icee_base::table::{Table, is_missing};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Columns of a new study's sheet: no program makes more.
const MOST_COLUMNS: usize = 1 << 14;

/// Words that name what is measured.
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
/// The share of cells from which on gaps are many.
const MANY_GAPS: f64 = 0.5;
/// Rows below which a running number proves nothing.
const FEW: usize = 5;

/// A column that may not be meant to be learned from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Which.
    pub column: String,
    /// Why: the rest of a sentence that begins with the column.
    pub reason: String,
    /// Whether it may be what the study is about, rather than a column to leave out.
    pub is_result: bool,
    /// Whether it would be learned from; where nothing stands in it yet, say, it is not.
    pub is_learned: bool,
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Suspect { column, reason, is_result, is_learned } = self;
        let option = if *is_result { "value" } else { "ignore" };
        match is_learned {
            true => write!(
                f,
                "column \"{column}\" {reason} and is learned from like any other; if that is not meant, add --{option} \"{column}\""
            ),
            false => {
                write!(f, "column \"{column}\" {reason}; if that is what you measure, add --{option} \"{column}\"")
            }
        }
    }
}

/// The columns of a pool that would be learned from and perhaps should not.
///
/// # Errors
/// Where the pool cannot be read.
pub fn suspects(options: &StudyOptions) -> Result<Vec<Suspect>> {
    let mut table = read_pool(&options.pool)?;
    check_width(&table)?;
    let width = table.header().len();
    let (mut numbers, mut gaps, mut counts) = (vec![0usize; width], vec![0usize; width], vec![true; width]);
    let mut first = vec![0.0; width];
    let value = options.value.as_deref().map(|value| table.column(value)).transpose()?;
    // Whether something stands in a row without a value.
    let mut stray = vec![false; width];
    let mut units: Vec<Units> = (0..width).map(|_| Units::default()).collect();
    table.scan(|table, row| {
        let is_open = value.is_some_and(|value| is_missing(row.cell(value)));
        for place in 0..width {
            let text = row.cell(place);
            let cell = Cell::read(table, text);
            stray[place] |= is_open && cell != Cell::Missing;
            units[place].see(row.line, text, &cell);
            match cell {
                Cell::Number(number) => {
                    numbers[place] += 1;
                    if row.index == 0 {
                        first[place] = number;
                    }
                    counts[place] &= number == first[place] + row.index as f64;
                }
                // A series with a unit was set up, not counted out.
                Cell::Quantity(..) => counts[place] = false,
                Cell::Missing | Cell::Word => {
                    gaps[place] += usize::from(cell == Cell::Missing);
                    counts[place] = false;
                }
            }
        }
        Ok(())
    })?;
    let rows = table.rows();
    let given = [&options.id, &options.value, &options.cost].into_iter().flatten().chain(&options.ignore);
    let named: HashSet<&String> = given.chain(options.further.iter().map(|further| &further.name)).collect();
    let has_numbers = |place: usize| numbers[place] > 0 || matches!(units[place].common(), Ok(Some(_)));
    let mut found = Vec::new();
    for (place, name) in table.header().iter().enumerate() {
        // Who names the columns to learn from has thought about it.
        if name.is_empty() || named.contains(name) || options.columns.is_some() {
            continue;
        }
        let reason = if let Some(value) = value.filter(|&value| gaps[value] > 0 && gaps[place] < rows && !stray[place])
        {
            // It is left out, rather than taken for what the study is about.
            Some((format!("is filled in only where \"{}\" is", table.header()[value]), false))
        } else if value.is_none() && is_result_name(name) {
            Some(("is named like a result".to_owned(), true))
        } else if value.is_none() && has_numbers(place) && gaps[place] as f64 > MANY_GAPS * rows as f64 {
            Some((format!("is empty in {} of {rows} rows", gaps[place]), true))
        } else if rows >= FEW && numbers[place] == rows && counts[place] && (first[place] == 0.0 || first[place] == 1.0)
        {
            Some(("is a running number".to_owned(), false))
        } else {
            None
        };
        let suspect = |(reason, is_result)| Suspect { column: name.clone(), reason, is_result, is_learned: true };
        found.extend(reason.map(suspect));
    }
    if !found.is_empty() {
        // What is wrong with the options, and that nothing can be learned from, is said when the study is created.
        let places = chosen_columns(&table, options, &mut vec![]);
        let survey = places.and_then(|places| survey(&mut table, &places, &options.scales));
        if let Ok(Survey { columns, .. }) = survey {
            let is_learned = |name: &String| columns.iter().any(|column| column.name == *name);
            found.iter_mut().for_each(|suspect| suspect.is_learned = is_learned(&suspect.column));
            // What is left out anyway nobody has to leave out.
            found.retain(|suspect| suspect.is_result || suspect.is_learned);
        }
    }
    Ok(found)
}

/// Whether one of the words of a name says that it is a result: "Yield (%)", "final_score".
fn is_result_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| RESULTS.contains(&word))
}

/// Refuses a new study of a sheet that is wider than any program makes them.
///
/// # Errors
/// As it says.
pub(crate) fn check_width(table: &Table) -> Result<()> {
    let width = table.header().len();
    if width <= MOST_COLUMNS {
        return Ok(());
    }
    let words = format!("line 1: there are {width} columns; at most {MOST_COLUMNS} are read, so leave some out");
    Err(table.broken(vec![words]).into())
}

/// The places of the columns to learn from.
pub(crate) fn chosen_columns(table: &Table, options: &StudyOptions, notes: &mut Vec<String>) -> Result<Vec<usize>> {
    let mut roles: HashMap<usize, &str> = HashMap::new();
    let mut role = |name: &str, role: &'static str| match roles.insert(table.column(name)?, role) {
        Some(other) => Err(Error::Study(format!("\"{name}\" {other}, so it is not the one that {role}"))),
        None => Ok(()),
    };
    let given =
        [(&options.id, "names the rows"), (&options.value, "holds the values"), (&options.cost, "says what rows cost")];
    for (name, what) in given {
        name.as_deref().map_or(Ok(()), |name| role(name, what))?;
    }
    for Further { name, .. } in &options.further {
        // Where results are not filled in here, they come from elsewhere.
        if options.value.is_some() || table.header().contains(name) {
            role(name, "holds the values")?;
        }
    }
    let ignored: HashSet<usize> =
        options.ignore.iter().map(|name| table.column(name)).collect::<std::result::Result<_, _>>()?;
    if let Some(names) = &options.columns {
        let (mut places, mut seen) = (Vec::new(), HashSet::new());
        for name in names {
            let place = table.column(name)?;
            if !seen.insert(place) {
                return Err(Error::Study(format!("--columns names \"{name}\" twice")));
            }
            if let Some(role) = roles.get(&place) {
                return Err(Error::Study(format!(
                    "\"{name}\" {role} and is not learned from; leave it out of --columns"
                )));
            }
            if ignored.contains(&place) {
                return Err(Error::Study(format!("\"{name}\" stands in --columns and in --ignore")));
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
            notes.push(format!("column {} has no name and is left out", place + 1));
            continue;
        }
        // Finds names that stand there twice.
        places.push(table.column(name)?);
        if options.id.is_none() && name.eq_ignore_ascii_case("id") {
            notes.push(format!("column \"{name}\" is learned from like any other; if it names the rows, create the study with --id {name}"));
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn results_and_running_numbers_are_pointed_out() {
        let scratch = Scratch::new("suspects");
        let pool = scratch.file("pool.csv");
        std::fs::write(&pool, "no,heat,Yield (%),note\n1,5,3,\n2,5,,\n3,9,,2\n4,8,,\n5,1,,\n").unwrap();
        let of = |options: StudyOptions| {
            let found = suspects(&StudyOptions { pool: pool.clone(), ..options }).unwrap();
            found.into_iter().map(|suspect| (suspect.column, suspect.is_result)).collect::<Vec<_>>()
        };
        let all = [("no".to_owned(), false), ("Yield (%)".to_owned(), true), ("note".to_owned(), true)];
        assert_eq!(of(StudyOptions::default()), all);
        // A result beside the one that is known is left out, too.
        let known = StudyOptions { value: Some("Yield (%)".into()), ..Default::default() };
        assert_eq!(of(known.clone()), all[..1]);
        std::fs::write(&pool, "no,heat,Yield (%),note\n1,5,3,good\n2,5,,\n3,9,2,\n4,8,,\n5,1,,\n").unwrap();
        assert_eq!(of(known), [("no".to_owned(), false), ("note".to_owned(), false)]);
        std::fs::write(&pool, "no,heat,Yield (%),note\n1,5,3,\n2,5,,\n3,9,,2\n4,8,,\n5,1,,\n").unwrap();
        let ignore = vec!["no".to_owned(), "note".to_owned()];
        assert_eq!(of(StudyOptions { ignore, ..Default::default() }), all[1..2]);
        assert_eq!(of(StudyOptions { columns: Some(vec!["heat".into()]), ..Default::default() }), []);
        // What is left out anyway nobody has to leave out; an empty column may still be meant for results.
        let rows: String = (1..=12).map(|k| format!("{k},{},2026-05-{k:02},,\n", k % 3)).collect();
        std::fs::write(&pool, format!("no,heat,day,Yield,done by\n{rows}")).unwrap();
        let found = suspects(&StudyOptions { pool: pool.clone(), ..StudyOptions::default() }).unwrap();
        let said: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(said[0].starts_with("column \"no\" is a running number and is learned from"), "{said:?}");
        let empty = "column \"Yield\" is named like a result; if that is what you measure, add --value \"Yield\"";
        assert_eq!(said[1..], [empty], "{said:?}");
        // Units make a number no less a result, and a series is no running number.
        std::fs::write(&pool, "time,heat,got\n1 h,5,3 %\n2 h,5,\n3 h,9,\n4 h,8,\n5 h,1,\n").unwrap();
        assert_eq!(of(StudyOptions::default()), [("got".to_owned(), true)]);
    }
}

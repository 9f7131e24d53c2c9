//! Conditions on rows, as people type them: `temp < 100 and solvent != DMF`, `base in (K2CO3, "Cs2CO3")`, `not (a = 1 or b = 2)`.

mod parser;

use crate::error::{OrProblem, Result};
use crate::units;
use icee_base::names::nearest;
use icee_base::table::{Row, Table};
use icee_protocol::Problem;
use std::collections::{BTreeSet, HashMap};

/// Words of a column that a message shows, and among which a mistyped one is looked for.
const SHOWN: usize = 8;
const SEARCHED: usize = 200;

/// A word that does not occur in a column, the column, and words that do occur there.
pub type UnknownWord = (String, String, Vec<String>);

/// A condition on the cells of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    node: Node,
    /// The columns that it uses.
    columns: Vec<Column>,
}

/// The condition as a tree; columns by their places in its list.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Any(Vec<Node>),
    All(Vec<Node>),
    Not(Box<Node>),
    Compare { column: usize, comparison: Comparison, value: Value<String> },
    In { column: usize, values: Vec<Value<String>> },
}

/// A column and the unit in which its numbers, and those that they are compared with, may be written.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    place: usize,
    unit: Option<String>,
}

impl Column {
    fn value<T: AsRef<str>>(&self, table: &Table, text: T) -> Value<T> {
        Value { number: units::number(table, text.as_ref(), self.unit.as_deref()), text }
    }
}

/// A cell, or the text that it is compared with, and its number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value<T> {
    text: T,
    number: Option<f64>,
}

impl Value<&str> {
    /// Equal as numbers, where both are, or as texts.
    fn is(&self, value: &Value<String>) -> bool {
        match (self.number, value.number) {
            (Some(cell), Some(value)) => cell == value,
            _ => self.text == value.text,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Unequal,
}

impl Condition {
    /// Reads a condition on the rows of a table, of whose columns some have a unit.
    ///
    /// # Errors
    /// If it cannot be parsed, or names an unknown column.
    pub fn parse(text: &str, table: &Table, units: &HashMap<usize, String>) -> Result<Condition> {
        parser::parse(text, table, units).map_err(|fault| Problem::Condition { condition: beginning(text), fault })
    }

    /// Whether a row satisfies it.
    pub fn holds(&self, table: &Table, row: &Row<'_>) -> bool {
        self.node.holds(&self.cells(table, row))
    }

    /// The row's cells that the condition uses: each is parsed once, however often it is compared.
    fn cells<'r>(&self, table: &Table, row: &'r Row<'_>) -> Vec<Value<&'r str>> {
        self.columns.iter().map(|column| column.value(table, row.cell(column.place))).collect()
    }

    /// The first word that a column is compared with and that does not occur in it, and words that do.
    ///
    /// # Errors
    /// Where the table cannot be read any more.
    pub fn unknown_word(&self, table: &mut Table) -> Result<Option<UnknownWord>> {
        let mut unknown = Vec::new();
        self.node.equated(&mut unknown);
        let scanned = table.scan(|table, row| {
            let cells = self.cells(table, row);
            unknown.retain(|(column, value)| !cells[*column].is(value));
            Ok(())
        });
        scanned.or_problem()?;
        let Some((column, value)) = unknown.first() else { return Ok(None) };
        let (place, mut words) = (self.columns[*column].place, BTreeSet::new());
        let scanned = table.scan(|_, row| {
            let cell = row.cell(place);
            if words.len() < SEARCHED && cell.len() < SEARCHED && !words.contains(cell) {
                words.insert(cell.to_owned());
            }
            Ok(())
        });
        scanned.or_problem()?;
        let words = Vec::from_iter(words);
        let near = if value.text.len() < SEARCHED { nearest(&value.text, &words) } else { vec![] };
        let shown: Vec<&str> = if near.is_empty() { words.iter().map(String::as_str).collect() } else { near };
        let mut there: Vec<String> = shown.iter().take(SHOWN).map(|word| (*word).to_owned()).collect();
        there.extend((shown.len() > SHOWN).then(|| "…".to_owned()));
        Ok(Some((beginning(&value.text), table.header()[place].clone(), there)))
    }
}

/// A text for a message, which must also have room for the fault.
pub fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(SEARCHED).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

impl Node {
    /// The texts that must be equal for a row to satisfy it.
    fn equated<'a>(&'a self, found: &mut Vec<(usize, &'a Value<String>)>) {
        match self {
            Node::Any(nodes) | Node::All(nodes) => nodes.iter().for_each(|node| node.equated(found)),
            Node::In { column, values } => found.extend(values.iter().map(|value| (*column, value))),
            Node::Compare { column, comparison: Comparison::Equal, value } => found.push((*column, value)),
            Node::Not(_) | Node::Compare { .. } => {}
        }
    }

    fn holds(&self, cells: &[Value<&str>]) -> bool {
        match self {
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(cells)),
            Node::All(nodes) => nodes.iter().all(|node| node.holds(cells)),
            Node::Not(node) => !node.holds(cells),
            Node::In { column, values } => values.iter().any(|value| cells[*column].is(value)),
            Node::Compare { column, comparison, value } => {
                let cell = &cells[*column];
                let numbers = cell.number.zip(value.number);
                match comparison {
                    Comparison::Equal => cell.is(value),
                    Comparison::Unequal => !cell.is(value),
                    Comparison::Less => numbers.is_some_and(|(cell, value)| cell < value),
                    Comparison::AtMost => numbers.is_some_and(|(cell, value)| cell <= value),
                    Comparison::Greater => numbers.is_some_and(|(cell, value)| cell > value),
                    Comparison::AtLeast => numbers.is_some_and(|(cell, value)| cell >= value),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parser::MOST_VALUES;
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    const TABLE: &str = "temp,solvent,the base\n80,DMF,K2CO3\n120,THF,Cs2CO3\n,water,none\n100.0,DMF,K2CO3\n";

    fn rows(condition: &str) -> Result<Vec<usize>> {
        rows_of(TABLE, &HashMap::new(), condition)
    }

    fn rows_of(table: &str, units: &HashMap<usize, String>, condition: &str) -> Result<Vec<usize>> {
        let mut table = Table::of_bytes(Path::new("pool.csv"), table.into()).or_problem()?;
        let condition = Condition::parse(condition, &table, units)?;
        let mut found = Vec::new();
        let scanned = table.scan(|table, row| {
            found.extend(condition.holds(table, row).then_some(row.index + 1));
            Ok(())
        });
        scanned.or_problem().map(|()| found)
    }

    #[test]
    fn conditions_as_people_type_them() {
        for (condition, expected) in [
            ("temp < 100", vec![1]),
            ("temp<=100", vec![1, 4]),
            ("temp < 110 and solvent != DMF", vec![]),
            ("temp = 100", vec![4]),
            ("solvent in (THF, 'water')", vec![2, 3]),
            ("\"the base\" == K2CO3 OR solvent = water", vec![1, 3, 4]),
            ("not (solvent = DMF)", vec![2, 3]),
            ("temp > 0 or not temp > 0", vec![1, 2, 3, 4]),
            // and binds more tightly than or.
            ("solvent = THF or solvent = DMF and temp = 80", vec![1, 2]),
        ] {
            assert_eq!(rows(condition).unwrap(), expected, "{condition}");
        }
    }

    #[test]
    fn units_may_be_named_or_not() {
        const TABLE: &str = "temp,load\n80 C,1 mol %\n120C,2 mol %\n,3\n100,5 mol %\n";
        let units = HashMap::from([(0, "C".to_owned()), (1, "mol %".to_owned())]);
        let rows = |condition: &str| rows_of(TABLE, &units, condition);
        for (condition, expected) in [
            ("temp < 100", vec![1]),
            ("temp < 100 C", vec![1]),
            ("temp <= 100C and temp > 80 C", vec![4]),
            ("temp = \"120 C\" or temp = 80", vec![1, 2]),
            ("temp in (80 C, 100, 120C)", vec![1, 2, 4]),
            ("(load >= 2 mol %) and not load = 5 mol %", vec![2, 3]),
        ] {
            assert_eq!(rows(condition).unwrap(), expected, "{condition}");
        }
        for (condition, said) in [
            ("temp < 300 K", "\"300 K\": the column is in C"),
            ("temp < 300K", "\"300K\" is not a number, so nothing is less or greater; \"temp\" is in C"),
            ("load < 3 mol", "\"3 mol\": the column is in mol %"),
        ] {
            let error = rows(condition).unwrap_err().to_string();
            assert!(error.contains(said), "{condition}: {error}");
        }
    }

    #[test]
    fn names_with_blanks_and_signs_need_no_quotes_where_a_comparison_follows() {
        const TABLE: &str = "Pigment %,Pigment,Size (mm),Size in\n5,a,1,x\n15,b,2,y\n";
        let rows = |condition: &str| rows_of(TABLE, &HashMap::new(), condition);
        for (condition, expected) in [
            ("Pigment % < 10", vec![1]),
            ("Pigment %<10 or \"Pigment %\" > 10", vec![1, 2]),
            ("Pigment = b", vec![2]),
            ("not Size (mm) in (1) and Pigment in (a, b)", vec![2]),
            ("(Size in in (x))", vec![1]),
        ] {
            assert_eq!(rows(condition).unwrap(), expected, "{condition}");
        }
        for (condition, said) in [
            (
                "Pigmen % < 10",
                "Did you mean \"Pigment\"? Columns: Pigment %, Pigment, Size (mm), Size in. Put a name with blanks",
            ),
            (
                "Pigment % more < 10",
                "after \"Pigment\" comes a comparison: < <= > >= = != or in (a, b). Put a name with blanks",
            ),
        ] {
            let error = rows(condition).unwrap_err().to_string();
            assert!(error.contains(said), "{condition}: {error}");
        }
    }

    #[test]
    fn a_condition_has_only_so_many_values() {
        let many = |count: usize| format!("temp in ({})", vec!["80"; count].join(","));
        assert_eq!(rows(&many(MOST_VALUES)).unwrap(), [1]);
        for condition in [many(MOST_VALUES + 1), vec!["temp = 80"; MOST_VALUES + 1].join(" or ")] {
            let error = rows(&condition).unwrap_err().to_string();
            assert!(error.contains("more than 1000 values") && error.len() < 1000, "{error}");
        }
    }

    #[test]
    fn what_is_no_condition_is_answered() {
        for (condition, said) in [
            ("", "it ends where the name of a column should stand"),
            ("temp", "after \"temp\" comes a comparison"),
            ("temp < hot", "\"hot\" is not a number"),
            ("heat < 3", "no column \"heat\". Columns: temp, solvent, the base."),
            ("temp < 3 solvent = DMF", "\"solvent\" is one too many"),
            ("(temp < 3", "\")\" is missing at the end"),
            ("temp ! 3", "not a comparison"),
            ("solvent = \"DMF", "never closed"),
            ("temp < 3 and", "it ends where"),
            ("temp < 2,5", "a number is written with a point here, like 2.5"),
            ("solvent in DMF", "\"(\" should stand where \"DMF\" does"),
            (&"(".repeat(10_000), "too deep"),
        ] {
            let error = rows(condition).unwrap_err().to_string();
            assert!(error.contains(said), "{condition}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(condition in "[a-z(<>=!,\"' )and]{0,40}") {
            let _ = rows(&condition);
        }
    }
}

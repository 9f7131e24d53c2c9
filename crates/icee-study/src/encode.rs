//! From a pool's columns to coordinates in [0, 1].
//!
//! - A column of numbers is one coordinate, scaled by its lowest and highest number; by their logarithms where it is
//!   positive, spans three decades or more and lies mostly at the low end. Where cells are missing a second
//!   coordinate says so, and the first is put in the middle.
//!   Cells may name a unit, if it is the same in all of them.
//! - Any other column is categories: one coordinate for two of them, one each for more. Missing cells are a category.
//!   Only the 31 most frequent have a coordinate of their own where there are more than 32; the rest share one.
//! - A column that says nothing is left out: all cells equal, or text of which hardly any two cells are the same.
//!
//! The codes are fixed when a study is created, and are in its journal.

use crate::error::{OrProblem, Result, stored};
use crate::units;
use icee_base::hash::checksum;
use icee_base::math::ln;
use icee_base::table::{Row, Table, is_missing};
use icee_bo::columns::{self, Words};
use icee_protocol::Problem;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Coordinates of a row.
const MOST_COORDINATES: usize = 1024;

/// An input column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// How its cells become coordinates.
    pub code: Code,
}

/// How a user wants a column to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Numbers, by their logarithms.
    Log,
    /// Numbers, as they are.
    Linear,
    /// Categories, also where they are written as numbers.
    Categories,
}

/// How a column's cells become coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Code {
    /// Numbers between two ends.
    Number {
        /// The lowest, which becomes 0.
        low: f64,
        /// The highest, which becomes 1.
        high: f64,
        /// Whether logarithms are scaled.
        log: bool,
        /// Whether some cells are missing.
        missing: bool,
        /// The unit after the numbers, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Words.
    Category {
        /// Those with a coordinate of their own; the empty word means missing cells.
        levels: Vec<String>,
        /// Whether there are more, which share one more coordinate.
        others: bool,
    },
}

impl Code {
    /// The number of coordinates.
    pub fn width(&self) -> usize {
        match self {
            Code::Number { missing, .. } => 1 + usize::from(*missing),
            Code::Category { levels, others } => match levels.len() + usize::from(*others) {
                2 => 1,
                count => count,
            },
        }
    }

    /// In a few words, for a table of columns.
    pub fn describe(&self) -> String {
        match self {
            Code::Number { low, high, log, missing, unit } => {
                let unit = unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"));
                let scale = if *log { ", logarithmic" } else { "" };
                let gaps = if *missing { ", some missing" } else { "" };
                format!("number, {low} to {high}{unit}{scale}{gaps}")
            }
            Code::Category { levels, others } => {
                let gaps = levels.iter().any(String::is_empty);
                let count = levels.len() - usize::from(gaps);
                let count = match (others, count) {
                    (true, count) => format!("more than {count} categories"),
                    (false, 1) => "1 category".into(),
                    (false, count) => format!("{count} categories"),
                };
                if gaps { format!("{count}, some missing") } else { count }
            }
        }
    }

    /// What is lost on the way to coordinates; models that read cells lose nothing.
    pub fn lost(&self) -> Option<&'static str> {
        let rare = matches!(self, Code::Category { others: true, .. });
        rare.then_some(", the rarer ones taken for one")
    }

    /// The unit of its numbers.
    pub fn unit(&self) -> Option<&str> {
        match self {
            Code::Number { unit, .. } => unit.as_deref(),
            Code::Category { .. } => None,
        }
    }

    /// Whether the code can be used; it may come from a file.
    fn check(&self) -> std::result::Result<(), &'static str> {
        match self {
            Code::Number { low, high, log, .. } => {
                let sound = low.is_finite() && high.is_finite() && low < high && (high - low).is_finite();
                if sound && (!log || *low > 0.0) { Ok(()) } else { Err("its ends cannot be scaled") }
            }
            Code::Category { levels, .. } if levels.is_empty() => Err("it has no categories"),
            Code::Category { .. } => Ok(()),
        }
    }
}

/// Continues a checksum of cells: that of a number is the same however it is written.
pub fn cell_key(key: u64, table: &Table, cell: &str, unit: Option<&str>) -> u64 {
    match units::number(table, cell, unit) {
        // −0 is 0.
        Some(number) => checksum(key, &(number + 0.0).to_bits().to_le_bytes()),
        None => word_key(key, cell),
    }
}

fn word_key(key: u64, cell: &str) -> u64 {
    checksum(key, level_of(cell).as_bytes())
}

/// The category of a cell: all ways to write a missing value are one.
pub fn level_of(cell: &str) -> &str {
    if is_missing(cell) { "" } else { cell }
}

/// Turns rows into points, by codes that are known.
pub struct Encoder<'a> {
    columns: Vec<(usize, &'a Code, HashMap<&'a str, usize>)>,
    dimension: usize,
}

/// A pool's columns in the making, for models that read cells: numbers with missing values, and every word as it is.
pub struct Cells<'a> {
    columns: Vec<(&'a str, Collected)>,
}

enum Collected {
    Numbers(Vec<f64>),
    Words(Words),
}

impl Cells<'_> {
    /// The columns, known by their names.
    pub fn finish(self) -> Vec<columns::Column> {
        let column = |(name, cells)| match cells {
            Collected::Numbers(numbers) => columns::Column::numbers(columns::Column::key_of(name), &numbers),
            Collected::Words(words) => words.finish(),
        };
        self.columns.into_iter().map(column).collect()
    }
}

impl<'a> Encoder<'a> {
    /// An encoder of `table`'s rows.
    ///
    /// # Errors
    /// Where the table has no such columns, or a code makes no sense.
    pub fn new(table: &Table, columns: &'a [Column]) -> Result<Encoder<'a>> {
        let mut encoders = Vec::new();
        for Column { name, code } in columns {
            let wrong = |fault| stored("journal", format!("column \"{name}\" cannot be coded: {fault}"));
            code.check().map_err(wrong)?;
            let levels = match code {
                Code::Category { levels, .. } => {
                    levels.iter().enumerate().map(|(at, level)| (level.as_str(), at)).collect()
                }
                Code::Number { .. } => HashMap::new(),
            };
            encoders.push((table.column(name).or_problem()?, code, levels));
        }
        let dimension = columns.iter().map(|column| column.code.width()).sum();
        if !(1..=MOST_COORDINATES).contains(&dimension) {
            return Err(Problem::TooWide { coordinates: dimension, most: MOST_COORDINATES });
        }
        Ok(Encoder { columns: encoders, dimension })
    }

    /// The number of coordinates of a point.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The columns of these codes, without rows.
    pub fn cells(columns: &'a [Column]) -> Cells<'a> {
        let empty = |Column { name, code }: &'a Column| match code {
            Code::Number { .. } => (name.as_str(), Collected::Numbers(Vec::new())),
            Code::Category { .. } => (name.as_str(), Collected::Words(Words::new(name))),
        };
        Cells { columns: columns.iter().map(empty).collect() }
    }

    /// Appends a row's cells to the columns of the same codes.
    pub fn collect(&self, table: &Table, row: &Row<'_>, cells: &mut Cells<'_>) {
        for ((place, code, _), (_, column)) in self.columns.iter().zip(&mut cells.columns) {
            let cell = row.cell(*place);
            match column {
                Collected::Numbers(numbers) => {
                    let scaled = |x: f64| if matches!(code, Code::Number { log: true, .. }) { ln(x) } else { x };
                    numbers.push(units::number(table, cell, code.unit()).map_or(f64::NAN, scaled));
                }
                Collected::Words(words) => words.push((!is_missing(cell)).then_some(cell)),
            }
        }
    }

    /// A key of a row's input cells, however its numbers are written, with or without the unit: rows with the same
    /// cells have the same key.
    pub fn key(&self, table: &Table, row: &Row<'_>) -> u64 {
        self.columns.iter().fold(0, |key, (place, code, _)| match code {
            Code::Number { .. } => cell_key(key, table, row.cell(*place), code.unit()),
            Code::Category { .. } => word_key(key, row.cell(*place)),
        })
    }

    /// Appends a row's coordinates to `points`.
    pub fn encode(&self, table: &Table, row: &Row<'_>, points: &mut Vec<f64>) {
        for (place, code, known) in &self.columns {
            let cell = row.cell(*place);
            match code {
                Code::Number { low, high, log, missing, unit } => {
                    let number = units::number(table, cell, unit.as_deref());
                    let share = |x: f64| {
                        let [x, low, high] = if *log { [ln(x), ln(*low), ln(*high)] } else { [x, *low, *high] };
                        ((x - low) / (high - low)).clamp(0.0, 1.0)
                    };
                    points.push(number.map_or(0.5, share));
                    if *missing {
                        points.push(f64::from(u8::from(number.is_none())));
                    }
                }
                Code::Category { levels, .. } => {
                    let level = known.get(level_of(cell)).copied().unwrap_or(levels.len());
                    match code.width() {
                        // A word that is not among them, of an earlier study for example, has all coordinates 0.
                        1 if level >= levels.len() => points.push(0.5),
                        1 => points.push(level as f64),
                        width => points.extend((0..width).map(|at| f64::from(u8::from(at == level)))),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::{Survey, survey};
    use icee_protocol::{LeftOut, Mixed, Note};
    use std::path::Path;

    /// The survey and the points of a text.
    fn coded(text: &str) -> Result<(Survey, Vec<Vec<f64>>)> {
        let mut table = Table::of_bytes(Path::new("pool.csv"), text.as_bytes().to_vec()).or_problem()?;
        let places: Vec<usize> = (0..table.header().len()).collect();
        let survey = survey(&mut table, &places, &[])?;
        let mut points = Vec::new();
        let encoder = Encoder::new(&table, &survey.columns)?;
        let scanned = table.scan(|table, row| {
            encoder.encode(table, row, &mut points);
            Ok(())
        });
        scanned.or_problem()?;
        let points = points.chunks(encoder.dimension()).map(<[f64]>::to_vec).collect();
        Ok((survey, points))
    }

    #[test]
    fn numbers_words_and_gaps_become_coordinates() {
        let (survey, points) = coded("heat,flour,milk\n10,rye,\n20,wheat,1\n15,rye,3\n").unwrap();
        assert_eq!(points, [[0.0, 0.0, 0.5, 1.0], [1.0, 1.0, 0.0, 0.0], [0.5, 0.0, 1.0, 0.0]]);
        assert_eq!(survey.notes, []);
        let (_, points) = coded("flour\nrye\nwheat\nspelt\nrye\nNA\n").unwrap();
        let with_gap = coded("flour\nrye\nwheat\nNA\nrye\n").unwrap().0;
        assert_eq!(with_gap.columns[0].code.describe(), "2 categories, some missing");
        assert_eq!(points[0], [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(points[4], [0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_column_of_decades_is_logarithmic() {
        let (survey, points) = coded("rate\n0.0001\n0.001\n0.01\n0.1\n1\n").unwrap();
        assert_eq!(survey.columns[0].code.describe(), "number, 0.0001 to 1, logarithmic");
        assert!(points.iter().zip([0.0, 0.25, 0.5, 0.75, 1.0]).all(|(point, x)| (point[0] - x).abs() < 1e-12));
    }

    #[test]
    fn cells_may_name_their_unit() {
        let text = "heat;share;id;both\n20 C;1,5 %;1a;20 C\n;2%;2b;300 K\n100;4 %;3a;20 C\n";
        let (found, points) = coded(text).unwrap();
        let said: Vec<String> = found.columns.iter().map(|column| column.code.describe()).collect();
        assert_eq!(said, ["number, 20 to 100 C, some missing", "number, 1.5 to 4 %", "3 categories", "2 categories"]);
        assert_eq!(points[2], [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        let [note] = found.notes.as_slice() else { panic!("{:?}", found.notes) };
        let [first, second] = [("20 C".to_owned(), 2), ("300 K".to_owned(), 3)];
        assert_eq!(*note, Note::MixedUnits { column: "both".into(), first, second, used: true });
        // A letter may be a part of a name, unless every cell has it.
        for (cells, code) in [("7B\n8B\n9B", "number, 7 to 9 B"), ("7B\n8\n9B", "3 categories")] {
            assert_eq!(coded(&format!("a\n{cells}\n")).unwrap().0.columns[0].code.describe(), code);
        }
        // One word makes them words, with or without units.
        let notes = coded("heat\n20 C\n40 C\n60 C\nRT\n").unwrap().0.notes;
        let mixed = Mixed { column: "heat".into(), numbers: 3, word: ("RT".into(), 5), used: true };
        assert_eq!(notes[0], Note::MixedWords(mixed));
        assert_eq!(coded("kind\n1a\n1b\nx\n").unwrap().0.notes, []);
        let mut table = Table::of_bytes(Path::new("pool.csv"), "a\n20 C\n300 K\n".into()).unwrap();
        let error = survey(&mut table, &[0], &[("a".into(), Scale::Log)]).unwrap_err().to_string();
        assert!(error.contains("line 3: column \"a\" should be numbers and has \"300 K\""), "{error}");
    }

    #[test]
    fn a_code_without_a_unit_is_as_it_was() {
        let line = r#"{"number":{"low":1.0,"high":2.0,"log":false,"missing":false}}"#;
        let code: Code = serde_json::from_str(line).unwrap();
        assert_eq!((code.unit(), serde_json::to_string(&code).unwrap().as_str()), (None, line));
        // Without a recorded unit, 2 C is a word as before.
        let columns = [Column { name: "a".into(), code }];
        let mut table = Table::of_bytes(Path::new("pool.csv"), "a\n2\n2 C\n".into()).unwrap();
        let encoder = Encoder::new(&table, &columns).unwrap();
        let (mut points, mut keys) = (Vec::new(), Vec::new());
        let scanned = table.scan(|table, row| {
            encoder.encode(table, row, &mut points);
            keys.push(encoder.key(table, row));
            Ok(())
        });
        scanned.unwrap();
        assert_eq!((points, keys[1]), (vec![1.0, 0.5], checksum(0, b"2 C")));
    }

    #[test]
    fn a_share_among_percentages_is_pointed_out() {
        for (cells, is_noted) in [("5 %\n0.05\n7 %\n", true), ("5 %\n6\n7 %\n", false), ("5\n0.05\n7\n", false)] {
            let mut table = Table::of_bytes(Path::new("pool.csv"), format!("a\n{cells}").into()).unwrap();
            let notes = survey(&mut table, &[0], &[]).unwrap().notes;
            let (column, unit, cell) = ("a".to_owned(), "%".to_owned(), "0.05".to_owned());
            let share = Note::UnitAssumed { column, unit, cell, line: 3 };
            assert_eq!(notes.contains(&share), is_noted, "{notes:?}");
        }
    }

    #[test]
    fn what_says_nothing_is_left_out_and_what_is_odd_is_noted() {
        let rows: String = (0..40)
            .map(|k| format!("{k},7,name {k},,{}\n", if k == 3 { "hot".into() } else { (k % 5).to_string() }))
            .collect();
        let (survey, points) = coded(&format!("a,same,title,gap,mixed\n{rows}")).unwrap();
        let names: Vec<&str> = survey.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "mixed"]);
        assert_eq!(points[0].len(), 1 + 6);
        let left_out = |column: &str, why| Note::LeftOut { column: column.into(), why };
        for expected in [
            left_out("same", LeftOut::Constant),
            left_out("title", LeftOut::Names { words: 40, rows: 40 }),
            left_out("gap", LeftOut::Empty),
            Note::MixedWords(Mixed { column: "mixed".into(), numbers: 39, word: ("hot".into(), 5), used: true }),
        ] {
            assert!(survey.notes.contains(&expected), "{expected:?}: {:?}", survey.notes);
        }
        assert_eq!(coded("a\n1\n1\n").unwrap_err().code(), "no-inputs");
    }

    #[test]
    fn what_is_left_out_is_not_said_to_be_learned_from() {
        let rows: String = (0..12).map(|k| format!("{},{}.5.2026,name {k}\n", k % 5, k + 1)).collect();
        let (survey, _) = coded(&format!("a,day,who\n{rows}")).unwrap();
        assert!(!survey.notes.iter().any(|note| matches!(note, Note::Dates { .. })), "{:?}", survey.notes);
        // A note says what keeps the column from being an input.
        let rows: String =
            (0..12).map(|k| format!("{},{}\n", k % 5, if k == 3 { "?".into() } else { k.to_string() })).collect();
        let notes = coded(&format!("a,heat\n{rows}")).unwrap().0.notes;
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        let mixed = Mixed { column: "heat".into(), numbers: 11, word: ("?".into(), 5), used: false };
        assert_eq!(*note, Note::MixedWords(mixed));
    }

    #[test]
    fn lines_below_the_rows_are_pointed_out() {
        let rows: String = (0..18).map(|k| format!("{k},{},x,{}\n", k % 5, k % 3)).collect();
        let footers = |last: &str| coded(&format!("no,a,kind,b\n{rows}{last}")).unwrap().0.footers;
        let [remark, sum] = &footers("* proof in the fridge,,,\nTotal,99,x,1\n")[..] else { panic!() };
        assert_eq!(*remark, Note::Footer { line: 20, text: "* proof in the fridge".into() });
        assert_eq!(*sum, Note::Footer { line: 21, text: "Total".into() });
        assert!(footers("18,1,,2\n").is_empty());
        // If many rows have missing values, they are no sign of a remark; if many begin with such a word, it is one of
        // theirs.
        let gaps: String = (0..18).map(|k| format!("{k},,,{}\n", k % 3)).collect();
        assert!(coded(&format!("no,a,kind,b\n{gaps}18,1,x,\n")).unwrap().0.footers.is_empty());
        let means: String = (0..18).map(|k| format!("{},{k}\n", ["mean", "mode"][k % 2])).collect();
        assert!(coded(&format!("by,a\n{means}")).unwrap().0.footers.is_empty());
    }

    #[test]
    fn thousands_of_categories_share_a_coordinate() {
        let rows: String = (0..9000).map(|k| format!("c{}\n", (k % 3000).min(k % 7 * 400))).collect();
        let (survey, points) = coded(&format!("kind\n{rows}")).unwrap();
        assert!(matches!(&survey.columns[0].code, Code::Category { levels, others: true } if levels.len() == 31));
        assert_eq!(survey.columns[0].code.describe(), "more than 31 categories");
        assert!(points.iter().all(|point| point.len() == 32 && point.iter().sum::<f64>() == 1.0));
    }

    #[test]
    fn codes_from_a_file_are_not_trusted() {
        let table = Table::of_bytes(Path::new("pool.csv"), b"a\n1\n2\n".to_vec()).unwrap();
        let number = |low, high, log| Code::Number { low, high, log, missing: false, unit: None };
        for code in [
            number(1.0, 1.0, false),
            number(-1.0, 1.0, true),
            number(f64::NAN, 1.0, false),
            Code::Category { levels: vec![], others: true },
        ] {
            assert!(Encoder::new(&table, &[Column { name: "a".into(), code }]).is_err());
        }
        assert!(Encoder::new(&table, &[Column { name: "b".into(), code: number(0.0, 1.0, false) }]).is_err());
        assert!(Encoder::new(&table, &[]).is_err());
    }
}

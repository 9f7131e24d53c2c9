//! Numbers with a unit: `20 C`, `2 %`, `0.5mol`.
//!
//! A cell alone does not show whether `7B` is seven B or a name; its column does. So a column is looked at as a whole
//! ([`Units`]), and its unit is passed to later readers of its cells ([`number`]).

use icee_base::table::{Table, is_missing};

/// Characters of a unit.
const LONGEST: usize = 20;
/// Different units of one column that are recorded; more add nothing.
const MOST: usize = 3;
/// Signs that a unit may begin with, beside letters.
const FIRST: &str = "%‰°′″€$£";
/// Signs that may follow, beside those, letters, and digits as exponents.
const LATER: &str = "/·*^-−⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹";
/// Words in place of a value that are not units.
const NO_UNITS: [&str; 2] = [crate::values::FAILED, crate::values::IMPOSSIBLE];

/// The content of a cell, as far as the cell alone shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Missing,
    /// A number.
    Number(f64),
    /// A number, and what may be its unit.
    Quantity(f64, Unit<'a>),
    /// Anything else.
    Word,
}

/// The text after a number in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    pub text: &'a str,
    /// One letter right behind the number, as in a name: a unit only where all cells of the column have it.
    pub doubtful: bool,
}

impl<'a> Cell<'a> {
    /// Reads a cell in a table's notation.
    pub fn read(table: &Table, cell: &'a str) -> Cell<'a> {
        match table.number(cell) {
            Some(number) => Cell::Number(number),
            None if is_missing(cell) => Cell::Missing,
            None => quantity(table, cell).map_or(Cell::Word, |(number, unit)| Cell::Quantity(number, unit)),
        }
    }
}

/// The number in a cell of a column whose unit is known; the cell need not name it.
pub fn number(table: &Table, cell: &str, unit: Option<&str>) -> Option<f64> {
    let plain = table.number(cell);
    match unit {
        Some(unit) if plain.is_none() => {
            quantity(table, cell).filter(|(_, is)| is.text == unit).map(|(number, _)| number)
        }
        _ => plain,
    }
}

/// A number followed by what may be a unit.
fn quantity<'a>(table: &Table, cell: &'a str) -> Option<(f64, Unit<'a>)> {
    let (digits, rest) = cell.split_at(length_of_number(cell)?);
    let text = rest.trim_start();
    let letter = text.len() == rest.len() && is_one_letter(text);
    is_unit(text).then_some(())?;
    Some((table.number(digits)?, Unit { text, doubtful: letter }))
}

/// Where the number that a text begins with ends.
fn length_of_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let is = |at: usize, any: &[u8]| bytes.get(at).is_some_and(|byte| any.contains(byte));
    let mut end = usize::from(is(0, b"+-"));
    let whole = digits(end);
    end += whole;
    if is(end, b".,") && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    } else if whole == 0 {
        return None;
    }
    // 2eV has no exponent, and 2e3V has one.
    let sign = usize::from(is(end, b"eE") && is(end + 1, b"+-"));
    if is(end, b"eE") && digits(end + 1 + sign) > 0 {
        end += 1 + sign + digits(end + 1 + sign);
    }
    Some(end)
}

fn is_one_letter(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
}

/// Whether a text can be a unit: one or two words such as `g/L`, `m2`, `s-1` or `mol %`.
pub(crate) fn is_unit(text: &str) -> bool {
    let words = text.split_whitespace();
    let few = (1..=2).contains(&words.clone().count());
    let short = text.len() <= 4 * LONGEST && text.chars().count() <= LONGEST;
    let known = NO_UNITS.iter().any(|word| text.eq_ignore_ascii_case(word));
    // 0x10 and 2 e3 are numbers in another notation.
    let digits = text.strip_prefix(['x', 'X', 'e', 'E']).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
    let number = digits && text.len() > 1;
    short && few && !known && !number && words.clone().all(is_unit_word)
}

fn is_unit_word(word: &str) -> bool {
    let begins = |c: char| c.is_alphabetic() || FIRST.contains(c);
    let mut before = None;
    word.chars().all(|c| {
        let sound = match before {
            None => begins(c),
            // An exponent follows a letter or a sign of its own: in D/3D there is none.
            Some(before) if c.is_ascii_digit() => char::is_alphanumeric(before) || "^-−".contains(before),
            Some(_) => begins(c) || LATER.contains(c),
        };
        before = Some(c);
        sound
    })
}

/// The units in a column.
#[derive(Debug, Default)]
pub struct Units {
    /// The first cell with each of the first few.
    seen: Vec<Sight>,
    /// Whether a cell certainly has a unit.
    certain: bool,
    /// The first number without one, and its line.
    plain: Option<(usize, String)>,
}

/// A cell and the unit in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    pub unit: String,
    pub line: usize,
    pub cell: String,
}

/// Why the numbers of a column have no common unit.
#[derive(Debug, PartialEq, Eq)]
pub enum Trouble<'a> {
    /// Two cells have different ones.
    Differ(&'a Sight, &'a Sight),
    /// All have a letter that may not be a unit, except for a number that stands alone in that line.
    Doubtful(&'a Sight, usize),
}

impl Units {
    /// Takes note of a cell.
    pub fn see(&mut self, line: usize, text: &str, cell: &Cell<'_>) {
        match cell {
            Cell::Number(_) => drop(self.plain.get_or_insert_with(|| (line, text.to_owned()))),
            Cell::Quantity(_, unit) => {
                self.certain |= !unit.doubtful;
                if self.seen.len() < MOST && self.seen.iter().all(|sight| sight.unit != unit.text) {
                    self.seen.push(Sight { unit: unit.text.to_owned(), line, cell: text.to_owned() });
                }
            }
            Cell::Missing | Cell::Word => {}
        }
    }

    /// The unit of all numbers, if they have one.
    ///
    /// # Errors
    /// Where they cannot be numbers of one column.
    pub fn common(&self) -> Result<Option<&str>, Trouble<'_>> {
        match (self.seen.as_slice(), &self.plain) {
            ([first, second, ..], _) => Err(Trouble::Differ(first, second)),
            ([first], Some((line, _))) if !self.certain => Err(Trouble::Doubtful(first, *line)),
            (seen, _) => Ok(seen.first().map(|sight| sight.unit.as_str())),
        }
    }

    /// The first cell with a unit.
    pub fn first(&self) -> Option<&Sight> {
        self.seen.first()
    }

    /// The first number without one, and its line.
    pub fn plain(&self) -> Option<&(usize, String)> {
        self.plain.as_ref()
    }

    /// Whether there is one unit for certain.
    pub fn is_one(&self) -> bool {
        self.certain && self.seen.len() == 1
    }

    /// Two cells with different units, if they look like units rather than like parts of names: there are few, and they
    /// are written like units.
    pub fn mixed(&self) -> Option<(&Sight, &Sight)> {
        match self.seen.as_slice() {
            [first, second] if self.certain => Some((first, second)),
            _ => None,
        }
    }

    /// The first cell that cannot be in a column of numbers.
    pub fn first_odd(&self) -> Option<(usize, &str)> {
        let sight = match self.common() {
            Ok(_) => return None,
            Err(Trouble::Differ(_, sight) | Trouble::Doubtful(sight, _)) => sight,
        };
        Some((sight.line, sight.cell.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    fn table(header: &str) -> Table {
        Table::of_bytes(Path::new("pool.csv"), header.into()).unwrap()
    }

    #[test]
    fn numbers_units_and_names_are_told_apart() {
        let table = table("a,b\n");
        for (cell, number, unit) in [
            ("20 C", 20.0, "C"),
            ("2 %", 2.0, "%"),
            ("50%", 50.0, "%"),
            ("0.5mol", 0.5, "mol"),
            ("-3 °C", -3.0, "°C"),
            ("1e5 Pa", 1e5, "Pa"),
            ("2eV", 2.0, "eV"),
            ("7 g/L", 7.0, "g/L"),
            ("7 m2", 7.0, "m2"),
            (".5 s-1", 0.5, "s-1"),
            ("3 m·s⁻²", 3.0, "m·s⁻²"),
            ("5 mol %", 5.0, "mol %"),
            ("4\u{a0}µL", 4.0, "µL"),
        ] {
            assert_eq!(
                Cell::read(&table, cell),
                Cell::Quantity(number, Unit { text: unit, doubtful: false }),
                "{cell}"
            );
        }
        for (cell, number, unit) in [("1a", 1.0, "a"), ("10x", 10.0, "x"), ("7B", 7.0, "B"), ("5e", 5.0, "e")] {
            assert_eq!(Cell::read(&table, cell), Cell::Quantity(number, Unit { text: unit, doubtful: true }), "{cell}");
        }
        for cell in [
            "3-methyl",
            "2,4-D",
            "5 of 6",
            "2024-05-01",
            "12:30",
            "5/6",
            "10^5",
            "1.2.3",
            "1 000",
            "5±1",
            "4-5 h",
            "hot",
            "x 5",
            "C",
            "-",
            "+ C",
            "3 failed",
            "5 (approx)",
            "2D/3D",
            "1,5 mol",
            "1e999 K",
            "3 one two three",
            "5 aaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(Cell::read(&table, cell), Cell::Word, "{cell}");
        }
        assert_eq!(Cell::read(&table, "1e5"), Cell::Number(1e5));
        assert_eq!(Cell::read(&table, "n/a"), Cell::Missing);
    }

    #[test]
    fn a_decimal_comma_goes_with_a_unit() {
        let table = table("a;b\n");
        assert_eq!(number(&table, "1,5 mol", Some("mol")), Some(1.5));
        assert_eq!(Cell::read(&table, "2,4-D"), Cell::Word);
    }

    #[test]
    fn who_knows_the_unit_reads_cells_with_and_without_it() {
        let table = table("a,b\n");
        for (cell, unit, expected) in [
            ("20 C", Some("C"), Some(20.0)),
            ("20C", Some("C"), Some(20.0)),
            ("20", Some("C"), Some(20.0)),
            ("20 K", Some("C"), None),
            ("20 C", None, None),
            ("20", None, Some(20.0)),
            ("", Some("C"), None),
        ] {
            assert_eq!(number(&table, cell, unit), expected, "{cell} {unit:?}");
        }
    }

    #[test]
    fn a_column_has_one_unit_or_none() {
        let table = table("a,b\n");
        let of = |cells: &[&str]| {
            let mut units = Units::default();
            cells.iter().enumerate().for_each(|(at, cell)| units.see(at + 2, cell, &Cell::read(&table, cell)));
            (units.common().ok().map(|unit| unit.map(str::to_owned)), units.mixed().is_some())
        };
        assert_eq!(of(&["20 C", "", "30"]), (Some(Some("C".into())), false));
        assert_eq!(of(&["20C", "NA", "30C"]), (Some(Some("C".into())), false));
        assert_eq!(of(&["1", "2"]), (Some(None), false));
        assert_eq!(of(&["20C", "30"]), (None, false));
        assert_eq!(of(&["20C", "30", "40 C"]), (Some(Some("C".into())), false));
        assert_eq!(of(&["20 C", "300 K", "20 C"]), (None, true));
        assert_eq!(of(&["1a", "1b", "2a"]), (None, false));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(cell in "[0-9.,eE+ a°%µ/^-]{0,12}", text in ".{0,12}") {
            let table = table("a;b\n");
            for text in [cell, text] {
                if let Cell::Quantity(found, unit) = Cell::read(&table, text.trim()) {
                    prop_assert_eq!(number(&table, text.trim(), Some(unit.text)), Some(found));
                }
            }
        }
    }
}

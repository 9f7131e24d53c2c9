//! Conditions on rows, as people type them: `temp < 100 and solvent != DMF`, `base in (K2CO3, "Cs2CO3")`, `not (a = 1 or b = 2)`.

use crate::{Error, Result, units};
use icee_base::names::nearest;
use icee_base::table::{Row, Table};
use std::collections::{BTreeSet, HashMap};

/// How deep brackets and nots may stand in each other.
const DEEPEST: usize = 64;
/// Words of a column that a message shows, and among which a mistyped one is looked for.
const SHOWN: usize = 8;
const SEARCHED: usize = 200;

/// A condition on the cells of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Any(Vec<Node>),
    All(Vec<Node>),
    Not(Box<Node>),
    Compare { column: Column, comparison: Comparison, value: String },
    In { column: Column, values: Vec<String> },
}

/// A column and the unit in which its numbers, and those that they are compared with, may be written.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    place: usize,
    unit: Option<String>,
}

impl Column {
    fn number(&self, table: &Table, text: &str) -> Option<f64> {
        units::number(table, text, self.unit.as_deref())
    }

    /// Equal as numbers, where both are, or as texts.
    fn equal(&self, table: &Table, cell: &str, value: &str) -> bool {
        match (self.number(table, cell), self.number(table, value)) {
            (Some(cell), Some(value)) => cell == value,
            _ => cell == value,
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
    /// Where it is none, or names a column that is not there.
    pub fn parse(text: &str, table: &Table, units: &HashMap<usize, String>) -> Result<Condition> {
        let wrong = |problem: String| Error::Study(format!("--where \"{text}\": {problem}"));
        let tokens = tokens(text).map_err(wrong)?;
        let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, table, units };
        let node = parser.any().map_err(wrong)?;
        match parser.tokens.get(parser.at) {
            None => Ok(Condition(node)),
            Some(Token::Comma) if parser.is_decimal_comma() => {
                Err(wrong("a number is written with a point here, like 2.5".into()))
            }
            Some(token) => Err(wrong(format!("{} is one too many; join conditions by and, or", token.shown()))),
        }
    }

    /// Whether a row satisfies it.
    pub fn holds(&self, table: &Table, row: &Row<'_>) -> bool {
        self.0.holds(table, row)
    }

    /// The first word that a column is compared with and that stands nowhere in it, and what does.
    ///
    /// # Errors
    /// Where the table cannot be read any more.
    pub fn unknown_word(&self, table: &mut Table) -> Result<Option<String>> {
        let mut compared = Vec::new();
        self.0.equated(&mut compared);
        for (column, value) in compared {
            let (mut is_known, mut words) = (false, BTreeSet::new());
            table.scan(|table, row| {
                let cell = row.cell(column.place);
                is_known |= column.equal(table, cell, value);
                if words.len() < SEARCHED && cell.len() < SEARCHED && !words.contains(cell) {
                    words.insert(cell.to_owned());
                }
                Ok(())
            })?;
            if !is_known {
                let words = Vec::from_iter(words);
                let near = nearest(value, &words);
                let shown: Vec<&str> = if near.is_empty() { words.iter().map(String::as_str).collect() } else { near };
                let more = if shown.len() > SHOWN { ", …" } else { "" };
                let shown = shown.into_iter().take(SHOWN).collect::<Vec<_>>().join(", ");
                let name = &table.header()[column.place];
                return Ok(Some(format!("\"{value}\" stands nowhere in \"{name}\", which has {shown}{more}")));
            }
        }
        Ok(None)
    }
}

impl Node {
    /// What must be equal for a row to satisfy it.
    fn equated<'a>(&'a self, found: &mut Vec<(&'a Column, &'a str)>) {
        match self {
            Node::Any(nodes) | Node::All(nodes) => nodes.iter().for_each(|node| node.equated(found)),
            Node::In { column, values } => found.extend(values.iter().map(|value| (column, value.as_str()))),
            Node::Compare { column, comparison: Comparison::Equal, value } => found.push((column, value)),
            Node::Not(_) | Node::Compare { .. } => {}
        }
    }

    fn holds(&self, table: &Table, row: &Row<'_>) -> bool {
        match self {
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(table, row)),
            Node::All(nodes) => nodes.iter().all(|node| node.holds(table, row)),
            Node::Not(node) => !node.holds(table, row),
            Node::In { column, values } => {
                values.iter().any(|value| column.equal(table, row.cell(column.place), value))
            }
            Node::Compare { column, comparison, value } => {
                let cell = row.cell(column.place);
                let numbers = column.number(table, cell).zip(column.number(table, value));
                match comparison {
                    Comparison::Equal => column.equal(table, cell, value),
                    Comparison::Unequal => !column.equal(table, cell, value),
                    Comparison::Less => numbers.is_some_and(|(cell, value)| cell < value),
                    Comparison::AtMost => numbers.is_some_and(|(cell, value)| cell <= value),
                    Comparison::Greater => numbers.is_some_and(|(cell, value)| cell > value),
                    Comparison::AtLeast => numbers.is_some_and(|(cell, value)| cell >= value),
                }
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name, a number, or `and`, `or`, `not`, `in`.
    Word(String),
    /// In quotes: never one of those words.
    Text(String),
    Comparison(Comparison),
    Open,
    Close,
    Comma,
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Token::Word(word) | Token::Text(word) => format!("\"{word}\""),
            Token::Comparison(_) => "a comparison".into(),
            Token::Open => "\"(\"".into(),
            Token::Close => "\")\"".into(),
            Token::Comma => "\",\"".into(),
        }
    }
}

fn tokens(text: &str) -> std::result::Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '"' | '\'' => {
                let inside = &rest[1..];
                let end = inside.find(first).ok_or("a quote is opened and never closed")?;
                (Token::Text(inside[..end].to_owned()), end + 2)
            }
            '<' | '>' | '=' | '!' => comparison(rest)?,
            _ => {
                let ends = |c: char| c.is_whitespace() || "()<>=!,\"'".contains(c);
                let end = rest.find(ends).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn comparison(rest: &str) -> std::result::Result<(Token, usize), String> {
    const ALL: [(&str, Comparison); 8] = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("!=", Comparison::Unequal),
        ("<>", Comparison::Unequal),
        ("==", Comparison::Equal),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("=", Comparison::Equal),
    ];
    let found = ALL.iter().find(|(sign, _)| rest.starts_with(sign));
    found
        .map(|(sign, comparison)| (Token::Comparison(*comparison), sign.len()))
        .ok_or_else(|| "\"!\" alone is no comparison; there are < <= > >= = !=".into())
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    table: &'a Table,
    units: &'a HashMap<usize, String>,
}

type Parsed<T> = std::result::Result<T, String>;

impl Parser<'_> {
    /// Whether the comma at hand stands between two numbers: 2,5.
    fn is_decimal_comma(&self) -> bool {
        let is_number = |at: usize| match self.tokens.get(at) {
            Some(Token::Word(word)) => self.table.number(word).is_some(),
            _ => false,
        };
        is_number(self.at.wrapping_sub(1)) && is_number(self.at + 1)
    }

    fn next_is(&mut self, word: &str) -> bool {
        let is = matches!(self.tokens.get(self.at), Some(Token::Word(next)) if next.eq_ignore_ascii_case(word));
        self.at += usize::from(is);
        is
    }

    fn any(&mut self) -> Parsed<Node> {
        let mut nodes = vec![self.all()?];
        while self.next_is("or") {
            nodes.push(self.all()?);
        }
        Ok(Node::Any(nodes))
    }

    fn all(&mut self) -> Parsed<Node> {
        let mut nodes = vec![self.one()?];
        while self.next_is("and") {
            nodes.push(self.one()?);
        }
        Ok(Node::All(nodes))
    }

    fn one(&mut self) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("brackets stand too deep in each other".into());
        }
        let node = if self.next_is("not") {
            Node::Not(Box::new(self.one()?))
        } else if self.tokens.get(self.at) == Some(&Token::Open) {
            self.at += 1;
            let node = self.any()?;
            self.expect(&Token::Close)?;
            node
        } else {
            self.compared()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn compared(&mut self) -> Parsed<Node> {
        let name = self.word("the name of a column")?;
        let place = self.table.column(&name).map_err(|error| error.to_string())?;
        let column = Column { place, unit: self.units.get(&place).cloned() };
        if self.next_is("in") {
            self.expect(&Token::Open)?;
            let mut values = vec![self.value(&column)?];
            while self.tokens.get(self.at) == Some(&Token::Comma) {
                self.at += 1;
                values.push(self.value(&column)?);
            }
            self.expect(&Token::Close)?;
            return Ok(Node::In { column, values });
        }
        let Some(Token::Comparison(comparison)) = self.tokens.get(self.at).cloned() else {
            return Err(format!("after \"{name}\" comes a comparison: < <= > >= = != or in (a, b)"));
        };
        self.at += 1;
        let value = self.value(&column)?;
        let ordered = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
        if ordered && column.number(self.table, &value).is_none() {
            let unit = column.unit.map_or_else(String::new, |unit| format!("; \"{name}\" is in {unit}"));
            return Err(format!("\"{value}\" is not a number, so nothing is less or greater{unit}"));
        }
        Ok(Node::Compare { column, comparison, value })
    }

    /// A value that a column is compared with. The words of its unit may follow.
    fn value(&mut self, column: &Column) -> Parsed<String> {
        let value = self.word("a value")?;
        if let Some(unit) = column.unit.as_ref().filter(|_| self.table.number(&value).is_some()) {
            let words: Vec<&str> = unit.split_whitespace().collect();
            let next = self.tokens.get(self.at..self.at + words.len()).unwrap_or_default();
            let is = |(token, word): (&Token, &&str)| matches!(token, Token::Word(next) if next == word);
            let named = !next.is_empty() && next.iter().zip(&words).all(is);
            self.at += if named { words.len() } else { 0 };
            let other = |next: &String| !["and", "or"].iter().any(|word| next.eq_ignore_ascii_case(word));
            if let Some(Token::Word(next)) = self.tokens.get(self.at).filter(|_| !named)
                && other(next)
            {
                return Err(format!("\"{value} {next}\": the column is in {unit}; join conditions by and, or"));
            }
        }
        Ok(value)
    }

    fn word(&mut self, what: &str) -> Parsed<String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word) | Token::Text(word)) => {
                self.at += 1;
                Ok(word.clone())
            }
            Some(token) => Err(format!("{what} should stand where {} does", token.shown())),
            None => Err(format!("it ends where {what} should stand")),
        }
    }

    fn expect(&mut self, token: &Token) -> Parsed<()> {
        match self.tokens.get(self.at) {
            Some(next) if next == token => {
                self.at += 1;
                Ok(())
            }
            Some(next) => Err(format!("{} should stand where {} does", token.shown(), next.shown())),
            None => Err(format!("{} is missing at the end", token.shown())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    const TABLE: &str = "temp,solvent,the base\n80,DMF,K2CO3\n120,THF,Cs2CO3\n,water,none\n100.0,DMF,K2CO3\n";

    fn rows(condition: &str) -> Result<Vec<usize>> {
        rows_of(TABLE, &HashMap::new(), condition)
    }

    fn rows_of(table: &str, units: &HashMap<usize, String>, condition: &str) -> Result<Vec<usize>> {
        let mut table = Table::of_bytes(Path::new("pool.csv"), table.into())?;
        let condition = Condition::parse(condition, &table, units)?;
        let mut found = Vec::new();
        table.scan(|table, row| {
            found.extend(condition.holds(table, row).then_some(row.index + 1));
            Ok(())
        })?;
        Ok(found)
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
    fn what_is_no_condition_is_answered() {
        for (condition, said) in [
            ("", "it ends where the name of a column should stand"),
            ("temp", "after \"temp\" comes a comparison"),
            ("temp < hot", "\"hot\" is not a number"),
            ("heat < 3", "no column \"heat\"; there are temp, solvent, the base"),
            ("temp < 3 solvent = DMF", "\"solvent\" is one too many"),
            ("(temp < 3", "\")\" is missing at the end"),
            ("temp ! 3", "no comparison"),
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

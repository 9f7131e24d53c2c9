//! From what people type to a [`Condition`].

use super::{Column, Comparison, Condition, Node, Value, beginning};
use icee_base::table::{Table, TableError};
use std::collections::HashMap;

/// How deep brackets and `not`s may be nested.
const DEEPEST: usize = 64;
/// Values that a condition compares with: each is compared with a cell of every row.
pub const MOST_VALUES: usize = 1000;

/// Parses a condition, or says what is wrong with it.
pub fn parse(text: &str, table: &Table, units: &HashMap<usize, String>) -> Parsed<Condition> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0, values: 0, table, units, columns: vec![] };
    let node = parser.any()?;
    match parser.next() {
        None => Ok(Condition { node, columns: parser.columns }),
        Some(Token::Comma) if parser.is_decimal_comma() => {
            Err("a number is written with a point here, like 2.5".into())
        }
        Some(token) => Err(format!("{} is one too many. Join conditions by and, or", token.shown())),
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

/// A token and its place in the text: from and to.
type Placed = (Token, usize, usize);

/// The fault of an unknown column. A condition is typed: it has no line, and not every face may see where the sheet is.
fn missing(error: TableError) -> String {
    match error {
        TableError::Content { problems, .. } => {
            problems.join(" ").trim_start_matches("line 1: ").trim_end_matches('.').to_owned()
        }
        error => error.to_string(),
    }
}

fn tokens(text: &str) -> Result<Vec<Placed>, String> {
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
        let from = text.len() - rest.len();
        tokens.push((token, from, from + length));
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn comparison(rest: &str) -> Result<(Token, usize), String> {
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
        .ok_or_else(|| "\"!\" alone is not a comparison. Use < <= > >= = !=".into())
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Placed],
    at: usize,
    depth: usize,
    /// Values so far.
    values: usize,
    table: &'a Table,
    units: &'a HashMap<usize, String>,
    /// Columns named so far.
    columns: Vec<Column>,
}

type Parsed<T> = Result<T, String>;

impl<'a> Parser<'a> {
    fn token(&self, at: usize) -> Option<&'a Token> {
        self.tokens.get(at).map(|(token, ..)| token)
    }

    fn next(&self) -> Option<&'a Token> {
        self.token(self.at)
    }

    /// Whether this comma is between two numbers: 2,5.
    fn is_decimal_comma(&self) -> bool {
        let is_number = |at: usize| match self.token(at) {
            Some(Token::Word(word)) => self.table.number(word).is_some(),
            _ => false,
        };
        is_number(self.at.wrapping_sub(1)) && is_number(self.at + 1)
    }

    fn next_is(&mut self, word: &str) -> bool {
        let is = matches!(self.next(), Some(Token::Word(next)) if next.eq_ignore_ascii_case(word));
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
        } else if self.next() == Some(&Token::Open) {
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

    /// The column whose name begins here, quoted or not: of several names without quotes, the longest that a comparison
    /// follows.
    fn column(&mut self) -> Parsed<String> {
        if let Some((Token::Word(_), from, _)) = self.tokens.get(self.at) {
            let begins = |name: &&String| !name.is_empty() && self.text[*from..].starts_with(name.as_str());
            let names = self.table.header().iter().filter(begins);
            let ended = names.filter_map(|name| Some((self.compared_behind(from + name.len())?, name)));
            if let Some((next, name)) = ended.max_by_key(|(_, name)| name.len()) {
                self.at = next;
                return Ok(name.clone());
            }
        }
        self.word("the name of a column")
    }

    /// The place of a comparison, if the text before it ends there.
    fn compared_behind(&self, end: usize) -> Option<usize> {
        let next = self.tokens.partition_point(|(_, from, _)| *from < end);
        let name = self.tokens.get(self.at..next)?;
        let is_whole = name.last().is_some_and(|(.., to)| *to <= end);
        let is_name = name.iter().all(|(token, ..)| !matches!(token, Token::Comparison(_)));
        (is_whole && is_name && self.is_compared(next)).then_some(next)
    }

    /// Whether a comparison begins there.
    fn is_compared(&self, at: usize) -> bool {
        match self.token(at) {
            Some(Token::Comparison(_)) => true,
            Some(Token::Word(word)) => word.eq_ignore_ascii_case("in") && self.token(at + 1) == Some(&Token::Open),
            _ => false,
        }
    }

    fn compared(&mut self) -> Parsed<Node> {
        let name = self.column()?;
        let hint = match self.next() {
            Some(_) if !self.is_compared(self.at) => {
                ". Put a name with blanks or signs in quotes, like \"size (%)\" < 3"
            }
            _ => "",
        };
        let place = self.table.column(&name).map_err(|error| missing(error) + hint)?;
        let known = self.columns.iter().position(|column| column.place == place);
        let at = known.unwrap_or(self.columns.len());
        let column = Column { place, unit: self.units.get(&place).cloned() };
        if known.is_none() {
            self.columns.push(column.clone());
        }
        if self.next_is("in") {
            self.expect(&Token::Open)?;
            let mut values = vec![self.value(&column)?];
            while self.next() == Some(&Token::Comma) {
                self.at += 1;
                values.push(self.value(&column)?);
            }
            self.expect(&Token::Close)?;
            return Ok(Node::In { column: at, values });
        }
        let Some(Token::Comparison(comparison)) = self.next().cloned() else {
            return Err(format!("after \"{name}\" comes a comparison: < <= > >= = != or in (a, b){hint}"));
        };
        self.at += 1;
        let value = self.value(&column)?;
        let ordered = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
        if ordered && value.number.is_none() {
            let unit = column.unit.map_or_else(String::new, |unit| format!("; \"{name}\" is in {unit}"));
            let value = beginning(&value.text);
            return Err(format!("\"{value}\" is not a number, so nothing is less or greater{unit}"));
        }
        Ok(Node::Compare { column: at, comparison, value })
    }

    /// A value that a column is compared with. The words of its unit may follow.
    fn value(&mut self, column: &Column) -> Parsed<Value<String>> {
        let value = self.word("a value")?;
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(format!("there are more than {MOST_VALUES} values. Ask for fewer at once"));
        }
        if let Some(unit) = column.unit.as_ref().filter(|_| self.table.number(&value).is_some()) {
            let words: Vec<&str> = unit.split_whitespace().collect();
            let next = self.tokens.get(self.at..self.at + words.len()).unwrap_or_default();
            let is = |((token, ..), word): (&Placed, &&str)| matches!(token, Token::Word(next) if next == word);
            let named = !next.is_empty() && next.iter().zip(&words).all(is);
            self.at += if named { words.len() } else { 0 };
            let other = |next: &String| !["and", "or"].iter().any(|word| next.eq_ignore_ascii_case(word));
            if let Some(Token::Word(next)) = self.next().filter(|_| !named)
                && other(next)
            {
                return Err(format!("\"{value} {next}\": the column is in {unit}. Join conditions by and, or"));
            }
        }
        Ok(column.value(self.table, value))
    }

    fn word(&mut self, what: &str) -> Parsed<String> {
        match self.next() {
            Some(Token::Word(word) | Token::Text(word)) => {
                self.at += 1;
                Ok(word.clone())
            }
            Some(token) => Err(format!("{what} should stand where {} does", token.shown())),
            None => Err(format!("it ends where {what} should stand")),
        }
    }

    fn expect(&mut self, token: &Token) -> Parsed<()> {
        match self.next() {
            Some(next) if next == token => {
                self.at += 1;
                Ok(())
            }
            Some(next) => Err(format!("{} should stand where {} does", token.shown(), next.shown())),
            None => Err(format!("{} is missing at the end", token.shown())),
        }
    }
}

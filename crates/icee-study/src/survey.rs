//! The content of a pool's columns, and how each is to be coded.

use crate::encode::{Code, Column, Scale, level_of};
use crate::error::{OrProblem, Result, shown};
use crate::footer::Tail;
use crate::units::{Cell, Units, is_unit};
use icee_base::table::Table;
use icee_protocol::{LeftOut, Mixed, Note, Problem};
use std::collections::HashMap;

/// Categories of one column that have a coordinate of their own.
const MOST_LEVELS: usize = 32;
/// From how many rows on texts that are all different cannot be an input.
const NAMES: usize = 10;
/// From which ratio of highest to lowest a column may be logarithmic, and how low its median must then lie.
const LOG_SPAN: f64 = 1e3;
const LOG_MEDIAN: f64 = 0.1;

/// The findings about a pool's columns.
#[derive(Debug, PartialEq)]
pub struct Survey {
    /// The input columns.
    pub columns: Vec<Column>,
    /// The notes for the user.
    pub notes: Vec<Note>,
    /// Lines that may not be rows.
    pub footers: Vec<Note>,
}

/// The findings of one pass about a column.
#[derive(Default)]
struct Seen {
    numbers: Vec<f64>,
    missing: usize,
    /// Numbers with a unit, and which units those are.
    quantities: Vec<f64>,
    units: Units,
    /// Cells that are no numbers, and the line of the first of them.
    words: usize,
    first_word: Option<(usize, String)>,
    /// Those that look like numbers in another notation.
    foreign: usize,
    /// Those that look like dates.
    dates: usize,
    /// Numbers that may be thousands, such as 1.200 in a file of decimal commas.
    thousands: usize,
    /// The first number that may be a share of 1 where others are in %: 0.05 beside 5 %.
    share: Option<(usize, String)>,
    /// Whether all of those are numbers with a unit.
    only_units: bool,
    /// Numbers beside words, with a unit or without, as far as the units are certain.
    among_words: usize,
}

impl Seen {
    fn see(&mut self, table: &Table, line: usize, text: &str) {
        let cell = Cell::read(table, text);
        self.units.see(line, text, &cell);
        match cell {
            Cell::Number(number) => {
                self.thousands += usize::from(table.has_decimal_commas() && is_grouped(text));
                if self.share.is_none() && number != 0.0 && number.abs() <= 1.0 {
                    self.share = Some((line, text.to_owned()));
                }
                self.numbers.push(number);
            }
            Cell::Quantity(number, _) => self.quantities.push(number),
            Cell::Missing => self.missing += 1,
            Cell::Word => {
                self.words += 1;
                self.foreign += usize::from(is_foreign_quantity(text));
                self.dates += usize::from(is_date(text));
                self.first_word.get_or_insert_with(|| (line, text.to_owned()));
            }
        }
    }

    /// Decides after the last cell about cells with units: numbers if the column has nothing else, and words otherwise.
    fn settle(&mut self) {
        let quantities = std::mem::take(&mut self.quantities);
        if self.words == 0 && self.units.common().is_ok() {
            self.numbers.extend(quantities);
            return;
        }
        self.only_units = self.words == 0;
        self.among_words = self.numbers.len() + if self.units.is_one() { quantities.len() } else { 0 };
        self.words += quantities.len();
        // They are numbers in both notations.
        self.foreign += if self.foreign > 0 { quantities.len() } else { 0 };
        let odd = self.units.first_odd().map(|(line, cell)| (line, cell.to_owned()));
        self.first_word = self.first_word.take().or(odd);
    }

    /// The notes about how its cells were read if another way is possible; and, if words keep numbers from being
    /// numbers, what is wrong. If the user has declared the column's type, there is less to note.
    fn doubts(&self, name: &str, is_wanted: bool, used: bool) -> (Vec<Note>, Option<Note>) {
        let column = || name.to_owned();
        let mut as_read = Vec::new();
        if let Some((line, share)) = self.share.as_ref().filter(|_| self.units.common() == Ok(Some("%"))) {
            as_read.push(Note::UnitAssumed { column: column(), unit: "%".into(), cell: share.clone(), line: *line });
        }
        if is_wanted {
            return (as_read, None);
        }
        if self.thousands > 0 && self.thousands == self.numbers.len() && self.words == 0 {
            as_read.push(Note::DecimalPoint { column: column(), example: None, created: true });
        }
        if self.words > 0 && self.dates == self.words {
            as_read.push(Note::Dates { column: column() });
        }
        let units = self.units.mixed().filter(|_| self.only_units);
        let mixed = match (&self.first_word, units) {
            (Some((line, word)), _) if self.foreign == self.words => {
                Some(Note::Notation { column: column(), word: word.clone(), line: *line, used })
            }
            (_, Some((first, second))) => {
                let [first, second] = [first, second].map(|seen| (seen.cell.clone(), seen.line));
                Some(Note::MixedUnits { column: column(), first, second, used })
            }
            (Some((line, word)), None) if self.among_words > 0 => {
                let (numbers, word) = (self.among_words, (word.clone(), *line));
                Some(Note::MixedWords(Mixed { column: column(), numbers, word, used }))
            }
            _ => None,
        };
        (as_read, mixed)
    }
}

/// Looks at the columns at `places` and decides how each is coded: as the user declares it, or else as it looks.
///
/// # Errors
/// If a line is broken, there is no row, or no column can be used as an input.
pub fn survey(table: &mut Table, places: &[usize], scales: &[(String, Scale)]) -> Result<Survey> {
    let mut seen: Vec<Seen> = places.iter().map(|_| Seen::default()).collect();
    let (mut tail, width) = (Tail::default(), table.header().len());
    let scanned = table.scan(|table, row| {
        for (seen, &place) in seen.iter_mut().zip(places) {
            seen.see(table, row.line, row.cell(place));
        }
        let first = (0..width).map(|place| row.cell(place)).find(|cell| !cell.is_empty());
        let filled = places.iter().filter(|&&place| !row.cell(place).is_empty()).count();
        tail.see(row.line, first.unwrap_or_default(), filled);
        Ok(())
    });
    scanned.or_problem()?;
    seen.iter_mut().for_each(Seen::settle);
    if table.rows() == 0 {
        return Err(table.broken(vec!["there is no row below the header".into()])).or_problem();
    }
    let scale_of: HashMap<&str, Scale> = scales.iter().rev().map(|(name, scale)| (name.as_str(), *scale)).collect();
    let wanted = |table: &Table, place: usize| scale_of.get(table.header()[place].as_str()).copied();
    let by_words =
        |table: &Table, place: usize, seen: &Seen| seen.words > 0 || wanted(table, place) == Some(Scale::Categories);
    let worded = places.iter().zip(&seen).filter(|(place, seen)| by_words(table, **place, seen));
    let worded: Vec<usize> = worded.map(|(&place, _)| place).collect();
    let mut levels = count_levels(table, &worded)?.into_iter();
    let remarks = table.doubts().into_iter().map(|remark| Note::Remark { remark });
    let (mut columns, mut notes) = (Vec::new(), remarks.collect::<Vec<_>>());
    for (&place, seen) in places.iter().zip(&mut seen) {
        let name = table.header()[place].clone();
        let scale = wanted(table, place);
        let as_numbers = matches!(scale, Some(Scale::Log | Scale::Linear));
        if let Some((line, word)) = seen.first_word.as_ref().filter(|_| as_numbers) {
            let problem = format!("line {line}: column \"{name}\" should be numbers and has \"{word}\"");
            return Err(table.broken(vec![problem])).or_problem();
        }
        let code = if by_words(table, place, seen) {
            code_of_words(levels.next().unwrap_or_default(), table.rows(), scale)
        } else {
            code_of_numbers(seen)
        };
        let code = match (code, scale) {
            (Ok(Code::Number { low, .. }), Some(Scale::Log)) if low <= 0.0 => {
                let problem = format!("column \"{name}\" has {low}, and only numbers above 0 have a logarithm");
                return Err(table.broken(vec![problem])).or_problem();
            }
            (Ok(Code::Number { low, high, missing, unit, .. }), Some(scale)) => {
                Ok(Code::Number { low, high, log: scale == Scale::Log, missing, unit })
            }
            (code, _) => code,
        };
        let (as_read, mixed) = seen.doubts(&name, scale.is_some(), code.is_ok());
        match code {
            Ok(code) => {
                notes.extend(as_read.into_iter().chain(mixed));
                columns.push(Column { name, code });
            }
            // How it would have been read does not matter then, but what is wrong with it does.
            Err(why) => notes.push(mixed.unwrap_or(Note::LeftOut { column: name, why })),
        }
    }
    let names: Vec<(String, Scale)> =
        worded.iter().map(|&place| (table.header()[place].clone(), Scale::Categories)).collect();
    if columns.is_empty() && scales.is_empty() && !names.is_empty() && table.rows() <= MOST_LEVELS {
        // Names are better than nothing.
        return survey(table, places, &names);
    }
    if columns.is_empty() {
        return Err(Problem::NoInputs { file: shown(table.path()), notes });
    }
    let footers = tail.doubts(places.len());
    Ok(Survey { columns, notes, footers })
}

/// Whether a text is one to three digits, a point, and three digits.
pub(crate) fn is_grouped(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(whole, rest)| {
        (1..=3).contains(&whole.len()) && rest.len() == 3 && digits(whole) && digits(rest) && whole != "0"
    })
}

/// Whether a text is a date, or a date and a time: 2024-05-31, 31.5.2024, 5/31/24.
fn is_date(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split(['-', '.', '/']).collect();
    let is_part = |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(is_part) && parts.iter().filter(|part| part.len() > 2).count() <= 1
}

/// The same as [`is_foreign`] of a number with or without a unit.
pub(crate) fn is_foreign_quantity(text: &str) -> bool {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[number.len()..].trim_start();
    is_foreign(number) && (unit.is_empty() || is_unit(unit))
}

/// Whether a text that is not a number here would be one elsewhere: `1,200.50`, `1 200`, `1'200`, or `1,5` if commas
/// separate cells.
fn is_foreign(text: &str) -> bool {
    let sound = |c: char| c.is_ascii_digit() || ",.'’ \u{a0}\u{202f}".contains(c);
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let points = unsigned.matches('.').count();
    // Dates and versions have more.
    ends(unsigned.chars().next()) && ends(unsigned.chars().next_back()) && unsigned.chars().all(sound) && {
        let grouped = unsigned.split(['.', ',', '\'', '’', ' ', '\u{a0}', '\u{202f}']).skip(1);
        points <= 1 || grouped.clone().all(|group| group.len() == 3)
    }
}

/// How often each word occurs in some columns.
fn count_levels(table: &mut Table, places: &[usize]) -> Result<Vec<HashMap<String, usize>>> {
    let mut counts: Vec<HashMap<String, usize>> = vec![HashMap::new(); places.len()];
    if !places.is_empty() {
        let scanned = table.scan(|_, row| {
            for (counts, &place) in counts.iter_mut().zip(places) {
                let level = level_of(row.cell(place));
                match counts.get_mut(level) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(level.to_owned(), 1)),
                }
            }
            Ok(())
        });
        scanned.or_problem()?;
    }
    Ok(counts)
}

fn code_of_words(
    counts: HashMap<String, usize>,
    rows: usize,
    scale: Option<Scale>,
) -> std::result::Result<Code, LeftOut> {
    let total = counts.len();
    if total == 1 {
        return Err(LeftOut::Constant);
    }
    let all_differ = total == rows && rows >= NAMES && scale.is_none();
    if all_differ || (total > MOST_LEVELS && 2 * total > rows) {
        return Err(LeftOut::Names { words: total, rows });
    }
    let mut levels: Vec<(String, usize)> = counts.into_iter().collect();
    levels.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let others = total > MOST_LEVELS;
    levels.truncate(if others { MOST_LEVELS - 1 } else { total });
    Ok(Code::Category { levels: levels.into_iter().map(|(level, _)| level).collect(), others })
}

fn code_of_numbers(seen: &mut Seen) -> std::result::Result<Code, LeftOut> {
    let missing = seen.missing > 0;
    let numbers = &mut seen.numbers;
    if numbers.is_empty() {
        return Err(LeftOut::Empty);
    }
    let middle = numbers.len() / 2;
    let median = *numbers.select_nth_unstable_by(middle, f64::total_cmp).1;
    let (low, high) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
    if low == high {
        return Err(LeftOut::Constant);
    }
    if !(high - low).is_finite() {
        return Err(LeftOut::TooFar { low, high });
    }
    let log = low > 0.0 && high / low >= LOG_SPAN && median < low + LOG_MEDIAN * (high - low);
    let unit = seen.units.common().ok().flatten().map(str::to_owned);
    Ok(Code::Number { low, high, log, missing, unit })
}

//! From the lines of a journal to a study's state. `name` is for messages.

use crate::error::{Result, stored};
use crate::record::{Entry, FORMAT, Header, Keyed, Line};
use crate::storage::News;
use crate::trials::Trials;
use icee_protocol::Problem;
use serde::Deserialize;
use std::collections::HashMap;

/// What the lines below a header add up to, beside the trials: every line counts, also one that was undone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Answers so far, also those that were undone: random numbers depend on it.
    pub answers: u64,
    /// The line and the request of every key.
    pub keys: HashMap<String, (u64, String)>,
    /// The last line that counts.
    pub last: Option<Line>,
    /// The versions of the sheet, the first one first.
    pub sheets: Vec<String>,
}

impl Tally {
    /// With the header alone.
    pub fn new(header: &Header) -> Tally {
        let mut tally = Tally::default();
        tally.sheets.extend(header.pool.hash.clone());
        tally.key(1, header.from.key.as_ref());
        tally
    }

    /// Counts a line.
    pub fn count(&mut self, number: u64, line: &Line) {
        self.key(number, line.from.key.as_ref());
        for entry in &line.changes {
            self.answers += u64::from(matches!(entry, Entry::Ask { .. }));
            if let Entry::Sheet { pool, .. } = entry {
                self.sheets.extend(pool.hash.clone().filter(|hash| !self.sheets.contains(hash)));
            }
        }
    }

    fn key(&mut self, number: u64, keyed: Option<&Keyed>) {
        if let Some(Keyed { key, request }) = keyed {
            // The first counts: no line is written for a known key.
            self.keys.entry(key.clone()).or_insert_with(|| (number, request.clone()));
        }
    }
}

/// The lines of a journal, the first of which has number `first`.
pub fn parse(name: &str, lines: &[String], first: u64) -> Result<Vec<(u64, Line)>> {
    let parse = |(line, number): (&String, u64)| match serde_json::from_str(line) {
        Ok(line) => Ok((number, line)),
        Err(error) => Err(stored(name, format!("line {number}: {error}"))),
    };
    lines.iter().zip(first..).map(parse).collect()
}

/// Whether a line undoes another one.
pub fn is_undo(line: &Line) -> bool {
    line.changes == [Entry::Undo {}]
}

/// The lines that still count: an undo removes the last one that did.
pub fn standing(name: &str, lines: Vec<(u64, Line)>) -> Result<Vec<(u64, Line)>> {
    let mut standing = Vec::with_capacity(lines.len());
    for (number, line) in lines {
        if !is_undo(&line) {
            standing.push((number, line));
        } else if standing.pop().is_none() {
            return Err(stored(name, format!("line {number}: there is nothing to undo")));
        }
    }
    Ok(standing)
}

/// Follows lines, none of which is an undo.
pub fn follow(trials: &mut Trials, name: &str, lines: Vec<(u64, Line)>) -> Result<()> {
    for (number, line) in lines {
        let followed = trials.follow(line);
        followed.map_err(|fault| stored(name, format!("line {number}: {fault}")))?;
    }
    Ok(())
}

/// The state after a header and the lines below it.
pub fn replay(name: &str, header: &Header, lines: &[String]) -> Result<(Trials, Tally)> {
    let lines = parse(name, lines, 2)?;
    let mut tally = Tally::new(header);
    lines.iter().for_each(|(number, line)| tally.count(*number, line));
    let standing = standing(name, lines)?;
    tally.last = standing.last().map(|(_, line)| line.clone());
    let mut trials = Trials::beginning(header).map_err(|fault| stored(name, format!("line 1: {fault}")))?;
    follow(&mut trials, name, standing)?;
    Ok((trials, tally))
}

/// The beginning of a header of any format.
#[derive(Deserialize)]
struct Version {
    icee_study: u32,
}

/// The header of a journal.
pub fn header_of(name: &str, news: &News) -> Result<Header> {
    let Some(first) = news.lines.first() else {
        return Err(stored(name, "the file is empty. Delete it and create the study again."));
    };
    let wrong = |error| stored(name, format!("line 1 is not the header of a study: {error}"));
    match serde_json::from_str::<Version>(first).map_err(wrong)?.icee_study {
        FORMAT => serde_json::from_str(first).map_err(wrong),
        format @ 1..FORMAT => Err(Problem::OldFormat { name: name.to_owned(), format }),
        format => Err(stored(name, format!("format {format} is not known to this version"))),
    }
}

//! From the lines of a journal to what they come to. `name` is what it is called in messages.

use crate::record::{Entry, FORMAT, Header};
use crate::storage::News;
use crate::trials::Trials;
use crate::{Error, Result};

/// The lines of a journal as entries, the first of which has number `first`.
pub fn entries(name: &str, lines: &[String], first: u64) -> Result<Vec<(u64, Entry)>> {
    let parse = |(line, number): (&String, u64)| match serde_json::from_str(line) {
        Ok(entry) => Ok((number, entry)),
        Err(error) => Err(Error::stored(name, format!("line {number}: {error}"))),
    };
    lines.iter().zip(first..).map(parse).collect()
}

/// The entries that still count: an undo takes away the last one that did.
pub fn standing(name: &str, entries: Vec<(u64, Entry)>) -> Result<Vec<(u64, Entry)>> {
    let mut standing = Vec::with_capacity(entries.len());
    for (number, entry) in entries {
        if entry != (Entry::Undo {}) {
            standing.push((number, entry));
        } else if standing.pop().is_none() {
            return Err(Error::stored(name, format!("line {number}: there is nothing to undo")));
        }
    }
    Ok(standing)
}

/// Takes in entries, none of which is an undo.
pub fn follow(trials: &mut Trials, name: &str, entries: Vec<(u64, Entry)>) -> Result<()> {
    for (number, entry) in entries {
        let applied = trials.apply(entry);
        applied.map_err(|problem| Error::stored(name, format!("line {number}: {problem}")))?;
    }
    Ok(())
}

/// What the lines below a header come to.
pub fn replay(name: &str, header: &Header, lines: &[String]) -> Result<Trials> {
    let mut trials = Trials::new(header);
    follow(&mut trials, name, standing(name, entries(name, lines, 2)?)?)?;
    Ok(trials)
}

/// What the first line says.
pub fn header_of(name: &str, news: &News) -> Result<Header> {
    let wrong = |problem: String| Error::stored(name, problem);
    let Some(first) = news.lines.first() else {
        return Err(wrong("the file is empty; delete it and create the study again".into()));
    };
    let header: Header =
        serde_json::from_str(first).map_err(|error| wrong(format!("line 1: not the header of a study: {error}")))?;
    if !(1..=FORMAT).contains(&header.icee_study) {
        return Err(wrong(format!("line 1: format {} is not known to this version", header.icee_study)));
    }
    Ok(header)
}

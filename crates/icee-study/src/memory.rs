//! Studies and pools that are bytes in memory: what they say, without a file. Bytes may come from anywhere.

use crate::Result;
use crate::encode;
use crate::formats;
use crate::lines::{Position, parse};
use crate::replay::{header_of, replay};
use crate::rows::Rows;
use std::path::Path;

/// What a journal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Whole lines.
    pub lines: usize,
    /// Rows with an outcome.
    pub told: usize,
    /// Rows that were suggested and not told yet.
    pub running: usize,
    /// Whether an incomplete line follows.
    pub torn: bool,
}

/// Reads a journal as opening does; and the pool, if it is given, by the codes that stand in the journal, whatever checksum it
/// has.
///
/// # Errors
/// Where the journal is damaged, or the pool does not fit it.
pub fn inspect(journal: &[u8], pool: Option<&[u8]>) -> Result<Inspection> {
    let path = Path::new("journal");
    let news = parse(path, Position::default(), journal)?;
    let header = header_of(path, &news)?;
    let trials = replay(path, &header, &news.lines[1..])?;
    if let Some(pool) = pool {
        let header = trials.with_sheet(&header);
        Rows::encode(formats::table(Path::new("pool"), pool.to_vec())?, &header)?;
    }
    let (told, running) = (trials.told.len(), trials.count_running());
    Ok(Inspection { lines: news.lines.len(), told, running, torn: news.is_torn() })
}

/// The columns of a pool that a study would learn from: name and what it is.
///
/// # Errors
/// Where nothing can be learned from it.
pub fn columns(pool: &[u8]) -> Result<Vec<(String, String)>> {
    let mut table = formats::table(Path::new("pool"), pool.to_vec())?;
    let places: Vec<usize> = (0..table.header().len()).collect();
    let survey = encode::survey(&mut table, &places, &[])?;
    // Codes that were found must be of use.
    let encoder = encode::Encoder::new(&table, &survey.columns)?;
    let mut points = Vec::new();
    table.scan(|table, row| {
        points.clear();
        encoder.encode(table, row, &mut points);
        match points.iter().all(|x| (0.0..=1.0).contains(x)) {
            true => Ok(()),
            false => Err("a coordinate lies outside of its scale".into()),
        }
    })?;
    Ok(survey.columns.into_iter().map(|column| (column.name, column.code.describe())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::{Models, Repeat, Study, StudyOptions};

    #[test]
    fn bytes_say_what_the_file_says() {
        let scratch = Scratch::new("memory");
        let pool = scratch.file("pool.csv");
        std::fs::write(&pool, "a,kind\n1,x\n2,y\n3,x\n").unwrap();
        let path = scratch.file("s.jsonl");
        let options = StudyOptions { pool: pool.clone(), ..StudyOptions::default() };
        let mut study = Study::create(&path, &options, Models::default()).unwrap();
        study.ask(2, None).unwrap();
        study.tell("1", Some(1.0), Repeat::Refuse).unwrap();
        let (mut journal, pool) = (std::fs::read(&path).unwrap(), std::fs::read(&pool).unwrap());
        journal.push(b'{');
        let running = study.summary().running.len();
        assert_eq!(inspect(&journal, Some(&pool)).unwrap(), Inspection { lines: 3, told: 1, running, torn: true });
        assert!(inspect(&journal, Some(b"b\n1\n")).is_err() && inspect(b"", None).is_err());
        assert_eq!(columns(&pool).unwrap()[1], ("kind".into(), "2 categories".into()));
    }
}

//! Journals of format 5, converted to today's format. No other module reads them.
//!
//! Each line becomes one line. Earlier draws are recorded, so they stay; draws from here on depend on the number of
//! answers, as in every journal of today.

use crate::error::{OrProblem, Result, bug, shown, stored};
use crate::formats;
use crate::journal::{Journal, sheets_of};
use crate::lines::parse;
use crate::memory::journal_of;
use crate::record::{FORMAT, Header, Line, to_line};
use crate::replay::replay;
use crate::rows::contents;
use crate::storage::{KeptSheet, Position, Storage};
use icee_base::files::{FileError, folder_of, sync_folder, write_atomically};
use icee_protocol::Problem;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The format that is read.
const OLD: u64 = 5;

/// A journal that was upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgraded {
    /// How many lines it has.
    pub lines: u64,
    /// Its former format.
    pub from: u32,
    /// Where the original journal is kept.
    pub backup: PathBuf,
    /// Whether its sheet was found, and is now kept beside it.
    pub sheet: bool,
}

/// Upgrades a journal in its place; the original is kept beside it.
///
/// # Errors
/// Where it is no journal of format 5, or something cannot be written; then it is as it was.
pub fn upgrade(path: &Path) -> Result<Upgraded> {
    let mut journal = Journal::open(path)?;
    journal.lock(&|_| ())?;
    let done = upgraded(path);
    journal.unlock()?;
    done
}

fn upgraded(path: &Path) -> Result<Upgraded> {
    let name = shown(path);
    let bytes = std::fs::read(path).map_err(FileError::io(path)).or_problem()?;
    let news = parse(path, Position::default(), &bytes)?;
    if news.is_torn() {
        return Err(stored(&name, "its last line is incomplete. Delete that line, then upgrade."));
    }
    let mut lines: Vec<Value> = Vec::new();
    for (line, number) in news.lines.iter().zip(1..) {
        let wrong = |error| stored(&name, format!("line {number}: {error}"));
        lines.push(serde_json::from_str(line).map_err(wrong)?);
    }
    let first = lines.first_mut().ok_or_else(|| stored(&name, "the file is empty"))?;
    match first.get("icee_study").and_then(Value::as_u64) {
        Some(OLD) => {}
        Some(format) if format == u64::from(FORMAT) => {
            return Err(stored(&name, "it is in the current format already"));
        }
        _ => return Err(stored(&name, "only journals of format 5 can be upgraded")),
    }
    first["icee_study"] = json!(FORMAT);
    rename_sampler(first);
    let sheet = sheet_of(path, first.pointer("/pool/path").and_then(Value::as_str));
    let keep = |pool: Option<&mut Value>| pool.map_or(Ok(()), |pool| with_hash(pool, sheet.as_ref()));
    keep(first.get_mut("pool"))?;
    let header: Header = serde_json::from_value(first.take()).map_err(bug)?;
    let mut all = vec![to_line(&header)?];
    for (entry, number) in lines.into_iter().zip(1..).skip(1) {
        let mut line = line_of(entry);
        keep(line.pointer_mut("/changes/0/sheet/pool"))?;
        let wrong = |error| stored(&name, format!("line {number}: {error}"));
        let line: Line = serde_json::from_value(line).map_err(wrong)?;
        all.push(to_line(&line)?);
    }
    // The result is checked before anything is written.
    let (trials, _) = replay(&name, &header, &all[1..])?;
    let kept = sheet.filter(|(kept, _)| trials.now(&header).pool.hash.as_ref() == Some(&kept.hash));
    if let Some((kept, _)) = &kept {
        crate::journal::keep(&sheets_of(path), kept)?;
    }
    let mut backup = path.as_os_str().to_owned();
    backup.push(format!(".format-{OLD}"));
    let backup = PathBuf::from(backup);
    if backup.exists() {
        return Err(Problem::FileExists { path: shown(&backup) });
    }
    write_atomically(&backup, &bytes).or_problem()?;
    write_atomically(path, journal_of(&all).as_bytes()).or_problem()?;
    sync_folder(path);
    Ok(Upgraded { lines: all.len() as u64, from: 5, backup, sheet: kept.is_some() })
}

/// The present sheet and its fingerprint: a file beside the journal was moved with it, and is preferred to the path in
/// it.
fn sheet_of(journal: &Path, path: Option<&str>) -> Option<(KeptSheet, String)> {
    let beside = ["sheet.csv", "sheet.xlsx"].map(|ending| journal.with_extension(ending));
    let file = beside.into_iter().find(|file| file.is_file()).or_else(|| Some(folder_of(journal).join(path?)))?;
    let bytes = formats::read_bytes(&file).ok()?;
    let mut table = formats::table(&file, bytes.clone()).ok()?;
    table.scan(|_, _| Ok(())).ok()?;
    Some((KeptSheet::new(bytes), contents(&table).fingerprint))
}

/// A sheet of the journal under the hash of the given one, if it is the same. One that was moved along is in no file
/// from now on.
fn with_hash(pool: &mut Value, sheet: Option<&(KeptSheet, String)>) -> Result<()> {
    let Some(map) = pool.as_object_mut() else { return Err(stored("journal", "a sheet is no object")) };
    if let Some((kept, fingerprint)) = sheet
        && map.get("fingerprint").and_then(Value::as_str) == Some(fingerprint)
    {
        map.insert("hash".into(), json!(kept.hash));
    }
    if map.get("others").is_some_and(Value::is_null) {
        map.remove("others");
    }
    Ok(())
}

/// A line of today.
fn line_of(mut entry: Value) -> Value {
    let mut from = Map::new();
    if let Some(ask) = entry.get_mut("ask") {
        rename_sampler(ask);
        if let Some(by) = ask.as_object_mut().and_then(|ask| ask.remove("by")) {
            from.insert("by".into(), by);
        }
    }
    json!({ "from": from, "changes": [entry] })
}

fn rename_sampler(value: &mut Value) {
    if let Some(sampler) = value.get_mut("sampler").filter(|sampler| *sampler == "icee") {
        *sampler = json!("learned");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::seal;
    use crate::scratch::Scratch;
    use crate::{Models, Study};

    #[test]
    fn a_journal_of_format_5_goes_on_in_that_of_today() {
        let scratch = Scratch::new("upgrade");
        let (pool, path) = (scratch.file("pool.csv"), scratch.file("s.jsonl"));
        std::fs::write(&pool, "a,kind\n1,x\n2,y\n3,x\n4,y\n").unwrap();
        let mut table = formats::table(&pool, std::fs::read(&pool).unwrap()).unwrap();
        table.scan(|_, _| Ok(())).unwrap();
        let fingerprint = contents(&table).fingerprint;
        let header = json!({
            "icee_study": 5,
            "pool": { "path": "pool.csv", "bytes": table.bytes(), "rows": 4, "fingerprint": fingerprint, "others": [] },
            "id": null,
            "columns": [{ "name": "a", "code": { "number": { "low": 1.0, "high": 4.0, "log": false, "missing": false } } }],
            "direction": "minimize",
            "sampler": "random",
            "seed": 3
        });
        let lines = [
            header.to_string(),
            r#"{"ask":{"rows":[{"row":1},{"row":2}],"sampler":"icee","until":90,"by":"ada"}}"#.to_owned(),
            r#"{"tell":{"outcomes":[{"row":{"row":1},"value":"0.5"}]}}"#.to_owned(),
            r#"{"tell":{"outcomes":[{"row":{"row":3},"value":"0.7"}]}}"#.to_owned(),
            r#"{"undo":{}}"#.to_owned(),
        ];
        let (mut text, mut chain) = (String::new(), 0);
        for line in lines {
            let (sealed, after) = seal(chain, &line);
            text.push_str(&sealed);
            chain = after;
        }
        std::fs::write(&path, &text).unwrap();
        assert_eq!(Study::open(&path, Models::default()).err().unwrap().code(), "old-format");
        let upgraded = upgrade(&path).unwrap();
        assert_eq!((upgraded.lines, upgraded.from, upgraded.sheet), (5, 5, true));
        assert_eq!(std::fs::read_to_string(&upgraded.backup).unwrap(), text);
        let mut study = Study::open(&path, Models::default()).unwrap();
        let summary = study.summary(None);
        assert_eq!((summary.told[0].value, summary.told.len()), (Some(0.5), 1));
        assert_eq!((&*summary.running.concat(), summary.sampler.as_str()), ("2", "random"));
        // The sheet is kept now, and the study goes on.
        std::fs::remove_file(&pool).unwrap();
        assert_eq!(study.all_cells().unwrap().columns[0].cells.len(), 4);
        assert_eq!(study.ask(1, None).unwrap().suggestions.len(), 1);
        assert!(upgrade(&path).unwrap_err().to_string().contains("current format"));
    }
}

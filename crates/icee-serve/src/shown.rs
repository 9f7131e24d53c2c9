//! Problems and notes as clients may see them: file names without their folders, no address of a database, and no
//! endless texts.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

/// Bytes of a text, at most.
const MOST: usize = 512;
/// Fields with the path of a file.
const PATHS: [&str; 4] = ["path", "file", "place", "sheet"];
/// Problems whose `name` is that of a file, or of the database.
const OF_STORES: [&str; 3] = ["stored", "unavailable", "old-format"];

/// The same as clients may see it; `hidden` is the name of the database. None if it cannot be written as JSON and
/// read again.
pub fn shown<T: Serialize + DeserializeOwned>(what: &T, hidden: Option<&str>) -> Option<T> {
    let mut value = serde_json::to_value(what).ok()?;
    tidy(&mut value, hidden);
    serde_json::from_value(value).ok()
}

/// The name of a file, without its folders.
pub fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn tidy(value: &mut Value, hidden: Option<&str>) {
    match value {
        Value::String(text) => shorten(text),
        Value::Array(all) => all.iter_mut().for_each(|value| tidy(value, hidden)),
        Value::Object(fields) => {
            let of_store = fields.get("code").and_then(Value::as_str).is_some_and(|code| OF_STORES.contains(&code));
            if of_store && hidden.is_some() && fields.get("name").and_then(Value::as_str) == hidden {
                fields.insert("name".into(), "The database".into());
                // An error of the database may reveal where it is.
                fields.insert("fault".into(), "it cannot be used, and the server's log says why".into());
            }
            for (name, value) in fields.iter_mut() {
                let is_path = PATHS.contains(&name.as_str()) || of_store && name == "name";
                match value {
                    Value::String(path) if is_path => *path = file_name(path),
                    value => tidy(value, hidden),
                }
            }
        }
        _ => {}
    }
}

fn shorten(text: &mut String) {
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::{Note, Problem};

    #[test]
    fn clients_see_no_folder_and_no_database() {
        let stored = |name: &str| Problem::Stored { name: name.into(), fault: "line 2".into() };
        let inner = Box::new(stored("/srv/x/bread.jsonl"));
        let found = shown(&Problem::EarlierUnreadable { study: "a/b".into(), problem: inner }, None).unwrap();
        let inner = Box::new(stored("bread.jsonl"));
        assert_eq!(found, Problem::EarlierUnreadable { study: "a/b".into(), problem: inner });
        let note = shown(&Note::TornMoved { place: "/srv/bread.torn".into() }, None);
        assert_eq!(note, Some(Note::TornMoved { place: "bread.torn".into() }));
        let away = Problem::Unavailable { name: "the database x at db".into(), fault: "connecting to db:5432".into() };
        let words = shown(&away, Some("the database x at db")).unwrap().to_string();
        assert!(words.contains("The database") && !words.contains("db"), "{words}");
        // The name of a row is not a path.
        let row = Problem::NotRunning { row: "a/b".into() };
        assert_eq!(shown(&row, None).as_ref(), Some(&row));
    }

    #[test]
    fn texts_are_short() {
        let Some(Problem::NotRunning { row }) = shown(&Problem::NotRunning { row: "ä".repeat(9999) }, None) else {
            panic!()
        };
        assert!(row.len() < MOST + 4 && row.ends_with('…'));
    }
}

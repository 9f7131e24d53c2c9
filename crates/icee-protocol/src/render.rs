//! Problems and notes in words, for the face that shows them. Here alone stands what an option is called where: `--keep`, `keep=True`,
//! `"keep": true`, or the box to tick on the page.

mod notes;
mod page;
mod problems;

use crate::{CellChange, Deed, Grounds, Note, Problem, Said};
use serde::{Deserialize, Serialize};

pub use page::{BUTTONS, LABELS, Place};

/// Where words are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Face {
    /// A place without options: a log, a library.
    #[default]
    Plain,
    /// The command line.
    Terminal,
    /// Python.
    Python,
    /// A program that speaks HTTP.
    Http,
    /// The page in the browser.
    Page,
}

/// The language of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Locale {
    /// English, the only one.
    #[default]
    English,
}

/// Who reads: where, in which language, about which study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// Where.
    pub face: Face,
    /// In which language.
    pub locale: Locale,
    /// The study's name, for commands.
    pub study: Option<String>,
    /// What else commands need to reach it: `--dir lab`.
    pub place: Option<String>,
}

impl Reader {
    /// A reader at a face.
    pub fn at(face: Face, study: Option<&str>) -> Reader {
        Reader { face, locale: Locale::English, study: study.map(str::to_owned), place: None }
    }
}

impl Face {
    /// A face by its name, as a header of a request has it.
    pub fn named(name: &str) -> Option<Face> {
        serde_json::from_value(name.into()).ok()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Face::Plain => "plain",
            Face::Terminal => "terminal",
            Face::Python => "python",
            Face::Http => "http",
            Face::Page => "page",
        }
    }
}

/// A problem in words.
pub fn problem(problem: &Problem, reader: &Reader) -> String {
    problems::words(problem, reader)
}

/// A note in words.
pub fn note(note: &Note, reader: &Reader) -> String {
    notes::words(note, reader)
}

/// Notes with their words.
pub fn said(all: Vec<Note>, reader: &Reader) -> Vec<Said<Note>> {
    all.into_iter().map(|what| Said { words: note(&what, reader), what }).collect()
}

/// Why a column is perhaps not an input: the rest of a sentence that begins with the column.
pub fn grounds(grounds: &Grounds) -> String {
    notes::grounds(grounds)
}

/// A step in words.
pub fn deeds(deeds: &[Deed]) -> String {
    let words: Vec<String> = deeds.iter().map(deed).collect();
    words.join("; ")
}

fn deed(deed: &Deed) -> String {
    match deed {
        Deed::Suggested { rows } => format!("suggestion of {}", rows_named(rows)),
        Deed::Recorded { rows } => format!("results of {}", rows_named(rows)),
        Deed::Extended { rows } => format!("longer reservation of {}", rows_named(rows)),
        Deed::Released { rows } => format!("release of {}", rows_named(rows)),
        Deed::Expired { rows } => format!("expired reservation of {}", rows_named(rows)),
        Deed::Deleted { rows } => format!("deletion of the results of {}", rows_named(rows)),
        Deed::SheetUpdated => "update from the sheet".into(),
        Deed::ModelAccepted { model } => format!("use of the model {model}"),
        Deed::GoalsChanged => "change of the goals".into(),
    }
}

/// Something that one can set, by its name on the wire.
#[derive(Clone, Copy)]
enum Set<'a> {
    /// Yes.
    Flag(&'a str),
    /// A value.
    Value(&'a str, &'a str),
    /// The option itself.
    Option(&'a str),
}

/// Options that are lists in Python.
const LISTS: [&str; 7] = ["also", "categories", "columns", "ignore", "linear", "log", "same"];

/// What it is called at a face; nothing where there are no options.
fn set(reader: &Reader, what: Set<'_>) -> Option<String> {
    let (name, value) = match what {
        Set::Flag(name) | Set::Option(name) => (name, None),
        Set::Value(name, value) => (name, Some(value)),
    };
    Some(match (reader.face, value, what) {
        (Face::Plain, ..) => return None,
        (Face::Terminal, None, _) => format!("--{}", name.replace('_', "-")),
        (Face::Terminal, Some(value), _) => format!("--{} {}", name.replace('_', "-"), shell(value)),
        (Face::Python, _, Set::Flag("replace" | "again")) => format!("repeat=\"{name}\""),
        (Face::Python, _, Set::Flag(_)) => format!("{name}=True"),
        (Face::Python, Some(value), _) if LISTS.contains(&name) => format!("{name}=[\"{value}\"]"),
        (Face::Python, Some(value), _) => format!("{name}=\"{value}\""),
        (Face::Python, None, _) => format!("{name}="),
        (Face::Http, _, Set::Flag(_)) => format!("\"{name}\": true"),
        (Face::Http, Some(value), _) => format!("\"{name}\": \"{value}\""),
        (Face::Http, None, _) => format!("\"{name}\""),
        (Face::Page, ..) => return page::set(name, what),
    })
}

/// A word of a command line.
fn shell(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("\"{}\"", word.replace('"', "\\\"")) }
}

/// What one can do: a verb, on this study, with these words behind it.
fn command(reader: &Reader, verb: &str, rest: &str) -> Option<String> {
    let study = reader.study.as_deref().unwrap_or("NAME");
    let space = if rest.is_empty() { "" } else { " " };
    Some(match reader.face {
        Face::Plain => return None,
        Face::Terminal => {
            let place = reader.place.as_ref().map_or_else(String::new, |place| format!(" {place}"));
            format!("`icee study {verb} {study}{space}{rest}{place}`")
        }
        Face::Python => format!("`{}`", call(verb, rest)),
        Face::Http => format!("`POST …/{verb}`"),
        Face::Page => format!("\"{}\"", page::button(verb)?),
    })
}

/// A call of Python: options become keywords.
fn call(verb: &str, rest: &str) -> String {
    let mut words = rest.split_whitespace().peekable();
    let mut said = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some("row") => said.extend(words.next().map(str::to_owned)),
            Some(flag) => said.push(format!("{}=True", flag.replace('-', "_"))),
            None => said.push(word.to_owned()),
        }
    }
    format!("study.{verb}({})", said.join(", "))
}

/// A hint behind a sentence, where the face has options.
fn hint(before: &str, option: Option<String>, after: &str) -> String {
    option.map_or_else(String::new, |option| format!(" {before}{option}{after}"))
}

/// "row 3", or "rows 3, 7".
fn rows_named(rows: &[String]) -> String {
    const MOST: usize = 8;
    let more = if rows.len() > MOST { format!(" and {} more", rows.len() - MOST) } else { String::new() };
    let shown = rows.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    format!("{} {shown}{more}", if rows.len() == 1 { "row" } else { "rows" })
}

/// The first of a list, and how many more there are.
fn listed(all: impl IntoIterator<Item = String>, more: usize) -> String {
    let shown = all.into_iter().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// What was edited in a row.
fn edited(changes: &[CellChange], now: Option<&str>) -> String {
    let one = |CellChange { column, was, is }: &CellChange| format!("{column} was \"{was}\", is \"{is}\"");
    match (changes, now) {
        ([], Some(now)) => format!("now {now}"),
        _ => changes.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

/// One thing or many.
fn many<'a>(count: usize, one: &'a str, more: &'a str) -> &'a str {
    if count == 1 { one } else { more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_face_has_its_own_words_for_an_option() {
        let keep = |face| set(&Reader::at(face, None), Set::Flag("keep"));
        assert_eq!(keep(Face::Plain), None);
        assert_eq!(keep(Face::Terminal).unwrap(), "--keep");
        assert_eq!(keep(Face::Python).unwrap(), "keep=True");
        assert_eq!(keep(Face::Http).unwrap(), "\"keep\": true");
        assert_eq!(keep(Face::Page).unwrap(), "the box \"Keep results of corrected rows\"");
        let ignore = |face| set(&Reader::at(face, None), Set::Value("ignore", "flour")).unwrap();
        assert_eq!(
            (ignore(Face::Terminal), ignore(Face::Python)),
            ("--ignore flour".into(), "ignore=[\"flour\"]".into())
        );
        let page = |what| set(&Reader::at(Face::Page, None), what);
        assert_eq!(page(Set::Flag("failed")).unwrap(), "the button \"Failed\"");
        assert_eq!(page(Set::Value("ignore", "day")).unwrap(), "\"Not used\" for day");
        assert_eq!(page(Set::Value("bounds", "0..")).unwrap(), "0.. under \"Range of results\"");
        assert_eq!(page(Set::Option("columns")), None);
        let forget = |face| command(&Reader::at(face, Some("bread")), "forget", "--row 3").unwrap();
        assert_eq!(forget(Face::Terminal), "`icee study forget bread --row 3`");
        assert_eq!(forget(Face::Python), "`study.forget(3)`");
        assert_eq!(Face::named("python"), Some(Face::Python));
        assert_eq!(Face::named(Face::Page.name()), Some(Face::Page));
    }
}

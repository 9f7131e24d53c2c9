//! Errors of tables.

use crate::files::FileError;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Problems that an error shows before it only counts them, and lines that it names of each.
pub const SHOWN: usize = 20;
/// Characters of a column's name that an error shows.
pub const NAME: usize = 60;

/// A table that cannot be used.
#[derive(Debug, Error)]
pub enum TableError {
    /// There is no such file.
    #[error("there is no file {}", .0.display())]
    Missing(PathBuf),
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not what it should be: what is wrong, with line and column.
    #[error("{}:{}{}", path.display(), if problems.len() > 1 { "\n  " } else { " " }, problems.join("\n  "))]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problems: Vec<String>,
    },
}

impl TableError {
    /// Makes the error of a file that could not be read.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> TableError {
        move |error| match error.kind() {
            std::io::ErrorKind::NotFound => TableError::Missing(path.to_owned()),
            _ => FileError::io(path)(error).into(),
        }
    }
}

/// What is wrong with the lines of a file.
#[derive(Default)]
pub struct Problems {
    shown: Vec<Problem>,
    /// Lines with further problems.
    unsaid: usize,
}

/// What is wrong with one line, or with several in the same way.
struct Problem {
    text: String,
    /// The first lines that have it, and how many do.
    lines: Vec<usize>,
    count: usize,
}

impl Problems {
    /// Takes note of a line. The same text is said once.
    pub fn note(&mut self, line: usize, text: String) {
        let known = self.shown.iter().position(|problem| problem.text == text).unwrap_or(self.shown.len());
        if known == SHOWN {
            self.unsaid += 1;
            return;
        }
        if known == self.shown.len() {
            self.shown.push(Problem { text, lines: vec![], count: 0 });
        }
        let problem = &mut self.shown[known];
        problem.count += 1;
        if problem.lines.len() < SHOWN {
            problem.lines.push(line);
        }
    }

    /// All of them, as an error says them.
    pub fn said(&self) -> Vec<String> {
        let more = (self.unsaid > 0).then(|| format!("and {} more", self.unsaid));
        self.shown.iter().map(ToString::to_string).chain(more).collect()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { lines, count, text } = self;
        let named = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match count - lines.len() {
            0 if *count == 1 => write!(f, "line {named}: {text}"),
            0 => write!(f, "lines {named}: {text}"),
            others => write!(f, "lines {named} and {others} more: {text}"),
        }
    }
}

/// A name, or the beginning of one that is too long to be shown.
pub fn beginning(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Where a file stops being UTF-8.
pub fn not_text(path: &Path, error: &std::string::FromUtf8Error) -> TableError {
    let bytes = error.as_bytes();
    let good = &bytes[..error.utf8_error().valid_up_to()];
    let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
    let begun = good.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let column = 1 + good[begun..].iter().filter(|byte| matches!(byte, b',' | b';' | b'\t')).count();
    let kind = if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        "it is UTF-16"
    } else {
        "not UTF-8 text"
    };
    let problems = vec![format!("line {line}, column {column}: {kind}. Save the file as CSV in UTF-8.")];
    TableError::Content { path: path.to_owned(), problems }
}

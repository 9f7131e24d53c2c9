//! The lines of a journal, as text: one JSON object each, whose last member is a checksum of the text before it and of all
//! lines above.

use crate::error::{IntoProblem, Result};
use crate::storage::{News, Position};
use icee_base::files::FileError;
use icee_base::hash::checksum;
use icee_protocol::Problem;
use std::path::Path;

/// How a line ends: the checksum takes sixteen digits.
const CHECK: &str = ",\"check\":\"";
const CHECK_LENGTH: usize = CHECK.len() + 16 + 2;

/// How far a journal has been read: lines and their bytes, all of them sound, and the checksum of the last one.
pub fn position(lines: u64, length: u64, chain: u64) -> Position {
    Position { lines, mark: [length, chain] }
}

/// Takes lines apart that begin at a position of a journal; `path` is for messages.
pub fn parse(path: &Path, at: Position, bytes: &[u8]) -> Result<News> {
    let mut news = News { end: at, ..News::default() };
    let mut rest = bytes;
    while !rest.is_empty() {
        let Position { lines, mark: [length, chain] } = news.end;
        let end = rest.iter().position(|&byte| byte == b'\n');
        let line = end.and_then(|end| unseal(chain, &rest[..end]));
        let (Some(end), Some((text, chain))) = (end, line) else {
            let last = end.is_none_or(|end| end + 1 == rest.len());
            if lines == 0 {
                return Err(damaged(path, 1, "it is not the header of a study"));
            }
            if !last {
                return Err(damaged(path, lines + 1, "the checksum is wrong"));
            }
            news.torn = rest.to_vec();
            break;
        };
        news.lines.push(text);
        news.end = position(lines + 1, length + end as u64 + 1, chain);
        rest = &rest[end + 1..];
    }
    Ok(news)
}

/// The error of a journal that was changed or damaged.
pub fn damaged(path: &Path, line: u64, problem: &str) -> Problem {
    let problem = format!("line {line}: {problem}. Nothing was changed. Put back a sound copy of the file.");
    FileError::content(path, problem).into_problem()
}

/// A line with its checksum and line break, and the checksum.
pub fn seal(chain: u64, text: &str) -> (String, u64) {
    let chain = checksum(chain, text.as_bytes());
    let open = text.strip_suffix('}').unwrap_or(text);
    (format!("{open}{CHECK}{chain:016x}\"}}\n"), chain)
}

/// The text of a line without its line break, if it is sound, and its checksum.
fn unseal(chain: u64, line: &[u8]) -> Option<(String, u64)> {
    let line = std::str::from_utf8(line).ok()?;
    let cut = line.len().checked_sub(CHECK_LENGTH).filter(|&cut| line.is_char_boundary(cut))?;
    let (open, check) = line.split_at(cut);
    let text = format!("{open}}}");
    let chain = checksum(chain, text.as_bytes());
    (check == format!("{CHECK}{chain:016x}\"}}")).then_some((text, chain))
}

//! Output to a terminal: control characters from files are escaped, and a closed stderr is no error.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{IsTerminal, Write as _};

/// Prints a line on standard error; a closed stream is ignored.
pub fn say(text: impl Display) {
    let text = text.to_string();
    let lines: Vec<Cow<str>> = text.split('\n').map(printable).collect();
    let _ = writeln!(std::io::stderr().lock(), "{}", lines.join("\n"));
}

/// Whether questions can be asked on this terminal.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question and returns the trimmed answer; nothing at the end of input.
pub fn ask(question: &str) -> Option<String> {
    let _ = write!(std::io::stderr().lock(), "{} ", printable(question));
    let mut answer = String::new();
    let length = std::io::stdin().read_line(&mut answer).ok()?;
    (length > 0).then(|| answer.trim().to_owned())
}

/// A text in which characters that a terminal would obey (escapes, line breaks, changes of direction) are written out.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_command(c) {
            // To a string, which never fails.
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Control characters, and those that turn the direction of writing.
fn is_command(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_the_terminal_are_written_out() {
        assert_eq!(printable("Käse \"x\" \\ 🙂"), "Käse \"x\" \\ 🙂");
        assert_eq!(printable("\x1b[2Ja\tb\r\n\u{9b}c\u{202e}d"), "\\u{1b}[2Ja\\tb\\r\\n\\u{9b}c\\u{202e}d");
    }
}

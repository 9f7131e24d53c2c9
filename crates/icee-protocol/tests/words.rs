//! Words are made in one place: no library names an option or a command, and no face takes the words of others apart. This reads the
//! sources of the workspace.

use std::path::{Path, PathBuf};

/// Crates that may name options: the command line; and those that print commands by which a table or a model is made again, which are
/// what they are about.
const NAMING: [&str; 4] = ["icee-cli", "icee-games", "icee-models", "icee-report"];

/// Files of the other crates that may, and why.
const EXCEPTIONS: [(&str, &str); 5] = [
    ("icee-nn/src/cuda/compile.rs", "options of NVIDIA's compiler"),
    ("icee-optim/src/card.rs", "the README of a trained model, which says what measures it"),
    ("icee-protocol/src/render.rs", "the words of every face"),
    ("icee-protocol/src/render/notes.rs", "the words of every face"),
    ("icee-protocol/src/render/problems.rs", "the words of every face"),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder whose names end so, with their texts.
fn files(folder: &Path, end: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

/// The part of a Rust source before its tests, which are its last module.
fn production(source: &str) -> &str {
    let mut tests = source.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at);
    let end = tests.find(|at| source[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{')));
    &source[..end.unwrap_or(source.len())]
}

/// The string literals of a Rust source, with the numbers of their lines.
fn literals(source: &str) -> Vec<(usize, String)> {
    let (mut found, mut rest, mut before) = (Vec::new(), source, ' ');
    while let Some(first) = rest.chars().next() {
        let line = || source[..source.len() - rest.len()].matches('\n').count() + 1;
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some((text, length)) = raw(rest).filter(|_| before == 'b' || !is_of_name(before)) {
            found.push((line(), text.to_owned()));
            length
        } else if first == '"' {
            let length = closing(&rest[1..], '"');
            found.push((line(), rest[1..=length].to_owned()));
            length + 2
        } else if rest.starts_with("'\\") || first == '\'' && rest.chars().nth(2) == Some('\'') {
            closing(&rest[1..], '\'') + 2
        } else {
            first.len_utf8()
        };
        before = first;
        rest = &rest[skipped..];
    }
    found
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The raw literal with which a text begins, and how long it is with its marks.
fn raw(text: &str) -> Option<(&str, usize)> {
    let marked = text.strip_prefix('r')?;
    let hashes = marked.bytes().take_while(|byte| *byte == b'#').count();
    let inner = marked[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let length = inner.find(&close)?;
    Some((&inner[..length], text.len() - inner.len() + length + close.len()))
}

/// Where a mark stands that is not escaped.
fn closing(text: &str, mark: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == mark => return at,
            _ => {}
        }
    }
    panic!("no {mark} closes {}", text.chars().take(40).collect::<String>());
}

/// Whether a text says what only a command line may: an option, or a command.
fn is_of_command_line(text: &str) -> bool {
    let is_option = |(at, _)| text[at + 2..].bytes().take_while(u8::is_ascii_lowercase).count() >= 2;
    text.match_indices("--").any(is_option) || text.contains("`icee ") || text.contains("icee study")
}

#[test]
fn literals_are_found_in_sources() {
    let source = "let a = 'b'; // \"no --comment\"\n\
                  let q = ('\"', '\\'', \"--yes \\\" one\", r#\"raw \" --two\"#, br\"three\");\n\
                  fn f<'a>(x: &'a str) { x == \"four\" }\n\
                  #[cfg(test)]\nmod scratch;\nlet five = \"five\";\n\
                  #[cfg(test)]\nmod tests {\n    \"--test\"\n}\n";
    let found = literals(production(source));
    let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["--yes \\\" one", "raw \" --two", "three", "four", "five"]);
    assert_eq!((found[0].0, found[3].0), (2, 3));
    assert!(is_of_command_line("use --keep") && is_of_command_line("`icee study tell`"));
    assert!(!is_of_command_line("a -- b, --"));
}

#[test]
fn no_library_names_an_option_or_a_command() {
    let (mut found, mut used) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(workspace().join("crates")).unwrap().map(Result::unwrap) {
        if NAMING.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        for (path, source) in files(&entry.path().join("src"), ".rs") {
            let mut named = literals(production(&source));
            named.retain(|(_, text)| is_of_command_line(text));
            match EXCEPTIONS.iter().find(|(file, _)| path.ends_with(file)) {
                Some((file, _)) if !named.is_empty() => used.push(*file),
                _ => found.extend(named.iter().map(|(line, text)| format!("{path}:{line}: {text}"))),
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    for (file, why) in EXCEPTIONS {
        assert!(used.contains(&file), "{file} is no exception ({why}) any more");
    }
}

/// A language: what has words there, and what takes them apart, behind them or around them.
struct Parsing {
    words: &'static [&'static str],
    behind: &'static [&'static str],
    around: &'static [&'static str],
}

const PYTHON: Parsing = Parsing {
    words: &["str(error)", "str(problem)", "str(exception)", "[\"words\"]", ".args[0]"],
    behind: &[".startswith(", ".endswith(", ".find(", ".split(", ".partition(", ".replace(", ".removeprefix(", " =="],
    around: &["re.search(", "re.match(", "re.fullmatch(", "re.sub("],
};

const RUST: Parsing = Parsing {
    words: &["words", "fault", ".to_string()"],
    behind: &[
        ".contains(",
        ".starts_with(",
        ".ends_with(",
        ".strip_prefix(",
        ".strip_suffix(",
        ".split_once(",
        ".split(",
        ".find(",
        ".replace(",
        " ==",
    ],
    around: &[],
};

const SCRIPT: Parsing = Parsing {
    words: &[".words", ".message", "String(error)"],
    behind: &[".includes(", ".startsWith(", ".endsWith(", ".indexOf(", ".search(", ".split(", ".replace(", " ==="],
    around: &[".test(", ".exec("],
};

impl Parsing {
    /// Where a source takes words apart.
    fn places(&self, path: &str, source: &str) -> Vec<String> {
        let is_parsed = |line: &str, words: &str| {
            line.contains(&format!(" in {words}"))
                || self.behind.iter().any(|way| line.contains(&format!("{words}{way}")))
                || self.around.iter().any(|way| line.contains(way)) && line.contains(words)
        };
        let lines = source.lines().enumerate();
        let lines = lines.filter(|(_, line)| self.words.iter().any(|words| is_parsed(line, words)));
        lines.map(|(at, line)| format!("{path}:{}: {}", at + 1, line.trim())).collect()
    }
}

#[test]
fn no_face_takes_words_apart() {
    let faces = [
        ("python/icee", ".py", PYTHON),
        ("crates/icee-cli/src/study", ".rs", RUST),
        ("crates/icee-client/src", ".rs", RUST),
        ("crates/icee-serve/src/pages", ".js", SCRIPT),
    ];
    let mut found = Vec::new();
    for (folder, end, parsing) in faces {
        let sources = files(&workspace().join(folder), end);
        assert!(!sources.is_empty(), "{folder} has no {end}");
        found.extend(sources.iter().flat_map(|(path, source)| parsing.places(path, production(source))));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_takes_words_apart_is_seen() {
    let source = "if \"too few\" in str(error):\nif note[\"words\"].startswith(\"x\"):\nre.search(\"a\", str(error))\n\
                  print(str(error))\n";
    assert_eq!(PYTHON.places("a.py", source).len(), 3);
    assert_eq!(RUST.places("a.rs", "if error.to_string().contains(\"x\") {\n").len(), 1);
    assert_eq!(SCRIPT.places("a.js", "if (error.message.includes(\"x\")) {\n/x/.test(note.words)\n").len(), 2);
}

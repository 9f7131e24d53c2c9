//! README and docs say what is so: links lead somewhere, commands exist with the flags that are used, pictures are what
//! the program draws.

mod common;

use common::{Scratch, said};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What was written down when it was measured stays as it was.
const HISTORY: &str = "docs/lab-book.md";

/// The most words of the README.
const WORDS: usize = 900;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page with its path from the root.
struct Page {
    path: String,
    text: String,
}

/// The README and all of docs/.
fn pages() -> Vec<Page> {
    let docs =
        fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut paths: Vec<String> = docs
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/{name}"))
        .chain(["README.md".into()])
        .collect();
    paths.sort();
    let read = |path: String| Page { text: fs::read_to_string(root().join(&path)).unwrap(), path };
    paths.into_iter().map(read).collect()
}

/// The pages that are about today.
fn current_pages() -> Vec<Page> {
    pages().into_iter().filter(|page| page.path != HISTORY).collect()
}

/// The lines outside code blocks, and those inside.
fn prose_and_code(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut prose, mut code, mut inside) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            code.push(line);
        } else {
            prose.push(line);
        }
    }
    assert!(!inside, "a code block is not closed");
    (prose, code)
}

/// The addresses of a page: `[text](address)`, also across lines, and those of pictures.
fn addresses(prose: &str) -> Vec<&str> {
    let after = |start: &'static str, end: char| {
        prose.split(start).skip(1).map(move |rest| rest.split(end).next().unwrap_or_default())
    };
    after("](", ')').chain(after(" src=\"", '"')).chain(after(" srcset=\"", '"')).collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let (prose, _) = prose_and_code(text);
    let headings =
        prose.into_iter().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let letter = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    };
    headings.map(|heading| heading.to_lowercase().chars().filter_map(letter).collect()).collect()
}

/// What stands between backticks in a page's prose.
fn code_spans(prose: &str) -> impl Iterator<Item = &str> {
    prose.split('`').skip(1).step_by(2)
}

/// Every command of the program in a page: lines of code blocks, and spans in prose. Without comments and redirections.
fn commands(page: &Page) -> Vec<Vec<String>> {
    let (prose, code) = prose_and_code(&page.text);
    let prose = prose.join("\n");
    let lines = code.into_iter().map(|line| line.strip_prefix("$ ").unwrap_or(line)).chain(code_spans(&prose));
    let of_program = |line: &str| {
        let rest = line.strip_prefix("icee ").or_else(|| line.strip_prefix("cargo run --release -- "))?;
        let words = rest.split_whitespace().take_while(|word| !["#", ">", "|"].contains(word));
        Some(words.map(String::from).collect())
    };
    lines.filter_map(of_program).collect()
}

/// `icee ... --help`, each asked for once.
#[derive(Default)]
struct Helps(HashMap<String, String>);

impl Helps {
    fn of(&mut self, path: &[String]) -> &str {
        let ask = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_icee"));
            said(command.args(path).arg("--help").output().unwrap())
        };
        self.0.entry(path.join(" ")).or_insert_with(ask)
    }

    /// The subcommands of a command.
    fn subcommands(&mut self, path: &[String]) -> Vec<String> {
        let help = self.of(path);
        let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // A line that goes on from the one above is indented further.
        let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.filter_map(|line| line.split_whitespace().next().map(String::from)).collect()
    }
}

/// Something that a page names in place of a real one: NAME, runs/RUN, my-preset.toml.
fn stands_for_another(word: &str) -> bool {
    word.contains('/') || word.contains('.') || word.chars().all(|c| c.is_ascii_uppercase() || c == '-')
}

#[test]
fn links_lead_somewhere() {
    for Page { path, text } in pages() {
        let (prose, _) = prose_and_code(&text);
        let prose = prose.join("\n");
        let folder = root().join(&path).parent().unwrap().to_owned();
        for address in addresses(&prose).into_iter().filter(|address| !address.starts_with("https://")) {
            let (file, anchor) = address.split_once('#').unwrap_or((address, ""));
            let target = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            assert!(target.exists(), "{path}: {address} leads nowhere");
            if !anchor.is_empty() {
                let known = anchors(&fs::read_to_string(&target).unwrap());
                assert!(known.iter().any(|known| known == anchor), "{path}: {address}; the anchors are {known:?}");
            }
        }
    }
}

#[test]
fn every_command_exists_with_the_flags_that_are_used() {
    let mut helps = Helps::default();
    let mut seen = 0;
    for page in current_pages() {
        for words in commands(&page) {
            let said = format!("{}: icee {}", page.path, words.join(" "));
            let mut path: Vec<String> = Vec::new();
            for word in &words {
                if !helps.subcommands(&path).contains(word) {
                    break;
                }
                path.push(word.clone());
            }
            assert!(!path.is_empty(), "{said}: no such command");
            let help = helps.of(&path);
            let known: Vec<&str> =
                help.split([' ', ',', '\n', '[', ']', '=']).filter(|word| word.starts_with('-')).collect();
            for flag in words.iter().filter(|word| word.starts_with('-') && word.len() > 1) {
                let name = flag.split('=').next().unwrap_or_default();
                assert!(known.contains(&name), "{said}: {name} is not in `icee {} --help`", path.join(" "));
            }
            seen += 1;
        }
    }
    assert!(seen > 60, "only {seen} commands were found: is the reader of pages broken?");
}

#[test]
fn presets_models_and_worlds_that_are_named_exist() {
    let scratch = Scratch::new("readme-names");
    let print = |arguments: &[&str]| said(scratch.icee(arguments).output().unwrap());
    let first_words = |text: String| -> Vec<String> {
        text.lines().filter_map(|line| line.split_whitespace().next().map(String::from)).collect()
    };
    let (worlds, models) = (first_words(print(&["worlds"])), first_words(print(&["models"])));
    assert!(print(&["functions"]).contains("Branin"));
    let presets: Vec<String> = ["worlds", "functions"]
        .iter()
        .flat_map(|kind| fs::read_dir(root().join("presets").join(kind)).unwrap())
        .filter_map(|file| file.unwrap().file_name().to_str()?.strip_suffix(".toml").map(String::from))
        .collect();
    for page in current_pages() {
        for words in commands(&page) {
            let (known, at) = match words[0].as_str() {
                "train" => (&presets, 1),
                "rollout" => (&worlds, 1),
                "eval" | "tune" | "play" => (&models, 1),
                "models" if words.get(1).is_some_and(|word| word == "card") => (&models, 2),
                _ => continue,
            };
            let Some(name) = words.get(at).filter(|name| !name.starts_with("--") && !stands_for_another(name)) else {
                continue;
            };
            assert!(known.contains(name), "{}: icee {}: there is no {name}", page.path, words.join(" "));
        }
    }
}

#[test]
fn the_readme_is_short_and_numbers_begin_with_a_digit() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let words = readme.split_whitespace().count();
    assert!(words <= WORDS, "{words} words; at most {WORDS}");
    for Page { path, text } in current_pages() {
        for line in text.lines() {
            let signs: Vec<char> = [' '].into_iter().chain(line.chars()).collect();
            let naked = |three: &[char]| {
                three[1] == '.' && three[2].is_ascii_digit() && !three[0].is_alphanumeric() && three[0] != '.'
            };
            assert!(!signs.windows(3).any(naked), "{path}: {line}: write 0.5, not .5");
        }
    }
}

#[test]
fn the_pictures_are_what_the_program_draws() {
    let scratch = Scratch::new("readme-pictures");
    let page = fs::read_to_string(root().join("docs/reproducing.md")).unwrap();
    let drawn: Vec<&str> =
        page.lines().filter(|line| line.starts_with("icee play ") && line.contains("--svg")).collect();
    assert_eq!(drawn.len(), 2, "light and dark");
    for line in drawn {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let path = words[words.iter().position(|word| *word == "--svg").unwrap() + 1];
        let new = scratch.file("new.svg");
        let words: Vec<&str> = words.iter().map(|word| if *word == path { &new } else { *word }).collect();
        said(scratch.icee(&words).output().unwrap());
        let (new, old) = (fs::read_to_string(&new).unwrap(), fs::read_to_string(root().join(path)).unwrap());
        assert!(new == old, "{path} is not what the program draws now: run {line}");
        assert!(old.len() < 200_000, "{path} has {} bytes", old.len());
    }
}

//! The guide to studies shows what really happens: every command in it is run, one after another in one folder, and what it shows
//! of their output is compared. `ICEE_BLESS=1 cargo test -p icee-cli --test guide` writes the guide anew.
#![cfg(unix)]

mod common;

use common::Scratch;
use std::path::Path;
use std::process::Command;

/// Runs a line as a shell would, with the program at hand; what it printed, results before notes.
fn run(folder: &Path, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_icee")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh").args(["-c", line]).current_dir(folder).env("PATH", path).output().unwrap();
    let [printed, notes] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{line}\n{printed}{notes}");
    printed + &notes
}

/// The guide with the output of its commands as it is.
fn played(guide: &str, folder: &Path) -> String {
    let mut text = String::new();
    let mut block = "";
    for line in guide.lines() {
        let command = match block {
            "console" => line.strip_prefix("$ "),
            "sh" if line != "```" => Some(line),
            _ => None,
        };
        // Output follows its command.
        if command.is_none() && block == "console" && line != "```" {
            continue;
        }
        text += line;
        text.push('\n');
        if let Some(command) = command {
            let printed = run(folder, command);
            if block == "console" {
                text += &printed;
                // The next command stands apart.
                text.push('\n');
            }
        }
        if let Some(language) = line.strip_prefix("```") {
            if block == "console" {
                let kept = text.trim_end_matches("```\n").trim_end().len();
                text.replace_range(kept.., "\n```\n");
            }
            block = if block.is_empty() { language } else { "" };
        }
    }
    text
}

#[test]
fn the_guide_to_studies_shows_what_really_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/studies.md");
    let guide = std::fs::read_to_string(&path).unwrap();
    let scratch = Scratch::new("guide");
    std::os::unix::fs::symlink(root.join("data").canonicalize().unwrap(), scratch.0.join("data")).unwrap();
    let played = played(&guide, &scratch.0);
    if std::env::var_os("ICEE_BLESS").is_some() {
        return std::fs::write(path, played).unwrap();
    }
    let different = guide.lines().zip(played.lines()).find(|(shown, is)| shown != is);
    assert!(guide == played, "docs/studies.md shows something else than happens, first at {different:?}");
    assert!(played.matches("$ icee study").count() > 8);
    let page = std::fs::read_to_string(scratch.0.join("suzuki.html")).unwrap();
    assert!(page.contains("Predicted against measured") && page.contains("What the columns do"));
}

//! Studies and pages as files: `report`, `export --to`, `import` and `upgrade`.

use super::args::ImportArgs;
use super::{in_words, named, write_json};
use crate::terminal::{printable, say};
use anyhow::{Context, bail};
use icee_base::files::write_atomically;
use icee_client::{Upgraded, read_bundle, write_bundle};
use icee_protocol::{Bundle, Face, Import, Note, Page, Reader, Said, StudyName};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Writes a page about a study.
pub fn page(out: &mut impl Write, to: &Path, page: &Page, notes: &[Said<Note>], json: bool) -> anyhow::Result<()> {
    write_atomically(to, page.html.as_bytes())?;
    match json {
        true => write_json(out, &json!({ "page": shown(to), "notes": notes })),
        false => Ok(writeln!(out, "{}", printable(&shown(to)))?),
    }
}

/// Whether a journal can have this name.
pub fn checked(to: &Path) -> anyhow::Result<()> {
    if to.extension().is_none_or(|ending| ending != "jsonl") {
        bail!("--to writes a study's journal. Let {} end in .jsonl.", to.display());
    }
    Ok(())
}

/// Writes a study's journal, and its sheets beside it.
pub fn export(
    out: &mut impl Write,
    to: &Path,
    bundle: &Bundle,
    notes: &[Said<Note>],
    json: bool,
) -> anyhow::Result<()> {
    let folder = write_bundle(to, bundle).map_err(|problem| in_words(&problem, &Reader::at(Face::Terminal, None)))?;
    let journal = shown(to);
    if json {
        return write_json(out, &json!({ "journal": journal, "sheets": shown(&folder), "notes": notes }));
    }
    let count = bundle.sheets.len();
    let versions = if count == 1 { "its sheet".into() } else { format!("{count} versions of its sheet") };
    Ok(writeln!(out, "{}", printable(&format!("{journal}, and {versions} in {}", shown(&folder))))?)
}

/// Upgrades a study of a folder.
pub fn upgrade(
    out: &mut impl Write,
    at_server: bool,
    folder: &Path,
    name: Option<&StudyName>,
    json: bool,
) -> anyhow::Result<()> {
    if at_server {
        bail!("A journal is upgraded in its folder. Run this on the server's machine, without --at.");
    }
    let name = name.context("The study needs a name.")?;
    let reader = Reader::at(Face::Terminal, Some(name.as_str()));
    let done = icee_client::upgrade(folder, name).map_err(|problem| in_words(&problem, &reader))?;
    let Upgraded { lines, from, backup, sheet } = done;
    match json {
        true => write_json(
            out,
            &json!({ "upgraded": name, "lines": lines, "from": from, "backup": shown(&backup), "sheet": sheet }),
        ),
        false => {
            let backup = shown(&backup);
            if !sheet {
                say("note: its sheet has changed since it was last read; the next ask or update imports it");
            }
            Ok(writeln!(out, "{name}: upgraded from format {from}, {lines} lines; the old journal is {backup}")?)
        }
    }
}

impl ImportArgs {
    /// The study's name here.
    pub fn name(&self) -> anyhow::Result<StudyName> {
        let stem = || self.file.file_stem().and_then(|stem| stem.to_str());
        let unknown = || format!("What is the study in {} called? Give --as NAME.", self.file.display());
        named(self.name.as_deref().or_else(stem).with_context(unknown)?)
    }

    /// What is asked for.
    pub fn request(&self, name: Option<&StudyName>) -> anyhow::Result<Import> {
        let reader = Reader::at(Face::Terminal, name.map(StudyName::as_str));
        let Bundle { journal, sheets } = read_bundle(&self.file).map_err(|problem| in_words(&problem, &reader))?;
        Ok(Import { name: name.cloned(), journal, sheets })
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

//! `icee study export --to`, `import` and `delete`: a study goes to another folder, machine or server, journal and sheet as they are, or
//! out of the way.

use super::study::{FOLDER, StudyArgs, answered, now};
use super::study_create::in_folder;
use super::study_print as print;
use anyhow::{Context, bail};
use clap::Args;
use icee_models::study_models;
use icee_serve::Client;
use icee_serve::wire::{self, Files};
use icee_study::{SHEETS, Study, StudyFiles, Summary};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Print what was told as CSV, in the form that `tell --csv` reads; or, with --to, write the study itself to a file.
///
/// With --to FILE.jsonl the journal goes there, byte for byte, and the sheet beside it, as FILE.sheet.csv or FILE.sheet.xlsx.
/// `icee study import` takes them in, in another folder, on another machine or on a server.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  icee study export bread > told.csv\n  icee study export bread --to bread-copy.jsonl\n  icee study export bread --to bread.jsonl --at http://127.0.0.1:8642"
)]
pub struct ExportArgs {
    /// Write the study itself, its journal and its sheet, instead of what was told.
    #[arg(long, value_name = "FILE.jsonl")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Take in a study from elsewhere: a journal, and the sheet that lies beside it.
///
/// Nothing in it is changed, and it goes on where it was. What `icee study export NAME --to FILE.jsonl` has written can be taken in, and so
/// can the files in any folder of studies. If something is wrong with them, nothing is taken in.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  icee study import bread.jsonl --at http://127.0.0.1:8642\n  icee study import bread.jsonl --as bread-2 --dir studies"
)]
pub struct ImportArgs {
    /// The journal.
    #[arg(value_name = "FILE.jsonl")]
    pub file: PathBuf,
    /// What the study is called here [default: the file's name].
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// The folder of studies.
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub dir: PathBuf,
    /// Where its sheet lies, if not beside it or where the journal says.
    #[arg(long, value_name = "FILE")]
    pub pool: Option<PathBuf>,
    /// Print JSON for machines.
    #[arg(long)]
    pub json: bool,
}

/// Writes a study of a folder to a file.
pub fn export(out: &mut impl Write, args: &ExportArgs, to: &Path) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    let files = study.files()?;
    print::notes(&study.take_notes());
    write(out, &files, to, args.study.json)
}

/// Writes a study of a server to a file.
pub fn export_at(out: &mut impl Write, client: &Client, args: &ExportArgs, to: &Path) -> anyhow::Result<()> {
    let (files, notes): (Files, _) = client.get(&args.study.at("journal")?, &wire::Nothing {})?;
    print::notes(&notes);
    let files = files.files().map_err(anyhow::Error::msg);
    write(
        out,
        &files.with_context(|| format!("{} does not answer like icee serve", client.url()))?,
        to,
        args.study.json,
    )
}

fn write(out: &mut impl Write, files: &StudyFiles, to: &Path, json: bool) -> anyhow::Result<()> {
    if to.extension().is_none_or(|ending| ending != "jsonl") {
        bail!("--to writes a study's journal; let {} end in .jsonl", to.display());
    }
    let sheet = files.write(to)?;
    let [journal, sheet] = [to, &sheet].map(|path| path.display().to_string());
    match json {
        true => print::write_json(out, &serde_json::json!({ "journal": journal, "sheet": sheet })),
        false => Ok(writeln!(out, "{journal}, and its sheet {sheet}")?),
    }
}

/// Takes a study into a folder.
pub fn import(out: &mut impl Write, args: &ImportArgs) -> anyhow::Result<()> {
    let name = args.name()?;
    let path = Study::path(&args.dir, name)?;
    args.files()?.write(&path)?;
    let summary = Study::open(&path, None, study_models()?)?.summary();
    let printed = print::created(out, name, &path, &in_folder(&args.dir), &summary, args.json);
    answered(out, printed)
}

/// Takes a study to a server.
pub fn import_at(out: &mut impl Write, client: &Client, args: &ImportArgs) -> anyhow::Result<()> {
    let name = args.name()?;
    // The name first: nobody should send a large file for nothing.
    let place = format!("{}{}", client.url(), Client::path(name, "")?);
    let Files { journal, sheet, sheet_base64 } = args.files()?.into();
    let wanted = wire::Import { name: Some(name.to_owned()), journal, sheet, sheet_base64 };
    let summary: Summary = client.post("/api/import", &wanted)?;
    let printed = print::created(out, name, Path::new(&place), &format!(" --at {}", client.url()), &summary, args.json);
    answered(out, printed)
}

/// Puts a study of a folder away. Sheets that came along with it go, too; those of whoever created it stay.
pub fn delete(out: &mut impl Write, args: &StudyArgs) -> anyhow::Result<()> {
    let journal = args.journal()?;
    let sheets: Vec<PathBuf> =
        SHEETS.iter().map(|ending| journal.with_extension(ending)).filter(|sheet| sheet.is_file()).collect();
    let place = Study::put_away(&journal, &sheets, now())?.display().to_string();
    let printed = match args.json {
        true => print::write_json(out, &serde_json::json!({ "deleted": args.name, "place": place })),
        false => Ok(writeln!(out, "{} lies in {place} now; its name is free again", args.name)?),
    };
    answered(out, printed)
}

/// Puts a study of a server away.
pub fn delete_at(out: &mut impl Write, client: &Client, args: &StudyArgs) -> anyhow::Result<()> {
    client.delete(&args.at("")?)?;
    let deleted = &args.name;
    let printed = match args.json {
        true => print::write_json(out, &serde_json::json!({ "deleted": deleted })),
        false => Ok(writeln!(out, "{deleted} is put away by the server; its name is free again")?),
    };
    answered(out, printed)
}

impl ImportArgs {
    fn name(&self) -> anyhow::Result<&str> {
        let stem = || self.file.file_stem().and_then(|stem| stem.to_str());
        let no_name = || format!("what is the study in {} called? Say it with --as NAME", self.file.display());
        self.name.as_deref().or_else(stem).with_context(no_name)
    }

    fn files(&self) -> anyhow::Result<StudyFiles> {
        let files = StudyFiles::read(&self.file, self.pool.as_deref());
        files.with_context(|| format!("{} cannot be taken in", self.file.display()))
    }
}

//! Looking at studies from outside: all that lie in a folder, and what one was told as a file.

use super::study::{FOLDER, LookArgs, StudyArgs, names_in};
use super::study_print::write_json;
use crate::terminal::printable;
use anyhow::bail;
use clap::Args;
use icee_base::numbers::short;
use icee_report::output;
use icee_report::study::page_of;
use icee_serve::wire::Line;
use icee_study::{Models, Study};
use std::io::{IsTerminal, Write, stdout};
use std::path::PathBuf;

/// Print the studies of a folder: rows, told, running, left, and the best value.
#[derive(Args)]
pub struct ListArgs {
    /// The folder of studies.
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub dir: PathBuf,
    /// Print JSON for machines.
    #[arg(long)]
    pub json: bool,
}

/// Print why a row is worth trying, or is not: what is predicted of it, how it compares with the best, and the rows told that are
/// most like it.
#[derive(Args)]
#[command(after_help = "Example:\n  icee study why bread --row 23")]
pub struct WhyArgs {
    /// The row: its id, or its number from 1.
    #[arg(long, value_name = "ID")]
    pub row: String,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Write a page about the study: best so far, what comes next and why, predicted against measured, what the columns do.
///
/// One file that fetches nothing, to look at or to send to a colleague. Nothing is asked for or written down in the study.
#[derive(Args)]
#[command(after_help = "Example:\n  icee study report bread --out bread.html")]
pub struct ReportArgs {
    /// Where the page goes [default: DIR/NAME.html].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How many rows to look ahead.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    pub count: usize,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Runs `icee study list`.
pub fn list(out: &mut impl Write, args: &ListArgs) -> anyhow::Result<()> {
    let line = |name: String| match Study::open(&args.dir.join(format!("{name}.jsonl")), None, Models::default()) {
        Ok(mut study) => Line::of(&name, &mut study),
        Err(error) => Line::problem(&name, error.to_string()),
    };
    let lines: Vec<Line> = names_in(&args.dir).into_iter().map(line).collect();
    write_list(out, &lines, &args.dir.display().to_string(), args.json)
}

/// Prints the studies of a place.
pub fn write_list(out: &mut impl Write, lines: &[Line], place: &str, json: bool) -> anyhow::Result<()> {
    if json {
        return write_json(out, &lines);
    }
    if lines.is_empty() {
        writeln!(out, "no studies in {}", printable(place))?;
        return Ok(());
    }
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default().max("study".len());
    writeln!(out, "{:<width$}  {:>7}  {:>7}  {:>7}  {:>7}  best", "study", "rows", "told", "running", "left")?;
    for Line { name, rows, told, running, left, best, problem } in lines {
        let name = printable(name);
        match problem {
            Some(problem) => writeln!(out, "{name:<width$}  {}", printable(problem))?,
            None => {
                let best = best.map_or_else(|| "-".into(), short);
                writeln!(out, "{name:<width$}  {rows:>7}  {told:>7}  {running:>7}  {left:>7}  {best}")?;
            }
        }
    }
    Ok(())
}

/// Runs `icee study why`.
pub fn why(out: &mut impl Write, args: &WhyArgs) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    let why = study.why(&args.row, None)?;
    super::study_print::notes(&study.take_notes());
    super::study_print::why_row(out, &why, args.study.json)
}

/// Runs `icee study effects`.
pub fn effects(out: &mut impl Write, args: &LookArgs) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    let effects = study.effects(None)?;
    super::study_print::notes(&study.take_notes());
    if effects.is_empty() {
        bail!("too few values were told to say what the columns do; tell more first");
    }
    super::study_tables::effects(out, &effects, args.study.json)
}

/// Runs `icee study report`.
pub fn report(out: &mut impl Write, args: &ReportArgs) -> anyhow::Result<()> {
    let name = &args.study.name;
    let mut study = args.study.open()?;
    let (page, notes) = page_of(&mut study, name, args.count)?;
    super::study_print::notes(&notes);
    let path = args.out.clone().unwrap_or_else(|| args.study.dir.join(format!("{name}.html")));
    let path = output::write_page(&page, &path)?;
    super::study_print::written(out, &path, args.study.json)
}

/// Runs `icee study export`.
pub fn export(out: &mut impl Write, study: &StudyArgs) -> anyhow::Result<()> {
    let summary = study.open()?.summary();
    super::study_print::notes(&summary.notes);
    if study.json {
        return write_json(out, &summary.told);
    }
    // A terminal must not obey what stands in a file.
    let terminal = stdout().is_terminal();
    let shown = |text: &str| if terminal { printable(text).into_owned() } else { text.to_owned() };
    summary.write_told(out, shown)?;
    Ok(())
}

//! What changes a study beside asking: telling, taking in the sheet, taking back.

use super::study::{StudyArgs, answered, now};
use super::study_print as print;
use crate::terminal::{printable, say};
use anyhow::{Context, bail};
use clap::Args;
use icee_study::{Corrected, Outcome, Repeat, Study, duration};
use std::io::Write;
use std::path::PathBuf;

/// Tell what came out: one row's value, a failure, or a file of many.
///
/// Any row can be told, whether it was asked for or not. A failed row is never suggested, and counts as no better than the
/// worst value told; an impossible one is never suggested, and says nothing about others.
///
/// A file of results, which may be the sheet itself, has a column of values (--value COLUMN; otherwise the study's own, or
/// "value") with numbers, which may have one unit, the words "failed" or "impossible", or nothing. Rows are found by the study's id column, by a column
/// "row" with their numbers ("row_number" where the sheet has a column "row" of its own), or by their cells. A line whose other cells are
/// not those of the row that it names is refused. A row that stands there twice was measured twice. All lines are taken, or none.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  icee study tell bread --row 17 --value 0.37\n  icee study tell bread --row 18 --failed\n  \
                  icee study tell bread --csv results.csv --value score\n  icee study tell bread --row 17 --value 0.38 --replace\n  \
                  icee study tell drug --row 17 --value 81 --value purity=96.5 --value price=3"
)]
pub struct TellArgs {
    /// The row: its id, or its number from 1.
    #[arg(long, value_name = "ID", required_unless_present = "csv")]
    pub row: Option<String>,
    /// Its value, and NAME=VALUE for each further outcome; with --csv the column of values.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, required_unless_present_any = ["failed", "impossible", "csv"])]
    pub value: Vec<String>,
    /// The experiment failed.
    #[arg(long, conflicts_with_all = ["value", "impossible"])]
    pub failed: bool,
    /// The experiment cannot be made.
    #[arg(long, conflicts_with = "value")]
    pub impossible: bool,
    /// A file of results: CSV, .xlsx or .xlsm.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["row", "failed", "impossible"])]
    pub csv: Option<PathBuf>,
    /// Correct what was told before; the journal keeps both.
    #[arg(long)]
    pub replace: bool,
    /// Another measurement of a row that has been told.
    #[arg(long, conflicts_with = "replace")]
    pub again: bool,
    /// Who tells it. Whoever had the row until his time was up adds a measurement where others have told it meanwhile.
    #[arg(long, value_name = "NAME", conflicts_with = "csv")]
    pub by: Option<String>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Take in what has changed in the sheet: rows added, removed or sorted, and results filled in.
///
/// The next ask does the same. Rows that were told or asked for and are gone or have other cells now are named, and nothing is
/// taken in: put them back, keep their results (--keep; in a study with an id column), or drop them (`icee study forget`). A result that is another one than was told
/// needs --replace. With --at, the sheet that --pool names goes to the server; without --pool the server reads its own again.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  icee study update bread\n  icee study update bread --pool bread.csv --at http://127.0.0.1:8642"
)]
pub struct UpdateArgs {
    /// Results that differ from what was told correct it.
    #[arg(long)]
    pub replace: bool,
    /// Rows whose other cells were corrected keep their results; they are found by the study's id column.
    #[arg(long)]
    pub keep: bool,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Give rows that are running more time: they are given back after it, counted from now, if nothing is told of them.
#[derive(Args)]
#[command(after_help = "Example:\n  icee study renew bread --row 17 --within 2h")]
pub struct RenewArgs {
    /// The rows: ids, or numbers from 1, separated by commas.
    #[arg(long = "row", value_name = "ID,ID", value_delimiter = ',', required = true)]
    pub rows: Vec<String>,
    /// The time, such as 90m, 8h or 3d.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub within: u64,
    /// Who has them: refused where somebody else has one by now [default with --at: the name of the token].
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    #[command(flatten)]
    pub study: StudyArgs,
}

#[derive(Args)]
pub struct WithdrawArgs {
    /// Who has them: refused where somebody else has one by now [default with --at: the name of the token].
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    #[command(flatten)]
    pub rows: RowsArgs,
}

#[derive(Args)]
pub struct RowsArgs {
    /// The rows: ids, or numbers from 1, separated by commas.
    #[arg(long = "row", value_name = "ID,ID", value_delimiter = ',', required = true)]
    pub rows: Vec<String>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Runs `icee study tell`.
pub fn tell(out: &mut impl Write, args: &TellArgs) -> anyhow::Result<()> {
    let repeat = match (args.replace, args.again) {
        (true, _) => Repeat::Replace,
        (_, true) => Repeat::Again,
        _ => Repeat::Refuse,
    };
    let mut study = args.study.open()?;
    let told = match (&args.csv, &args.row) {
        (Some(path), _) => match &args.value[..] {
            [] => study.tell_csv(path, None, repeat)?,
            [column] => study.tell_csv(path, Some(column), repeat)?,
            _ => bail!("--value names one column of the file; further outcomes are found by their names"),
        },
        (None, Some(row)) => {
            let (outcome, further) = args.outcome(study.value_column())?;
            study.tell_by(args.by.as_deref(), row, outcome, &further, repeat)?
        }
        (None, None) => bail!("give --row with --value, --failed or --impossible, or --csv FILE"),
    };
    let best = study.best();
    let none = if study.has_values() { print::NONE_GOOD } else { "no value yet" };
    let printed = print::told(out, &told, best.as_ref().ok_or(none), &study.take_notes(), args.study.json);
    answered(out, printed)
}

impl TellArgs {
    /// The outcome, and the further ones by name; `main` is what the first is called, if it has a name.
    pub fn outcome(&self, main: Option<&str>) -> anyhow::Result<(Outcome, Vec<(&str, f64)>)> {
        let (mut outcome, mut further) = (None, Vec::new());
        for value in &self.value {
            match value.split_once('=') {
                Some((name, _)) if further.iter().any(|(other, _)| *other == name.trim()) => {
                    bail!("\"{}\" is given twice", name.trim())
                }
                Some((name, value)) if Some(name.trim()) != main => further.push((name.trim(), number(value)?)),
                _ if outcome.is_some() => bail!("two values are given; further outcomes are told as NAME=VALUE"),
                Some((_, value)) => outcome = Some(number(value)?),
                None => outcome = Some(number(value)?),
            }
        }
        match outcome {
            Some(value) => Ok((Outcome::Value(value), further)),
            None if !further.is_empty() => bail!("the value itself is missing: add --value NUMBER"),
            None if self.impossible => Ok((Outcome::Impossible, further)),
            None => Ok((Outcome::Failed, further)),
        }
    }
}

/// A number as people type it: with a decimal comma, too, unless that might separate thousands.
fn number(text: &str) -> anyhow::Result<f64> {
    let text = text.trim();
    let comma = text.split_once(',').filter(|(_, digits)| digits.len() != 3 && !text.contains('.'));
    let plain = comma.map_or_else(|| text.to_owned(), |(whole, digits)| format!("{whole}.{digits}"));
    if ["failed", "impossible"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        bail!("the experiment came to no value: say --{} in place of --value", text.to_lowercase());
    }
    plain
        .parse()
        .ok()
        .with_context(|| format!("the value \"{text}\" is not a number; write it alone, without a unit, like 1200.5"))
}

/// Runs `icee study renew`.
pub fn renew(out: &mut impl Write, args: &RenewArgs) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    let until = now().saturating_add(args.within);
    study.renew(&args.rows.iter().map(String::as_str).collect::<Vec<_>>(), until, args.by.as_deref())?;
    let printed = print::renewed(out, &args.rows, until, &study.take_notes(), args.study.json);
    answered(out, printed)
}

/// Runs `icee study update`.
pub fn update(out: &mut impl Write, args: &UpdateArgs) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    let repeat = if args.replace { Repeat::Replace } else { Repeat::Refuse };
    let change = study.update(repeat, if args.keep { Corrected::Keep } else { Corrected::Refuse })?;
    let printed = print::updated(out, &change, &study.take_notes(), args.study.json);
    answered(out, printed)
}

/// Runs `icee study withdraw`.
pub fn withdraw(out: &mut impl Write, args: &WithdrawArgs) -> anyhow::Result<()> {
    take_back(out, &args.rows, "withdrawn", |study, rows| study.withdraw(rows, args.by.as_deref()))
}

/// Runs `icee study forget`.
pub fn forget(out: &mut impl Write, args: &RowsArgs) -> anyhow::Result<()> {
    take_back(out, args, "forgotten", |study, rows| {
        study.forget(rows)?;
        if let Some(column) = study.value_column() {
            say(format_args!(
                "note: what still stands in the column {} will be told again; empty the cell",
                printable(column)
            ));
        }
        Ok(())
    })
}

fn take_back(
    out: &mut impl Write,
    args: &RowsArgs,
    done: &str,
    work: impl Fn(&mut Study, &[&str]) -> icee_study::Result<()>,
) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    let rows: Vec<&str> = args.rows.iter().map(String::as_str).collect();
    work(&mut study, &rows)?;
    let printed = print::taken_back(out, done, &rows, &study.take_notes(), args.study.json);
    answered(out, printed)
}

/// Runs `icee study undo`.
pub fn undo(out: &mut impl Write, args: &StudyArgs) -> anyhow::Result<()> {
    let mut study = args.open()?;
    let what = study.undo()?;
    let printed = print::undone(out, &what, &study.take_notes(), args.json);
    answered(out, printed)
}

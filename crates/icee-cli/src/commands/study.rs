//! `icee study`: which row of a sheet to try next.

use super::study_at;
use super::study_create::{CreateArgs, create};
use super::study_look::{ListArgs, ReportArgs, WhyArgs, effects, export, list, report, why};
use super::study_move::{self, ExportArgs, ImportArgs};
use super::study_print as print;
use super::study_tables::forecasts;
use super::study_tell::{
    RenewArgs, RowsArgs, TellArgs, UpdateArgs, WithdrawArgs, forget, renew, tell, undo, update, withdraw,
};
use crate::terminal::say;
use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use icee_models::study_models;
use icee_study::{AskOptions, RowForecast, SamplerKind, Study, duration};
use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

/// Where studies are kept unless it is said.
pub const FOLDER: &str = "studies";
/// Said where the journal has more than the person could be shown.
const NOT_PRINTED: &str = "this is in the study now (see `icee study show`), but could not be printed";

/// Which row next? Search a sheet of candidates, CSV or Excel, for the best one, in few experiments.
#[derive(Args)]
pub struct Arguments {
    /// Studies of a server (`icee serve`), such as http://127.0.0.1:8642 or https://HOST, instead of a folder; the variable ICEE_TOKEN has
    /// the token.
    #[arg(long, value_name = "URL", global = true)]
    at: Option<String>,
    #[command(subcommand)]
    command: StudyCommand,
}

/// What `icee study` does.
#[derive(Subcommand)]
pub enum StudyCommand {
    Create(Box<CreateArgs>),
    Ask(AskArgs),
    Tell(TellArgs),
    Renew(RenewArgs),
    Update(UpdateArgs),
    /// Take back rows that were asked for and will not be tried; they may be suggested again.
    ///
    /// A row that cannot be tried at all is told as impossible: `icee study tell NAME --row ID --impossible`.
    Withdraw(WithdrawArgs),
    /// Forget what was told of rows by mistake: all their values, or that they failed.
    Forget(RowsArgs),
    /// Take back the last thing that was asked, told, taken in, withdrawn or forgotten. The journal keeps it.
    Undo(LookArgs),
    /// Print the best row told so far.
    Best(LookArgs),
    /// Print the study: its columns, all that was told, and what is still running.
    Show(LookArgs),
    Predict(PredictArgs),
    Why(WhyArgs),
    /// Print what each column does: the mean of what is predicted of the rows, by its words or numbers.
    Effects(LookArgs),
    Report(ReportArgs),
    List(ListArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    /// Put a study away, into the folder deleted/; its name is free again. The sheet stays where it is.
    Delete(LookArgs),
}

/// Ask which rows to try next.
///
/// Each comes with its predicted value and the interval that holds it with probability 95 % (of the value itself, without
/// the noise of one measurement), and the probability that it beats the best value so far. While rows are still running they
/// are repeated; --more asks for others. Several rows are spread out: those that are running count as known, with an outcome
/// drawn from the model's belief. Where some rows were measured more than once, to measure one again may be the answer. The first rows, before two values are told, are spread over the pool.
///
/// The last line helps to decide whether you are done: how likely it is that any row left beats the best. It is computed
/// for the 64 most promising rows together, because similar rows stand and fall together; the chance of the best
/// single row and what it would be if all rows were independent (too high) are in the JSON.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  icee study ask bread\n  icee study ask bread -n 4 --more --json\n  icee study ask bread --where \"heat < 230 and flour != rye\"\n  icee study ask plate -n 8 --same temp --within 2d"
)]
pub struct AskArgs {
    /// How many rows.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    pub count: usize,
    /// Only rows that satisfy this: comparisons of columns with < <= > >= = != and in (a, b), joined by and, or, not. Names and words with
    /// blanks or signs stand in quotes: '"Pigment %" < 10 and solvent = "butyl acetate"'.
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    /// New rows, also while others are still running. Without it, ask repeats those.
    #[arg(long)]
    pub more: bool,
    /// Columns in which all rows of this answer are the same, separated by commas: one temperature for a plate.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub same: Vec<String>,
    /// Give the rows back after this time, such as 90m, 8h or 3d, if nothing is told of them.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub within: Option<u64>,
    /// Who will try them; without --more, rows that this person or worker still has are repeated.
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Another sampler than the study's, for this time: icee, gp-ei or random.
    #[arg(long, value_name = "NAME")]
    pub sampler: Option<String>,
    /// Go on with this program's learned model, though the study began with another one.
    #[arg(long)]
    pub accept_model: bool,
    #[command(flatten)]
    pub study: StudyArgs,
}

#[derive(Args)]
pub struct LookArgs {
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Print what is believed of every row, as CSV: id, status, value, mean, low, high, beats_best, then the row's cells.
///
/// Further outcomes have columns of their own: NAME_mean, NAME_low, NAME_high and, where there is a limit, NAME_holds.
///
/// mean is the expected value, low and high hold it with probability 95 %, beats_best is the probability of beating the
/// best value told. Status is told, failed, running (suggested, nothing told yet) or left.
#[derive(Args)]
#[command(after_help = "Example:\n  icee study predict bread > beliefs.csv")]
pub struct PredictArgs {
    /// Only so many rows of those that are left, the most promising first.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Another model than the study's: icee or gp-ei.
    #[arg(long, value_name = "NAME")]
    pub sampler: Option<String>,
    /// Go on with this program's learned model, though the study began with another one.
    #[arg(long)]
    pub accept_model: bool,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Which study, and how to answer.
#[derive(Args)]
pub struct StudyArgs {
    /// The study's name.
    pub name: String,
    /// The folder of studies.
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub dir: PathBuf,
    /// Where the sheet lies now, if it was moved.
    #[arg(long, value_name = "FILE")]
    pub pool: Option<PathBuf>,
    /// Print JSON for machines.
    #[arg(long)]
    pub json: bool,
}

/// Runs `icee study`.
pub fn run(Arguments { at, command }: &Arguments) -> anyhow::Result<()> {
    // Locked for the whole answer; a file of beliefs may have a million lines.
    let mut out = BufWriter::new(stdout().lock());
    if let Some(url) = at {
        study_at::run(&mut out, url, command)?;
        out.flush()?;
        return Ok(());
    }
    match command {
        StudyCommand::Create(args) => create(&mut out, args)?,
        StudyCommand::Ask(args) => ask(&mut out, args)?,
        StudyCommand::Tell(args) => tell(&mut out, args)?,
        StudyCommand::Renew(args) => renew(&mut out, args)?,
        StudyCommand::Update(args) => update(&mut out, args)?,
        StudyCommand::Withdraw(args) => withdraw(&mut out, args)?,
        StudyCommand::Forget(args) => forget(&mut out, args)?,
        StudyCommand::Undo(args) => undo(&mut out, &args.study)?,
        StudyCommand::Best(args) => best(&mut out, args)?,
        StudyCommand::Show(args) => show(&mut out, args)?,
        StudyCommand::Predict(args) => predict(&mut out, args)?,
        StudyCommand::Why(args) => why(&mut out, args)?,
        StudyCommand::Effects(args) => effects(&mut out, args)?,
        StudyCommand::Report(args) => report(&mut out, args)?,
        StudyCommand::List(args) => list(&mut out, args)?,
        StudyCommand::Export(args) => match &args.to {
            Some(to) => study_move::export(&mut out, args, to)?,
            None => export(&mut out, &args.study)?,
        },
        StudyCommand::Import(args) => study_move::import(&mut out, args)?,
        StudyCommand::Delete(args) => study_move::delete(&mut out, &args.study)?,
    }
    out.flush()?;
    Ok(())
}

/// Ends the answer of a command that has changed the study.
pub fn answered(out: &mut impl Write, printed: anyhow::Result<()>) -> anyhow::Result<()> {
    printed.and_then(|()| Ok(out.flush()?)).context(NOT_PRINTED)
}

fn ask(out: &mut impl Write, args: &AskArgs) -> anyhow::Result<()> {
    let sampler = sampler(args.sampler.as_deref())?;
    let mut study = args.study.open()?;
    if args.accept_model {
        study.accept_model(sampler)?;
    }
    let now = now();
    let wanted = AskOptions {
        count: args.count,
        sampler,
        condition: args.condition.clone(),
        same: args.same.clone(),
        until: args.within.map(|seconds| now.saturating_add(seconds)),
        by: args.by.clone(),
    };
    let answer = study.ask_or_repeat(&wanted, args.more, now)?;
    let printed = print::asked(out, &answer, args);
    answered(out, printed)
}

/// Seconds since 1970.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn best(out: &mut impl Write, args: &LookArgs) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    if study.objectives() > 1 {
        let front = study.front();
        print::notes(&study.take_notes());
        return print::front(out, &front, args.study.json);
    }
    let best = study.best();
    print::notes(&study.take_notes());
    match best {
        Some(best) => print::best(out, &best, args.study.json),
        None if study.has_values() => {
            bail!("{}; `icee study show {}` has all rows", print::NONE_GOOD, args.study.name)
        }
        None => bail!("no value was told yet; tell one with `icee study tell {} --row ID --value V`", args.study.name),
    }
}

fn show(out: &mut impl Write, args: &LookArgs) -> anyhow::Result<()> {
    print::summary(out, &args.study.name, &args.study.open()?.summary(), args.study.json)
}

fn predict(out: &mut impl Write, args: &PredictArgs) -> anyhow::Result<()> {
    let sampler = sampler(args.sampler.as_deref())?;
    let mut study = args.study.open()?;
    if args.accept_model {
        study.accept_model(sampler)?;
    }
    let mut rows = study.predict(sampler)?;
    if let Some(top) = args.top {
        rows = RowForecast::most_promising(rows, top);
    }
    print::notes(&study.take_notes());
    forecasts(out, &rows, |row| study.cells(row), args.study.json, stdout().is_terminal())
}

/// A sampler by its name.
pub fn sampler(name: Option<&str>) -> anyhow::Result<Option<SamplerKind>> {
    Ok(name.map(str::parse).transpose()?)
}

impl StudyArgs {
    /// The journal of the study, which is there.
    pub fn journal(&self) -> anyhow::Result<PathBuf> {
        let path = Study::path(&self.dir, &self.name)?;
        if !path.exists() {
            let known = names_in(&self.dir);
            let others = if known.is_empty() { String::new() } else { format!(" (there are {})", known.join(", ")) };
            bail!(
                "there is no study \"{}\" in {}{others}; create it with `icee study create {} --pool FILE`",
                self.name,
                self.dir.display(),
                self.name
            );
        }
        Ok(path)
    }

    /// Opens the study.
    pub fn open(&self) -> anyhow::Result<Study> {
        let path = self.journal()?;
        let mut study = Study::open(&path, self.pool.as_deref(), study_models()?)
            .with_context(|| format!("study \"{}\" cannot be opened", self.name))?;
        study.when_waiting(|path| say(format_args!("waiting: another process is at work on {}", path.display())));
        Ok(study)
    }
}

/// The names of the studies in a folder.
pub fn names_in(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().to_str()?.strip_suffix(".jsonl").map(String::from));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

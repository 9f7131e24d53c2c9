//! `icee study`: which row of a CSV file to try next.

use super::study_print as print;
use crate::terminal::say;
use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use icee_models::study_models;
use icee_study::{Direction, SamplerKind, Study, StudyOptions};
use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::path::PathBuf;

/// Said where the journal has more than the person could be shown.
const NOT_PRINTED: &str = "this is in the study now (see `icee study show`), but could not be printed";

/// What `icee study` does.
#[derive(Subcommand)]
pub enum StudyCommand {
    Create(CreateArgs),
    Ask(AskArgs),
    Tell(TellArgs),
    /// Print the best row told so far.
    Best(LookArgs),
    /// Print the study: its columns, all that was told, and what is still running.
    Show(LookArgs),
    Predict(PredictArgs),
}

/// Start a study of the rows of a CSV file.
///
/// The file is UTF-8 with a header; commas, semicolons or tabs separate the cells; quotes and CRLF are fine; with
/// semicolons numbers may have a decimal comma. Columns of numbers are scaled (by logarithms where they span decades),
/// all others are categories. Empty cells and NA are missing values. What was done with each column is printed.
#[derive(Args)]
#[command(after_help = "Example:\n  icee study create bread --pool recipes.csv --id name --direction maximize")]
pub struct CreateArgs {
    /// The study's name; its file is DIR/NAME.jsonl.
    name: String,
    /// The CSV file of candidates, one a row. It must not change while the study lasts.
    #[arg(long, value_name = "FILE")]
    pool: PathBuf,
    /// The columns to learn from, separated by commas [default: all].
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// The column that names the rows [default: they are numbered from 1, the header not counted].
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Whether low or high values are good.
    #[arg(long, value_enum, default_value_t = DirectionName::Minimize)]
    direction: DirectionName,
    /// What picks the rows: icee (a learned model), gp-ei (a Gaussian process) or random [default: icee where a model
    /// fits the columns, gp-ei elsewhere].
    #[arg(long, value_name = "NAME")]
    sampler: Option<String>,
    /// Fixes all that is random.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// The folder of studies.
    #[arg(long, value_name = "DIR", default_value = "studies")]
    dir: PathBuf,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

/// Ask which rows to try next.
///
/// Each comes with its predicted value and the interval that holds it with probability 95 % (of the value itself, without
/// the noise of one measurement), and the probability that it beats the best value so far. No row is ever suggested twice.
/// Several rows, and rows asked for while others are still running, are spread out: those count as known, with an outcome
/// drawn from the model's belief. The first rows, before two values are told, are spread over the pool.
///
/// The last line helps to decide whether you are done: how likely it is that any row left beats the best. It is computed
/// for the 64 most promising rows together, because similar rows stand and fall together; the chance of the best
/// single row and what it would be if all rows were independent (too high) are in the JSON.
#[derive(Args)]
#[command(after_help = "Examples:\n  icee study ask bread\n  icee study ask bread -n 4 --json")]
pub struct AskArgs {
    /// How many rows.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    count: usize,
    /// Another sampler than the study's, for this time: icee, gp-ei or random.
    #[arg(long, value_name = "NAME")]
    sampler: Option<String>,
    /// Go on with this program's learned model, though the study began with another one.
    #[arg(long)]
    accept_model: bool,
    #[command(flatten)]
    study: StudyArgs,
}

/// Tell what came out: one row's value, a failure, or a CSV file of many.
///
/// Any row can be told, whether it was asked for or not. A file of results has a column "value" (in which the word "failed"
/// marks a failed experiment) and one named like the study's id column, or "row" with the rows' numbers. All its lines
/// are taken, or none. A failed row is never suggested, and counts as no better than the worst value told.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  icee study tell bread --row 17 --value 0.37\n  icee study tell bread --row 18 --failed\n  \
                  icee study tell bread --csv results.csv\n  icee study tell bread --row 17 --value 0.38 --replace"
)]
pub struct TellArgs {
    /// The row: its id, or its number from 1.
    #[arg(long, value_name = "ID", required_unless_present = "csv")]
    row: Option<String>,
    /// Its value.
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, required_unless_present_any = ["failed", "csv"])]
    value: Option<f64>,
    /// The experiment failed, or cannot be made.
    #[arg(long, conflicts_with = "value")]
    failed: bool,
    /// A file of results.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["row", "value", "failed"])]
    csv: Option<PathBuf>,
    /// Correct what was told before; the journal keeps both.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    study: StudyArgs,
}

#[derive(Args)]
pub struct LookArgs {
    #[command(flatten)]
    study: StudyArgs,
}

/// Print what is believed of every row, as CSV: id, status, value, mean, low, high, beats_best.
///
/// mean is the expected value, low and high hold it with probability 95 %, beats_best is the probability of beating the
/// best value told. Status is told, failed, running (suggested, nothing told yet) or left.
#[derive(Args)]
#[command(after_help = "Example:\n  icee study predict bread > beliefs.csv")]
pub struct PredictArgs {
    /// Another model than the study's: icee or gp-ei.
    #[arg(long, value_name = "NAME")]
    sampler: Option<String>,
    /// Go on with this program's learned model, though the study began with another one.
    #[arg(long)]
    accept_model: bool,
    #[command(flatten)]
    study: StudyArgs,
}

/// Which study, and how to answer.
#[derive(Args)]
struct StudyArgs {
    /// The study's name.
    name: String,
    /// The folder of studies.
    #[arg(long, value_name = "DIR", default_value = "studies")]
    dir: PathBuf,
    /// Where the pool lies now, if it was moved.
    #[arg(long, value_name = "FILE")]
    pool: Option<PathBuf>,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum DirectionName {
    /// Low values are good.
    Minimize,
    /// High values are good.
    Maximize,
}

/// Runs `icee study`.
pub fn run(command: &StudyCommand) -> anyhow::Result<()> {
    // Locked for the whole answer; a file of beliefs may have a million lines.
    let mut out = BufWriter::new(stdout().lock());
    match command {
        StudyCommand::Create(args) => create(&mut out, args)?,
        StudyCommand::Ask(args) => ask(&mut out, args)?,
        StudyCommand::Tell(args) => tell(&mut out, args)?,
        StudyCommand::Best(args) => best(&mut out, args)?,
        StudyCommand::Show(args) => show(&mut out, args)?,
        StudyCommand::Predict(args) => predict(&mut out, args)?,
    }
    out.flush()?;
    Ok(())
}

/// Ends the answer of a command that has changed the study.
fn answered(out: &mut impl Write, printed: anyhow::Result<()>) -> anyhow::Result<()> {
    printed.and_then(|()| Ok(out.flush()?)).context(NOT_PRINTED)
}

fn create(out: &mut impl Write, args: &CreateArgs) -> anyhow::Result<()> {
    let path = Study::path(&args.dir, &args.name)?;
    let options = StudyOptions {
        pool: args.pool.clone(),
        columns: args.columns.clone(),
        id: args.id.clone(),
        direction: match args.direction {
            DirectionName::Minimize => Direction::Minimize,
            DirectionName::Maximize => Direction::Maximize,
        },
        sampler: sampler(args.sampler.as_deref())?,
        seed: args.seed,
    };
    let mut study = Study::create(&path, &options, study_models()?)?;
    let summary = study.summary();
    let printed = print::created(out, &args.name, &path, &summary, args.json);
    answered(out, printed)
}

fn ask(out: &mut impl Write, args: &AskArgs) -> anyhow::Result<()> {
    let sampler = sampler(args.sampler.as_deref())?;
    let mut study = args.study.open()?;
    if args.accept_model {
        study.accept_model(sampler)?;
    }
    let answer = study.ask(args.count, sampler)?;
    let printed = print::answer(out, &answer, args.study.json);
    answered(out, printed)
}

fn tell(out: &mut impl Write, args: &TellArgs) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    let told = match (&args.csv, &args.row) {
        (Some(path), _) => study.tell_csv(path, args.replace)?,
        (None, Some(row)) => study.tell(row, args.value.filter(|_| !args.failed), args.replace)?,
        (None, None) => bail!("give --row with --value or --failed, or --csv FILE"),
    };
    let best = study.best();
    let printed = print::told(out, &told, best.as_ref(), &study.take_notes(), args.study.json);
    answered(out, printed)
}

fn best(out: &mut impl Write, args: &LookArgs) -> anyhow::Result<()> {
    let mut study = args.study.open()?;
    let best = study.best();
    print::notes(&study.take_notes());
    match best {
        Some(best) => print::best(out, &best, args.study.json),
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
    let forecasts = study.predict(sampler)?;
    print::notes(&study.take_notes());
    print::forecasts(out, &forecasts, args.study.json, stdout().is_terminal())
}

fn sampler(name: Option<&str>) -> anyhow::Result<Option<SamplerKind>> {
    Ok(name.map(str::parse).transpose()?)
}

impl StudyArgs {
    fn open(&self) -> anyhow::Result<Study> {
        let path = Study::path(&self.dir, &self.name)?;
        if !path.exists() {
            let known = self.others();
            let others = if known.is_empty() { String::new() } else { format!(" (there are {})", known.join(", ")) };
            bail!(
                "there is no study \"{}\" in {}{others}; create it with `icee study create {} --pool FILE`",
                self.name,
                self.dir.display(),
                self.name
            );
        }
        let mut study = Study::open(&path, self.pool.as_deref(), study_models()?)
            .with_context(|| format!("study \"{}\" cannot be opened", self.name))?;
        study.when_waiting(|path| say(format_args!("waiting: another process is at work on {}", path.display())));
        Ok(study)
    }

    /// The names of the studies in the folder.
    fn others(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().to_str()?.strip_suffix(".jsonl").map(String::from));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

//! `icee study create`: from a sheet to a study, with questions where a person sits there.

use super::study::{FOLDER, answered, sampler};
use super::study_print as print;
use crate::terminal::{ask, is_interactive, say};
use anyhow::{Error, bail};
use clap::Args;
use icee_models::study_models;
use icee_study::{Bounds, Direction, Further, Scale, Study, StudyOptions, Suspect, suspects};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Start a study of the rows of a sheet: CSV or .xlsx.
///
/// A CSV file is UTF-8 with a header; commas, semicolons or tabs separate the cells; quotes and CRLF are fine; with
/// semicolons numbers may have a decimal comma. Of an .xlsx or .xlsm file the first sheet with cells is read. Columns of numbers are
/// scaled (by logarithms where they span decades), also where a unit follows, the same in all cells; all others are categories. Empty cells and NA are missing values. What was done with each column is printed.
///
/// With --value COLUMN the sheet holds results, too: cells that are filled are told at once, empty ones are what is left, and
/// the column is never learned from. Go on filling it in: the next ask takes in what has changed.
///
/// Several things may be wanted at once: --also names further outcomes of the same experiment, to be as good as possible beside
/// the first ("price min") or to keep a limit ("purity >= 95").
#[derive(Args)]
#[command(after_help = "Examples:\n  icee study create bread --pool recipes.csv --id name --direction maximize\n  \
                  icee study create bread --pool sheet.csv --value score --direction max\n  \
                  icee study create dye --pool dyes.csv --value shade --target 7.2 --bounds 0..14\n  \
                  icee study create drug --pool sheet.csv --value yield --direction max --bounds 0..100 --also \"purity >= 95\" --also \"price min\"")]
pub struct CreateArgs {
    /// The study's name; its file is DIR/NAME.jsonl.
    pub name: String,
    /// The sheet of candidates, one a row: CSV, .xlsx or .xlsm.
    #[arg(long, value_name = "FILE")]
    pub pool: PathBuf,
    /// The column in which results are filled in.
    #[arg(long, value_name = "COLUMN")]
    pub value: Option<String>,
    /// Which values are good: maximize (max, higher) or minimize (min, lower).
    #[arg(long, value_name = "WORD")]
    pub direction: Option<Direction>,
    /// Values near this one are good, instead of high or low ones.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, conflicts_with = "direction")]
    pub target: Option<f64>,
    /// Between which ends values can lie at all: 0..100, 0.. or ..100. Predictions stay within, and other values are refused.
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, value_parser = worded::<Bounds>)]
    pub bounds: Option<String>,
    /// A further outcome and what is wanted of it: "price min", "purity >= 95", "pH = 7". May be given many times.
    #[arg(long, value_name = "WISH", value_parser = worded::<Further>)]
    pub also: Vec<String>,
    /// The column that says what a row costs: improvement is weighed against it. It is never learned from.
    #[arg(long, value_name = "COLUMN")]
    pub cost: Option<String>,
    /// The column that names the rows [default: they are numbered from 1, the header not counted].
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// The columns to learn from, separated by commas [default: all].
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Columns not to learn from, separated by commas.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Columns of numbers to be scaled by their logarithms, separated by commas.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub log: Vec<String>,
    /// Columns of numbers to be taken as they stand, though they span decades.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub linear: Vec<String>,
    /// Columns of numbers that are names of categories, such as years or batches.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub categories: Vec<String>,
    /// An earlier study of such rows, by its name or file, to learn from its values, too. Its columns must match.
    #[arg(long, value_name = "STUDY")]
    pub like: Option<String>,
    /// What picks the rows: icee (a learned model), gp-ei (a Gaussian process) or random [default: icee where a model
    /// fits the columns, gp-ei elsewhere].
    #[arg(long, value_name = "NAME")]
    pub sampler: Option<String>,
    /// Fixes all that is random.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// The folder of studies.
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub dir: PathBuf,
    /// Print JSON for machines.
    #[arg(long)]
    pub json: bool,
}

/// What can be read as such, in the user's words: a server reads them itself.
fn worded<T: FromStr>(text: &str) -> Result<String, T::Err> {
    text.parse::<T>().map(|_| text.to_owned())
}

/// Said where nobody says which values are good: to guess would be worse.
pub const NO_DIRECTION: &str =
    "which values are good? add --direction maximize or --direction minimize, or --target NUMBER";

/// Runs `icee study create`.
pub fn create(out: &mut impl Write, args: &CreateArgs) -> anyhow::Result<()> {
    let path = Study::path(&args.dir, &args.name)?;
    let mut options = StudyOptions {
        pool: args.pool.clone(),
        columns: args.columns.clone(),
        ignore: args.ignore.clone(),
        scales: args.scales()?,
        id: args.id.clone(),
        value: args.value.clone(),
        direction: Direction::default(),
        bounds: args.bounds.as_deref().map(str::parse).transpose().map_err(Error::msg)?,
        further: args.also.iter().map(|wish| wish.parse().map_err(Error::msg)).collect::<anyhow::Result<_>>()?,
        cost: args.cost.clone(),
        like: args.like.as_deref().map(|like| earlier(like, &args.dir)).transpose()?,
        sampler: sampler(args.sampler.as_deref())?,
        seed: args.seed,
    };
    let doubts = suspects(&options)?;
    if is_interactive() && !args.json {
        doubts.iter().for_each(|doubt| clear_up(doubt, &mut options.value, &mut options.ignore));
    } else {
        doubts.iter().for_each(|doubt| say(format_args!("note: {doubt}")));
    }
    options.direction = match args.direction.or(args.target.map(Direction::Target)) {
        Some(direction) => direction,
        None if is_interactive() => asked_direction()?,
        None => bail!(NO_DIRECTION),
    };
    let mut study = Study::create(&path, &options, study_models()?)?;
    let summary = study.summary();
    let printed = print::created(out, &args.name, &path, &in_folder(&args.dir), &summary, args.json);
    answered(out, printed)
}

/// What further commands say of the folder.
pub fn in_folder(folder: &Path) -> String {
    match folder.to_str() {
        Some(FOLDER) => String::new(),
        // Good for most shells.
        Some(name) if name.contains(char::is_whitespace) => format!(" --dir \"{name}\""),
        _ => format!(" --dir {}", folder.display()),
    }
}

impl CreateArgs {
    /// How columns are to be taken.
    fn scales(&self) -> anyhow::Result<Vec<(String, Scale)>> {
        let all = [(&self.log, Scale::Log), (&self.linear, Scale::Linear), (&self.categories, Scale::Categories)];
        let mut scales: Vec<(String, Scale)> = Vec::new();
        for (name, scale) in all.iter().flat_map(|(names, scale)| names.iter().map(move |name| (name, *scale))) {
            if scales.iter().any(|(other, _)| other == name) {
                bail!("\"{name}\" stands in two of --log, --linear and --categories");
            }
            scales.push((name.clone(), scale));
        }
        Ok(scales)
    }
}

/// The file of an earlier study: named, or the study of that name.
fn earlier(like: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let file = PathBuf::from(like);
    if file.is_file() {
        return Ok(file);
    }
    match Study::path(folder, like) {
        Ok(path) if path.is_file() => Ok(path),
        _ => bail!("--like: there is no study \"{like}\" in {}, and no such file", folder.display()),
    }
}

/// Asks which values are good, until it is said.
pub fn asked_direction() -> anyhow::Result<Direction> {
    while let Some(answer) = ask("Which values are good, high or low ones?") {
        match answer.parse::<Direction>() {
            Ok(direction) => return Ok(direction),
            Err(advice) => say(advice),
        }
    }
    bail!(NO_DIRECTION)
}

/// Asks what a column is that may not be meant to be learned from.
pub fn clear_up(doubt: &Suspect, value: &mut Option<String>, ignore: &mut Vec<String>) {
    let name = &doubt.column;
    let question = match doubt.is_result {
        true => format!("Column \"{name}\" {}. Is it what you measure? [Y/n]", doubt.reason),
        false => format!("Column \"{name}\" {}. Leave it out? [Y/n]", doubt.reason),
    };
    let Some(answer) = ask(&question) else { return };
    if !(answer.is_empty() || answer.to_lowercase().starts_with('y')) {
        return;
    }
    match doubt.is_result && value.is_none() {
        true => *value = Some(name.clone()),
        false => ignore.push(name.clone()),
    }
}

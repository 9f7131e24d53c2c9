//! The arguments of `icee study`. Their comments are its help: a summary has at most 80 characters, held by a test.

use clap::Args;
use std::path::PathBuf;

/// Start a study of the candidates in a sheet.
///
/// The sheet is a CSV file (UTF-8 with a header; commas, semicolons or tabs; decimal commas if semicolons separate
/// the cells) or the first sheet with cells of an .xlsx or .xlsm file. Number columns are scaled (log if they span
/// decades), also with one unit in all cells; text columns are categories. Empty cells and NA are missing values. How
/// each column is used is printed: check that list.
///
/// With --value COLUMN the sheet has results, too: filled cells are recorded, empty ones are left to try, and the
/// column is never an input. Go on filling it in; the next ask imports what has changed.
///
/// With --also a study has additional objectives ("price min") and constraints ("purity >= 95").
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  icee study create bread --pool recipes.csv --id name --direction maximize\n  \
                  icee study create bread --pool sheet.csv --value score --direction max\n  \
                  icee study create dye --pool dyes.csv --value shade --target 7.2 --bounds 0..14\n  \
                  icee study create drug --pool sheet.csv --value yield --direction max --bounds 0..100 \
                  --also \"purity >= 95\" --also \"price min\"")]
pub struct CreateArgs {
    /// The sheet of candidates, one a row: CSV, .xlsx or .xlsm.
    #[arg(long, value_name = "FILE")]
    pub pool: PathBuf,
    /// Column of results.
    #[arg(long, value_name = "COLUMN")]
    pub value: Option<String>,
    /// Which results are good: maximize (max, higher) or minimize (min, lower).
    #[arg(long, value_name = "WORD")]
    pub direction: Option<String>,
    /// Results near this number are good, instead of high or low ones.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, conflicts_with = "direction")]
    pub target: Option<String>,
    /// Range of possible results: 0..100, 0.. or ..100.
    ///
    /// Predictions stay within it; results outside are refused.
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true)]
    pub bounds: Option<String>,
    /// Additional objective or constraint: "price min", "purity >= 95", "pH = 7".
    ///
    /// May be given several times.
    #[arg(long, value_name = "GOAL")]
    pub also: Vec<String>,
    /// Column with the cost of a row; suggestions maximize improvement per cost.
    #[arg(long, value_name = "COLUMN")]
    pub cost: Option<String>,
    /// Column that names the rows [default: rows are numbered from 1].
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Input columns, separated by commas [default: all that can be used].
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Columns that are not used, separated by commas.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Number columns on a logarithmic scale, separated by commas.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub log: Vec<String>,
    /// Number columns on a linear scale, though they span decades.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub linear: Vec<String>,
    /// Number columns whose numbers are names, such as years or batches.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub categories: Vec<String>,
    /// An earlier study whose results are used, too. Its columns must match.
    #[arg(long, value_name = "STUDY")]
    pub like: Option<String>,
    /// What picks the rows: learned, gp-ei or random.
    ///
    /// learned is a pretrained model, gp-ei a Gaussian process with expected improvement. By default it is learned
    /// where a model fits the columns, gp-ei elsewhere.
    #[arg(long, value_name = "NAME")]
    pub sampler: Option<String>,
    /// Seed of everything that is random.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Suggest rows to try next.
///
/// Each row comes with a prediction, its 95 % interval (without measurement noise) and the probability of beating the
/// best. With one objective, the last line is the probability that a better row is left, to decide when to stop. Predictions
/// begin with two results; before that, rows are spread over the sheet. Rows of one answer differ, so that they can
/// be tried at the same time.
///
/// If you ask again with the same --by, --where, --same and --sampler, you get your rows in progress again, and new
/// ones until there are N. With --more all rows are new.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  icee study ask bread\n  \
                  icee study ask bread -n 4 --more --json\n  \
                  icee study ask bread --where \"heat < 230 and flour != rye\"\n  \
                  icee study ask plate -n 8 --same temp --within 2d")]
pub struct AskArgs {
    /// How many rows.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    pub count: usize,
    /// Only rows that satisfy a condition: "heat < 230 and flour != rye".
    ///
    /// Compare columns with < <= > >= = != and in (a, b); join comparisons with and, or, not. Quote names and words
    /// that have spaces or signs: '"Pigment %" < 10 and solvent = "butyl acetate"'.
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    /// Suggest only new rows, even while others are in progress.
    #[arg(long)]
    pub more: bool,
    /// Columns that are the same in all rows of the answer, separated by commas.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub same: Vec<String>,
    /// Reserve the rows for this long (90m, 8h, 3d).
    ///
    /// If there is no result by then, they may be suggested again.
    #[arg(long, value_name = "TIME")]
    pub within: Option<String>,
    /// Your name, or that of the worker who tries the rows.
    ///
    /// With --at it is by default the name of the token.
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Another sampler for this answer: learned, gp-ei or random.
    #[arg(long, value_name = "NAME")]
    pub sampler: Option<String>,
    /// Go on with this program's learned model if the study began with another.
    #[arg(long)]
    pub accept_model: bool,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Record results of one row, or of a file of many.
///
/// You can record any row, suggested or not. A failed row counts as the worst result; an impossible one is left out
/// of the model.
///
/// A file of results, which may be the sheet itself, has a row's result on each line. Rows are found by the study's
/// id column, by a column "row" with their numbers ("row_number" if the sheet has a column "row"), or by their cells.
/// Results are in the column --value, by default the study's own or "value". Cells: a number (one unit allowed),
/// failed, impossible, or empty. A row that is listed twice was measured twice. All lines are recorded, or none.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  icee study tell bread --row 17 --value 0.37\n  \
                  icee study tell bread --row 18 --failed\n  \
                  icee study tell bread --csv results.csv --value score\n  \
                  icee study tell bread --row 17 --value 0.38 --replace\n  \
                  icee study tell drug --row 17 --value 81 --value purity=96.5 --value price=3")]
pub struct TellArgs {
    /// The row: its id, or its number from 1.
    #[arg(long, value_name = "ID", required_unless_present = "csv")]
    pub row: Option<String>,
    /// Its result, and NAME=RESULT for each further one; with --csv the column.
    #[arg(long, value_name = "RESULT", allow_hyphen_values = true)]
    #[arg(required_unless_present_any = ["failed", "impossible", "csv"])]
    pub value: Vec<String>,
    /// The experiment failed: it counts as the worst result.
    #[arg(long, conflicts_with_all = ["value", "impossible"])]
    pub failed: bool,
    /// The experiment cannot be made: the row is left out of the model.
    #[arg(long, conflicts_with = "value")]
    pub impossible: bool,
    /// A file of results: CSV, .xlsx or .xlsm.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["row", "failed", "impossible"])]
    pub csv: Option<PathBuf>,
    /// Correct earlier results; the journal keeps both.
    #[arg(long)]
    pub replace: bool,
    /// Add a replicate to a row that has a result.
    #[arg(long, conflicts_with = "replace")]
    pub again: bool,
    /// Your name, or that of the worker who measured the row.
    ///
    /// If your reservation expired and someone else recorded the row, your result is added as a replicate. With --at it
    /// is by default the name of the token.
    #[arg(long, value_name = "NAME", conflicts_with = "csv")]
    pub by: Option<String>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Extend the reservation of rows.
#[derive(Args)]
#[command(after_help = "Example:\n  \
                  icee study renew bread --row 17 --within 2h")]
pub struct RenewArgs {
    /// Reserve the rows for this long from now (90m, 8h, 3d); never shortened.
    #[arg(long, value_name = "TIME")]
    pub within: String,
    #[command(flatten)]
    pub holder: HolderArgs,
    #[command(flatten)]
    pub rows: RowsArgs,
}

/// Update the study from its sheet.
///
/// Rows that were added, removed or sorted are imported, and results that were filled in are recorded. `icee study
/// ask` does this by itself.
///
/// If a measured or reserved row was deleted or edited, nothing is updated and those rows are listed. Restore them,
/// or keep their results (--keep), or delete their results (`icee study forget`). If a result differs from the one
/// recorded, --replace corrects it.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  icee study update bread\n  \
                  icee study update bread --pool moved/bread.csv\n  \
                  icee study update bread --pool bread.csv --at http://127.0.0.1:8642")]
pub struct UpdateArgs {
    /// Correct results that differ from those recorded.
    #[arg(long)]
    pub replace: bool,
    /// Keep results of rows whose other cells were corrected (needs an id column).
    #[arg(long)]
    pub keep: bool,
    /// The sheet as it is now [default: the file that the study follows].
    ///
    /// A study in a folder follows this file from now on; a server gets its content.
    #[arg(long, value_name = "FILE")]
    pub pool: Option<PathBuf>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Change the goals: the range of results, constraints, more objectives.
///
/// The direction of the main result stays. Results so far are judged by the new goals from now on.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  icee study goals drug --bounds 0..100\n  \
                  icee study goals drug --also \"purity >= 97\" --also \"price min\"")]
pub struct GoalsArgs {
    /// Range of possible results: 0..100, 0.. or ..100; none for no range.
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true)]
    pub bounds: Option<String>,
    /// Objective or constraint to add or change: "price min", "purity >= 97".
    ///
    /// May be given several times.
    #[arg(long, value_name = "GOAL")]
    pub also: Vec<String>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Release suggested rows that you will not try.
///
/// They may be suggested again. If a row cannot be tried, record that: `icee study tell NAME --row ID --impossible`.
#[derive(Args)]
pub struct WithdrawArgs {
    #[command(flatten)]
    pub holder: HolderArgs,
    #[command(flatten)]
    pub rows: RowsArgs,
}

/// Whose rows they are.
#[derive(Args)]
pub struct HolderArgs {
    /// Your name. Fails if someone else has reserved a row; without it, anyone's.
    ///
    /// With --at it is by default the name of the token.
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
}

/// Which rows of which study.
#[derive(Args)]
pub struct RowsArgs {
    /// The rows: ids, or numbers from 1, separated by commas.
    #[arg(long = "row", value_name = "ID,ID", value_delimiter = ',', required = true)]
    pub rows: Vec<String>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Print the study: its columns, its results, the rows in progress.
#[derive(Args)]
pub struct ShowArgs {
    /// Print only the latest N results.
    #[arg(long, value_name = "N")]
    pub told: Option<usize>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Print the prediction of every row as CSV.
///
/// The columns are id, status, value, mean, low, high, beats_best, then the row's cells. mean is the expected result,
/// low and high are its 95 % interval (without measurement noise), beats_best is the probability of beating the best
/// result. status is told (measured), failed, impossible, running (in progress) or left. Further results have the
/// columns NAME_mean, NAME_low, NAME_high and, with a constraint, NAME_holds, the probability that it holds.
#[derive(Args)]
#[command(after_help = "Example:\n  \
                  icee study predict bread > predictions.csv")]
pub struct PredictArgs {
    /// Print only N of the rows left, the most promising first.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Another model than the study's: learned or gp-ei.
    #[arg(long, value_name = "NAME")]
    pub sampler: Option<String>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Explain a row: its prediction, compared with the best and similar rows.
#[derive(Args)]
#[command(after_help = "Example:\n  \
                  icee study why bread --row 23")]
pub struct WhyArgs {
    /// The row: its id, or its number from 1.
    #[arg(long, value_name = "ID")]
    pub row: String,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Write a page about the study, to look at or to send around.
///
/// It shows the best so far, what comes next and why, predicted against measured results, and what the columns do. It
/// is one HTML file that fetches nothing. The study is not changed.
#[derive(Args)]
#[command(after_help = "Example:\n  \
                  icee study report bread --out bread.html")]
pub struct ReportArgs {
    /// Where the page goes [default: NAME.html in this folder].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How many rows to look ahead, 1 to 50.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    pub count: usize,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// List the studies: rows, results, rows in progress, rows left, best.
#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Print the results as CSV; with --to, write the study itself to files.
///
/// `icee study tell --csv` reads the results. With --to FILE.jsonl the journal goes there, byte for byte, and all
/// versions of its sheet go into the folder FILE.sheets; `icee study import` reads both, in another folder, on
/// another machine or on a server.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  icee study export bread > results.csv\n  \
                  icee study export bread --to bread-copy.jsonl\n  \
                  icee study export bread --to bread.jsonl --at http://127.0.0.1:8642")]
pub struct ExportArgs {
    /// Write the study itself, its journal and its sheets.
    #[arg(long, value_name = "FILE.jsonl")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub study: StudyArgs,
}

/// Import a study: a journal, and the sheets beside it.
///
/// It goes on where it was, unchanged. Import what `icee study export NAME --to FILE.jsonl` has written, or the files
/// of any folder of studies. If something is wrong with them, nothing is imported.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  icee study import bread.jsonl --at http://127.0.0.1:8642\n  \
                  icee study import bread.jsonl --as bread-2 --dir studies")]
pub struct ImportArgs {
    /// The journal.
    #[arg(value_name = "FILE.jsonl")]
    pub file: PathBuf,
    /// The study's name here [default: the file's name].
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Which study, and how to answer.
#[derive(Args)]
pub struct StudyArgs {
    /// The study's name.
    pub name: String,
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Which studies, and how to answer.
#[derive(Args)]
pub struct PlaceArgs {
    /// The folder of studies [default: studies].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print JSON for machines.
    #[arg(long)]
    pub json: bool,
}

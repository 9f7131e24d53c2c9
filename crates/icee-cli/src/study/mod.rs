//! `icee study`: which row of a sheet to try next.
//!
//! Arguments become a [`Request`], a [`Transport`] does it, and what it replies is printed. Which transport it is, a
//! folder or a server, is decided in [`Place::of`] and known nowhere else.

mod args;
mod create;
mod moving;
mod print;
mod requests;
mod rows;
mod tables;

use crate::terminal::say;
use anyhow::{Context, bail};
use args::{
    AskArgs, CreateArgs, ExportArgs, GoalsArgs, ImportArgs, ListArgs, PlaceArgs, PredictArgs, RenewArgs, ReportArgs,
    RowsArgs, ShowArgs, StudyArgs, TellArgs, UpdateArgs, WhyArgs, WithdrawArgs,
};
use clap::{Args, Subcommand};
use icee_client::{Folder, Http, TOKEN};
use icee_protocol::{
    Best, Create, Delete, Effects, Export, Face, Forget, Goals, Journal, List, Note, Noted, Predict, Problem, Reader,
    Renew, Reply, Report, Request, Review, Running, Show, StudyName, Transport, Undo, Update, Why, Withdraw, render,
};
pub use print::write_json;
use requests::sheet;
use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where studies are kept unless it is said.
const FOLDER: &str = "studies";
/// Said where the journal has more than the person could be shown.
const NOT_PRINTED: &str = "this is in the study now (see `icee study show`), but could not be printed";

/// Find the best row of a sheet of candidates, CSV or Excel, in few experiments.
#[derive(Args)]
pub struct Arguments {
    /// Use the studies of a server (`icee serve`) at this address, not a folder.
    ///
    /// Such as http://127.0.0.1:8642. If it asks for a token, put it into the variable ICEE_TOKEN.
    #[arg(long, value_name = "URL", global = true)]
    at: Option<String>,
    #[command(subcommand)]
    command: StudyCommand,
}

/// What `icee study` does.
#[derive(Subcommand)]
enum StudyCommand {
    Create(Box<CreateArgs>),
    Ask(AskArgs),
    Tell(TellArgs),
    Renew(RenewArgs),
    Update(UpdateArgs),
    Withdraw(WithdrawArgs),
    /// Delete all results of rows.
    ///
    /// If the sheet has results, empty their cells there, too, or they are recorded again.
    Forget(RowsArgs),
    /// Undo the last step.
    ///
    /// A step is a suggestion, results, an update from the sheet, a release, a deletion of results, or other goals.
    /// `icee study show` prints the last one. Repeat undo to undo the steps before. An update from the sheet that you
    /// undo is imported again by the next ask, unless you correct the sheet first. The journal keeps everything.
    Undo(StudyArgs),
    Goals(GoalsArgs),
    /// Print the best row or, with several objectives, the Pareto front.
    Best(StudyArgs),
    Show(ShowArgs),
    Predict(PredictArgs),
    Why(WhyArgs),
    /// Print the mean prediction for each value of each column.
    Effects(StudyArgs),
    /// Print the rows in progress: reserved by whom, until when, their predictions.
    Running(StudyArgs),
    /// Compare each result with what was predicted of it before.
    ///
    /// Each row is predicted from the results before it. The last line is how many results lay in their intervals.
    Review(StudyArgs),
    Report(ReportArgs),
    List(ListArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    /// Delete a study: it is moved to the folder deleted/.
    ///
    /// Its name is free again. Kept versions of its sheet move with it; the file that it was created from stays.
    Delete(StudyArgs),
    /// Upgrade a study of an earlier version to the journal format of this one.
    ///
    /// The old journal is kept beside it.
    Upgrade(StudyArgs),
}

/// Where the studies are.
struct Place {
    studies: Box<dyn Transport>,
    /// What every further command says of it, too.
    options: String,
}

/// What it takes to print a reply, beside it.
struct Shown<'a> {
    /// The study's name; empty where a command is about none.
    name: &'a str,
    /// Where the studies are.
    place: &'a str,
    /// What further commands say of it.
    options: &'a str,
    /// Whether only rows that satisfy a condition were asked for.
    filtered: bool,
    /// Whether a person reads it, whose terminal must not obey what stands in a file.
    terminal: bool,
    /// Seconds since 1970.
    now: u64,
}

/// Runs `icee study`.
pub fn run(Arguments { at, command }: &Arguments) -> anyhow::Result<()> {
    // Locked for the whole answer; a table of predictions may have a million lines.
    let mut out = BufWriter::new(stdout().lock());
    let (name, options) = command.about();
    // The name first: nobody should answer questions, or send a large file, for nothing.
    let name = name.transpose()?;
    let mut reader = Reader::at(Face::Terminal, name.as_ref().map(StudyName::as_str));
    if let StudyCommand::Upgrade(_) = command {
        moving::upgrade(&mut out, at.is_some(), &Place::folder(options), name.as_ref(), options.json)?;
        return Ok(out.flush()?);
    }
    let mut place = Place::of(at.as_deref(), options)?;
    reader.place = Some(place.options.trim().to_owned()).filter(|options| !options.is_empty());
    let (request, answered) = command.request(&mut *place.studies, name.as_ref())?;
    let verb = request.verb();
    let study = name.as_ref().filter(|_| verb.is_of_study());
    let Noted { reply, notes } = place.studies.send(study, request).map_err(|problem| in_words(&problem, &reader))?;
    // Words for this face, wherever the study is.
    let notes = render::said(notes.into_iter().map(|note| note.what).collect(), &reader);
    for note in notes.iter().filter(|note| !(answered && matches!(note.what, Note::Suspect(_)))) {
        say(format_args!("note: {}", note.words));
    }
    let shown = Shown {
        name: name.as_ref().map_or("", StudyName::as_str),
        place: &place.studies.place(),
        options: &place.options,
        filtered: matches!(command, StudyCommand::Ask(args) if args.condition.is_some()),
        terminal: stdout().is_terminal(),
        now: now(),
    };
    let printed = deliver(&mut out, command, Noted { reply, notes }, &shown, options.json);
    let printed = printed.and_then(|()| Ok(out.flush()?));
    if verb.changes() { printed.context(NOT_PRINTED) } else { printed }
}

/// Prints a reply, or writes it to the files that were named.
fn deliver(
    out: &mut impl Write,
    command: &StudyCommand,
    noted: Noted<Reply>,
    shown: &Shown<'_>,
    json: bool,
) -> anyhow::Result<()> {
    match (command, &noted.reply) {
        (StudyCommand::Report(args), Reply::Report(page)) => {
            let to = args.out.clone().unwrap_or_else(|| format!("{}.html", shown.name).into());
            moving::page(out, &to, page, &noted.notes, json)
        }
        (StudyCommand::Export(ExportArgs { to: Some(to), .. }), Reply::Journal(bundle)) => {
            moving::export(out, to, bundle, &noted.notes, json)
        }
        _ if json => write_json(out, &noted),
        (_, reply) => print::reply(out, reply, shown),
    }
}

impl StudyCommand {
    /// The study that it is about, and how to answer.
    fn about(&self) -> (Option<anyhow::Result<StudyName>>, &PlaceArgs) {
        let study = match self {
            StudyCommand::List(args) => return (None, &args.place),
            StudyCommand::Import(args) => return (Some(args.name()), &args.place),
            StudyCommand::Create(args) => &args.study,
            StudyCommand::Ask(args) => &args.study,
            StudyCommand::Tell(args) => &args.study,
            StudyCommand::Renew(args) => &args.rows.study,
            StudyCommand::Update(args) => &args.study,
            StudyCommand::Withdraw(args) => &args.rows.study,
            StudyCommand::Forget(args) => &args.study,
            StudyCommand::Goals(args) => &args.study,
            StudyCommand::Show(args) => &args.study,
            StudyCommand::Predict(args) => &args.study,
            StudyCommand::Why(args) => &args.study,
            StudyCommand::Report(args) => &args.study,
            StudyCommand::Export(args) => &args.study,
            StudyCommand::Undo(study)
            | StudyCommand::Best(study)
            | StudyCommand::Effects(study)
            | StudyCommand::Running(study)
            | StudyCommand::Review(study)
            | StudyCommand::Delete(study)
            | StudyCommand::Upgrade(study) => study,
        };
        (Some(named(&study.name)), &study.place)
    }

    /// What it asks for, and whether a person has answered questions about columns.
    fn request(&self, studies: &mut dyn Transport, name: Option<&StudyName>) -> anyhow::Result<(Request, bool)> {
        let request = match self {
            StudyCommand::Create(args) => {
                let create = Create { name: name.cloned(), ..args.request() };
                let (create, answered) = create::cleared_up(create, studies, args.study.place.json)?;
                return Ok((create.into(), answered));
            }
            StudyCommand::Ask(args) => args.request().into(),
            StudyCommand::Tell(args) => args.request()?.into(),
            StudyCommand::Renew(RenewArgs { within, holder, rows }) => {
                Renew { rows: rows.ids(), within: within.clone(), by: holder.by.clone() }.into()
            }
            StudyCommand::Update(UpdateArgs { replace, keep, pool, .. }) => {
                Update { replace: *replace, keep: *keep, sheet: pool.as_deref().map(sheet) }.into()
            }
            StudyCommand::Withdraw(WithdrawArgs { holder, rows }) => {
                Withdraw { rows: rows.ids(), by: holder.by.clone() }.into()
            }
            StudyCommand::Forget(args) => Forget { rows: args.ids() }.into(),
            StudyCommand::Undo(_) => Undo::default().into(),
            StudyCommand::Goals(args) => Goals { bounds: args.bounds.clone(), also: args.also.clone() }.into(),
            StudyCommand::Best(_) => Best {}.into(),
            StudyCommand::Show(args) => Show { told: args.told }.into(),
            StudyCommand::Predict(args) => Predict { top: args.top, sampler: args.sampler.clone() }.into(),
            StudyCommand::Why(args) => Why { row: args.row.as_str().into() }.into(),
            StudyCommand::Effects(_) => Effects {}.into(),
            StudyCommand::Running(_) => Running {}.into(),
            StudyCommand::Review(_) => Review {}.into(),
            StudyCommand::Report(args) => Report { count: args.count }.into(),
            StudyCommand::List(_) => List {}.into(),
            StudyCommand::Export(ExportArgs { to: Some(to), .. }) => moving::checked(to).map(|()| Journal {}.into())?,
            StudyCommand::Export(_) => Export {}.into(),
            StudyCommand::Import(args) => args.request(name)?.into(),
            StudyCommand::Delete(_) => Delete {}.into(),
            StudyCommand::Upgrade(_) => bail!("A journal is upgraded in its folder."),
        };
        Ok((request, false))
    }
}

impl Place {
    /// The folder of studies.
    fn folder(options: &PlaceArgs) -> PathBuf {
        options.dir.clone().unwrap_or_else(|| FOLDER.into())
    }

    /// The studies of the server at this address, or of a folder.
    fn of(at: Option<&str>, options: &PlaceArgs) -> anyhow::Result<Place> {
        let Some(url) = at else {
            let folder = Place::folder(options);
            let waiting = |path: &Path| say(format_args!("waiting: another process is at work on {}", path.display()));
            let options = if options.dir.is_some() { in_folder(&folder) } else { String::new() };
            return Ok(Place { studies: Box::new(Folder::new(folder, Face::Terminal).when_waiting(waiting)), options });
        };
        if options.dir.is_some() {
            bail!("--dir is a folder on this machine and --at a server: give one of them.");
        }
        let reader = Reader::at(Face::Terminal, None);
        let token = std::env::var(TOKEN).ok().map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        let studies = Http::new(url, token, Face::Terminal).map_err(|problem| in_words(&problem, &reader))?;
        if let Some(host) = studies.unencrypted() {
            say(format_args!("note: {}", render::note(&Note::Unencrypted { host: host.into() }, &reader)));
        }
        Ok(Place { options: format!(" --at {}", studies.place()), studies: Box::new(studies) })
    }
}

/// What further commands say of a folder.
fn in_folder(folder: &Path) -> String {
    match folder.to_str() {
        Some(FOLDER) => String::new(),
        // Good for most shells.
        Some(name) if name.contains(char::is_whitespace) => format!(" --dir \"{name}\""),
        _ => format!(" --dir {}", folder.display()),
    }
}

/// A name that a study can have.
fn named(name: &str) -> anyhow::Result<StudyName> {
    name.parse().map_err(|problem| in_words(&problem, &Reader::at(Face::Terminal, None)))
}

/// A problem as an error of this program.
fn in_words(problem: &Problem, reader: &Reader) -> anyhow::Error {
    anyhow::Error::msg(render::problem(problem, reader))
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;
    use icee_protocol::Verb;

    /// Verbs without a command: a sheet is surveyed before questions, a journal is read to export it, and the others
    /// are for programs.
    const WITHOUT: [Verb; 4] = [Verb::Survey, Verb::Journal, Verb::Glance, Verb::ReadCells];
    /// The length of a summary.
    const SUMMARY: usize = 80;

    fn study() -> Command {
        Arguments::augment_args(Command::new("study"))
    }

    #[test]
    fn every_verb_has_a_command() {
        let study = study();
        for verb in Verb::ALL {
            let found = study.find_subcommand(verb.name()).is_some();
            assert_eq!(found, !WITHOUT.contains(verb), "{verb:?}");
        }
    }

    #[test]
    fn summaries_of_the_help_fit_in_a_line() {
        let study = study();
        let mut summaries = vec![];
        for command in study.get_subcommands().chain([&study]) {
            let about = command.get_about().map(ToString::to_string);
            summaries.push((command.get_name().to_owned(), about));
            for arg in command.get_arguments() {
                let help = arg.get_help().map(ToString::to_string);
                summaries.push((format!("{} {}", command.get_name(), arg.get_id()), help));
            }
        }
        assert!(summaries.len() > 60, "{}", summaries.len());
        for (of, summary) in summaries {
            let summary = summary.unwrap_or_default();
            let length = summary.chars().count();
            assert!((1..=SUMMARY).contains(&length), "{of}: {length} characters: {summary}");
        }
    }
}

//! `icee study --at URL`: the same commands, asked of a server (`icee serve`) instead of a file, and printed by the same hands.

use super::study::{AskArgs, LookArgs, PredictArgs, StudyArgs, StudyCommand, answered};
use super::study_create::{CreateArgs, NO_DIRECTION, asked_direction, clear_up};
use super::study_look::{ListArgs, ReportArgs, WhyArgs, write_list};
use super::study_move;
use super::study_print as print;
use super::study_tell::{RenewArgs, RowsArgs, TellArgs, UpdateArgs};
use crate::terminal::{is_interactive, printable, say};
use anyhow::{Context, bail};
use icee_base::files::{FileError, read_regular, write_atomically};
use icee_serve::Client;
use icee_serve::wire::{self, RowId};
use icee_study::{Answer, BestRow, Cells, Direction, Effect, Outcome, SheetChange, Summary, Suspect, ToldRow, Why};
use std::collections::{BTreeMap, HashMap};
use std::io::{IsTerminal, Write, stdout};
use std::path::Path;

/// The variable that has the token.
const TOKEN: &str = "ICEE_TOKEN";
/// Bytes of a file that is sent, at most; servers may take less.
const MOST_BYTES: u64 = 1 << 30;

/// Runs a command of `icee study` on a server.
pub fn run(out: &mut impl Write, url: &str, command: &StudyCommand) -> anyhow::Result<()> {
    let token = std::env::var(TOKEN).ok().map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    let client = Client::new(url, token)?;
    if client.exposes_token() {
        say(format_args!(
            "note: the token goes to {} unencrypted; https:// or an SSH tunnel would hide it",
            client.url()
        ));
    }
    match command {
        StudyCommand::Create(args) => create(out, &client, args),
        StudyCommand::Ask(args) => ask(out, &client, args),
        StudyCommand::Tell(args) => tell(out, &client, args),
        StudyCommand::Renew(args) => renew(out, &client, args),
        StudyCommand::Update(args) => update(out, &client, args),
        StudyCommand::Withdraw(args) => {
            let wanted = wire::Withdraw { rows: rows(&args.rows).rows, by: args.by.clone() };
            let done = client.post_noted(&args.rows.study.at("withdraw")?, &wanted)?;
            let (wire::Withdrawn { withdrawn }, notes) = done;
            taken_back(out, "withdrawn", &withdrawn, &notes, &args.rows)
        }
        StudyCommand::Forget(args) => {
            let (wire::Forgotten { forgotten }, notes) = client.post_noted(&args.study.at("forget")?, &rows(args))?;
            taken_back(out, "forgotten", &forgotten, &notes, args)
        }
        StudyCommand::Undo(args) => {
            let done = client.post_noted(&args.study.at("undo")?, &wire::Undo::default())?;
            let (wire::Undone { undone }, notes) = done;
            let printed = print::undone(out, &undone, &notes, args.study.json);
            answered(out, printed)
        }
        StudyCommand::Best(args) => best(out, &client, args),
        StudyCommand::Show(args) => {
            let (summary, _): (Summary, _) = client.get(&args.study.at("")?, &wire::Nothing {})?;
            print::summary(out, &args.study.name, &summary, args.study.json)
        }
        StudyCommand::Predict(args) => predict(out, &client, args),
        StudyCommand::Why(args) => why(out, &client, args),
        StudyCommand::Effects(args) => {
            let (effects, notes): (Vec<Effect>, _) = client.get(&args.study.at("effects")?, &wire::Nothing {})?;
            print::notes(&notes);
            super::study_tables::effects(out, &effects, args.study.json)
        }
        StudyCommand::Report(args) => report(out, &client, args),
        StudyCommand::List(args) => list(out, &client, args),
        StudyCommand::Export(args) => match &args.to {
            Some(to) => study_move::export_at(out, &client, args, to),
            None => export(out, &client, &args.study),
        },
        StudyCommand::Import(args) => study_move::import_at(out, &client, args),
        StudyCommand::Delete(args) => study_move::delete_at(out, &client, &args.study),
    }
}

impl StudyArgs {
    /// The path of something of the study on a server, which knows itself where its sheets lie.
    pub fn at(&self, what: &str) -> anyhow::Result<String> {
        if self.pool.is_some() {
            bail!(
                "--pool says where a sheet lies on this machine; with --at the server has its own, and `icee study update NAME --pool \
                 FILE` sends it another"
            );
        }
        Ok(Client::path(&self.name, what)?)
    }
}

fn create(out: &mut impl Write, client: &Client, args: &CreateArgs) -> anyhow::Result<()> {
    // The name first: nobody should answer questions for nothing.
    Client::path(&args.name, "")?;
    let (sheet, sheet_base64) = wire::sheet_of(read(&args.pool)?);
    let mut wanted = wire::Create {
        name: Some(args.name.clone()),
        sheet,
        sheet_base64,
        value: args.value.clone(),
        direction: args.direction.map(word),
        target: args.target,
        bounds: args.bounds.clone(),
        also: args.also.clone(),
        cost: args.cost.clone(),
        id: args.id.clone(),
        columns: args.columns.clone(),
        ignore: args.ignore.clone(),
        log: args.log.clone(),
        linear: args.linear.clone(),
        categories: args.categories.clone(),
        like: args.like.clone(),
        sampler: args.sampler.clone(),
        seed: args.seed,
    };
    if is_interactive() && !args.json {
        let survey: wire::Survey = client.post("/api/survey", &wanted)?;
        for wire::Doubt { column, reason, is_result } in survey.suspects {
            clear_up(&Suspect { column, reason, is_result, is_learned: true }, &mut wanted.value, &mut wanted.ignore);
        }
    }
    if wanted.direction.is_none() && wanted.target.is_none() {
        match is_interactive() {
            true => wanted.direction = Some(word(asked_direction()?)),
            false => bail!(NO_DIRECTION),
        }
    }
    let summary: Summary = client.post("/api/studies", &wanted)?;
    let place = format!("{}{}", client.url(), Client::path(&args.name, "")?);
    let at = format!(" --at {}", client.url());
    let printed = print::created(out, &args.name, Path::new(&place), &at, &summary, args.json);
    answered(out, printed)
}

/// A direction as requests have it; targets are numbers of their own.
fn word(direction: Direction) -> String {
    if direction == Direction::Maximize { "maximize".into() } else { "minimize".into() }
}

fn ask(out: &mut impl Write, client: &Client, args: &AskArgs) -> anyhow::Result<()> {
    let wanted = wire::Ask {
        count: Some(args.count),
        condition: args.condition.clone(),
        more: args.more,
        same: args.same.clone(),
        within: args.within.map(|seconds| format!("{seconds}s")),
        by: args.by.clone(),
        sampler: args.sampler.clone(),
        accept_model: args.accept_model,
    };
    let answer: Answer = client.post(&args.study.at("ask")?, &wanted)?;
    let printed = print::asked(out, &answer, args);
    answered(out, printed)
}

fn tell(out: &mut impl Write, client: &Client, args: &TellArgs) -> anyhow::Result<()> {
    let (replace, again, by) = (args.replace, args.again, args.by.clone());
    let mut said = wire::Tell { replace, again, by, ..wire::Tell::default() };
    match (&args.csv, &args.row) {
        (Some(path), _) => {
            let text = String::from_utf8(read(path)?);
            let no_text = || format!("{} is no text; save it as CSV, which a server reads", path.display());
            said.csv = Some(text.ok().with_context(no_text)?);
            said.column = match &args.value[..] {
                [] => None,
                [column] => Some(column.clone()),
                _ => bail!("--value names one column of the file; further outcomes are found by their names"),
            };
        }
        (None, Some(row)) => {
            // Only who names outcomes needs to know what the first is called.
            let named = args.value.iter().any(|value| value.contains('='));
            let main = if named { look(client, &args.study)?.value_column } else { None };
            let (outcome, further) = args.outcome(main.as_deref())?;
            said.row = Some(RowId::Text(row.clone()));
            said.further =
                further.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<BTreeMap<_, _>>();
            match outcome {
                Outcome::Value(value) => said.value = Some(value),
                Outcome::Failed => said.failed = true,
                Outcome::Impossible => said.impossible = true,
            }
        }
        (None, None) => bail!("give --row with --value, --failed or --impossible, or --csv FILE"),
    }
    let (wire::Taken { told, best }, notes) = client.post_noted(&args.study.at("tell")?, &said)?;
    let none = match &best {
        None if look(client, &args.study)?.told.iter().any(|row| row.value.is_some()) => print::NONE_GOOD,
        _ => "no value yet",
    };
    let printed = print::told(out, &told, best.as_ref().ok_or(none), &notes, args.study.json);
    answered(out, printed)
}

fn renew(out: &mut impl Write, client: &Client, args: &RenewArgs) -> anyhow::Result<()> {
    let rows = args.rows.iter().cloned().map(RowId::Text).collect();
    let wanted = wire::Renew { rows, within: format!("{}s", args.within), by: args.by.clone() };
    let (wire::Renewed { renewed, until }, notes) = client.post_noted(&args.study.at("renew")?, &wanted)?;
    let printed = print::renewed(out, &renewed, until, &notes, args.study.json);
    answered(out, printed)
}

fn update(out: &mut impl Write, client: &Client, args: &UpdateArgs) -> anyhow::Result<()> {
    let sheet = args.study.pool.as_deref().map(read).transpose()?;
    let (sheet, sheet_base64) = sheet.map_or((None, None), wire::sheet_of);
    let wanted = wire::Update { replace: args.replace, keep: args.keep, sheet, sheet_base64 };
    let path = Client::path(&args.study.name, "update")?;
    let (change, notes): (SheetChange, _) = client.post_noted(&path, &wanted)?;
    let printed = print::updated(out, &change, &notes, args.study.json);
    answered(out, printed)
}

fn rows(args: &RowsArgs) -> wire::Rows {
    wire::Rows { rows: args.rows.iter().cloned().map(RowId::Text).collect() }
}

fn taken_back(
    out: &mut impl Write,
    done: &str,
    rows: &[String],
    notes: &[String],
    args: &RowsArgs,
) -> anyhow::Result<()> {
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let printed = print::taken_back(out, done, &rows, notes, args.study.json);
    answered(out, printed)
}

/// The study at a glance.
fn look(client: &Client, study: &StudyArgs) -> anyhow::Result<Summary> {
    Ok(client.get(&study.at("")?, &wire::Nothing {})?.0)
}

fn best(out: &mut impl Write, client: &Client, args: &LookArgs) -> anyhow::Result<()> {
    let (text, notes) = client.text(&args.study.at("best")?, &wire::Nothing {})?;
    let strange = || format!("{} does not answer like icee serve", client.url());
    // With several objectives it is a list.
    if text.trim_start().starts_with('[') {
        print::notes(&notes);
        let front: Vec<ToldRow> = serde_json::from_str(&text).with_context(strange)?;
        return print::front(out, &front, args.study.json);
    }
    let best: wire::Noted<BestRow> = serde_json::from_str(&text).with_context(strange)?;
    print::notes(&best.notes);
    print::best(out, &best.value, args.study.json)
}

fn predict(out: &mut impl Write, client: &Client, args: &PredictArgs) -> anyhow::Result<()> {
    if args.accept_model {
        bail!("to predict changes nothing on a server; accept the model with `icee study ask --accept-model`");
    }
    let wanted = wire::Predict { top: args.top, sampler: args.sampler.clone() };
    let (rows, notes): (Vec<wire::WithCells>, _) = client.get(&args.study.at("predict")?, &wanted)?;
    let (forecasts, cells): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|wire::WithCells { row, cells }| (row.clone(), (row.row, cells))).unzip();
    // The header has the names of the columns, which any row knows.
    let first = cells.first().map(|(_, cells)| cells.clone()).unwrap_or_default();
    let cells: HashMap<usize, Cells> = cells.into_iter().collect();
    let of = |row: usize| cells.get(&row).unwrap_or(&first).clone();
    print::notes(&notes);
    super::study_tables::forecasts(out, &forecasts, of, args.study.json, stdout().is_terminal())
}

fn why(out: &mut impl Write, client: &Client, args: &WhyArgs) -> anyhow::Result<()> {
    let wanted = wire::Why { row: args.row.clone() };
    let (wire::Noted::<Why> { value, notes }, _) = client.get(&args.study.at("why")?, &wanted)?;
    print::notes(&notes);
    print::why_row(out, &value, args.study.json)
}

fn report(out: &mut impl Write, client: &Client, args: &ReportArgs) -> anyhow::Result<()> {
    let (page, notes) = client.text(&args.study.at("report")?, &wire::Report { count: Some(args.count) })?;
    print::notes(&notes);
    let path = args.out.clone().unwrap_or_else(|| format!("{}.html", args.study.name).into());
    write_atomically(&path, page.as_bytes())?;
    print::written(out, &path, args.study.json)
}

fn list(out: &mut impl Write, client: &Client, args: &ListArgs) -> anyhow::Result<()> {
    let (lines, _): (Vec<wire::Line>, _) = client.get("/api/studies", &wire::Nothing {})?;
    write_list(out, &lines, client.url(), args.json)
}

fn export(out: &mut impl Write, client: &Client, study: &StudyArgs) -> anyhow::Result<()> {
    let format = study.json.then(|| "json".to_owned());
    let (text, notes) = client.text(&study.at("export")?, &wire::Export { format })?;
    print::notes(&notes);
    for line in text.split_inclusive('\n') {
        // A terminal must not obey what stands in a file.
        match (stdout().is_terminal(), line.strip_suffix('\n')) {
            (true, Some(line)) => writeln!(out, "{}", printable(line))?,
            _ => write!(out, "{line}")?,
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let large = || FileError::content(path, "is too large to be sent");
    Ok(read_regular(path, MOST_BYTES)?.ok_or_else(large)?)
}

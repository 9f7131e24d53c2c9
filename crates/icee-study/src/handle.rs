//! Handles requests to studies: the one place where a request becomes changes and a reply, whatever face it came from.

use crate::ask::AskOptions;
use crate::create::Source;
use crate::error::{Result, bug};
use crate::export::csv_of;
use crate::formats;
use crate::memory::InMemory;
use crate::record::{Entry, Keyed, Origin, Outcome, RowName};
use crate::replay::parse;
use crate::sheet::{Corrected, NewSheet};
use crate::storage::{Home, KeptSheet, digest};
use crate::study::Study;
use crate::tell::Repeat;
use crate::transfer::without_files;
use crate::words::{amount, duration};
use icee_protocol::{
    Answer, Ask, Content, Exported, Forget, Forgotten, InProgress, Note, Page, Problem, Renew, Renewed, Reply, Request,
    Sheet, StudyName, Suggestion, Summary, Tell, Told, Undo, Undone, Update, Verb, Withdraw, Withdrawn,
};
use serde::Serialize;
use std::path::Path;

/// Characters of a key.
const LONGEST_KEY: usize = 128;
/// How many rows a page may look ahead: for each, the model predicts again.
const MOST_AHEAD: usize = 50;

/// Draws pages of studies.
pub trait Pages: Sync {
    /// A page about a study, looking so many rows ahead, and its notes.
    ///
    /// # Errors
    /// If the study cannot be read.
    fn report(&self, study: &mut Study, name: &str, ahead: usize) -> Result<(String, Vec<Note>)>;

    /// A piece of HTML that shows a study at a glance.
    fn glance(&self, summary: &Summary, name: &str) -> String;
}

/// The context of a request.
pub struct Context<'a> {
    /// The current time where the study is kept, in seconds since 1970.
    pub now: u64,
    /// The name of the token, for requests that give no name.
    pub who: Option<&'a str>,
    /// The key with which the request is done once, however often it is sent.
    pub key: Option<&'a str>,
    /// Draws pages.
    pub pages: &'a dyn Pages,
    /// Whether sheets may be named by their paths: not where a client is on another machine.
    pub reads_files: bool,
    /// Bytes that a workbook of a request may unpack to.
    pub unpacked: u64,
}

impl Context<'_> {
    fn by(&self, named: Option<String>) -> Option<String> {
        named.or_else(|| self.who.map(str::to_owned))
    }

    fn until(&self, within: &str) -> Result<u64> {
        Ok(self.now.saturating_add(duration(within)?))
    }
}

/// When a request was made, and with which key.
pub(crate) fn origin_of(verb: Verb, request: &impl Serialize, context: &Context<'_>) -> Result<Origin> {
    let key = context.key.map(|key| keyed(key, context.who, verb, request)).transpose()?;
    Ok(Origin { at: Some(context.now), by: context.who.map(str::to_owned), key })
}

/// Checksums of a key and a request: the journal does not give the key away.
fn keyed(key: &str, who: Option<&str>, verb: Verb, request: &impl Serialize) -> Result<Keyed> {
    if !(1..=LONGEST_KEY).contains(&key.len()) || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Problem::KeyUnusable { longest: LONGEST_KEY });
    }
    let short = |text: &[u8]| digest(text)[..32].to_owned();
    let token = who.unwrap_or_default();
    let request = serde_json::to_vec(&(verb.name(), request)).map_err(bug)?;
    Ok(Keyed { key: short(format!("{} {token} {key}", token.len()).as_bytes()), request: short(&request) })
}

/// A request's sheet, as a study takes it.
pub(crate) fn sheet_of(sheet: Sheet, context: &Context<'_>) -> Result<Source> {
    match sheet {
        Sheet::Content(Content(bytes)) => {
            formats::check_unpacked(&bytes, context.unpacked)?;
            Ok(Source::Bytes(bytes))
        }
        Sheet::Path { path } if context.reads_files => Ok(Source::File(path)),
        Sheet::Path { .. } => Err(Problem::PathRefused),
    }
}

/// Handles a request to a study. Its changes are one line of the journal; with a known key it changes nothing, and the
/// reply is that of the first time.
///
/// # Errors
/// If it makes no sense, or not in the study's present state; then nothing changes.
pub fn handle(
    study: &mut Study,
    name: &StudyName,
    request: Request,
    context: &Context<'_>,
) -> Result<(Reply, Vec<Note>)> {
    study.take_notes();
    study.refresh()?;
    study.origin = Origin::default();
    if request.verb().changes() {
        study.origin = origin_of(request.verb(), &request, context)?;
        if let Some(line) = known(study, context)? {
            return repeated(study, name, request, context, line);
        }
    }
    let again = context.key.map(|_| request.clone());
    let reply = done(study, name, request, context);
    // Was it refused because another process has done it meanwhile?
    if let (Err(_), Some(request)) = (&reply, again)
        && let Some(line) = known(study, context)?
    {
        study.take_notes();
        return repeated(study, name, request, context, line);
    }
    study.origin = Origin::default();
    let notes = study.take_notes();
    reply.map(|reply| (reply, notes))
}

/// The line of a request that was done before.
fn known(study: &Study, context: &Context<'_>) -> Result<Option<u64>> {
    let Some(Keyed { key, request }) = &study.origin.key else { return Ok(None) };
    match study.tally.keys.get(key) {
        None => Ok(None),
        Some((line, known)) if known == request => Ok(Some(*line)),
        Some(_) => Err(Problem::KeyReused { key: context.key.unwrap_or_default().to_owned() }),
    }
}

/// The reply to a request that was done before: it is done again, in memory, from the study as it was then. The result
/// is the same.
fn repeated(
    study: &mut Study,
    name: &StudyName,
    request: Request,
    context: &Context<'_>,
    line: u64,
) -> Result<(Reply, Vec<Note>)> {
    let lines = study.all_lines()?;
    let before = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1).min(lines.len() - 1);
    let recorded = parse("journal", &lines[before..=before], line)?.swap_remove(0).1;
    let home = InMemory::new("past");
    home.create(&without_files("journal", &lines[..before])?, &[])?;
    let mut past = Study::open_in(&home, std::mem::take(&mut study.models))?;
    if let Some(hash) = past.header.pool.hash.clone()
        && let Some(bytes) = study.journal.kept(&hash)?
    {
        past.journal.keep(&KeptSheet { hash, bytes })?;
    }
    let then = Context { now: recorded.from.at.unwrap_or(context.now), key: None, ..*context };
    let again = match &request {
        Request::Update(update) => updated(study, &mut past, update, &recorded.changes),
        request => handle(&mut past, name, request.clone(), &then),
    };
    let same = past.tally.last.as_ref().is_some_and(|line| line.changes == recorded.changes);
    study.models = std::mem::take(&mut past.models);
    match (again, request) {
        (Ok(again), _) if same => Ok(again),
        // Another model would answer differently by now; the rows stay the same.
        (_, Request::Ask(_)) => suggested(study, &recorded.changes).map(|answer| (Reply::Ask(answer), vec![])),
        (again, _) => again,
    }
}

/// The same update of a study as it was then, from the kept version of the sheet: its file may have changed since.
fn updated(study: &mut Study, past: &mut Study, update: &Update, changes: &[Entry]) -> Result<(Reply, Vec<Note>)> {
    let hash = changes.iter().find_map(|change| match change {
        Entry::Sheet { pool, .. } => pool.hash.clone(),
        _ => None,
    });
    let hash = hash.unwrap_or_default();
    let bytes = study.journal.kept(&hash)?.ok_or(Problem::SheetNotKept { hash })?;
    let (repeat, corrected) = how(update);
    let updated = past.update_from_kept(repeat, corrected, bytes)?;
    Ok((Reply::Update(updated), past.take_notes()))
}

/// The rows of an answer without their predictions.
fn suggested(study: &mut Study, changes: &[Entry]) -> Result<Answer> {
    study.load()?;
    let mut suggestions = Vec::new();
    let mut picked = study.header.sampler;
    for change in changes {
        let Entry::Ask { rows, sampler, until, .. } = change else { continue };
        picked = *sampler;
        for name in rows {
            let RowName { row, .. } = name;
            let (id, cells, by) = (name.shown(), study.cells(*row), study.origin.by.clone());
            let (row, until) = (*row, *until);
            let repeat = study.trials.outcome(row - 1).is_some();
            let (forecast, reasons) = (None, vec![]);
            suggestions.push(Suggestion { id, row, cells, repeat, running: false, until, by, forecast, reasons });
        }
    }
    let (sampler, left) = (picked.name().to_owned(), study.left());
    let sheet = study.sheet_fingerprint().to_owned();
    Ok(Answer { suggestions, still_running: false, sampler, best: None, remaining: None, left, sheet })
}

fn done(study: &mut Study, name: &StudyName, request: Request, context: &Context<'_>) -> Result<Reply> {
    let name = name.as_str();
    Ok(match request {
        Request::Ask(request) => Reply::Ask(ask(study, request, context)?),
        Request::Tell(request) => Reply::Tell(tell(study, request, context)?),
        Request::Renew(Renew { rows, within, by }) => {
            let (renewed, until) = (texts(&rows)?, context.until(&within)?);
            let by = context.by(by);
            study.renew(&refs(&renewed), until, by.as_deref())?;
            // One that was longer stays so.
            let until = study.reserved_until(&refs(&renewed)).unwrap_or(until);
            Reply::Renew(Renewed { renewed, until })
        }
        Request::Withdraw(Withdraw { rows, by }) => {
            let (withdrawn, by) = (texts(&rows)?, context.by(by));
            study.withdraw(&refs(&withdrawn), by.as_deref())?;
            Reply::Withdraw(Withdrawn { withdrawn })
        }
        Request::Forget(Forget { rows }) => {
            let forgotten = texts(&rows)?;
            study.forget(&refs(&forgotten))?;
            study.notes.extend(study.header.value.clone().map(|column| Note::StillInSheet { column }));
            Reply::Forget(Forgotten { forgotten })
        }
        Request::Undo(Undo { lines }) => Reply::Undo(Undone { undone: study.undo(lines)? }),
        Request::Update(request) => Reply::Update(update(study, request, context)?),
        Request::Goals(request) => Reply::Goals(study.set_goals(request.bounds.as_deref(), &request.also)?),
        Request::Show(request) => {
            let summary = study.summary(request.told);
            let (shown, of) = (summary.told.len(), summary.told_in_all);
            study.notes.extend((0 < shown && shown < of).then_some(Note::PartShown { shown, of }));
            Reply::Show(summary)
        }
        Request::Best(_) => Reply::Best(study.best_rows()),
        Request::Predict(request) => {
            Reply::Predict(study.predict(request.top, request.sampler.as_deref().map(str::parse).transpose()?)?)
        }
        Request::Why(request) => Reply::Why(study.why(&request.row.text(), None)?),
        Request::Effects(_) => Reply::Effects(study.effects(None)?),
        Request::Running(_) => {
            let running = study.running(None)?;
            Reply::Running(InProgress { running, sheet: study.sheet_fingerprint().to_owned() })
        }
        Request::Review(_) => Reply::Review(study.review(None)?),
        Request::Glance(_) => Reply::Glance(Page { html: context.pages.glance(&study.summary(None), name) }),
        Request::Report(request) => {
            if !(1..=MOST_AHEAD).contains(&request.count) {
                return Err(Problem::Ahead { count: request.count, most: MOST_AHEAD });
            }
            let (html, notes) = context.pages.report(study, name, request.count)?;
            study.notes.extend(notes);
            Reply::Report(Page { html })
        }
        Request::Export(_) => Reply::Export(Exported { csv: csv_of(&study.summary(None))? }),
        Request::ReadCells(_) => Reply::ReadCells(study.all_cells()?),
        Request::Journal(_) => Reply::Journal(study.bundle()?),
        Request::Create(_) | Request::Import(_) | Request::Survey(_) | Request::List(_) | Request::Delete(_) => {
            return Err(bug("the request is to a place, not to a study"));
        }
    })
}

fn ask(study: &mut Study, request: Ask, context: &Context<'_>) -> Result<Answer> {
    let until = request.within.as_deref().map(|within| context.until(within)).transpose()?;
    study.suggest(&AskOptions {
        count: request.count,
        sampler: request.sampler.as_deref().map(str::parse).transpose()?,
        condition: request.condition,
        same: request.same,
        until,
        by: context.by(request.by),
        more: request.more,
        accept_model: request.accept_model,
        now: context.now,
    })
}

fn tell(study: &mut Study, mut request: Tell, context: &Context<'_>) -> Result<Told> {
    let repeat = match (request.replace, request.again) {
        (true, true) => return Err(Problem::ReplaceAndAgain),
        (true, _) => Repeat::Replace,
        (_, true) => Repeat::Again,
        _ => Repeat::Refuse,
    };
    let told = match (request.csv.take(), request.row.take()) {
        (Some(file), None) => {
            let result = request.value.is_some() || request.failed || request.impossible || !request.further.is_empty();
            if result {
                return Err(Problem::RowAndFile);
            }
            study.tell_table(table_of(file, context)?, request.column.as_deref(), repeat)?
        }
        (None, Some(row)) if request.column.is_none() => {
            let by = context.by(request.by.take());
            let (outcome, further) = results(study, &request)?;
            let further: Vec<(&str, f64)> = further.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            study.tell_by(by.as_deref(), &row.text(), outcome, &further, repeat)?
        }
        _ => return Err(Problem::RowAndFile),
    };
    Ok(Told { told, best: study.best(), has_values: study.has_values() })
}

/// A file of results.
fn table_of(file: Sheet, context: &Context<'_>) -> Result<icee_base::table::Table> {
    match sheet_of(file, context)? {
        Source::File(path) => formats::table(&path, formats::read(&path)?),
        Source::Bytes(bytes) => formats::table(Path::new("csv"), bytes),
    }
}

/// The result of a row, and the further ones. The main one may also be given by its name.
fn results(study: &Study, request: &Tell) -> Result<(Outcome, Vec<(String, f64)>)> {
    let main = study.value_column();
    let (mut value, mut further) = (request.value.as_ref().map(amount).transpose()?, Vec::new());
    for (name, result) in &request.further {
        let (name, result) = (name.trim(), amount(result)?);
        if Some(name) != main {
            further.push((name.to_owned(), result));
        } else if value.replace(result).is_some() {
            return Err(Problem::ResultTwice { name: name.to_owned() });
        }
    }
    match (value, request.failed, request.impossible) {
        (Some(value), false, false) => Ok((Outcome::Value(value), further)),
        (None, true, false) => Ok((Outcome::Failed, further)),
        (None, false, true) => Ok((Outcome::Impossible, further)),
        (None, false, false) if !further.is_empty() => Err(Problem::MainResultMissing),
        _ => Err(Problem::WhichResult),
    }
}

fn update(study: &mut Study, request: Update, context: &Context<'_>) -> Result<icee_protocol::Updated> {
    let (repeat, corrected) = how(&request);
    let new = match request.sheet.map(|sheet| sheet_of(sheet, context)).transpose()? {
        Some(Source::File(path)) => Some(NewSheet::File(path)),
        Some(Source::Bytes(bytes)) => Some(NewSheet::Bytes(bytes)),
        None => None,
    };
    study.update(repeat, corrected, new)
}

/// Whether to correct results that differ, and rows that were edited.
fn how(request: &Update) -> (Repeat, Corrected) {
    let repeat = if request.replace { Repeat::Replace } else { Repeat::Refuse };
    (repeat, if request.keep { Corrected::Keep } else { Corrected::Refuse })
}

fn texts(rows: &[icee_protocol::RowId]) -> Result<Vec<String>> {
    if rows.is_empty() { Err(Problem::NoRows) } else { Ok(rows.iter().map(icee_protocol::RowId::text).collect()) }
}

fn refs(rows: &[String]) -> Vec<&str> {
    rows.iter().map(String::as_str).collect()
}

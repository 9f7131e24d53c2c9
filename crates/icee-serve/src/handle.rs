//! What changes a study: asking, telling, prolonging, taking back. As the command line does it.

use crate::call::{Call, Done, Reply};
use crate::failure::Failure;
use crate::fields::{Ask, Renew, RowId, Rows, Tell, Undo, Update, Withdraw};
use crate::registry::Open;
use crate::wire::{Forgotten, Renewed, Taken, Undone, Withdrawn};
use icee_base::table::Table;
use icee_study::{AskOptions, Corrected, Outcome, Repeat, SamplerKind, duration};
use std::path::Path;

/// Which rows to try next. Those whose time is up are given back first.
pub fn ask(open: &mut Open, call: &Call) -> Done {
    let ask: Ask = call.body()?;
    let sampler = sampler(ask.sampler.as_deref())?;
    let within = ask.within.as_deref().map(duration).transpose().map_err(Failure::bad)?;
    let (study, now) = (&mut open.study, open.now);
    if ask.accept_model {
        study.accept_model(sampler)?;
    }
    let wanted = AskOptions {
        count: ask.count.unwrap_or(1),
        sampler,
        condition: ask.condition,
        same: ask.same,
        until: within.map(|seconds| now.saturating_add(seconds)),
        by: who(ask.by, call),
    };
    let mut answer = study.ask_or_repeat(&wanted, ask.more, now)?;
    answer.notes = call.tidy_all(&answer.notes);
    Reply::json(&answer)
}

/// What came out.
pub fn tell(open: &mut Open, call: &Call) -> Done {
    let tell: Tell = call.body()?;
    let repeat = match (tell.replace, tell.again) {
        (true, true) => return Err(Failure::bad("replace corrects what was told, again adds to it; say one of them")),
        (true, _) => Repeat::Replace,
        (_, true) => Repeat::Again,
        _ => Repeat::Refuse,
    };
    let study = &mut open.study;
    let told = match (&tell.csv, &tell.row) {
        (Some(csv), None) => {
            if tell.value.is_some() || tell.failed || tell.impossible || !tell.further.is_empty() {
                return Err(Failure::bad(
                    "the outcomes of csv stand in it; value, further, failed and impossible go with row",
                ));
            }
            let table = Table::of_bytes(Path::new("csv"), csv.clone().into_bytes()).map_err(icee_study::Error::from)?;
            study.tell_table(table, tell.column.as_deref(), repeat)?
        }
        (None, Some(row)) => {
            if tell.column.is_some() {
                return Err(Failure::bad("column names a column of csv; a single row has a value"));
            }
            let further: Vec<(&str, f64)> = tell.further.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            let by = who(tell.by.clone(), call);
            study.tell_by(by.as_deref(), &row.text(), outcome(&tell)?, &further, repeat)?
        }
        _ => return Err(Failure::bad("give row with value, failed or impossible, or csv")),
    };
    let best = study.best();
    let notes = call.tidy_all(&study.take_notes());
    Reply::noted(Taken { told, best }, notes)
}

fn outcome(tell: &Tell) -> Result<Outcome, Failure> {
    match (tell.value, tell.failed, tell.impossible) {
        (Some(value), false, false) => Ok(Outcome::Value(value)),
        (None, true, false) => Ok(Outcome::Failed),
        (None, false, true) => Ok(Outcome::Impossible),
        (None, false, false) if !tell.further.is_empty() => Err(Failure::bad("the value itself is missing: add value")),
        (None, false, false) => Err(Failure::bad("give row with value, failed or impossible, or csv")),
        _ => Err(Failure::bad("an experiment has a value, failed or is impossible; say one of them")),
    }
}

/// More time for rows.
pub fn renew(open: &mut Open, call: &Call) -> Done {
    let Renew { rows, within, by } = call.body()?;
    let until = open.now.saturating_add(duration(&within).map_err(Failure::bad)?);
    let (rows, study) = (texts(&rows)?, &mut open.study);
    study.renew(&refs(&rows), until, who(by, call).as_deref())?;
    let notes = call.tidy_all(&study.take_notes());
    Reply::noted(Renewed { renewed: rows, until }, notes)
}

/// Takes in the sheet.
pub fn update(open: &mut Open, call: &Call) -> Done {
    let Update { replace, keep, sheet, sheet_base64 } = call.body()?;
    let Open { study, ledger, .. } = open;
    let repeat = if replace { Repeat::Replace } else { Repeat::Refuse };
    let corrected = if keep { Corrected::Keep } else { Corrected::Refuse };
    let change = if sheet.is_some() || sheet_base64.is_some() {
        let sheet = call.sheet(sheet.as_deref(), sheet_base64.as_deref())?;
        study.update_to(&sheet, repeat, corrected, &mut |place| ledger.put_sheet(&sheet, place))?
    } else {
        study.update(repeat, corrected)?
    };
    let notes = call.tidy_all(&study.take_notes());
    Reply::noted(change, notes)
}

/// Takes back rows that will not be tried.
pub fn withdraw(open: &mut Open, call: &Call) -> Done {
    let Withdraw { rows, by } = call.body()?;
    let withdrawn = texts(&rows)?;
    open.study.withdraw(&refs(&withdrawn), who(by, call).as_deref())?;
    let notes = call.tidy_all(&open.study.take_notes());
    Reply::noted(Withdrawn { withdrawn }, notes)
}

/// Forgets what was told of rows.
pub fn forget(open: &mut Open, call: &Call) -> Done {
    let forgotten = texts(&call.body::<Rows>()?.rows)?;
    let study = &mut open.study;
    study.forget(&refs(&forgotten))?;
    let mut notes = call.tidy_all(&study.take_notes());
    if let Some(column) = study.value_column() {
        notes.push(format!("what still stands in the column {column} will be told again; empty the cell"));
    }
    Reply::noted(Forgotten { forgotten }, notes)
}

/// Takes back the last thing.
pub fn undo(open: &mut Open, call: &Call) -> Done {
    let Undo { lines } = call.body()?;
    let study = &mut open.study;
    let undone = match lines {
        Some(lines) => study.undo_seen(lines)?,
        None => study.undo()?,
    };
    let notes = call.tidy_all(&open.study.take_notes());
    Reply::noted(Undone { undone }, notes)
}

/// Who a request is about: whom it names, else whose token it is.
fn who(by: Option<String>, call: &Call) -> Option<String> {
    by.or_else(|| call.user.clone())
}

/// A sampler by its name.
pub fn sampler(name: Option<&str>) -> Result<Option<SamplerKind>, Failure> {
    Ok(name.map(str::parse).transpose()?)
}

fn texts(rows: &[RowId]) -> Result<Vec<String>, Failure> {
    match rows {
        [] => Err(Failure::bad("rows is empty; name at least one")),
        rows => Ok(rows.iter().map(RowId::text).collect()),
    }
}

fn refs(rows: &[String]) -> Vec<&str> {
    rows.iter().map(String::as_str).collect()
}

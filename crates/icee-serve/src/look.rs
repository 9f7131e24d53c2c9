//! What only looks: at all studies, at one, at a sheet. As the command line does it.

use crate::app::App;
use crate::call::{Call, Done, Reply};
use crate::change::sampler;
use crate::create;
use crate::failure::Failure;
use crate::fields::{Create, Export, FORMATS, MOST_AHEAD, Predict, Report, Show, Why};
use crate::name::StudyName;
use crate::openapi;
use crate::places::What;
use crate::registry::Open;
use crate::routes::{CSV, HTML, METRICS};
use crate::wire::{Line, WithCells};
use icee_report::check;
use icee_report::study::{glance as glance_of, page_of};
use icee_study::{RowForecast, Summary};
use serde_json::json;

/// Rows that a page looks ahead.
const AHEAD: usize = 5;

/// Whether the server lives.
pub fn health(_: &App) -> Done {
    Reply::json(&json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// The description of all routes.
pub fn openapi(_: &App) -> Done {
    Reply::json(&openapi::description())
}

/// Counts and times.
pub fn metrics(app: &App) -> Done {
    let gauges = [
        ("icee_studies_open", "Studies that are open.", app.registry.count()),
        ("icee_requests_running", "Requests that are worked on.", app.places.taken(What::Requests)),
    ];
    Ok(Reply::of(METRICS, app.metrics.text(&gauges)))
}

/// All studies.
pub fn list(app: &App, _: &Call) -> Done {
    let names = app.registry.store().names()?;
    let line = |name: &StudyName| {
        match app.registry.line(name, || app.places.wait_here(What::Sheets)) {
            // In a moment it will be otherwise.
            Err(failure) if failure.retry.is_some() => Err(failure),
            Err(failure) => Ok(Line::problem(name.as_str(), app.for_clients(&failure))),
            line => line,
        }
    };
    let lines = names.iter().map(line).collect::<Result<Vec<Line>, Failure>>()?;
    app.registry.forget_lines_but(&names);
    Reply::json(&lines)
}

/// What is understood of a sheet.
pub fn survey(app: &App, call: &Call) -> Done {
    let wanted: Create = call.body()?;
    create::survey(app.registry.store(), &wanted, call)
}

/// The study at a glance.
pub fn show(open: &mut Open, call: &Call) -> Done {
    let Show { told: most } = call.query()?;
    let mut summary = for_clients(open.study.summary(), call);
    let all = summary.told.len();
    if let Some(older) = most.and_then(|most| all.checked_sub(most)).filter(|older| *older > 0) {
        summary.told.drain(..older);
        summary.notes.push(format!("told has the latest {} of {all} rows", all - older));
    }
    Reply::json(&summary)
}

/// A study at a glance, without the server's paths.
pub fn for_clients(summary: Summary, call: &Call) -> Summary {
    Summary { pool: call.tidy(&summary.pool), notes: call.tidy_all(&summary.notes), ..summary }
}

/// The same as a piece of HTML, for notebooks and pages of other people.
pub fn glance(open: &mut Open, call: &Call) -> Done {
    let summary = for_clients(open.study.summary(), call);
    let html = glance_of(&summary, call.name()?.as_str());
    Ok(Reply::of(HTML, html).beside(summary.notes))
}

/// The best row, or the front.
pub fn best(open: &mut Open, call: &Call) -> Done {
    if open.study.objectives() > 1 {
        return front(open, call);
    }
    match open.study.best() {
        Some(best) => {
            let notes = call.tidy_all(&open.study.take_notes());
            Reply::noted(best, notes)
        }
        None if open.study.has_values() => {
            Err(Failure::missing("no row keeps all limits yet; the study itself has all rows"))
        }
        None => Err(Failure::missing("no value was told yet; tell one with POST .../tell")),
    }
}

/// The rows that are beaten by none.
pub fn front(open: &mut Open, call: &Call) -> Done {
    let front = Reply::json(&open.study.front())?;
    Ok(front.beside(call.tidy_all(&open.study.take_notes())))
}

/// What is believed of every row.
pub fn predict(open: &mut Open, call: &Call) -> Done {
    let Predict { top, sampler: name } = call.query()?;
    let mut forecasts = open.study.predict(sampler(name.as_deref())?)?;
    if let Some(top) = top {
        forecasts = RowForecast::most_promising(forecasts, top);
    }
    let with_cells = |row: RowForecast| WithCells { cells: open.study.cells(row.row), row };
    let rows: Vec<WithCells> = forecasts.into_iter().map(with_cells).collect();
    Ok(Reply::json(&rows)?.beside(call.tidy_all(&open.study.take_notes())))
}

/// What stands in the sheet.
pub fn cells(open: &mut Open, _: &Call) -> Done {
    Reply::json(&open.study.all_cells()?)
}

/// What speaks for a row.
pub fn why(open: &mut Open, call: &Call) -> Done {
    let Why { row } = call.query()?;
    let why = open.study.why(&row, None)?;
    Reply::noted(why, call.tidy_all(&open.study.take_notes()))
}

/// What each column does.
pub fn effects(open: &mut Open, call: &Call) -> Done {
    let effects = open.study.effects(None)?;
    if effects.is_empty() {
        return Err(Failure::conflict("too few values were told to say what the columns do; tell more first"));
    }
    Ok(Reply::json(&effects)?.beside(call.tidy_all(&open.study.take_notes())))
}

/// The rows that are being tried; an empty answer where there are none.
pub fn running(open: &mut Open, call: &Call) -> Done {
    let (suggestions, notes) =
        open.study.running(None)?.map_or_else(Default::default, |answer| (answer.suggestions, answer.notes));
    Ok(Reply::json(&suggestions)?.beside(call.tidy_all(&notes)))
}

/// How it went so far.
pub fn review(open: &mut Open, call: &Call) -> Done {
    let review = open.study.review(None)?;
    Ok(Reply::json(&review)?.beside(call.tidy_all(&open.study.take_notes())))
}

/// A page about the study.
pub fn report(open: &mut Open, call: &Call) -> Done {
    let count = call.query::<Report>()?.count.unwrap_or(AHEAD);
    if !(1..=MOST_AHEAD).contains(&count) {
        return Err(Failure::bad(format!("a page looks 1 to {MOST_AHEAD} rows ahead, not {count}")));
    }
    let (page, notes) = page_of(&mut open.study, call.name()?.as_str(), count)?;
    let html = page.to_html().map_err(|error| Failure::internal(error.to_string()))?;
    check::self_contained(&html).map_err(Failure::internal)?;
    Ok(Reply::of(HTML, html).beside(call.tidy_all(&notes)))
}

/// What was told.
pub fn export(open: &mut Open, call: &Call) -> Done {
    let Export { format } = call.query()?;
    let summary = open.study.summary();
    let [csv, json] = FORMATS;
    match format.as_deref().unwrap_or(csv) {
        format if format == json => Ok(Reply::json(&summary.told)?.beside(call.tidy_all(&summary.notes))),
        format if format == csv => {
            let mut text = Vec::new();
            summary.write_told(&mut text, str::to_owned).map_err(|error| Failure::internal(error.to_string()))?;
            let text = String::from_utf8(text).map_err(|error| Failure::internal(error.to_string()))?;
            Ok(Reply::of(CSV, text).beside(call.tidy_all(&summary.notes)))
        }
        other => Err(Failure::bad(format!("\"{other}\" is no format; {}", FORMATS.join(" or ")))),
    }
}

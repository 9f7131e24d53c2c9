//! Does the requests of the protocol: with one study, when it is its turn, or with the place where studies are.

use crate::answer::Answer;
use crate::app::{App, aside};
use crate::failure::Failure;
use crate::quotas::{Held, What};
use crate::registry::{Open, Purpose};
use crate::request::Incoming;
use crate::shown::shown;
use axum::http::StatusCode;
use icee_models::study_models;
use icee_protocol::{Line, Note, Problem, Reader, Reply, Request, Studies, StudyName, Verb, render};
use icee_report::study::StudyPages;
use icee_study::{Context, Models, place};
use std::sync::Arc;

/// How many times as large as a body a workbook may be when it is unpacked.
const UNPACKED: u64 = 8;

/// A reply with its notes.
type Done = Result<(Reply, Vec<Note>), Failure>;

/// Does a request on a thread that may take its time. What it holds goes along: work that no client waits for any more
/// counts as well.
///
/// # Errors
/// Where it is refused, or cannot be done.
pub async fn run(app: &Arc<App>, incoming: Incoming, held: (Held, Option<Held>)) -> Result<Answer, Failure> {
    let verb = incoming.verb;
    let mut slot = match &incoming.study {
        Some(name) => {
            // Of studies that do not exist nothing is kept.
            if verb.is_of_study() {
                app.require(name).await?;
            }
            Some(app.registry.turn(name, purpose(verb)).await)
        }
        None => None,
    };
    // Few sheets are read at once. An update has yet to wait for other servers, and waits for this afterwards.
    let sheet = match verb {
        Verb::Create | Verb::Import | Verb::Survey => Some(app.quotas.wait(What::Sheets, None).await?),
        _ => None,
    };
    let app = Arc::clone(app);
    aside(move || {
        let (_held, hidden) = ((held, sheet), app.registry.store().hidden());
        let reader = incoming.reader.clone();
        let done = do_with(&app, incoming, slot.as_deref_mut())?;
        Answer::of(verb, done, &reader, hidden)
    })
    .await
}

fn purpose(verb: Verb) -> Purpose {
    if verb.changes() { Purpose::Change } else { Purpose::Look }
}

fn do_with(app: &App, incoming: Incoming, slot: Option<&mut Option<Open>>) -> Done {
    let Incoming { verb, request, study, who, key, reader } = incoming;
    let context = |now| Context {
        now,
        who: who.as_deref(),
        key: key.as_deref(),
        pages: &StudyPages,
        reads_files: false,
        unpacked: (app.limits.body as u64).saturating_mul(UNPACKED),
    };
    let store: &dyn icee_study::Place = app.registry.store();
    match (request, study, slot) {
        (Request::List(_), ..) => Ok((Reply::List(list(app, &reader)?), vec![])),
        (Request::Survey(survey), ..) => {
            let (surveyed, notes) = place::survey(survey.0, models()?, &context(app.registry.now()))?;
            Ok((Reply::Survey(surveyed), notes))
        }
        (Request::Create(create), _, Some(slot)) => {
            *slot = None;
            let (summary, notes) = place::create(store, create, models()?, &context(app.registry.now()))?;
            Ok((Reply::Create(summary), notes))
        }
        (Request::Import(import), _, Some(slot)) => {
            *slot = None;
            let (summary, notes) = place::import(store, import, models()?)
                .map_err(|problem| sent(problem, app.registry.store().hidden()))?;
            Ok((Reply::Import(summary), notes))
        }
        (Request::Delete(_), Some(name), Some(slot)) => {
            *slot = None;
            Ok((Reply::Delete(place::delete(store, &name, &context(app.registry.now()))?), vec![]))
        }
        (request, Some(name), Some(slot)) => app.registry.with(&name, slot, purpose(verb), |open| {
            let reads = verb == Verb::Update || !open.study.is_loaded();
            let _sheet = if reads { Some(app.quotas.wait_here(What::Sheets)?) } else { None };
            Ok(icee_study::handle(&mut open.study, &name, request, &context(open.now))?)
        }),
        (_, None, _) | (_, _, None) => Err(Failure::internal("a request without a study")),
    }
}

/// A problem with a study that came with the request: unlike one of a study that is stored here, the client has caused
/// it.
fn sent(problem: Problem, hidden: Option<&str>) -> Failure {
    let is_sent = match &problem {
        Problem::Stored { name, .. } => hidden != Some(name),
        Problem::OldFormat { .. } => true,
        _ => false,
    };
    let failure = Failure::from(problem);
    if is_sent { Failure { status: StatusCode::BAD_REQUEST, ..failure } } else { failure }
}

/// The models that studies use.
pub fn models() -> Result<Models, Failure> {
    study_models().map_err(|error| Failure::internal(error.to_string()))
}

/// All studies, those that cannot be read among them.
fn list(app: &App, reader: &Reader) -> Result<Studies, Failure> {
    let store = app.registry.store();
    let names = store.names().map_err(Failure::stored)?;
    let line = |name: &StudyName| match app.registry.line(name, || app.quotas.wait_here(What::Sheets)) {
        // In a moment it will be otherwise.
        Err(failure) if failure.retry.is_some() => Err(failure),
        Err(failure) => {
            let problem = shown(&*failure.problem, store.hidden()).map(|problem| render::problem(&problem, reader));
            Ok(place::broken_line(name, problem.unwrap_or_default()))
        }
        line => line,
    };
    let studies = names.iter().map(line).collect::<Result<Vec<Line>, Failure>>()?;
    app.registry.forget_lines_but(&names);
    Ok(Studies { studies })
}

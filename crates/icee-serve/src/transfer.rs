//! Studies that come from elsewhere, or go there: journal and sheet as they are.

use crate::call::{Call, Done, Reply};
use crate::create::require_free;
use crate::failure::Failure;
use crate::fields::Import;
use crate::look::for_clients;
use crate::name::StudyName;
use crate::registry::Open;
use crate::store::Store;
use crate::wire::Files;
use axum::http::StatusCode;
use icee_models::study_models;
use icee_study::{Study, StudyFiles};

/// The study itself, to be taken elsewhere.
pub fn journal(open: &mut Open, _: &Call) -> Done {
    Reply::json(&Files::from(open.study.files()?))
}

/// Takes in a study from elsewhere. Only when it is one's turn with that name.
///
/// # Errors
/// Where there is one of that name, or journal and sheet are not sound or not of one study; then nothing is left behind.
pub fn import(store: &dyn Store, name: &StudyName, wanted: Import, call: &Call) -> Done {
    let Import { name: _, journal, sheet, sheet_base64 } = wanted;
    require_free(store, name)?;
    let files = StudyFiles { sheet: call.sheet(sheet.as_deref(), sheet_base64.as_deref())?, journal };
    // Whatever is wrong with it has come with the request.
    let lines = files.lines().map_err(|error| Failure::bad(error.to_string()))?;
    let mut draft = store.draft(name, files.ending(), &files.sheet)?;
    draft.home.create(&lines)?;
    draft.sheet.wanted = draft.stays;
    let (home, _) = store.seat(name).map_err(Failure::stored)?;
    let models = study_models().map_err(|error| Failure::internal(error.to_string()))?;
    let summary = Study::open_in(&*home, None, models).map_err(Failure::stored)?.summary();
    let reply = Reply::json(&for_clients(summary, call))?;
    Ok(Reply { status: StatusCode::CREATED, ..reply })
}

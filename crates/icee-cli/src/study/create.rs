//! Questions before a study is created, where a person sits at a terminal.

use super::in_words;
use crate::terminal::{ask, is_interactive, say};
use icee_protocol::{Call, Create, Face, Problem, Reader, Reply, StudyName, Survey, Suspicion, Transport, render};

/// A request without doubts, as far as a person can clear them up, and whether one was there to be asked.
pub fn cleared_up(mut create: Create, studies: &mut dyn Transport, json: bool) -> anyhow::Result<(Create, bool)> {
    if json || !is_interactive() {
        return Ok((create, false));
    }
    let reader = Reader::at(Face::Terminal, create.name.as_ref().map(StudyName::as_str));
    let suspects = survey(&create, studies).map_err(|problem| in_words(&problem, &reader))?;
    suspects.iter().for_each(|suspect| clear_up(suspect, &mut create));
    if create.direction.is_none() && create.target.is_none() {
        ask_direction(&mut create, studies, &reader)?;
    }
    Ok((create, true))
}

/// Columns that are perhaps not inputs.
fn survey(create: &Create, studies: &mut dyn Transport) -> icee_protocol::Result<Vec<Suspicion>> {
    let reply: Reply = studies.send(None, Survey(create.clone()).into())?.reply;
    let odd = || Problem::Strange { place: studies.place(), fault: "the reply is another verb's".into() };
    Survey::reply(reply).map(|surveyed| surveyed.suspects).ok_or_else(odd)
}

/// Asks what a column is that may be no input.
fn clear_up(suspect: &Suspicion, create: &mut Create) {
    let Suspicion { column, is_result, reason, .. } = suspect;
    let question = if *is_result { "Is it what you measure?" } else { "Leave it out?" };
    let Some(answer) = ask(&format!("Column \"{column}\" {reason}. {question} [Y/n]")) else { return };
    if !(answer.is_empty() || answer.to_lowercase().starts_with('y')) {
        return;
    }
    match *is_result && create.value.is_none() {
        true => create.value = Some(column.clone()),
        false => create.ignore.push(column.clone()),
    }
}

/// Asks which results are good until the answer makes sense. Without any, creating the study is refused.
fn ask_direction(create: &mut Create, studies: &mut dyn Transport, reader: &Reader) -> anyhow::Result<()> {
    while let Some(answer) = ask("Which results are good, high or low ones?") {
        create.direction = Some(answer);
        match survey(create, studies) {
            Ok(_) => return Ok(()),
            Err(problem @ Problem::NotADirection { .. }) => say(render::problem(&problem, reader)),
            Err(problem) => return Err(in_words(&problem, reader)),
        }
    }
    create.direction = None;
    Ok(())
}

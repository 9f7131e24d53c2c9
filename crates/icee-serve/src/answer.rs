//! Answers: replies with their notes, as JSON or as documents.

use crate::failure::Failure;
use crate::routes::JSON;
use crate::shown::{file_name, shown};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use icee_client::NOTES;
use icee_protocol::{Note, Noted, Reader, Reply, Said, Summary, Verb, render};
use serde::Serialize;

/// Bytes of the header with notes: proxies refuse answers with larger ones.
const MOST_NOTES: usize = 4096;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: StatusCode,
    /// Its type.
    kind: &'static str,
    text: String,
    /// The header with the notes, where the text has no place for them.
    notes: Option<HeaderValue>,
}

impl Answer {
    /// A text of this type.
    pub fn text(kind: &'static str, text: String) -> Answer {
        Answer { status: StatusCode::OK, kind, text, notes: None }
    }

    /// JSON.
    ///
    /// # Errors
    /// If it cannot be written as JSON, which would be a bug.
    pub fn json(value: &impl Serialize) -> Result<Answer, Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Answer::text(JSON, text + "\n"))
    }

    /// A reply to a verb with its notes; `hidden` is the name of the database.
    ///
    /// # Errors
    /// As [`Answer::json`].
    pub fn of(
        verb: Verb,
        (reply, notes): (Reply, Vec<Note>),
        reader: &Reader,
        hidden: Option<&str>,
    ) -> Result<Answer, Failure> {
        let notes = notes.iter().filter_map(|note| shown(note, hidden)).collect();
        let notes = render::said(notes, reader);
        if let (Some(kind), Some(text)) = (verb.document(), reply.document()) {
            return Ok(Answer { notes: beside(&notes), ..Answer::text(kind, text.to_owned()) });
        }
        let answer = Answer::json(&Noted { reply: without_folders(reply), notes })?;
        let created = matches!(verb, Verb::Create | Verb::Import);
        Ok(Answer { status: if created { StatusCode::CREATED } else { StatusCode::OK }, ..answer })
    }
}

/// The same reply: where files lie on the server is not for clients.
fn without_folders(mut reply: Reply) -> Reply {
    let pool = |summary: &mut Summary| summary.pool = summary.pool.as_deref().map(file_name);
    match &mut reply {
        Reply::Create(summary) | Reply::Import(summary) | Reply::Show(summary) => pool(summary),
        Reply::Survey(surveyed) => pool(&mut surveyed.summary),
        Reply::Delete(gone) => gone.place = None,
        _ => {}
    }
    reply
}

/// Notes as a header, as many as fit.
fn beside(notes: &[Said<Note>]) -> Option<HeaderValue> {
    let line = |count: usize| serde_json::to_string(&notes[..count]).ok().map(|line| ascii(&line));
    let fits = (1..=notes.len()).rev().filter_map(line).find(|line| line.len() <= MOST_NOTES);
    fits.and_then(|line| HeaderValue::from_str(&line).ok())
}

/// JSON in plain ASCII: headers allow nothing else, terminals do not obey it, and programs that read logs can
/// parse it.
pub fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            ' '..='~' => text.push(c),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    text
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = (self.status, [(header::CONTENT_TYPE, self.kind)], self.text).into_response();
        if let Some(notes) = self.notes {
            response.headers_mut().insert(NOTES, notes);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::{Exported, Face};

    #[test]
    fn plain_json_is_the_same_json() {
        let text = "a\u{202e}\u{7f}\n\u{1b}[2Jä🙂";
        let line = ascii(&serde_json::to_string(text).unwrap());
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }

    #[test]
    fn notes_beside_documents_are_as_many_as_fit() {
        let reader = Reader::at(Face::Http, Some("bread"));
        let answer = |count: usize| {
            let notes = (0..count).map(|_| Note::Dates { column: "ä".repeat(60) }).collect();
            let reply = Reply::Export(Exported { csv: "row,value\n".into() });
            Answer::of(Verb::Export, (reply, notes), &reader, None).unwrap()
        };
        assert_eq!((answer(0).notes, answer(0).text.as_str()), (None, "row,value\n"));
        let notes = answer(99).notes.unwrap();
        assert!(notes.len() <= MOST_NOTES && notes.len() > MOST_NOTES / 2, "{}", notes.len());
        let said: Vec<Said<Note>> = serde_json::from_str(notes.to_str().unwrap()).unwrap();
        assert!(said.len() > 1 && said[0].words.contains("ä"));
    }
}

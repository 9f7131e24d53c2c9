//! How requests reach a study, wherever it is.

use crate::{Call, Note, Problem, Reply, Request, Said, StudyName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reply, and what you should know beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noted<T> {
    /// The reply.
    #[serde(flatten)]
    pub reply: T,
    /// What you should know.
    #[serde(default)]
    pub notes: Vec<Said<Note>>,
}

impl<T> Noted<T> {
    /// The same of another reply.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Noted<U> {
        Noted { reply: change(self.reply), notes: self.notes }
    }
}

/// Makes a request that is sent twice be done once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(pub String);

/// A place that has studies: a folder, a server, memory.
pub trait Transport: Send {
    /// Does a request to a study, or to the place itself where there is none yet.
    ///
    /// # Errors
    /// Where it is refused, or cannot be done.
    fn send(&mut self, study: Option<&StudyName>, request: Request) -> Result<Noted<Reply>, Problem>;

    /// Where it is, for a person.
    fn place(&self) -> String;

    /// The same with the reply that belongs to the request.
    ///
    /// # Errors
    /// As [`Transport::send`].
    fn call<C: Call>(&mut self, study: Option<&StudyName>, request: C) -> Result<Noted<C::Reply>, Problem>
    where
        Self: Sized,
    {
        let Noted { reply, notes } = self.send(study, request.into())?;
        let odd = || Problem::Strange { place: self.place(), fault: "the reply is another verb's".into() };
        Ok(Noted { reply: C::reply(reply).ok_or_else(odd)?, notes })
    }
}

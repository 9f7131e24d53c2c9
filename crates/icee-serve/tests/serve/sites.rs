//! The places where studies can be, each reached as clients reach it: a folder, memory, a server.

use crate::client::Running;
use icee_client::Http;
use icee_protocol::{
    Face, Note, Noted, Problem, Reader, Reply, Request, Result, Studies, StudyName, Transport, render,
};
use icee_report::study::StudyPages;
use icee_serve::Place;
use icee_study::memory::InMemory;
use icee_study::{Context, Home, Models, Study, handle, place};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The clock of all sites, in seconds since 1970. It stands still unless the test moves it.
pub type Time = Arc<AtomicU64>;

/// A place whose studies stay when those who reach it are gone.
pub enum Site {
    Folder(PathBuf),
    Memory(Arc<Memory>),
    Server(Place),
}

impl Site {
    /// Reaches it, for the first time or anew: whatever was known of its studies is read again. What the transport is wrapped in can
    /// lose requests and answers, which is how faults are injected.
    pub fn open(&self, face: Face, time: &Time) -> Box<dyn Transport> {
        let time = Arc::clone(time);
        let clock = move || time.load(Ordering::SeqCst);
        match self {
            Site::Folder(folder) => Box::new(icee_client::Folder::new(folder, face).with_clock(clock)),
            Site::Memory(memory) => {
                Box::new(InThisProcess { memory: Arc::clone(memory), face, clock: Box::new(clock) })
            }
            Site::Server(store) => {
                let server = Running::by_clock(store, clock);
                let http = Http::new(&format!("http://{}", server.address), None, face).unwrap();
                Box::new(Served { http, _server: server })
            }
        }
    }
}

/// Studies that are gone when the test is.
#[derive(Default)]
pub struct Memory(Mutex<BTreeMap<StudyName, InMemory>>);

impl place::Place for Memory {
    fn names(&self) -> Result<Vec<StudyName>> {
        let homes = self.0.lock().unwrap();
        Ok(homes.iter().filter(|(_, home)| home.open().is_ok()).map(|(name, _)| name.clone()).collect())
    }

    fn exists(&self, name: &StudyName) -> Result<bool> {
        Ok(self.0.lock().unwrap().get(name).is_some_and(|home| home.open().is_ok()))
    }

    fn home(&self, name: &StudyName) -> Result<Box<dyn Home>> {
        let mut homes = self.0.lock().unwrap();
        Ok(Box::new(homes.entry(name.clone()).or_insert_with(|| InMemory::new(name.as_str())).clone()))
    }

    fn put_away(&self, name: &StudyName, _: u64) -> Result<Option<String>> {
        self.0.lock().unwrap().remove(name);
        Ok(None)
    }
}

/// Reaches studies in memory. Each is opened for every request, so that nothing is known but what its lines say.
struct InThisProcess {
    memory: Arc<Memory>,
    face: Face,
    clock: Box<dyn Fn() -> u64 + Send>,
}

impl InThisProcess {
    fn study(&self, name: &StudyName) -> Result<Study> {
        let memory: &dyn place::Place = &*self.memory;
        place::require(memory, name, None)?;
        Study::open_in(&*memory.home(name)?, Models::default())
    }

    fn done(&self, study: Option<&StudyName>, request: Request) -> Result<(Reply, Vec<Note>)> {
        let memory: &dyn place::Place = &*self.memory;
        let now = (self.clock)();
        let context = Context { now, who: None, key: None, pages: &StudyPages, reads_files: false, unpacked: 1 << 20 };
        let named = || study.cloned().ok_or(Problem::NameMissing);
        match request {
            Request::Create(mut create) => {
                create.name = create.name.or_else(|| study.cloned());
                let (summary, notes) = place::create(memory, create, Models::default(), &context)?;
                Ok((Reply::Create(summary), notes))
            }
            Request::Survey(survey) => {
                let (surveyed, notes) = place::survey(survey.0, Models::default(), &context)?;
                Ok((Reply::Survey(surveyed), notes))
            }
            Request::List(_) => {
                let line = |name| self.study(&name).map(|mut study| place::line(&name, &mut study));
                let studies = memory.names()?.into_iter().map(line).collect::<Result<_>>()?;
                Ok((Reply::List(Studies { studies }), vec![]))
            }
            Request::Delete(_) => Ok((Reply::Delete(place::delete(memory, &named()?, &context)?), vec![])),
            request => {
                let name = named()?;
                handle(&mut self.study(&name)?, &name, request, &context)
            }
        }
    }
}

impl Transport for InThisProcess {
    fn send(&mut self, study: Option<&StudyName>, request: Request) -> Result<Noted<Reply>> {
        let (reply, notes) = self.done(study, request)?;
        Ok(Noted { reply, notes: render::said(notes, &Reader::at(self.face, study.map(StudyName::as_str))) })
    }

    fn place(&self) -> String {
        "memory".into()
    }
}

/// Reaches a server that runs as long as this lives.
struct Served {
    http: Http,
    _server: Running,
}

impl Transport for Served {
    fn send(&mut self, study: Option<&StudyName>, request: Request) -> Result<Noted<Reply>> {
        self.http.send(study, request)
    }

    fn place(&self) -> String {
        self.http.place()
    }
}

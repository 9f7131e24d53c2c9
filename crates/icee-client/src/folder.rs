//! A folder of journals: requests are done here, in this process.

use icee_models::study_models;
use icee_protocol::{
    Bundle, Face, Line, Note, Noted, Problem, Reader, Reply, Request, Result, Studies, StudyName, Transport, render,
};
use icee_report::study::StudyPages;
use icee_study::place::{self, Folder as Journals, Place};
use icee_study::{Context, JournalFile, Models, Study, handle};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Studies that are kept open between requests.
const MOST_OPEN: usize = 8;

/// What is done where a request has to wait.
type Waiting = Arc<dyn Fn(&Path) + Send + Sync>;

/// Tells the time, in seconds since 1970.
type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// The studies of a folder.
pub struct Folder {
    journals: Journals,
    face: Face,
    waiting: Waiting,
    clock: Clock,
    /// Those used last, the latest last.
    open: Vec<(StudyName, Option<Identity>, Study)>,
}

/// Which file a journal was when it was opened.
type Identity = (u64, u64);

impl Folder {
    /// Those of this folder, which need not be there yet, for a face.
    pub fn new(folder: impl Into<PathBuf>, face: Face) -> Folder {
        let journals = Journals(folder.into());
        Folder { journals, face, waiting: Arc::new(|_| ()), clock: Box::new(now), open: vec![] }
    }

    /// Another clock than this machine's: seconds since 1970.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Folder {
        self.clock = Box::new(clock);
        self
    }

    /// What is done, once, where a request has to wait for more than a second because another process is at work on the study.
    #[must_use]
    pub fn when_waiting(mut self, say: impl Fn(&Path) + Send + Sync + 'static) -> Folder {
        self.waiting = Arc::new(say);
        self
    }

    /// A study, opened anew where another file has taken its place.
    fn opened(&mut self, name: &StudyName) -> Result<&mut Study> {
        let path = self.journals.path(name);
        let identity = std::fs::metadata(&path).ok().and_then(|file| identity(&file));
        let known = self.open.iter().position(|(known, ..)| known == name).map(|at| self.open.remove(at));
        let study = match known {
            Some((_, of, study)) if of.is_some() && of == identity => study,
            _ => {
                place::require(&self.journals, name, Some(self.place()))?;
                let mut study = Study::open_in(&JournalFile(path), models()?)?;
                let waiting = Arc::clone(&self.waiting);
                study.when_waiting(move |path| waiting(path));
                study
            }
        };
        self.open.push((name.clone(), identity, study));
        if self.open.len() > MOST_OPEN {
            self.open.remove(0);
        }
        match self.open.last_mut() {
            Some((.., study)) => Ok(study),
            None => Err(Problem::Bug { fault: "a study was opened and is not open".into() }),
        }
    }

    fn list(&self) -> Result<Studies> {
        let line = |name: StudyName| -> Line {
            let opened = Study::open_in(&JournalFile(self.journals.path(&name)), Models::default());
            match opened {
                Ok(mut study) => place::line(&name, &mut study),
                Err(problem) => {
                    place::broken_line(&name, render::problem(&problem, &Reader::at(self.face, Some(name.as_str()))))
                }
            }
        };
        Ok(Studies { studies: self.journals.names()?.into_iter().map(line).collect() })
    }

    fn done(&mut self, study: Option<&StudyName>, request: Request) -> Result<(Reply, Vec<Note>)> {
        let pages = StudyPages;
        let now = (self.clock)();
        let context = Context { now, who: None, key: None, pages: &pages, reads_files: true, unpacked: u64::MAX };
        let of = |study: Option<&StudyName>| study.cloned().ok_or(Problem::NameMissing);
        match request {
            Request::Create(mut create) => {
                create.name = create.name.or_else(|| study.cloned());
                let (summary, notes) = place::create(&self.journals, create, models()?, &context)?;
                Ok((Reply::Create(summary), notes))
            }
            Request::Import(mut import) => {
                import.name = import.name.or_else(|| study.cloned());
                let (summary, notes) = place::import(&self.journals, import, models()?)?;
                Ok((Reply::Import(summary), notes))
            }
            Request::Survey(survey) => {
                let (surveyed, notes) = place::survey(survey.0, models()?, &context)?;
                Ok((Reply::Survey(surveyed), notes))
            }
            Request::List(_) => Ok((Reply::List(self.list()?), vec![])),
            Request::Delete(_) => {
                let name = of(study)?;
                place::require(&self.journals, &name, Some(self.place()))?;
                self.open.retain(|(known, ..)| *known != name);
                Ok((Reply::Delete(place::delete(&self.journals, &name, &context)?), vec![]))
            }
            request => {
                let name = of(study)?;
                handle(self.opened(&name)?, &name, request, &context)
            }
        }
    }
}

impl Transport for Folder {
    fn send(&mut self, study: Option<&StudyName>, request: Request) -> Result<Noted<Reply>> {
        let reader = Reader::at(self.face, study.map(StudyName::as_str));
        let (reply, notes) = self.done(study, request)?;
        Ok(Noted { reply, notes: render::said(notes, &reader) })
    }

    fn place(&self) -> String {
        self.journals.0.display().to_string()
    }
}

/// Seconds since 1970, by this machine's clock.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn models() -> Result<Models> {
    study_models().map_err(|error| Problem::Model { fault: error.to_string() })
}

#[cfg(unix)]
fn identity(file: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((file.dev(), file.ino()))
}

/// Elsewhere a study is opened for every request.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<Identity> {
    None
}

/// Upgrades the journal of a study in a folder to the format of today.
///
/// # Errors
/// Where there is none, or it cannot be upgraded.
pub fn upgrade(folder: &Path, name: &StudyName) -> Result<icee_study::Upgraded> {
    let journals = Journals(folder.to_owned());
    place::require(&journals, name, Some(folder.display().to_string()))?;
    icee_study::upgrade(&journals.path(name))
}

/// Writes a study to files: its journal there, its sheets beside it. Gives the folder of the sheets.
///
/// # Errors
/// Where something is in the way, or cannot be written.
pub fn write_bundle(to: &Path, bundle: &Bundle) -> Result<PathBuf> {
    icee_study::write_files(to, bundle)
}

/// Reads a study from its journal and the sheets beside it.
///
/// # Errors
/// Where something is missing, or cannot be read.
pub fn read_bundle(journal: &Path) -> Result<Bundle> {
    let mut study = Study::open(journal, Models::default())?;
    study.bundle()
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::{Ask, Content, Create, Sheet, Show};

    #[test]
    fn a_study_of_a_folder_is_opened_anew_where_another_has_taken_its_place() {
        let folder = std::env::temp_dir().join(format!("icee-client-folder-{}", std::process::id()));
        let mut studies = Folder::new(&folder, Face::Terminal);
        let name: StudyName = "bread".parse().unwrap();
        let create = |studies: &mut Folder, sheet: &str| {
            let sheet = Some(Sheet::Content(Content(sheet.as_bytes().to_vec())));
            let direction = Some("max".into());
            studies.call(Some(&name), Create { sheet, direction, ..Create::default() }).unwrap()
        };
        create(&mut studies, "a\n1\n2\n3\n");
        assert_eq!(studies.call(Some(&name), Ask::default()).unwrap().reply.suggestions.len(), 1);
        let mut other = Folder::new(&folder, Face::Terminal);
        other.send(Some(&name), Request::Delete(Default::default())).unwrap();
        create(&mut other, "b\n1\n2\n");
        let summary = studies.call(Some(&name), Show::default()).unwrap().reply;
        assert_eq!((summary.rows, summary.running.len()), (2, 0));
        assert_eq!(studies.call(None, icee_protocol::List {}).unwrap().reply.studies.len(), 1);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

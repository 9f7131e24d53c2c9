//! The studies that are open, as they stand where they are kept: each once for those who change it and once for those who only look, one
//! request at a time. So nobody who changes something waits for somebody's long look.
//!
//! Others may write to a study while it is open here, and its sheet may change: before each request the journal's news are taken in, and
//! where the sheet is another file than before the study is opened anew, as the command line does every time.

use crate::call::now;
use crate::failure::Failure;
use crate::name::StudyName;
use crate::store::{Ledger, Store};
use crate::tokens::Stamp;
use crate::wire::Line;
use axum::http::StatusCode;
use icee_models::study_models;
use icee_study::{Models, Study};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Studies that are kept open; of more, those that were not used for longest are closed.
const MOST_OPEN: usize = 64;
/// Bytes of the sheets of studies that are kept open; in memory they are some twelve times as many.
const MOST_SHEETS: u64 = 64 << 20;

/// How often a study is opened anew because another server has put another in its place meanwhile.
const MOST_REOPENED: usize = 8;

/// An open study.
pub struct Open {
    /// The study.
    pub study: Study,
    /// Whose turn it is, and the keys of its requests.
    pub ledger: Box<dyn Ledger>,
    /// What time it was where the study is kept when the turn of the request began, in seconds since 1970.
    pub now: u64,
    journal: Stamp,
    sheet: Option<Stamp>,
    fingerprint: String,
    _counted: Counted,
}

/// What all open studies come to.
#[derive(Debug, Default)]
struct Opened {
    count: AtomicUsize,
    bytes: AtomicU64,
}

/// A study counts as long as this lives.
struct Counted {
    opened: Arc<Opened>,
    bytes: u64,
}

impl Counted {
    fn new(opened: &Arc<Opened>, bytes: u64) -> Counted {
        opened.count.fetch_add(1, Ordering::Relaxed);
        opened.bytes.fetch_add(bytes, Ordering::Relaxed);
        Counted { opened: Arc::clone(opened), bytes }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.opened.count.fetch_sub(1, Ordering::Relaxed);
        self.opened.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What one comes to a study for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// To look at it.
    Looks,
    /// To change it.
    Changes,
}

/// The place of a study for whoever's turn it is: empty before it was opened, or after something went wrong with it.
pub type Place = OwnedMutexGuard<Option<Open>>;

#[derive(Default)]
struct Slot {
    looks: Arc<Turn<Option<Open>>>,
    changes: Arc<Turn<Option<Open>>>,
    used: u64,
}

impl Slot {
    fn place(&self, what: For) -> &Arc<Turn<Option<Open>>> {
        match what {
            For::Looks => &self.looks,
            For::Changes => &self.changes,
        }
    }

    /// Whether nobody uses it, nor waits for it.
    fn is_idle(&self) -> bool {
        [&self.looks, &self.changes].iter().all(|place| Arc::strong_count(place) == 1)
    }
}

/// Where studies are kept, and those of them that are open.
pub struct Registry {
    store: Box<dyn Store>,
    slots: Mutex<(u64, HashMap<StudyName, Slot>)>,
    opened: Arc<Opened>,
    most_sheets: u64,
    /// Studies in the list of all, by what they looked like from outside then.
    lines: Mutex<HashMap<StudyName, (Stamp, Line)>>,
}

impl Registry {
    /// Nothing open yet.
    pub fn new(store: Box<dyn Store>) -> Registry {
        Registry {
            store,
            slots: Mutex::default(),
            opened: Arc::default(),
            most_sheets: MOST_SHEETS,
            lines: Mutex::default(),
        }
    }

    /// Where studies are kept.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    fn slots(&self) -> MutexGuard<'_, (u64, HashMap<StudyName, Slot>)> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.opened.count.load(Ordering::Relaxed)
    }

    /// Waits for one's turn with a study, first come first served. Whoever gives up waiting has changed nothing.
    pub async fn turn(&self, name: &StudyName, what: For) -> Place {
        let place = {
            let (clock, slots) = &mut *self.slots();
            *clock += 1;
            let slot = slots.entry(name.clone()).or_default();
            slot.used = *clock;
            let place = Arc::clone(slot.place(what));
            while slots.len() > MOST_OPEN || self.opened.bytes.load(Ordering::Relaxed) > self.most_sheets {
                // Those that somebody uses or waits for stay.
                let idle = slots.iter().filter(|(_, slot)| slot.is_idle());
                let Some(oldest) = idle.min_by_key(|(_, slot)| slot.used).map(|(name, _)| name.clone()) else { break };
                slots.remove(&oldest);
            }
            place
        };
        place.lock_owned().await
    }

    /// A study in the list of all. Its sheet is read once for each of its lines at most, and not at all where it is open; whoever has to
    /// read it waits for his `room`.
    ///
    /// # Errors
    /// As [`Registry::with`].
    pub fn line<R>(&self, name: &StudyName, room: impl FnOnce() -> Result<R, Failure>) -> Result<Line, Failure> {
        let stamp = self.require(name)?;
        if let Some((_, line)) = self.lines().get(name).filter(|(seen, _)| *seen == stamp) {
            return Ok(line.clone());
        }
        let looks = self.slots().1.get(name).map(|slot| Arc::clone(&slot.looks));
        let open = looks.and_then(|looks| looks.try_lock_owned().ok());
        let line = match open.filter(|open| open.as_ref().is_some_and(|open| open.study.is_loaded())) {
            Some(mut open) => {
                self.with(name, &mut open, For::Looks, |open| Ok(Line::of(name.as_str(), &mut open.study)))?
            }
            None => {
                let _room = room()?;
                let (home, _) = self.store.seat(name).map_err(Failure::stored)?;
                Line::of(name.as_str(), &mut Study::open_in(&*home, None, Models::default()).map_err(Failure::stored)?)
            }
        };
        self.lines().insert(name.clone(), (stamp, line.clone()));
        Ok(line)
    }

    /// Forgets the lines of all other studies than these, which are in order.
    pub fn forget_lines_but(&self, names: &[StudyName]) {
        self.lines().retain(|name, _| names.binary_search(name).is_ok());
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<StudyName, (Stamp, Line)>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That there is such a study.
    ///
    /// # Errors
    /// Where there is none, with those that there are.
    pub fn require(&self, name: &StudyName) -> Result<Stamp, Failure> {
        if let Some(stamp) = self.store.stamp(name).map_err(Failure::stored)? {
            return Ok(stamp);
        }
        let known = self.store.names().map_err(Failure::stored)?;
        let known: Vec<String> = known.iter().map(|name| name.as_str().into()).collect();
        let others = if known.is_empty() { String::new() } else { format!(" (there are {})", known.join(", ")) };
        let name = name.as_str();
        Err(Failure::missing(format!("there is no study \"{name}\"{others}; create it with POST /api/studies")))
    }

    /// Does some work with a study as it stands now; whoever changes it does so when it is his turn among servers. Where
    /// that fails for reasons that are not the client's, or panics, the study is opened anew by the next request.
    ///
    /// # Errors
    /// Where there is no such study, it cannot be read, or the work says so.
    pub fn with<T>(
        &self,
        name: &StudyName,
        place: &mut Option<Open>,
        what: For,
        work: impl FnOnce(&mut Open) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = place.take();
        let mut open = self.fresh(name, before)?;
        let result = match what {
            For::Changes => self.in_turn(name, &mut open, work),
            For::Looks => work(&mut open),
        };
        if !matches!(&result, Err(failure) if failure.status.is_server_error()) {
            *place = Some(open);
        }
        result
    }

    fn fresh(&self, name: &StudyName, before: Option<Open>) -> Result<Open, Failure> {
        let journal = self.require(name)?;
        if let Some(mut open) = before
            && open.journal.is_same_file(journal)
            && open.sheet == Stamp::of(open.study.pool())
            && open.study.refresh().is_ok()
            // Where others have taken in another sheet, it may lie elsewhere.
            && open.study.sheet_fingerprint() == open.fingerprint
        {
            // What is left of a request that failed is not for the next one.
            open.study.take_notes();
            return Ok(open);
        }
        let models = study_models().map_err(|error| Failure::internal(error.to_string()))?;
        // Whatever is wrong with the files here, the client has not done it.
        let (home, ledger) = self.store.seat(name).map_err(Failure::stored)?;
        let study = Study::open_in(&*home, None, models).map_err(Failure::stored)?;
        let (sheet, fingerprint) = (Stamp::of(study.pool()), study.sheet_fingerprint().to_owned());
        let _counted = Counted::new(&self.opened, study.sheet_bytes());
        Ok(Open { study, ledger, now: now(), journal, sheet, fingerprint, _counted })
    }

    /// Does some work when it is one's turn among servers, with all that others did taken in. Where they have put another sheet or
    /// another study in its place while one waited, that is opened first: what was read before is not the study any more.
    fn in_turn<T>(
        &self,
        name: &StudyName,
        open: &mut Open,
        work: impl FnOnce(&mut Open) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut reopened = 0;
        open.now = loop {
            if let Some(now) = open.ledger.begin_turn().map_err(Failure::stored)? {
                break now;
            }
            reopened += 1;
            if reopened > MOST_REOPENED {
                let words = "others replace the study's sheet all the time; try again in a moment";
                return Err(Failure::busy(StatusCode::SERVICE_UNAVAILABLE, words));
            }
            *open = self.fresh(name, None)?;
        };
        let ready = open.study.refresh().and_then(|()| open.ledger.settle(open.study.lines()));
        let result = ready.map_err(Failure::stored).and_then(|()| work(open));
        open.ledger.end_turn();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Place as Stored;
    use icee_study::{Repeat, StudyOptions};
    use std::time::Duration;
    use tokio::time::timeout;

    /// Studies of sheets of 25 bytes in a folder of their own.
    fn studies(label: &str, names: [&str; 3]) -> (std::path::PathBuf, Registry, [StudyName; 3]) {
        let folder = std::env::temp_dir().join(format!("icee-registry-{label}-{}", std::process::id()));
        let store = Stored::Folder(folder.clone()).open().unwrap();
        let names = names.map(|name| {
            let name = StudyName::new(name).unwrap();
            let pool = name.file(&folder, "csv");
            std::fs::write(&pool, "heat,flour\n1,rye\n2,wheat\n").unwrap();
            let options = StudyOptions { pool, ..StudyOptions::default() };
            Study::create(&name.journal(&folder), &options, Models::default()).unwrap();
            name
        });
        (folder, Registry::new(store), names)
    }

    #[tokio::test]
    async fn who_looks_keeps_nobody_from_changing_and_sees_what_was_changed() {
        let (folder, registry, [bread, ..]) = studies("looks", ["a", "b", "c"]);
        let told = |open: &mut Open| Ok(open.study.summary().told.len());
        let mut looks = registry.turn(&bread, For::Looks).await;
        assert_eq!(registry.with(&bread, &mut looks, For::Looks, told).unwrap(), 0);
        let changes = timeout(Duration::from_secs(60), registry.turn(&bread, For::Changes)).await;
        let mut changes = changes.unwrap();
        let tell = |open: &mut Open| Ok(open.study.tell("1", 2.0, Repeat::Refuse)?.new);
        assert_eq!(registry.with(&bread, &mut changes, For::Changes, tell).unwrap(), 1);
        assert_eq!(registry.with(&bread, &mut looks, For::Looks, told).unwrap(), 1);
        drop((looks, changes, registry));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn studies_of_many_bytes_are_closed_when_nobody_is_at_them() {
        let (folder, registry, [a, b, c]) = studies("bytes", ["a", "b", "c"]);
        let registry = Registry { most_sheets: 60, ..registry };
        let look = async |name: &StudyName| {
            let mut place = registry.turn(name, For::Looks).await;
            registry.with(name, &mut place, For::Looks, |_| Ok(())).unwrap();
            place
        };
        let at_a = look(&a).await;
        drop((look(&b).await, look(&c).await));
        assert_eq!(registry.count(), 3);
        // The one that somebody is at stays, and of the others the latest.
        drop(look(&c).await);
        assert_eq!(registry.count(), 2);
        drop(at_a);
        drop(look(&a).await);
        assert_eq!((registry.count(), registry.opened.bytes.load(Ordering::Relaxed)), (2, 2 * 25));
        drop(registry);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

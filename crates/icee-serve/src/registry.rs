//! The studies that are open: each once for requests that change it and once for those that only look, one request at a
//! time. So a long look does not delay changes of a study.
//!
//! Others may write to a study while it is open here: before each request, what is new in its journal is read.

use crate::clock::{self, Clock};
use crate::failure::Failure;
use crate::handle::models;
use crate::store::{Stamp, Store, Turns};
use icee_protocol::{Line, Problem, StudyName};
use icee_study::{Models, Study, place};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Studies that are kept open; of more, those that were not used for longest are closed.
const MOST_OPEN: usize = 64;
/// Bytes of the sheets of studies that are kept open; in memory they are some twelve times as many.
const MOST_SHEETS: u64 = 64 << 20;

/// How often a study is opened again because another one has taken its name meanwhile.
const MOST_REOPENED: usize = 8;

/// An open study.
pub struct Open {
    /// The study.
    pub study: Study,
    /// The time where the study is kept when the request began, in seconds since 1970.
    pub now: u64,
    turns: Box<dyn Turns>,
    journal: Stamp,
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

/// What a request does with a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It looks at it.
    Look,
    /// It changes it.
    Change,
}

/// A study for the request whose turn it is: none before it was opened, or after something went wrong with it.
pub type Taken = OwnedMutexGuard<Option<Open>>;

#[derive(Default)]
struct Slot {
    looks: Arc<Turn<Option<Open>>>,
    changes: Arc<Turn<Option<Open>>>,
    used: u64,
}

impl Slot {
    fn of(&self, what: Purpose) -> &Arc<Turn<Option<Open>>> {
        match what {
            Purpose::Look => &self.looks,
            Purpose::Change => &self.changes,
        }
    }

    /// Whether no request uses it or waits for it.
    fn is_idle(&self) -> bool {
        [&self.looks, &self.changes].iter().all(|place| Arc::strong_count(place) == 1)
    }
}

/// Where studies are kept, and those of them that are open.
pub struct Registry {
    store: Box<dyn Store>,
    /// A clock that counts instead of this machine's and the store's.
    clock: OnceLock<Clock>,
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
            clock: OnceLock::new(),
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

    /// From now on this clock counts, if there is none yet.
    pub fn use_clock(&self, clock: Clock) {
        let _ = self.clock.set(clock);
    }

    /// What time it is here, in seconds since 1970.
    pub fn now(&self) -> u64 {
        self.clock.get().map_or_else(clock::now, |clock| clock())
    }

    fn slots(&self) -> MutexGuard<'_, (u64, HashMap<StudyName, Slot>)> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.opened.count.load(Ordering::Relaxed)
    }

    /// Waits for a turn with a study, first come first served. A request that gives up waiting has changed nothing.
    pub async fn turn(&self, name: &StudyName, what: Purpose) -> Taken {
        let place = {
            let (clock, slots) = &mut *self.slots();
            *clock += 1;
            let slot = slots.entry(name.clone()).or_default();
            slot.used = *clock;
            let place = Arc::clone(slot.of(what));
            while slots.len() > MOST_OPEN || self.opened.bytes.load(Ordering::Relaxed) > self.most_sheets {
                // Those that are used or waited for stay.
                let idle = slots.iter().filter(|(_, slot)| slot.is_idle());
                let Some(oldest) = idle.min_by_key(|(_, slot)| slot.used).map(|(name, _)| name.clone()) else { break };
                slots.remove(&oldest);
            }
            place
        };
        place.lock_owned().await
    }

    /// A study in the list of all. Its sheet is read once for each of its lines at most, and not at all where it is
    /// open; reading it waits for `room`.
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
                self.with(name, &mut open, Purpose::Look, |open| Ok(place::line(name, &mut open.study)))?
            }
            None => {
                let _room = room()?;
                let home = self.store.home(name).map_err(Failure::stored)?;
                let mut study = Study::open_in(&*home, Models::default()).map_err(Failure::stored)?;
                place::line(name, &mut study)
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
        // This says which there are.
        place::require(&*self.store, name, None).map_err(Failure::stored)?;
        Err(Problem::NoStudy { name: name.to_string(), place: None, known: vec![] }.into())
    }

    /// Does some work with a study as it stands now; a change waits for its turn among servers. Where that fails for
    /// reasons that are not the client's, or panics, the next request opens the study again.
    ///
    /// # Errors
    /// Where there is no such study, it cannot be read, or the work says so.
    pub fn with<T>(
        &self,
        name: &StudyName,
        slot: &mut Option<Open>,
        what: Purpose,
        work: impl FnOnce(&mut Open) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = slot.take();
        let mut open = self.fresh(name, before)?;
        let result = match what {
            Purpose::Change => self.in_turn(name, &mut open, work),
            Purpose::Look => work(&mut open),
        };
        if !matches!(&result, Err(failure) if failure.status.is_server_error()) {
            *slot = Some(open);
        }
        result
    }

    fn fresh(&self, name: &StudyName, before: Option<Open>) -> Result<Open, Failure> {
        let journal = self.require(name)?;
        if let Some(mut open) = before
            && open.journal.is_same_file(journal)
            && open.study.refresh().is_ok()
        {
            return Ok(Open { now: self.now(), ..open });
        }
        // Whatever is wrong with what is stored, the client has not caused it.
        let (home, turns) = self.store.open(name).map_err(Failure::stored)?;
        let study = Study::open_in(&*home, models()?).map_err(Failure::stored)?;
        let _counted = Counted::new(&self.opened, study.sheet_bytes());
        Ok(Open { study, turns, now: self.now(), journal, _counted })
    }

    /// Does some work in a turn among servers. Where another study has taken the name meanwhile, that is opened first.
    fn in_turn<T>(
        &self,
        name: &StudyName,
        open: &mut Open,
        work: impl FnOnce(&mut Open) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut reopened = 0;
        open.now = loop {
            if let Some(now) = open.turns.begin().map_err(Failure::stored)? {
                break self.clock.get().map_or(now, |clock| clock());
            }
            reopened += 1;
            if reopened > MOST_REOPENED {
                return Err(Problem::Busy { what: "Others replace the study again and again".into() }.into());
            }
            *open = self.fresh(name, None)?;
        };
        let result = work(open);
        open.turns.end();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Place as Stored;
    use icee_protocol::{Amount, Content, Create, Reply, Request, RowId, Sheet, Show, Tell};
    use icee_report::study::StudyPages;
    use icee_study::Context;
    use std::time::Duration;
    use tokio::time::timeout;

    const CONTEXT: Context<'static> =
        Context { now: 1, who: None, key: None, pages: &StudyPages, reads_files: false, unpacked: 1 << 20 };

    /// Studies of sheets of 25 bytes in a folder of their own.
    fn studies(label: &str, names: [&str; 3]) -> (std::path::PathBuf, Registry, [StudyName; 3]) {
        let folder = std::env::temp_dir().join(format!("icee-registry-{label}-{}", std::process::id()));
        let store = Stored::Folder(folder.clone()).open().unwrap();
        let names = names.map(|name| {
            let name: StudyName = name.parse().unwrap();
            let create = Create {
                name: Some(name.clone()),
                sheet: Some(Sheet::Content(Content(b"heat,flour\n1,rye\n2,wheat\n".to_vec()))),
                direction: Some("max".into()),
                ..Create::default()
            };
            place::create(&*store, create, Models::default(), &CONTEXT).unwrap();
            name
        });
        (folder, Registry::new(store), names)
    }

    fn done(name: &StudyName, open: &mut Open, request: Request) -> Result<Reply, Failure> {
        Ok(icee_study::handle(&mut open.study, name, request, &CONTEXT)?.0)
    }

    #[tokio::test]
    async fn a_look_does_not_delay_changes_and_sees_them() {
        let (folder, registry, [bread, ..]) = studies("looks", ["a", "b", "c"]);
        let told = |open: &mut Open| match done(&bread, open, Show::default().into())? {
            Reply::Show(summary) => Ok(summary.told.len()),
            other => panic!("{other:?}"),
        };
        let mut looks = registry.turn(&bread, Purpose::Look).await;
        assert_eq!(registry.with(&bread, &mut looks, Purpose::Look, told).unwrap(), 0);
        let changes = timeout(Duration::from_secs(60), registry.turn(&bread, Purpose::Change)).await;
        let mut changes = changes.unwrap();
        let tell = Tell { row: Some(RowId::Number(1)), value: Some(Amount::Number(2.0)), ..Tell::default() };
        let tell = |open: &mut Open| done(&bread, open, tell.into());
        registry.with(&bread, &mut changes, Purpose::Change, tell).unwrap();
        assert_eq!(registry.with(&bread, &mut looks, Purpose::Look, told).unwrap(), 1);
        drop((looks, changes, registry));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn studies_of_many_bytes_are_closed_when_no_request_uses_them() {
        let (folder, registry, [a, b, c]) = studies("bytes", ["a", "b", "c"]);
        let registry = Registry { most_sheets: 60, ..registry };
        let look = async |name: &StudyName| {
            let mut slot = registry.turn(name, Purpose::Look).await;
            registry.with(name, &mut slot, Purpose::Look, |_| Ok(())).unwrap();
            slot
        };
        let at_a = look(&a).await;
        drop((look(&b).await, look(&c).await));
        assert_eq!(registry.count(), 3);
        // The one that is used stays, and of the others the latest.
        drop(look(&c).await);
        assert_eq!(registry.count(), 2);
        drop(at_a);
        drop(look(&a).await);
        assert_eq!((registry.count(), registry.opened.bytes.load(Ordering::Relaxed)), (2, 2 * 25));
        drop(registry);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! The studies that are open: each once, one request at a time, and as it stands where it is kept.
//!
//! Others may write to a study while it is open here, and its sheet may change: before each request the journal's news are taken in, and
//! where the sheet is another file than before the study is opened anew, as the command line does every time.

use crate::failure::Failure;
use crate::name::StudyName;
use crate::store::{Ledger, Store};
use crate::tokens::Stamp;
use icee_models::study_models;
use icee_study::Study;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Studies that are kept open; of more, those that were not used for longest are closed.
const MOST_OPEN: usize = 64;

/// An open study.
pub struct Open {
    /// The study.
    pub study: Study,
    /// Whose turn it is, and the keys of its requests.
    pub ledger: Box<dyn Ledger>,
    journal: Stamp,
    sheet: Option<Stamp>,
}

/// The place of a study for whoever's turn it is: empty before it was opened, or after something went wrong with it.
pub type Place = OwnedMutexGuard<Option<Open>>;

struct Slot {
    place: Arc<Turn<Option<Open>>>,
    used: u64,
}

/// Where studies are kept, and those of them that are open.
pub struct Registry {
    store: Box<dyn Store>,
    slots: Mutex<(u64, HashMap<StudyName, Slot>)>,
}

impl Registry {
    /// Nothing open yet.
    pub fn new(store: Box<dyn Store>) -> Registry {
        Registry { store, slots: Mutex::default() }
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
        self.slots().1.len()
    }

    /// Waits for one's turn with a study, first come first served. Whoever gives up waiting has changed nothing.
    pub async fn turn(&self, name: &StudyName) -> Place {
        let place = {
            let (clock, slots) = &mut *self.slots();
            *clock += 1;
            let slot = slots.entry(name.clone()).or_insert_with(|| Slot { place: Arc::default(), used: 0 });
            slot.used = *clock;
            let place = Arc::clone(&slot.place);
            while slots.len() > MOST_OPEN {
                // Those that somebody uses or waits for stay.
                let idle = slots.iter().filter(|(_, slot)| Arc::strong_count(&slot.place) == 1);
                let Some(oldest) = idle.min_by_key(|(_, slot)| slot.used).map(|(name, _)| name.clone()) else { break };
                slots.remove(&oldest);
            }
            place
        };
        place.lock_owned().await
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

    /// Does some work with a study as it stands now; whoever `writes` does so when it is his turn among servers. Where
    /// that fails for reasons that are not the client's, or panics, the study is opened anew by the next request.
    ///
    /// # Errors
    /// Where there is no such study, it cannot be read, or the work says so.
    pub fn with<T>(
        &self,
        name: &StudyName,
        place: &mut Option<Open>,
        writes: bool,
        work: impl FnOnce(&mut Open) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = place.take();
        let mut open = self.fresh(name, before)?;
        let result = if writes { in_turn(&mut open, work) } else { work(&mut open) };
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
        {
            // What is left of a request that failed is not for the next one.
            open.study.take_notes();
            return Ok(open);
        }
        let models = study_models().map_err(|error| Failure::internal(error.to_string()))?;
        // Whatever is wrong with the files here, the client has not done it.
        let (home, ledger) = self.store.seat(name).map_err(Failure::stored)?;
        let study = Study::open_in(&*home, None, models).map_err(Failure::stored)?;
        let sheet = Stamp::of(study.pool());
        Ok(Open { study, ledger, journal, sheet })
    }
}

/// Does some work when it is one's turn among servers, with all that others did taken in.
fn in_turn<T>(open: &mut Open, work: impl FnOnce(&mut Open) -> Result<T, Failure>) -> Result<T, Failure> {
    open.ledger.begin_turn().map_err(Failure::stored)?;
    let ready = open.study.refresh().and_then(|()| open.ledger.settle(open.study.lines()));
    let result = ready.map_err(Failure::stored).and_then(|()| work(open));
    open.ledger.end_turn();
    result
}

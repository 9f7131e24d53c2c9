//! Quotas on shared resources: requests in progress, incoming bodies, streams,
//! games. One token gets at most half of each, so that it does not keep all others out.

use crate::failure::Failure;
use crate::limits::Limits;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// Requests in progress, including those that wait for their turn.
    Requests,
    /// Large bodies, as long as their requests last.
    Bodies,
    /// Sheets that are parsed.
    Sheets,
    /// Streams of events.
    Streams,
    /// Games of rooms.
    Games,
}

impl What {
    /// Its name in errors.
    fn name(self) -> &'static str {
        match self {
            What::Requests => "requests in progress",
            What::Bodies => "large bodies",
            What::Sheets => "sheets",
            What::Streams => "streams of events",
            What::Games => "games",
        }
    }
}

/// A permit, held as long as this lives.
#[derive(Debug)]
pub struct Held {
    _permit: OwnedSemaphorePermit,
    _share: Option<Counted<(What, String)>>,
}

/// All quotas.
#[derive(Debug)]
pub struct Quotas {
    limits: Limits,
    free: [(What, Arc<Semaphore>); 5],
    shares: Counts<(What, String)>,
}

impl Quotas {
    /// As many as the limits allow.
    pub fn new(limits: &Limits) -> Quotas {
        let all = [What::Requests, What::Bodies, What::Sheets, What::Streams, What::Games];
        let free = all.map(|what| (what, Arc::new(Semaphore::new(most(limits, what)))));
        Quotas { limits: *limits, free, shares: Counts::default() }
    }

    /// How many are taken.
    pub fn taken(&self, what: What) -> usize {
        most(&self.limits, what).saturating_sub(self.free(what).available_permits())
    }

    /// Takes one now; without a token there is no share per token.
    ///
    /// # Errors
    /// If there is none.
    pub fn take(&self, what: What, token: Option<&str>) -> Result<Held, Failure> {
        let _share = self.share(what, token)?;
        let full = |_| {
            Failure::busy(match what {
                What::Requests => "The server is busy. Try again in a moment.".to_owned(),
                _ => {
                    format!("{} {} is the most at once. Try again in a moment.", most(&self.limits, what), what.name())
                }
            })
        };
        let _permit = Arc::clone(self.free(what)).try_acquire_owned().map_err(full)?;
        Ok(Held { _permit, _share })
    }

    /// Takes one as soon as one is free.
    ///
    /// # Errors
    /// If the token has its share already.
    pub async fn wait(&self, what: What, token: Option<&str>) -> Result<Held, Failure> {
        let _share = self.share(what, token)?;
        // The semaphore is never closed.
        let closed = |_| Failure::internal("a semaphore was closed");
        let _permit = Arc::clone(self.free(what)).acquire_owned().await.map_err(closed)?;
        Ok(Held { _permit, _share })
    }

    /// The same on a blocking thread.
    ///
    /// # Errors
    /// As [`Quotas::wait`].
    pub fn wait_here(&self, what: What) -> Result<Held, Failure> {
        Handle::current().block_on(self.wait(what, None))
    }

    fn free(&self, what: What) -> &Arc<Semaphore> {
        // The array holds all of them, in this order.
        &self.free[what as usize].1
    }

    fn share(&self, what: What, token: Option<&str>) -> Result<Option<Counted<(What, String)>>, Failure> {
        let Some(token) = token else { return Ok(None) };
        let most = most(&self.limits, what).div_ceil(2);
        let full = || {
            Failure::busy(format!(
                "The token \"{token}\" has {most} {} already, its share. Try again in a moment.",
                what.name()
            ))
        };
        self.shares.enter((what, token.to_owned()), most).map(Some).ok_or_else(full)
    }
}

fn most(limits: &Limits, what: What) -> usize {
    match what {
        What::Requests => limits.concurrent,
        What::Bodies => limits.bodies,
        What::Sheets => limits.sheets,
        What::Streams => limits.streams,
        What::Games => limits.games,
    }
}

/// Counts by key; keys without a count are not kept.
#[derive(Debug)]
pub struct Counts<K>(Arc<Mutex<HashMap<K, usize>>>);

/// One count, held as long as this lives.
#[derive(Debug)]
pub struct Counted<K: Eq + Hash> {
    key: K,
    all: Counts<K>,
}

impl<K> Default for Counts<K> {
    fn default() -> Counts<K> {
        Counts(Arc::default())
    }
}

impl<K> Clone for Counts<K> {
    fn clone(&self) -> Counts<K> {
        Counts(Arc::clone(&self.0))
    }
}

impl<K: Eq + Hash + Clone> Counts<K> {
    /// Counts one more; none if the key has too many already.
    pub fn enter(&self, key: K, most: usize) -> Option<Counted<K>> {
        let mut counts = self.counts();
        let count = counts.get(&key).copied().unwrap_or_default();
        (count < most).then(|| {
            counts.insert(key.clone(), count + 1);
            Counted { key, all: self.clone() }
        })
    }
}

impl<K> Counts<K> {
    fn counts(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many keys have a count.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.counts().len()
    }
}

impl<K: Eq + Hash> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut counts = self.all.counts();
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_half_and_leaves_the_rest_to_others() {
        let quotas = Quotas::new(&Limits { concurrent: 5, ..Limits::default() });
        let take = |token: Option<&str>| quotas.take(What::Requests, token);
        let adas: Vec<_> = (0..3).map(|_| take(Some("ada")).unwrap()).collect();
        assert!(take(Some("ada")).unwrap_err().words().contains("The token \"ada\" has 3 requests"));
        let bobs: Vec<_> = (0..2).map(|_| take(Some("bob")).unwrap()).collect();
        let full = take(Some("carl")).unwrap_err();
        assert!(full.words().contains("busy") && full.retry.is_some() && quotas.taken(What::Requests) == 5);
        // An unavailable permit costs no share.
        drop((adas, bobs));
        let all: Vec<_> = (0..5).map(|_| take(None).unwrap()).collect();
        assert!(take(None).is_err() && take(Some("carl")).is_err());
        drop(all);
        assert!((0..3).map(|_| take(Some("carl"))).collect::<Vec<_>>().iter().all(Result::is_ok));
        for (at, what) in
            [What::Requests, What::Bodies, What::Sheets, What::Streams, What::Games].into_iter().enumerate()
        {
            assert_eq!(quotas.free[at].0, what);
            assert_eq!(what as usize, at);
        }
    }
}

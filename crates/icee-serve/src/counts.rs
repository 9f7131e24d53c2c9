//! How many of something each has: connections of an address, requests of a token.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts by who has them; of those who have none nothing is remembered.
#[derive(Debug)]
pub struct Counts<K>(Arc<Mutex<HashMap<K, usize>>>);

/// One that counts as long as this lives.
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
    /// Counts one more; none where somebody has so many already.
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

    /// How many have any.
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

//! How much one may ask of the server: bytes, time, requests at once, requests of one client.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Clients that are remembered; those who have asked for nothing lately are forgotten first.
const MOST_CLIENTS: usize = 10_000;

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// How long an answer may take. The work itself goes on, and its answer is kept for who has sent an `Idempotency-Key`.
    pub time: Duration,
    /// Connections that are open at once; whoever comes then has to wait.
    pub connections: usize,
    /// Connections of one address, but for those of this machine; more are hung up on.
    pub address: usize,
    /// How long a client may read nothing of its answer.
    pub write: Duration,
    /// Requests that are worked on at once, those that wait for their turn among them.
    pub concurrent: usize,
    /// Streams of events that are open at once.
    pub streams: usize,
    /// Games of rooms that are played at once; each takes a core for seconds.
    pub games: usize,
    /// Requests of one client a second, in the long run.
    pub rate: f64,
    /// How many it may send at once after a pause.
    pub burst: f64,
    /// How long requests may go on when the server is to stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 32 << 20,
            time: Duration::from_secs(60),
            connections: 1024,
            address: 256,
            write: Duration::from_secs(30),
            concurrent: 256,
            streams: 128,
            games: 4,
            rate: 50.0,
            burst: 200.0,
            grace: Duration::from_secs(30),
        }
    }
}

/// How much each client may still ask for: a bucket that fills by and by.
#[derive(Debug, Default)]
pub struct Rates {
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Rates {
    /// Whether a client may ask once more at this moment; if so, it has.
    pub fn allow(&self, limits: &Limits, client: &str, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |(left, at): (f64, Instant)| {
            (left + limits.rate * now.saturating_duration_since(at).as_secs_f64()).min(limits.burst)
        };
        if buckets.len() >= MOST_CLIENTS {
            // A full bucket is as good as none.
            buckets.retain(|_, bucket| filled(*bucket) < limits.burst);
        }
        let left = buckets.get(client).map_or(limits.burst, |bucket| filled(*bucket));
        let allowed = left >= 1.0;
        buckets.insert(client.to_owned(), (if allowed { left - 1.0 } else { left }, now));
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_runs_dry_and_fills_again() {
        let limits = Limits { rate: 2.0, burst: 3.0, ..Limits::default() };
        let (rates, start) = (Rates::default(), Instant::now());
        let at = |seconds: f64, client: &str| rates.allow(&limits, client, start + Duration::from_secs_f64(seconds));
        assert!(at(0.0, "a") && at(0.0, "a") && at(0.0, "a") && !at(0.0, "a"));
        assert!(at(0.0, "b"), "others are not concerned");
        assert!(!at(0.4, "a") && at(0.6, "a") && !at(0.7, "a"));
        assert!(at(9.0, "a") && at(9.0, "a") && at(9.0, "a") && !at(9.0, "a"), "no more than a burst is saved up");
    }
}

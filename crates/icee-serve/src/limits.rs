//! How much one may ask of the server: bytes, time, requests at once, requests of one client.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Clients that are remembered; those who have asked for nothing lately are forgotten first.
const MOST_CLIENTS: usize = 10_000;

/// How many clients one address may be, as far as rates go: a network behind one address, or a proxy.
const CLIENTS: f64 = 20.0;
/// How long it may take to send an answer when the server is to stop.
const SENDING: Duration = Duration::from_secs(5);
/// The longest that one is told to wait, in seconds.
const LONGEST_WAIT: f64 = 3600.0;

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// How long an answer may take. The work itself goes on; sent again with its `Idempotency-Key`, the request gets
    /// its answer.
    pub time: Duration,
    /// Connections that are open at once; more have to wait.
    pub connections: usize,
    /// Connections of one address, but for those of this machine; more are hung up on.
    pub address: usize,
    /// How long a client may read nothing of its answer.
    pub write: Duration,
    /// Requests that are worked on at once, those that wait for their turn among them.
    pub concurrent: usize,
    /// Bodies that are not small and come in at once.
    pub bodies: usize,
    /// Sheets that are taken apart at once.
    pub sheets: usize,
    /// Streams of events that are open at once.
    pub streams: usize,
    /// Games of rooms that are played at once; each takes a core for seconds.
    pub games: usize,
    /// Requests of one client (a token; an address without one) a second, in the long run.
    pub rate: f64,
    /// How many it may send at once after a pause.
    pub burst: f64,
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
            bodies: 8,
            sheets: 2,
            streams: 128,
            games: 4,
            rate: 50.0,
            burst: 200.0,
        }
    }
}

impl Limits {
    /// How long requests may go on when the server is to stop: as long as any may take, and until its answer has been
    /// sent.
    pub fn grace(&self) -> Duration {
        self.time + SENDING
    }

    /// What a client may ask for.
    pub fn of_client(&self) -> Rate {
        Rate { second: self.rate, burst: self.burst }
    }

    /// What may come from one address before anybody looks who it is. There may be many clients behind it.
    pub fn of_address(&self) -> Rate {
        Rate { second: CLIENTS * self.rate, burst: CLIENTS * self.burst }
    }
}

/// How many requests may come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// A second, in the long run.
    pub second: f64,
    /// At once, after a pause.
    pub burst: f64,
}

/// How much each client may still ask for: a bucket that fills by and by.
#[derive(Debug, Default)]
pub struct Rates {
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Rates {
    /// Whether a client may send another request at this moment; if so, that counts.
    ///
    /// # Errors
    /// Where not: the time after which it may.
    pub fn take(&self, rate: Rate, client: &str, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |(left, at): (f64, Instant)| {
            (left + rate.second * now.saturating_duration_since(at).as_secs_f64()).min(rate.burst)
        };
        if buckets.len() >= MOST_CLIENTS {
            // A full bucket is as good as none.
            buckets.retain(|_, bucket| filled(*bucket) < rate.burst);
        }
        let left = buckets.get(client).map_or(rate.burst, |bucket| filled(*bucket));
        let allowed = left >= 1.0;
        buckets.insert(client.to_owned(), (if allowed { left - 1.0 } else { left }, now));
        let wait = ((1.0 - left) / rate.second).clamp(0.0, LONGEST_WAIT);
        if allowed { Ok(()) } else { Err(Duration::from_secs_f64(wait)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_runs_dry_and_fills_again() {
        let (rates, start) = (Rates::default(), Instant::now());
        let rate = Rate { second: 2.0, burst: 3.0 };
        let at =
            |seconds: f64, client: &str| rates.take(rate, client, start + Duration::from_secs_f64(seconds)).is_ok();
        assert!(at(0.0, "a") && at(0.0, "a") && at(0.0, "a") && !at(0.0, "a"));
        assert!(at(0.0, "b"), "others are not concerned");
        assert!(!at(0.4, "a") && at(0.6, "a") && !at(0.7, "a"));
        assert!(at(9.0, "a") && at(9.0, "a") && at(9.0, "a") && !at(9.0, "a"), "no more than a burst is saved up");
    }

    #[test]
    fn one_is_told_when_to_come_again() {
        let (rates, start) = (Rates::default(), Instant::now());
        let slow = Rate { second: 0.1, burst: 1.0 };
        rates.take(slow, "a", start).unwrap();
        let wait = rates.take(slow, "a", start + Duration::from_secs(4)).unwrap_err();
        assert!((wait.as_secs_f64() - 6.0).abs() < 1e-6, "{wait:?}");
        assert!(rates.take(slow, "a", start + Duration::from_secs(4) + wait).is_ok());
    }
}

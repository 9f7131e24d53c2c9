//! The limits of the server: bytes, time, requests at once, requests of one client.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Clients that are remembered; those without recent requests are forgotten first.
const MOST_CLIENTS: usize = 10_000;

/// How many clients one address may be, for rates: a network behind one address, or a proxy.
const CLIENTS: f64 = 20.0;
/// How long it may take to send an answer when the server is to stop.
const SENDING: Duration = Duration::from_secs(5);
/// The longest `Retry-After`, in seconds.
const LONGEST_WAIT: f64 = 3600.0;

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// How long an answer may take. The work itself goes on; if the request is sent again with its `Idempotency-Key`,
    /// it gets the answer.
    pub time: Duration,
    /// Connections that are open at once; more have to wait.
    pub connections: usize,
    /// Connections of one address, except for those of this machine; more are closed.
    pub address: usize,
    /// How long a client may leave its answer unread.
    pub write: Duration,
    /// Requests in progress at once, including those that wait for their turn.
    pub concurrent: usize,
    /// Large bodies that arrive at once.
    pub bodies: usize,
    /// Sheets that are parsed at once.
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

    /// The rate of a client.
    pub fn of_client(&self) -> Rate {
        Rate { second: self.rate, burst: self.burst }
    }

    /// The rate of an address, before its clients are known. There may be many behind it.
    pub fn of_address(&self) -> Rate {
        Rate { second: CLIENTS * self.rate, burst: CLIENTS * self.burst }
    }
}

/// A rate of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// A second, in the long run.
    pub second: f64,
    /// At once, after a pause.
    pub burst: f64,
}

/// The remaining requests of each client: a bucket that fills over time.
#[derive(Debug, Default)]
pub struct Rates {
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Rates {
    /// Whether a client may send another request at this moment; if so, it is counted.
    ///
    /// # Errors
    /// If not: the time after which it may.
    pub fn take(&self, rate: Rate, client: &str, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |(left, at): (f64, Instant)| {
            (left + rate.second * now.saturating_duration_since(at).as_secs_f64()).min(rate.burst)
        };
        if buckets.len() >= MOST_CLIENTS {
            // A full bucket need not be kept.
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

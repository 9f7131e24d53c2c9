//! The time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time, in seconds since 1970.
pub type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// Seconds since 1970, by this machine's clock.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

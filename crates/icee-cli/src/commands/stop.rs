//! Ctrl-C, `kill` and a closed terminal: the first saves and stops training after the current step, the second ends the program.

use crate::terminal::say;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

#[cfg(unix)]
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// What the first signal sets.
pub fn flag() -> &'static AtomicBool {
    &STOP
}

/// From here on signals no longer end the program at once.
pub fn on_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored_signals(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        for signal in SIGNALS.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
            // In this order: at the first signal the flag is not set yet.
            let second = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&STOP));
            if let Err(error) = second.and_then(|_| flag::register(signal, Arc::clone(&STOP))) {
                say(format_args!("signal {signal} will not save: {error}"));
            }
        }
    });
}

/// Whether a stop was requested.
pub fn was_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The signals that whoever started us wants ignored (`nohup`, a shell's `&`), a bit each; only Linux says.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_ignores_stays_ignored() {
        let ignored = ignored_signals("Name:\ticee\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert_eq!((ignored & 1, ignored >> (SIGTERM - 1) & 1), (1, 0), "SIGHUP is number 1");
        assert_eq!(ignored_signals(""), 0);
    }
}

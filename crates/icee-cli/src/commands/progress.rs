//! Progress of a long command, on stderr: a bar on a terminal, plain lines now and then where `TERM=dumb`.

use crate::terminal::{printable, say};
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Display;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a plain line is written.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// The bar, and the same above a picture.
const BAR: &str = "{bar:30} {pos}/{len} {msg}";
const WITH_PICTURE: &str = "{bar:30} {pos}/{len} {msg}\n{prefix}";

/// What is shown where there is no terminal, in a log or a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// The same plain lines: of what takes hours.
    Lines,
    /// Nothing.
    Nothing,
}

/// How far a command has come. Threads may share it.
pub struct Progress {
    /// What is counted.
    what: &'static str,
    /// Where it began, and when.
    start: (u64, Instant),
    /// When it will be stopped, however far it is.
    limit: Option<Duration>,
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    /// The time of the last line.
    Lines(Mutex<Instant>),
    Nothing,
}

impl Progress {
    /// Nothing is shown before the first step.
    pub fn new(what: &'static str, from: u64, elsewhere: Elsewhere) -> Progress {
        let now = Instant::now();
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let shown = match (std::io::stderr().is_terminal(), dumb, elsewhere) {
            (true, false, _) => Shown::Bar(bar()),
            (true, true, _) | (false, _, Elsewhere::Lines) => Shown::Lines(Mutex::new(now)),
            (false, _, Elsewhere::Nothing) => Shown::Nothing,
        };
        Progress { what, start: (from, now), limit: None, shown }
    }

    /// The same for a command that ends after some minutes, however far it is.
    pub fn within(mut self, minutes: Option<f64>) -> Progress {
        self.limit = minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
        self
    }

    /// So many of all are done.
    pub fn at(&self, done: u64, all: u64, message: impl Display) {
        let (from, since) = self.start;
        let left = || in_words(left(done.saturating_sub(from), all.saturating_sub(from), since.elapsed(), self.limit));
        match &self.shown {
            Shown::Bar(bar) => {
                bar.set_length(all);
                bar.set_message(format!("{message} {} left", left()));
                bar.set_position(done);
            }
            Shown::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() > PLAIN_EVERY || done == all {
                    *last = Instant::now();
                    say(format_args!("{} {done}/{all} {message} {} left", self.what, left()));
                }
            }
            Shown::Nothing => {}
        }
    }

    /// A line that stays, or several.
    pub fn line(&self, line: &str) {
        match &self.shown {
            // Above the bar, which would be drawn over it otherwise.
            Shown::Bar(bar) => line.split('\n').for_each(|line| bar.println(printable(line))),
            Shown::Lines(_) => say(line),
            Shown::Nothing => {}
        }
    }

    /// A picture below the bar, in place of the last; nothing where there is no bar.
    pub fn picture(&self, picture: impl FnOnce() -> Vec<String>) {
        if let Shown::Bar(bar) = &self.shown {
            if let Ok(style) = ProgressStyle::with_template(WITH_PICTURE) {
                bar.set_style(style);
            }
            bar.set_prefix(picture().join("\n"));
        }
    }

    /// It has ended, at the end or before: the bar stays where it is.
    pub fn end(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.abandon();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    match ProgressStyle::with_template(BAR) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The time that is left if all goes on as it went, but no more than until the limit.
fn left(done: u64, all: u64, elapsed: Duration, limit: Option<Duration>) -> Duration {
    let seconds = elapsed.as_secs_f64() * all.saturating_sub(done) as f64 / done.max(1) as f64;
    let left = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    limit.map_or(left, |limit| left.min(limit.saturating_sub(elapsed)))
}

/// About how long, in one unit.
pub fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_ends_with_the_minutes_that_are_given() {
        let seconds = Duration::from_secs;
        assert_eq!(left(10, 40, seconds(5), None), seconds(15));
        assert_eq!(left(10, 40, seconds(5), Some(seconds(12))), seconds(7));
        assert_eq!(left(10, 40, seconds(5), Some(seconds(60))), seconds(15));
        assert_eq!(left(10, 40, seconds(5), Some(seconds(3))), seconds(0));
        assert_eq!(left(0, 40, seconds(1), None), seconds(40), "before the first");
        assert_eq!(left(1, u64::MAX, Duration::MAX, None), Duration::MAX);
        let said = [0, 119, 120, 7199, 7200].map(|s| in_words(seconds(s)));
        assert_eq!(said, ["0 s", "119 s", "2 min", "120 min", "2 h"]);
    }
}

//! Makes batches ahead on other threads. Batch i depends on the seed and i only, not on threads or on where a run was stopped.

use crate::{Error, Result};
use std::ops::Range;
use std::sync::mpsc::{Receiver, sync_channel};

/// Batches that wait at most, for each thread.
const AHEAD: usize = 1;
/// More threads than this were never needed beside one GPU.
const MOST_THREADS: usize = 12;

/// Threads that make batches: one a core, since a GPU waits for nothing else.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Calls `work` with something that gives the batches of `steps` one after another, as `make` makes them. Of `threads` threads, each makes
/// every so-many-th batch.
pub(crate) fn with_batches<T: Send, R>(
    make: &(dyn Fn(u64) -> Result<T> + Sync),
    steps: Range<u64>,
    threads: usize,
    work: impl FnOnce(&mut dyn FnMut() -> Result<T>) -> Result<R>,
) -> Result<R> {
    std::thread::scope(|scope| {
        let start = |thread: usize| -> Receiver<Result<T>> {
            let (send, receive) = sync_channel(AHEAD);
            let mine = steps.clone().skip(thread).step_by(threads);
            scope.spawn(move || {
                for index in mine {
                    // Nobody waits for more: training has stopped.
                    if send.send(make(index)).is_err() {
                        break;
                    }
                }
            });
            receive
        };
        let feeds: Vec<_> = (0..threads).map(start).collect();
        let mut turn = feeds.iter().cycle();
        work(&mut || {
            let batch = turn.next().and_then(|feed| feed.recv().ok());
            batch.unwrap_or_else(|| Err(Error::Config("the threads that make batches ended".into())))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let numbers = |threads| {
            let all = |next: &mut dyn FnMut() -> Result<u64>| (4..11).map(|_| next()).collect();
            with_batches(&Ok, 4..11, threads, all).unwrap()
        };
        let one: Vec<u64> = numbers(1);
        assert_eq!(one, (4..11).collect::<Vec<_>>());
        assert_eq!(one, numbers(3));
        assert_eq!(one, numbers(12), "more threads than batches");
    }
}

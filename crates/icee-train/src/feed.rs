//! Batches made ahead of time on threads of their own. Batch number i depends on the seed and i alone, so neither the
//! number of threads matters nor where a run was stopped.

use crate::{Error, Prepared, Problem, Result};
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

/// Calls `work` with something that gives the batches of `steps` one after another. Of `threads` threads, each makes
/// every so-many-th batch.
pub(crate) fn with_batches<R>(
    problem: &dyn Problem,
    steps: Range<u64>,
    threads: usize,
    work: impl FnOnce(&mut dyn FnMut() -> Result<Prepared>) -> Result<R>,
) -> Result<R> {
    std::thread::scope(|scope| {
        let start = |thread: usize| -> Receiver<Result<Prepared>> {
            let (send, receive) = sync_channel(AHEAD);
            let mine = steps.clone().skip(thread).step_by(threads);
            scope.spawn(move || {
                for index in mine {
                    // Nobody waits for more: training has stopped.
                    if send.send(problem.batch(index)).is_err() {
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
    use crate::{Initialisation, NetworkSpec, TrainConfig};
    use icee_nn::batch::{Batch, Tokens};

    /// Batch number i has i tokens.
    struct Counting(TrainConfig);

    impl Problem for Counting {
        fn kind(&self) -> &'static str {
            "tests"
        }
        fn name(&self) -> &str {
            "counting"
        }
        fn method(&self) -> &str {
            "none"
        }
        fn seed(&self) -> u64 {
            0
        }
        fn settings(&self) -> &TrainConfig {
            &self.0
        }
        fn initialisation(&self) -> Initialisation {
            Initialisation { std: 0.02, tied_keys: false }
        }
        fn networks(&self) -> Vec<NetworkSpec> {
            vec![]
        }
        fn to_toml(&self) -> Result<String> {
            Ok(String::new())
        }
        fn meta(&self, _: u64) -> Result<serde_json::Value> {
            Ok(serde_json::Value::Null)
        }
        fn batch(&self, index: u64) -> Result<Prepared> {
            let history = Tokens::new(vec![0], vec![]);
            let batch = Batch { history, queries: None, class_targets: vec![], pool_targets: vec![] };
            Ok(Prepared { batches: vec![batch], tokens: index as usize, metrics: vec![] })
        }
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let problem = Counting(TrainConfig::default());
        let tokens = |threads| {
            let all = |next: &mut dyn FnMut() -> Result<Prepared>| (4..11).map(|_| Ok(next()?.tokens)).collect();
            with_batches(&problem, 4..11, threads, all).unwrap()
        };
        let one: Vec<usize> = tokens(1);
        assert_eq!(one, (4..11).collect::<Vec<_>>());
        assert_eq!(one, tokens(3));
        assert_eq!(one, tokens(12), "more threads than batches");
    }
}

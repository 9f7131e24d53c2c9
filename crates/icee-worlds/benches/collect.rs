//! How fast data comes: steps a second of whole collected batches, with the probability of every action.
//!
//! `cargo bench -p icee-worlds` (the target: 15 million a second on 2 threads).
#![allow(clippy::print_stdout, missing_docs)]

use icee_worlds::{Collection, Registry, collect};
use std::time::{Duration, Instant};

const GAMES: usize = 512;
const AT_LEAST: Duration = Duration::from_millis(700);

fn main() {
    println!("{:24} {:>9} {:>8} {:>16} {:>16}", "world", "searchers", "threads", "median steps/s", "best steps/s");
    for spec in Registry::builtin().specs() {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            for searchers in [0.0, 1.0] {
                let mut rates = pool.install(|| rates(&spec.id, searchers));
                rates.sort_by(f64::total_cmp);
                let (median, best) = (rates[rates.len() / 2] / 1e6, rates[rates.len() - 1] / 1e6);
                println!("{:24} {searchers:>9} {threads:>8} {median:>14.2} M {best:>14.2} M", spec.id);
            }
        }
    }
}

/// Steps a second of one batch after another, each with games of its own.
fn rates(id: &str, searchers: f32) -> Vec<f64> {
    let world = Registry::builtin().make(id).expect("a known world");
    let mut collection = Collection { searchers, ..Collection::new(GAMES, world.spec().episodes, 1) };
    let begin = Instant::now();
    let mut rates = Vec::new();
    while begin.elapsed() < AT_LEAST || rates.len() < 3 {
        let batch_begin = Instant::now();
        let batch = collect(&*world, &collection).expect("a batch");
        rates.push(batch.steps() as f64 / batch_begin.elapsed().as_secs_f64());
        collection.first_game += GAMES as u64;
    }
    rates
}

//! How long one core takes to prepare a batch of a preset of functions: what a GPU would wait for.
//!
//!     cargo run --release -p icee-models --example feed_speed -- [preset] [batches]
#![allow(clippy::print_stdout)]

use icee_models::kind::new_problem;
use icee_worlds::Registry;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let preset = arguments.next().unwrap_or_else(|| "bo-value".into());
    let batches: u64 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let problem = new_problem(&preset, None, &[], None, &Registry::builtin())?;
    rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(|| -> icee_train::Result<()> {
        let start = Instant::now();
        let mut tokens = 0;
        for index in 0..batches {
            tokens += problem.batch(index)?.tokens;
        }
        let milliseconds = 1e3 * start.elapsed().as_secs_f64() / batches as f64;
        println!("{preset}: {milliseconds:.1} ms a batch of {} tokens on one core", tokens as u64 / batches);
        Ok(())
    })?;
    Ok(())
}

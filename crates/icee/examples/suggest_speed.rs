//! How long a learned optimiser takes for a suggestion when it has so many threads to itself, on one trial of each benchmark
//! function.
//!
//!     cargo run --release -p icee --example suggest_speed -- [folder of a model] [threads]
#![allow(clippy::print_stdout)]

use icee::Device;
use icee::bo::Model;
use icee_bo::protocol::Protocol;
use icee_bo::sampler::Search;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "models/bo__value".into()));
    let threads: usize = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let (model, device) = (Model::load(&folder)?, Device::cpu(threads)?);
    let protocol = Protocol { trials: 1, ..Protocol::default() };
    let (mut seconds, mut suggestions) = (0.0, 0);
    for task in protocol.tasks()? {
        let mut search = Search::new(&task.pool, model.sampler(&device)?, task.seed);
        for &candidate in &task.initial {
            search.tell(candidate, task.values[candidate])?;
        }
        for _ in protocol.initial..protocol.evaluations {
            let start = Instant::now();
            let candidate = search.ask()?;
            seconds += start.elapsed().as_secs_f64();
            suggestions += 1;
            search.tell(candidate, task.values[candidate])?;
        }
    }
    let milliseconds = 1e3 * seconds / f64::from(suggestions);
    println!("{}, {}: {milliseconds:.2} ms a suggestion", folder.display(), device.describe());
    Ok(())
}

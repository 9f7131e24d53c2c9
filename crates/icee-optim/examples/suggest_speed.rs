//! How long a learned optimiser takes for a suggestion when it has so many threads to itself, on one trial of each benchmark
//! function.
//!
//!     cargo run --release -p icee-optim --example suggest_speed -- [folder of a model] [threads]
#![allow(clippy::print_stdout)]

use icee_bo::functions;
use icee_bo::protocol::Protocol;
use icee_optim::OptimiserModel;
use icee_train::Device;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "models/bo__value".into()));
    let threads: usize = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let (model, device) = (OptimiserModel::load(&folder)?, Device::cpu(threads)?);
    model.sampler(&device)?;
    let mut seconds = 0.0;
    // A protocol of one task: beside others, a suggestion that waits for its threads would be handed their work.
    for function in functions::all() {
        let protocol = Protocol { functions: vec![function], trials: 1, ..Protocol::default() };
        let report = protocol.run(|| model.sampler(&device).expect("it was made before"))?;
        seconds += report.seconds_per_suggestion();
    }
    let milliseconds = 1e3 * seconds / functions::all().len() as f64;
    println!("{}, {}: {milliseconds:.2} ms a suggestion", folder.display(), device.describe());
    Ok(())
}

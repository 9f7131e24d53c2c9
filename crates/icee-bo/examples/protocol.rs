//! The paper's protocol for the baselines: regret, share solved and time per suggestion.
//!
//!     cargo run --release -p icee-bo --example protocol -- [trials] [seed] [threads]
#![allow(clippy::print_stdout)]

use icee_bo::gp_surrogate::gp_ei;
use icee_bo::protocol::Protocol;
use icee_bo::report::Summary;
use icee_bo::search::{RandomSampler, Sampler};

const STEPS: [usize; 5] = [10, 20, 30, 40, 55];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<Vec<u64>, _>>()?;
    let argument = |place: usize, default: u64| arguments.get(place).copied().unwrap_or(default);
    rayon::ThreadPoolBuilder::new().num_threads(argument(2, 1) as usize).build_global()?;
    let protocol = Protocol { trials: argument(0, 5) as usize, seed: argument(1, 0), ..Protocol::default() };

    println!("{:<24}{}  solved", "evaluations", STEPS.map(|step| format!("{step:>14}")).concat());
    let samplers: [fn() -> Box<dyn Sampler>; 2] = [|| Box::new(RandomSampler), || Box::new(gp_ei())];
    for make in samplers {
        let report = protocol.run(make)?;
        println!("{}", row(report.sampler, &report.summary()));
        for (function, summary) in report.by_function() {
            println!("{}", row(&format!("  {function}"), &summary));
        }
        println!("  ms per suggestion: {:.2}", 1e3 * report.seconds_per_suggestion());
    }
    Ok(())
}

fn row(name: &str, summary: &Summary) -> String {
    let cells = STEPS.map(|step| {
        let regret = summary.regret[step - 1];
        format!("{:>8.3} ±{:.2}", regret.mean, regret.half_width)
    });
    format!("{name:<24}{}  {:>4.0} %", cells.map(|cell| format!("{cell:>14}")).concat(), 100.0 * summary.solved)
}

//! How long it takes to draw 1,000 functions of 1,024 points, with one factor for all of them and with fewer each.
//!
//!     cargo run --release -p icee-bo --example prior_speed
#![allow(clippy::print_stdout)]

use icee_bo::prior::{Family, Prior};
use std::time::Instant;

fn main() -> icee_bo::BoResult<()> {
    println!("family  functions per factor  seconds for 1,000 functions of 1,024 points");
    for family in [Family::Paper, Family::Wide] {
        for functions_per_factor in [1000, 64, 32, 16] {
            let prior = Prior::new(family, 2, 1024, functions_per_factor)?;
            let start = Instant::now();
            let drawn: usize = prior.sample(1, 1000)?.iter().map(|group| group.functions().len()).sum();
            assert_eq!(drawn, 1000);
            println!("{family:?}  {functions_per_factor:>20}  {:.2}", start.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

//! The checkpoint loader on arbitrary bytes: an error or a sound model, never a panic.
//!
//! The first two bytes say how many of the others are `config.json`; the rest is `model.safetensors`.
//!
//!     cargo +nightly fuzz run checkpoint -- -max_total_time=60
#![no_main]

use icee_nn::checkpoint;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [low, high, rest @ ..] = data else { return };
    let split = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
    let (config, tensors) = rest.split_at(split);
    if let Ok(read) = checkpoint::parse(config, tensors) {
        for (_, model) in &read.models {
            assert!(model.weights().iter().all(|w| w.is_finite()));
            assert_eq!(model.weights().len(), model.layout().len());
        }
    }
});

//! Logs of episodes on arbitrary text, CSV or JSON lines: an error or steps that fit each other, never a panic.
//!
//!     cargo +nightly fuzz run log -- -max_total_time=60
#![no_main]

use icee_games::logs::Logs;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|text: &str| {
    if let Ok(logs) = Logs::parse(text, Path::new("log")) {
        let data = &logs.data;
        assert!(data.steps() > 0 && data.rewards.len() == data.steps());
        assert!(data.actions.iter().all(|&action| (action as usize) < logs.task.actions));
        assert_eq!(data.episode_offsets.last(), Some(&data.steps()));
        assert!((0..data.episodes()).all(|episode| data.episode_return(episode).is_finite()));
    }
});

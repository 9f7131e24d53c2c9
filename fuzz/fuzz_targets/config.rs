//! Configs of games and of functions on arbitrary TOML, and settings as on the command line: an error or a config that is the
//! same when it is written and read again.
//!
//! The text up to the first NUL is the file; what follows is one setting a line.
//!
//!     cargo +nightly fuzz run config -- -max_total_time=60
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (file, settings) = text.split_once('\0').unwrap_or((text, ""));
    let settings: Vec<String> = settings.lines().map(String::from).collect();
    if let Ok(config) = icee_games::Config::layered(&[file], &settings) {
        assert_eq!(icee_games::Config::layered(&[&config.to_toml().unwrap()], &[]).unwrap(), config);
    }
    if let Ok(config) = icee_optim::Config::layered(&[file], &settings) {
        assert_eq!(icee_optim::Config::layered(&[&config.to_toml().unwrap()], &[]).unwrap(), config);
    }
});

//! A study's journal and its pool on arbitrary bytes: an error or a sound study, never a panic.
//!
//! The first two bytes say how many of the others are the pool. Of the rest, lines as they are; or, where the third byte is odd,
//! lines that are given the checksums they need, so that what they say is looked at.
//!
//!     cargo +nightly fuzz run journal -- -max_total_time=60
#![no_main]

use icee_base::hash::checksum;
use icee_study::memory::inspect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [low, high, sealed, rest @ ..] = data else { return };
    let split = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
    let (pool, journal) = rest.split_at(split);
    let journal = if sealed % 2 == 1 { seal(journal) } else { journal.to_vec() };
    if let Ok(found) = inspect(&journal, None) {
        assert!(found.lines <= journal.split(|&byte| byte == b'\n').count());
        let _ = inspect(&journal, Some(pool));
    }
});

/// Every line with its checksum.
fn seal(lines: &[u8]) -> Vec<u8> {
    let (mut sealed, mut chain) = (Vec::new(), 0);
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        chain = checksum(chain, line);
        sealed.extend(line.strip_suffix(b"}").unwrap_or(line));
        sealed.extend(format!(",\"check\":\"{chain:016x}\"}}\n").into_bytes());
    }
    sealed
}

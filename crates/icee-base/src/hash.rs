//! A 64-bit checksum for files, journal lines and everything else that must be told apart: it finds damage and changes, and
//! is no protection against forgery.

/// Odd, with bits well spread (the golden ratio in 64 bits).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of `bytes`, continuing from `before`.
///
/// Words of eight bytes (little-endian, the last one filled up with zeros), then the length: h ← (rotl(h, 29) ⊕ word) ·
/// factor. Every step can be undone, so any change within one word changes the result.
#[must_use]
pub fn checksum(before: u64, bytes: &[u8]) -> u64 {
    let step = |state: u64, word: u64| (state.rotate_left(29) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut state = words.iter().fold(before, |state, word| step(state, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    state = step(state, u64::from_le_bytes(last));
    state = step(state, bytes.len() as u64);
    state ^ (state >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_told_apart() {
        let chained = |parts: &[&str]| parts.iter().fold(1, |state, part| checksum(state, part.as_bytes()));
        assert_ne!(chained(&["ab", "c"]), chained(&["a", "bc"]));
        assert_ne!(chained(&["a"]), chained(&["a", ""]));
        assert_ne!(chained(&["", "a"]), chained(&["a"]));
        assert_eq!(chained(&["a", "b"]), chained(&["a", "b"]));
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_found(bytes in prop::collection::vec(any::<u8>(), 1..60), at: prop::sample::Index, by in 1u8..) {
            let mut changed = bytes.clone();
            changed[at.index(bytes.len())] ^= by;
            prop_assert_ne!(checksum(0, &bytes), checksum(0, &changed));
            prop_assert_ne!(checksum(0, &bytes), checksum(1, &bytes));
            changed = bytes.clone();
            changed.push(0);
            prop_assert_ne!(checksum(0, &bytes), checksum(0, &changed));
        }
    }
}

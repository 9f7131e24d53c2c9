//! Independent random streams: one seed and a path of indices give one generator, whatever thread asks for it.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// The generator for `path` under `seed`; different paths give unrelated streams.
pub fn stream(seed: u64, path: &[u64]) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(
        path.iter().fold(mix(seed), |state, &index| mix(state.wrapping_add(index).wrapping_add(1))),
    )
}

/// The finaliser of SplitMix64: a bijection in which every input bit moves every output bit.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use std::collections::HashSet;

    #[test]
    fn every_path_has_its_own_stream() {
        let mut seen = HashSet::new();
        for seed in 0..4 {
            assert!(seen.insert(stream(seed, &[]).next_u64()));
            for a in 0..20 {
                assert!(seen.insert(stream(seed, &[a]).next_u64()));
                for b in 0..20 {
                    assert!(seen.insert(stream(seed, &[a, b]).next_u64()));
                }
            }
        }
        assert_eq!(stream(7, &[1, 2]).next_u64(), stream(7, &[1, 2]).next_u64());
    }
}

//! Random streams: a seed and an address give one generator, whatever thread asks for it and however many there are.
//!
//! Games are addressed by purpose and number ([`stream`]), everything else by a path of numbers ([`path`]). Both addressings
//! are fixed: published results and journals rest on them.

use rand::rngs::ChaCha8Rng;
use rand::{SeedableRng, TryRng};
use std::convert::Infallible;

/// The generator behind everything random: ChaCha with 8 rounds, whose values are the same on every platform.
/// Unlike the bare generator it can be copied, so that a world in the middle of an episode can be.
#[derive(Debug, PartialEq, Eq)]
pub struct StreamRng(ChaCha8Rng);

impl Clone for StreamRng {
    fn clone(&self) -> Self {
        Self(ChaCha8Rng::deserialize_state(&self.0.serialize_state()))
    }
}

impl SeedableRng for StreamRng {
    type Seed = [u8; 32];

    fn from_seed(seed: Self::Seed) -> Self {
        Self(ChaCha8Rng::from_seed(seed))
    }
}

impl TryRng for StreamRng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

/// What a stream is for. Streams of different purposes are independent even with equal seed and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Data for training: one stream a game, for its hidden part, starts, ε and actions.
    Collection,
    /// Games that agents play: the hidden part of each. No agent draws from it, so that all agents meet the same games.
    Games,
    /// The starts of the episodes of games that agents play: one stream a game.
    Starts,
    /// An agent's own draws: one stream a game.
    Agent,
}

/// The stream number `index` of a purpose under a seed.
#[must_use]
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> StreamRng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8] = match purpose {
        Purpose::Collection => 1,
        Purpose::Games => 2,
        Purpose::Starts => 3,
        Purpose::Agent => 4,
    };
    let mut rng = StreamRng::from_seed(key);
    rng.0.set_stream(index);
    rng
}

/// The stream at a path of numbers under a seed; different paths give unrelated streams.
#[must_use]
pub fn path(seed: u64, path: &[u64]) -> StreamRng {
    let state = path.iter().fold(mix(seed), |state, &index| mix(state.wrapping_add(index).wrapping_add(1)));
    StreamRng(ChaCha8Rng::seed_from_u64(state))
}

/// The finaliser of SplitMix64: a bijection in which every input bit moves every output bit.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Keeps the seeds of what is watched during training apart from all others ("held-out" in ASCII).
pub const HELD_OUT: u64 = 0x6865_6c64_2d6f_7574;

/// Keeps the seeds of what acting rules are chosen on apart from all others ("validate" in ASCII, cut to eight).
pub const VALIDATION: u64 = 0x7661_6c69_6461_7465;

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use std::collections::HashSet;

    #[test]
    fn a_copy_goes_on_where_the_original_is() {
        let mut original = stream(3, Purpose::Games, 7);
        for drawn in 0..200 {
            let mut copy = original.clone();
            assert_eq!(copy.next_u32(), original.next_u32(), "after {drawn} words");
            assert_eq!(copy, original, "after {drawn} words");
        }
    }

    #[test]
    fn streams_differ_in_seed_purpose_and_index_and_repeat() {
        let first = |seed, purpose, index| stream(seed, purpose, index).next_u64();
        let all = [
            first(1, Purpose::Games, 0),
            first(2, Purpose::Games, 0),
            first(1, Purpose::Agent, 0),
            first(1, Purpose::Starts, 0),
            first(1, Purpose::Collection, 0),
            first(1, Purpose::Games, 1),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
        assert_eq!(all[0], first(1, Purpose::Games, 0));
    }

    #[test]
    fn every_path_has_its_own_stream() {
        let mut seen = HashSet::new();
        for seed in 0..4 {
            assert!(seen.insert(path(seed, &[]).next_u64()));
            for a in 0..20 {
                assert!(seen.insert(path(seed, &[a]).next_u64()));
                for b in 0..20 {
                    assert!(seen.insert(path(seed, &[a, b]).next_u64()));
                }
            }
        }
        assert_eq!(path(7, &[1, 2]).next_u64(), path(7, &[1, 2]).next_u64());
    }

    /// The addressings are fixed for good: another value here means that every published game and pool has changed.
    #[test]
    fn the_addressings_are_what_they_were() {
        let values = [stream(0, Purpose::Games, 0).next_u64(), path(0, &[0, 0]).next_u64()];
        assert_eq!(values, [13_401_477_096_143_823_361, 11_690_901_966_658_579_585]);
    }
}

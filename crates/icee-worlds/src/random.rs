//! Random streams: one for every (seed, purpose, index), none of which knows how many threads there are.

use rand::rngs::ChaCha8Rng;
use rand::{SeedableRng, TryRng};
use std::convert::Infallible;

/// The generator behind everything random here: ChaCha with 8 rounds, whose values are the same on every platform.
/// Unlike the bare generator it can be copied, so that a world in the middle of an episode can be.
#[derive(Debug, PartialEq, Eq)]
pub struct GameRng(ChaCha8Rng);

impl Clone for GameRng {
    fn clone(&self) -> Self {
        Self(ChaCha8Rng::deserialize_state(&self.0.serialize_state()))
    }
}

impl SeedableRng for GameRng {
    type Seed = [u8; 32];

    fn from_seed(seed: Self::Seed) -> Self {
        Self(ChaCha8Rng::from_seed(seed))
    }
}

impl TryRng for GameRng {
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
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> GameRng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8] = match purpose {
        Purpose::Collection => 1,
        Purpose::Games => 2,
        Purpose::Starts => 3,
        Purpose::Agent => 4,
    };
    let mut rng = GameRng::from_seed(key);
    rng.0.set_stream(index);
    rng
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

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
}

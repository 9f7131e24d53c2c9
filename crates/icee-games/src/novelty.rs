//! Whether each step leads to a place that was not seen before in its game.
//!
//! A network learns soon where something was found, but hardly where nothing was, which is what a search needs: that a
//! place is known to be empty changes the return of one more walk past it by next to nothing. To be asked of every
//! step whether it leads to something new makes the network look up where it has been.

use crate::sequences::Sequences;
use icee_worlds::Observation;
use std::collections::HashSet;

/// For every step, in the order of the tokens: what was done, and whether it led to a new place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Novelty {
    /// The action that was taken; not that of an expert, who has left no trace in the history.
    pub actions: Vec<u32>,
    /// 1 where the next observation is a new one, 0 where it was seen before.
    pub new: Vec<u32>,
    /// 1, or 0 where the episode ends and nothing is seen any more.
    pub known: Vec<f32>,
}

impl Novelty {
    /// Of all steps of some sequences. Where there is one goal after another, a place that was seen before its episode had
    /// paid is new again after that: the second goal may be there.
    #[must_use]
    pub fn new(sequences: &Sequences, goals_in_turn: bool) -> Novelty {
        let data = &*sequences.data;
        let place = |step| match data.observations.get(step) {
            Some(Observation::Discrete(place)) => place,
            // Blueprints refuse the head where observations are no places.
            _ => 0,
        };
        let mut novelty = Novelty::default();
        for order in &sequences.order {
            let mut seen = HashSet::new();
            for steps in order.iter().map(|&episode| data.episode_steps(episode)) {
                let mut has_paid = false;
                for step in steps.clone() {
                    seen.insert((place(step), has_paid));
                    has_paid |= goals_in_turn && data.rewards[step] != 0.0;
                    let next = Some(step + 1).filter(|next| steps.contains(next)).map(|next| (place(next), has_paid));
                    novelty.actions.push(data.actions[step]);
                    novelty.new.push(u32::from(next.is_some_and(|next| !seen.contains(&next))));
                    novelty.known.push(f32::from(u8::from(next.is_some())));
                }
            }
        }
        novelty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::Method;
    use icee_worlds::{Collection, Registry, SequenceBatch, collect};
    use std::sync::Arc;

    /// Six games of a world.
    fn played(world: &str, episodes: usize) -> (Arc<SequenceBatch>, Sequences) {
        let world = Registry::builtin().make(world).unwrap();
        let data = Arc::new(collect(&*world, &Collection::new(6, episodes, 3)).unwrap());
        let sequences = Sequences::all(Method::named("icee").unwrap(), Arc::clone(&data));
        (data, sequences)
    }

    #[test]
    fn a_place_is_new_once() {
        let (data, sequences) = played("DarkRoomTiny-v0", 16);
        let novelty = Novelty::new(&sequences, false);
        assert_eq!(novelty.actions, data.actions);
        for sequence in 0..data.sequences() {
            let steps = data.sequence_steps(sequence);
            let places: HashSet<_> = steps.clone().map(|s| format!("{:?}", data.observations.get(s))).collect();
            // The start is never new: it is there before the first step.
            assert_eq!(novelty.new[steps.clone()].iter().sum::<u32>() as usize, places.len() - 1);
            let known = novelty.known[steps.clone()].iter().sum::<f32>() as usize;
            assert_eq!(known, steps.len() - data.sequence_episodes(sequence).len());
        }
    }

    #[test]
    fn a_place_is_new_once_before_the_key_and_once_after_it() {
        let (data, sequences) = played("DarkKeyToDoor-v0", 20);
        let novelty = Novelty::new(&sequences, true);
        for sequence in 0..data.sequences() {
            let (mut seen, mut new) = (HashSet::new(), 0);
            for steps in data.sequence_episodes(sequence).map(|episode| data.episode_steps(episode)) {
                // Starts differ here, and are seen without a step that leads there.
                let earned = |step: usize| data.rewards[steps.start..step].iter().sum::<f32>();
                for step in steps.clone() {
                    let first = seen.insert((format!("{:?}", data.observations.get(step)), earned(step) > 0.0));
                    new += u32::from(first && step > steps.start);
                }
            }
            assert_eq!(novelty.new[data.sequence_steps(sequence)].iter().sum::<u32>(), new);
        }
    }
}

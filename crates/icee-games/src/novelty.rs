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
    /// Of all steps of some sequences.
    #[must_use]
    pub fn new(sequences: &Sequences) -> Novelty {
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
                for step in steps.clone() {
                    seen.insert(place(step));
                    let next = Some(step + 1).filter(|next| steps.contains(next)).map(place);
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
    use icee_worlds::{Collection, Registry, collect};
    use std::sync::Arc;

    #[test]
    fn a_place_is_new_once() {
        let world = Registry::builtin().make("DarkRoomTiny-v0").unwrap();
        let data = Arc::new(collect(&*world, &Collection::new(6, 16, 3)).unwrap());
        let sequences = Sequences::all(Method::named("icee").unwrap(), Arc::clone(&data));
        let novelty = Novelty::new(&sequences);
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
}

//! The split of a log into training tasks and held-out tasks.

use super::{FEWEST_TO_SPLIT, Logs};
use icee_base::hash::checksum;
use icee_base::random::{self, HELD_OUT};
use icee_worlds::Observation;
use rand::seq::index::sample;
use std::collections::{HashMap, HashSet};

/// Different games below which copies are not kept together, and copies of one game above which none are: then games are alike because
/// few things can happen in them, and a share of the different ones would be no sample of all.
const FEWEST_DIFFERENT: usize = 100;
const MOST_COPIES: usize = 10;

impl Logs {
    /// Puts a share of the games aside: always the same ones, so that a trained model can be judged by them later. Of fewer
    /// than [`FEWEST_TO_SPLIT`] games none is. Copies go where the first of them does, if they can.
    #[must_use]
    pub fn holding_out(mut self, share: f64) -> Logs {
        let games = self.data.sequences();
        let count = if games < FEWEST_TO_SPLIT { 0 } else { ((games as f64 * share).round() as usize).min(games - 1) };
        let mut aside = sample(&mut random::path(HELD_OUT, &[]), games, count).into_vec();
        aside.sort_unstable();
        let of = if self.keeps_copies_together() { self.firsts.clone() } else { (0..games).collect() };
        self.split = (0..games).partition(|&game| aside.binary_search(&of[game]).is_err());
        self
    }

    /// The games that are learned from.
    #[must_use]
    pub fn learned(&self) -> &[usize] {
        &self.split.0
    }

    /// The games that are not.
    #[must_use]
    pub fn held_out(&self) -> &[usize] {
        &self.split.1
    }

    /// These games without copies, which are no further witnesses.
    pub(crate) fn without_copies(&self, games: &[usize]) -> Vec<usize> {
        let (mut known, together) = (HashSet::new(), self.keeps_copies_together());
        let is_new = |game: &&usize| !together || known.insert(self.firsts[**game]);
        games.iter().filter(is_new).copied().collect()
    }

    /// What is to be said of games that are there more than once.
    pub(super) fn copies(&self) -> Option<String> {
        let (games, different) = (self.firsts.len(), self.sizes().len());
        let told = match self.keeps_copies_together() {
            true => "check whether the log was joined with itself. Copies are held out together",
            false => "some held-out games are in the training set, too",
        };
        // A few are equal at random.
        let many = 10 * (games - different) >= games;
        (different < games && (many || self.keeps_copies_together()))
            .then(|| format!("{} of {games} games are copies of others, step by step: {told}", games - different))
    }

    /// How often every different game is there.
    fn sizes(&self) -> HashMap<usize, usize> {
        let mut sizes = HashMap::new();
        self.firsts.iter().for_each(|first| *sizes.entry(*first).or_default() += 1);
        sizes
    }

    fn keeps_copies_together(&self) -> bool {
        let sizes = self.sizes();
        sizes.len() >= FEWEST_DIFFERENT && sizes.values().all(|size| *size <= MOST_COPIES)
    }

    /// Of every game the first that is the same, step by step.
    pub(super) fn firsts(&self) -> Vec<usize> {
        let data = &self.data;
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut bytes = Vec::new();
        let first = |game: usize| {
            bytes.clear();
            for episode in data.sequence_episodes(game) {
                bytes.extend((data.episode_steps(episode).len() as u64).to_le_bytes());
            }
            for step in data.sequence_steps(game) {
                match data.observations.get(step) {
                    Some(Observation::Discrete(index)) => bytes.extend(index.to_le_bytes()),
                    Some(Observation::Vector(values)) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
                    None => {}
                }
                bytes.extend(data.actions[step].to_le_bytes());
                bytes.extend(data.rewards[step].to_le_bytes());
            }
            *known.entry(checksum(0, &bytes)).or_insert(game)
        };
        (0..data.sequences()).map(first).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::COLUMNS;
    use std::path::Path;

    /// Games of a step, of these kinds.
    fn log(games: usize, kind: impl Fn(usize) -> usize) -> Logs {
        let line = |game: usize| {
            let kind = kind(game);
            format!("{game},0,0,{},{},{},0.5\n", kind % 16, kind / 16 % 16, kind / 256)
        };
        let lines: String = (0..games).map(line).collect();
        Logs::parse(&format!("{}\n{lines}", COLUMNS.join(",")), Path::new("log.csv")).unwrap().holding_out(0.1)
    }

    #[test]
    fn copies_of_a_game_are_on_one_side_and_told() {
        let told = |logs: &Logs| logs.remarks().into_iter().find(|words| words.contains("copies")).unwrap();
        let logs = log(2000, |game| game % 500);
        assert_eq!(logs.learned().len() + logs.held_out().len(), 2000);
        assert!((120..280).contains(&logs.held_out().len()), "{} of 2000", logs.held_out().len());
        let learned: Vec<usize> = logs.learned().iter().map(|game| game % 500).collect();
        assert!(logs.held_out().iter().all(|game| !learned.contains(&(game % 500))));
        let different: Vec<usize> = logs.without_copies(logs.held_out()).iter().map(|game| game % 500).collect();
        assert!(
            different.len() * 4 == logs.held_out().len()
                && different.iter().collect::<HashSet<_>>().len() == different.len()
        );
        assert!(told(&logs).starts_with("1500 of 2000 games are copies"), "{}", told(&logs));
        // Where few things can happen, some games are equal at random.
        let few = log(20, |game| game % 5);
        assert!(few.held_out().len() == 2 && told(&few).ends_with("training set, too"), "{}", told(&few));
        assert_eq!(log(2000, |game| if game < 1000 { 0 } else { game }).held_out().len(), 200);
    }
}

//! Which episodes make up which sequence: all of a game as played, sorted, or one by one. The steps stay where they
//! are; only the order is new.

use crate::methods::{Method, Span};
use icee_worlds::SequenceBatch;
use std::sync::Arc;

/// Sequences of episodes of one flat batch.
#[derive(Clone, Debug)]
pub struct Sequences {
    /// All steps.
    pub data: Arc<SequenceBatch>,
    /// The episodes of each sequence, in order.
    pub order: Vec<Vec<usize>>,
}

impl Sequences {
    /// The sequences that a method learns from, given the episodes of each game.
    #[must_use]
    pub fn arrange(method: &Method, data: Arc<SequenceBatch>, games: Vec<Vec<usize>>) -> Sequences {
        let mut order = games;
        match method.span {
            Span::Game => {}
            Span::GameSorted => {
                for episodes in &mut order {
                    episodes.sort_by(|&a, &b| data.epsilons[b].total_cmp(&data.epsilons[a]));
                }
            }
            Span::Episode => order = order.into_iter().flatten().map(|episode| vec![episode]).collect(),
        }
        Sequences { data, order }
    }

    /// All sequences of a batch.
    #[must_use]
    pub fn all(method: &Method, data: Arc<SequenceBatch>) -> Sequences {
        let games = (0..data.sequences()).map(|s| data.sequence_episodes(s).collect()).collect();
        Sequences::arrange(method, data, games)
    }

    /// The number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.order.iter().flatten().map(|&episode| self.data.episode_steps(episode).len()).sum()
    }
}

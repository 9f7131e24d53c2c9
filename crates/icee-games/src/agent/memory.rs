//! What an agent remembers of one game: the steps, cut into episodes.
//!
//! Invariant: between two turns, the networks' caches of the game hold one token for every step that is remembered; what
//! they hold beyond is cut off when the next tokens come.

use crate::blueprint::Blueprint;
use crate::heads::{Given, Head};
use crate::label::Record;
use crate::tokens::{Previous, Token, TokenWriter};
use icee_nn::batch::FieldValues;
use icee_worlds::{Observation, Observations, StreamRng, returns_to_go};

/// What the agent had in mind at its last decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thought {
    /// p̂(a).
    pub actions: Vec<f64>,
    /// p(c | c̃, h), empty where the method predicts no returns or where they were drawn on a GPU.
    pub returns: Vec<f64>,
    /// p(c | h), whatever c̃ is; empty where `returns` is.
    pub marginal: Vec<f64>,
    /// c̃ that it asked for.
    pub episode_rtg: u32,
    /// The bin of c that it asked for.
    pub step_bin: u32,
}

impl Thought {
    /// What the games ask for, as the conditions of a head.
    pub(super) fn conditions(head: Head, memories: &[Memory], games: &[u32]) -> Vec<FieldValues> {
        let asked = |given: &Given| {
            let of = |thought: &Thought| match given {
                Given::StepRtg => thought.step_bin,
                Given::EpisodeRtg => thought.episode_rtg,
                // Heads that are given the action are asked for every one of them.
                Given::Action | Given::TakenAction => 0,
            };
            FieldValues::Categorical(games.iter().map(|&game| of(&memories[game as usize].thought)).collect())
        };
        head.given().iter().map(asked).collect()
    }
}

/// One game as the agent remembers it.
pub(super) struct Memory {
    pub rng: StreamRng,
    pub thought: Thought,
    pub observations: Observations,
    pub actions: Vec<u32>,
    pub rewards: Vec<f32>,
    /// The bins of c that were asked for.
    wanted: Vec<u32>,
    /// The first step of each remembered episode; the last is the current one.
    starts: Vec<usize>,
    /// Episodes that were dropped.
    pub forgotten: usize,
}

impl Memory {
    pub fn new(observations: Observations, rng: StreamRng) -> Memory {
        Memory {
            rng,
            thought: Thought::default(),
            observations,
            actions: Vec::new(),
            rewards: Vec::new(),
            wanted: Vec::new(),
            starts: vec![0],
            forgotten: 0,
        }
    }

    /// Steps that were completed.
    pub fn steps(&self) -> usize {
        self.rewards.len()
    }

    /// The first step of the current episode.
    pub fn episode_start(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// The first step of the episode before the current one.
    pub fn last_episode_start(&self) -> usize {
        self.starts[self.starts.len().saturating_sub(2)]
    }

    /// Whether the next step is the first of its episode.
    pub fn at_episode_start(&self) -> bool {
        self.steps() == self.episode_start()
    }

    /// The highest return of a remembered episode that is over.
    pub fn best_return(&self) -> Option<f32> {
        let returns = self.starts.windows(2).map(|ends| self.rewards[ends[0]..ends[1]].iter().sum());
        returns.max_by(f32::total_cmp)
    }

    /// The number of the current episode since the game began.
    pub fn episode(&self) -> usize {
        self.forgotten + self.starts.len() - 1
    }

    /// The current step as a token, after its observation was remembered.
    pub fn current_token(&self) -> Option<Token<'_>> {
        let at = self.steps();
        Some(Token {
            observation: self.observations.get(at)?,
            previous: self.before(at),
            episode: self.starts.len() - 1,
            step: at - self.episode_start(),
            step_bin: self.thought.step_bin,
            episode_rtg: self.thought.episode_rtg,
        })
    }

    /// The step before step `at`, unless it was forgotten or there was none.
    fn before(&self, at: usize) -> Option<Previous<'_>> {
        let before = at.checked_sub(1)?;
        let observation = self.observations.get(before)?;
        Some(Previous { observation, action: self.actions[before], reward: self.rewards[before] })
    }

    pub fn decide(&mut self, action: u32) {
        self.actions.push(action);
        self.wanted.push(self.thought.step_bin);
    }

    /// The current episode is over.
    pub fn end_episode(&mut self) {
        self.starts.push(self.steps());
    }

    /// Whether so many episodes are over and none of them has paid; never for a patience of 0.
    pub fn is_lost(&self, patience: usize) -> bool {
        patience > 0 && self.starts.len() > patience && self.rewards.iter().all(|&reward| reward == 0.0)
    }

    /// Forgets everything but the count of episodes.
    pub fn clear(&mut self) {
        self.forgotten += self.starts.len() - 1;
        self.observations.clear();
        self.actions.clear();
        self.rewards.clear();
        self.wanted.clear();
        self.starts = vec![0];
    }

    /// Drops the oldest quarter (so that it happens seldom) where the next step would not fit. Says whether it did;
    /// then all that is left must be encoded anew.
    pub fn make_room(&mut self, episodes: usize, context: usize) -> bool {
        if self.starts.len() <= episodes && self.steps() < context {
            return false;
        }
        let keep_steps = (context - context.div_ceil(4)).max(1);
        let keep_episodes = (episodes - episodes.div_ceil(4)).max(1);
        let mut dropped = self.starts.len().saturating_sub(keep_episodes);
        while dropped + 1 < self.starts.len() && self.steps() - self.starts[dropped] > keep_steps {
            dropped += 1;
        }
        let dropped = dropped.min(self.starts.len() - 1);
        // An episode that alone is longer than the context loses its oldest steps.
        let left = self.steps() - self.starts[dropped];
        let first = if left >= context { self.steps() - keep_steps } else { self.starts[dropped] };
        self.forgotten += dropped;
        let mut kept = self.observations.clone();
        kept.clear();
        for at in first..self.observations.len() {
            if let Some(observation) = self.observations.get(at) {
                // The same space: always taken.
                let _ = kept.push(observation);
            }
        }
        self.observations = kept;
        self.actions.drain(..first);
        self.rewards.drain(..first);
        self.wanted.drain(..first);
        self.starts = self.starts[dropped..].iter().map(|&start| start.saturating_sub(first)).collect();
        true
    }

    /// Writes the tokens of all completed steps from `from` on, which must be the start of an episode: with the true
    /// returns where the episode is over, with those that were asked for where it is not.
    pub fn write_tokens(&self, blueprint: &Blueprint, from: usize, writer: &mut TokenWriter<'_>) {
        let mut record = Record::default();
        for (episode, &start) in self.starts.iter().enumerate() {
            let over = episode + 1 < self.starts.len();
            let end = self.starts.get(episode + 1).copied().unwrap_or(self.steps());
            let rewards = &self.rewards[start..end];
            let episode_return = rewards.iter().sum();
            let true_rtg = record.episode_rtg(episode == 0, episode_return);
            if start < from {
                continue;
            }
            let returns = returns_to_go(rewards, blueprint.task.idle_price());
            for (step, at) in (start..end).enumerate() {
                let (step_bin, episode_rtg) = match over {
                    true => (blueprint.bins.bin(returns[step]), true_rtg),
                    false => (self.wanted[at], self.thought.episode_rtg),
                };
                if let Some(observation) = self.observations.get(at) {
                    let previous = self.before(at);
                    writer.push(&Token { observation, previous, episode, step, step_bin, episode_rtg });
                }
            }
        }
    }

    /// Remembers what is seen before the next step.
    #[must_use]
    pub fn see(&mut self, observation: Observation<'_>) -> bool {
        self.observations.push(observation)
    }
}

//! The memory of one task: its steps, cut into episodes.
//!
//! Invariant: between two turns, the networks' caches of the game hold one token for every step that is remembered, unless the memory
//! is marked as changed; what they hold beyond is cut off when the next tokens come.

use crate::blueprint::Blueprint;
use crate::heads::{Given, Head};
use crate::label::Record;
use crate::tokens::{Previous, Token, TokenWriter};
use icee_nn::batch::FieldValues;
use icee_worlds::{Observation, Observations, StepOutcome, StreamRng, returns_to_go};
use serde::Serialize;
use std::ops::Range;

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
    /// How many steps of the first remembered episode came before those that are remembered.
    cut: usize,
    /// Whether the caches hold something else: all that is remembered must be encoded anew.
    pub changed: bool,
    /// What was dropped.
    pub forgotten: Forgotten,
}

/// What was dropped of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forgotten {
    /// Whole episodes.
    #[serde(rename = "forgotten_episodes")]
    pub episodes: usize,
    /// Steps of episodes that alone were longer than the context.
    #[serde(rename = "forgotten_steps", skip_serializing_if = "is_zero")]
    pub steps: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Forgotten {
    /// The most of each.
    #[must_use]
    pub fn max(self, other: Forgotten) -> Forgotten {
        Forgotten { episodes: self.episodes.max(other.episodes), steps: self.steps.max(other.steps) }
    }

    /// What to tell a user, if anything was dropped.
    #[must_use]
    pub fn words(self) -> Option<String> {
        let Forgotten { episodes, steps } = self;
        let whole = "beyond the trained context, or without reward";
        let part = format!("the oldest {steps} steps of an episode that is longer than the trained context");
        match (episodes, steps) {
            (0, 0) => None,
            (0, _) => Some(format!("{part} were dropped")),
            (_, 0) => Some(format!("the oldest {episodes} episodes were dropped: {whole}")),
            _ => Some(format!("the oldest {episodes} episodes were dropped: {whole}; and {part}")),
        }
    }
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
            cut: 0,
            changed: false,
            forgotten: Forgotten::default(),
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

    /// Whether the next step is the first of its episode, not just the first that is remembered.
    pub fn at_episode_start(&self) -> bool {
        self.steps() + self.cut_of(self.starts.len() - 1) == self.episode_start()
    }

    /// The highest return of a remembered episode that is over.
    pub fn best_return(&self) -> Option<f32> {
        let returns = self.starts.windows(2).map(|ends| self.rewards[ends[0]..ends[1]].iter().sum());
        returns.max_by(f32::total_cmp)
    }

    /// The number of the current episode since the game began.
    pub fn episode(&self) -> usize {
        self.forgotten.episodes + self.starts.len() - 1
    }

    /// Whether an action waits for what it earned.
    pub fn waits(&self) -> bool {
        self.actions.len() > self.steps()
    }

    /// The current step as a token, after its observation was remembered.
    pub fn current_token(&self) -> Option<Token<'_>> {
        let at = self.steps();
        Some(Token {
            observation: self.observations.get(at)?,
            previous: self.before(at),
            episode: self.starts.len() - 1,
            step: at - self.episode_start() + self.cut_of(self.starts.len() - 1),
            step_bin: self.thought.step_bin,
            episode_rtg: self.thought.episode_rtg,
        })
    }

    /// How many steps of an episode came before those that are remembered.
    fn cut_of(&self, episode: usize) -> usize {
        if episode == 0 { self.cut } else { 0 }
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

    /// What the action has earned, and whether the episode is over.
    pub fn earn(&mut self, outcome: &StepOutcome) {
        self.rewards.push(outcome.reward);
        if outcome.done {
            self.starts.push(self.steps());
        }
    }

    /// As if the last outcome had not been told.
    pub fn unearn(&mut self, outcome: &StepOutcome) {
        self.rewards.pop();
        if outcome.done {
            self.starts.pop();
        }
    }

    /// Whether so many episodes are over and none of them has paid; never for a patience of 0.
    pub fn is_lost(&self, patience: usize) -> bool {
        patience > 0 && self.starts.len() > patience && self.rewards.iter().all(|&reward| reward == 0.0)
    }

    /// Forgets everything but the count of episodes.
    pub fn clear(&mut self) {
        self.forgotten.episodes += self.starts.len() - 1;
        self.observations.clear();
        self.actions.clear();
        self.rewards.clear();
        self.wanted.clear();
        self.starts = vec![0];
        (self.cut, self.changed) = (0, false);
    }

    /// Drops the oldest quarter (so that it happens seldom) where the next step would not fit.
    pub fn make_room(&mut self, episodes: usize, context: usize) {
        if self.starts.len() <= episodes && self.steps() < context {
            return;
        }
        // Nothing, where there is room for the next step alone.
        let keep_steps = context - context.div_ceil(4);
        let keep_episodes = (episodes - episodes.div_ceil(4)).max(1);
        let mut dropped = self.starts.len().saturating_sub(keep_episodes);
        while dropped + 1 < self.starts.len() && self.steps() - self.starts[dropped] > keep_steps {
            dropped += 1;
        }
        let dropped = dropped.min(self.starts.len() - 1);
        // An episode that alone is longer than the context loses its oldest steps.
        let left = self.steps() - self.starts[dropped];
        let first = if left >= context { self.steps() - keep_steps } else { self.starts[dropped] };
        self.cut = first - self.starts[dropped] + self.cut_of(dropped);
        self.forgotten.steps += first - self.starts[dropped];
        self.forgotten.episodes += dropped;
        self.keep_observations(first..self.steps());
        self.actions.drain(..first);
        self.rewards.drain(..first);
        self.wanted.drain(..first);
        self.starts = self.starts[dropped..].iter().map(|&start| start.saturating_sub(first)).collect();
        self.changed = self.steps() > 0;
    }

    /// Forgets all other observations.
    fn keep_observations(&mut self, kept: Range<usize>) {
        let all = self.observations.clone();
        self.observations.clear();
        kept.filter_map(|at| all.get(at)).for_each(|observation| self.see(observation));
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
            for at in start..end {
                let (step_bin, episode_rtg) = match over {
                    true => (blueprint.bins.bin(returns[at - start]), true_rtg),
                    false => (self.wanted[at], self.thought.episode_rtg),
                };
                let step = at - start + self.cut_of(episode);
                if let Some(observation) = self.observations.get(at) {
                    let previous = self.before(at);
                    writer.push(&Token { observation, previous, episode, step, step_bin, episode_rtg });
                }
            }
        }
    }

    /// Remembers what is seen before the next step; it must be one of the task's.
    pub fn see(&mut self, observation: Observation<'_>) {
        // The same space: always taken.
        let _ = self.observations.push(observation);
    }

    /// As if nothing had been seen since the last step.
    pub fn unsee(&mut self) {
        self.keep_observations(0..self.steps());
    }
}

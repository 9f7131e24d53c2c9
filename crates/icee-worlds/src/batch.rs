//! The flat, ragged layout in which data lies: one array a quantity, sequences and episodes as offsets into them.

use crate::{Observations, StepLabel, WorldError, WorldSpec};
use std::ops::Range;

/// Sequences of whole episodes, end to end. A step is (o, a, r, π(·|o)).
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceBatch {
    /// The world's id.
    pub world: String,
    /// The number of actions.
    pub action_count: usize,
    /// o: what was seen before each step. `[steps]`
    pub observations: Observations,
    /// a: what was done. `[steps]`
    pub actions: Vec<u32>,
    /// r: the reward of the action. `[steps]`
    pub rewards: Vec<f32>,
    /// π(·|o): the probability of every action. `[steps, action_count]`
    pub probabilities: Vec<f32>,
    /// What is learned at each step; empty where all is [`StepLabel::Own`]. `[steps]`
    pub labels: Vec<StepLabel>,
    /// The first step of each episode, and the number of steps. `[episodes + 1]`
    pub episode_offsets: Vec<usize>,
    /// ε of each episode. `[episodes]`
    pub epsilons: Vec<f32>,
    /// Whether each episode terminated; the others were truncated. `[episodes]`
    pub terminated: Vec<bool>,
    /// The first episode of each sequence, and the number of episodes. `[sequences + 1]`
    pub sequence_episodes: Vec<usize>,
    /// The first step of each sequence, and the number of steps. `[sequences + 1]`
    pub sequence_offsets: Vec<usize>,
}

impl SequenceBatch {
    /// No sequences yet.
    #[must_use]
    pub fn new(spec: &WorldSpec) -> Self {
        Self {
            world: spec.id.clone(),
            action_count: spec.actions(),
            observations: Observations::new(&spec.observation_space),
            actions: Vec::new(),
            rewards: Vec::new(),
            probabilities: Vec::new(),
            labels: Vec::new(),
            episode_offsets: vec![0],
            epsilons: Vec::new(),
            terminated: Vec::new(),
            sequence_episodes: vec![0],
            sequence_offsets: vec![0],
        }
    }

    /// The number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.actions.len()
    }

    /// The number of episodes.
    #[must_use]
    pub fn episodes(&self) -> usize {
        self.epsilons.len()
    }

    /// The number of sequences.
    #[must_use]
    pub fn sequences(&self) -> usize {
        self.sequence_offsets.len() - 1
    }

    /// The steps of an episode (counted over the whole batch).
    #[must_use]
    pub fn episode_steps(&self, episode: usize) -> Range<usize> {
        self.episode_offsets[episode]..self.episode_offsets[episode + 1]
    }

    /// The steps of a sequence.
    #[must_use]
    pub fn sequence_steps(&self, sequence: usize) -> Range<usize> {
        self.sequence_offsets[sequence]..self.sequence_offsets[sequence + 1]
    }

    /// The episodes of a sequence.
    #[must_use]
    pub fn sequence_episodes(&self, sequence: usize) -> Range<usize> {
        self.sequence_episodes[sequence]..self.sequence_episodes[sequence + 1]
    }

    /// The probability of every action at a step.
    #[must_use]
    pub fn step_probabilities(&self, step: usize) -> &[f32] {
        &self.probabilities[step * self.action_count..(step + 1) * self.action_count]
    }

    /// π(a|o): the probability of the action that was taken at a step.
    #[must_use]
    pub fn taken_probability(&self, step: usize) -> f32 {
        self.step_probabilities(step)[self.actions[step] as usize]
    }

    /// The sum of an episode's rewards.
    #[must_use]
    pub fn episode_return(&self, episode: usize) -> f32 {
        self.rewards[self.episode_steps(episode)].iter().sum()
    }

    /// What is learned at a step.
    #[must_use]
    pub fn label(&self, step: usize) -> StepLabel {
        self.labels.get(step).copied().unwrap_or_default()
    }

    /// The label of the step that is about to be written.
    pub(crate) fn push_label(&mut self, label: StepLabel) {
        self.labels.resize(self.steps(), StepLabel::Own);
        self.labels.push(label);
    }

    /// Nothing is learned from the steps so far.
    pub(crate) fn skip_labels(&mut self) {
        self.labels.clear();
        self.labels.resize(self.steps(), StepLabel::Skipped);
    }

    /// Empty again.
    pub(crate) fn clear(&mut self) {
        self.observations.clear();
        self.actions.clear();
        self.rewards.clear();
        self.probabilities.clear();
        self.labels.clear();
        self.epsilons.clear();
        self.terminated.clear();
        for offsets in [&mut self.episode_offsets, &mut self.sequence_episodes, &mut self.sequence_offsets] {
            offsets.truncate(1);
        }
    }

    /// Makes room for more.
    pub(crate) fn reserve(&mut self, steps: usize, episodes: usize) {
        self.observations.reserve(steps);
        self.actions.reserve(steps);
        self.rewards.reserve(steps);
        self.probabilities.reserve(steps * self.action_count);
        self.episode_offsets.reserve(episodes);
        self.epsilons.reserve(episodes);
        self.terminated.reserve(episodes);
    }

    /// Marks the end of an episode.
    pub(crate) fn end_episode(&mut self, epsilon: f32, terminated: bool) {
        self.epsilons.push(epsilon);
        self.terminated.push(terminated);
        self.episode_offsets.push(self.steps());
    }

    /// Marks the end of a sequence.
    pub(crate) fn end_sequence(&mut self) {
        self.sequence_episodes.push(self.episodes());
        self.sequence_offsets.push(self.steps());
    }

    /// Appends the sequences of another batch of the same world.
    pub(crate) fn append(&mut self, other: &Self) -> Result<(), WorldError> {
        let (steps, episodes) = (self.steps(), self.episodes());
        if !self.observations.append(&other.observations) {
            return Err(WorldError::ObservationKind { world: self.world.clone() });
        }
        self.actions.extend_from_slice(&other.actions);
        self.rewards.extend_from_slice(&other.rewards);
        self.probabilities.extend_from_slice(&other.probabilities);
        if !(self.labels.is_empty() && other.labels.is_empty()) {
            self.labels.resize(steps, StepLabel::Own);
            self.labels.extend_from_slice(&other.labels);
            self.labels.resize(self.steps(), StepLabel::Own);
        }
        self.epsilons.extend_from_slice(&other.epsilons);
        self.terminated.extend_from_slice(&other.terminated);
        self.episode_offsets.extend(other.episode_offsets[1..].iter().map(|offset| offset + steps));
        self.sequence_offsets.extend(other.sequence_offsets[1..].iter().map(|offset| offset + steps));
        self.sequence_episodes.extend(other.sequence_episodes[1..].iter().map(|offset| offset + episodes));
        Ok(())
    }
}

//! One token a step: o_t, a_{t−1}, r_{t−1}, the episode index k and the step index t; for the paper's networks also
//! c̃_k and c_t. Training and acting write tokens through the same few lines.
//!
//! Tokens may also hold the whole *transition* that led to them. o_{t−1} makes a visit of a place and what came of it one token, so
//! that it is found by one lookup instead of two; and r_{t−1} in a place of a_{t−1}'s own makes the record of every action a plain mean
//! over tokens, which attention computes by itself.

use crate::label::Labels;
use crate::sequences::Sequences;
use crate::task::{GameSpec, ObservationKind};
use icee_nn::batch::{FieldValues, Tokens};
use icee_nn::{FieldKind, FieldSpec};
use icee_worlds::{Observation, Observations};

/// Which returns are inputs of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnInputs {
    /// None: `late`, and AD.
    None,
    /// c̃: the paper's return model.
    Episode,
    /// c: MGDT's action model.
    Step,
    /// c and c̃: the paper's action model.
    Both,
}

impl ReturnInputs {
    fn episode(self) -> bool {
        matches!(self, ReturnInputs::Episode | ReturnInputs::Both)
    }

    fn step(self) -> bool {
        matches!(self, ReturnInputs::Step | ReturnInputs::Both)
    }
}

/// What tokens of one network hold.
#[derive(Clone, Debug)]
pub struct TokenFormat {
    task: GameSpec,
    episodes: usize,
    bins: usize,
    returns: ReturnInputs,
    /// The number of columns, where places are read by column and row.
    columns: Option<usize>,
    /// Whether tokens hold o_{t−1}, and r_{t−1} by action.
    transitions: bool,
}

/// The step before a token's.
#[derive(Clone, Copy, Debug)]
pub struct Previous<'a> {
    /// o_{t−1}.
    pub observation: Observation<'a>,
    /// a_{t−1}.
    pub action: u32,
    /// r_{t−1}.
    pub reward: f32,
}

/// One step, as it becomes a token.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// o_t.
    pub observation: Observation<'a>,
    /// The step before, of the episode before at an episode's first step; none at the very first.
    pub previous: Option<Previous<'a>>,
    /// k, from 0.
    pub episode: usize,
    /// t, from 0.
    pub step: usize,
    /// c_t, sorted into bins.
    pub step_bin: u32,
    /// c̃_k.
    pub episode_rtg: u32,
}

impl TokenFormat {
    /// Tokens of sequences of up to `episodes` episodes.
    #[must_use]
    pub fn new(task: &GameSpec, episodes: usize, bins: usize, returns: ReturnInputs) -> TokenFormat {
        TokenFormat { task: task.clone(), episodes, bins, returns, columns: None, transitions: false }
    }

    /// The same with places read by column and row, if they lie on a grid: what is next to what is then plain to see.
    #[must_use]
    pub fn with_coordinates(self) -> TokenFormat {
        let columns = match self.task.observation {
            ObservationKind::Grid { width, .. } => Some(width),
            ObservationKind::Discrete { .. } | ObservationKind::Vector { .. } => None,
        };
        TokenFormat { columns, ..self }
    }

    /// The same with the whole transition that led to a step.
    #[must_use]
    pub fn with_transitions(self) -> TokenFormat {
        TokenFormat { transitions: true, ..self }
    }

    /// The fields, in order.
    #[must_use]
    pub fn fields(&self) -> Vec<FieldSpec> {
        let mut fields = self.observation_fields("", 0);
        fields.extend([
            FieldSpec::history("action", FieldKind::categorical(self.task.actions + 1)),
            FieldSpec::history("reward", FieldKind::vector(2)),
            FieldSpec::history("episode", FieldKind::categorical(self.episodes)),
            FieldSpec::history("step", FieldKind::categorical(self.task.episode_limit)),
        ]);
        if self.returns.episode() {
            fields.push(FieldSpec::history("episode_rtg", FieldKind::categorical(2)));
        }
        if self.returns.step() {
            fields.push(FieldSpec::history("step_rtg", FieldKind::categorical(self.bins)));
        }
        if self.transitions {
            fields.extend(self.observation_fields("previous_", 1));
            fields.push(FieldSpec::history("reward_by_action", FieldKind::vector(self.task.actions)));
        }
        fields
    }

    /// How an observation is read, with `more` places than there are to stand for none.
    fn observation_fields(&self, prefix: &str, more: usize) -> Vec<FieldSpec> {
        let field = |name: &str, kind| FieldSpec::history(&format!("{prefix}{name}"), kind);
        match (self.columns, self.task.observation) {
            (Some(_), ObservationKind::Grid { width, height }) => vec![
                field("column", FieldKind::categorical(width)),
                field("row", FieldKind::categorical(height + more)),
            ],
            (_, observation) => vec![field("observation", observation.field(more))],
        }
    }

    /// Observations as the values of those fields.
    fn observation_values(&self, observations: Observations) -> Vec<FieldValues> {
        match (observations, self.columns) {
            (Observations::Discrete(places), Some(columns)) => {
                let columns = columns as u32;
                vec![
                    FieldValues::Categorical(places.iter().map(|&place| place % columns).collect()),
                    FieldValues::Categorical(places.iter().map(|&place| place / columns).collect()),
                ]
            }
            (Observations::Discrete(places), None) => vec![FieldValues::Categorical(places)],
            (Observations::Vector { values, .. }, _) => vec![FieldValues::Vector(values)],
        }
    }

    /// An empty list of tokens.
    #[must_use]
    pub fn writer(&self) -> TokenWriter<'_> {
        TokenWriter {
            format: self,
            offsets: vec![0],
            count: 0,
            observations: self.task.observation.none(),
            previous_observations: self.task.observation.none(),
            rewards_by_action: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            episodes: Vec::new(),
            steps: Vec::new(),
            episode_rtg: Vec::new(),
            step_rtg: Vec::new(),
        }
    }

    /// The tokens of labelled sequences.
    #[must_use]
    pub fn tokens(&self, sequences: &Sequences, labels: &Labels) -> Tokens {
        let data = &*sequences.data;
        let mut writer = self.writer();
        let mut row = 0;
        for order in &sequences.order {
            let mut previous = None;
            for (episode, &index) in order.iter().enumerate() {
                for (step, at) in data.episode_steps(index).enumerate() {
                    if let Some(observation) = data.observations.get(at) {
                        let (step_bin, episode_rtg) = (labels.step_bins[row], labels.episode_rtg[row]);
                        writer.push(&Token { observation, previous, episode, step, step_bin, episode_rtg });
                        let (action, reward) = (data.actions[at], data.rewards[at]);
                        previous = Some(Previous { observation, action, reward });
                    }
                    row += 1;
                }
            }
            writer.end_sequence();
        }
        writer.finish()
    }
}

/// Tokens being written, field by field.
pub struct TokenWriter<'a> {
    format: &'a TokenFormat,
    offsets: Vec<usize>,
    count: usize,
    observations: Observations,
    previous_observations: Observations,
    rewards_by_action: Vec<f32>,
    actions: Vec<u32>,
    rewards: Vec<f32>,
    episodes: Vec<u32>,
    steps: Vec<u32>,
    episode_rtg: Vec<u32>,
    step_rtg: Vec<u32>,
}

impl TokenWriter<'_> {
    /// Appends a token to the current sequence. Indices past those known are held at the last known.
    pub fn push(&mut self, token: &Token<'_>) {
        let task = &self.format.task;
        push_seen(task, &mut self.observations, token.observation);
        let none = task.actions as u32;
        self.actions.push(token.previous.map_or(none, |previous| previous.action));
        match token.previous {
            Some(Previous { reward, .. }) => self.rewards.extend([task.scaled_reward(reward), 0.0]),
            None => self.rewards.extend([0.0, 1.0]),
        }
        if self.format.transitions {
            self.push_transition(token.previous);
        }
        self.episodes.push(token.episode.min(self.format.episodes - 1) as u32);
        self.steps.push(token.step.min(task.episode_limit - 1) as u32);
        self.episode_rtg.push(token.episode_rtg);
        self.step_rtg.push(token.step_bin);
        self.count += 1;
    }

    fn push_transition(&mut self, previous: Option<Previous<'_>>) {
        let task = &self.format.task;
        let first = self.rewards_by_action.len();
        self.rewards_by_action.resize(first + task.actions, 0.0);
        match previous {
            Some(Previous { observation, action, reward }) => {
                push_seen(task, &mut self.previous_observations, observation);
                if let Some(place) = self.rewards_by_action[first..].get_mut(action as usize) {
                    *place = task.scaled_reward(reward);
                }
            }
            None => match &mut self.previous_observations {
                Observations::Discrete(places) => places.push(task.observation.size() as u32),
                Observations::Vector { width, values } => values.resize(values.len() + *width, 0.0),
            },
        }
    }

    /// The current sequence is complete.
    pub fn end_sequence(&mut self) {
        self.offsets.push(self.count);
    }

    /// All tokens.
    #[must_use]
    pub fn finish(self) -> Tokens {
        let mut fields = self.format.observation_values(self.observations);
        fields.extend([
            FieldValues::Categorical(self.actions),
            FieldValues::Vector(self.rewards),
            FieldValues::Categorical(self.episodes),
            FieldValues::Categorical(self.steps),
        ]);
        if self.format.returns.episode() {
            fields.push(FieldValues::Categorical(self.episode_rtg));
        }
        if self.format.returns.step() {
            fields.push(FieldValues::Categorical(self.step_rtg));
        }
        if self.format.transitions {
            fields.extend(self.format.observation_values(self.previous_observations));
            fields.push(FieldValues::Vector(self.rewards_by_action));
        }
        Tokens::new(self.offsets, fields)
    }
}

/// Appends an observation as networks see it. One of another kind than the task's is left out: the engine's own check of the batch
/// refuses the missing value.
fn push_seen(task: &GameSpec, list: &mut Observations, seen: Observation<'_>) {
    match (list, seen) {
        (Observations::Discrete(places), Observation::Discrete(place)) => places.push(place),
        (Observations::Vector { width, values }, Observation::Vector(new)) if new.len() == *width => {
            task.scale_reals(new, values);
        }
        _ => {}
    }
}

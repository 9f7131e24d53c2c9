//! One token a step: o_t, a_{t−1}, r_{t−1}, the episode index k and the step index t; for the paper's networks also
//! c̃_k and c_t. Training and acting write tokens through the same few lines.

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
}

/// One step, as it becomes a token.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// o_t.
    pub observation: Observation<'a>,
    /// a_{t−1} and r_{t−1}, of the episode before at an episode's first step; none at the very first.
    pub previous: Option<(u32, f32)>,
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
        TokenFormat { task: task.clone(), episodes, bins, returns, columns: None }
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

    /// The fields, in order.
    #[must_use]
    pub fn fields(&self) -> Vec<FieldSpec> {
        let mut fields = match (self.columns, self.task.observation) {
            (Some(_), ObservationKind::Grid { width, height }) => vec![
                FieldSpec::history("column", FieldKind::categorical(width)),
                FieldSpec::history("row", FieldKind::categorical(height)),
            ],
            (_, observation) => vec![FieldSpec::history("observation", observation.field())],
        };
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
        fields
    }

    /// An empty list of tokens.
    #[must_use]
    pub fn writer(&self) -> TokenWriter<'_> {
        TokenWriter {
            format: self,
            offsets: vec![0],
            count: 0,
            observations: self.task.observation.none(),
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
                    }
                    previous = Some((data.actions[at], data.rewards[at]));
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
        // One of another kind than the task's is left out: the engine's own check of the batch refuses the missing value.
        let _ = self.observations.push(token.observation);
        self.actions.push(token.previous.map_or(task.actions as u32, |(action, _)| action));
        match token.previous {
            Some((_, reward)) => self.rewards.extend([task.scaled_reward(reward), 0.0]),
            None => self.rewards.extend([0.0, 1.0]),
        }
        self.episodes.push(token.episode.min(self.format.episodes - 1) as u32);
        self.steps.push(token.step.min(task.episode_limit - 1) as u32);
        self.episode_rtg.push(token.episode_rtg);
        self.step_rtg.push(token.step_bin);
        self.count += 1;
    }

    /// The current sequence is complete.
    pub fn end_sequence(&mut self) {
        self.offsets.push(self.count);
    }

    /// All tokens.
    #[must_use]
    pub fn finish(self) -> Tokens {
        let mut fields = match (self.observations, self.format.columns) {
            (Observations::Discrete(places), Some(columns)) => vec![
                FieldValues::Categorical(places.iter().map(|&place| place % columns as u32).collect()),
                FieldValues::Categorical(places.iter().map(|&place| place / columns as u32).collect()),
            ],
            (Observations::Discrete(places), None) => vec![FieldValues::Categorical(places)],
            (Observations::Vector { values, .. }, _) => vec![FieldValues::Vector(values)],
        };
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
        Tokens::new(self.offsets, fields)
    }
}

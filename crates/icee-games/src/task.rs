//! The task of a model: sizes and ranges, and whether it came from a world or from logs. It is stored in the checkpoint, so that
//! an agent needs nothing else.

use crate::{Error, Result};
use icee_nn::FieldKind;
use icee_worlds::{Observation, ObservationSpace, Observations, WorldSpec};
use serde::{Deserialize, Serialize};

/// The name of games that are known from a log alone.
pub const LOGS: &str = "logs";

/// Sizes and ranges of a family of games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameSpec {
    /// The world's id, or `logs`.
    pub name: String,
    /// What is seen.
    pub observation: ObservationKind,
    /// The number of actions.
    pub actions: usize,
    /// T: the most steps of an episode.
    pub episode_limit: usize,
    /// K: episodes of a sequence.
    pub episodes: usize,
    /// `[c_min, c_max]` of the in-episode return-to-go.
    pub return_range: (f32, f32),
    /// The least and the greatest reward.
    pub reward_range: (f32, f32),
    /// Classes into which rewards are sorted for the auxiliary head.
    pub reward_classes: usize,
    /// Whether a step without reward counts −1/T in c, in units of rewards. Not in worlds whose rewards can be negative.
    #[serde(default = "yes", skip_serializing_if = "is_so")]
    pub idle_costs: bool,
    /// That unit: 1, or the greatest reward of a log, so that nothing depends on what rewards are counted in.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub reward_unit: f32,
    /// Mean and standard deviation of every column of real observations: networks see (o − mean) / standard deviation. None shows them as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation_scale: Option<Vec<[f32; 2]>>,
}

fn yes() -> bool {
    true
}

/// What older programs take for granted is not written down, so that they can read it.
fn is_so(value: &bool) -> bool {
    *value
}

fn one() -> f32 {
    1.0
}

fn is_one(value: &f32) -> bool {
    *value == 1.0
}

/// Classes of rewards that are reals.
pub(crate) const REWARD_CLASSES: usize = 16;

/// What one observation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum ObservationKind {
    /// One of `size` things.
    Discrete {
        /// How many there are.
        size: usize,
    },
    /// A cell of a grid, seen as its number, row by row.
    Grid {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// `size` reals.
    Vector {
        /// How many reals.
        size: usize,
    },
}

impl ObservationKind {
    /// How many things there are to be seen, or how many reals one is.
    pub(crate) fn size(self) -> usize {
        match self {
            ObservationKind::Discrete { size } | ObservationKind::Vector { size } => size,
            ObservationKind::Grid { width, height } => width.saturating_mul(height),
        }
    }

    /// How a network reads it in one piece, with `more` places than there are.
    pub(crate) fn field(self, more: usize) -> FieldKind {
        match self {
            ObservationKind::Discrete { .. } | ObservationKind::Grid { .. } => {
                FieldKind::categorical(self.size() + more)
            }
            ObservationKind::Vector { size } => FieldKind::vector(size),
        }
    }

    /// No observations yet.
    pub(crate) fn none(self) -> Observations {
        match self {
            ObservationKind::Discrete { .. } | ObservationKind::Grid { .. } => Observations::Discrete(Vec::new()),
            ObservationKind::Vector { size } => Observations::Vector { width: size, values: Vec::new() },
        }
    }

    /// What a user has to know of it.
    pub(crate) fn describe(self) -> String {
        match self {
            ObservationKind::Discrete { .. } | ObservationKind::Grid { .. } => {
                format!("{} place{}", self.size(), if self.size() == 1 { "" } else { "s" })
            }
            ObservationKind::Vector { size: 1 } => "1 number".into(),
            ObservationKind::Vector { size } => format!("{size} numbers"),
        }
    }

    /// What a single observation must be, in words.
    pub(crate) fn describe_one(self) -> String {
        match self {
            ObservationKind::Discrete { size } => format!("a number from 0 to {}", size - 1),
            ObservationKind::Grid { width, height } => {
                let last = self.size() - 1;
                format!("a cell of {width} x {height}: a number from 0 to {last}, row by row, or (x, y)")
            }
            ObservationKind::Vector { size } => format!("{size} finite number{}", if size == 1 { "" } else { "s" }),
        }
    }
}

impl GameSpec {
    /// Whether the games are known from a log alone, so that there is no world of them.
    #[must_use]
    pub fn is_of_logs(&self) -> bool {
        self.name == LOGS
    }

    /// The task of a world.
    #[must_use]
    pub fn of_world(spec: &WorldSpec) -> GameSpec {
        let observation = match &spec.observation_space {
            ObservationSpace::Discrete { size } => ObservationKind::Discrete { size: *size },
            ObservationSpace::Grid { width, height } => ObservationKind::Grid { width: *width, height: *height },
            ObservationSpace::Vector { low, .. } => ObservationKind::Vector { size: low.len() },
        };
        GameSpec {
            name: spec.id.clone(),
            observation,
            actions: spec.actions(),
            episode_limit: spec.episode_limit,
            episodes: spec.episodes,
            return_range: spec.return_range,
            reward_range: spec.reward_range,
            reward_classes: spec.reward_levels.unwrap_or(REWARD_CLASSES),
            idle_costs: spec.idle_price() > 0.0,
            reward_unit: one(),
            observation_scale: None,
        }
    }

    /// Checks what was read from a file.
    ///
    /// # Errors
    /// [`Error::Config`] with the field.
    pub fn check(&self) -> Result<()> {
        for (what, value) in [
            ("observation.size", self.observation.size()),
            ("actions", self.actions),
            ("episode_limit", self.episode_limit),
            ("episodes", self.episodes),
            ("reward_classes", self.reward_classes),
        ] {
            if value == 0 || value > 1 << 20 {
                return Err(Error::Config(format!("task.{what} is {value}; it must be from 1 to 2^20")));
            }
        }
        for (what, (low, high)) in [("return_range", self.return_range), ("reward_range", self.reward_range)] {
            if !(low.is_finite() && high.is_finite() && low < high) {
                return Err(Error::Config(format!("task.{what} is ({low}, {high}); it must be finite and increase")));
            }
        }
        if !(self.reward_unit.is_finite() && self.reward_unit > 0.0) {
            let unit = self.reward_unit;
            return Err(Error::Config(format!("task.reward_unit is {unit}; it must be finite and above 0")));
        }
        if let Some(scale) = &self.observation_scale {
            let fits = matches!(self.observation, ObservationKind::Vector { size } if size == scale.len());
            if !fits
                || scale
                    .iter()
                    .any(|[mean, deviation]| !(mean.is_finite() && *deviation > 0.0 && deviation.is_finite()))
            {
                return Err(Error::Config("task.observation_scale does not fit the observations".into()));
            }
        }
        Ok(())
    }

    /// Checks that a world is seen and played as these games are, so that their model can play it.
    ///
    /// # Errors
    /// [`Error::Config`] with both.
    pub fn check_world(&self, world: &WorldSpec) -> Result<()> {
        let theirs = GameSpec::of_world(world);
        if (theirs.observation.field(0), theirs.actions) == (self.observation.field(0), self.actions) {
            return Ok(());
        }
        let shape = |task: &GameSpec| format!("{}, {} actions", task.observation.describe(), task.actions);
        Err(Error::Config(format!(
            "{} ({}) is seen or played in another way than {} ({}), on which the model was trained",
            world.id,
            shape(&theirs),
            self.name,
            shape(self)
        )))
    }

    /// The most tokens of a sequence of `episodes` episodes.
    #[must_use]
    pub fn tokens(&self, episodes: usize) -> usize {
        self.episode_limit * episodes
    }

    /// What a step without reward costs in c.
    #[must_use]
    pub fn idle_price(&self) -> f32 {
        if self.idle_costs { self.reward_unit / self.episode_limit as f32 } else { 0.0 }
    }

    /// Real observations as the model sees them, appended to `out`.
    pub(crate) fn scale_reals(&self, values: &[f32], out: &mut Vec<f32>) {
        match &self.observation_scale {
            Some(scale) => {
                out.extend(values.iter().zip(scale).map(|(value, [mean, deviation])| (value - mean) / deviation))
            }
            None => out.extend(values),
        }
    }

    /// Rewards as the model sees them: divided by the greatest magnitude.
    #[must_use]
    pub fn scaled_reward(&self, reward: f32) -> f32 {
        reward / self.reward_range.0.abs().max(self.reward_range.1.abs())
    }

    /// The class of a reward for the auxiliary head.
    #[must_use]
    pub fn reward_class(&self, reward: f32) -> u32 {
        let (low, high) = self.reward_range;
        let share = ((reward - low) / (high - low)).clamp(0.0, 1.0);
        (share * (self.reward_classes - 1) as f32).round() as u32
    }

    /// Whether an observation is one of this task.
    #[must_use]
    pub fn sees(&self, observation: Observation<'_>) -> bool {
        match (self.observation, observation) {
            (
                kind @ (ObservationKind::Discrete { .. } | ObservationKind::Grid { .. }),
                Observation::Discrete(index),
            ) => (index as usize) < kind.size(),
            (ObservationKind::Vector { size }, Observation::Vector(values)) => {
                // As the networks see them: a small standard deviation makes great numbers endless.
                let mut scaled = Vec::new();
                self.scale_reals(values, &mut scaled);
                values.len() == size && scaled.iter().all(|v| v.is_finite())
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_worlds::Registry;

    fn task(id: &str) -> GameSpec {
        GameSpec::of_world(Registry::builtin().make(id).expect("a world").spec())
    }

    /// What is written down of the paper's worlds is what it always was, and can be read by older programs.
    #[test]
    fn worlds_that_pay_nothing_or_one_are_written_as_they_were() {
        let room = task("DarkRoom-v0");
        assert_eq!((room.reward_range, room.reward_classes, room.idle_price()), ((0.0, 1.0), 2, 1.0 / 20.0));
        let text = serde_json::to_string(&room).expect("JSON");
        assert!(!text.contains("idle") && !text.contains("unit"), "{text}");
        assert_eq!(serde_json::from_str::<GameSpec>(&text).expect("a task"), room);
    }

    #[test]
    fn rewards_that_are_reals_have_classes_of_their_own_and_no_price() {
        let bandit = task("GaussianBandit5-v0");
        bandit.check().expect("a task that works");
        assert_eq!((bandit.reward_classes, bandit.idle_price()), (REWARD_CLASSES, 0.0));
        let (low, high) = bandit.reward_range;
        assert_eq!([low, high].map(|reward| bandit.reward_class(reward)), [0, REWARD_CLASSES as u32 - 1]);
        assert!([low, high, 0.3].iter().all(|&reward| bandit.scaled_reward(reward).abs() <= 1.0));
        let text = serde_json::to_string(&bandit).expect("JSON");
        assert_eq!(serde_json::from_str::<GameSpec>(&text).expect("a task"), bandit);
    }
}

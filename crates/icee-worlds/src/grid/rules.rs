//! The one definition of all dark rooms: what varies between them, and what must hold for it to work.

use super::room::{ACTION_NAMES, ACTIONS, Cell, Room};
use crate::{LEAST_RETURN_TO_GO, ObservationSpace, Split, WorldError, WorldSpec};

/// The most cells that a room may have.
const MAX_CELLS: u64 = 1 << 20;

/// Everything in which one dark room differs from another. Unchecked: [`GridWorld::new`](super::GridWorld::new)
/// checks.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRules {
    /// The versioned id, `Name-v0`.
    pub id: String,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Where an episode starts.
    pub start: Start,
    /// What is to be found, and how it pays.
    pub goals: Goals,
    /// Whether an episode is over once nothing more can be earned. (Has no meaning where the goal always pays.)
    pub ends_early: bool,
    /// T: the most steps of an episode.
    pub episode_limit: usize,
    /// K: the episodes of a sequence.
    pub episodes: usize,
    /// An action that the behaviour policy prefers for no good reason.
    pub bias: Option<Bias>,
    /// Where goals lie in the games of evaluation, and in those of training.
    pub split: GoalSplit,
    /// Cells along each wall that cannot be entered: a smaller room whose cells keep the numbers of the larger one.
    pub margin: u32,
}

/// Where goals lie in the games of evaluation, and in those of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalSplit {
    /// Anywhere in both.
    None,
    /// Evaluation games have their goals in the columns x greater than this, training games anywhere.
    RightOf(u32),
    /// Evaluation games have their goals in a fifth of the cells, evenly spread, and training games in the others.
    HeldOut,
}

impl GoalSplit {
    /// No goal of a game lies further left than this column.
    pub(super) fn first_column(self, split: Split) -> u32 {
        match (self, split) {
            (Self::RightOf(x), Split::Evaluation) => x.saturating_add(1),
            _ => 0,
        }
    }

    /// Whether the goal of a game may lie there.
    pub(super) fn allows(self, cell: Cell, split: Split) -> bool {
        let is_held_out = (cell.x + 2 * cell.y).is_multiple_of(5);
        let side = self != Self::HeldOut || is_held_out == (split == Split::Evaluation);
        side && cell.x >= self.first_column(split)
    }
}

/// Where an episode starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Always in the same cell.
    At {
        /// Column.
        x: u32,
        /// Row.
        y: u32,
    },
    /// Anywhere, uniformly.
    Uniform,
    /// Anywhere but on the first goal, uniformly.
    UniformOffFirstGoal,
}

/// What is to be found, and how it pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goals {
    /// One goal that pays 1 for every step spent on it.
    EveryStep,
    /// One goal that pays 1 once.
    Once,
    /// A key that pays 1 once, and then a door that pays 1 once. They may share a cell; each takes a step.
    KeyThenDoor,
}

impl Goals {
    pub(super) fn count(self) -> usize {
        match self {
            Self::EveryStep | Self::Once => 1,
            Self::KeyThenDoor => 2,
        }
    }
}

/// With `probability` the behaviour policy takes `action` without looking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bias {
    /// The preferred action.
    pub action: usize,
    /// How often it is taken blindly.
    pub probability: f32,
}

impl GridRules {
    pub(super) fn room(&self) -> Room {
        Room { width: self.width, height: self.height, margin: self.margin }
    }

    /// Turns the rules into the spec of a world, or says why they cannot work.
    pub(crate) fn check(&self) -> Result<WorldSpec, WorldError> {
        let fail = |reason: String| Err(WorldError::InvalidRules { id: self.id.clone(), reason });
        let cells = u64::from(self.width) * u64::from(self.height);
        if cells == 0 || cells > MAX_CELLS {
            return fail(format!("the room has {cells} cells; it needs 1 to {MAX_CELLS}"));
        }
        if self.episode_limit == 0 || self.episodes == 0 {
            return fail("an episode needs at least one step and a sequence at least one episode".into());
        }
        if self.room().inner() == 0 {
            return fail(format!(
                "a margin of {} leaves nothing of {} x {} cells",
                self.margin, self.width, self.height
            ));
        }
        match self.start {
            Start::At { x, y } if !self.room().contains(Cell { x, y }) => {
                return fail(format!("the start ({x}, {y}) is outside the {} x {} room", self.width, self.height));
            }
            Start::UniformOffFirstGoal if self.room().inner() == 1 => {
                return fail("a start off the goal needs a room of at least 2 cells".into());
            }
            _ => {}
        }
        if let Some(Bias { action, probability }) = self.bias
            && (action >= ACTIONS || !(0.0..=1.0).contains(&probability))
        {
            return fail(format!("the bias needs an action below {ACTIONS} and a probability between 0 and 1"));
        }
        for split in [Split::Training, Split::Evaluation] {
            if !self.room().inside().any(|cell| self.split.allows(cell, split)) {
                return fail(match self.split {
                    GoalSplit::RightOf(x) => format!("there is no column to the right of x = {x}"),
                    _ => "a room this small has no cells to hold out".into(),
                });
            }
        }
        let most = match self.goals {
            Goals::EveryStep => self.episode_limit as f32,
            Goals::Once => 1.0,
            Goals::KeyThenDoor => 2.0,
        };
        Ok(WorldSpec {
            id: self.id.clone(),
            rules: self.describe(),
            observation_space: ObservationSpace::Grid { width: self.width as usize, height: self.height as usize },
            action_names: ACTION_NAMES.map(String::from).to_vec(),
            episode_limit: self.episode_limit,
            episodes: self.episodes,
            return_range: (LEAST_RETURN_TO_GO, most),
            reward_range: (0.0, 1.0),
            reward_levels: Some(2),
        })
    }

    /// The rules in one line, written from the rules themselves so that they cannot disagree.
    fn describe(&self) -> String {
        let centre = Cell { x: self.width / 2, y: self.height / 2 };
        let start = match self.start {
            Start::At { x, y } if (Cell { x, y }) == centre => "starts at the centre".into(),
            Start::At { x, y } => format!("starts at ({x}, {y})"),
            Start::Uniform => "starts anywhere".into(),
            Start::UniformOffFirstGoal => match self.goals {
                Goals::KeyThenDoor => "starts anywhere but on the key".into(),
                Goals::EveryStep | Goals::Once => "starts anywhere but on the goal".into(),
            },
        };
        let (pay, end) = match self.goals {
            Goals::EveryStep => ("1 at every step on the goal", None),
            Goals::Once => ("1 once, on reaching the goal", Some("the goal")),
            Goals::KeyThenDoor => ("1 once for the key, then 1 once for the door", Some("the door")),
        };
        let mut rules = format!("{} x {} cells; {start}; {pay}", self.width, self.height);
        match end {
            Some(end) if self.ends_early => rules += &format!("; ends at {end}"),
            Some(_) => rules += "; always lasts T steps",
            None => {}
        }
        if let Some(Bias { action, probability }) = self.bias {
            rules += &format!("; behaviour takes \"{}\" with {probability:.2}", ACTION_NAMES[action]);
        }
        match self.split {
            GoalSplit::None => {}
            GoalSplit::RightOf(x) => rules += &format!("; evaluation goals x > {x}"),
            GoalSplit::HeldOut => rules += "; evaluation goals in a fifth of the cells, without training goals",
        }
        if self.margin > 0 {
            rules += &format!("; walls {} cell(s) further in", self.margin);
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GridWorld, presets};
    use super::*;

    #[test]
    fn rules_that_cannot_work_are_refused_with_the_reason() {
        let good = presets().swap_remove(2);
        let bias = |action, probability| Some(Bias { action, probability });
        for (rules, reason) in [
            (GridRules { width: 0, ..good.clone() }, "0 cells"),
            (GridRules { width: u32::MAX, height: u32::MAX, ..good.clone() }, "cells"),
            (GridRules { episode_limit: 0, ..good.clone() }, "at least one step"),
            (GridRules { episodes: 0, ..good.clone() }, "at least one episode"),
            (GridRules { start: Start::At { x: 9, y: 0 }, ..good.clone() }, "outside the 9 x 9 room"),
            (GridRules { width: 1, height: 1, start: Start::UniformOffFirstGoal, ..good.clone() }, "2 cells"),
            (GridRules { bias: bias(5, 0.5), ..good.clone() }, "below 5"),
            (GridRules { bias: bias(0, f32::NAN), ..good.clone() }, "between 0 and 1"),
            (GridRules { split: GoalSplit::RightOf(8), ..good.clone() }, "to the right of x = 8"),
            (GridRules { margin: 5, ..good.clone() }, "leaves nothing"),
            (GridRules { margin: 1, start: Start::At { x: 0, y: 4 }, ..good.clone() }, "outside"),
            (GridRules { margin: 4, split: GoalSplit::HeldOut, ..good.clone() }, "hold out"),
        ] {
            let error = GridWorld::new(rules).expect_err(reason).to_string();
            assert!(error.contains(reason), "{error}");
        }
        let mut room = GridWorld::new(good).expect("a preset");
        for goals in [&[][..], &[(9, 0)], &[(0, 0), (0, 0)]] {
            let error = room.place_goals(goals).expect_err("goals that cannot be").to_string();
            assert!(error.contains("1 goal(s) within 9 x 9 cells"), "{error}");
        }
    }

    /// The rooms of the paper and of others, as they were pinned down.
    #[test]
    fn presets_are_what_was_pinned_down() {
        let pinned: Vec<_> = presets()
            .into_iter()
            .map(|r| (r.id, (r.width, r.height), r.episode_limit, r.episodes, r.start, r.ends_early))
            .collect();
        let centre = Start::At { x: 4, y: 4 };
        let expected = [
            ("DarkRoom-v0", (9, 9), 20, 50, centre, false),
            ("DarkRoomHard-v0", (9, 9), 20, 50, centre, true),
            ("DarkRoomBiased-v0", (9, 9), 20, 50, centre, false),
            ("DarkKeyToDoor-v0", (9, 9), 50, 20, Start::Uniform, true),
            ("DarkRoomHard17-v0", (17, 17), 20, 50, Start::At { x: 8, y: 8 }, true),
            ("DarkKeyToDoorAdEps-v0", (9, 9), 40, 20, Start::UniformOffFirstGoal, true),
            ("DarkKeyToDoorDicp-v0", (9, 9), 50, 20, centre, false),
            ("DarkRoomDpt-v0", (10, 10), 100, 50, Start::At { x: 0, y: 0 }, false),
            ("DarkRoomTiny-v0", (5, 5), 8, 16, Start::At { x: 2, y: 2 }, false),
            ("DarkRoomHardTiny-v0", (5, 5), 8, 16, Start::At { x: 2, y: 2 }, true),
            ("DarkRoomHeldOut-v0", (9, 9), 20, 50, centre, false),
            ("DarkRoomHardHeldOut-v0", (9, 9), 20, 50, centre, true),
            ("DarkKeyToDoorHeldOut-v0", (9, 9), 50, 20, Start::Uniform, true),
            ("DarkRoomAnyStart-v0", (9, 9), 20, 50, Start::Uniform, false),
            ("DarkRoomInner7-v0", (9, 9), 20, 50, centre, false),
            ("DarkRoom17-v0", (17, 17), 40, 40, Start::At { x: 8, y: 8 }, false),
            ("DarkRoom20-v0", (20, 20), 50, 40, Start::At { x: 10, y: 10 }, false),
        ];
        assert_eq!(pinned, expected.map(|(id, room, t, k, start, early)| (id.to_owned(), room, t, k, start, early)));
    }
}

//! A dark room in play.

use super::informed::InformedPolicy;
use super::room::{ACTIONS, Cell, Room};
use super::rules::{Goals, GridRules, Start};
use super::search::{SearchPolicy, Strategy};
use crate::{EpisodeClock, Observation, Policy, Split, Step, StreamRng, World, WorldError, WorldSpec};
use icee_base::names::Unknown;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

/// A dark room in play: the agent sees its own cell and nothing else.
#[derive(Debug)]
pub struct GridWorld {
    rules: Arc<GridRules>,
    spec: Arc<WorldSpec>,
    room: Room,
    /// The hidden part: the goal, or the key and the door. Only the first `rules.goals.count()` are used.
    goals: [Cell; 2],
    cell: Cell,
    /// How many of the goals that pay once have been reached in this episode.
    stage: usize,
    clock: EpisodeClock,
}

impl Clone for GridWorld {
    fn clone(&self) -> Self {
        Self { rules: Arc::clone(&self.rules), spec: Arc::clone(&self.spec), ..*self }
    }

    /// Copies of one room share its rules, and leave their counts alone: threads that copy rooms all the time would only
    /// wait for each other there.
    fn clone_from(&mut self, other: &Self) {
        if !(Arc::ptr_eq(&self.rules, &other.rules) && Arc::ptr_eq(&self.spec, &other.spec)) {
            return *self = other.clone();
        }
        let Self { rules: _, spec: _, room, goals, cell, stage, clock } = other;
        (self.room, self.goals, self.cell, self.stage, self.clock) = (*room, *goals, *cell, *stage, *clock);
    }
}

impl GridWorld {
    /// A room by these rules, with the training game of seed 0 dealt.
    ///
    /// # Errors
    /// [`WorldError::InvalidRules`].
    pub fn new(rules: GridRules) -> Result<Self, WorldError> {
        let spec = Arc::new(rules.check()?);
        let corner = Cell { x: 0, y: 0 };
        let mut world = Self {
            room: rules.room(),
            rules: Arc::new(rules),
            spec,
            goals: [corner; 2],
            cell: corner,
            stage: 0,
            clock: EpisodeClock::default(),
        };
        world.new_game(0, Split::Training);
        Ok(world)
    }

    /// One of the [`presets`](super::presets), by its id.
    ///
    /// # Errors
    /// [`WorldError::Unknown`] with the nearest names.
    pub fn preset(id: &str) -> Result<Self, WorldError> {
        let mut presets = super::presets();
        match presets.iter().position(|rules| rules.id == id) {
            Some(at) => Self::new(presets.swap_remove(at)),
            None => {
                let known: Vec<&str> = presets.iter().map(|rules| rules.id.as_str()).collect();
                Err(Unknown::new("room", id, &known).into())
            }
        }
    }

    /// Hides the goals in cells of your choice instead of drawing them: one (x, y) for each goal. A running
    /// episode is over.
    ///
    /// # Errors
    /// [`WorldError::InvalidRules`] where the number of goals is another or a cell lies outside the room.
    pub fn place_goals(&mut self, goals: &[(u32, u32)]) -> Result<(), WorldError> {
        let count = self.rules.goals.count();
        let inside = |&(x, y): &(u32, u32)| self.room.contains(Cell { x, y });
        if goals.len() != count || !goals.iter().all(inside) {
            let reason = format!("it needs {count} goal(s) within {} x {} cells", self.room.width, self.room.height);
            return Err(WorldError::InvalidRules { id: self.spec.id.clone(), reason });
        }
        for (slot, &(x, y)) in self.goals.iter_mut().zip(goals) {
            *slot = Cell { x, y };
        }
        self.clock.stop();
        Ok(())
    }

    /// Where the goals are hidden, as [`place_goals`](Self::place_goals) has them.
    #[must_use]
    pub fn goals(&self) -> Vec<(u32, u32)> {
        self.goals[..self.rules.goals.count()].iter().map(|goal| (goal.x, goal.y)).collect()
    }

    /// The cell that an action leads to, by the cells' numbers; the same cell where a wall is in the way. None where there is no such
    /// cell in the room, or no such action.
    #[must_use]
    pub fn leads_to(&self, cell: u32, action: usize) -> Option<u32> {
        let known = cell < self.room.cells() && self.room.contains(self.room.cell(cell)) && action < ACTIONS;
        known.then(|| self.room.index(self.room.moved(self.room.cell(cell), action)))
    }

    pub(super) fn room(&self) -> Room {
        self.room
    }

    #[cfg(test)]
    pub(super) fn goal(&self) -> Cell {
        self.goals[0]
    }

    fn informed(&self) -> InformedPolicy {
        InformedPolicy::new(self.room, self.goals, self.rules.goals)
    }

    fn search(&self, strategy: Strategy) -> Box<dyn Policy> {
        Box::new(SearchPolicy::new(&self.rules, strategy))
    }
}

impl World for GridWorld {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn new_game(&mut self, seed: u64, split: Split) {
        let Room { width, height, margin } = self.room;
        let first_column = margin.max(self.rules.split.first_column(split));
        let mut rng = StreamRng::seed_from_u64(seed);
        for goal in &mut self.goals {
            loop {
                let x = rng.random_range(first_column..width - margin);
                *goal = Cell { x, y: rng.random_range(margin..height - margin) };
                // Some cell is allowed, or the rules would have been refused.
                if self.rules.split.allows(*goal, split) {
                    break;
                }
            }
        }
        self.clock.stop();
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        let inner = self.room.inner();
        self.cell = match self.rules.start {
            Start::At { x, y } => Cell { x, y },
            Start::Uniform => self.room.inner_cell(StreamRng::seed_from_u64(seed).random_range(0..inner)),
            Start::UniformOffFirstGoal => {
                let index = StreamRng::seed_from_u64(seed).random_range(0..inner - 1);
                let drawn = self.room.inner_cell(index);
                let goal = self.goals[0];
                let before_goal = (drawn.y, drawn.x) < (goal.y, goal.x);
                self.room.inner_cell(index + u32::from(!before_goal))
            }
        };
        self.stage = 0;
        self.clock.begin();
        Observation::Discrete(self.room.index(self.cell))
    }

    #[inline]
    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        self.clock.check(&self.spec, action)?;
        self.cell = self.room.moved(self.cell, action);
        let count = self.rules.goals.count();
        let found = self.stage < count && self.cell == self.goals[self.stage];
        if found && self.rules.goals != Goals::EveryStep {
            self.stage += 1;
        }
        let terminated = self.rules.ends_early && self.stage == count;
        let truncated = self.clock.tick(&self.spec, terminated);
        let observation = Observation::Discrete(self.room.index(self.cell));
        Ok(Step { observation, reward: f32::from(u8::from(found)), terminated, truncated })
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        Box::new(self.informed().with_bias(self.rules.bias))
    }

    /// The behaviour policy without its bias, which would take it away from wherever a relabel began.
    fn expert(&self) -> Box<dyn Policy> {
        Box::new(self.informed())
    }

    fn oracle(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.informed().without_noise()))
    }

    fn posterior(&self) -> Option<Box<dyn Policy>> {
        Some(self.search(Strategy::Posterior))
    }

    fn sweep(&self) -> Option<Box<dyn Policy>> {
        Some(self.search(Strategy::Sweep))
    }

    /// The room in two columns a cell, and what the signs mean.
    fn render(&self) -> String {
        let (names, legend) = match self.rules.goals {
            Goals::EveryStep | Goals::Once => ("G", "@ agent, G goal, X agent on it"),
            Goals::KeyThenDoor => ("KD", "@ agent, K key, D door, X agent on it"),
        };
        let hidden = &self.goals[..self.rules.goals.count()];
        let mut picture = String::new();
        for y in 0..self.room.height {
            let row: Vec<String> = (0..self.room.width)
                .map(|x| {
                    let cell = Cell { x, y };
                    let goal = hidden.iter().zip(names.chars()).find(|(goal, _)| **goal == cell);
                    let sign = match (cell == self.cell, goal) {
                        (true, Some(_)) => 'X',
                        (true, None) => '@',
                        (false, Some((_, name))) => name,
                        (false, None) => '.',
                    };
                    sign.to_string()
                })
                .collect();
            picture += &row.join(" ");
            picture.push('\n');
        }
        picture + legend + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DOWN, LEFT, RIGHT, STAY, UP, presets};
    use super::*;

    /// Plays actions from a start of your choice and gives the rewards and how the episode ended.
    fn play(id: &str, start: (u32, u32), goals: &[(u32, u32)], actions: &[usize]) -> (Vec<f32>, bool, bool) {
        let rules = presets().into_iter().find(|rules| rules.id == id).expect("a preset");
        let rules = GridRules { start: Start::At { x: start.0, y: start.1 }, ..rules };
        let mut room = GridWorld::new(rules).expect("rules that work");
        room.place_goals(goals).expect("cells of the room");
        room.reset(0);
        let (mut rewards, mut terminated, mut truncated) = (Vec::new(), false, false);
        for &action in actions {
            let step = room.step(action).expect("a running episode");
            rewards.push(step.reward);
            (terminated, truncated) = (step.terminated, step.truncated);
        }
        (rewards, terminated, truncated)
    }

    #[test]
    fn a_goal_of_ones_own_choice_is_where_it_was_hidden_and_ends_what_was_running() {
        let mut room = GridWorld::preset("DarkRoom-v0").expect("a preset");
        room.reset(0);
        room.place_goals(&[(8, 0)]).expect("a cell of the room");
        assert_eq!(room.goals(), [(8, 0)]);
        assert!(matches!(room.step(STAY), Err(WorldError::EpisodeOver { .. })));
        let refused = room.place_goals(&[(8, 9)]).expect_err("a cell outside").to_string();
        assert!(refused.contains("within 9 x 9 cells"), "{refused}");
        assert_eq!(room.goals(), [(8, 0)], "a goal that cannot be changes nothing");
        let unknown = GridWorld::preset("DarkRom-v0").expect_err("no preset").to_string();
        assert!(unknown.contains("did you mean \"DarkRoom-v0\""), "{unknown}");
    }

    #[test]
    fn actions_lead_where_steps_do() {
        for id in ["DarkRoomTiny-v0", "DarkRoomInner7-v0"] {
            let rules = presets().into_iter().find(|rules| rules.id == id).expect("a preset");
            let (columns, cells) = (rules.width, rules.width * rules.height);
            for cell in 0..cells {
                let start = Start::At { x: cell % columns, y: cell / columns };
                let Ok(mut room) = GridWorld::new(GridRules { start, ..rules.clone() }) else {
                    assert_eq!(
                        GridWorld::preset(id).expect("a preset").leads_to(cell, STAY),
                        None,
                        "within the margin"
                    );
                    continue;
                };
                for action in 0..ACTIONS {
                    room.reset(0);
                    let foreseen = room.leads_to(cell, action).map(Observation::Discrete);
                    assert_eq!(Some(room.step(action).expect("a running episode").observation), foreseen);
                }
                assert_eq!((room.leads_to(cell, ACTIONS), room.leads_to(cells, STAY)), (None, None));
            }
        }
    }

    #[test]
    fn dark_room_pays_at_every_step_on_the_goal_and_lasts_t_steps() {
        let (rewards, ..) = play("DarkRoom-v0", (4, 4), &[(5, 4)], &[RIGHT, STAY, LEFT, RIGHT, UP]);
        assert_eq!(rewards, [1.0, 1.0, 0.0, 1.0, 0.0]);
        // Walking into the wall of the goal's own cell is a step spent on it.
        assert_eq!(play("DarkRoom-v0", (0, 0), &[(0, 0)], &[LEFT, UP]).0, [1.0, 1.0]);
        let (rewards, terminated, truncated) = play("DarkRoom-v0", (4, 4), &[(4, 4)], &[STAY; 20]);
        assert_eq!((rewards.iter().sum(), terminated, truncated), (20.0, false, true));
    }

    #[test]
    fn dark_room_hard_pays_once_and_ends() {
        assert_eq!(play("DarkRoomHard-v0", (4, 4), &[(4, 6)], &[DOWN, DOWN]), (vec![0.0, 1.0], true, false));
        // Nothing is paid for starting on the goal; the first step that ends there pays.
        assert_eq!(play("DarkRoomHard-v0", (4, 4), &[(4, 4)], &[STAY]), (vec![1.0], true, false));
        // The goal at the last step: terminated, and so not truncated.
        let actions = [[STAY; 19].as_slice(), &[UP]].concat();
        let (_, terminated, truncated) = play("DarkRoomHard-v0", (4, 4), &[(4, 3)], &actions);
        assert_eq!((terminated, truncated), (true, false));
    }

    #[test]
    fn key_to_door_pays_for_the_key_and_then_for_the_door() {
        let id = "DarkKeyToDoor-v0";
        // The door first is worth nothing; the key again is worth nothing.
        let (rewards, terminated, _) = play(id, (0, 0), &[(2, 0), (1, 0)], &[RIGHT, RIGHT, STAY, LEFT]);
        assert_eq!((rewards, terminated), (vec![0.0, 1.0, 0.0, 1.0], true));
        // Both in one cell: one step each.
        assert_eq!(play(id, (0, 0), &[(1, 0), (1, 0)], &[RIGHT, STAY]), (vec![1.0, 1.0], true, false));
        // Of fixed length: the episode goes on, and nothing more is paid.
        let fixed = play("DarkKeyToDoorDicp-v0", (0, 0), &[(1, 0), (1, 0)], &[RIGHT, STAY, STAY]);
        assert_eq!(fixed, (vec![1.0, 1.0, 0.0], false, false));
    }
}

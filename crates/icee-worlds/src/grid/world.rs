//! A dark room in play.

use super::informed::InformedPolicy;
use super::room::{Cell, Room};
use super::rules::{Goals, GridRules, Start};
use super::search::{SearchPolicy, Strategy};
use crate::{EpisodeClock, GameRng, Observation, Policy, Split, Step, World, WorldError, WorldSpec};
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

/// A dark room in play: the agent sees its own cell and nothing else.
#[derive(Clone, Debug)]
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

    /// Hides the goals in cells of one's own choice instead of drawing them: one (x, y) for each goal. A running
    /// episode is over.
    ///
    /// # Errors
    /// [`WorldError::InvalidRules`] where the number of goals is another or a cell lies outside the room.
    pub fn place_goals(&mut self, goals: &[(u32, u32)]) -> Result<(), WorldError> {
        let count = self.rules.goals.count();
        let inside = |&(x, y): &(u32, u32)| x < self.room.width && y < self.room.height;
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
        let first_column = match split {
            Split::Training => 0,
            Split::Evaluation => self.rules.first_evaluation_column(),
        };
        let mut rng = GameRng::seed_from_u64(seed);
        for goal in &mut self.goals {
            let x = rng.random_range(first_column..self.room.width);
            *goal = Cell { x, y: rng.random_range(0..self.room.height) };
        }
        self.clock.stop();
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        let cells = self.room.cells();
        self.cell = match self.rules.start {
            Start::At { x, y } => Cell { x, y },
            Start::Uniform => self.room.cell(GameRng::seed_from_u64(seed).random_range(0..cells)),
            Start::UniformOffFirstGoal => {
                let index = GameRng::seed_from_u64(seed).random_range(0..cells - 1);
                self.room.cell(index + u32::from(index >= self.room.index(self.goals[0])))
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

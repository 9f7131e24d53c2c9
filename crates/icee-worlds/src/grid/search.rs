//! The policies that know the rules but not the goals: exact posterior sampling and the sweep. They share what they
//! know (the cells where the next goal may still be) and differ in the cell they try next.

use super::informed::write_epsilon_greedy;
use super::room::{Cell, Room, closer};
use super::rules::{Goals, GridRules, Start};
use crate::{Observation, Policy, StreamRng};
use rand::RngExt;

/// Which of the cells that may hide the goal is tried next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Any of them, uniformly: goals are uniform, so this is the posterior.
    Posterior,
    /// The nearest; ties are broken uniformly.
    Sweep,
}

/// Walks to a cell that may hide the goal, chooses anew on arrival and in every episode, and goes straight to the goal
/// once it is known.
///
/// A cell is ruled out by a step that ends there and pays nothing. The cell of the start is not: nothing is paid at
/// the start. Before the key is found the door may be anywhere.
#[derive(Clone, Debug)]
pub(super) struct SearchPolicy {
    room: Room,
    rule: Goals,
    start_is_off_first_goal: bool,
    strategy: Strategy,
    /// What is known of each goal.
    knowledge: Vec<Knowledge>,
    cell: Cell,
    stage: usize,
    target: Option<Cell>,
    episode_begins: bool,
}

#[derive(Clone, Debug)]
struct Knowledge {
    found: Option<Cell>,
    /// Cells where the goal may still be, in no order.
    possible: Vec<Cell>,
    /// Where each cell stands in `possible`.
    place: Vec<Option<usize>>,
}

impl Knowledge {
    fn none(room: Room) -> Self {
        let possible: Vec<Cell> = room.inside().collect();
        let mut place = vec![None; room.cells() as usize];
        possible.iter().enumerate().for_each(|(at, &cell)| place[room.index(cell) as usize] = Some(at));
        Self { found: None, possible, place }
    }

    fn is_possible(&self, room: Room, cell: Cell) -> bool {
        self.place[room.index(cell) as usize].is_some()
    }

    fn rule_out(&mut self, room: Room, cell: Cell) {
        if let Some(place) = self.place[room.index(cell) as usize].take() {
            self.possible.swap_remove(place);
            if let Some(&moved) = self.possible.get(place) {
                self.place[room.index(moved) as usize] = Some(place);
            }
        }
    }

    fn nearest(&self, from: Cell, rng: &mut StreamRng) -> Option<Cell> {
        let least = self.possible.iter().map(|cell| cell.distance(from)).min()?;
        let ties = self.possible.iter().filter(|cell| cell.distance(from) == least);
        let chosen = rng.random_range(0..ties.clone().count());
        ties.copied().nth(chosen)
    }

    fn any(&self, rng: &mut StreamRng) -> Option<Cell> {
        let chosen = (!self.possible.is_empty()).then(|| rng.random_range(0..self.possible.len()))?;
        Some(self.possible[chosen])
    }
}

impl SearchPolicy {
    pub fn new(rules: &GridRules, strategy: Strategy) -> Self {
        let room = rules.room();
        Self {
            room,
            rule: rules.goals,
            start_is_off_first_goal: rules.start == Start::UniformOffFirstGoal,
            strategy,
            knowledge: vec![Knowledge::none(room); rules.goals.count()],
            cell: Cell { x: 0, y: 0 },
            stage: 0,
            target: None,
            episode_begins: true,
        }
    }

    fn choose(&mut self, rng: &mut StreamRng) -> Cell {
        let knowledge = &self.knowledge[self.stage.min(self.rule.count() - 1)];
        if let Some(goal) = knowledge.found {
            return goal;
        }
        match self.target {
            Some(target) if knowledge.is_possible(self.room, target) => target,
            _ => {
                let drawn = match self.strategy {
                    Strategy::Posterior => knowledge.any(rng),
                    Strategy::Sweep => knowledge.nearest(self.cell, rng),
                };
                // Where everything is ruled out the room does not keep its rules; stay.
                drawn.unwrap_or(self.cell)
            }
        }
    }
}

impl Policy for SearchPolicy {
    fn begin_game(&mut self) {
        self.knowledge.fill(Knowledge::none(self.room));
    }

    fn begin_episode(&mut self, _epsilon: f32) {
        self.stage = 0;
        self.target = None;
        self.episode_begins = true;
    }

    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        let Observation::Discrete(index) = observation else { return probabilities.fill(0.0) };
        self.cell = self.room.cell(index);
        if self.episode_begins && self.start_is_off_first_goal {
            self.knowledge[0].rule_out(self.room, self.cell);
        }
        self.episode_begins = false;
        let target = self.choose(rng);
        self.target = Some(target);
        write_epsilon_greedy(closer(self.cell, target), 0.0, probabilities);
    }

    fn observe(&mut self, action: usize, reward: f32) {
        self.cell = self.room.moved(self.cell, action);
        let Some(knowledge) = self.knowledge.get_mut(self.stage) else { return };
        if reward > 0.0 {
            knowledge.found = Some(self.cell);
            if self.rule != Goals::EveryStep {
                self.stage += 1;
                self.target = None;
            }
        } else if knowledge.found.is_none() {
            knowledge.rule_out(self.room, self.cell);
        }
    }
}

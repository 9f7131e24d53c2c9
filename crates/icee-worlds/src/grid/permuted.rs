//! The Dark Room whose actions are permuted: which of them leads where is hidden, too. One of 120 maps, the same in all episodes
//! of a game.

use super::room::{ACTIONS, Cell, Room, closer};
use super::{GridRules, GridWorld, presets};
use crate::{Observation, Policy, Split, Step, StreamRng, World, WorldError, WorldSpec};
use icee_base::random;
use rand::RngExt;
use std::sync::Arc;

/// Where each action leads: left, right, up, down or stay.
type Map = [usize; ACTIONS];

/// A Dark Room with permuted actions.
#[derive(Clone, Debug)]
pub struct PermutedRoom {
    room: GridWorld,
    spec: Arc<WorldSpec>,
    /// Hidden, like the room's goal.
    map: Map,
}

impl PermutedRoom {
    /// `DarkRoomPermuted-v0`: the paper's Dark Room, with the training game of seed 0 dealt.
    ///
    /// # Errors
    /// [`WorldError::InvalidRules`], if the paper's rules should not work.
    pub fn new() -> Result<Self, WorldError> {
        let rules = presets().swap_remove(0);
        let room = GridWorld::new(GridRules { id: "DarkRoomPermuted-v0".into(), ..rules })?;
        let spec = WorldSpec {
            rules: format!("{}; the actions are permuted", room.spec().rules),
            action_names: (1..=ACTIONS).map(|action| format!("action {action}")).collect(),
            ..room.spec().clone()
        };
        let mut world = Self { room, spec: Arc::new(spec), map: maps()[0] };
        world.new_game(0, Split::Training);
        Ok(world)
    }

    fn translated(&self, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        Box::new(Translated { policy, map: self.map })
    }
}

/// All permutations.
fn maps() -> Vec<Map> {
    let mut all = vec![];
    let mut map = [0, 1, 2, 3, 4];
    permute(&mut map, 0, &mut all);
    all
}

/// Every order of what stands from `fixed` on.
fn permute(map: &mut Map, fixed: usize, all: &mut Vec<Map>) {
    if fixed == ACTIONS {
        return all.push(*map);
    }
    for other in fixed..ACTIONS {
        map.swap(fixed, other);
        permute(map, fixed + 1, all);
        map.swap(fixed, other);
    }
}

impl World for PermutedRoom {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn new_game(&mut self, seed: u64, split: Split) {
        self.room.new_game(seed, split);
        // A stream of its own: the goal is that of the same game without a map.
        let maps = maps();
        self.map = maps[random::path(seed, &[ACTIONS as u64]).random_range(0..maps.len())];
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        self.room.reset(seed)
    }

    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        // An action that does not exist is the room's to refuse.
        self.room.step(self.map.get(action).copied().unwrap_or(action))
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        self.translated(self.room.behaviour())
    }

    fn oracle(&self) -> Option<Box<dyn Policy>> {
        self.room.oracle().map(|oracle| self.translated(oracle))
    }

    fn posterior(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(MapSearch::new(self.room.room())))
    }

    fn render(&self) -> String {
        let names = self.map.map(|direction| super::ACTION_NAMES[direction]);
        format!("{}actions: {}\n", self.room.render(), names.join(", "))
    }
}

/// A policy of the plain room, by the actions of this one.
struct Translated {
    policy: Box<dyn Policy>,
    map: Map,
}

impl Policy for Translated {
    fn begin_game(&mut self) {
        self.policy.begin_game();
    }

    fn begin_episode(&mut self, epsilon: f32) {
        self.policy.begin_episode(epsilon);
    }

    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        let mut plain = [0.0; ACTIONS];
        self.policy.probabilities(observation, rng, &mut plain);
        probabilities.iter_mut().zip(self.map).for_each(|(p, direction)| *p = plain[direction]);
    }

    fn observe(&mut self, action: usize, reward: f32) {
        self.policy.observe(self.map[action], reward);
    }
}

/// Exact posterior sampling over maps and goals: draws one pair of those that agree with all that was seen, walks to the goal by
/// the map, and draws again when the pair is refuted and in every episode.
#[derive(Clone, Debug)]
struct MapSearch {
    room: Room,
    /// The pairs that are possible, all equally likely.
    possible: Vec<(Map, Cell)>,
    drawn: Option<(Map, Cell)>,
    cell: Option<Cell>,
    /// The last step, until it is seen where it led: from where, by which action, and whether it paid.
    last: Option<(Cell, usize, bool)>,
}

impl MapSearch {
    fn new(room: Room) -> Self {
        let mut search = Self { room, possible: Vec::new(), drawn: None, cell: None, last: None };
        search.begin_game();
        search
    }

    /// Leaves the pairs that explain the last step. The end of an episode's last step is not seen.
    fn explain(&mut self, seen: Option<Cell>) {
        let Some((from, action, paid)) = self.last.take() else { return };
        let room = self.room;
        let explains = |&(map, goal): &(Map, Cell)| {
            let end = room.moved(from, map[action]);
            seen.is_none_or(|seen| seen == end) && paid == (end == goal)
        };
        self.possible.retain(explains);
        self.drawn.take_if(|pair| !explains(pair));
    }
}

impl Policy for MapSearch {
    fn begin_game(&mut self) {
        let room = self.room;
        self.possible = maps().into_iter().flat_map(|map| room.inside().map(move |goal| (map, goal))).collect();
        (self.drawn, self.cell, self.last) = (None, None, None);
    }

    fn begin_episode(&mut self, _epsilon: f32) {
        self.explain(None);
        (self.drawn, self.cell) = (None, None);
    }

    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        let Observation::Discrete(index) = observation else { return probabilities.fill(0.0) };
        let cell = self.room.cell(index);
        self.explain(Some(cell));
        self.cell = Some(cell);
        let any = |rng: &mut StreamRng| self.possible[rng.random_range(0..self.possible.len())];
        if self.drawn.is_none() && !self.possible.is_empty() {
            self.drawn = Some(any(rng));
        }
        // A room that does not keep its rules leaves nothing possible.
        let Some((map, goal)) = self.drawn else { return probabilities.fill(1.0 / ACTIONS as f32) };
        let good = closer(cell, goal);
        let share = 1.0 / good.iter().filter(|&&good| good).count() as f32;
        probabilities.iter_mut().zip(map).for_each(|(p, direction)| *p = if good[direction] { share } else { 0.0 });
    }

    fn observe(&mut self, action: usize, reward: f32) {
        // Nobody who was not asked knows where it was.
        self.last = self.cell.map(|cell| (cell, action, reward > 0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_120_maps_and_all_are_dealt() {
        let all: HashSet<Map> = maps().into_iter().collect();
        assert_eq!(all.len(), 120);
        let mut world = PermutedRoom::new().expect("a room");
        let dealt: HashSet<Map> = (0..2_000)
            .map(|seed| {
                world.new_game(seed, Split::Training);
                world.map
            })
            .collect();
        assert_eq!(dealt, all);
    }

    /// The true map and goal stay possible whatever happens, and soon are all that is.
    #[test]
    fn the_posterior_is_consistent_with_the_truth() {
        let mut world = PermutedRoom::new().expect("a room");
        let mut rng = random::path(1, &[]);
        let mut settled = 0;
        for game in 0..20 {
            world.new_game(game, Split::Evaluation);
            let truth = |pair: &(Map, Cell)| pair.0 == world.map && pair.1 == world.room.goal();
            let mut search = MapSearch::new(world.room.room());
            let mut copy = world.clone();
            for episode in 0..50 {
                search.begin_episode(0.0);
                let mut observation = copy.reset(episode);
                loop {
                    let mut probabilities = [0.0; ACTIONS];
                    search.probabilities(observation, &mut rng, &mut probabilities);
                    assert!(search.possible.iter().any(truth), "game {game}, episode {episode}");
                    let action = crate::sample_action(&probabilities, &mut rng);
                    let step = copy.step(action).expect("a running episode");
                    search.observe(action, step.reward);
                    if step.done() {
                        break;
                    }
                    observation = step.observation;
                }
            }
            let goals: HashSet<u32> = search.possible.iter().map(|(_, goal)| world.room.room().index(*goal)).collect();
            settled += usize::from(goals.len() == 1);
        }
        assert!(settled >= 18, "the goal was found in {settled} of 20 games");
    }
}

//! A T-maze: a corridor, a junction, two arms of which one pays. A cue at the start says which; what cues mean is hidden, and the
//! same in all episodes of a game. So cues must be remembered along the corridor, and their meanings from episode to episode.

use super::plan::write_epsilon_greedy;
use crate::{
    EpisodeClock, LEAST_RETURN_TO_GO, Observation, ObservationSpace, Policy, Split, Step, StreamRng, World, WorldError,
    WorldSpec,
};
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

const CUES: usize = 4;
/// Steps from the start to the junction.
const LENGTH: usize = 4;
const FORWARD: usize = 0;
const BACK: usize = 1;
const LEFT: usize = 2;
const RIGHT: usize = 3;
const ACTION_NAMES: [&str; 4] = ["forward", "back", "left", "right"];

/// A T-maze in play: four cues, a corridor of four steps.
#[derive(Clone, Debug)]
pub struct TMaze {
    spec: Arc<WorldSpec>,
    /// The hidden part: the turn that each cue asks for.
    turns: [usize; CUES],
    cue: usize,
    cell: usize,
    clock: EpisodeClock,
}

impl Default for TMaze {
    fn default() -> Self {
        Self::new()
    }
}

impl TMaze {
    /// `TMaze-v0`, with the training game of seed 0 dealt.
    #[must_use]
    pub fn new() -> Self {
        let spec = WorldSpec {
            id: "TMaze-v0".into(),
            rules: format!(
                "a corridor of {LENGTH} steps; one of {CUES} cues at the start says which arm pays 1, once its meaning is known; ends in an arm"
            ),
            observation_space: ObservationSpace::Discrete { size: CUES + LENGTH + 2 },
            action_names: ACTION_NAMES.map(String::from).to_vec(),
            episode_limit: 10,
            episodes: 20,
            return_range: (LEAST_RETURN_TO_GO, 1.0),
            reward_range: (0.0, 1.0),
            reward_levels: Some(2),
        };
        let (turns, clock) = ([LEFT; CUES], EpisodeClock::default());
        let mut world = Self { spec: Arc::new(spec), turns, cue: 0, cell: 0, clock };
        world.new_game(0, Split::Training);
        world
    }

    fn player(&self, knowledge: [Option<usize>; CUES], noisy: bool) -> Box<dyn Policy> {
        let (given, known) = (knowledge, knowledge);
        Box::new(Player { given, known, noisy, epsilon: 0.0, cue: 0, cell: 0, turn: LEFT })
    }
}

/// What is seen in a cell: the cue at the start, then the cells one after another.
fn seen(cell: usize, cue: usize) -> Observation<'static> {
    Observation::Discrete(if cell == 0 { cue } else { CUES + cell - 1 } as u32)
}

/// Where an action leads within the corridor.
fn moved(cell: usize, action: usize) -> usize {
    match action {
        FORWARD => (cell + 1).min(LENGTH),
        BACK => cell.saturating_sub(1),
        _ => cell,
    }
}

impl World for TMaze {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn new_game(&mut self, seed: u64, _split: Split) {
        let mut rng = StreamRng::seed_from_u64(seed);
        self.turns = std::array::from_fn(|_| any_turn(&mut rng));
        self.clock.stop();
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        self.cue = StreamRng::seed_from_u64(seed).random_range(0..CUES);
        self.cell = 0;
        self.clock.begin();
        seen(0, self.cue)
    }

    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        self.clock.check(&self.spec, action)?;
        let terminated = self.cell == LENGTH && (action == LEFT || action == RIGHT);
        let reward = f32::from(u8::from(terminated && action == self.turns[self.cue]));
        let truncated = self.clock.tick(&self.spec, terminated);
        if terminated {
            let arm = CUES + LENGTH + usize::from(action == RIGHT);
            return Ok(Step { observation: Observation::Discrete(arm as u32), reward, terminated, truncated });
        }
        self.cell = moved(self.cell, action);
        Ok(Step { observation: seen(self.cell, self.cue), reward, terminated, truncated })
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        self.player(self.turns.map(Some), true)
    }

    fn oracle(&self) -> Option<Box<dyn Policy>> {
        Some(self.player(self.turns.map(Some), false))
    }

    /// Turns are left or right alike until an episode has shown what its cue means.
    fn posterior(&self) -> Option<Box<dyn Policy>> {
        Some(self.player([None; CUES], false))
    }

    fn render(&self) -> String {
        let corridor: String = (0..=LENGTH).map(|cell| if cell == self.cell { '@' } else { '.' }).collect();
        let pays = if self.turns[self.cue] == LEFT { "left" } else { "right" };
        format!("{corridor}\ncue {}, which means {pays}\n", self.cue + 1)
    }
}

fn any_turn(rng: &mut StreamRng) -> usize {
    if rng.random() { LEFT } else { RIGHT }
}

/// Walks to the junction and turns as the cue says, if it knows what it says, and otherwise as chance will have it.
#[derive(Clone, Debug)]
struct Player {
    /// The turns that were known before the game, and those that are known now.
    given: [Option<usize>; CUES],
    known: [Option<usize>; CUES],
    noisy: bool,
    epsilon: f32,
    cue: usize,
    cell: usize,
    /// The turn for this episode.
    turn: usize,
}

impl Policy for Player {
    fn begin_game(&mut self) {
        self.known = self.given;
    }

    fn begin_episode(&mut self, epsilon: f32) {
        self.epsilon = if self.noisy { epsilon } else { 0.0 };
        self.cell = 0;
    }

    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        let Observation::Discrete(place) = observation else { return probabilities.fill(0.0) };
        match (place as usize).checked_sub(CUES) {
            None => {
                (self.cue, self.cell) = (place as usize, 0);
                self.turn = self.known[self.cue].unwrap_or_else(|| any_turn(rng));
            }
            Some(behind) => self.cell = behind + 1,
        }
        let best = if self.cell == LENGTH { self.turn } else { FORWARD };
        write_epsilon_greedy(best, self.epsilon, probabilities);
    }

    fn observe(&mut self, action: usize, reward: f32) {
        if self.cell == LENGTH && (action == LEFT || action == RIGHT) {
            let other = if action == LEFT { RIGHT } else { LEFT };
            self.known[self.cue] = Some(if reward > 0.0 { action } else { other });
        }
        // Needed where somebody else acts and nothing is asked before the next step.
        self.cell = moved(self.cell, action);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Games, Reference, ReferenceAgent};

    #[test]
    fn the_arm_of_the_cue_pays_and_both_end_the_episode() {
        let mut maze = TMaze::new();
        for seed in 0..20 {
            maze.new_game(seed, Split::Training);
            let Observation::Discrete(cue) = maze.reset(seed) else { panic!("cues are discrete") };
            assert_eq!(cue as usize, maze.cue);
            // Walls on both sides of the corridor; back at the start the cue is seen again.
            for action in [LEFT, FORWARD, BACK] {
                assert_eq!(maze.step(action).expect("a step").reward, 0.0);
            }
            assert_eq!(maze.cell, 0);
            for _ in 0..LENGTH {
                assert!(!maze.step(FORWARD).expect("a step").done());
            }
            let pays = maze.turns[maze.cue] == RIGHT;
            let step = maze.step(RIGHT).expect("a step");
            assert_eq!((step.reward, step.terminated), (f32::from(u8::from(pays)), true));
        }
    }

    /// A cue that was met before is known, another one is a coin: 1 − (3/4)^k / 2 in episode k.
    #[test]
    fn meanings_are_learned_one_by_one() {
        let mut games = Games::deal(&TMaze::new(), 4_000, 3, Split::Evaluation).expect("games");
        let mut posterior = ReferenceAgent::new(Reference::Posterior, &games).expect("an agent");
        let returns = games.play(&mut posterior, 8).expect("returns");
        for episode in 0..8 {
            let expected = 1.0 - 0.5 * 0.75_f64.powi(episode);
            let found = returns.estimate(episode as usize);
            assert!((found.mean - expected).abs() < 2.0 * found.half_width, "{episode}: {} {expected}", found.mean);
        }
    }
}

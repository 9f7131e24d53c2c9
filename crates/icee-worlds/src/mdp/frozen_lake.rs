//! A frozen lake with holes that cannot be seen. The ice is slippery: a step goes where it is meant to in one of three cases, and
//! to one of both sides in the others, as in Gymnasium's FrozenLake. Here the holes differ from game to game.

use super::plan::{Mdp, Plan, Planned, write_epsilon_greedy};
use crate::{
    EpisodeClock, LEAST_RETURN_TO_GO, Observation, ObservationSpace, Policy, Split, Step, StreamRng, World, WorldError,
    WorldSpec,
};
use rand::{RngExt, SeedableRng};
use std::sync::{Arc, OnceLock};

const SIDE: usize = 4;
const CELLS: usize = SIDE * SIDE;
const START: usize = 0;
const GOAL: usize = CELLS - 1;
const ACTION_NAMES: [&str; 4] = ["left", "down", "right", "up"];
const EPISODE_LIMIT: usize = 40;
/// The chance of a hole in each cell but start and goal, before lakes without a way across are drawn again.
const HOLES: f64 = 0.2;

/// The holes of a lake, a bit a cell.
type Holes = u16;

/// A frozen lake in play.
#[derive(Clone, Debug)]
pub struct FrozenLake {
    spec: Arc<WorldSpec>,
    /// The hidden part.
    holes: Holes,
    cell: usize,
    clock: EpisodeClock,
    rng: StreamRng,
}

impl Default for FrozenLake {
    fn default() -> Self {
        Self::new()
    }
}

impl FrozenLake {
    /// `FrozenLakeHidden-v0`, with the training game of seed 0 dealt.
    #[must_use]
    pub fn new() -> Self {
        let spec = WorldSpec {
            id: "FrozenLakeHidden-v0".into(),
            rules: format!(
                "{SIDE} x {SIDE} cells of slippery ice; 1 once, at the far corner; ends there and in holes, which cannot be seen"
            ),
            observation_space: ObservationSpace::Grid { width: SIDE, height: SIDE },
            action_names: ACTION_NAMES.map(String::from).to_vec(),
            episode_limit: EPISODE_LIMIT,
            episodes: 25,
            return_range: (LEAST_RETURN_TO_GO, 1.0),
            reward_range: (0.0, 1.0),
            reward_levels: Some(2),
        };
        let (clock, rng) = (EpisodeClock::default(), StreamRng::seed_from_u64(0));
        let mut world = Self { spec: Arc::new(spec), holes: 0, cell: START, clock, rng };
        world.new_game(0, Split::Training);
        world
    }

    /// The best plan for the current game.
    #[must_use]
    pub fn plan(&self) -> Plan {
        lake(self.holes).plan(EPISODE_LIMIT)
    }
}

fn is_hole(holes: Holes, cell: usize) -> bool {
    holes >> cell & 1 == 1
}

/// The three cells where a step may end, equally likely: as meant, and to both sides. Walls clip.
fn landings(cell: usize, action: usize) -> [usize; 3] {
    let (x, y) = (cell % SIDE, cell / SIDE);
    let towards = |direction| match direction {
        0 => y * SIDE + x.saturating_sub(1),
        1 => (y + 1).min(SIDE - 1) * SIDE + x,
        2 => y * SIDE + (x + 1).min(SIDE - 1),
        _ => y.saturating_sub(1) * SIDE + x,
    };
    [action + 3, action, action + 1].map(|direction| towards(direction % 4))
}

/// Whether the goal can be reached from the start.
fn has_way(holes: Holes) -> bool {
    let (mut reached, mut open) = ([false; CELLS], vec![START]);
    while let Some(cell) = open.pop() {
        if !std::mem::replace(&mut reached[cell], true) {
            let next = (0..4).map(|action| landings(cell, action)[1]);
            open.extend(next.filter(|&next| !reached[next] && !is_hole(holes, next)));
        }
    }
    reached[GOAL]
}

/// The lake as a process: holes and goal are left no more.
fn lake(holes: Holes) -> Mdp {
    let mut mdp = Mdp::new(CELLS, ACTION_NAMES.len());
    for cell in 0..CELLS {
        for action in 0..ACTION_NAMES.len() {
            if cell == GOAL || is_hole(holes, cell) {
                mdp.next_mut(cell, action)[cell] = 1.0;
                continue;
            }
            for next in landings(cell, action) {
                mdp.next_mut(cell, action)[next] += 1.0 / 3.0;
                *mdp.reward_mut(cell, action) += if next == GOAL { 1.0 / 3.0 } else { 0.0 };
            }
        }
    }
    mdp
}

impl World for FrozenLake {
    fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    fn new_game(&mut self, seed: u64, _split: Split) {
        let mut rng = StreamRng::seed_from_u64(seed);
        loop {
            let cells = START + 1..GOAL;
            self.holes = cells.fold(0, |holes, cell| holes | Holes::from(rng.random::<f64>() < HOLES) << cell);
            if has_way(self.holes) {
                break;
            }
        }
        self.clock.stop();
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        self.rng = StreamRng::seed_from_u64(seed);
        self.cell = START;
        self.clock.begin();
        Observation::Discrete(START as u32)
    }

    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        self.clock.check(&self.spec, action)?;
        self.cell = landings(self.cell, action)[self.rng.random_range(0..3)];
        let found = self.cell == GOAL;
        let terminated = found || is_hole(self.holes, self.cell);
        let truncated = self.clock.tick(&self.spec, terminated);
        let observation = Observation::Discrete(self.cell as u32);
        Ok(Step { observation, reward: f32::from(u8::from(found)), terminated, truncated })
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        Box::new(Planned::new(self.plan(), true))
    }

    fn oracle(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Planned::new(self.plan(), false)))
    }

    fn posterior(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(LakeSearch::new()))
    }

    fn render(&self) -> String {
        let sign = |cell| match cell {
            _ if cell == self.cell => '@',
            GOAL => 'G',
            _ if is_hole(self.holes, cell) => 'O',
            _ => '.',
        };
        let rows = (0..SIDE).map(|y| (0..SIDE).map(|x| sign(y * SIDE + x)).collect::<String>() + "\n");
        rows.collect::<String>() + "@ agent, G goal, O hole\n"
    }
}

/// Every lake with a way across, and how likely it is before anything is seen, but for a factor.
fn lakes() -> &'static [(Holes, f64)] {
    static LAKES: OnceLock<Vec<(Holes, f64)>> = OnceLock::new();
    LAKES.get_or_init(|| {
        let all = (0..1 << (CELLS - 2)).map(|bits: Holes| bits << 1);
        let odds = HOLES / (1.0 - HOLES);
        let likely = |holes: Holes| (0..holes.count_ones()).fold(1.0, |product, _| product * odds);
        all.filter(|&holes| has_way(holes)).map(|holes| (holes, likely(holes))).collect()
    })
}

/// Exact posterior sampling: a lake drawn from all that are possible after what was seen, and the best plan for it, until the
/// episode ends or the plan's lake turns out to be another.
///
/// An agent does not see where it fell, only that the episode is over; so a fall makes lakes likelier the more of the three cells
/// where it may have been are holes.
#[derive(Clone, Debug)]
struct LakeSearch {
    possible: Vec<(Holes, f64)>,
    drawn: Option<(Holes, Plan)>,
    step: usize,
    cell: usize,
    /// The last step of the episode: from where, by which action, and whether it paid.
    last: Option<(usize, usize, bool)>,
}

impl LakeSearch {
    fn new() -> Self {
        Self { possible: lakes().to_vec(), drawn: None, step: 0, cell: START, last: None }
    }

    /// A cell was walked on.
    fn rule_out_hole(&mut self, cell: usize) {
        if self.possible.iter().any(|&(holes, _)| is_hole(holes, cell)) {
            self.possible.retain(|&(holes, _)| !is_hole(holes, cell));
        }
        self.drawn.take_if(|(holes, _)| is_hole(*holes, cell));
    }

    fn fell(&mut self, from: usize, action: usize) {
        let ends = landings(from, action);
        self.possible.retain_mut(|(holes, likely)| {
            *likely *= ends.iter().filter(|&&end| is_hole(*holes, end)).count() as f64 / 3.0;
            *likely > 0.0
        });
    }

    fn draw(&self, rng: &mut StreamRng) -> Holes {
        let total: f64 = self.possible.iter().map(|(_, likely)| likely).sum();
        let mut left = rng.random::<f64>() * total;
        let drawn = self.possible.iter().find(|(_, likely)| {
            left -= likely;
            left < 0.0
        });
        // Rounding may leave nothing over; a lake that does not keep its rules leaves nothing possible.
        drawn.or(self.possible.last()).map_or(0, |(holes, _)| *holes)
    }
}

impl Policy for LakeSearch {
    fn begin_game(&mut self) {
        *self = Self::new();
    }

    fn begin_episode(&mut self, _epsilon: f32) {
        // An episode that ends at its limit may have ended anywhere.
        if let Some((from, action, false)) = self.last.take()
            && self.step < EPISODE_LIMIT
        {
            self.fell(from, action);
        }
        (self.drawn, self.step, self.cell) = (None, 0, START);
    }

    fn probabilities(&mut self, observation: Observation<'_>, rng: &mut StreamRng, probabilities: &mut [f32]) {
        let Observation::Discrete(cell) = observation else { return probabilities.fill(0.0) };
        self.cell = cell as usize;
        self.last = None;
        self.rule_out_hole(self.cell);
        let (holes, plan) = self.drawn.take().unwrap_or_else(|| {
            let holes = self.draw(rng);
            (holes, lake(holes).plan(EPISODE_LIMIT))
        });
        write_epsilon_greedy(plan.action(self.step, self.cell), 0.0, probabilities);
        self.drawn = Some((holes, plan));
    }

    fn observe(&mut self, action: usize, reward: f32) {
        self.last = Some((self.cell, action, reward > 0.0));
        self.step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Games, Reference, ReferenceAgent};

    #[test]
    fn ice_is_slippery_and_walls_clip() {
        assert_eq!(landings(5, 2), [9, 6, 1]);
        assert_eq!(landings(0, 0), [0, 0, 4]);
        assert_eq!(landings(GOAL, 2), [GOAL, GOAL, 11]);
    }

    #[test]
    fn every_lake_has_a_way_across() {
        assert!(has_way(0) && !has_way(1 << 1 | 1 << 4) && !has_way(1 << 11 | 1 << 14));
        let mut world = FrozenLake::new();
        let mut holes = 0;
        for seed in 0..500 {
            world.new_game(seed, Split::Training);
            assert!(has_way(world.holes) && !is_hole(world.holes, START) && !is_hole(world.holes, GOAL));
            assert!(lakes().iter().any(|&(known, _)| known == world.holes));
            holes += world.holes.count_ones();
        }
        // Of 14 cells a fifth would be holes, and somewhat fewer are where there is a way across.
        assert!((900..1_400).contains(&holes), "{holes}");
    }

    /// The map of Gymnasium: its best policy reaches the goal in 0.74 of 100 steps' episodes.
    #[test]
    fn the_plan_of_the_known_lake_is_worth_what_is_known() {
        let holes = 1 << 5 | 1 << 7 | 1 << 11 | 1 << 12;
        assert!((lake(holes).plan(100).value(START) - 0.74).abs() < 0.01);
    }

    /// The true lake stays possible whatever happens, and becomes more probable.
    #[test]
    fn the_posterior_is_consistent_with_the_truth() {
        let mut world = FrozenLake::new();
        let mut rng = StreamRng::seed_from_u64(4);
        let (mut before, mut after) = (0.0, 0.0);
        for game in 0..30 {
            world.new_game(game, Split::Evaluation);
            let mut search = LakeSearch::new();
            let belief = |search: &LakeSearch| {
                let total: f64 = search.possible.iter().map(|(_, likely)| likely).sum();
                let truth = search.possible.iter().find(|(holes, _)| *holes == world.holes);
                truth.expect("the true lake is possible").1 / total
            };
            before += belief(&search);
            let mut copy = world.clone();
            for episode in 0..20 {
                search.begin_episode(0.0);
                let mut observation = copy.reset(episode);
                loop {
                    let mut probabilities = [0.0; 4];
                    search.probabilities(observation, &mut rng, &mut probabilities);
                    let action = crate::sample_action(&probabilities, &mut rng);
                    let step = copy.step(action).expect("a running episode");
                    search.observe(action, step.reward);
                    if step.done() {
                        break;
                    }
                    observation = step.observation;
                }
            }
            search.begin_episode(0.0);
            after += belief(&search);
        }
        assert!(after > 3.0 * before, "{before} {after}");
    }

    #[test]
    fn searching_pays() {
        let mut games = Games::deal(&FrozenLake::new(), 400, 5, Split::Evaluation).expect("games");
        let mut mean = |kind| {
            let mut agent = ReferenceAgent::new(kind, &games).expect("an agent");
            let returns = games.play(&mut agent, 25).expect("returns");
            (20..25).map(|episode| returns.estimate(episode).mean).sum::<f64>() / 5.0
        };
        let (chance, posterior, oracle) =
            (mean(Reference::Random), mean(Reference::Posterior), mean(Reference::Oracle));
        assert!(chance < 0.2 * oracle && posterior > 0.85 * oracle, "{chance} {posterior} {oracle}");
    }
}

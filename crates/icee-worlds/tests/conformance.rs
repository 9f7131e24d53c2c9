//! Every world of this crate passes the suite, and worlds with one fault each do not.

use icee_worlds::grid::{Goals, GridRules, GridWorld, Start, presets};
use icee_worlds::{Observation, Policy, Registry, Split, Step, World, WorldError, WorldSpec, conformance};

#[test]
fn every_world_conforms() {
    let registry = Registry::builtin();
    for spec in registry.specs() {
        let world = registry.make(&spec.id).expect("a known world");
        conformance::check(&*world).unwrap_or_else(|violation| panic!("{violation}"));
    }
}

/// A room of one cell and a corridor are worlds too.
#[test]
fn the_smallest_rooms_conform() {
    for (width, height, goals) in [(1, 1, Goals::Once), (1, 1, Goals::EveryStep), (2, 1, Goals::KeyThenDoor)] {
        let start = if width * height > 1 { Start::UniformOffFirstGoal } else { Start::Uniform };
        let rules = GridRules { width, height, goals, start, episode_limit: 3, ..presets()[1].clone() };
        let world = GridWorld::new(rules).expect("rules that work");
        conformance::check(&world).unwrap_or_else(|violation| panic!("{violation}"));
    }
}

/// What is wrong with a world.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    SilentReset,
    AcceptsAnyAction,
    LeavesItsSpace,
    NeverEnds,
    HiddenPartChanges,
    PaysTooMuch,
    KeepsTheEpisodeOfTheOldGame,
    ImproperPolicy,
}

/// A hard room with one fault.
#[derive(Clone)]
struct Faulty {
    room: GridWorld,
    fault: Fault,
    resets: u64,
}

impl World for Faulty {
    fn spec(&self) -> &WorldSpec {
        self.room.spec()
    }

    fn new_game(&mut self, seed: u64, split: Split) {
        self.room.new_game(seed, split);
        if self.fault == Fault::KeepsTheEpisodeOfTheOldGame {
            self.room.reset(seed);
        }
    }

    fn reset(&mut self, seed: u64) -> Observation<'_> {
        self.resets += 1;
        if self.fault == Fault::HiddenPartChanges {
            self.room.new_game(self.resets, Split::Training);
        }
        self.room.reset(seed)
    }

    fn step(&mut self, action: usize) -> Result<Step<'_>, WorldError> {
        let fault = self.fault;
        if fault == Fault::SilentReset && self.resets > 0 && self.room.clone().step(0).is_err() {
            self.room.reset(0);
        }
        let action = if fault == Fault::AcceptsAnyAction { action.min(4) } else { action };
        let step = self.room.step(action)?;
        Ok(match fault {
            Fault::LeavesItsSpace => Step { observation: Observation::Discrete(81), ..step },
            Fault::NeverEnds => Step { terminated: false, truncated: false, ..step },
            Fault::PaysTooMuch => Step { reward: 3.0, ..step },
            _ => step,
        })
    }

    fn behaviour(&self) -> Box<dyn Policy> {
        if self.fault == Fault::ImproperPolicy { Box::new(Improper) } else { self.room.behaviour() }
    }
}

struct Improper;

impl Policy for Improper {
    fn begin_episode(&mut self, _epsilon: f32) {}

    fn probabilities(&mut self, _: Observation<'_>, _: &mut icee_worlds::GameRng, probabilities: &mut [f32]) {
        probabilities.fill(0.5);
    }

    fn observe(&mut self, _action: usize, _reward: f32) {}
}

#[test]
fn a_world_with_a_fault_does_not_conform_and_is_told_which() {
    let check = |fault| {
        let room = GridWorld::new(presets().swap_remove(1)).expect("a preset");
        conformance::check(&Faulty { room, fault, resets: 0 })
    };
    check(Fault::None).unwrap_or_else(|violation| panic!("{violation}"));
    for (fault, rule) in [
        (Fault::SilentReset, "silent reset"),
        (Fault::AcceptsAnyAction, "ActionOutOfRange"),
        (Fault::LeavesItsSpace, "space"),
        (Fault::NeverEnds, "until it says"),
        (Fault::HiddenPartChanges, "again and again"),
        (Fault::PaysTooMuch, "range"),
        (Fault::KeepsTheEpisodeOfTheOldGame, "new game ends"),
        (Fault::ImproperPolicy, "sum to 1"),
    ] {
        let violation = check(fault).expect_err("a fault");
        assert!(violation.rule.contains(rule), "{fault:?}: {violation}");
    }
}

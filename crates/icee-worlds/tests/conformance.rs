//! Every world of this crate passes the suite, and worlds with one fault each do not.

use icee_worlds::grid::{Bias, GoalSplit, Goals, GridRules, GridWorld, Start, presets};
use icee_worlds::{
    Collection, Games, Observation, Policy, Reference, ReferenceAgent, Registry, Split, Step, StreamRng, World,
    WorldError, WorldSpec, collect, conformance,
};
use proptest::{prelude::*, test_runner::RngSeed};

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
    PaysHalf,
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

impl Faulty {
    fn new(fault: Fault) -> Self {
        let room = GridWorld::new(presets().swap_remove(1)).expect("a preset");
        Self { room, fault, resets: 0 }
    }
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
        if fault == Fault::NeverEnds {
            let (reward, done) = self.room.step(action).map(|step| (step.reward, step.done()))?;
            if done {
                self.room.reset(0);
            }
            return Ok(Step { observation: Observation::Discrete(0), reward, terminated: false, truncated: false });
        }
        let step = self.room.step(action)?;
        Ok(match fault {
            Fault::LeavesItsSpace => Step { observation: Observation::Discrete(81), ..step },
            Fault::PaysTooMuch => Step { reward: 3.0, ..step },
            Fault::PaysHalf => Step { reward: 0.5, ..step },
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

    fn probabilities(&mut self, _: Observation<'_>, _: &mut StreamRng, probabilities: &mut [f32]) {
        probabilities.fill(0.5);
    }

    fn observe(&mut self, _action: usize, _reward: f32) {}
}

#[test]
fn a_world_with_a_fault_does_not_conform_and_is_told_which() {
    let check = |fault| conformance::check(&Faulty::new(fault));
    check(Fault::None).unwrap_or_else(|violation| panic!("{violation}"));
    for (fault, rule) in [
        (Fault::SilentReset, "silent reset"),
        (Fault::AcceptsAnyAction, "ActionOutOfRange"),
        (Fault::LeavesItsSpace, "space"),
        (Fault::NeverEnds, "truncated at step T"),
        (Fault::HiddenPartChanges, "again and again"),
        (Fault::PaysTooMuch, "range"),
        (Fault::PaysHalf, "levels"),
        (Fault::KeepsTheEpisodeOfTheOldGame, "new game ends"),
        (Fault::ImproperPolicy, "sum to 1"),
    ] {
        let violation = check(fault).expect_err("a fault");
        assert!(violation.rule.contains(rule), "{fault:?}: {violation}");
    }
}

/// Collection and play do not run on for ever, or mix up observations, because of somebody's world.
#[test]
fn a_world_with_a_fault_is_an_error_when_collected_from_and_when_played() {
    let endless = Faulty::new(Fault::NeverEnds);
    let collected = collect(&endless, &Collection::new(1, 1, 0));
    assert!(matches!(collected, Err(WorldError::EpisodeTooLong { limit: 20, .. })));
    let mut games = Games::deal(&endless, 1, 0, Split::Training).expect("games");
    let mut agent = ReferenceAgent::new(Reference::Random, &games).expect("an agent");
    assert!(matches!(games.play(&mut agent, 1), Err(WorldError::EpisodeTooLong { limit: 20, .. })));
}

/// Rules of every kind, small enough that goals are met often.
fn any_rules() -> impl Strategy<Value = GridRules> {
    let goals = prop_oneof![Just(Goals::EveryStep), Just(Goals::Once), Just(Goals::KeyThenDoor)];
    let bias = proptest::option::of((0_usize..5, 0.0_f32..=1.0));
    (2_u32..6, 1_u32..6, 0_u32..3, goals, any::<bool>(), 1_usize..12, bias, 0_u32..2).prop_map(
        |(width, height, start, goals, ends_early, episode_limit, bias, margin)| GridRules {
            id: "AnyRoom-v7".into(),
            width: width + 2 * margin,
            height: height + 2 * margin,
            start: match start {
                0 => Start::At { x: width - 1 + margin, y: height / 2 + margin },
                1 => Start::Uniform,
                _ => Start::UniformOffFirstGoal,
            },
            goals,
            ends_early,
            episode_limit,
            episodes: 3,
            bias: bias.map(|(action, probability)| Bias { action, probability }),
            split: GoalSplit::RightOf(width - 2 + margin),
            margin,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, rng_seed: RngSeed::Fixed(8), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn rooms_by_any_rules_conform(rules in any_rules()) {
        let world = GridWorld::new(rules).expect("rules that work");
        conformance::check(&world).unwrap_or_else(|violation| panic!("{violation}"));
    }
}

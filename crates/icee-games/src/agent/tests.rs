//! Agents with wrong calls, or with an engine that fails.

use super::brain::HeadAt;
use super::*;
use crate::Source;
use crate::task::{GameSpec, ObservationKind};
use icee_nn::batch::Tokens;
use icee_worlds::{Agent as _, Observation, Observations, Registry};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fails once, when this many calls of the engine have been made.
struct Failing {
    brain: Box<dyn Brain>,
    left: Arc<AtomicUsize>,
}

impl Failing {
    fn call(&self) -> Result<()> {
        let now = self.left.fetch_sub(1, Ordering::Relaxed);
        if now == 0 { Err(Error::Agent("the engine fails".into())) } else { Ok(()) }
    }
}

impl Brain for Failing {
    fn begin(&mut self, games: usize) -> Result<()> {
        self.brain.begin(games)
    }

    fn append(&mut self, network: usize, games: &[u32], lengths: &[usize], tokens: &Tokens) -> Result<()> {
        self.call()?;
        self.brain.append(network, games, lengths, tokens)
    }

    fn choose_returns(&mut self, mind: Mind<'_>, memories: &mut [Memory], games: &[u32]) -> Result<()> {
        self.brain.choose_returns(mind, memories, games)?;
        self.call()
    }

    fn choose_actions(&mut self, mind: Mind<'_>, memories: &mut [Memory], games: &[u32]) -> Result<()> {
        self.brain.choose_actions(mind, memories, games)?;
        self.call()
    }

    fn imagine(&mut self, head: HeadAt, game: usize, length: usize, tokens: &[Tokens]) -> Result<Vec<f32>> {
        self.brain.imagine(head, game, length, tokens)
    }
}

/// An agent that remembers four episodes, in two games.
fn agent(method: &str) -> Agent {
    let small = "world = \"DarkRoomHardTiny-v0\"\n[model]\nlayers = 1\nwidth = 16\nattention_heads = 1\nbins = 8\n\
                 init_std = 0.3\n[data]\nepisodes = 4\n[acting]\ntemperature = 1.0";
    let config = Config::layered(&[crate::presets::method(method).unwrap(), small], &[]).unwrap();
    let task = Source::of_config(&config, &Registry::builtin()).unwrap().task();
    let models = Blueprint::new(&config, &task).unwrap().fresh_models(1).unwrap();
    let model = TrainedModel { config, task, step: 0, models, log: None };
    let mut agent = Agent::new(&Device::cpu(1).unwrap(), &model).unwrap();
    agent.begin_games(2, 3, 0).unwrap();
    agent
}

const STEPS: u32 = 18;

/// Acts in both games and tells what it has earned, until there was no room for more; what fails is tried again. Gives what it
/// had in mind and did.
fn play(agent: &mut Agent, mut try_first: impl FnMut(&mut Agent, u32)) -> Vec<(Thought, u32)> {
    let mut taken = Vec::new();
    for step in 0..STEPS {
        try_first(agent, step);
        let seen = Observations::Discrete(vec![step, step + 1]);
        let turn = || Turn { games: &[0, 1], observations: &seen };
        let mut decisions = [Decision::default(); 2];
        if agent.decide(turn(), &mut decisions).is_err() {
            agent.decide(turn(), &mut decisions).unwrap();
        }
        let thoughts = agent.games.iter().map(|memory| memory.thought.clone());
        taken.extend(thoughts.zip(decisions.map(|decision| decision.action)));
        let outcomes = [0.0, 1.0].map(|reward| StepOutcome { reward, done: step % 3 == 2 });
        if agent.learn_outcomes(&[0, 1], &outcomes).is_err() {
            agent.learn_outcomes(&[0, 1], &outcomes).unwrap();
        }
    }
    taken
}

#[test]
fn where_the_engine_fails_nothing_has_changed() {
    for method in ["icee", "icee-paper", "mgdt"] {
        let mut whole = agent(method);
        let wanted = play(&mut whole, |_, _| {});
        assert_eq!(whole.forgotten(0).episodes > 0, method != "mgdt", "{method} had to make room");
        let mut fails = 0;
        loop {
            let left = Arc::new(AtomicUsize::new(fails));
            let mut failing = agent(method);
            failing.brain = Box::new(Failing { brain: failing.brain, left: left.clone() });
            failing.begin_games(2, 3, 0).unwrap();
            assert_eq!(play(&mut failing, |_, _| {}), wanted, "{method}, call {fails} fails");
            if left.load(Ordering::Relaxed) <= fails {
                break;
            }
            fails += 1;
        }
        assert!(fails >= 3 * STEPS as usize, "{method}: only {fails} calls");
    }
}

/// Not even in the caches: what is told next may be something else.
#[test]
fn an_outcome_at_which_the_engine_fails_is_as_if_it_had_not_been_told() {
    let thought = |fails: bool| {
        let mut agent = agent("icee-paper");
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        agent.brain = Box::new(Failing { brain: agent.brain, left: left.clone() });
        agent.begin_games(2, 3, 0).unwrap();
        let mut decisions = [Decision::default(); 2];
        for step in 0..4 {
            let seen = Observations::Discrete(vec![step, step + 1]);
            agent.decide(Turn { games: &[0, 1], observations: &seen }, &mut decisions).unwrap();
            let outcome = |done| [StepOutcome { reward: if step == 0 { 0.5 } else { 0.0 }, done }; 2];
            if fails && step == 2 {
                // The first network has read the episode anew, the second has not.
                left.store(1, Ordering::Relaxed);
                assert!(agent.learn_outcomes(&[0, 1], &outcome(true)).is_err());
            }
            agent.learn_outcomes(&[0, 1], &outcome(step == 0)).unwrap();
        }
        agent.thought(1).cloned()
    };
    assert_eq!(thought(true), thought(false));
}

/// In every place, also where room has to be made: nothing of what is refused leaves a trace in any game.
#[test]
fn what_is_wrong_in_one_game_changes_none() {
    for method in ["icee", "icee-paper"] {
        let wanted = play(&mut agent(method), |_, _| {});
        let mistaken = |agent: &mut Agent, step: u32| {
            let refused = |result: Result<()>, said: &str| {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(said), "{error}");
            };
            let mut decisions = [Decision::default(); 2];
            let outcome = StepOutcome { reward: 0.0, done: false };
            let wrong = Observations::Discrete(vec![step, 25]);
            refused(
                agent.decide(Turn { games: &[0, 1], observations: &wrong }, &mut decisions),
                "the observation in game 1 is 25; this model sees a cell of 5 x 5: a number from 0 to 24",
            );
            refused(agent.learn_outcomes(&[0, 1], &[outcome; 2]), "observe was called before act in game 0");
            refused(agent.learn_outcomes(&[1, 1], &[outcome; 2]), "must ascend");
        };
        assert_eq!(play(&mut agent(method), mistaken), wanted, "{method}");
        let mut agent = agent(method);
        let seen = Observations::Discrete(vec![3, 4]);
        let mut decisions = [Decision::default(); 2];
        agent.decide(Turn { games: &[0, 1], observations: &seen }, &mut decisions).unwrap();
        let outcomes = [0.0, f32::INFINITY].map(|reward| StepOutcome { reward, done: false });
        let said = agent.learn_outcomes(&[0, 1], &outcomes).unwrap_err().to_string();
        assert!(said.contains("the reward in game 1 is inf: too large"), "{said}");
        assert_eq!([0, 1].map(|game| agent.waits(game)), [true; 2]);
    }
}

#[test]
fn entropies_are_kept_of_plays_alone() {
    let mut agent = agent("icee");
    play(&mut agent, |_, _| {});
    assert!(agent.entropies.is_none() && agent.entropy_by_episode().is_empty());
    agent.begin(0..2, 3).unwrap();
    play(&mut agent, |_, _| {});
    assert_eq!(agent.entropy_by_episode().len(), STEPS as usize / 3);
}

/// A number that is one as it is told, and none as the networks see it.
#[test]
fn what_is_endless_on_the_scale_of_the_model_is_refused_and_changes_nothing() {
    let mut agent = agent("icee");
    agent.blueprint.task.reward_range = (0.0, 0.01);
    let seen = Observations::Discrete(vec![1]);
    let turn = || Turn { games: &[0], observations: &seen };
    agent.decide(turn(), &mut [Decision::default()]).unwrap();
    let earned = |reward| [StepOutcome { reward, done: false }];
    let said = agent.learn_outcomes(&[0], &earned(1e38)).unwrap_err().to_string();
    assert!(said.contains("too large") && agent.waits(0), "{said}");
    agent.learn_outcomes(&[0], &earned(0.01)).unwrap();
    agent.decide(turn(), &mut [Decision::default()]).unwrap();
    let task = GameSpec {
        observation: ObservationKind::Vector { size: 1 },
        observation_scale: Some(vec![[0.0, 0.1]]),
        ..agent.blueprint.task.clone()
    };
    assert_eq!([3e37, 3e38].map(|value| task.sees(Observation::Vector(&[value]))), [true, false]);
}

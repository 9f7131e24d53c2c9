//! What an agent expects of places where it is not: the reward head on the whole history at once, and no trace of the question.

use icee_base::math::softmax;
use icee_games::{
    Agent, Blueprint, Config, LiveAgent, ObservationKind, Previous, Source, Thought, Token, TrainedModel, presets,
};
use icee_nn::Precision;
use icee_nn::cpu::{Cpu, Network};
use icee_train::Device;
use icee_worlds::{Observation, Registry, Split};

const ROOM: &str = "DarkRoomHardTiny-v0";

fn untrained(settings: &[&str]) -> TrainedModel {
    let small = format!(
        "world = \"{ROOM}\"\n[model]\nlayers = 2\nwidth = 32\nattention_heads = 2\nbins = 16\ninit_std = 0.3\nreward_head = 1.0\n\
         [acting]\nguard = 0.0\ntemperature = 1.0\nkappa = 1.0"
    );
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let config = Config::layered(&[presets::method("icee").unwrap(), &small], &settings).unwrap();
    let task = Source::of_config(&config, &Registry::builtin()).unwrap().task();
    let models = Blueprint::new(&config, &task).unwrap().fresh_models(4).unwrap();
    TrainedModel { config, task, step: 0, models, log: None }
}

/// A step: the cell, the action, what it earned, the episode and the step.
type Played = (u32, u32, f32, usize, usize);

/// Plays some episodes and shows the agent to `look` after every action, with the steps before, the cell and the action; gives the steps and what the agent had in mind.
fn play(
    model: &TrainedModel,
    mut look: impl FnMut(&mut LiveAgent, &[Played], (u32, u32)),
) -> (Vec<Played>, Vec<Thought>) {
    let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), model, 1).unwrap();
    let mut world = Registry::builtin().make(ROOM).unwrap();
    world.new_game(3, Split::Evaluation);
    let (mut played, mut thoughts) = (Vec::new(), Vec::new());
    // One episode more than there is room for: the oldest are dropped on the way.
    for episode in 0..6 {
        let Observation::Discrete(mut cell) = world.reset(episode) else { unreachable!() };
        for step in 0.. {
            let action = agent.act(Observation::Discrete(cell)).unwrap();
            look(&mut agent, &played, (cell, action));
            thoughts.push(agent.thought().clone());
            let outcome = world.step(action as usize).unwrap();
            played.push((cell, action, outcome.reward, episode as usize, step));
            agent.observe(outcome.reward, outcome.done()).unwrap();
            let (next, done) = (outcome.observation, outcome.done());
            if done {
                break;
            }
            let Observation::Discrete(next) = next else { unreachable!() };
            cell = next;
        }
    }
    (played, thoughts)
}

#[test]
fn asking_changes_nothing() {
    for settings in [&[][..], &["data.episodes=4"], &["model.transitions=true", "model.coordinates=true"]] {
        let model = untrained(settings);
        let asked = play(&model, |agent, _, _| {
            let first = agent.expected_rewards().unwrap();
            assert_eq!(first.len(), 25 * 5);
            assert_eq!(first, agent.expected_rewards().unwrap(), "the same question has the same answer");
        });
        assert_eq!(asked, play(&model, |_, _, _| ()), "{settings:?}");
    }
}

#[test]
fn what_is_expected_is_what_the_whole_history_at_once_says() {
    let model = untrained(&["model.transitions=true"]);
    let blueprint = Blueprint::new(&model.config, &model.task).unwrap();
    let plan = &blueprint.networks[0];
    let mut network = Network::new(&Cpu::new(1).unwrap(), &model.models[0], Precision::Single);
    let mut checked = 0;
    play(&model, |agent, played, (cell, action)| {
        if played.len() % 5 != 4 {
            return;
        }
        checked += 1;
        let expected = agent.expected_rewards().unwrap();
        let &(.., reward, episode, step) = played.last().unwrap();
        let over = step + 1 == 8 || reward > 0.0;
        let now = if over { (episode + 1, 0) } else { (episode, step + 1) };
        let mut whole = played.to_vec();
        // What the action earns is not known yet; the question says nothing.
        whole.push((cell, action, 0.0, now.0, now.1));
        for place in [0, 7, 24] {
            let mut writer = plan.format.writer();
            let mut previous = None;
            let asked = (place, 0, 0.0, now.0, (now.1 + 1).max(4));
            for &(observation, action, reward, episode, step) in whole.iter().chain([&asked]) {
                let observation = Observation::Discrete(observation);
                writer.push(&Token { observation, previous, episode, step, step_bin: 0, episode_rtg: 0 });
                previous = Some(Previous { observation, action, reward });
            }
            writer.end_sequence();
            let mut cache = network.cache(Precision::Single);
            let rows = network.append(&mut [&mut cache], &writer.finish()).unwrap();
            let last = rows[rows.len() - plan.spec.width..].to_vec();
            let logits = network.logits_for_each(plan.spec.head("reward").unwrap(), &last, 0, &[]).unwrap();
            let wanted: Vec<f64> = logits.chunks_exact(2).map(|logits| softmax(logits)[1]).collect();
            assert_eq!(wanted, expected[place as usize * 5..][..5], "place {place} after {} steps", played.len());
        }
    });
    assert!(checked > 3);
}

#[test]
fn models_without_the_head_worlds_without_places_and_questions_out_of_turn_are_refused() {
    let refused = |model: &TrainedModel| {
        let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), model, 0).unwrap();
        agent.expected_rewards().unwrap_err().to_string()
    };
    assert!(refused(&untrained(&["model.reward_head=0.0"])).contains("model.reward_head above 0"));
    let mut reals = untrained(&[]);
    reals.task.observation = ObservationKind::Vector { size: 2 };
    reals.models = Blueprint::new(&reals.config, &reals.task).unwrap().fresh_models(4).unwrap();
    assert!(refused(&reals).contains("forecasts need places"), "{}", refused(&reals));
    assert!(refused(&untrained(&[])).contains("call this after act"), "nothing was done yet");
    let mut agent = Agent::new(&Device::cpu(1).unwrap(), &untrained(&[])).unwrap();
    assert!(agent.expected_rewards(0).unwrap_err().to_string().contains("call this after act"), "no game has begun");
}

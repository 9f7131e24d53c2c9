//! Acting with caches against the same decisions computed from the whole history at once.

use icee_games::agent::Rules;
use icee_games::label::Record;
use icee_games::{Blueprint, Config, LiveAgent, Previous, Source, Token, TrainedModel};
use icee_nn::Precision;
use icee_nn::batch::FieldValues;
use icee_nn::cpu::{Cpu, Network};
use icee_train::Device;
use icee_worlds::returns_to_go;
use icee_worlds::{Games, Observation, Registry, Split};
use proptest::prelude::*;

fn untrained(method: &str, extra: &[&str], seed: u64) -> TrainedModel {
    let small = "world = \"DarkRoomHardTiny-v0\"\n[model]\nlayers = 2\nwidth = 32\nattention_heads = 2\nbins = 16\n\
                 init_std = 0.3\n[acting]\nguard = 0.0\ntemperature = 1.0\nkappa = 1.0";
    let settings: Vec<String> = extra.iter().map(ToString::to_string).collect();
    let text = icee_games::presets::method(method).unwrap();
    let config = Config::layered(&[text, small], &settings).unwrap();
    let task = Source::of_config(&config, &Registry::builtin()).unwrap().task();
    let models = Blueprint::new(&config, &task).unwrap().fresh_models(seed).unwrap();
    TrainedModel { config, task, step: 0, models, log: None }
}

#[derive(Default)]
struct Played {
    observations: Vec<u32>,
    actions: Vec<u32>,
    rewards: Vec<f32>,
    wanted: Vec<u32>,
    starts: Vec<usize>,
    /// Steps of the first episode that came before these.
    cut: usize,
}

/// p̂(a) and p(c | c̃, h) of the current step, from empty caches.
fn recompute(model: &TrainedModel, played: &Played, now: &icee_games::Thought) -> (Vec<f64>, Vec<f64>) {
    let blueprint = Blueprint::new(&model.config, &model.task).unwrap();
    let cpu = Cpu::new(1).unwrap();
    let mut outputs = Vec::new();
    let mut networks = Vec::new();
    for (plan, weights) in blueprint.networks.iter().zip(&model.models) {
        let mut writer = plan.format.writer();
        let mut record = Record::default();
        for (episode, &start) in played.starts.iter().enumerate() {
            let over = played.starts.get(episode + 1).copied();
            let end = over.unwrap_or(played.observations.len());
            let rewards = &played.rewards[start..end.min(played.rewards.len())];
            let truth = record.episode_rtg(episode == 0, rewards.iter().sum());
            let returns = returns_to_go(rewards, model.task.idle_price());
            for at in start..end {
                let (step_bin, episode_rtg) = match over {
                    Some(_) => (blueprint.bins.bin(returns[at - start]), truth),
                    None => (played.wanted[at], now.episode_rtg),
                };
                writer.push(&Token {
                    observation: Observation::Discrete(played.observations[at]),
                    previous: at.checked_sub(1).map(|b| Previous {
                        observation: Observation::Discrete(played.observations[b]),
                        action: played.actions[b],
                        reward: played.rewards[b],
                    }),
                    episode,
                    step: at - start + if episode == 0 { played.cut } else { 0 },
                    step_bin,
                    episode_rtg,
                });
            }
        }
        writer.end_sequence();
        let mut network = Network::new(&cpu, weights, Precision::Single);
        let mut cache = network.cache(Precision::Single);
        let rows = network.append(&mut [&mut cache], &writer.finish()).unwrap();
        outputs.push(rows[rows.len() - plan.spec.width..].to_vec());
        networks.push(network);
    }
    let rules = Rules::new(&model.config.acting, blueprint.bins);
    let bins = blueprint.bins.count;
    let head = |n: usize, name: &str| blueprint.networks[n].spec.head(name);
    let slice = now.episode_rtg as usize * bins;
    let mut returns = vec![];
    if let Some(head) = head(0, "return") {
        let logits = networks[0].logits(head, &outputs[0], &[]).unwrap();
        let from = if logits.len() == bins { 0 } else { slice };
        let exps: Vec<f64> = logits[from..from + bins].iter().map(|&x| f64::from(x).exp()).collect();
        returns = exps.iter().map(|e| e / exps.iter().sum::<f64>()).collect();
    }
    let last = networks.len() - 1;
    let actions = if let Some(head) = head(last, "outcome") {
        let logits = networks[last].logits_for_each(head, &outputs[last], 0, &[]).unwrap();
        rules.posterior(logits, 2 * bins, slice, now.step_bin)
    } else {
        let spec = &blueprint.networks[last].spec.heads[head(last, "action").unwrap()];
        let value = |name: &str| if name == "step_rtg" { now.step_bin } else { now.episode_rtg };
        let conditions: Vec<_> =
            spec.conditions.iter().map(|c| FieldValues::Categorical(vec![value(&c.name)])).collect();
        rules.direct(networks[last].logits(head(last, "action").unwrap(), &outputs[last], &conditions).unwrap())
    };
    (actions, returns)
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn cached_acting_is_the_whole_history_recomputed(seed in 0u64..1000, which in 0usize..8) {
        let (method, extra): (&str, &[&str]) = [
            ("icee", &[][..]),
            ("icee-weighted", &[]),
            ("icee-paper", &[]),
            ("icee-paper", &["seed=1"]),
            ("icee-biased", &[]),
            ("ad", &[]),
            ("icee", &["model.transitions=true"]),
            ("icee-paper", &["model.transitions=true", "model.coordinates=true"]),
        ][which];
        let model = untrained(method, extra, seed);
        let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, seed).unwrap();
        let mut world = Registry::builtin().make("DarkRoomHardTiny-v0").unwrap();
        world.new_game(seed, Split::Training);
        let mut played = Played::default();
        for episode in 0..4 {
            played.starts.push(played.observations.len());
            let Observation::Discrete(mut cell) = world.reset(episode) else { unreachable!() };
            loop {
                let action = agent.act(Observation::Discrete(cell)).unwrap();
                played.observations.push(cell);
                played.wanted.push(agent.thought().step_bin);
                let (actions, returns) = recompute(&model, &played, agent.thought());
                prop_assert!(close(&actions, &agent.thought().actions), "{actions:?} {:?}", agent.thought());
                prop_assert!(close(&returns, &agent.thought().returns));
                let step = world.step(action as usize).unwrap();
                agent.observe(step.reward, step.done()).unwrap();
                played.actions.push(action);
                played.rewards.push(step.reward);
                if step.done() {
                    break;
                }
                let Observation::Discrete(next) = step.observation else { unreachable!() };
                cell = next;
            }
        }
    }
}

/// In a world that pays 1 at most, c̃ = 1 is asked for until an episode earned it, and never again.
#[test]
fn nothing_better_is_asked_for_once_all_was_earned() {
    for (rule, last) in [("while-possible", 0), ("always-one", 1)] {
        let model = untrained("icee-paper", &[&format!("acting.episode_rule={rule}")], 3);
        let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, 3).unwrap();
        let asked = [0.0, 1.0, 0.0].map(|reward| {
            agent.act(Observation::Discrete(12)).unwrap();
            agent.observe(reward, true).unwrap();
            agent.thought().episode_rtg
        });
        assert_eq!(asked, [1, 1, last], "{rule}");
    }
}

/// The same games one by one, and on other numbers of threads.
#[test]
fn choices_do_not_depend_on_the_batch_or_the_threads() {
    let world = Registry::builtin().make("DarkRoomHardTiny-v0").unwrap();
    for method in ["icee", "icee-paper", "mgdt"] {
        let model = untrained(method, &[], 5);
        let play = |games: usize, threads: usize| {
            let mut agent = icee_games::Agent::new(&Device::cpu(threads).unwrap(), &model).unwrap();
            let mut dealt = Games::deal(&*world, games, 9, Split::Evaluation).unwrap();
            let mut steps = vec![Vec::new(); games];
            dealt.play_watched(&mut agent, 5, |s| steps[s.game].push((s.decision.action, s.outcome.reward))).unwrap();
            steps
        };
        let many = play(7, 2);
        assert_eq!(many[..3], play(3, 1)[..], "{method}");
    }
}

#[test]
fn past_the_context_the_newest_episodes_are_kept_and_it_is_said() {
    for method in ["icee", "icee-paper"] {
        let model = untrained(method, &["data.episodes=4"], 2);
        let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, 0).unwrap();
        for episode in 0..20 {
            assert_eq!(agent.notice().is_some(), episode > 4, "{episode}");
            for step in 0..8 {
                agent.act(Observation::Discrete(step)).unwrap();
                agent.observe(0.0, step == 7).unwrap();
            }
        }
    }
}

/// An endless episode loses its oldest quarter whenever the context is full, which is said, and its steps keep their numbers.
#[test]
fn an_endless_episode_goes_on_with_its_newest_steps() {
    for (method, limit, episodes) in
        [("icee", 1, 1), ("icee", 2, 1), ("icee", 3, 1), ("icee", 7, 2), ("icee-paper", 3, 2), ("mgdt", 4, 3)]
    {
        let mut model = untrained(method, &[&format!("data.episodes={episodes}")], 2);
        model.task.episode_limit = limit;
        let blueprint = Blueprint::new(&model.config, &model.task).unwrap();
        model.models = blueprint.fresh_models(2).unwrap();
        let context = limit * blueprint.episodes;
        let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, 0).unwrap();
        let mut played = Played { starts: vec![0], ..Played::default() };
        for step in 0..40 {
            if played.rewards.len() == context {
                let dropped = context.div_ceil(4);
                played.observations.drain(..dropped);
                played.actions.drain(..dropped);
                played.rewards.drain(..dropped);
                played.wanted.drain(..dropped);
                played.cut += dropped;
            }
            let seen = step % 25;
            let action = agent.act(Observation::Discrete(seen)).unwrap();
            let notice = agent.notice();
            assert_eq!(notice.is_some(), played.cut > 0, "{method}, context {context}, step {step}");
            let said = format!("the oldest {} steps of an episode", played.cut);
            assert!(notice.is_none_or(|notice| notice.contains(&said)), "{said}");
            played.observations.push(seen);
            played.wanted.push(agent.thought().step_bin);
            let (actions, returns) = recompute(&model, &played, agent.thought());
            assert!(close(&actions, &agent.thought().actions), "{method}, context {context}, step {step}");
            assert!(close(&returns, &agent.thought().returns), "{method}, context {context}, step {step}");
            agent.observe(0.0, false).unwrap();
            played.actions.push(action);
            played.rewards.push(0.0);
        }
        // Its end is an end like any other.
        agent.act(Observation::Discrete(0)).unwrap();
        agent.observe(0.0, true).unwrap();
        agent.act(Observation::Discrete(0)).unwrap();
    }
}

#[test]
fn a_new_game_has_random_numbers_of_its_own() {
    let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &untrained("icee", &[], 0), 3).unwrap();
    let mut game = || {
        let mut actions = Vec::new();
        for step in 0..40 {
            actions.push(agent.act(Observation::Discrete(step % 25)).unwrap());
            agent.observe(0.0, step % 8 == 7).unwrap();
        }
        agent.reset().unwrap();
        actions
    };
    assert_ne!(game(), game());
}

#[test]
fn mistakes_of_a_caller_are_errors() {
    let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &untrained("icee", &[], 0), 0).unwrap();
    assert!(agent.observe(0.0, false).is_err());
    assert!(agent.act(Observation::Discrete(25)).is_err());
    assert!(agent.act(Observation::Vector(&[1.0])).is_err());
    agent.act(Observation::Discrete(3)).unwrap();
    assert!(agent.act(Observation::Discrete(3)).unwrap_err().to_string().contains("observe"));
    assert!(agent.observe(f32::NAN, false).is_err());
    agent.observe(0.0, false).unwrap();
    agent.act(Observation::Discrete(3)).unwrap();
}

//! `icee act`: a player for any language.

mod common;

use icee_games::LiveAgent;
use icee_models::ModelStore;
use icee_train::Device;
use icee_worlds::{Observation, Registry, Split};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A conversation with the program.
struct Player {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Player {
    fn start(words: &[&str]) -> Player {
        let mut command = Command::new(env!("CARGO_BIN_EXE_icee"));
        command.arg("act").args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Player { child, input, output }
    }

    fn say(&mut self, line: &str) -> Value {
        writeln!(self.input, "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn it_plays_like_the_library_and_learns_the_game() {
    let mut player = Player::start(&["dark-room__icee", "--seed", "7"]);
    let model = ModelStore::default().find("dark-room__icee").unwrap().load_agent().unwrap();
    let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, 7).unwrap();
    let mut world = Registry::builtin().make("DarkRoom-v0").unwrap();
    world.new_game(7, Split::Evaluation);
    let mut earned = Vec::new();
    for episode in 0..12 {
        let Observation::Discrete(mut seen) = world.reset(episode) else { panic!("a room shows a cell") };
        let (mut line, mut sum) = (json!({ "observation": seen }), 0.0);
        loop {
            let action = player.say(&line.to_string())["action"].as_u64().unwrap() as usize;
            assert_eq!(action, agent.act(Observation::Discrete(seen)).unwrap() as usize);
            let step = world.step(action).unwrap();
            agent.observe(step.reward, step.done()).unwrap();
            sum += step.reward;
            if step.done() {
                let over = json!({ "reward": step.reward, "truncated": step.truncated, "terminated": step.terminated });
                assert_eq!(player.say(&over.to_string()), json!({ "episode": episode + 2 }));
                break;
            }
            let Observation::Discrete(next) = step.observation else { panic!("a room shows a cell") };
            seen = next;
            line = json!({ "reward": step.reward, "observation": seen });
        }
        earned.push(sum);
    }
    assert!(earned[11] >= 10.0, "{earned:?}");
    player.end();
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let mut player = Player::start(&["dark-room__icee"]);
    let described = player.say(r#"{"describe": true}"#);
    assert_eq!(described["observation"], json!({ "grid": { "width": 9, "height": 9 } }));
    assert_eq!((described["actions"].as_u64(), described["episode_limit"].as_u64()), (Some(5), Some(20)));
    for (line, said) in [
        ("{", "EOF"),
        ("[1]", "invalid"),
        (r#"{"observaton": 4}"#, "unknown field"),
        (r#"{"observation": 81}"#, "a number from 0 to 80"),
        (r#"{"observation": -1}"#, "a number from 0 to 80"),
        (r#"{"observation": [9, 0]}"#, "a cell [x, y] of 9 x 9"),
        (r#"{"reward": 1}"#, "there is no action to reward"),
        (r#"{"terminated": true}"#, "add \"reward\""),
        ("", "the line is empty"),
    ] {
        let answer = player.say(line);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(said)), "{line}: {answer}");
    }
    let first = player.say(r#"{"observation": [4, 4], "explain": true}"#);
    let sum: f64 = first["probabilities"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    for (line, said) in [
        (r#"{"observation": 40}"#, "reward of the last action is missing"),
        (r#"{"reward": 1e99, "observation": 40}"#, "too large"),
        (r#"{"reward": 0, "truncated": true, "observation": 40}"#, "no next observation"),
    ] {
        let answer = player.say(line);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(said)), "{line}: {answer}");
    }
    let described = player.say(r#"{"reward": 0, "describe": true}"#);
    assert!(described["error"].as_str().is_some_and(|error| error.contains("must be alone")), "{described}");
    let second = player.say(r#"{"reward": 0, "observation": 41}"#);
    assert!(second["action"].is_u64());
    let alone = player.say(r#"{"reward": 0}"#);
    assert!(alone["notice"].as_str().is_some_and(|notice| notice.contains("the episode goes on")), "{alone}");
    // The room's episodes have 20 steps.
    let answers: Vec<Value> = (0..19)
        .map(|step| {
            player.say(if step == 0 { r#"{"observation": 41}"# } else { r#"{"reward": 0, "observation": 41}"# })
        })
        .collect();
    assert!(answers[..18].iter().all(|answer| answer["notice"].is_null()), "{answers:?}");
    assert!(
        answers[18]["notice"].as_str().is_some_and(|notice| notice.contains("longer than the 20 steps")),
        "{answers:?}"
    );
    // The seed and the number of resets fix its choices.
    assert_eq!(player.say(r#"{"reset": true}"#), json!({ "episode": 1 }));
    assert!(player.say(r#"{"observation": 40}"#)["action"].is_u64());
    player.end();

    let mut again = Player::start(&["dark-room__icee"]);
    assert_eq!(again.say(r#"{"observation": 40}"#)["action"], first["action"], "mistakes change nothing");
    again.end();
}

/// The card, the description and the agent itself know the same memory.
#[test]
fn it_says_how_many_episodes_it_remembers() {
    let scratch = common::Scratch::new("act-remembers");
    let mut train = scratch.icee(&["train", "dark-room-tiny", "--json", "--set", "data.episodes=2"]);
    let short = ["train.steps=1", "train.batch=1", "train.eval_every=0", "train.eval_games=1"];
    common::SMALL.iter().chain(&short).for_each(|setting| {
        train.args(["--set", setting]);
    });
    let run = scratch.0.join(common::ok(train.output().unwrap())["run"].as_str().unwrap());
    let card = std::fs::read_to_string(run.join("checkpoint/README.md")).unwrap();
    assert!(card.contains("Its memory holds 2 episodes"), "{card}");
    let mut player = Player::start(&[run.to_str().unwrap()]);
    assert_eq!(player.say(r#"{"describe": true}"#)["episodes"], 2);
    // An episode without an end: so many steps of T = 15 fill two episodes.
    let limit = player.say(r#"{"describe": true}"#)["episode_limit"].as_u64().unwrap();
    player.say(r#"{"observation": 12}"#);
    let answers: Vec<Value> = (0..2 * limit).map(|_| player.say(r#"{"reward": 0, "observation": 12}"#)).collect();
    let said = |answer: &Value, words: &str| answer["notice"].as_str().is_some_and(|notice| notice.contains(words));
    assert!(answers.iter().all(|answer| answer["action"].is_u64()), "{answers:?}");
    let last = answers.last().unwrap();
    assert!(said(last, "steps of the training episodes") && said(last, "steps of an episode that is longer"), "{last}");
    assert!(!said(&answers[answers.len() - 2], "dropped"), "{answers:?}");
    player.end();
}

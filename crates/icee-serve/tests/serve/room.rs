//! An agent at play, watched over a real connection.

use crate::client::{Folder, Running, wide};
use icee_games::LiveAgent;
use icee_models::ModelStore;
use icee_serve::Limits;
use icee_train::Device;
use icee_worlds::grid::GridWorld;
use icee_worlds::{Observation, Split, World};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MODEL: &str = "dark-room__icee";

/// A game from its description to its end.
fn watch(server: &Running, query: &str) -> Vec<Value> {
    let lines = server.listen(&format!("/api/room?model={MODEL}&{query}"));
    lines.map(|line| serde_json::from_str(&line["data: ".len()..]).unwrap()).collect()
}

fn number(event: &Value, name: &str) -> u64 {
    event[name].as_u64().unwrap_or_else(|| panic!("{name}: {event}"))
}

#[test]
fn a_game_is_what_the_agent_plays_and_the_room_pays() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    // A proxy that collects answers would show the game when it is over.
    let head = server.get(&format!("/api/room?model={MODEL}&goal=24&episodes=1")).head;
    assert!(head.contains("x-accel-buffering: no"), "{head}");
    let events = watch(&server, "goal=24&episodes=9&seed=5");
    let (room, over) = (&events[0], events.last().unwrap());
    for (name, value) in [("columns", 9), ("rows", 9), ("start", 40), ("steps", 20), ("episodes", 9), ("goal", 24)] {
        assert_eq!(number(room, name), value, "{name}");
    }
    assert_eq!((&room["model"], &room["name"]), (&json!(MODEL), &json!("Dark Room")));
    // The same agent, which nobody asks what it believes, in the same room.
    let model = ModelStore::default().find(MODEL).unwrap().load_agent().unwrap();
    let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, 5).unwrap();
    let mut world = GridWorld::preset("DarkRoom-v0").unwrap();
    world.place_goals(&[(6, 2)]).unwrap();
    let mut steps = events[1..events.len() - 1].iter();
    let (mut found, mut returns) = (false, Vec::new());
    for episode in 0..9 {
        let Observation::Discrete(mut cell) = world.reset(episode) else { unreachable!() };
        returns.push(0.0);
        for at in 0..20 {
            let step = steps.next().unwrap();
            assert_eq!(
                (number(step, "episode"), number(step, "step"), number(step, "cell")),
                (episode, at, cell.into())
            );
            let action = agent.act(Observation::Discrete(cell)).unwrap();
            assert_eq!(number(step, "action"), u64::from(action), "asking changes what the agent does");
            let outcome = world.step(action as usize).unwrap();
            let (reward, done) = (outcome.reward, outcome.done());
            let Observation::Discrete(to) = outcome.observation else { unreachable!() };
            assert_eq!((number(step, "to"), &step["reward"]), (to.into(), &json!(reward)));
            let all =
                |name: &str| step[name].as_array().unwrap().iter().map(|p| p.as_u64().unwrap()).collect::<Vec<_>>();
            assert!((995..=1005).contains(&all("actions").iter().sum::<u64>()));
            let beliefs = all("beliefs");
            assert!(beliefs.len() == 81 && beliefs.iter().all(|&p| p <= 1000));
            if found {
                assert!((0..81).all(|cell| cell == 24 || beliefs[cell] < beliefs[24]), "it knows where: {beliefs:?}");
            }
            found |= reward > 0.0;
            agent.observe(reward, done).unwrap();
            *returns.last_mut().unwrap() += reward;
            cell = to;
        }
    }
    assert!(found && steps.next().is_none());
    assert_eq!(*over, json!({ "returns": returns }));
}

#[test]
fn without_a_goal_the_seed_hides_one() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    for seed in [0, 7] {
        let mut world = GridWorld::preset("DarkRoom-v0").unwrap();
        world.new_game(seed, Split::Evaluation);
        let (x, y) = world.goals()[0];
        let events = watch(&server, &format!("episodes=1&seed={seed}"));
        assert_eq!((number(&events[0], "goal"), events.len()), (u64::from(y * 9 + x), 22));
    }
    let rooms = server.read("/api/rooms");
    for room in rooms.as_array().unwrap() {
        let (model, last) = (room["model"].as_str().unwrap(), number(room, "columns") * number(room, "rows") - 1);
        let mut lines = server.listen(&format!("/api/room?model={model}&goal={last}&episodes=1"));
        assert!(lines.next().unwrap().contains(&format!("\"goal\":{last}")), "{model}");
    }
}

#[test]
fn what_cannot_be_played_is_refused() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    for (query, words) in [
        ("", "missing field `model`"),
        ("model=dark-room", "did you mean \"dark-room__icee\""),
        ("model=../models/dark-room__icee", "unknown model"),
        ("model=bo__value", "known are dark-room__icee"),
        ("model=dark-room__icee&goal=81", "Ask for 0 to 80"),
        ("model=dark-room__icee&goal=4294967295", "Ask for 0 to 80"),
        ("model=dark-room__icee&goal=-1", "goal"),
        ("model=dark-room__icee&goal=", "goal"),
        ("model=dark-room__icee&episodes=0", "Ask for 1 to 50"),
        ("model=dark-room__icee&episodes=51", "Ask for 1 to 50"),
        ("model=dark-room__icee&seed=x", "seed"),
        ("model=dark-room__icee&colour=1", "unknown field `colour`"),
    ] {
        server.get(&format!("/api/room?{query}")).refused(400, words);
    }
}

#[test]
fn few_games_are_played_at_once_and_those_that_nobody_watches_end() {
    let folder = Folder::new();
    {
        let server = Running::with(&folder.0, Limits { streams: 0, ..wide() });
        server.get(&format!("/api/room?model={MODEL}")).refused(503, "streams of events");
    }
    let server = Running::with(&folder.0, Limits { games: 1, ..wide() });
    let short = format!("/api/room?model={MODEL}&episodes=1");
    let mut long = server.listen(&format!("/api/room?model={MODEL}&episodes=50"));
    long.next().unwrap();
    let busy = server.get(&short);
    busy.refused(503, "1 games is the most at once");
    assert!(busy.head.contains("retry-after: 1"));
    drop(long);
    let left = Instant::now();
    while server.get(&short).status == 503 {
        assert!(left.elapsed() < Duration::from_secs(5), "a game goes on that nobody watches");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn games_end_with_the_server() {
    let folder = Folder::new();
    let server = Running::start(&folder.0);
    let mut lines = server.listen(&format!("/api/room?model={MODEL}&episodes=50"));
    lines.next().unwrap();
    server.stopper().stop();
    assert!(lines.all(|line| !line.contains("returns")), "it was not played to its end");
}

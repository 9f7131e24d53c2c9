//! An agent at play: a trained model in a room with a hidden goal, step by step as server-sent events, with what it
//! predicts for every cell. A game is played on a thread of its own, as fast as it goes; how fast it is shown is up to
//! the client.

use crate::answer::Answer;
use crate::app::{App, Ending, aside};
use crate::failure::Failure;
use crate::quotas::{Held, What};
use crate::request;
use crate::routes::Route;
use axum::http::Uri;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use icee_base::names;
use icee_games::LiveAgent;
use icee_models::{ModelStore, catalogue};
use icee_train::Device;
use icee_worlds::grid::GridWorld;
use icee_worlds::{Observation, ObservationSpace, Split, World, WorldSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

/// The models that can be watched, and their rooms: those inside the program that look for one goal and predict
/// rewards.
const ROOMS: [(&str, &str); 3] = [
    ("dark-room__icee", "DarkRoom-v0"),
    ("dark-room-hard__icee", "DarkRoomHard-v0"),
    ("dark-room-biased__icee", "DarkRoomBiased-v0"),
];
/// Episodes of a game, by default.
const EPISODES: usize = 10;
/// How often something is sent even if no step is ready.
const ALIVE: Duration = Duration::from_secs(15);
/// The number that stands for a probability of one.
const ONE: f64 = 1000.0;

/// A game to be watched.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The model that plays; /api/rooms lists them.
    model: String,
    /// The cell where the goal is hidden, numbered from 0, row by row; by default the seed picks one.
    goal: Option<u32>,
    /// How many episodes; 10 by default, and no more than the room has.
    episodes: Option<usize>,
    /// Fixes the agent's choices, and the goal where none is given.
    #[serde(default)]
    seed: u64,
}

/// A room, as it is described to clients.
#[derive(Debug, Serialize)]
struct Description<'a> {
    model: &'a str,
    /// Its name for readers.
    name: &'a str,
    world: &'a str,
    rules: &'a str,
    columns: usize,
    rows: usize,
    /// The cell in which episodes start.
    start: u32,
    /// Steps of an episode.
    steps: usize,
    /// The most episodes, or those of this game.
    episodes: usize,
    /// The names of the actions.
    actions: &'a [String],
    /// The greatest return of an episode.
    most: f32,
    /// Where the goal is in this game.
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<u32>,
}

/// A step of a game.
#[derive(Debug, Serialize)]
struct Watched {
    /// From 0.
    episode: usize,
    /// From 0.
    step: usize,
    /// Where the agent is, and where the action leads.
    cell: u32,
    to: u32,
    action: u32,
    reward: f32,
    /// The probability of each action, in thousandths.
    actions: Vec<u16>,
    /// The predicted probability of each cell before the step, in thousandths.
    beliefs: Vec<u16>,
}

/// The rooms that can be watched.
pub fn list() -> Result<Answer, Failure> {
    let rooms = ROOMS.iter().map(|&(model, world)| {
        let mut world = room(world)?;
        let start = start(&mut world, 0)?;
        let spec = world.spec();
        let line = description(model, spec, start).ok_or_else(|| Failure::internal("the room has no cells"))?;
        serde_json::to_value(line).map_err(|error| Failure::internal(error.to_string()))
    });
    Answer::json(&rooms.collect::<Result<Vec<_>, Failure>>()?)
}

/// A game, step by step: an event `room` that describes it, an event `step` for each, and `over`.
///
/// # Errors
/// If there is no such game, or there are too many.
pub async fn stream(app: Arc<App>, route: &Route, user: Option<&str>, uri: &Uri) -> Result<Response, Failure> {
    let wrong = |error: serde_json::Error| Failure::bad(format!("The query is not as expected: {error}"));
    let asked: Watch = serde_json::from_value(request::query(uri, &route.numbers)?).map_err(wrong)?;
    let listening = app.quotas.take(What::Streams, user)?;
    let playing = app.quotas.take(What::Games, user)?;
    let game = aside(move || Game::new(&asked)).await?;
    // It holds one game at most, which is small: the thread never waits for a client.
    let (sender, receiver) = unbounded_channel();
    let ending = app.ending.clone();
    tokio::task::spawn_blocking(move || {
        let _playing = playing;
        game.play(&sender, &ending);
    });
    let ending = app.ending.clone();
    let messages = unfold(Watcher { receiver, ending, _listening: listening }, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok::<Event, Infallible>(event), watcher))
    });
    Ok(Sse::new(messages).keep_alive(KeepAlive::new().interval(ALIVE)).into_response())
}

/// A client that watches.
struct Watcher {
    receiver: UnboundedReceiver<Event>,
    ending: watch::Receiver<Ending>,
    _listening: Held,
}

impl Watcher {
    /// Waits for the next step; none if the game has ended or the server stops.
    async fn next(&mut self) -> Option<Event> {
        tokio::select! {
            event = self.receiver.recv() => event,
            _ = self.ending.wait_for(|ending| *ending != Ending::No) => None,
        }
    }
}

/// A game before its first step.
struct Game {
    model: &'static str,
    world: GridWorld,
    agent: LiveAgent,
    goal: u32,
    episodes: usize,
    seed: u64,
}

impl Game {
    /// # Errors
    /// If there is no such model, goal or number of episodes.
    fn new(asked: &Watch) -> Result<Game, Failure> {
        let &(model, id) = ROOMS.iter().find(|(model, _)| *model == asked.model).ok_or_else(|| {
            let known = ROOMS.map(|(model, _)| model);
            Failure::bad(names::Unknown::new("model", &asked.model, &known).to_string())
        })?;
        let mut world = room(id)?;
        let most = world.spec().episodes;
        let episodes = asked.episodes.unwrap_or(EPISODES.min(most));
        if !(1..=most).contains(&episodes) {
            return Err(Failure::bad(format!("episodes is {episodes}. Ask for 1 to {most}.")));
        }
        let (columns, rows) = sides(world.spec()).ok_or_else(|| Failure::internal("the room has no cells"))?;
        world.new_game(asked.seed, Split::Evaluation);
        if let Some(goal) = asked.goal {
            let last = columns * rows - 1;
            let unknown =
                |_| Failure::bad(format!("Goal {goal} is not a cell that can be entered. Ask for 0 to {last}."));
            world.place_goals(&[(goal % columns as u32, goal / columns as u32)]).map_err(unknown)?;
        }
        let goal = world.goals().first().map_or(0, |&(x, y)| y * columns as u32 + x);
        // Clients do not see errors of files here.
        let found = ModelStore::of_environment().find(model).and_then(|found| found.load_agent());
        let trained =
            found.map_err(|_| Failure::missing(format!("The model {model} is not available on this server.")))?;
        let fits = trained.task.check_world(world.spec());
        let agent = fits.and_then(|()| LiveAgent::new(&Device::cpu(1)?, &trained, asked.seed)).map_err(failed)?;
        Ok(Game { model, world, agent, goal, episodes, seed: asked.seed })
    }

    /// Plays until it is over, the client is gone, or the server stops.
    fn play(mut self, watchers: &UnboundedSender<Event>, ending: &watch::Receiver<Ending>) {
        // Without a client, the error is not sent.
        if let Err(failure) = self.steps(watchers, ending) {
            let _ = watchers.send(event("error", &failure.refusal(&icee_protocol::Reader::default(), None)));
        }
    }

    fn steps(&mut self, watchers: &UnboundedSender<Event>, ending: &watch::Receiver<Ending>) -> Result<(), Failure> {
        let first = start(&mut self.world, self.seed)?;
        let spec = self.world.spec().clone();
        if let Some(line) = description(self.model, &spec, first) {
            let line = Description { episodes: self.episodes, goal: Some(self.goal), ..line };
            let _ = watchers.send(event("room", &line));
        }
        let ways = ways_in(&self.world, &spec);
        let mut returns = vec![0.0; self.episodes];
        for (episode, total) in returns.iter_mut().enumerate() {
            let mut cell = start(&mut self.world, self.seed.wrapping_add(episode as u64))?;
            for step in 0..spec.episode_limit {
                if watchers.is_closed() || *ending.borrow() != Ending::No {
                    return Ok(());
                }
                let action = self.agent.act(Observation::Discrete(cell)).map_err(failed)?;
                let expected = self.agent.expected_rewards().map_err(failed)?;
                let beliefs = beliefs(&ways, &expected);
                let actions = self.agent.thought().actions.iter().map(|&p| thousandths(p)).collect();
                let outcome = self.world.step(action as usize).map_err(failed)?;
                let (reward, done) = (outcome.reward, outcome.done());
                let to = seen(outcome.observation)?;
                self.agent.observe(reward, done).map_err(failed)?;
                *total += reward;
                let _ = watchers
                    .send(event("step", &Watched { episode, step, cell, to, action, reward, actions, beliefs }));
                if done {
                    break;
                }
                cell = to;
            }
        }
        let _ = watchers.send(event("over", &serde_json::json!({ "returns": returns })));
        Ok(())
    }
}

/// The room of this id.
fn room(id: &str) -> Result<GridWorld, Failure> {
    GridWorld::preset(id).map_err(failed)
}

/// Begins an episode; returns its first cell.
fn start(world: &mut GridWorld, seed: u64) -> Result<u32, Failure> {
    seen(world.reset(seed))
}

fn seen(observation: Observation<'_>) -> Result<u32, Failure> {
    match observation {
        Observation::Discrete(cell) => Ok(cell),
        Observation::Vector(_) => Err(Failure::internal("the room has no cells")),
    }
}

/// Columns and rows.
fn sides(spec: &WorldSpec) -> Option<(usize, usize)> {
    match spec.observation_space {
        ObservationSpace::Grid { width, height } => Some((width, height)),
        _ => None,
    }
}

fn description<'a>(model: &'a str, spec: &'a WorldSpec, start: u32) -> Option<Description<'a>> {
    let (columns, rows) = sides(spec)?;
    let WorldSpec { id: world, rules, episode_limit: steps, episodes, action_names: actions, .. } = spec;
    let most = spec.return_range.1;
    let name = catalogue::worlds().find(|known| known.id == *world).map_or(world.as_str(), |known| known.name);
    Some(Description {
        model,
        name,
        world,
        rules,
        columns,
        rows,
        start,
        steps: *steps,
        episodes: *episodes,
        actions,
        most,
        goal: None,
    })
}

/// For each cell the moves that lead into it from another one, as places in the predictions of every action at every
/// cell.
fn ways_in(world: &GridWorld, spec: &WorldSpec) -> Vec<Vec<usize>> {
    let (columns, rows) = sides(spec).unwrap_or_default();
    let mut ways = vec![Vec::new(); columns * rows];
    for cell in 0..(columns * rows) as u32 {
        for action in 0..spec.actions() {
            let to = world.leads_to(cell, action).filter(|&to| to != cell);
            if let Some(ways) = to.and_then(|to| ways.get_mut(to as usize)) {
                ways.push(cell as usize * spec.actions() + action);
            }
        }
    }
    ways
}

/// The prediction for every cell: the least of those of all moves into it. (Staying on a cell does not count: an agent
/// there without a reward has seen that it is not the goal.)
fn beliefs(ways: &[Vec<usize>], expected: &[f64]) -> Vec<u16> {
    let promised = |ways: &Vec<usize>| ways.iter().filter_map(|&way| expected.get(way).copied()).reduce(f64::min);
    ways.iter().map(|ways| thousandths(promised(ways).unwrap_or(0.0))).collect()
}

fn thousandths(p: f64) -> u16 {
    (p * ONE).round().clamp(0.0, ONE) as u16
}

fn event(name: &str, data: &impl Serialize) -> Event {
    // Numbers, texts and lists can always be written.
    Event::default().event(name).data(serde_json::to_string(data).unwrap_or_default())
}

/// A failure of a valid request.
fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(model: &str) -> Watch {
        Watch { model: model.into(), goal: None, episodes: None, seed: 0 }
    }

    #[test]
    fn every_room_on_offer_can_be_played_and_is_believed_something_of() {
        for (model, id) in ROOMS {
            let mut game = Game::new(&asked(model)).map_err(|failure| failure.words()).unwrap();
            assert_eq!((game.world.spec().id.as_str(), game.episodes), (id, EPISODES));
            let cell = start(&mut game.world, 0).unwrap();
            game.agent.act(Observation::Discrete(cell)).unwrap();
            let ways = ways_in(&game.world, game.world.spec());
            let beliefs = beliefs(&ways, &game.agent.expected_rewards().unwrap());
            // Nothing was found yet: no cell is certain, and not all are ruled out.
            let open = beliefs.iter().all(|&p| p < 200) && beliefs.iter().any(|&p| p > 0);
            assert!(beliefs.len() == 81 && open, "{model}: {beliefs:?}");
        }
    }

    #[test]
    fn a_belief_is_what_all_ways_in_agree_on() {
        let world = GridWorld::preset("DarkRoomTiny-v0").unwrap();
        let ways = ways_in(&world, world.spec());
        assert_eq!(ways.iter().map(Vec::len).collect::<Vec<_>>()[..6], [2, 3, 3, 3, 2, 3]);
        // Into the corner lead "left" from cell 1 and "up" from cell 5.
        let mut expected = vec![0.0; 25 * 5];
        (expected[5], expected[5 * 5 + 2]) = (0.75, 0.5);
        assert_eq!(beliefs(&ways, &expected)[..2], [500, 0]);
    }
}

//! `icee act`: lets a program in any language play a trained model by JSON lines.

use super::acting::ActingArgs;
use super::models::StoreArgs;
use super::play::Owned;
use crate::terminal::say;
use icee_games::{LiveAgent, ObservationKind, TrainedModel};
use icee_models::ModelStore;
use icee_train::Device;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, Write};

/// The longest line that is read: no observation needs as much, and a file without line breaks must not fill the memory.
const LONGEST_LINE: u64 = 1 << 22;

/// Play an environment of your own: JSON lines in, JSON lines out.
///
/// Write one JSON object per line; each line gets one answer. {"observation": 12} gets {"action": 3}. Send the reward with the
/// next observation: {"reward": 0, "observation": 13}. End an episode with {"reward": 1, "terminated": true} (or "truncated"); it
/// gets {"episode": 2}. The agent remembers all episodes and so learns the task. {"reset": true} starts a new task and clears
/// the memory. {"describe": true} gets the actions and the form of observations. With "explain": true beside an observation, the
/// answer has the probability of every action. A wrong line gets {"error": "..."} and changes nothing.
///
/// Observations are numbers from 0 (in a grid the cells row by row, or [x, y]) or lists of numbers (one number needs no list).
/// A "notice" in an answer is for you; the first of each kind is also printed on standard error.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  printf '{\"observation\": 40}\\n{\"reward\": 0, \"observation\": 41}\\n' | icee act dark-room__icee"
)]
pub struct Args {
    /// Model name (`icee models` lists them), checkpoint folder or run folder.
    #[arg(value_name = "MODEL")]
    model: String,
    /// Seed of the agent's choices.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    pub(crate) models: StoreArgs,
    #[command(flatten)]
    acting: ActingArgs,
}

/// A line that is read. Unknown keys are refused: a mistyped reward would be lost.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default)]
    describe: bool,
    #[serde(default)]
    reset: bool,
    reward: Option<f64>,
    #[serde(default)]
    terminated: bool,
    #[serde(default)]
    truncated: bool,
    observation: Option<Value>,
    #[serde(default)]
    explain: bool,
}

/// Runs `icee act`.
pub fn run(args: &Args, models: &ModelStore) -> anyhow::Result<()> {
    let mut model = models.find(&args.model)?.load_agent()?;
    args.acting.apply(&mut model.config.acting)?;
    let agent = LiveAgent::new(&Device::cpu(1)?, &model, args.seed)?;
    let mut player = Player { model, agent, episode: 1, steps: 0 };
    let mut told = Vec::new();
    let (mut input, mut out) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = std::io::Read::take(&mut input, LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if read as u64 == LONGEST_LINE {
            anyhow::bail!("a line is longer than {LONGEST_LINE} bytes; write one JSON object per line");
        }
        let answer = player.answer(&line).unwrap_or_else(|error| json!({ "error": format!("{error:#}") }));
        writeln!(out, "{answer}")?;
        out.flush()?;
        // Each kind once: the program that reads the answers may ignore it, but its user should see it.
        if let Some(notice) = answer["notice"].as_str() {
            let kind = notice.replace(|c: char| c.is_ascii_digit(), "");
            if !told.contains(&kind) {
                say(notice);
                told.push(kind);
            }
        }
    }
}

fn observation_or_end(request: &Request) -> bool {
    request.observation.is_some() || request.terminated || request.truncated
}

/// Said where a reward comes without anything after it.
const GOES_ON: &str =
    "the episode goes on; send the last reward of an episode with \"terminated\": true (or \"truncated\")";

struct Player {
    model: TrainedModel,
    agent: LiveAgent,
    /// The current episode, from one.
    episode: usize,
    /// Its steps so far.
    steps: usize,
}

impl Player {
    /// The answer to a line. All that can be wrong with it is found before anything is changed.
    fn answer(&mut self, line: &[u8]) -> anyhow::Result<Value> {
        if line.iter().all(u8::is_ascii_whitespace) {
            anyhow::bail!("the line is empty; write one JSON object per line");
        }
        let request: Request = serde_json::from_slice(line)?;
        if request.describe && (request.reset || request.reward.is_some() || observation_or_end(&request)) {
            anyhow::bail!("\"describe\" must be alone; send the rest in another line");
        }
        let done = request.terminated || request.truncated;
        let observation = request.observation.as_ref().map(|value| self.observation(value)).transpose()?;
        let acted = self.agent.waits() && !request.reset;
        match (acted, request.reward) {
            (true, None) if observation.is_some() || done => {
                anyhow::bail!("the reward of the last action is missing; add \"reward\"")
            }
            (false, Some(_)) => anyhow::bail!("there is no action to reward; send an observation first"),
            _ => {}
        }
        if done && request.reward.is_none() {
            anyhow::bail!("an episode ends with a reward; add \"reward\"");
        }
        if done && observation.is_some() {
            anyhow::bail!("an episode that ended has no next observation; start the next episode in another line");
        }
        if request.describe {
            return self.description();
        }
        if request.reset {
            self.agent.reset()?;
            (self.episode, self.steps) = (1, 0);
        }
        if let Some(reward) = request.reward {
            self.agent.observe(reward as f32, done)?;
            self.episode += usize::from(done);
            self.steps = if done { 0 } else { self.steps };
        }
        let Some(observation) = observation else {
            let mut answer = json!({ "episode": self.episode });
            if request.reward.is_some() && !done {
                answer["notice"] = json!(GOES_ON);
            }
            return Ok(answer);
        };
        let action = self.agent.act(observation.borrow())?;
        self.steps += 1;
        let mut answer = json!({ "action": action });
        if request.explain {
            answer["probabilities"] = json!(self.agent.thought().actions);
        }
        let limit = self.model.task.episode_limit;
        let endless = (self.steps > limit).then(|| {
            format!(
                "this episode is longer than the {limit} steps of the training episodes; end an episode with \"terminated\" or \"truncated\""
            )
        });
        let notices: Vec<String> = endless.into_iter().chain(self.agent.notice()).collect();
        if !notices.is_empty() {
            answer["notice"] = json!(notices.join("; "));
        }
        Ok(answer)
    }

    fn description(&self) -> anyhow::Result<Value> {
        let TrainedModel { task, config, .. } = &self.model;
        Ok(json!({
            "world": task.name, "observation": task.observation, "actions": task.actions,
            "episode_limit": task.episode_limit, "episodes": config.remembered_episodes(task)?, "episode": self.episode,
        }))
    }

    /// The observation, checked before the agent gets anything.
    fn observation(&self, value: &Value) -> anyhow::Result<Owned> {
        let whole = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let seen = match (self.model.task.observation, value) {
            (ObservationKind::Grid { width, height }, Value::Array(pair)) => {
                let inside = |(x, y): &(u32, u32)| (*x as usize) < width && (*y as usize) < height;
                let place = match &pair[..] {
                    [x, y] => whole(x).zip(whole(y)).filter(inside),
                    _ => None,
                };
                let (x, y) = place.ok_or_else(|| {
                    anyhow::anyhow!("the observation {value} is not a cell [x, y] of {width} x {height}")
                })?;
                Some(Owned::Discrete(y * width as u32 + x))
            }
            (ObservationKind::Discrete { .. } | ObservationKind::Grid { .. }, _) => whole(value).map(Owned::Discrete),
            (ObservationKind::Vector { .. }, _) => {
                // A single number needs no list around it.
                let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                let numbers: Option<Vec<f32>> = values.iter().map(|v| v.as_f64().map(|v| v as f32)).collect();
                numbers.map(Owned::Vector)
            }
        };
        let known = seen.filter(|seen| self.model.task.sees(seen.borrow()));
        Ok(known.ok_or_else(|| self.agent.unseen(&value.to_string()))?)
    }
}

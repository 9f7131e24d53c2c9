//! Steps as lines of a log, as [`Logs`](super::Logs) reads them.

use super::COLUMNS;
use icee_worlds::{Observation, PlayedStep};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// A step of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedStep<'a> {
    /// The game.
    pub game: u64,
    /// The episode of the game.
    pub episode: u64,
    /// The step of the episode, from 0.
    pub step: u64,
    /// What was seen before it.
    pub observation: Observation<'a>,
    /// What was done.
    pub action: u32,
    /// Its return.
    pub reward: f32,
    /// How likely the action was, where it is known.
    pub probability: Option<f32>,
}

impl LoggedStep<'_> {
    fn json(&self) -> String {
        let LoggedStep { game, episode, step, observation, action, reward, probability } = self;
        let observation = match observation {
            Observation::Discrete(index) => json!(index),
            Observation::Vector(values) => json!(values),
        };
        let mut line = json!({ "game": game, "episode": episode, "step": step, "observation": observation,
            "action": action, "reward": reward });
        if let Some(probability) = probability {
            line["probability"] = json!(probability);
        }
        line.to_string()
    }

    fn csv(&self) -> String {
        let LoggedStep { game, episode, step, observation, action, reward, probability } = self;
        let observation = match observation {
            Observation::Discrete(index) => index.to_string(),
            Observation::Vector(values) => values.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(" "),
        };
        let probability = probability.map_or(String::new(), |p| p.to_string());
        format!("{game},{episode},{step},{observation},{action},{reward},{probability}")
    }
}

/// The content of a log with these steps, in this order; `path` says which format it is to have.
#[must_use]
pub fn log_bytes<'a>(path: &Path, steps: impl IntoIterator<Item = LoggedStep<'a>>) -> Vec<u8> {
    let json = is_json(path);
    let mut text = if json { String::new() } else { COLUMNS.join(",") + "\n" };
    for step in steps {
        text += &if json { step.json() } else { step.csv() };
        text.push('\n');
    }
    text.into_bytes()
}

/// JSON lines for a `.jsonl` or `.json` file, CSV otherwise.
fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "jsonl" || e == "json")
}

/// Writes played steps in the format that [`Logs`](super::Logs) reads: JSON lines for a `.jsonl` or `.json` file, CSV otherwise.
pub struct LogWriter<W: Write> {
    out: W,
    json: bool,
    /// Whether probabilities are those of the actions.
    probabilities: bool,
    lines: Vec<Vec<String>>,
}

impl<W: Write> LogWriter<W> {
    /// A log of `games` games, played by an agent whose decisions have the probabilities of its actions, or not: then none are written.
    /// Games are written one after another at the end, since they are played side by side.
    #[must_use]
    pub fn new(out: W, path: &Path, games: usize, probabilities: bool) -> Self {
        Self { out, json: is_json(path), probabilities, lines: vec![Vec::new(); games] }
    }

    /// Takes a step down.
    pub fn record(&mut self, played: &PlayedStep<'_>) {
        let PlayedStep { game, episode, step, observation, decision, outcome, .. } = played;
        let logged = LoggedStep {
            game: *game as u64,
            episode: *episode as u64,
            step: *step as u64,
            observation: *observation,
            action: decision.action,
            reward: outcome.reward,
            probability: self.probabilities.then_some(decision.probability),
        };
        if let Some(lines) = self.lines.get_mut(*game) {
            lines.push(if self.json { logged.json() } else { logged.csv() });
        }
    }

    /// Writes everything.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> std::io::Result<()> {
        if !self.json {
            writeln!(self.out, "{}", COLUMNS.join(","))?;
        }
        for line in self.lines.iter().flatten() {
            writeln!(self.out, "{line}")?;
        }
        self.out.flush()
    }
}

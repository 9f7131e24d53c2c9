//! `icee play --svg`: one game as an animated SVG.

use anyhow::{Context, bail};
use icee_games::LiveAgent;
use icee_report::animation::{Episode, Game, Step, svg};
use icee_report::ink::Paint;
use icee_worlds::{Observation, World, grid};
use std::io::Write;
use std::path::Path;

/// The episodes that are shown step by step; those between them pass at once.
const SHOWN: [usize; 6] = [1, 2, 3, 4, 6, 10];

/// The picture that is wanted.
pub struct Picture<'a> {
    /// Where it goes.
    pub path: &'a Path,
    /// Whether it is for a dark page.
    pub dark: bool,
    /// The model's name.
    pub model: &'a str,
    /// Its stored mean returns by episode, where it acts as it did then.
    pub stored: &'a [f64],
    /// Fixes the game.
    pub seed: u64,
    /// Episodes to play, where not the world's.
    pub episodes: Option<usize>,
}

/// Plays the game and writes its picture; prints where, and the returns.
pub fn write(wanted: &Picture<'_>, world: &mut dyn World, agent: &mut LiveAgent) -> anyhow::Result<()> {
    let Picture { path, dark, model, stored, seed, episodes } = *wanted;
    let spec = world.spec().clone();
    let Some(room) = grid::presets().into_iter().find(|rules| rules.id == spec.id) else {
        bail!("{} is not a room; --svg draws rooms only", spec.id);
    };
    let last = episodes.unwrap_or(spec.episodes).min(SHOWN[SHOWN.len() - 1]);
    let mut episodes = Vec::with_capacity(last);
    for episode in 0..last {
        episodes.push(play(world, agent, seed.wrapping_add(episode as u64))?);
    }
    let id = &spec.id;
    let game = Game {
        title: format!("{model} plays {id}, seed {seed}: it searches, finds the goal, and goes back to it"),
        columns: room.width,
        rows: room.height,
        most: f64::from(spec.return_range.1),
        mean: stored.to_vec(),
        episodes,
    };
    let shown: Vec<usize> = SHOWN.into_iter().filter(|number| *number < last).chain([last]).collect();
    let picture = svg(&game, &shown, if dark { Paint::Dark } else { Paint::Light })?;
    std::fs::write(path, picture).with_context(|| format!("cannot write {}", path.display()))?;
    let earned = |episode: &Episode| episode.steps.iter().map(|step| step.reward).sum::<f32>().to_string();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", path.display())?;
    writeln!(out, "returns: {}", game.episodes.iter().map(earned).collect::<Vec<_>>().join(" "))?;
    Ok(())
}

fn play(world: &mut dyn World, agent: &mut LiveAgent, seed: u64) -> anyhow::Result<Episode> {
    let start = cell(world.reset(seed))?;
    let (mut steps, mut here) = (Vec::new(), start);
    loop {
        let action = agent.act(Observation::Discrete(here))?;
        let step = world.step(action as usize)?;
        here = cell(step.observation)?;
        agent.observe(step.reward, step.done())?;
        steps.push(Step { cell: here, reward: step.reward });
        if step.done() {
            return Ok(Episode { start, steps });
        }
    }
}

fn cell(observation: Observation<'_>) -> anyhow::Result<u32> {
    match observation {
        Observation::Discrete(cell) => Ok(cell),
        Observation::Vector(_) => bail!("--svg needs a world of cells"),
    }
}

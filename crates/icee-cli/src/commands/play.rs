//! `icee play`: shows one game of a trained model: the room, visited places, the return it conditions on.

use super::acting::ActingArgs;
use super::counts::count;
use super::models::StoreArgs;
use super::play_svg::{self, Picture};
use icee_games::{LiveAgent, TrainedModel};
use icee_models::ModelStore;
use icee_train::Device;
use icee_worlds::{Observation, Registry, Split, World};
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Characters of the longest bar.
const BAR: f64 = 30.0;
/// Columns of the picture of p(c).
const COLUMNS: usize = 32;

/// Watch a trained model play one game.
#[derive(clap::Args)]
pub struct Args {
    /// Model name (`icee models` lists them), checkpoint folder or run folder.
    #[arg(value_name = "MODEL")]
    pub(super) model: String,
    /// World id [default: the world it was trained on].
    #[arg(value_name = "WORLD")]
    pub(super) world: Option<String>,
    /// Play this many episodes [default: the world's K].
    #[arg(long, value_name = "K", value_parser = count)]
    pub(super) episodes: Option<usize>,
    /// Seed of the game and the agent's choices.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(super) seed: u64,
    /// Show each picture for this many milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 150)]
    delay: u64,
    /// Write an animated SVG instead, of episodes 1, 2, 3, 4, 6 and 10.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Use colours for a dark page.
    #[arg(long, requires = "svg")]
    pub(super) dark: bool,
    #[command(flatten)]
    pub(crate) models: StoreArgs,
    #[command(flatten)]
    pub(super) acting: ActingArgs,
}

pub fn run(args: &Args, registry: &Registry, models: &ModelStore) -> anyhow::Result<()> {
    let mut model = models.find(&args.model)?.load_agent()?;
    args.acting.apply(&mut model.config.acting)?;
    if args.world.is_none() && model.task.is_of_logs() {
        anyhow::bail!(
            "{model} was trained on logs and has no world; use `icee act {model}` (or Python) with your environment, or name a \
             world that fits: `icee play {model} WORLD`",
            model = args.model
        );
    }
    let id = args.world.as_ref().unwrap_or(&model.task.name);
    let mut world = registry.make(id)?;
    model.task.check_world(world.spec())?;
    let mut agent = LiveAgent::new(&Device::cpu(1)?, &model, args.seed)?;
    world.new_game(args.seed, Split::Evaluation);
    if let Some(path) = &args.svg {
        let as_stored = args.world.is_none() && !args.acting.given();
        let rows = if as_stored { models.stored_results(&args.model)? } else { None };
        let stored: &[f64] = &rows.unwrap_or_default().iter().map(|row| row.mean).collect::<Vec<_>>();
        let (dark, model, seed, episodes) = (args.dark, &args.model, args.seed, args.episodes);
        let picture = Picture { path, dark, model, stored, seed, episodes };
        return play_svg::write(&picture, &mut *world, &mut agent);
    }
    let mut screen = Screen { delay: Duration::from_millis(args.delay), returns: Vec::new(), seen: HashSet::new() };
    for episode in 0..args.episodes.unwrap_or(world.spec().episodes) {
        screen.returns.push(0.0);
        let mut observation = owned(world.reset(args.seed.wrapping_add(episode as u64)));
        loop {
            screen.note(&observation);
            let action = agent.act(observation.borrow())?;
            screen.draw(&*world, &agent, &model, action)?;
            let step = world.step(action as usize)?;
            agent.observe(step.reward, step.done())?;
            *screen.returns.last_mut().unwrap_or(&mut 0.0) += step.reward;
            if step.done() {
                break;
            }
            observation = owned(step.observation);
        }
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "returns: {}", screen.returns_line())?;
    if let Some(notice) = agent.notice() {
        writeln!(out, "{notice}")?;
    }
    Ok(())
}

/// An observation that outlives its world's next step.
pub(super) enum Owned {
    Discrete(u32),
    Vector(Vec<f32>),
}

impl Owned {
    pub(super) fn borrow(&self) -> Observation<'_> {
        match self {
            Owned::Discrete(index) => Observation::Discrete(*index),
            Owned::Vector(values) => Observation::Vector(values),
        }
    }
}

fn owned(observation: Observation<'_>) -> Owned {
    match observation {
        Observation::Discrete(index) => Owned::Discrete(index),
        Observation::Vector(values) => Owned::Vector(values.to_vec()),
    }
}

struct Screen {
    delay: Duration,
    returns: Vec<f32>,
    /// Observations met so far.
    seen: HashSet<u32>,
}

impl Screen {
    fn note(&mut self, observation: &Owned) {
        if let Owned::Discrete(index) = observation {
            self.seen.insert(*index);
        }
    }

    fn returns_line(&self) -> String {
        self.returns.iter().map(|r| format!("{r}")).collect::<Vec<_>>().join(" ")
    }

    fn draw(&self, world: &dyn World, agent: &LiveAgent, model: &TrainedModel, action: u32) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        if out.is_terminal() {
            write!(out, "\x1b[H\x1b[J")?;
        }
        let thought = agent.thought();
        writeln!(out, "episode {}, {} places seen", self.returns.len(), self.seen.len())?;
        writeln!(out, "{}", self.room(&world.render()))?;
        for (index, (name, p)) in world.spec().action_names.iter().zip(&thought.actions).enumerate() {
            let mark = if index == action as usize { '>' } else { ' ' };
            writeln!(out, "{mark} {name:<6} {p:.2} {}", "#".repeat((p * BAR).round() as usize))?;
        }
        if !thought.returns.is_empty() {
            let (low, high) = model.task.return_range;
            let wanted = f64::from(thought.step_bin) / thought.returns.len() as f64;
            let asked = f64::from(low) + wanted * f64::from(high - low);
            let better = if thought.episode_rtg == 1 { "better than before" } else { "no better than before" };
            writeln!(out, "conditions on a return of {asked:.2}, {better}; p(c) from {low} to {high}:")?;
            writeln!(out, "[{}]", sparkline(&thought.returns))?;
        }
        writeln!(out, "returns: {}\n", self.returns_line())?;
        out.flush()?;
        if out.is_terminal() {
            std::thread::sleep(self.delay);
        }
        Ok(())
    }

    /// The world's picture with what was seen marked: places in reading order, as grid worlds number them.
    fn room(&self, picture: &str) -> String {
        let mut cell = 0;
        let mut mark = |c: char| {
            let seen = self.seen.contains(&cell);
            cell += u32::from(c != ' ');
            if c == '.' && seen { '+' } else { c }
        };
        let is_room = |line: &str| line.split(' ').all(|sign| sign.chars().count() == 1);
        let lines =
            picture.lines().map(|line| if is_room(line) { line.chars().map(&mut mark).collect() } else { line.into() });
        lines.collect::<Vec<String>>().join("\n") + ", + seen"
    }
}

/// Probabilities as one line of blocks, the tallest for the most probable.
fn sparkline(probabilities: &[f64]) -> String {
    let blocks: Vec<char> = " ▁▂▃▄▅▆▇█".chars().collect();
    let size = probabilities.len().div_ceil(COLUMNS);
    let sums: Vec<f64> = probabilities.chunks(size).map(|chunk| chunk.iter().sum()).collect();
    let most = sums.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    sums.iter().map(|sum| blocks[(sum / most * 8.0).round().clamp(0.0, 8.0) as usize]).collect()
}

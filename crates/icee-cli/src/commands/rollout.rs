//! `icee rollout`: a reference agent plays many tasks of a world; prints its mean return by episode.

use super::counts::count;
use anyhow::Context;
use icee_games::logs::LogWriter;
use icee_worlds::{Games, PlayedStep, Reference, ReferenceAgent, Registry, Returns, Split};
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

/// How long a picture stays on a terminal.
const FRAME: Duration = Duration::from_millis(120);

/// Play a world with a reference agent and print its mean returns by episode.
#[derive(clap::Args)]
pub struct Args {
    /// World id (`icee worlds` lists them).
    #[arg(value_name = "ID")]
    world: String,
    /// Play source (behaviour policy), random, oracle, posterior, sweep, ucb, gittins.
    #[arg(long, default_value = "source")]
    agent: String,
    /// Play this many evaluation tasks.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = count)]
    games: usize,
    /// Play this many episodes of each task [default: the world's K].
    #[arg(long, value_name = "K", value_parser = count)]
    episodes: Option<usize>,
    /// Seed of the tasks and the agent's choices.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Show the first task step by step.
    #[arg(long, conflicts_with = "json")]
    render: bool,
    /// Also write a log for `icee train --logs` (.jsonl as JSON lines, else CSV).
    #[arg(long, value_name = "FILE", conflicts_with = "render")]
    log: Option<PathBuf>,
}

pub fn run(args: &Args, registry: &Registry) -> anyhow::Result<()> {
    let world = registry.make(&args.world)?;
    let kind: Reference = args.agent.parse()?;
    let episodes = args.episodes.unwrap_or(world.spec().episodes);
    let mut games = Games::deal(&*world, args.games, args.seed, Split::Evaluation)?;
    let mut agent = ReferenceAgent::new(kind, &games)?;
    let returns = if args.render {
        let mut screen = Screen::new(episodes);
        let returns = games.play_watched(&mut agent, episodes, |step| screen.show(step))?;
        screen.failure.map_or(Ok(()), Err).context("cannot write the picture")?;
        returns
    } else if let Some(path) = &args.log {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let mut log = LogWriter::new(BufWriter::new(file), path, args.games, kind.tells_probabilities());
        let returns = games.play_watched(&mut agent, episodes, |step| log.record(step))?;
        log.finish().with_context(|| format!("cannot write {}", path.display()))?;
        returns
    } else {
        games.play(&mut agent, episodes)?
    };
    let report = Report::new(args, kind, &returns);
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        report.write(&mut out)?;
    }
    Ok(())
}

/// Shows the first game: on a terminal each picture in place of the last, elsewhere one below the other.
struct Screen {
    terminal: bool,
    episodes: usize,
    episode_return: f32,
    /// The first thing that went wrong; after it nothing more is shown.
    failure: Option<std::io::Error>,
}

impl Screen {
    fn new(episodes: usize) -> Self {
        Self { terminal: std::io::stdout().is_terminal(), episodes, episode_return: 0.0, failure: None }
    }

    fn show(&mut self, step: &PlayedStep<'_>) {
        if step.game == 0 && self.failure.is_none() {
            self.failure = self.draw(step).err();
        }
    }

    fn draw(&mut self, played: &PlayedStep<'_>) -> std::io::Result<()> {
        let PlayedStep { episode, step, decision, outcome, world, .. } = played;
        let spec = world.spec();
        if *step == 0 {
            self.episode_return = 0.0;
        }
        self.episode_return += outcome.reward;
        let mut out = std::io::stdout().lock();
        if self.terminal {
            // Home, and clear what is below.
            write!(out, "\x1b[H\x1b[J")?;
        }
        let limit = spec.episode_limit;
        writeln!(out, "episode {} of {}, step {} of {limit}", episode + 1, self.episodes, step + 1)?;
        let action = &spec.action_names[decision.action as usize];
        writeln!(out, "{action}, reward {}, return {}", outcome.reward, self.episode_return)?;
        writeln!(out, "{}", world.render())?;
        out.flush()?;
        if self.terminal {
            std::thread::sleep(FRAME);
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Report<'a> {
    world: &'a str,
    agent: &'a str,
    games: usize,
    seed: u64,
    episodes: Vec<EpisodeRow>,
}

/// The mean return over the games at one episode.
#[derive(Serialize)]
struct EpisodeRow {
    episode: usize,
    mean: f64,
    /// Half the width of the mean's 95 % interval; none for a single game.
    ci95: Option<f64>,
}

impl<'a> Report<'a> {
    fn new(args: &'a Args, kind: Reference, returns: &Returns) -> Self {
        let row = |episode| {
            let estimate = returns.estimate(episode);
            EpisodeRow { episode: episode + 1, mean: estimate.mean, ci95: estimate.known_half_width() }
        };
        let episodes = (0..returns.episodes()).map(row).collect();
        Self { world: &args.world, agent: kind.name(), games: args.games, seed: args.seed, episodes }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let Self { world, agent, games, seed, episodes } = self;
        let plural = if *games == 1 { "game" } else { "games" };
        writeln!(out, "{world}, agent {agent}, {games} {plural}, seed {seed}")?;
        writeln!(out, "episode  mean return  95 % interval")?;
        for EpisodeRow { episode, mean, ci95 } in episodes {
            let interval = ci95.map_or_else(|| "-".into(), |half| format!("± {half:.3}"));
            writeln!(out, "{episode:>7}  {mean:>11.3}  {interval:>13}")?;
        }
        Ok(())
    }
}

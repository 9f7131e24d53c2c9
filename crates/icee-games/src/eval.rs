//! The return of a trained model on unseen tasks, episode by episode.

use crate::agent::{Agent, Forgotten};
use crate::model::TrainedModel;
use crate::{Error, Result};
use icee_train::Device;
use icee_worlds::{Games, PlayedStep, Registry, Returns, Split, World};
use serde::Serialize;
use std::time::Instant;

/// One episode over all games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeResult {
    /// From 1.
    pub episode: usize,
    /// The mean return.
    pub mean: f64,
    /// Half the width of its 95 % interval; none for a single game.
    pub half_width_95: Option<f64>,
    /// The mean entropy of the action's distribution, in nats.
    pub entropy: f64,
}

/// The returns of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The world.
    pub world: String,
    /// The method.
    pub agent: String,
    /// How many games.
    pub games: usize,
    /// What fixed them.
    pub seed: u64,
    /// Decisions a second, the worlds' own time included.
    pub decisions_per_second: f64,
    /// The most of a game that no longer fitted into the trained context.
    #[serde(flatten)]
    pub forgotten: Forgotten,
    /// Episode by episode.
    pub episodes: Vec<EpisodeResult>,
}

impl Evaluation {
    /// The mean return over all episodes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.episodes.iter().map(|e| e.mean).sum::<f64>() / self.episodes.len().max(1) as f64
    }

    /// The mean return at the first, the middle and the last episode.
    #[must_use]
    pub fn first_middle_last(&self) -> [f64; 3] {
        let count = self.episodes.len();
        [0, count / 2, count.saturating_sub(1)].map(|at| self.episodes.get(at).map_or(f64::NAN, |e| e.mean))
    }
}

/// Which games are played.
#[derive(Clone, Debug)]
pub struct EvaluationGames {
    /// Another world than the model's own; it must be seen and played in the same way.
    pub world: Option<String>,
    /// Those to be judged by, or those to learn from.
    pub split: Split,
    /// How many.
    pub games: usize,
    /// Episodes of each; none takes the world's K.
    pub episodes: Option<usize>,
    /// Fixes them.
    pub seed: u64,
}

impl EvaluationGames {
    /// Games of the model's world to judge it by.
    #[must_use]
    pub fn new(games: usize, seed: u64) -> EvaluationGames {
        EvaluationGames { world: None, split: Split::Evaluation, games, episodes: None, seed }
    }
}

/// Plays games of the model's world, or of another that fits; the registry has it.
///
/// # Errors
/// Where the model was not trained on a world and none is named, or something fails at play.
pub fn evaluate(
    device: &Device,
    model: &TrainedModel,
    registry: &Registry,
    games: &EvaluationGames,
) -> Result<(Evaluation, Returns)> {
    evaluate_watched(device, model, registry, games, |_, _| {})
}

/// As [`evaluate`], with a callback after every episode: how many have been played, and of how many.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_watched(
    device: &Device,
    model: &TrainedModel,
    registry: &Registry,
    games: &EvaluationGames,
    mut watch: impl FnMut(usize, usize),
) -> Result<(Evaluation, Returns)> {
    let episodes = match games.episodes {
        Some(episodes) => episodes,
        None => world_of(model, games.world.as_deref(), registry)?.spec().episodes,
    };
    let all = games.games.saturating_mul(episodes);
    let mut played = 0;
    evaluate_steps(device, model, registry, games, |step| {
        played += usize::from(step.outcome.done);
        if step.outcome.done {
            watch(played, all);
        }
    })
}

/// As [`evaluate`], with an observer of every step.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_steps(
    device: &Device,
    model: &TrainedModel,
    registry: &Registry,
    games: &EvaluationGames,
    watch: impl FnMut(&PlayedStep<'_>),
) -> Result<(Evaluation, Returns)> {
    let world = world_of(model, games.world.as_deref(), registry)?;
    let mut agent = Agent::new(device, model)?;
    let episodes = games.episodes.unwrap_or(world.spec().episodes);
    play(&mut agent, &*world, games.games, episodes, games.seed, games.split, watch)
}

/// The named world, or the one that a model was trained on, if the model can play it.
pub(crate) fn world_of(model: &TrainedModel, named: Option<&str>, registry: &Registry) -> Result<Box<dyn World>> {
    if named.is_none() && model.task.is_of_logs() {
        return Err(Error::Config(
            "this model was trained on logs and has no world; use `icee act` (or Python) with your environment, or name a world that fits"
                .into(),
        ));
    }
    let world = registry.make(named.unwrap_or(&model.task.name))?;
    model.task.check_world(world.spec())?;
    Ok(world)
}

/// Lets an agent play games of a world.
///
/// # Errors
/// Whatever fails at play.
pub fn evaluate_agent(
    agent: &mut Agent,
    world: &dyn World,
    games: usize,
    episodes: usize,
    seed: u64,
    split: Split,
) -> Result<(Evaluation, Returns)> {
    play(agent, world, games, episodes, seed, split, |_| {})
}

fn play(
    agent: &mut Agent,
    world: &dyn World,
    games: usize,
    episodes: usize,
    seed: u64,
    split: Split,
    mut watch: impl FnMut(&PlayedStep<'_>),
) -> Result<(Evaluation, Returns)> {
    let mut dealt = Games::deal(world, games, seed, split)?;
    let start = Instant::now();
    let mut decisions = 0u64;
    let returns = dealt.play_watched(agent, episodes, |step| {
        decisions += 1;
        watch(step);
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let entropies = agent.entropy_by_episode();
    let row = |episode: usize| {
        let estimate = returns.estimate(episode);
        EpisodeResult {
            episode: episode + 1,
            mean: estimate.mean,
            half_width_95: estimate.known_half_width(),
            entropy: entropies.get(episode).copied().unwrap_or(0.0),
        }
    };
    let evaluation = Evaluation {
        world: world.spec().id.clone(),
        agent: agent.blueprint().method.name.into(),
        games,
        seed,
        decisions_per_second: decisions as f64 / seconds.max(1e-9),
        forgotten: agent.most_forgotten(),
        episodes: (0..episodes).map(row).collect(),
    };
    Ok((evaluation, returns))
}

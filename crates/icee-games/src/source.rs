//! The source of episodes: a world that makes fresh tasks for every batch, or your log.

use crate::config::Config;
use crate::logs::Logs;
use crate::methods::{Condition, Method, Span};
use crate::sequences::Sequences;
use crate::task::GameSpec;
use crate::{Error, Result};
use icee_worlds::{Collection, ExpertLabels, Purpose, Registry, World, collect, stream};
use rand::RngExt;
use std::sync::Arc;

/// Where episodes come from.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and its games dwarf the difference")]
pub enum Source {
    /// Fresh games of a world.
    World(Box<dyn World>),
    /// Logged games, drawn again and again.
    Logs(Logs),
}

impl Source {
    /// The world of a config.
    ///
    /// # Errors
    /// Where there is none of that id.
    pub fn of_config(config: &Config, registry: &Registry) -> Result<Source> {
        Ok(Source::World(registry.make(&config.world)?))
    }

    /// What is known of the games.
    #[must_use]
    pub fn task(&self) -> GameSpec {
        match self {
            Source::World(world) => GameSpec::of_world(world.spec()),
            Source::Logs(logs) => logs.task.clone(),
        }
    }

    /// The beginnings of games that are not learned from, at most so many, as sequences; none where there are none.
    ///
    /// # Errors
    /// Where there is no such method.
    pub fn held_out(&self, config: &Config, episodes: usize, most: usize) -> Result<Option<Sequences>> {
        let Source::Logs(logs) = self else { return Ok(None) };
        let method = config.method()?;
        let beginning = |&game: &usize| logs.data.sequence_episodes(game).take(episodes).collect();
        let order: Vec<Vec<usize>> = logs.held_out().iter().take(most).map(beginning).collect();
        Ok((!order.is_empty()).then(|| Sequences::arrange(method, Arc::clone(&logs.data), order)))
    }

    /// The sequences of batch number `index`: fixed by the seed and the number, whatever was drawn before.
    ///
    /// # Errors
    /// Where the world fails, or there is no such method.
    pub fn sequences(&self, config: &Config, episodes: usize, index: u64) -> Result<Sequences> {
        let method = config.method()?;
        let games = config.train.batch;
        match self {
            Source::World(world) => {
                let episodes = if method.span == Span::Episode { world.spec().episodes } else { episodes };
                let collection = Collection {
                    games,
                    episodes,
                    seed: config.seed,
                    first_game: index.wrapping_mul(games as u64),
                    novices: config.data.novices as f32,
                    searchers: config.data.searchers as f32,
                    expert_labels: method.expert_labels,
                };
                Ok(Sequences::all(method, Arc::new(collect(&**world, &collection)?)))
            }
            Source::Logs(logs) => {
                let mut rng = stream(config.seed, Purpose::Collection, index);
                let window = |_| {
                    let learned = logs.learned();
                    let game = logs.data.sequence_episodes(learned[rng.random_range(0..learned.len())]);
                    let last_start = game.len().saturating_sub(episodes);
                    let start = game.start + rng.random_range(0..=last_start);
                    (start..game.end.min(start + episodes)).collect()
                };
                let order = (0..games).map(window).collect();
                Ok(Sequences::arrange(method, Arc::clone(&logs.data), order))
            }
        }
    }
}

/// Refuses a method that cannot learn from a log, which knows no best actions and no noise, and a log from which nothing follows.
pub(crate) fn check_logs_suffice(method: &Method, logs: &Logs) -> Result<()> {
    let needed = match (method.expert_labels, method.span) {
        (ExpertLabels::BestActions, _) => Some("learns from the best actions"),
        (_, Span::GameSorted) => Some("sorts episodes by their noise"),
        _ => None,
    };
    if let Some(needed) = needed {
        return Err(Error::Config(format!(
            "{} {needed}, which a log does not have; choose another method",
            method.name
        )));
    }
    if method.condition != Condition::Nothing && !logs.rewards_differ() {
        return Err(Error::Config(format!(
            "{}: the reward is {} in every step and all episodes have the same length, so no action can be better; check the reward column",
            logs.file.path.display(),
            logs.data.rewards[0]
        )));
    }
    Ok(())
}

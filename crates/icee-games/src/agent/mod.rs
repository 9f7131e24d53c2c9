//! Algorithm 1 with caches, for many games at once: choose c̃, choose c, draw the action, append. At an episode's end
//! the paper's networks see that episode again, with its true returns; `late` only appends.
//!
//! A game's choices depend on the seed and the game alone: each has a random stream of its own, and the engine gives
//! the same numbers whatever else is in the batch.

mod brain;
mod cpu;
mod forecast;
mod gpu;
mod live;
mod memory;
mod rules;

pub use live::LiveAgent;
pub use memory::Thought;
pub use rules::Rules;

use crate::blueprint::Blueprint;
use crate::config::{Acting, Config, EpisodeRule};
use crate::methods::{Condition, Span};
use crate::model::TrainedModel;
use crate::{Error, Result};
use brain::{Brain, Mind, chosen};
use cpu::CpuBrain;
use gpu::GpuBrain;
use icee_base::math::{entropy, sample};
use icee_nn::Model;
use icee_train::Device;
use icee_worlds::{AgentFailure, Decision, Purpose, StepOutcome, Turn, stream};
use memory::Memory;
use std::ops::Range;

/// A trained model at play.
pub struct Agent {
    blueprint: Blueprint,
    rules: Rules,
    brain: Box<dyn Brain>,
    games: Vec<Memory>,
    /// Sum and number of the action entropies of each episode.
    entropies: Vec<(f64, u64)>,
    /// The most episodes of a game that were dropped in earlier groups of games.
    forgotten_before: usize,
}

/// The most numbers that caches hold of all games together: 2 GiB of them in single precision. More games are played in groups.
const MOST_CACHED: usize = 1 << 29;

impl Agent {
    /// An agent of a trained model, acting as its config says.
    ///
    /// # Errors
    /// Where config, task and models do not fit.
    pub fn new(device: &Device, model: &TrainedModel) -> Result<Agent> {
        let blueprint = Blueprint::new(&model.config, &model.task)?;
        Agent::of_models(device, blueprint, &model.config, model.models.iter())
    }

    pub(crate) fn of_models<'a>(
        device: &Device,
        blueprint: Blueprint,
        config: &Config,
        models: impl Iterator<Item = &'a Model>,
    ) -> Result<Agent> {
        config.acting.check()?;
        let rules = Rules::new(&config.acting, blueprint.bins);
        let models: Vec<&Model> = models.collect();
        if models.len() != blueprint.networks.len() {
            return Err(Error::Config(format!("{} networks where {}", models.len(), blueprint.networks.len())));
        }
        // The one place where the device makes a difference.
        let brain: Box<dyn Brain> = match device.has_gpu() {
            true => Box::new(GpuBrain::new(device, &models)),
            false => Box::new(CpuBrain::new(device, &models)),
        };
        Ok(Agent { blueprint, rules, brain, games: Vec::new(), entropies: Vec::new(), forgotten_before: 0 })
    }

    /// Changes the acting rules; what is remembered stays.
    ///
    /// # Errors
    /// [`Error::Config`] where they cannot work.
    pub fn set_acting(&mut self, acting: &Acting) -> Result<()> {
        acting.check()?;
        self.rules = Rules::new(acting, self.blueprint.bins);
        Ok(())
    }

    /// What it plays and how it is built.
    #[must_use]
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// What it had in mind at its last decision in a game.
    #[must_use]
    pub fn thought(&self, game: usize) -> Option<&Thought> {
        self.games.get(game).map(|memory| &memory.thought)
    }

    /// How many of a game's oldest episodes were dropped: they no longer fit into the context, or the agent has lost patience.
    #[must_use]
    pub fn forgotten_episodes(&self, game: usize) -> usize {
        match self.blueprint.method.span {
            Span::Episode => 0,
            _ => self.games.get(game).map_or(0, |memory| memory.forgotten),
        }
    }

    /// The most episodes of a game that were dropped.
    #[must_use]
    pub fn most_forgotten(&self) -> usize {
        let now = (0..self.games.len()).map(|game| self.forgotten_episodes(game)).max();
        self.forgotten_before.max(now.unwrap_or(0))
    }

    /// The mean entropy of the action's distribution at each episode, in nats.
    #[must_use]
    pub fn entropy_by_episode(&self) -> Vec<f64> {
        self.entropies.iter().map(|&(sum, count)| sum / count.max(1) as f64).collect()
    }

    /// What to tell a user once episodes were dropped.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        Some(self.most_forgotten()).filter(|&most| most > 0).map(|most| {
            format!("the oldest {most} episodes were dropped: past the trained context, or nothing found in them")
        })
    }

    /// New games begin: forgets everything. The first has the number `first` among those of the seed, which fix the draws.
    ///
    /// # Errors
    /// Where there is no memory for them.
    pub fn begin_games(&mut self, games: usize, seed: u64, first: u64) -> Result<()> {
        let observations = self.blueprint.task.observation.none();
        let memory =
            |game: u64| Memory::new(observations.clone(), stream(seed, Purpose::Agent, first.wrapping_add(game)));
        self.games = (0..games as u64).map(memory).collect();
        self.entropies.clear();
        self.forgotten_before = 0;
        self.brain.begin(games)
    }

    /// Encodes the completed steps from `from` on anew, in all caches of these games.
    fn encode(&mut self, games: &[u32], from: impl Fn(&Memory) -> usize) -> Result<()> {
        let lengths: Vec<usize> = games.iter().map(|&game| from(&self.games[game as usize])).collect();
        for (network, plan) in self.blueprint.networks.iter().enumerate() {
            let mut writer = plan.format.writer();
            for (&game, &length) in games.iter().zip(&lengths) {
                self.games[game as usize].write_tokens(&self.blueprint, length, &mut writer);
                writer.end_sequence();
            }
            self.brain.append(network, games, &lengths, &writer.finish())?;
        }
        Ok(())
    }

    /// Appends the current step of each game to one network.
    fn append_current(&mut self, network: usize, games: &[u32]) -> Result<()> {
        let mut writer = self.blueprint.networks[network].format.writer();
        for &game in games {
            if let Some(token) = self.games[game as usize].current_token() {
                writer.push(&token);
            }
            writer.end_sequence();
        }
        let lengths: Vec<usize> = games.iter().map(|&game| self.games[game as usize].steps()).collect();
        self.brain.append(network, games, &lengths, &writer.finish())
    }

    pub(crate) fn decide(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> Result<()> {
        let games = turn.games;
        if games.windows(2).any(|w| w[0] >= w[1]) || games.last().is_some_and(|&g| g as usize >= self.games.len()) {
            return Err(Error::Agent("the games of a turn must ascend and have begun".into()));
        }
        let context = self.blueprint.task.tokens(self.blueprint.episodes);
        let mut crowded = Vec::new();
        for (index, &game) in games.iter().enumerate() {
            let memory = &mut self.games[game as usize];
            if memory.observations.len() != memory.steps() {
                return Err(Error::Agent(format!("act was called twice in game {game}; observe comes in between")));
            }
            if memory.make_room(self.blueprint.episodes, context) {
                crowded.push(game);
            }
            let seen = turn.observations.get(index).filter(|&o| self.blueprint.task.sees(o));
            if !seen.is_some_and(|observation| memory.see(observation)) {
                let known = self.blueprint.task.observation.describe();
                return Err(Error::Agent(format!("the observation of game {game} is not one of {known}")));
            }
            if memory.at_episode_start() {
                // The joint tilt draws it below.
                let asked = self.blueprint.method.condition == Condition::StepAndEpisode;
                let most = self.blueprint.task.return_range.1;
                let possible = self.rules.acting.episode_rule != EpisodeRule::WhilePossible
                    || memory.best_return().is_none_or(|best| best < most);
                memory.thought.episode_rtg = u32::from(asked && possible);
            }
        }
        if !crowded.is_empty() {
            self.encode(&crowded, |_| 0)?;
        }
        self.append_current(0, games)?;
        let mind = Mind { blueprint: &self.blueprint, rules: &self.rules };
        self.brain.choose_returns(mind, &mut self.games, games)?;
        for network in 1..self.blueprint.networks.len() {
            self.append_current(network, games)?;
        }
        let mind = Mind { blueprint: &self.blueprint, rules: &self.rules };
        self.brain.choose_actions(mind, &mut self.games, games)?;
        let entropies = &mut self.entropies;
        for (memory, decision) in chosen(&mut self.games, games).zip(decisions) {
            let action = sample(&memory.thought.actions, &mut memory.rng);
            *decision = Decision { action: action as u32, probability: memory.thought.actions[action] as f32 };
            memory.decide(action as u32);
            let episode = memory.episode();
            if entropies.len() <= episode {
                entropies.resize(episode + 1, (0.0, 0));
            }
            entropies[episode].0 += entropy(&memory.thought.actions);
            entropies[episode].1 += 1;
        }
        Ok(())
    }

    /// Remembers that another action was taken than it had decided for: somebody else plays, and it looks on.
    pub(crate) fn take_instead(&mut self, game: usize, action: u32) {
        if let Some(last) = self.games[game].actions.last_mut() {
            *last = action;
        }
    }

    pub(crate) fn learn_outcomes(&mut self, games: &[u32], outcomes: &[StepOutcome]) -> Result<()> {
        let mut over = Vec::new();
        for (&game, outcome) in games.iter().zip(outcomes) {
            let Some(memory) = self.games.get_mut(game as usize) else {
                return Err(Error::Agent(format!("game {game} has not begun")));
            };
            if memory.actions.len() != memory.steps() + 1 {
                return Err(Error::Agent(format!("observe was called in game {game} before act")));
            }
            if !outcome.reward.is_finite() {
                return Err(Error::Agent(format!("the reward of game {game} is {}", outcome.reward)));
            }
            memory.rewards.push(outcome.reward);
            if outcome.done {
                memory.end_episode();
                let is_lost = memory.is_lost(self.rules.acting.patience);
                match self.blueprint.method.span {
                    Span::Episode => memory.clear(),
                    _ if is_lost => memory.clear(),
                    _ => over.push(game),
                }
            }
        }
        // The paper's networks read returns: those of the episode are known now.
        if !over.is_empty() && self.blueprint.networks.len() > 1 {
            self.encode(&over, Memory::last_episode_start)?;
        }
        Ok(())
    }
}

impl icee_worlds::Agent for Agent {
    fn name(&self) -> &str {
        self.blueprint.method.name
    }

    fn most_games(&self) -> usize {
        // Keys and values of every layer and token.
        let specs = self.blueprint.networks.iter().map(|network| &network.spec);
        let numbers: usize = specs.map(|spec| 2 * spec.layers * spec.width * spec.context).sum();
        (MOST_CACHED / numbers.max(1)).max(1)
    }

    fn begin(&mut self, games: Range<usize>, seed: u64) -> std::result::Result<(), AgentFailure> {
        // What is told of a play is told of all its groups.
        let (entropies, forgotten) = (std::mem::take(&mut self.entropies), self.most_forgotten());
        self.begin_games(games.len(), seed, games.start as u64)?;
        if games.start > 0 {
            (self.entropies, self.forgotten_before) = (entropies, forgotten);
        }
        Ok(())
    }

    fn act(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> std::result::Result<(), AgentFailure> {
        Ok(self.decide(turn, decisions)?)
    }

    fn observe(&mut self, games: &[u32], outcomes: &[StepOutcome]) -> std::result::Result<(), AgentFailure> {
        Ok(self.learn_outcomes(games, outcomes)?)
    }
}

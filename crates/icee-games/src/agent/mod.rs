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
#[cfg(test)]
mod tests;

pub use live::LiveAgent;
pub use memory::{Forgotten, Thought};
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
use icee_worlds::{AgentFailure, Decision, Observation, Purpose, StepOutcome, StreamRng, Turn, stream};
use memory::Memory;
use std::ops::Range;

/// A trained model at play.
pub struct Agent {
    blueprint: Blueprint,
    rules: Rules,
    brain: Box<dyn Brain>,
    games: Vec<Memory>,
    /// Sum and number of the action entropies of each episode; none in games that are not a play's of so many episodes: they may go on
    /// for ever.
    entropies: Option<Vec<(f64, u64)>>,
    /// The most that was dropped of a game in earlier groups of games.
    forgotten_before: Forgotten,
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
        Ok(Agent {
            blueprint,
            rules,
            brain,
            games: Vec::new(),
            entropies: None,
            forgotten_before: Forgotten::default(),
        })
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

    /// Whether an action of a game waits for what it earned.
    #[must_use]
    pub fn waits(&self, game: usize) -> bool {
        self.games.get(game).is_some_and(Memory::waits)
    }

    /// What was dropped of a game's oldest: it no longer fits into the context, or the agent has lost patience.
    #[must_use]
    pub fn forgotten(&self, game: usize) -> Forgotten {
        let forgotten = self.games.get(game).map_or(Forgotten::default(), |memory| memory.forgotten);
        match self.blueprint.method.span {
            Span::Episode => Forgotten { episodes: 0, ..forgotten },
            _ => forgotten,
        }
    }

    /// The most that was dropped of a game.
    #[must_use]
    pub fn most_forgotten(&self) -> Forgotten {
        (0..self.games.len()).map(|game| self.forgotten(game)).fold(self.forgotten_before, Forgotten::max)
    }

    /// The mean entropy of the action's distribution at each episode of a play, in nats.
    #[must_use]
    pub fn entropy_by_episode(&self) -> Vec<f64> {
        self.entropies.iter().flatten().map(|&(sum, count)| sum / count.max(1) as f64).collect()
    }

    /// What to tell a user once something was dropped.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        self.most_forgotten().words()
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
        self.entropies = None;
        self.forgotten_before = Forgotten::default();
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

    fn check_games(&self, games: &[u32]) -> Result<()> {
        if games.windows(2).any(|w| w[0] >= w[1]) || games.last().is_some_and(|&g| g as usize >= self.games.len()) {
            return Err(Error::Agent("the games of a turn must ascend and have begun".into()));
        }
        Ok(())
    }

    fn check_turn(&self, turn: Turn<'_>) -> Result<()> {
        self.check_games(turn.games)?;
        for (index, &game) in turn.games.iter().enumerate() {
            if self.waits(game as usize) {
                let of = self.of(game);
                return Err(Error::Agent(format!("act was called twice{of}; call observe in between")));
            }
            let seen = turn.observations.get(index);
            if !seen.is_some_and(|seen| self.blueprint.task.sees(seen)) {
                return Err(self.unseen(game, &seen.map_or("missing".into(), shown)));
            }
        }
        Ok(())
    }

    /// That an observation, `shown` as whoever gave it wrote it, is none of this task's.
    #[must_use]
    pub fn unseen(&self, game: u32, shown: &str) -> Error {
        let (of, known) = (self.of(game), self.blueprint.task.observation.describe_one());
        Error::Agent(format!("the observation{of} is {shown}; this model sees {known}"))
    }

    /// Which game is meant, where there are several.
    fn of(&self, game: u32) -> String {
        if self.games.len() == 1 { String::new() } else { format!(" in game {game}") }
    }

    /// Chooses an action in each game of the turn. Where that is not possible, nothing has changed: the turn may be taken again.
    pub(crate) fn decide(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> Result<()> {
        self.check_turn(turn)?;
        let draws: Vec<StreamRng> = chosen(&mut self.games, turn.games).map(|memory| memory.rng.clone()).collect();
        let thought = self.see(turn).and_then(|()| self.think(turn.games));
        if thought.is_err() {
            for (memory, rng) in chosen(&mut self.games, turn.games).zip(draws) {
                memory.unsee();
                memory.rng = rng;
            }
            return thought;
        }
        for (memory, decision) in chosen(&mut self.games, turn.games).zip(decisions) {
            let action = sample(&memory.thought.actions, &mut memory.rng);
            *decision = Decision { action: action as u32, probability: memory.thought.actions[action] as f32 };
            memory.decide(action as u32);
            let Some(entropies) = &mut self.entropies else { continue };
            let episode = memory.episode();
            if entropies.len() <= episode {
                entropies.resize(episode + 1, (0.0, 0));
            }
            entropies[episode].0 += entropy(&memory.thought.actions);
            entropies[episode].1 += 1;
        }
        Ok(())
    }

    /// Remembers what is seen, and has everything before it in the caches.
    fn see(&mut self, turn: Turn<'_>) -> Result<()> {
        let context = self.blueprint.task.tokens(self.blueprint.episodes);
        let mut changed = Vec::new();
        for (index, &game) in turn.games.iter().enumerate() {
            let memory = &mut self.games[game as usize];
            memory.make_room(self.blueprint.episodes, context);
            if memory.changed {
                changed.push(game);
            }
            if let Some(seen) = turn.observations.get(index) {
                memory.see(seen);
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
        if !changed.is_empty() {
            self.encode(&changed, |_| 0)?;
            chosen(&mut self.games, &changed).for_each(|memory| memory.changed = false);
        }
        Ok(())
    }

    /// Chooses c̃ and c, and finds the probabilities of actions.
    fn think(&mut self, games: &[u32]) -> Result<()> {
        self.append_current(0, games)?;
        let mind = Mind { blueprint: &self.blueprint, rules: &self.rules };
        self.brain.choose_returns(mind, &mut self.games, games)?;
        for network in 1..self.blueprint.networks.len() {
            self.append_current(network, games)?;
        }
        let mind = Mind { blueprint: &self.blueprint, rules: &self.rules };
        self.brain.choose_actions(mind, &mut self.games, games)
    }

    /// Remembers that another action was taken than it had decided for: somebody else plays, and it looks on.
    pub(crate) fn take_instead(&mut self, game: usize, action: u32) {
        if let Some(last) = self.games[game].actions.last_mut() {
            *last = action;
        }
    }

    fn check_outcomes(&self, games: &[u32], outcomes: &[StepOutcome]) -> Result<()> {
        self.check_games(games)?;
        for (&game, StepOutcome { reward, .. }) in games.iter().zip(outcomes) {
            if !self.waits(game as usize) {
                return Err(Error::Agent(format!("observe was called before act{}", self.of(game))));
            }
            if !self.blueprint.task.scaled_reward(*reward).is_finite() {
                let of = self.of(game);
                return Err(Error::Agent(format!("the reward{of} is {reward}: too large, or not a number")));
            }
        }
        Ok(())
    }

    /// Learns what actions earned. Where that is not possible, nothing has changed: it may be told again.
    pub(crate) fn learn_outcomes(&mut self, games: &[u32], outcomes: &[StepOutcome]) -> Result<()> {
        self.check_outcomes(games, outcomes)?;
        let (mut over, mut gone) = (Vec::new(), Vec::new());
        for (&game, outcome) in games.iter().zip(outcomes) {
            let memory = &mut self.games[game as usize];
            memory.earn(outcome);
            if outcome.done {
                match self.blueprint.method.span {
                    Span::Episode => gone.push(game),
                    _ if memory.is_lost(self.rules.acting.patience) => gone.push(game),
                    _ => over.push(game),
                }
            }
        }
        // The paper's networks read returns: those of the episode are known now.
        if !over.is_empty() && self.blueprint.networks.len() > 1 {
            let encoded = self.encode(&over, Memory::last_episode_start);
            if encoded.is_err() {
                for (&game, outcome) in games.iter().zip(outcomes) {
                    let memory = &mut self.games[game as usize];
                    memory.unearn(outcome);
                    memory.changed = true;
                }
                return encoded;
            }
        }
        gone.iter().for_each(|&game| self.games[game as usize].clear());
        Ok(())
    }
}

/// An observation, as it stands in a message.
fn shown(observation: Observation<'_>) -> String {
    match observation {
        Observation::Discrete(number) => number.to_string(),
        Observation::Vector(values) => format!("{values:?}"),
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
        self.entropies = Some(Vec::new());
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

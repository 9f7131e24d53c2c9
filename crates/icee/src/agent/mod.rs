//! Algorithm 1 with caches, for many games at once: choose c̃, choose c, draw the action, append. At an episode's end
//! the paper's networks see that episode again, with its true returns; `late` only appends.
//!
//! A game's choices depend on the seed and the game alone: each has a random stream of its own, and the engine gives
//! the same numbers whatever else is in the batch.

mod gpu;
mod live;
mod memory;
mod rules;

pub use live::LiveAgent;
pub use memory::Thought;
pub use rules::Rules;

use crate::blueprint::{ACTION, Blueprint, OUTCOME, RETURN};
use crate::config::{Acting, Config, EpisodeRule};
use crate::device::{Cache, Device, Network};
use crate::math::{entropy, sample, softmax};
use crate::methods::{Condition, Span};
use crate::model::TrainedModel;
use crate::task::ObservationKind;
use crate::{Error, Result};
use gpu::GpuBrain;
use icee_nn::Model;
use icee_nn::batch::FieldValues;
use icee_worlds::{AgentFailure, Decision, Observations, Outcome, Purpose, Turn, stream};
use memory::Memory;

/// A trained model at play.
pub struct Agent {
    blueprint: Blueprint,
    rules: Rules,
    /// None where the GPU has them.
    networks: Vec<Network>,
    gpu: Option<GpuBrain>,
    games: Vec<Memory>,
    /// Sum and number of the action entropies of each episode.
    entropies: Vec<(f64, u64)>,
}

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
        let gpu = device.has_gpu().then(|| GpuBrain::new(device, &models));
        let networks = match gpu {
            Some(_) => Vec::new(),
            None => models.iter().map(|model| device.network(model)).collect(),
        };
        Ok(Agent { blueprint, rules, networks, gpu, games: Vec::new(), entropies: Vec::new() })
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

    /// How many of a game's oldest episodes no longer fit into the context and were dropped.
    #[must_use]
    pub fn forgotten_episodes(&self, game: usize) -> usize {
        match self.blueprint.method.span {
            Span::Episode => 0,
            _ => self.games.get(game).map_or(0, |memory| memory.forgotten),
        }
    }

    /// The mean entropy of the action's distribution at each episode, in nats.
    #[must_use]
    pub fn entropy_by_episode(&self) -> Vec<f64> {
        self.entropies.iter().map(|&(sum, count)| sum / count.max(1) as f64).collect()
    }

    fn begin_games(&mut self, games: usize, seed: u64) {
        let observations = match self.blueprint.task.observation {
            ObservationKind::Discrete { .. } => Observations::Discrete(Vec::new()),
            ObservationKind::Vector { size } => Observations::Vector { width: size, values: Vec::new() },
        };
        let memory = |game: usize| {
            let caches = self.networks.iter().map(Network::cache).collect();
            Memory::new(caches, observations.clone(), stream(seed, Purpose::Agent, game as u64))
        };
        self.games = (0..games).map(memory).collect();
        self.entropies.clear();
    }

    /// Encodes the completed steps from `from` on anew, in all caches of these games.
    fn encode(&mut self, games: &[u32], from: impl Fn(&Memory) -> usize) -> Result<()> {
        for n in 0..self.blueprint.networks.len() {
            let plan = &self.blueprint.networks[n];
            let mut writer = plan.format.writer();
            for &game in games {
                let memory = &self.games[game as usize];
                memory.write_tokens(&self.blueprint, from(memory), &mut writer);
                writer.end_sequence();
            }
            let tokens = writer.finish();
            if let Some(gpu) = &mut self.gpu {
                let lengths: Vec<usize> = games.iter().map(|&game| from(&self.games[game as usize])).collect();
                gpu.append(n, games, &lengths, &tokens)?;
                continue;
            }
            let mut caches: Vec<&mut Cache> = Vec::with_capacity(games.len());
            for memory in chosen(&mut self.games, games) {
                let keep = from(memory);
                memory.caches[n].truncate(keep);
                caches.push(&mut memory.caches[n]);
            }
            self.networks[n].append(&mut caches, &tokens)?;
        }
        Ok(())
    }

    /// Appends the current step of each game to one network and gives the trunk's output, [games, width]; on a GPU it
    /// stays there.
    fn append_current(&mut self, network: usize, games: &[u32]) -> Result<Vec<f32>> {
        let mut writer = self.blueprint.networks[network].format.writer();
        for &game in games {
            if let Some(token) = self.games[game as usize].current_token() {
                writer.push(&token);
            }
            writer.end_sequence();
        }
        let tokens = writer.finish();
        if let Some(gpu) = &mut self.gpu {
            let lengths: Vec<usize> = games.iter().map(|&game| self.games[game as usize].steps()).collect();
            gpu.append(network, games, &lengths, &tokens)?;
            return Ok(Vec::new());
        }
        let mut caches: Vec<&mut Cache> = chosen(&mut self.games, games).map(|m| &mut m.caches[network]).collect();
        self.networks[network].append(&mut caches, &tokens)
    }

    fn head(&self, network: usize, name: &str) -> Option<usize> {
        self.blueprint.networks[network].spec.head(name)
    }

    /// Chooses c̃ and c of each game from the return head.
    fn choose_returns(&mut self, games: &[u32], trunk: &[f32]) -> Result<()> {
        let Some(head) = self.head(0, RETURN) else { return Ok(()) };
        if let Some(gpu) = &mut self.gpu {
            return gpu.choose_returns(head, &self.blueprint, &self.rules, &mut self.games, games);
        }
        let logits = self.networks[0].logits(head, trunk, &[])?;
        let classes = logits.len() / games.len().max(1);
        let bins = self.blueprint.bins.count;
        for (memory, logits) in chosen(&mut self.games, games).zip(logits.chunks_exact(classes)) {
            let probabilities = softmax(logits);
            let slice = if classes == bins {
                &probabilities[..]
            } else {
                if memory.at_episode_start() && self.rules.acting.episode_rule == EpisodeRule::Joint {
                    memory.thought.episode_rtg = self.rules.draw_episode_rtg(&probabilities, &mut memory.rng);
                }
                &probabilities[memory.thought.episode_rtg as usize * bins..][..bins]
            };
            memory.thought.step_bin = self.rules.draw_step_bin(slice, &mut memory.rng);
            let mass: f64 = slice.iter().sum();
            memory.thought.returns = slice.iter().map(|p| p / mass.max(f64::MIN_POSITIVE)).collect();
        }
        Ok(())
    }

    /// p̂(a) of each game, from the last network's heads.
    fn choose_actions(&mut self, games: &[u32], trunk: &[f32]) -> Result<()> {
        let last = self.blueprint.networks.len() - 1;
        let (actions, bins) = (self.blueprint.task.actions, self.blueprint.bins.count);
        if let Some(head) = self.head(last, OUTCOME) {
            if let Some(gpu) = &mut self.gpu {
                return gpu.choose_by_outcome(head, &self.blueprint, &self.rules, &mut self.games, games);
            }
            let logits = self.networks[last].logits_for_each(head, trunk)?;
            let classes = logits.len() / (games.len().max(1) * actions);
            for (memory, logits) in chosen(&mut self.games, games).zip(logits.chunks_exact(actions * classes)) {
                let Thought { episode_rtg, step_bin, .. } = memory.thought;
                let slice = episode_rtg as usize * bins;
                memory.thought.actions = self.rules.posterior(logits, classes, slice, step_bin);
            }
            return Ok(());
        }
        let head = self.head(last, ACTION).ok_or_else(|| Error::Config("the model has no action head".into()))?;
        let wanted = |of: fn(&Thought) -> u32| {
            FieldValues::Categorical(games.iter().map(|&game| of(&self.games[game as usize].thought)).collect())
        };
        let conditions = match (last, self.blueprint.method.condition) {
            (0, Condition::Step) => vec![wanted(|t| t.step_bin)],
            (0, Condition::StepAndEpisode) => vec![wanted(|t| t.step_bin), wanted(|t| t.episode_rtg)],
            _ => vec![],
        };
        if let Some(gpu) = &mut self.gpu {
            return gpu.choose_directly(head, &self.rules, &conditions, &mut self.games, games);
        }
        let logits = self.networks[last].logits(head, trunk, &conditions)?;
        for (memory, logits) in chosen(&mut self.games, games).zip(logits.chunks_exact(actions)) {
            memory.thought.actions = self.rules.direct(logits);
        }
        Ok(())
    }

    fn decide(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> Result<()> {
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
                let kind = self.blueprint.task.observation;
                return Err(Error::Agent(format!("the observation of game {game} is not one of {kind:?}")));
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
        let mut trunk = self.append_current(0, games)?;
        self.choose_returns(games, &trunk)?;
        for network in 1..self.blueprint.networks.len() {
            trunk = self.append_current(network, games)?;
        }
        self.choose_actions(games, &trunk)?;
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

    fn learn_outcomes(&mut self, games: &[u32], outcomes: &[Outcome]) -> Result<()> {
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
                match self.blueprint.method.span {
                    Span::Episode => memory.clear(),
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

/// The memories of these games, whose numbers ascend.
fn chosen<'a>(all: &'a mut [Memory], games: &'a [u32]) -> impl Iterator<Item = &'a mut Memory> {
    let mut wanted = games.iter().peekable();
    all.iter_mut()
        .enumerate()
        .filter_map(move |(index, memory)| wanted.next_if(|&&game| game as usize == index).map(|_| memory))
}

impl icee_worlds::Agent for Agent {
    fn name(&self) -> &str {
        self.blueprint.method.name
    }

    fn begin(&mut self, games: usize, seed: u64) -> std::result::Result<(), AgentFailure> {
        self.begin_games(games, seed);
        self.gpu.as_mut().map_or(Ok(()), |gpu| gpu.begin(games))?;
        Ok(())
    }

    fn act(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> std::result::Result<(), AgentFailure> {
        Ok(self.decide(turn, decisions)?)
    }

    fn observe(&mut self, games: &[u32], outcomes: &[Outcome]) -> std::result::Result<(), AgentFailure> {
        Ok(self.learn_outcomes(games, outcomes)?)
    }
}

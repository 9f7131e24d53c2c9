//! Rollouts: many tasks at once, each for a number of episodes, the same tasks for every agent.

use crate::{
    Agent, AgentFailure, Decision, Observation, Observations, Purpose, Returns, Split, StepOutcome, StreamRng, Turn,
    World, WorldError, WorldSpec, stream,
};
use rand::Rng;
use std::ops::Range;

/// The most games that can be played at once.
pub const MAX_GAMES: u128 = 1_000_000;

/// The most episodes, over all games, that can be played at once.
pub const MAX_EPISODES: u128 = 100_000_000;

/// Games dealt and ready to be played, again and again.
pub struct Games {
    tables: Vec<Table>,
    seed: u64,
}

/// One game and how far it has come.
struct Table {
    world: Box<dyn World>,
    /// The seed of each episode's start is drawn from here, for every agent.
    starts: StreamRng,
    episode: usize,
    step: usize,
}

/// A step, as an observer sees it.
pub struct PlayedStep<'a> {
    /// The number of the game.
    pub game: usize,
    /// The episode of the game, from 0.
    pub episode: usize,
    /// The step of the episode, from 0.
    pub step: usize,
    /// What the agent saw.
    pub observation: Observation<'a>,
    /// What it did.
    pub decision: Decision,
    /// What that earned, and whether it was the episode's last.
    pub outcome: StepOutcome,
    /// The world after the step.
    pub world: &'a dyn World,
}

impl Games {
    /// Deals games of a world: game number i is fixed by (seed, i).
    ///
    /// # Errors
    /// [`WorldError::Zero`] and [`WorldError::TooMany`].
    pub fn deal(world: &dyn World, games: usize, seed: u64, split: Split) -> Result<Self, WorldError> {
        check_episodes(games, 1)?;
        let tables = (0..games).map(|game| {
            let mut world = world.clone_world();
            world.new_game(stream(seed, Purpose::Games, game as u64).next_u64(), split);
            Table { world, starts: stream(seed, Purpose::Starts, game as u64), episode: 0, step: 0 }
        });
        Ok(Self { tables: tables.collect(), seed })
    }

    /// The number of games.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tables.len()
    }

    /// What is known of their world.
    #[must_use]
    pub fn spec(&self) -> &WorldSpec {
        // `deal` refuses to deal none.
        self.tables[0].world.spec()
    }

    pub(crate) fn worlds(&self) -> impl Iterator<Item = &dyn World> {
        self.tables.iter().map(|table| &*table.world)
    }

    /// Lets the agent play `episodes` episodes of every game.
    ///
    /// # Errors
    /// Where nothing or too much is asked for, where the agent fails or chooses what does not exist, or where the
    /// world breaks its own contract.
    pub fn play(&mut self, agent: &mut dyn Agent, episodes: usize) -> Result<Returns, WorldError> {
        self.play_watched(agent, episodes, |_| {})
    }

    /// As [`play`](Games::play), with an observer of every step: a log, a picture.
    ///
    /// # Errors
    /// As [`play`](Games::play).
    pub fn play_watched(
        &mut self,
        agent: &mut dyn Agent,
        episodes: usize,
        mut watch: impl FnMut(&PlayedStep<'_>),
    ) -> Result<Returns, WorldError> {
        check_episodes(self.count(), episodes)?;
        let mut returns = Returns::new(self.count(), episodes);
        let group = agent.most_games().max(1);
        for first in (0..self.count()).step_by(group) {
            let games = first..self.count().min(first.saturating_add(group));
            self.play_group(agent, games, episodes, &mut returns, &mut watch)?;
        }
        Ok(returns)
    }

    /// Plays these games at once.
    fn play_group(
        &mut self,
        agent: &mut dyn Agent,
        games: Range<usize>,
        episodes: usize,
        returns: &mut Returns,
        watch: &mut impl FnMut(&PlayedStep<'_>),
    ) -> Result<(), WorldError> {
        let first = games.start;
        let (mut turn, mut next) = (Waiting::new(self.spec()), Waiting::new(self.spec()));
        let mut decisions = vec![Decision::default(); games.len()];
        let mut outcomes = Vec::with_capacity(games.len());

        let tables = &mut self.tables[games.clone()];
        for (index, table) in tables.iter_mut().enumerate() {
            table.begin(self.seed, first + index);
            turn.add(index, table.world.reset(table.starts.next_u64()))?;
        }
        agent.begin(games, self.seed).map_err(|source| failure(agent, source))?;
        while !turn.games.is_empty() {
            let decisions = &mut decisions[..turn.games.len()];
            let view = Turn { games: &turn.games, observations: &turn.observations };
            agent.act(view, decisions).map_err(|source| failure(agent, source))?;
            for (index, &decision) in decisions.iter().enumerate() {
                let of_group = turn.games[index] as usize;
                let game = first + of_group;
                let table = &mut tables[of_group];
                let (episode, step) = (table.episode, table.step);
                let outcome = table.step(of_group, decision, &mut next)?;
                outcomes.push(outcome);
                returns.add(game, episode, outcome.reward);
                if let Some(observation) = turn.observations.get(index) {
                    let world = &*table.world;
                    watch(&PlayedStep { game, episode, step, observation, decision, outcome, world });
                }
                if outcome.done && table.episode < episodes {
                    next.add(of_group, table.world.reset(table.starts.next_u64()))?;
                }
            }
            agent.observe(&turn.games, &outcomes).map_err(|source| failure(agent, source))?;
            std::mem::swap(&mut turn, &mut next);
            next.clear();
            outcomes.clear();
        }
        Ok(())
    }
}

impl Table {
    /// Back to the first episode, with the same starts for the next agent.
    fn begin(&mut self, seed: u64, game: usize) {
        self.starts = stream(seed, Purpose::Starts, game as u64);
        (self.episode, self.step) = (0, 0);
    }

    /// Takes a step; unless it was the episode's last, the game waits for its next action.
    fn step(&mut self, game: usize, decision: Decision, next: &mut Waiting) -> Result<StepOutcome, WorldError> {
        let limit = self.world.spec().episode_limit;
        let step = self.world.step(decision.action as usize)?;
        let outcome = StepOutcome { reward: step.reward, done: step.done() };
        self.step += 1;
        if outcome.done {
            self.episode += 1;
            self.step = 0;
        } else if self.step < limit {
            next.add(game, step.observation)?;
        } else {
            return Err(WorldError::EpisodeTooLong { world: self.world.spec().id.clone(), limit });
        }
        Ok(outcome)
    }
}

/// The games that wait for an action, and what is seen in them.
struct Waiting {
    world: String,
    games: Vec<u32>,
    observations: Observations,
}

impl Waiting {
    fn new(spec: &WorldSpec) -> Self {
        let observations = Observations::new(&spec.observation_space);
        Self { world: spec.id.clone(), games: Vec::new(), observations }
    }

    fn add(&mut self, game: usize, observation: Observation<'_>) -> Result<(), WorldError> {
        if !self.observations.push(observation) {
            return Err(WorldError::ObservationKind { world: self.world.clone() });
        }
        self.games.push(game as u32);
        Ok(())
    }

    fn clear(&mut self) {
        self.games.clear();
        self.observations.clear();
    }
}

fn failure(agent: &dyn Agent, source: AgentFailure) -> WorldError {
    WorldError::Agent { agent: agent.name().into(), source }
}

fn check_episodes(games: usize, episodes: usize) -> Result<(), WorldError> {
    if games == 0 {
        return Err(WorldError::Zero { what: "games" });
    }
    if episodes == 0 {
        return Err(WorldError::Zero { what: "episodes" });
    }
    let all_episodes = games as u128 * episodes as u128;
    for (what, asked, limit) in [("games", games as u128, MAX_GAMES), ("episodes", all_episodes, MAX_EPISODES)] {
        if asked > limit {
            return Err(WorldError::TooMany { what, asked, limit });
        }
    }
    Ok(())
}

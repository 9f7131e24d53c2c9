//! Reference agents beside every learned curve: the behaviour policy, a random agent, and the best with and without knowledge of
//! the hidden part.

use crate::{
    Agent, AgentFailure, Decision, Games, Policy, Purpose, StepOutcome, StreamRng, Turn, UniformPolicy, World,
    WorldError, sample_action, stream,
};
use icee_base::names::Unknown;
use rand::RngExt;
use std::ops::Range;
use std::str::FromStr;

/// Which agent of plain code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The behaviour policy, ε ~ U(0, 1) in every episode: what the data is like.
    Source,
    /// Every action alike.
    Random,
    /// Knows what is hidden.
    Oracle,
    /// Exact posterior sampling.
    Posterior,
    /// Walks to the nearest cell not yet visited.
    Sweep,
    /// Upper confidence bounds.
    Ucb,
    /// The Gittins index.
    Gittins,
}

impl Reference {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Source, Self::Random, Self::Oracle, Self::Posterior, Self::Sweep, Self::Ucb, Self::Gittins];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Random => "random",
            Self::Oracle => "oracle",
            Self::Posterior => "posterior",
            Self::Sweep => "sweep",
            Self::Ucb => "ucb",
            Self::Gittins => "gittins",
        }
    }

    /// Whether the probabilities of its decisions are those with which it takes the actions. Some draw in secret what they believe, or
    /// among equals, and then say 1.
    #[must_use]
    pub fn tells_probabilities(self) -> bool {
        !matches!(self, Self::Posterior | Self::Sweep | Self::Ucb)
    }

    /// The policy that plays the world's current game.
    ///
    /// # Errors
    /// [`WorldError::NoReference`] where the world has none of this kind.
    pub fn policy(self, world: &dyn World) -> Result<Box<dyn Policy>, WorldError> {
        let policy = match self {
            Self::Source => Some(world.behaviour()),
            Self::Random => Some(Box::new(UniformPolicy) as Box<dyn Policy>),
            Self::Oracle => world.oracle(),
            Self::Posterior => world.posterior(),
            Self::Sweep => world.sweep(),
            Self::Ucb => world.ucb(),
            Self::Gittins => world.gittins(),
        };
        policy.ok_or_else(|| WorldError::NoReference { world: world.spec().id.clone(), agent: self.name() })
    }
}

impl FromStr for Reference {
    type Err = WorldError;

    fn from_str(name: &str) -> Result<Self, WorldError> {
        Self::ALL
            .into_iter()
            .find(|reference| reference.name() == name)
            .ok_or_else(|| Unknown::new("agent", name, &Self::ALL.map(Self::name)).into())
    }
}

/// One policy a game, as an [`Agent`].
pub struct ReferenceAgent {
    kind: Reference,
    players: Vec<Player>,
    /// The number of actions.
    actions: usize,
}

struct Player {
    policy: Box<dyn Policy>,
    rng: StreamRng,
    episode_begins: bool,
    action: usize,
}

impl ReferenceAgent {
    /// An agent for these games, which it knows as far as its kind allows.
    ///
    /// # Errors
    /// [`WorldError::NoReference`] where the world has none of this kind.
    pub fn new(kind: Reference, games: &Games) -> Result<Self, WorldError> {
        let player = |world: &dyn World| {
            let rng = stream(0, Purpose::Agent, 0);
            Ok(Player { policy: kind.policy(world)?, rng, episode_begins: true, action: 0 })
        };
        let players: Result<Vec<Player>, WorldError> = games.worlds().map(player).collect();
        Ok(Self { kind, players: players?, actions: games.spec().actions() })
    }
}

impl Agent for ReferenceAgent {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn begin(&mut self, games: Range<usize>, seed: u64) -> Result<(), AgentFailure> {
        if games != (0..self.players.len()) {
            return Err(WorldError::OtherGames { made_for: self.players.len(), asked: games.len() }.into());
        }
        for (game, player) in self.players.iter_mut().enumerate() {
            player.policy.begin_game();
            player.rng = stream(seed, Purpose::Agent, game as u64);
            player.episode_begins = true;
        }
        Ok(())
    }

    fn act(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> Result<(), AgentFailure> {
        let mut probabilities = vec![0.0; self.actions];
        for (index, (&game, decision)) in turn.games.iter().zip(decisions).enumerate() {
            let player = &mut self.players[game as usize];
            let observation = turn.observations.get(index).ok_or("a game of the turn has no observation")?;
            if player.episode_begins {
                player.policy.begin_episode(player.rng.random());
                player.episode_begins = false;
            }
            player.policy.probabilities(observation, &mut player.rng, &mut probabilities);
            player.action = sample_action(&probabilities, &mut player.rng);
            *decision = Decision { action: player.action as u32, probability: probabilities[player.action] };
        }
        Ok(())
    }

    fn observe(&mut self, games: &[u32], outcomes: &[StepOutcome]) -> Result<(), AgentFailure> {
        for (&game, outcome) in games.iter().zip(outcomes) {
            let player = &mut self.players[game as usize];
            player.policy.observe(player.action, outcome.reward);
            player.episode_begins = outcome.done;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_typing_errors_answered() {
        for reference in Reference::ALL {
            assert_eq!(reference.name().parse::<Reference>().ok(), Some(reference));
        }
        let said = "orcale".parse::<Reference>().expect_err("a typing error").to_string();
        assert!(said.contains("did you mean \"oracle\"?"), "{said}");
        let said = "dqn".parse::<Reference>().expect_err("another agent").to_string();
        assert!(said.contains("known are source, random, oracle, posterior, sweep, ucb, gittins"), "{said}");
    }
}

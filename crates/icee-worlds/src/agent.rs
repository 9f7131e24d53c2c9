//! Agents: choose actions for many tasks at once and get the rewards. Learned agents and reference agents alike.

use crate::Observations;
use std::ops::Range;

/// Why an agent could not go on.
pub type AgentFailure = Box<dyn std::error::Error + Send + Sync>;

/// Plays many games at once.
///
/// # Contract
/// - [`begin`](Agent::begin) comes first: all games are new, whatever was known is forgotten. Games beyond
///   [`most_games`](Agent::most_games) begin when those before them are over.
/// - Then [`act`](Agent::act) and [`observe`](Agent::observe) take turns, each about the same games in the same order.
///   Games run in parallel but not in step: an episode that ends early is followed at once by the next one of its
///   game, and a game whose episodes are all played is no longer among those of the turn.
/// - `done` in an outcome is the episode's boundary: the next observation of that game is the first of its next
///   episode. The game stays the same, so what was learned of it is worth keeping.
/// - An agent is told only this. One that knows the hidden part was given it when it was made.
pub trait Agent: Send {
    /// What it is called in tables.
    fn name(&self) -> &str;

    /// The most games that it can keep in mind at once.
    fn most_games(&self) -> usize {
        usize::MAX
    }

    /// New games begin, these of all that are dealt; from here on the first of them is number 0. The seed and the number
    /// among all games fix the agent's own draws.
    ///
    /// # Errors
    /// Whatever keeps the agent from playing.
    fn begin(&mut self, games: Range<usize>, seed: u64) -> Result<(), AgentFailure>;

    /// Chooses an action for every game of the turn: `decisions[i]` for `turn.games[i]`.
    ///
    /// # Errors
    /// Whatever keeps the agent from playing.
    fn act(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> Result<(), AgentFailure>;

    /// What the actions have earned: `outcomes[i]` for `games[i]`, the games of the turn before.
    ///
    /// # Errors
    /// Whatever keeps the agent from playing.
    fn observe(&mut self, games: &[u32], outcomes: &[StepOutcome]) -> Result<(), AgentFailure>;
}

/// The games that wait for an action.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Their numbers, ascending.
    pub games: &'a [u32],
    /// What is seen in each, in the same order.
    pub observations: &'a Observations,
}

/// An action, and how likely the agent was to take it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    /// The action.
    pub action: u32,
    /// Its probability, given all that the agent had in mind (a cell it has drawn to walk to, say).
    pub probability: f32,
}

/// What an action led to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepOutcome {
    /// Its return.
    pub reward: f32,
    /// Whether the episode is over.
    pub done: bool,
}

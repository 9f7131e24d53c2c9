//! Errors. Each message says what is wrong and what to do.

use crate::AgentFailure;
use icee_base::names::Unknown;
use thiserror::Error;

/// Every error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorldError {
    /// No world, or no reference agent, of that name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A world of that id is registered already.
    #[error("a world \"{id}\" is registered already; give the new one another name or a higher version")]
    DuplicateWorld {
        /// The id that was given twice.
        id: String,
    },
    /// The rules of a world contradict themselves.
    #[error("the rules of \"{id}\" do not work: {reason}")]
    InvalidRules {
        /// The world.
        id: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The action does not exist.
    #[error("action {action} is out of range: \"{world}\" has the actions 0 to {}", actions.saturating_sub(1))]
    ActionOutOfRange {
        /// The world.
        world: String,
        /// What was asked for.
        action: usize,
        /// How many actions there are.
        actions: usize,
    },
    /// No episode is running: none was begun, or the last one is over.
    #[error("no episode of \"{world}\" is running; call reset(seed) to begin one")]
    EpisodeOver {
        /// The world.
        world: String,
    },
    /// A world let an episode run past its limit T.
    #[error("an episode of \"{world}\" ran past its limit of {limit} steps; the world must truncate it there")]
    EpisodeTooLong {
        /// The world.
        world: String,
        /// Its limit.
        limit: usize,
    },
    /// A world gave an observation that its own space does not describe.
    #[error("\"{world}\" gave an observation of another kind or width than its space says")]
    ObservationKind {
        /// The world.
        world: String,
    },
    /// The world has no such reference agent.
    #[error("\"{world}\" has no {agent} agent; every world has source and random")]
    NoReference {
        /// The world.
        world: String,
        /// The agent that was asked for.
        agent: &'static str,
    },
    /// A count that must be at least one is zero.
    #[error("the number of {what} is 0; ask for at least 1")]
    Zero {
        /// What is counted.
        what: &'static str,
    },
    /// More was asked for than fits.
    #[error("{asked} {what} are too many at once; use at most {limit}")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// What was asked for.
        asked: u128,
        /// The most that is allowed.
        limit: u128,
    },
    /// A share is not between 0 and 1.
    #[error("the share of {what} is {value}; it must be from 0 to 1")]
    InvalidShare {
        /// The share of what.
        what: &'static str,
        /// What was asked for.
        value: f32,
    },
    /// An agent was given other games than it was made for.
    #[error("the agent was made for {made_for} tasks and got {asked}; make one for these tasks")]
    OtherGames {
        /// How many games it was made for.
        made_for: usize,
        /// How many it was asked to play.
        asked: usize,
    },
    /// An agent failed.
    #[error("the agent \"{agent}\" failed: {source}")]
    Agent {
        /// The agent's name.
        agent: String,
        /// Why.
        source: AgentFailure,
    },
}
